//! The database: the handle users hold, and what it holds.

pub mod approximate_sizes;
pub mod checkpoint;
pub(crate) mod close;
pub mod column_family;
pub mod control;
mod delete_files;
pub(crate) mod error_handler;
pub(crate) mod families;
mod families_view;
pub mod file_deletions;
mod full_history;
pub(crate) mod get;
pub mod live_files;
mod lost;
pub(crate) mod maintain;
pub(crate) mod memory;
pub(crate) mod merge_operands;
mod multi_get;
mod observed;
pub(crate) mod open;
pub mod pins;
pub(crate) mod property;
mod property_int;
pub(crate) mod recover;
pub(crate) mod removals;
pub(crate) mod repair;
pub(crate) mod scan;
pub(crate) mod secondary;
pub(crate) mod sections;
mod seqno_to_time;
pub(crate) mod set_aside;
pub mod set_options;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod stats_history;
mod stored_options;
mod table_properties;
pub(crate) mod verify;
pub mod wal_dir;
pub mod wal_filter;
pub mod wal_iterator;
pub mod wide_columns;

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

use crate::db::column_family::{ColumnFamily, DEFAULT_COLUMN_FAMILY, Family};
use crate::db::error_handler::Automatic;
use crate::db::secondary::Secondary;
use crate::db::snapshot::{Snapshot, SnapshotList};
use crate::db::state::{DbState, LISTENER};
use crate::db::stats_history::StatsHistory;
use crate::events::{Event, Listeners};
use crate::jobs::obsolete_files::ObsoleteFiles;
use crate::jobs::scheduler::{Housekeeping, Work};
use crate::jobs::verifier::Verifier;
use crate::log::InfoLog;
use crate::log::dump_stats::Samples;
use crate::options::{Options, WriteOptions};
use crate::read::open_limit::OpenLimit;
use crate::stats::Stats;
use crate::trace::QueryTrace;
use crate::version_set::VersionSet;
use crate::write::batch::{SingleKind, SingleOperation, WriteBatch};
use crate::write::pipeline::Commit;
use crate::write::queue::WriteQueue;
use crate::write::sync_group::{SyncGroup, WalTail};
use crate::write::write_buffer_manager::Share;

/// What all handles on a database share. Fields that change say who guards them; the order of the locks stands in
/// `ARCHITECTURE.md`.
pub(crate) struct DbInner {
    /// Where the database lies.
    pub dir: PathBuf,
    /// Where its WALs lie.
    pub wal_dir: PathBuf,
    /// The options it was opened with. Those that may change are read from [`current`](Self::current).
    pub options: Options,
    /// The options in force, but for those of families. Replaced under the database mutex.
    pub current: ArcSwap<Options>,
    /// Held while an OPTIONS file is written, so that the newest one says what was changed last. Taken before the database mutex.
    pub options_file: Mutex<()>,
    /// What the database mutex guards.
    pub state: Mutex<DbState>,
    /// Tells background threads that there may be something to do.
    pub work: Work,
    /// Periodic work of a database that is open for writing. The thread that deletes files holds it while it checks.
    pub housekeeping: Mutex<Option<Housekeeping>>,
    /// Everybody else waits here, with the database mutex, for a job to end.
    pub changed: Condvar,
    /// Writers that are held back stand here, and whoever is first has it. Taken before the write queue's lock.
    pub line: Mutex<()>,
    /// The write queue.
    pub writer: WriteQueue,
    /// How far the WALs have come.
    pub wal_tail: WalTail,
    /// What syncs of the WAL share. The write queue's lock is not taken under it: who has that may wait for a flush, which syncs.
    pub sync_group: Mutex<SyncGroup>,
    /// What writes of low priority wait for while compactions are behind.
    pub low_pri_limiter: RateLimiter,
    /// Sequence number of the last row readers see. Written with the write queue's lock, or in the order of the tickets of those who have left it.
    pub published: Arc<AtomicU64>,
    /// Where queries are recorded while a trace is on.
    pub query_trace: Arc<QueryTrace>,
    /// Writers look at this before each write: set when something must be seen to first.
    pub attention: AtomicBool,
    /// Bytes of WALs before the one written to.
    pub older_wal_bytes: AtomicU64,
    /// Bytes of WAL beyond which memtables are flushed so that the oldest can go. Written under the database mutex.
    pub max_total_wal_size: AtomicU64,
    /// Snapshots alive.
    pub snapshots: Arc<SnapshotList>,
    /// When rows were written, for families that preserve it.
    pub seqno_to_time: Mutex<SeqnoToTimeMapping>,
    /// What the tickers were.
    pub stats_history: Mutex<StatsHistory>,
    /// Writes the MANIFEST, numbers files.
    pub versions: VersionSet,
    /// Deletes files.
    pub obsolete: Arc<ObsoleteFiles>,
    /// Families alive, for who has an id or a name.
    pub index: ArcSwap<FamilyIndex>,
    /// The default family, which is never dropped.
    pub default_family: Arc<Family>,
    /// The info log.
    pub log: Arc<InfoLog>,
    /// Who is told of events, the info log first.
    pub listeners: Listeners,
    /// Held while listeners are told of stalls, so that they hear of them in their order.
    pub telling: Mutex<()>,
    /// What statistics are compared with.
    pub samples: Mutex<Samples>,
    /// What the next job is called in events.
    pub next_job: AtomicU64,
    /// Counters.
    pub stats: Arc<Stats>,
    /// Its part in the memory of a write buffer manager.
    pub share: Option<Arc<Share>>,
    /// Looks for rot.
    pub verifier: Arc<Verifier>,
    /// When it was opened, by the clock of the options.
    pub opened: Duration,
    /// `max_open_files`.
    pub open_limit: Arc<OpenLimit>,
    /// The cache of families that were not given one.
    pub block_cache: Arc<BlockCache>,
    /// The database's id, written into tables.
    pub db_id: String,
    /// This session's id, written into tables.
    pub session_id: String,
    /// Set to make compactions stop where they are.
    pub cancelled: Arc<AtomicBool>,
    /// The same of those that users have asked for.
    pub manual_cancelled: Arc<AtomicBool>,
    /// True if nothing may be written.
    pub read_only: bool,
    /// What follows a primary, in a secondary or a follower.
    pub secondary: Option<Secondary>,
    /// The thread of a follower.
    pub threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held while the database is open for writing.
    pub lock: Mutex<Option<Box<dyn FileLock>>>,
    /// The same of a `wal_dir` of its own. Taken behind [`lock`](Self::lock) and released before it.
    pub wal_dir_lock: Mutex<Option<Box<dyn FileLock>>>,
}

