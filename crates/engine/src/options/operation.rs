//! Options of one operation.

use std::sync::Arc;
use std::time::Duration;

use sst::BlockPropertyFilter;
use vfs::rate_limiter::IoPriority;

use crate::db::snapshot::Snapshot;
use crate::read::filters::TableFilter;

/// How far down a read may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    /// Everywhere: RocksDB's `kReadAllTier`.
    #[default]
    All,
    /// Memtables, and what of the tables lies in memory: `kBlockCacheTier`. Where a read would have to ask the file system it
    /// fails with `Incomplete`.
    BlockCache,
    /// Memtables alone: `kMemtableTier`. A Get whose answer is not there fails with `Incomplete`; iterators show what is there.
    Memtable,
}

/// How a read is done.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Reads the database as it was at this snapshot. Default: as it is now.
    pub snapshot: Option<Snapshot>,
    /// Iterators see no key below this one. Default: none.
    pub iterate_lower_bound: Option<Vec<u8>>,
    /// Iterators see no key at or above this one. Default: none.
    pub iterate_upper_bound: Option<Vec<u8>>,
    /// Checks the checksum of every block read from disk. Off, it is checked of none, not of those either that go into the block cache.
    /// A block there that was not checked is read again, and checked, by the first read that asks for it with this on (RocksDB takes it
    /// as it is). Default: true.
    pub verify_checksums: bool,
    /// Keeps blocks read from disk in the block cache. Default: true.
    pub fill_cache: bool,
    /// Iterators end where the prefix of the key sought ends; needs a prefix extractor. A seek forwards then asks the tables' filters for
    /// the prefix, and reads none that has nothing of it. Without it, and without [`auto_prefix_mode`](Self::auto_prefix_mode),
    /// iterators ask no filters, and see all keys in order: RocksDB's `total_order_seek`. Default: false.
    pub prefix_same_as_start: bool,
    /// A seek forwards asks the tables' filters where the key sought and
    /// [`iterate_upper_bound`](Self::iterate_upper_bound) have the same prefix, so that nothing else can be seen. RocksDB also does where
    /// the bound is the prefix that follows, and loses keys shorter than a prefix then, as its header says. Default: false.
    pub auto_prefix_mode: bool,
    /// Where rows are looked for. Default: everywhere.
    pub read_tier: ReadTier,
    /// Iterators see, at each seek, the database as it is then; between seeks they see the same rows. A seek that finds nothing
    /// new costs what another one costs; one that finds a file that cannot be opened fails. Not together with a [`snapshot`](Self::snapshot): the iterator's status is
    /// `InvalidArgument` then. Default: false.
    pub tailing: bool,
    /// Versions and deletions that an iterator may pass over in one move before it fails with `Incomplete`, standing nowhere; 0 sets
    /// no limit. What range deletions cover does not count. Default: 0.
    pub max_skippable_internal_keys: u64,
    /// Charges what is read of tables and blob files to [`Options::rate_limiter`](crate::Options::rate_limiter), if that limits reads, at this
    /// priority: Gets, MultiGets, moves of iterators, [`verify_checksum_opt`](crate::Db::verify_checksum_opt). What lies in a memory map, or in
    /// the block cache, is not read. Default: none.
    pub rate_limiter_priority: Option<IoPriority>,
    /// In families with timestamps: reads as of this timestamp. Required there.
    pub timestamp: Option<Vec<u8>>,
    /// The oldest timestamp of the versions that [`Db::iter_versions`](crate::Db::iter_versions) shows; other reads ignore it, but for
    /// iterators, which show one version of a key and fail with `InvalidArgument`. Default: none.
    pub iter_start_ts: Option<Vec<u8>>,
    /// Bytes an iterator, or [`verify_checksum_opt`](crate::Db::verify_checksum_opt), reads beyond each block it must read; 0 reads ahead by
    /// itself once it sees sequential access
    /// ([`initial_auto_readahead_size`](crate::BlockBasedOptions::initial_auto_readahead_size)). Default: 0.
    pub readahead_size: usize,
    /// What an iterator reads ahead by itself stays as much from one file of a level to the next, and where blocks in between are in
    /// the cache becomes 8 KiB less for each. Without it, it begins anew. Default: false.
    pub adaptive_readahead: bool,
    /// Nothing is read ahead beyond the bounds of an iterator, nor what is in the block cache already. Default: true.
    pub auto_readahead_size: bool,
    /// Reads of the disk are under way while the reader does something else, and side by side: what an iterator reads ahead is read
    /// while it walks through what was read before, a seek reads from all levels at once, and a MultiGet all blocks of a level.
    /// By io_uring, a ring for each thread that reads so; where the kernel has none, it is told what will be read. Costs a second
    /// window of memory for each file and level of an iterator; where all is in memory it gains nothing. Default: false.
    pub async_io: bool,
    /// Iterators with a [`snapshot`](Self::snapshot) let go, as they move, of memtables and files that flushes and compactions
    /// have replaced, and read on in what replaced them: they hold back neither memory nor disk space for longer than it takes
    /// to move a step, and see the same rows all the while. Costs one load a step, and a seek where something was replaced.
    /// Without a snapshot it changes nothing. Default: true; RocksDB's is false, and a long scan of a snapshot keeps what it
    /// began with in memory and on the disk.
    pub auto_refresh_iterator_with_snapshot: bool,
    /// Iterators do not read a value that lies in a blob file until [`DbIterator::prepare_value`](crate::DbIterator::prepare_value) asks for it;
    /// before, [`value`](crate::DbIterator::value) is empty. Other values are there at once: those in tables and memtables, what a merge makes of
    /// a value in a blob file, and the columns of entities. Default: false.
    pub allow_unprepared_value: bool,
    /// Until when a read may take, as time since 1970 by [`Options::clock`](crate::Options::clock): after that it fails with `TimedOut`. It is
    /// looked at before tables are searched and between sorted runs, for each 32 keys of a MultiGet, whose other keys keep their values, and at
    /// each move of an iterator, which stands nowhere then. A read of the disk that is under way is waited for. Costs a look at the clock each.
    /// Default: none.
    pub deadline: Option<Duration>,
    /// Bytes of values after which a MultiGet gives up: the keys that are left, in their order, fail with `Aborted`. Default: no limit.
    pub value_size_soft_limit: u64,
    /// Reads see what range deletions have deleted, as if there were none: of use where it is known that there are none. Default: false.
    pub ignore_range_deletions: bool,
    /// Iterators do not look into tables for whose properties it is false, but for their range deletions. What is passed over
    /// hides nothing: older versions of its keys, in other tables, may be seen. Default: none, all are looked into.
    pub table_filter: Option<TableFilter>,
    /// The same of runs of data blocks, by what a
    /// [collector](crate::ColumnFamilyOptions::block_property_collector_factories) said of them; about 64 KiB each. Costs a call for each
    /// run of a table when it is opened for the iterator, and passes over runs without reading them. Not RocksDB's. Default: none.
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
            value_size_soft_limit: u64::MAX,
            ignore_range_deletions: false,
            table_filter: None,
            block_property_filter: None,
        }
    }
}

