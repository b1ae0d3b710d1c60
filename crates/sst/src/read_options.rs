//! The options for opening a table, and for reading its blocks.

use std::sync::Arc;

use base::prefix::PrefixExtractor;
use base::statistics::Statistics;
use base::{InternalComparator, SeqNo};
use cache::{Cache, SecondaryTally};

use crate::block::Block;
use crate::block_trace::{BlockTrace, TableReaderCaller};

/// The cache of blocks, shared by all tables of a process or a database. With
/// [`TableReadOptions::metadata_caching`] it also holds indexes and filters.
///
/// See the example of [`Cache`].
pub type BlockCache = Cache<Block>;

/// The caching of index and filter, for tables that keep them in the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataCaching {
    /// True if index and filter have high priority in the cache; if false, they have the priority of data
    /// blocks.
    pub high_priority: bool,
    /// True if the top-level indexes over partitions stay in the cache once they were read.
    pub pin_top_level: bool,
    /// True if partitions stay in the cache once they were read.
    pub pin_partitions: bool,
    /// True if an index or filter in one block stays in the cache once it was read.
    pub pin_unpartitioned: bool,
}

/// The options for opening a table.
#[derive(Clone)]
pub struct TableReadOptions {
    /// The order of internal keys of the column family. It is not compared with the name in the properties.
    pub cmp: InternalComparator,
    /// The number of the file, for messages.
    pub file_number: u64,
    /// The highest sequence number of the file according to the MANIFEST, which is the global sequence number
    /// of an ingested file. `None` if there is no MANIFEST: the properties decide then.
    pub largest_seqno: Option<SeqNo>,
    /// The cache of data blocks. `None`: every access reads the file.
    pub cache: Option<Arc<BlockCache>>,
    /// The table's identity in the cache, from [`Cache::new_id`] of that cache. A table that is reopened with
    /// the same id finds its blocks in the cache. Default: a new one.
    pub cache_id: Option<u64>,
    /// True if no table was opened with that `cache_id` before. Then every block of the table in the cache
    /// was inserted by this table, and its slot leads to it. Counts as true without a `cache_id`. Default:
    /// false.
    pub cache_id_is_new: bool,
    /// True if a full cache takes data blocks when they are read for the first time. If false, the cache
    /// takes them when they are read again soon after: [`Cache::admits`]. Default: false.
    pub caches_first_reads: bool,
    /// Counts the blocks, indexes and filters that came back from the secondary cache. Default: a tally of
    /// its own.
    pub secondary_tally: Arc<SecondaryTally>,
    /// Counts cache hits, reads, filter checks and decompression. Default: nothing is counted.
    pub statistics: Option<Arc<Statistics>>,
    /// Keeps index and filter in the block cache: they are read again after an eviction, or without a cache
    /// on every use. Default: the table owns them.
    pub metadata_caching: Option<MetadataCaching>,
    /// The prefix extractor of the column family. Prefixes are looked up in the filter only if the table was
    /// written with an extractor of the same name.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// Verify the checksums of meta blocks, index and filter when they are read. Default: true.
    pub verify_checksums: bool,
    /// The bytes of the checksum that protects each entry of a data block in memory: 0, 1, 2, 4 or 8. The
    /// checksum is computed when the block is read and compared on every access to the entry. Default: 0, no
    /// checksum.
    pub block_protection_bytes_per_key: u8,
    /// The readahead of cursors that are opened without a readahead size.
    pub auto_readahead: AutoReadahead,
    /// Records lookups of blocks in the cache, while a trace is on. Default: nothing is recorded.
    pub block_trace: Option<Arc<dyn BlockTrace>>,
    /// Charges the [memory](crate::Table::memory_usage) of the table to the cache as long as it is open.
    /// Index and filter are then loaded when the table is opened, and a strict cache without room for them
    /// refuses it. Default: false.
    pub charges_cache: bool,
}

impl TableReadOptions {
    /// Options for tables in that order, without a cache and a prefix extractor.
    pub fn new(cmp: InternalComparator) -> TableReadOptions {
        TableReadOptions {
            cmp,
            file_number: 0,
            largest_seqno: None,
            cache: None,
            cache_id: None,
            cache_id_is_new: false,
            caches_first_reads: false,
            secondary_tally: Arc::default(),
            statistics: None,
            metadata_caching: None,
            prefix_extractor: None,
            verify_checksums: true,
            block_protection_bytes_per_key: 0,
            auto_readahead: AutoReadahead::default(),
            block_trace: None,
            charges_cache: false,
        }
    }
}

/// The options for reading data blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockReadOptions {
    /// Verify the checksum of each block. If false, blocks go into the cache unverified, and the first reader
    /// that needs them verified reads them again. Default: true.
    pub verify_checksums: bool,
    /// Keep blocks read from the file in the cache. Default: true.
    pub fill_cache: bool,
    /// Insert also those blocks that a full cache would not admit on their first read. Default: false.
    pub caches_first_reads: bool,
    /// Read nothing from the file. A block that is neither in the cache nor mapped is the error `Incomplete`.
    /// Default: false.
    pub cache_only: bool,
    /// The number of bytes that a cursor reads beyond a block into its own memory, and as many again that it
    /// asks the file to make ready. 0: the table's [`AutoReadahead`] decides. Default: 0.
    pub readahead_size: usize,
    /// Automatic readahead continues in the next table of a level, and across blocks that are in the cache,
    /// each of which makes the window 8 KiB smaller. If false, the readahead starts again at its initial
    /// size. Default: false.
    pub adaptive_readahead: bool,
    /// Readahead stops at the bounds of the scan, and before blocks at the end of a window that are in the
    /// cache. Default: true.
    pub auto_readahead_size: bool,
    /// A cursor that reads ahead starts to read the next window while it goes through the current one.
    /// Default: false.
    pub async_io: bool,
    /// The purpose of the reads, for the trace of the block cache. Default: `Uncategorized`.
    pub caller: TableReaderCaller,
}

impl Default for BlockReadOptions {
    fn default() -> BlockReadOptions {
        BlockReadOptions {
            verify_checksums: true,
            fill_cache: true,
            caches_first_reads: false,
            cache_only: false,
            readahead_size: 0,
            adaptive_readahead: false,
            auto_readahead_size: true,
            async_io: false,
            caller: TableReaderCaller::Uncategorized,
        }
    }
}

/// The readahead of cursors that are opened without a readahead size. A cursor reads nothing ahead at first.
/// Once it reads blocks one after the other, it reads a window of [`initial`](AutoReadahead::initial) bytes,
/// which doubles with each window up to [`max`](AutoReadahead::max).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoReadahead {
    /// The bytes of the first window beyond the requested block: `initial_auto_readahead_size`. 0 turns
    /// readahead off. Default: 8 KiB.
    pub initial: u64,
    /// The bytes of the largest window: `max_auto_readahead_size`. 0 turns readahead off. Default: 256 KiB.
    pub max: u64,
    /// The number of blocks read one after the other before the first window:
    /// `num_file_reads_for_auto_readahead`. Default: 2.
    pub after: u64,
}

impl Default for AutoReadahead {
    fn default() -> AutoReadahead {
        AutoReadahead {
            initial: 8 << 10,
            max: 256 << 10,
            after: 2,
        }
    }
}

/// The internal keys that bound a scan. No block outside is read ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanBounds {
    /// The scan starts at this key. Default: no bound.
    pub lower: Option<Vec<u8>>,
    /// The scan ends before this key. Default: no bound.
    pub upper: Option<Vec<u8>>,
}
