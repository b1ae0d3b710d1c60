//! The database: the users' handle, and the state behind it.

mod range;
pub(crate) mod trace_replay;

use base::statistics::{Histogram, Ticker};
use base::sync::thread::JoinHandle;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use arc_swap::ArcSwap;
use base::sync::{Condvar, Mutex, MutexGuard};
use base::{Error, Result, SeqNo, user_code};
use compact::SeqnoToTimeMapping;
use sst::BlockCache;
use vfs::{FileLock, RateLimiter};

use crate::batch::write_batch::{SingleKind, SingleOperation, WriteBatch};
use crate::events::{Event, Listeners};
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::OpenLimit;
use crate::jobs::error_handler::Automatic;
use crate::jobs::scheduler::{Housekeeping, Work};
use crate::jobs::verifier::Verifier;
use crate::lifecycle::secondary::Secondary;
use crate::log::InfoLog;
use crate::options::write_buffer_manager::Share;
use crate::options::{Options, WriteOptions};
use crate::report::dump_stats::Samples;
use crate::report::stats_history::StatsHistory;
use crate::state::column_family::{ColumnFamily, DEFAULT_COLUMN_FAMILY, Family};
use crate::state::db_state::{DbState, LISTENER};
use crate::state::snapshot::{Snapshot, SnapshotList};
use crate::state::sync_group::{SyncGroup, WalTail};
use crate::state::version_set::VersionSet;
use crate::state::write_queue::WriteQueue;
use crate::stats::Stats;
use crate::trace::QueryTrace;
use crate::write::pipeline::Commit;

/// The state shared by all handles of a database. Mutable fields name their lock; `ARCHITECTURE.md` has the
/// lock order.
pub(crate) struct DbInner {
    /// The directory of the database.
    pub dir: PathBuf,
    /// The directory of its WALs.
    pub wal_dir: PathBuf,
    /// The options of the open. Mutable ones are read from [`current`](Self::current).
    pub options: Options,
    /// The options in force, except those of families. Replaced under the database mutex.
    pub current: ArcSwap<Options>,
    /// Held while an OPTIONS file is written, so that the newest file has the last change. Taken before the
    /// database mutex.
    pub options_file: Mutex<()>,
    /// The state guarded by the database mutex.
    pub state: Mutex<DbState>,
    /// Notifies background threads that there may be work.
    pub work: Work,
    /// The periodic work of a database that is open for writing. The thread that deletes files holds the lock
    /// while it checks.
    pub housekeeping: Mutex<Option<Housekeeping>>,
    /// All other threads wait here, with the database mutex, for the end of a job.
    pub changed: Condvar,
    /// The line of stalled writers; the first of them holds the lock. Taken before the write queue's lock.
    pub line: Mutex<()>,
    /// The write queue.
    pub writer: WriteQueue,
    /// The progress of the WALs.
    pub wal_tail: WalTail,
    /// The state shared by syncs of the WAL. The write queue's lock is not taken under it: its holder may
    /// wait for a flush, which syncs.
    pub sync_group: Mutex<SyncGroup>,
    /// Limits the rate of low-priority writes while compactions are behind.
    pub low_pri_limiter: RateLimiter,
    /// The sequence number of the last row that readers see. Written under the write queue's lock, or in the
    /// order of tickets by writers that have released it.
    pub published: Arc<AtomicU64>,
    /// Records queries while a trace is on.
    pub query_trace: Arc<QueryTrace>,
    /// Checked by writers before each write: set when something needs attention first.
    pub attention: AtomicBool,
    /// The bytes of WALs older than the current one.
    pub older_wal_bytes: AtomicU64,
    /// The bytes of WAL beyond which memtables are flushed so that the oldest WAL can be deleted. Written
    /// under the database mutex.
    pub max_total_wal_size: AtomicU64,
    /// The open snapshots.
    pub snapshots: Arc<SnapshotList>,
    /// The times at which rows were written, for families that preserve them.
    pub seqno_to_time: Mutex<SeqnoToTimeMapping>,
    /// The recorded history of the tickers.
    pub stats_history: Mutex<StatsHistory>,
    /// Writes the MANIFEST and numbers files.
    pub versions: VersionSet,
    /// Deletes obsolete files.
    pub obsolete: Arc<ObsoleteFiles>,
    /// The existing families, for lookups by id or name.
    pub index: ArcSwap<FamilyIndex>,
    /// The default family, which is never dropped.
    pub default_family: Arc<Family>,
    /// The info log.
    pub log: Arc<InfoLog>,
    /// The receivers of events, the info log first.
    pub listeners: Listeners,
    /// Held while listeners are notified of stalls, so that the events arrive in order.
    pub telling: Mutex<()>,
    /// The samples that statistics are compared with.
    pub samples: Mutex<Samples>,
    /// The number of the next job in events.
    pub next_job: AtomicU64,
    /// The counters of the database.
    pub stats: Arc<Stats>,
    /// The database's share of the memory of a write buffer manager.
    pub share: Option<Arc<Share>>,
    /// Verifies files in the background.
    pub verifier: Arc<Verifier>,
    /// The time of the open, by the clock of the options.
    pub opened: Duration,
    /// `max_open_files`.
    pub open_limit: Arc<OpenLimit>,
    /// The block cache of families without one of their own.
    pub block_cache: Arc<BlockCache>,
    /// The database's id, which is written to tables.
    pub db_id: String,
    /// The session's id, which is written to tables.
    pub session_id: String,
    /// Set to make compactions stop.
    pub cancelled: Arc<AtomicBool>,
    /// Set to make manual compactions stop.
    pub manual_cancelled: Arc<AtomicBool>,
    /// True in a read-only database.
    pub read_only: bool,
    /// Follows the primary, in a secondary or a follower.
    pub secondary: Option<Secondary>,
    /// The thread of a follower.
    pub threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held while the database is open for writing.
    pub lock: Mutex<Option<Box<dyn FileLock>>>,
    /// The lock of a separate `wal_dir`, held while the database is open for writing. Taken after
    /// [`lock`](Self::lock) and released before it.
    pub wal_dir_lock: Mutex<Option<Box<dyn FileLock>>>,
}

