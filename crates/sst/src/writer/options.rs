//! The options for writing a table, and the summary of a finished table.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::prefix::PrefixExtractor;
use base::statistics::Statistics;
use base::{Error, InternalComparator, Result, RowLimit, SeqNo, UserComparator};
use codec::hash::xxh3_64;
use codec::{ChecksumType, CompressionOptions, CompressionType};

use crate::block_properties::BlockPropertyCollectorFactory;
use crate::filter::{FilterPolicy, UNKNOWN_LEVEL};
use crate::format::{
    FV_CONTEXT_CHECKSUMS, IndexShortening, IndexType, MAX_FORMAT_VERSION, MIN_FORMAT_VERSION,
};
use crate::properties::{TableProperties, UNKNOWN_COLUMN_FAMILY};
use crate::read_options::BlockCache;
use crate::stored_order::without_timestamps;

/// The options for writing a table. Names, units and defaults are RocksDB's, except as noted.
#[derive(Clone)]
pub struct TableWriterOptions {
    /// The order of the keys.
    pub cmp: InternalComparator,
    /// True if the table stores keys with their timestamps. Otherwise they are cut off, and a reader adds the
    /// minimum timestamp, which all of them must have. No effect on orders without timestamps. Default: true.
    pub persist_timestamps: bool,
    /// The format version, which determines the readers of the file: 5 is for RocksDB 6.6 and later, 6 for
    /// 8.6 and later, 7 for 10.4 and later, 2 to 4 for older releases. Default: 5.
    pub format_version: u32,
    /// The checksum type of every block. RocksDB reads XXH3 from 6.27 on. Default: XXH3.
    pub checksum: ChecksumType,
    /// The compression of data blocks, and of the index with
    /// [`enable_index_compression`](TableWriterOptions::enable_index_compression). Default: LZ4 (RocksDB:
    /// Snappy up to 11.4).
    pub compression: CompressionType,
    /// The options of the compressor. With `max_dict_bytes` above 0, data blocks are held in memory until
    /// there is enough data to make a dictionary.
    pub compression_opts: CompressionOptions,
    /// Compress the index too. Default: true.
    pub enable_index_compression: bool,
    /// The bytes of a data block before compression. Default: 4096.
    pub block_size: usize,
    /// A block may be this many percent smaller than its size: it is closed early if the next entry would not
    /// fit. Default: 10.
    pub block_size_deviation: u32,
    /// The number of entries between restart points of data blocks. Default: 16.
    pub block_restart_interval: usize,
    /// The number of entries between restart points of the index. Default: 1.
    pub index_block_restart_interval: usize,
    /// Align every data block to a multiple of the lesser of `block_size` and 4096. Only without compression,
    /// and with a block size that is a power of two. Default: false.
    pub block_align: bool,
    /// The form of the index. In a hash index every entry is a restart point. Default: one block, with binary
    /// search.
    pub index_type: IndexType,
    /// Data blocks have a hash index with this ratio of keys to buckets, for RocksDB's Gets. RocksDB uses it
    /// for user keys without timestamps, in orders in which only keys of the same bytes are equal. Other
    /// tables get no hash index. Default: none.
    pub data_block_hash_table_util_ratio: Option<f64>,
    /// Keys of data blocks leave out the prefix they share with the previous key. Default: true.
    pub use_delta_encoding: bool,
    /// The values of a data block follow all its keys. RocksDB reads such tables from 11.0 on. Default:
    /// false.
    pub separate_key_value_in_data_block: bool,
    /// The separators of the index that are shortened. Default: those between blocks.
    pub index_shortening: IndexShortening,
    /// The bytes of a partition of the index, and of the filter. Default: 4096.
    pub metadata_block_size: usize,
    /// Partition the filter as well as the index. No effect unless the index has partitions. Default: false.
    pub partition_filters: bool,
    /// Partitions of the filter end when they are full, not with those of the index. This is always so if the
    /// table has a compression dictionary. Default: true.
    pub decouple_partitioned_filters: bool,
    /// The filter policy. Default: none.
    pub filter: FilterPolicy,
    /// The level that the table is for, -1 for the level of a flush. A policy may make different filters for
    /// different levels. Default: unknown.
    pub level: i32,
    /// Bloom filters make the number of probes that is best for the actual bits per key, not for the
    /// requested number. Filters are multiples of 64 bytes, so that the two differ much in filters of a few
    /// keys. (RocksDB also fits the size of filters to the allocator's size classes. That does not apply
    /// here.) Default: true.
    pub optimize_filters_for_memory: bool,
    /// Add whole keys to the filter. Default: true.
    pub whole_key_filtering: bool,
    /// Add the prefixes of this extractor to the filter. Default: none.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// The id of the column family. Default: unknown, as in files that are written for ingestion.
    pub cf_id: u32,
    /// The name of the column family.
    pub cf_name: Vec<u8>,
    /// The name of the merge operator, if there is one.
    pub merge_operator: Option<String>,
    /// The identity of the database.
    pub db_id: String,
    /// The identity of the session: 20 characters.
    pub session_id: String,
    /// The name of the machine.
    pub host_id: String,
    /// The number of the file. Together with the identities above it determines the file's unique id.
    pub file_number: u64,
    /// The time in Unix seconds at which the oldest data was first written to a table; 0 if unknown.
    pub creation_time: u64,
    /// The time in Unix seconds at which the oldest key was written; 0 if unknown.
    pub oldest_key_time: u64,
    /// The time in Unix seconds at which the newest key was written; 0 if unknown.
    pub newest_key_time: u64,
    /// The current time in Unix seconds; 0 if unknown.
    pub file_creation_time: u64,
    /// True if the file is written for ingestion: it has room for a global sequence number. Its keys must
    /// have sequence number 0.
    pub external: bool,
    /// Additional user properties, by name.
    pub user_properties: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The collectors that summarize data blocks, so that iterators can skip some. Default: none.
    pub block_property_collectors: Vec<Arc<dyn BlockPropertyCollectorFactory>>,
    /// The names of the collectors of user properties, as `[a,b]`. Default: `[]`.
    pub property_collectors: String,
    /// The maximum size of a key and of a value. Lengths and offsets within a block have 32 bits. Default: 2
    /// GiB - 1.
    pub row_limit: RowLimit,
    /// The cache that is charged for blocks which wait for a compression dictionary. When it has no room for
    /// more, the dictionary is made from those that wait. Default: none.
    pub dictionary_buffer_cache: Option<Arc<BlockCache>>,
    /// The cache that is charged for the memory in which the filter is built. When it has no room for the
    /// equations of a Ribbon filter, a Bloom filter is built. Default: none.
    pub filter_construction_cache: Option<Arc<BlockCache>>,
    /// Records the time of each block's compression, if its level is high enough. Default: none.
    pub statistics: Option<Arc<Statistics>>,
}