/// How a write is done.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Returns only when the WAL lies on the disk (one `fdatasync` for all writes that wait for it). Without it a
    /// write survives the death of the process (unless [`manual_wal_flush`](crate::Options::manual_wal_flush) is on), but not of the
    /// machine. Default: false.
    pub sync: bool,
    /// Writes no WAL: the row is lost unless a flush comes first. Default: false.
    pub disable_wal: bool,
    /// Fails with `Incomplete` instead of waiting while writes are stalled, or the WAL is [locked](crate::Db::lock_wal). Default: false.
    pub no_slowdown: bool,
    /// While compactions are behind (sooner than writes are delayed: L0 has twice the files that begin a compaction, or a quarter of
    /// `soft_pending_compaction_bytes_limit` is due), all writes of this kind together go on at 1 MiB a second; with
    /// [`no_slowdown`](Self::no_slowdown) they fail with `Incomplete`. Costs a look at the database mutex. Default: false.
    pub low_pri: bool,
    /// Charges the bytes of the write's WAL to [`Options::rate_limiter`](crate::Options::rate_limiter) before they are written:
    /// [`IoPriority::User`], or none. As with RocksDB `InvalidArgument` at another priority, with [`disable_wal`](Self::disable_wal), and
    /// with [`manual_wal_flush`](crate::Options::manual_wal_flush), where nobody can say whose bytes are flushed. Default: none.
    pub rate_limiter_priority: Option<IoPriority>,
    /// Skips operations on column families that do not exist instead of failing. Default: false.
    pub ignore_missing_column_families: bool,
    /// Bytes of a checksum over each operation that is made before anything else, carried along, and compared with what goes
    /// into the WAL and with what was copied into the memtable: 0 or 8. A difference fails the write. A [`WriteBatch`] may have
    /// them from the beginning: [`WriteBatch::with_protection`]. Default: 0, none.
    ///
    /// [`WriteBatch`]: crate::WriteBatch
    /// [`WriteBatch::with_protection`]: crate::WriteBatch::with_protection
    pub protection_bytes_per_key: usize,
}

/// How a flush is done.
#[derive(Clone, Debug)]
pub struct FlushOptions {
    /// Returns when the tables are in place. Default: true.
    pub wait: bool,
    /// The flush begins at once, even if one more memtable that waits, or one more file in L0, delays or stops writes. Otherwise it waits
    /// until it does not, as long as flushes or compactions are to be expected that help. Default: false.
    pub allow_write_stall: bool,
    /// Returns when listeners have heard of the flush, too. Not for a listener to ask for: it would wait for itself. Without `wait` it has no
    /// effect. Default: false.
    pub listener_wait: bool,
    /// The tables of the families flushed come into the database in one step, though the database was opened without
    /// [`atomic_flush`](crate::Options::atomic_flush): a crash leaves those of all these families or of none. Default: false.
    pub force_atomic_flush: bool,
}

impl FlushOptions {
    /// For what somebody waits for who has not asked for a flush.
    pub(crate) fn at_once() -> FlushOptions {
        FlushOptions {
            wait: true,
            allow_write_stall: true,
            listener_wait: false,
            force_atomic_flush: false,
        }
    }
}

impl Default for FlushOptions {
    fn default() -> FlushOptions {
        FlushOptions {
            wait: true,
            allow_write_stall: false,
            listener_wait: false,
            force_atomic_flush: false,
        }
    }
}