/// Families by id and by name.
#[derive(Default, Clone)]
pub(crate) struct FamilyIndex {
    pub by_id: HashMap<u32, Arc<Family>>,
    pub by_name: HashMap<String, Arc<Family>>,
}

/// An open database. Cheap to clone; all clones are the same database, which closes when its last clone,
/// iterator and snapshot are dropped.
///
/// Every method may be called from any thread. Snapshots, iterators, pinned values and column families may
/// outlive the handle; snapshots and iterators keep the database open and its directory locked.
/// [`close`](Db::close) does not wait for them.
#[derive(Clone)]
pub struct Db(pub(crate) Arc<Handle>);

/// Closes the database when dropped. Background threads hold only [`DbInner`], so they do not keep it open.
pub(crate) struct Handle {
    pub inner: Arc<DbInner>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Callers that need the error of a close call `close`.
        let _ = self.inner.close();
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Db({})", self.path().display())
    }
}

impl Db {
    #[inline]
    pub(crate) fn inner(&self) -> &DbInner {
        &self.0.inner
    }

    /// The directory of the database.
    pub fn path(&self) -> &Path {
        &self.inner().dir
    }

    /// The database's id, 36 characters: from the MANIFEST, or from the file IDENTITY. Copies have the same
    /// id if the MANIFEST [records it](Options::write_dbid_to_manifest).
    pub fn identity(&self) -> &str {
        &self.inner().db_id
    }

    /// The options of the open.
    pub fn options(&self) -> &Options {
        &self.inner().options
    }

    /// The counters of this database since the open, which are always counted; see [`Options::statistics`]
    /// for all others.
    pub fn statistics(&self) -> &Stats {
        &self.inner().stats
    }

    /// The sequence number of the last write.
    pub fn latest_sequence_number(&self) -> SeqNo {
        match &self.inner().secondary {
            // The number visible in every family, and not the one being installed.
            Some(secondary) => secondary.view().seqno,
            None => self.inner().published.load(std::sync::atomic::Ordering::Acquire),
        }
    }