impl TableWriterOptions {
    /// The default options, for keys ordered by `cmp`.
    pub fn new(cmp: InternalComparator) -> TableWriterOptions {
        TableWriterOptions {
            cmp,
            persist_timestamps: true,
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
            dictionary_buffer_cache: None,
            filter_construction_cache: None,
            statistics: None,
        }
    }

    /// Makes the options those of the stored keys, if these have no timestamps. Returns the bytes that are
    /// cut off from each key.
    pub(super) fn cut_timestamps(&mut self) -> usize {
        let size = self.cmp.user().timestamp_size();
        if self.persist_timestamps || size == 0 {
            return 0;
        }
        self.cmp = InternalComparator::new(without_timestamps(self.cmp.user()));
        // RocksDB uses the hash index of a data block only in tables of orders without timestamps.
        self.data_block_hash_table_util_ratio = None;
        size
    }

    /// A block of at most this size is never closed, whatever entry comes next, if blocks have `block_size`.
    pub(super) fn early_end(&self, block_size: usize) -> usize {
        // RocksDB treats a deviation of 100 percent as none.
        let percent = 100 - self.block_size_deviation as usize % 100;
        (block_size * percent)
            .div_ceil(100)
            .min(block_size.saturating_sub(1))
    }

    /// The ratio of keys to buckets of data blocks' hash indexes.
    pub(super) fn hash_table_util_ratio(&self) -> Option<f64> {
        let is_by_bytes = matches!(
            self.cmp.user(),
            UserComparator::Bytewise | UserComparator::ReverseBytewise
        );
        self.data_block_hash_table_util_ratio.filter(|_| is_by_bytes)
    }

