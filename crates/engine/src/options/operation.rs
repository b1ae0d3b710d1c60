//! Options of a single operation.

use std::time::Duration;

use vfs::rate_limiter::IoPriority;

/// The storage that a read may use.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{ErrorKind, ReadOptions, ReadTier};
///
/// # db.put(b"key", b"value")?;
/// # db.flush()?;
/// let in_memory = ReadOptions { read_tier: ReadTier::BlockCache, ..Default::default() };
/// match db.get_cf_opt(&db.default_column_family(), b"key", &in_memory) {
///     Ok(value) => println!("{value:?}"),
///     Err(error) => assert_eq!(error.kind(), ErrorKind::Incomplete), // the disk would have to be read
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    /// Memory and files: RocksDB's `kReadAllTier`.
    #[default]
    All,
    /// Memtables, and the parts of tables that are in memory: `kBlockCacheTier`. A read that would need the
    /// file system fails with `Incomplete`.
    BlockCache,
    /// Memtables only: `kMemtableTier`. A Get whose answer is not there fails with `Incomplete`; iterators
    /// return the rows that are there.
    Memtable,
}

/// A range of user keys from `start` (inclusive) to `limit` (exclusive); `None`: unbounded.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::RangeOpt;
///
/// db.put(b"a", b"1")?;
/// db.flush()?;
/// db.compact_range(None, None)?; // files at L0 are not deleted
/// let below_b = RangeOpt { start: None, limit: Some(b"b".to_vec()) };
/// db.delete_files_in_ranges(&db.default_column_family(), &[below_b], false)?;
/// assert!(db.get(b"a")?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeOpt {
    /// The first key, inclusive.
    pub start: Option<Vec<u8>>,
    /// The end of the range, exclusive.
    pub limit: Option<Vec<u8>>,
}

/// The options of a write.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::WriteOptions;
///
/// // Survives the loss of power once the call returns.
/// let durable = WriteOptions { sync: true, ..Default::default() };
/// db.put_cf_opt(&db.default_column_family(), b"key", b"value", &durable)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Returns only when the WAL is on disk (one `fdatasync` for all writes that wait for it). Otherwise a
    /// write survives the death of the process (unless [`manual_wal_flush`](crate::Options::manual_wal_flush)
    /// is on), but not of the machine. Default: false.
    pub sync: bool,
    /// Does not write to the WAL: the row is lost in a crash unless it is flushed first. Default: false.
    pub disable_wal: bool,
    /// Fails with `Incomplete` instead of waiting while writes are stalled, or the WAL is
    /// [locked](crate::Db::lock_wal). Default: false.
    pub no_slowdown: bool,
    /// While compactions are behind (earlier than writes are delayed: L0 has twice the files that start a
    /// compaction, or a quarter of `soft_pending_compaction_bytes_limit` is pending), all low-priority writes
    /// together are limited to 1 MiB per second; with [`no_slowdown`](Self::no_slowdown) they fail with
    /// `Incomplete`. Costs one acquisition of the database mutex. Default: false.
    pub low_pri: bool,
    /// Charges the WAL bytes of the write to [`Options::rate_limiter`](crate::Options::rate_limiter) before
    /// they are written: [`IoPriority::User`], or none. As in RocksDB, `InvalidArgument` for another
    /// priority, with [`disable_wal`](Self::disable_wal), and with
    /// [`manual_wal_flush`](crate::Options::manual_wal_flush), where flushed bytes belong to no single write.
    /// Default: none.
    pub rate_limiter_priority: Option<IoPriority>,
    /// Skips operations on column families that do not exist instead of failing. Default: false.
    pub ignore_missing_column_families: bool,
    /// The size in bytes of a checksum for each operation, which is computed first and compared with the
    /// contents of the WAL and of the memtable: 0 or 8. A mismatch fails the write. A [`WriteBatch`] may have
    /// checksums from its creation: [`WriteBatch::with_protection`]. 0: no checksums. Default: 0.
    ///
    /// [`WriteBatch`]: crate::WriteBatch
    /// [`WriteBatch::with_protection`]: crate::WriteBatch::with_protection
    pub protection_bytes_per_key: usize,
    /// Records the value that each row replaces in the WAL, with the row, for change feeds:
    /// [`FeedRow::before`](crate::FeedRow::before). A row after others of its key in one batch replaces what
    /// these leave; a merge records the merged value before it; a range deletion records nothing. Costs a
    /// snapshot and a Get for each row before the write, and all of it again if another write changes one of
    /// the keys meanwhile. RocksDB ignores the records. `InvalidArgument` with
    /// [`disable_wal`](Self::disable_wal); `NotSupported` for families with timestamps and for
    /// [`Db::prepare`](crate::Db::prepare). RocksDB has no such option. Default: false.
    pub before_images: bool,
}

/// The options of [`Db::wait_for_compact_opt`](crate::Db::wait_for_compact_opt).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::WaitForCompactOptions;
///
/// db.put(b"key", b"value")?;
/// // Then the rows are in tables, and no compaction is due.
/// let options = WaitForCompactOptions { flush: true, ..Default::default() };
/// db.wait_for_compact_opt(&options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WaitForCompactOptions {
    /// Ends the wait with `Aborted` while background work is [paused](crate::Db::pause_background_work).
    /// Otherwise the wait lasts until the work has continued and is done. Default: false.
    pub abort_on_pause: bool,
    /// Flushes all families first. Default: false.
    pub flush: bool,
    /// Waits until obsolete files are deleted, too. Default: false.
    pub wait_for_purge: bool,
    /// Ends the wait for compactions with `TimedOut` after this time. Default: none.
    pub timeout: Option<Duration>,
}

/// The options of a flush.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::FlushOptions;
///
/// db.put(b"key", b"value")?;
/// let options = FlushOptions { wait: false, ..Default::default() };
/// db.flush_cf_opt(&[db.default_column_family()], &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FlushOptions {
    /// Returns when the tables are installed. Default: true.
    pub wait: bool,
    /// Begins the flush at once, even if one more immutable memtable, or one more file in L0, delays or stops
    /// writes. Otherwise it waits until that is not the case, as long as running flushes or compactions can
    /// help. Default: false.
    pub allow_write_stall: bool,
    /// Also waits until listeners were notified of the flush. A listener must not use it: it would wait for
    /// itself. No effect without `wait`. Default: false.
    pub listener_wait: bool,
    /// Installs the tables of the flushed families in one step, even if the database was opened without
    /// [`atomic_flush`](crate::Options::atomic_flush): after a crash there are those of all these families or
    /// of none. Default: false.
    pub force_atomic_flush: bool,
}

impl FlushOptions {
    /// The options of a flush that another operation waits for.
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
