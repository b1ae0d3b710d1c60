//! The options of a read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sst::{BlockPropertyFilter, TableProperties};
use vfs::rate_limiter::IoPriority;

use crate::files::blob_cache::BlobRead;
use crate::options::ReadTier;
use crate::state::snapshot::Snapshot;

/// The options of a read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::ReadOptions;
///
/// for key in ["a", "b", "c"] {
///     db.put(key, b"value")?;
/// }
/// let options = ReadOptions {
///     iterate_upper_bound: Some(b"c".to_vec()),
///     fill_cache: false,
///     ..Default::default()
/// };
/// let mut iter = db.iter_opt(&options);
/// iter.seek_to_last();
/// assert_eq!(iter.key(), b"b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Reads the database as of this snapshot; without one, its current state. Default: none.
    pub snapshot: Option<Snapshot>,
    /// Iterators return no key below this key. Default: none.
    pub iterate_lower_bound: Option<Vec<u8>>,
    /// Iterators return no key at or above this key. Default: none.
    pub iterate_upper_bound: Option<Vec<u8>>,
    /// Verifies the checksum of every block read from disk. If false, none is verified, including those of
    /// blocks that are inserted into the block cache. A cached block that was not verified is read again and
    /// verified by the first read with this option (RocksDB uses it unverified). Default: true.
    pub verify_checksums: bool,
    /// Keeps blocks read from disk in the block cache. Default: true.
    pub fill_cache: bool,
    /// Ends iterators where the prefix of the sought key ends; requires a prefix extractor. A forward seek
    /// then queries the tables' filters for the prefix, and skips tables without it. Without this and
    /// [`auto_prefix_mode`](Self::auto_prefix_mode), iterators use no filters, and return all keys in order:
    /// RocksDB's `total_order_seek`. Default: false.
    pub prefix_same_as_start: bool,
    /// Lets a forward seek query the tables' filters if the sought key and
    /// [`iterate_upper_bound`](Self::iterate_upper_bound) have the same prefix, so that no other key can be
    /// returned. RocksDB also does so if the bound is the next prefix, and then loses keys shorter than a
    /// prefix, as its header says. Default: false.
    pub auto_prefix_mode: bool,
    /// The storage that the read may use. Default: memory and files.
    pub read_tier: ReadTier,
    /// Moves iterators to the current state of the database at each seek; between seeks they return the same
    /// rows. A seek without newer rows costs as much as any other; a seek that meets a file that cannot be
    /// opened fails. With a [`snapshot`](Self::snapshot) the iterator's status is `InvalidArgument`. Default:
    /// false.
    pub tailing: bool,
    /// The maximum number of versions and deletions that an iterator may skip in one move before it fails
    /// with `Incomplete` and becomes invalid; 0 sets no limit. Entries covered by range deletions do not
    /// count. Default: 0.
    pub max_skippable_internal_keys: u64,
    /// Charges reads of tables and blob files at this priority to
    /// [`Options::rate_limiter`](crate::Options::rate_limiter), if that limits reads: Gets, MultiGets, moves
    /// of iterators, [`verify_checksum_opt`](crate::Db::verify_checksum_opt). Accesses to a memory map or the
    /// block cache are not charged. Default: none.
    pub rate_limiter_priority: Option<IoPriority>,
    /// The timestamp as of which families with timestamps are read, which require it. Default: none.
    pub timestamp: Option<Vec<u8>>,
    /// The oldest timestamp of the versions that [`Db::iter_versions`](crate::Db::iter_versions) returns.
    /// Other iterators return one version per key, and fail with `InvalidArgument` if it is set; other reads
    /// ignore it. Default: none.
    pub iter_start_ts: Option<Vec<u8>>,
    /// The readahead in bytes of an iterator, or of [`verify_checksum_opt`](crate::Db::verify_checksum_opt),
    /// for each block it must read; 0 reads ahead automatically once it detects sequential access
    /// ([`initial_auto_readahead_size`](crate::BlockBasedOptions::initial_auto_readahead_size)). Default: 0.
    pub readahead_size: usize,
    /// Keeps the size of an iterator's automatic readahead from one file of a level to the next, and shrinks
    /// it by 8 KiB for each block found in the cache. If false, it starts again at its initial size in each
    /// file. Default: false.
    pub adaptive_readahead: bool,
    /// Limits readahead to the bounds of an iterator, and to blocks that are not in the block cache yet.
    /// Default: true.
    pub auto_readahead_size: bool,
    /// Runs reads of the disk in parallel and while the reader does other work: the readahead of an iterator
    /// runs while it returns rows that were read before, a seek reads from all levels at once, and a MultiGet
    /// reads all blocks of a level at once. These reads use io_uring, with a ring per reading thread; if the
    /// kernel does not support io_uring, it is advised of the coming reads. Costs a second readahead buffer
    /// per file and level of an iterator; if all data is in memory it gains nothing. Default: false.
    ///
    /// Without it, a MultiGet reads the blocks of a level at once with
    /// [`use_direct_reads`](crate::Options::use_direct_reads), and otherwise after its reads have waited for
    /// the disk: while the page cache answers them, one read after the other is cheapest.
    pub async_io: bool,
    /// Lets iterators with a [`snapshot`](Self::snapshot) release, as they move, memtables and files that
    /// flushes and compactions have replaced, and continue in the replacements: they delay the release of
    /// memory and disk space by at most one move, and return the same rows all the time. Costs one load per
    /// step, and a seek after a replacement. No effect without a snapshot. RocksDB's default is false, with
    /// which a long scan of a snapshot pins its initial memory and files. Default: true.
    pub auto_refresh_iterator_with_snapshot: bool,
    /// Delays the read of a value in a blob file until
    /// [`DbIterator::prepare_value`](crate::DbIterator::prepare_value) of an iterator is called; before that,
    /// [`value`](crate::DbIterator::value) is empty. Other values are available at once: those in tables and
    /// memtables, results of merges with a value in a blob file, and the columns of entities. Default: false.
    pub allow_unprepared_value: bool,
    /// The deadline of the read, as time since 1970 by [`Options::clock`](crate::Options::clock): after it
    /// the read fails with `TimedOut`. It is checked before tables are searched and between sorted runs,
    /// every 32 keys of a MultiGet, whose other keys keep their values, and at each move of an iterator,
    /// which then becomes invalid. A disk read in progress is awaited. Each check costs a read of the clock.
    /// Default: none.
    pub deadline: Option<Duration>,
    /// The longest time that each read of a file may take, which the file system learns by
    /// [`read_timeout`](mod@crate::file_system::read_timeout): one that can end a read fails it with
    /// `TimedOut`. The operating system's file system ignores it, as in RocksDB. A call may take longer,
    /// since it may read several times. Applies to Gets, MultiGets and moves of iterators. Default: none.
    pub io_timeout: Option<Duration>,
    /// Keeps each row that an iterator comes to in memory as long as the iterator exists: the bytes of its
    /// keys and values stay where they are, and blocks are not evicted. Costs a copy of each key, and memory
    /// that grows with every move. [`DbIterator::property`](crate::DbIterator::property) tells programs in
    /// other languages that pointers stay valid; in Rust a value stays by
    /// [`value_pinned`](crate::DbIterator::value_pinned) too. RocksDB pins keys only in blocks without prefix
    /// compression. Default: false.
    pub pin_data: bool,
    /// The bytes of values after which a MultiGet stops: the remaining keys, in order, fail with `Aborted`.
    /// Default: no limit.
    pub value_size_soft_limit: u64,
    /// Ignores range deletions: keys that they delete are visible. Useful if it is known that there are no
    /// range deletions. Default: false.
    pub ignore_range_deletions: bool,
    /// Iterators skip tables whose properties it rejects, except for their range deletions. A skipped table
    /// hides nothing: older versions of its keys in other tables may be returned. Default: none.
    pub table_filter: Option<TableFilter>,
    /// Iterators skip runs of data blocks, of about 64 KiB each, that it rejects by the data of a
    /// [collector](crate::ColumnFamilyOptions::block_property_collector_factories). Costs a call for each run
    /// of a table when it is opened for the iterator, and skips runs without reading them. RocksDB has no
    /// such option. Default: none.
    pub block_property_filter: Option<Arc<dyn BlockPropertyFilter>>,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            snapshot: None,
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            verify_checksums: true,
            fill_cache: true,
            prefix_same_as_start: false,
            auto_prefix_mode: false,
            read_tier: ReadTier::All,
            tailing: false,
            max_skippable_internal_keys: 0,
            rate_limiter_priority: None,
            timestamp: None,
            iter_start_ts: None,
            readahead_size: 0,
            adaptive_readahead: false,
            auto_readahead_size: true,
            async_io: false,
            auto_refresh_iterator_with_snapshot: true,
            allow_unprepared_value: false,
            deadline: None,
            io_timeout: None,
            pin_data: false,
            value_size_soft_limit: u64::MAX,
            ignore_range_deletions: false,
            table_filter: None,
            block_property_filter: None,
        }
    }
}