/// Families by id and by name.
#[derive(Default, Clone)]
pub(crate) struct FamilyIndex {
    pub by_id: HashMap<u32, Arc<Family>>,
    pub by_name: HashMap<String, Arc<Family>>,
}

/// An open database. Cheap to clone; all clones are the same database, which closes when the last one is dropped, and the last of
/// its iterators and snapshots.
///
/// Every method may be called from any thread. Snapshots, iterators, pinned values and column families may outlive it; the first two
/// keep the database open, and its directory locked. [`close`](Db::close) does not wait for them.
#[derive(Clone)]
pub struct Db(pub(crate) Arc<Handle>);

/// Closes the database when dropped. Background threads hold [`DbInner`] alone, so they do not keep it open.
pub(crate) struct Handle {
    pub inner: Arc<DbInner>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Who wants to know whether closing failed calls `close`.
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

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.inner().dir
    }

    /// The database's id, 36 characters: that of the MANIFEST, or of the file IDENTITY. Copies have the same where the MANIFEST
    /// [records it](Options::write_dbid_to_manifest).
    pub fn identity(&self) -> &str {
        &self.inner().db_id
    }

    /// The options it was opened with.
    pub fn options(&self) -> &Options {
        &self.inner().options
    }

    /// What it has counted since it was opened, always and of itself alone; see [`Options::statistics`] for the rest.
    pub fn statistics(&self) -> &Stats {
        &self.inner().stats
    }

    /// Sequence number of the last write.
    pub fn latest_sequence_number(&self) -> SeqNo {
        match &self.inner().secondary {
            // What readers of every family see, not what is being installed.
            Some(secondary) => secondary.view().seqno,
            None => self.inner().published.load(std::sync::atomic::Ordering::Acquire),
        }
    }

    /// Keeps the database as it is now readable for as long as the snapshot is held, and the database open. [Closed](Self::close), there is
    /// nothing to read it with.
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
    /// `InvalidArgument`, and nothing is written, for a value of more than 2 GiB - 1 bytes, and for a key that is longer than that
    /// together with its timestamp and eight bytes of trailer: see [`RowLimit`](crate::RowLimit). The same holds of every write.
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

    /// Deletes `key`, which must have been put exactly once since it last did not exist; compactions then drop both
    /// together. On keys that were merged, or put twice, what is read afterwards is not defined.
    pub fn single_delete(&self, options: &WriteOptions, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::SingleDelete)
    }

    /// Adds `operand` to what `key` holds, by the family's merge operator, when it is next read or compacted.
    ///
    /// An operand may be as long as a value. Where the operator makes more of the operands than a value may have, each read of the key
    /// fails with `MergeFailed`, and compactions keep the operands as they are, until the key is put or deleted.
    pub fn merge(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        key: &[u8],
        operand: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, key, SingleKind::Merge(operand))
    }

    /// Deletes every key from `begin` up to `end`, exclusive. Costs one write, whatever it covers.
    /// `InvalidArgument` if `end` comes before `begin`.
    pub fn delete_range(
        &self,
        options: &WriteOptions,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
    ) -> Result<()> {
        self.single(options, &family.0, begin, SingleKind::DeleteRange(end))
    }

    /// Applies a batch, all of it or nothing, over all the families it names.
    pub fn write(&self, options: &WriteOptions, batch: WriteBatch) -> Result<()> {
        self.write_sequenced(options, batch).map(drop)
    }

    /// As [`write`](Db::write), and gives the sequence number of the batch's first row, which tells its place among all writes:
    /// where a crash takes some, it takes those of the highest numbers. Of an empty batch, which is not written: that of the last row.
    pub fn write_sequenced(&self, options: &WriteOptions, mut batch: WriteBatch) -> Result<SeqNo> {
        self.write_in_place(options, &mut batch)
    }

    /// As [`write_sequenced`](Db::write_sequenced), of a batch that stays the caller's, to be written again or added to: its operations are as they
    /// were.
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
    /// An error unless `family` is of this database: a family's obsolete files are queued where its database deletes them.
    /// Anybody else's sequence numbers would say nothing about its rows.
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

    /// Tells the listeners. Called with no lock held. A listener that panics stops the database; whatever `event` is about goes on.
    pub(crate) fn notify(&self, event: &Event) {
        self.listeners.notify(event);
        if !self.listeners.has_panicked() {
            return;
        }
        match event {
            // Reporting why the database has stopped does not stop it again.
            Event::BackgroundError {
                stops_writes: true, ..
            } => drop(self.listeners.take_panic()),
            _ => self.latch_listener(),
        }
    }

    /// If a listener has panicked, takes no more writes. While the database is opened its mutex may be held: then the open fails.
    #[cold]
    pub(crate) fn latch_listener(&self) {
        if self.listeners.is_open()
            && let Some(error) = self.listeners.take_panic()
        {
            self.latch(LISTENER, error);
        }
    }

    /// The database is open now: an error if a listener has panicked until then.
    pub(crate) fn finish_open(&self) -> Result<()> {
        self.listeners.set_open();
        self.listeners.take_panic().map_or(Ok(()), Err)
    }

    /// Tells of the stalls that nobody was told of yet. Called without the database mutex.
    pub(crate) fn tell_stalls(&self) {
        let _telling = self.telling.lock();
        let events = {
            let mut state = self.state.lock();
            state.note_caught_up();
            std::mem::take(&mut state.stall_events)
        };
        events.iter().for_each(|event| self.notify(event));
    }

    /// A number for a job that begins.
    pub(crate) fn new_job(&self) -> u64 {
        self.next_job.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// Takes no more writes, because `action` failed. The first failure stays the reason.
    pub(crate) fn latch(&self, action: &'static str, error: Error) {
        // Whoever learns of the error here must find that writers stop, too.
        self.latch_in(&mut self.state.lock(), action, &error);
        self.tell_failure(action, error);
    }

    /// Runs `body`, which changes what the database holds. A panic in it may leave a change half done, so the database latches.
    /// Called without the database mutex.
    #[inline]
    pub(crate) fn guarded<T>(&self, action: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        user_code::catch(body).unwrap_or_else(|error| {
            self.latch(action, error.clone());
            Err(error)
        })
    }

    /// As [`guarded`](Self::guarded), with the database mutex, which is released while others hear of a panic.
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

    /// As `latch`, with the database mutex; [`tell_failure`](Self::tell_failure) is to come without it.
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

    /// Tells of a failure that has latched the database.
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

    /// Tells of a failure after which writes go on.
    pub(crate) fn tell_soft_failure(&self, action: &'static str, error: Error) {
        self.stats.failed(&error);
        self.notify(&Event::BackgroundError {
            action,
            error,
            stops_writes: false,
        });
    }
}

/// True of what the latch itself says to whoever comes after a failure. It is no failure of its own, and may come when the first one has
/// been resumed from.
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