    /// Takes a snapshot. While it is held, the current state stays readable, and the database stays open.
    /// After a [close](Self::close) it cannot be read.
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.inner();
        match &inner.secondary {
            Some(secondary) => inner.snapshots.take_view(secondary.view(), Some(&self.0)),
            None => inner.snapshots.take(&inner.published, Some(&self.0)),
        }
    }

    /// Sets `key` to `value` in the default family.
    ///
    /// # Errors
    /// `InvalidArgument`, and nothing is written, for a value of more than 2 GiB - 1 bytes, and for a key
    /// that is longer than that together with its timestamp and eight bytes of trailer: see
    /// [`RowLimit`](crate::RowLimit). The same applies to every write.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.single(
            &WriteOptions::default(),
            &self.inner().default_family,
            key,
            SingleKind::Put(value),
        )
    }

    /// Sets `key` to `value`.
    pub fn put_opt(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Put(value))
    }

    /// Deletes `key` of the default family, whether or not it exists.
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.single(
            &WriteOptions::default(),
            &self.inner().default_family,
            key,
            SingleKind::Delete,
        )
    }

    /// Deletes `key`, whether or not it exists.
    pub fn delete_opt(&self, options: &WriteOptions, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Delete)
    }

    /// Deletes `key`, which must have been put exactly once since it was absent last; compactions then drop
    /// the put and the deletion together. For keys that were merged, or put twice, later reads are undefined.
    pub fn single_delete(&self, options: &WriteOptions, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::SingleDelete)
    }

    /// Adds the merge operand `operand` to `key`. The family's merge operator applies it when the key is next
    /// read or compacted.
    ///
    /// An operand may be as long as a value. If the result of the operator is larger than a value may be,
    /// each read of the key fails with `MergeFailed`, and compactions keep the operands unchanged, until the
    /// key is put or deleted.
    pub fn merge(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        key: &[u8],
        operand: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Merge(operand))
    }

    /// Deletes every key from `begin` (inclusive) to `end` (exclusive). Costs one write, however many keys it
    /// covers. `InvalidArgument` if `end` sorts before `begin`.
    pub fn delete_range(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, begin, SingleKind::DeleteRange(end))
    }

    /// Applies a batch atomically, over all families it names.
    pub fn write(&self, options: &WriteOptions, batch: WriteBatch) -> Result<()> {
        self.write_sequenced(options, batch).map(drop)
    }

    /// Same as [`write`](Db::write), and returns the sequence number of the batch's first row, which
    /// determines its place among all writes: a crash loses the writes with the highest numbers first. For an
    /// empty batch, which is not written, it is the number of the last row.
    pub fn write_sequenced(&self, options: &WriteOptions, mut batch: WriteBatch) -> Result<SeqNo> {
        self.write_in_place(options, &mut batch)
    }

    /// Same as [`write_sequenced`](Db::write_sequenced), for a batch that stays with the caller, who may
    /// write it again or extend it: its operations are unchanged.
    pub fn write_in_place(&self, options: &WriteOptions, batch: &mut WriteBatch) -> Result<SeqNo> {
        if batch.is_empty() {
            self.inner().check_open()?;
            return Ok(self.latest_sequence_number());
        }
        let inner = self.inner();
        inner.stats.count(Ticker::KeysWritten, u64::from(batch.count()));
        let started = inner.stats.start();
        let written = inner.commit(options, Commit::Batch(batch));
        inner.stats.stop(started, Histogram::DbWrite);
        written
    }

    #[inline]
    fn single(
        &self,
        options: &WriteOptions,
        family: &Arc<Family>,
        key: &[u8],
        what: SingleKind<'_>,
    ) -> Result<()> {
        let inner = self.inner();
        inner.check_owns(family)?;
        inner.stats.count(Ticker::KeysWritten, 1);
        let operation = SingleOperation {
            family: family.id,
            key,
            what,
        };
        let started = inner.stats.start();
        let written = inner.commit(options, Commit::Single(family, operation));
        inner.stats.stop(started, Histogram::DbWrite);
        written.map(drop)
    }
}

impl DbInner {
    /// An error unless `family` belongs to this database: a family's obsolete files are queued in its own
    /// database. Sequence numbers of another database would have no meaning for its rows.
    #[inline]
    pub(crate) fn check_owns(&self, family: &Family) -> Result<()> {
        if family.tables.belongs_to(&self.obsolete) {
            return Ok(());
        }
        Err(not_owned(family))
    }

    #[inline]
    pub(crate) fn family_by_id(&self, id: u32) -> Option<Arc<Family>> {
        if id == 0 {
            return Some(self.default_family.clone());
        }
        self.index.load().by_id.get(&id).cloned()
    }