/// The refusal of [`ReadOptions::tailing`] with a snapshot.
pub(crate) const TAILING_WITH_SNAPSHOT: &str =
    "a tailing iterator reads what is newest, and takes no snapshot";

/// A predicate over a table's properties: true if an iterator reads the table. RocksDB's `table_filter`.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{ReadOptions, TableFilter};
///
/// let with_deletions = ReadOptions {
///     table_filter: Some(TableFilter::new(|properties| properties.num_deletions > 0)),
///     ..Default::default()
/// };
/// let mut iter = db.iter_opt(&with_deletions);
/// iter.seek_to_first();
/// assert!(!iter.valid());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TableFilter(pub(crate) Arc<dyn Fn(&TableProperties) -> bool + Send + Sync>);

impl TableFilter {
    /// A filter that skips the tables for which `wanted` is false.
    pub fn new(wanted: impl Fn(&TableProperties) -> bool + Send + Sync + 'static) -> TableFilter {
        TableFilter(Arc::new(wanted))
    }
}

impl fmt::Debug for TableFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TableFilter")
    }
}

impl From<&ReadOptions> for BlobRead {
    fn from(options: &ReadOptions) -> BlobRead {
        BlobRead {
            fill_cache: options.fill_cache,
            cache_only: options.read_tier != ReadTier::All,
        }
    }
}