    /// True if the filter has partitions.
    pub(super) fn partitions_filter(&self) -> bool {
        self.partition_filters && self.index_type == IndexType::TwoLevel
    }

    /// The bytes of a filter partition.
    pub(super) fn filter_partition_size(&self) -> usize {
        let percent = 100 - self.block_size_deviation as usize;
        (self.metadata_block_size * percent).div_ceil(100).max(1)
    }

    /// Checks the options. Errors: `InvalidArgument` for those that contradict each other or cannot be
    /// written.
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

/// The result of a finished table, as the MANIFEST records it.
#[derive(Clone, Debug)]
pub struct TableSummary {
    /// The size of the file in bytes.
    pub file_size: u64,
    /// The properties of the table.
    pub properties: TableProperties,
    /// The smallest internal key, range tombstones included; empty if the table is empty.
    pub smallest: Vec<u8>,
    /// The largest internal key, range tombstones included; empty if the table is empty. If a tombstone
    /// reaches furthest, this is the sentinel of its end: the end key with the highest sequence number and
    /// kind RangeDeletion. The end key itself is not covered.
    pub largest: Vec<u8>,
    /// The lowest sequence number; 0 if the table is empty.
    pub smallest_seqno: SeqNo,
    /// The highest sequence number; 0 if the table is empty.
    pub largest_seqno: SeqNo,
    /// The compression results. Blocks that were copied from another table do not count.
    pub compressed: CompressionTally,
}

/// The compression results of data and index blocks, by how they are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressionTally {
    /// The number of blocks that are stored compressed.
    pub blocks: u64,
    /// The bytes of the compressed blocks before compression.
    pub bytes_from: u64,
    /// The bytes of the compressed blocks as stored, without trailers.
    pub bytes_to: u64,
    /// The number of blocks that are stored raw because compression saved too little.
    pub rejected_blocks: u64,
    /// The bytes of these blocks, before compression.
    pub rejected_bytes: u64,
    /// The number of blocks that are stored raw without an attempt: compression is off, or they are too
    /// large.
    pub bypassed_blocks: u64,
    /// The bytes of these blocks, before compression.
    pub bypassed_bytes: u64,
}

/// The number that is mixed into every checksum from format version 6, different in every file. 0 below.
pub(super) fn base_context_checksum(options: &TableWriterOptions) -> u32 {
    if options.format_version < FV_CONTEXT_CHECKSUMS {
        return 0;
    }
    let identity = [
        options.db_id.as_bytes(),
        options.session_id.as_bytes(),
        &options.file_number.to_le_bytes(),
    ]
    .concat();
    // The number is not 0, which would mean that there is no context checksum.
    (xxh3_64(&identity) as u32).max(1)
}

/// The text in which RocksDB records the compressor's options. It is for people; no reader parses it.
pub(super) fn compression_options_text(
    options: &CompressionOptions,
    compression: CompressionType,
) -> Vec<u8> {
    format!(
        "window_bits={}; level={}; strategy={}; max_dict_bytes={}; zstd_max_train_bytes={}; enabled={}; \
         max_dict_buffer_bytes={}; use_zstd_dict_trainer={}; max_compressed_bytes_per_kb={}; checksum={}; _type={}; ",
        options.window_bits,
        options.level,
        options.strategy,
        options.max_dict_bytes,
        options.zstd_max_train_bytes,
        u8::from(options.enabled),
        options.max_dict_buffer_bytes,
        u8::from(options.use_zstd_dict_trainer),
        options.max_compressed_bytes_per_kb,
        u8::from(options.checksum),
        compression as u8,
    )
    .into()
}