    pub(crate) fn family_by_name(&self, name: &str) -> Option<Arc<Family>> {
        if name == DEFAULT_COLUMN_FAMILY {
            return Some(self.default_family.clone());
        }
        self.index.load().by_name.get(name).cloned()
    }

    /// Notifies the listeners. Called without locks. A panic of a listener stops the database; the operation
    /// of `event` continues.
    pub(crate) fn notify(&self, event: &Event) {
        self.listeners.notify(event);
        if !self.listeners.has_panicked() {
            return;
        }
        match event {
            // The report of why the database has stopped does not stop it again.
            Event::BackgroundError {
                stops_writes: true, ..
            } => drop(self.listeners.take_panic()),
            _ => self.latch_listener(),
        }
    }

    /// If a listener has panicked, stops writes. During the open the database mutex may be held: then the
    /// open fails.
    #[cold]
    pub(crate) fn latch_listener(&self) {
        if self.listeners.is_open()
            && let Some(error) = self.listeners.take_panic()
        {
            self.latch(LISTENER, error);
        }
    }

    /// Ends the open: an error if a listener has panicked.
    pub(crate) fn finish_open(&self) -> Result<()> {
        self.listeners.set_open();
        self.listeners.take_panic().map_or(Ok(()), Err)
    }

    /// Sends the pending stall events. Called without the database mutex.
    pub(crate) fn tell_stalls(&self) {
        let _telling = self.telling.lock();
        let events = {
            let mut state = self.state.lock();
            state.note_caught_up();
            std::mem::take(&mut state.stall_events)
        };
        events.iter().for_each(|event| self.notify(event));
    }

    /// The number of a new job.
    pub(crate) fn new_job(&self) -> u64 {
        self.next_job.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// Stops writes, because `action` failed. The first failure stays the reason.
    pub(crate) fn latch(&self, action: &'static str, error: Error) {
        // A caller that gets the error must find writes stopped.
        self.latch_in(&mut self.state.lock(), action, &error);
        self.tell_failure(action, error);
    }

    /// Runs `body`, which changes the contents of the database. A panic in it may leave a change incomplete,
    /// so the database latches. Called without the database mutex.
    #[inline]
    pub(crate) fn guarded<T>(&self, action: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        user_code::catch(body).unwrap_or_else(|error| {
            self.latch(action, error.clone());
            Err(error)
        })
    }

    /// Same as [`guarded`](Self::guarded), with the database mutex, which is released while listeners are
    /// notified of a panic.
    pub(crate) fn guarded_in<T>(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        action: &'static str,
        body: impl FnOnce(&mut MutexGuard<'_, DbState>) -> Result<T>,
    ) -> Result<T> {
        user_code::catch(|| body(state)).unwrap_or_else(|error| {
            self.latch_in(state, action, &error);
            MutexGuard::unlocked(state, || self.tell_failure(action, error.clone()));
            Err(error)
        })
    }

    /// Same as `latch`, with the database mutex; [`tell_failure`](Self::tell_failure) must follow without it.
    pub(crate) fn latch_in(&self, state: &mut DbState, action: &'static str, error: &Error) {
        if is_told(error) {
            return;
        }
        state.latch(action, error);
        if state.recovery.automatic == Automatic::Due {
            self.obsolete.wake();
        }
        self.attention.store(true, std::sync::atomic::Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Reports a failure that has latched the database.
    pub(crate) fn tell_failure(&self, action: &'static str, error: Error) {
        if let Some(share) = &self.share {
            share.give_up();
        }
        if !is_told(&error) {
            self.stats.failed(&error);
            self.notify(&Event::BackgroundError {
                action,
                error,
                stops_writes: true,
            });
        }
    }

    /// Reports a failure after which writes continue.
    pub(crate) fn tell_soft_failure(&self, action: &'static str, error: Error) {
        self.stats.failed(&error);
        self.notify(&Event::BackgroundError {
            action,
            error,
            stops_writes: false,
        });
    }
}

/// True for the error that the latch itself returns after a failure. It is no failure of its own, and may
/// arrive after the first one has been resumed from.
fn is_told(error: &Error) -> bool {
    error.kind() == base::ErrorKind::ReadOnly
}

#[cold]
fn not_owned(family: &Family) -> Error {
    Error::invalid_argument(format!(
        "the column family {:?} is one of another database",
        family.name
    ))
}
