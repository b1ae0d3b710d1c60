//! How a table is written, and what is said about it when it is done.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::prefix::PrefixExtractor;
use base::statistics::Statistics;
use base::{Error, InternalComparator, Result, RowLimit, SeqNo, UserComparator};
use codec::{ChecksumType, CompressionOptions, CompressionType};

use crate::block_properties::BlockPropertyCollectorFactory;
use crate::filter::{FilterPolicy, UNKNOWN_LEVEL};
use crate::format::{IndexShortening, IndexType, MAX_FORMAT_VERSION, MIN_FORMAT_VERSION};
use crate::properties::{TableProperties, UNKNOWN_COLUMN_FAMILY};

/// How to write a table. Names, units and defaults are RocksDB's, where not said otherwise.
#[derive(Clone)]
pub struct TableWriterOptions {
    /// Order of the keys.
    pub cmp: InternalComparator,
    /// Which readers can read the file: 5 (the default) RocksDB 6.6 and later, 6 from 8.6, 7 from 10.4; 2 to 4 older
    /// ones.
    pub format_version: u32,
    /// Of every block. Default XXH3, which RocksDB reads from 6.27 on.
    pub checksum: ChecksumType,
    /// Of data blocks, and of the index if [`enable_index_compression`](TableWriterOptions::enable_index_compression).
    /// Default LZ4 (RocksDB: Snappy up to 11.4).
    pub compression: CompressionType,
    /// How hard to compress. With `max_dict_bytes` above 0 data blocks are held in memory until there is enough to make
    /// a dictionary of.
    pub compression_opts: CompressionOptions,
    /// Compress the index too. Default true.
    pub enable_index_compression: bool,
    /// Bytes of a data block before compression. Default 4096.
    pub block_size: usize,
    /// A block is closed early, this many percent of its size short, where the next entry would not fit. Default 10.
    pub block_size_deviation: u32,
    /// Entries between restart points of data blocks. Default 16.
    pub block_restart_interval: usize,
    /// Entries between restart points of the index. Default 1.
    pub index_block_restart_interval: usize,
    /// Start every data block at a multiple of `block_size` or of 4096, whichever is less. Only without compression, and
    /// with a block size that is a power of two. Default false.
    pub block_align: bool,
    /// How the index is built. Default one block, searched by halving. With a hash index every entry of it is a restart point.
    pub index_type: IndexType,
    /// Data blocks have a hash index of so many keys a bucket, for RocksDB's Gets; it uses it for user keys without timestamps, in
    /// orders in which only keys of the same bytes are equal, and other tables get none. Default none.
    pub data_block_hash_table_util_ratio: Option<f64>,
    /// Keys of data blocks leave out what they share with the key before. Default true.
    pub use_delta_encoding: bool,
    /// The values of a data block lie behind all its keys: RocksDB reads such tables from 11.0 on. Default false.
    pub separate_key_value_in_data_block: bool,
    /// Which separators of the index are shortened. Default those between blocks.
    pub index_shortening: IndexShortening,
    /// Bytes of a partition of the index, and of the filter. Default 4096.
    pub metadata_block_size: usize,
    /// The filter in partitions as well as the index, which must be in partitions; else it has no effect. Default false.
    pub partition_filters: bool,
    /// Partitions of the filter end where they are full, not with those of the index. So they do also where the table has a
    /// compression dictionary. Default true.
    pub decouple_partitioned_filters: bool,
    /// The filter. Default none.
    pub filter: FilterPolicy,
    /// The level the table is for, -1 for that of a flush: a policy may make other filters for some. Default unknown.
    pub level: i32,
    /// Bloom filters make as many probes as are best for the bits that keys have in them, and not for those asked for: filters
    /// are whole lines of 64 bytes, so that in those of a few keys the two differ much. (RocksDB also fits the size of filters to what
    /// its allocator has; here memory is taken as it is needed.) Default true.
    pub optimize_filters_for_memory: bool,
    /// Add whole keys to the filter. Default true.
    pub whole_key_filtering: bool,
    /// Add the prefixes it gives to the filter. Default none.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Id of the column family; unknown by default, as in files made to be ingested.
    pub cf_id: u32,
    /// Name of the column family.
    pub cf_name: Vec<u8>,
    /// Name of the merge operator, if there is one.
    pub merge_operator: Option<String>,
    /// Identity of the database.
    pub db_id: String,
    /// Identity of the session: 20 characters.
    pub session_id: String,
    /// Name of the machine.
    pub host_id: String,
    /// Number of the file. With the identities above it makes the file's unique id.
    pub file_number: u64,
    /// Unix seconds at which the oldest of the data was first written to a table; 0 if not known.
    pub creation_time: u64,
    /// Unix seconds at which the oldest key was written; 0 if not known.
    pub oldest_key_time: u64,
    /// Unix seconds at which the newest key was written; 0 if not known.
    pub newest_key_time: u64,
    /// Unix seconds of now; 0 if not known.
    pub file_creation_time: u64,
    /// The file will be ingested: it has room for a global sequence number. Its keys must have sequence number 0.
    pub external: bool,
    /// Further properties, by name.
    pub user_properties: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Those who say something of its data blocks, for iterators to pass over some. None.
    pub block_property_collectors: Vec<Arc<dyn BlockPropertyCollectorFactory>>,
    /// Names of those who gather user properties, as `[a,b]`. `[]`.
    pub property_collectors: String,
    /// The longest key and value. Default 2 GiB - 1: lengths and offsets within a block are of 32 bits.
    pub row_limit: RowLimit,
    /// Takes the time of each block's compression, if its level is high enough. None.
    pub statistics: Option<Arc<Statistics>>,
}

impl TableWriterOptions {
    /// The defaults, for keys ordered by `cmp`.
    pub fn new(cmp: InternalComparator) -> TableWriterOptions {
        TableWriterOptions {
            cmp,
            format_version: 5,
            checksum: ChecksumType::Xxh3,
            compression: CompressionType::Lz4,
            compression_opts: CompressionOptions::default(),
            enable_index_compression: true,
            block_size: 4096,
            block_size_deviation: 10,
            block_restart_interval: 16,
            index_block_restart_interval: 1,
            block_align: false,
            index_type: IndexType::BinarySearch,
            data_block_hash_table_util_ratio: None,
            use_delta_encoding: true,
            separate_key_value_in_data_block: false,
            index_shortening: IndexShortening::Separators,
            metadata_block_size: 4096,
            partition_filters: false,
            decouple_partitioned_filters: true,
            filter: FilterPolicy::None,
            level: UNKNOWN_LEVEL,
            optimize_filters_for_memory: true,
            whole_key_filtering: true,
            prefix_extractor: None,
            cf_id: UNKNOWN_COLUMN_FAMILY as u32,
            cf_name: Vec::new(),
            merge_operator: None,
            db_id: String::new(),
            session_id: String::new(),
            host_id: String::new(),
            file_number: 0,
            creation_time: 0,
            oldest_key_time: 0,
            newest_key_time: 0,
            file_creation_time: 0,
            external: false,
            user_properties: BTreeMap::new(),
            block_property_collectors: Vec::new(),
            row_limit: RowLimit::MAX,
            property_collectors: "[]".to_owned(),
            statistics: None,
        }
    }

    /// Of blocks of `block_size` those up to this size are never closed, whatever comes next.
    pub(super) fn early_end(&self, block_size: usize) -> usize {
        // RocksDB takes a deviation of the whole block for none.
        let percent = 100 - self.block_size_deviation as usize % 100;
        (block_size * percent)
            .div_ceil(100)
            .min(block_size.saturating_sub(1))
    }

    /// Keys a bucket of the hash indexes of data blocks.
    pub(super) fn hash_table_util_ratio(&self) -> Option<f64> {
        let is_by_bytes = matches!(
            self.cmp.user(),
            UserComparator::Bytewise | UserComparator::ReverseBytewise
        );
        self.data_block_hash_table_util_ratio.filter(|_| is_by_bytes)
    }

    /// True if the filter is made in partitions.
    pub(super) fn partitions_filter(&self) -> bool {
        self.partition_filters && self.index_type == IndexType::TwoLevel
    }

    /// Bytes of a filter partition.
    pub(super) fn filter_partition_size(&self) -> usize {
        let percent = 100 - self.block_size_deviation as usize;
        (self.metadata_block_size * percent).div_ceil(100).max(1)
    }

    /// `InvalidArgument` for what cannot be written.
    pub(super) fn check(&self) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        if !(MIN_FORMAT_VERSION..=MAX_FORMAT_VERSION).contains(&self.format_version) {
            return Err(Error::invalid_argument(format!(
                "format_version {} is not written, only {MIN_FORMAT_VERSION} to {MAX_FORMAT_VERSION}",
                self.format_version
            )));
        }
        if self.block_size.max(self.metadata_block_size) > u32::MAX as usize / 2 {
            return invalid("block_size or metadata_block_size of 2 GiB or more");
        }
        if self.block_size_deviation > 100 {
            return invalid("block_size_deviation above 100 percent");
        }
        if self.block_align && self.compression != CompressionType::None {
            return invalid("Enable block_align, but compression enabled");
        }
        if self.index_type == IndexType::HashSearch && self.prefix_extractor.is_none() {
            return invalid(
                "Hash index is specified for block-based table, but prefix_extractor is not given",
            );
        }
        if self.block_align && !self.block_size.is_power_of_two() {
            return invalid("Block alignment requested but block size is not a power of 2");
        }
        Ok(())
    }
}

/// What was written, as the MANIFEST records it.
#[derive(Clone, Debug)]
pub struct TableSummary {
    /// Bytes of the file.
    pub file_size: u64,
    /// The properties that stand in it.
    pub properties: TableProperties,
    /// Smallest internal key, range tombstones included; empty if the table holds nothing.
    pub smallest: Vec<u8>,
    /// Largest internal key, range tombstones included; empty if the table holds nothing. Where a tombstone reaches
    /// furthest it is the sentinel of its end: the highest sequence number, kind RangeDeletion, itself not covered.
    pub largest: Vec<u8>,
    /// Lowest sequence number; 0 if the table holds nothing.
    pub smallest_seqno: SeqNo,
    /// Highest sequence number; 0 if the table holds nothing.
    pub largest_seqno: SeqNo,
    /// What was compressed for it; blocks that were copied as another table has them are not among it.
    pub compressed: CompressionTally,
}

/// Blocks of data and index: those that were compressed, and are stored so, and those that are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressionTally {
    /// How many.
    pub blocks: u64,
    /// Their bytes uncompressed.
    pub bytes_from: u64,
    /// Their bytes as stored, without trailers.
    pub bytes_to: u64,
    /// Blocks whose compression saved too little, stored as they are.
    pub rejected_blocks: u64,
    /// Their bytes.
    pub rejected_bytes: u64,
    /// Blocks nobody tried to compress: none was asked for, or they are too large.
    pub bypassed_blocks: u64,
    /// Their bytes.
    pub bypassed_bytes: u64,
}
