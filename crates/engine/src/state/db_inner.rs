//! The parts of an open database, shared by its handles and its threads.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use base::sync::{Condvar, Mutex, MutexGuard};
use base::{Error, Result, SeqNo, user_code};
use sst::BlockCache;
use vfs::FileLock;

use crate::events::Event;
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::OpenLimit;
use crate::log::InfoLog;
use crate::log::listeners::Listeners;
use crate::options::Options;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::state::async_reads::AsyncReads;
use crate::state::background::{JobSide, Work};
use crate::state::column_family::Family;
use crate::state::db_state::{DbState, LISTENER};
use crate::state::error_state::{Automatic, closing};
use crate::state::samples::ReportSide;
use crate::state::secondary::Secondary;
use crate::state::snapshot::SnapshotList;
use crate::state::sync_group::WalTail;
use crate::state::version_set::VersionSet;
use crate::state::write_side::WriteSide;
use crate::stats::Stats;
use crate::trace::{BlockCacheTrace, IoTrace, QueryTrace};

/// The state shared by all handles of a database. Mutable fields name their lock; `ARCHITECTURE.md` has the
/// lock order.
pub(crate) struct DbInner {
    /// The identity of the database and of this session.
    pub identity: Identity,
    /// The directory of the database.
    pub dir: PathBuf,
    /// The directory of the database's WALs.
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
    /// The reads that wait for a thread.
    pub async_reads: Arc<AsyncReads>,
    /// The condition variable on which all other threads wait, with the database mutex, for the end of a job.
    pub changed: Condvar,
    /// The state of the writes, apart from what the database mutex guards.
    pub write: WriteSide,
    /// The progress of the WALs.
    pub wal_tail: WalTail,
    /// The sequence number of the last row that readers see. Written under the write queue's lock, or in the
    /// order of tickets by writers that have released it.
    pub published: Arc<AtomicU64>,
    /// The traces, each of which records only while it is running.
    pub traces: Traces,
    /// The open snapshots.
    pub snapshots: Arc<SnapshotList>,
    /// The state of the jobs, apart from what the database mutex guards.
    pub jobs: JobSide,
    /// The state of the reports.
    pub report: ReportSide,
    /// Writes the MANIFEST and numbers files.
    pub versions: VersionSet,
    /// The queue of obsolete files, and the thread that deletes them.
    pub obsolete: Arc<ObsoleteFiles>,
    /// The existing families, for lookups by id or name.
    pub index: ArcSwap<FamilyIndex>,
    /// The default family, which is never dropped.
    pub default_family: Arc<Family>,
    /// The info log.
    pub log: Arc<InfoLog>,
    /// The receivers of events, the info log first.
    pub listeners: Listeners,
    /// The counters of the database.
    pub stats: Arc<Stats>,
    /// The limit of open tables from the option `max_open_files`.
    pub open_limit: Arc<OpenLimit>,
    /// The block cache of families without one of their own.
    pub block_cache: Arc<BlockCache>,
    /// True in a read-only database.
    pub read_only: bool,
    /// Follows the primary, in a secondary or a follower.
    pub secondary: Option<Secondary>,
    /// The locks of the directories.
    pub dir_locks: DirLocks,
}

/// The identity of an open database, which does not change.
pub(crate) struct Identity {
    /// The database's id, which is written to tables.
    pub db_id: String,
    /// The session's id, which is written to tables.
    pub session_id: String,
    /// The time of the open, by the clock of the options.
    pub opened: Duration,
}

impl Identity {
    /// The identity of a session that begins at `opened`.
    pub fn new(db_id: String, session_id: String, opened: Duration) -> Identity {
        Identity {
            db_id,
            session_id,
            opened,
        }
    }
}

/// The traces of a database.
pub(crate) struct Traces {
    /// The trace of queries.
    pub query: Arc<QueryTrace>,
    /// The trace of operations on files.
    pub io: Arc<IoTrace>,
    /// Records lookups of blocks in the cache.
    pub block: Arc<BlockCacheTrace>,
}

/// The locks that keep other processes from the directories while the database is open for writing. `open`
/// takes them, `close` releases them.
#[derive(Default)]
pub(crate) struct DirLocks {
    /// The lock of the database.
    pub db: Mutex<Option<Box<dyn FileLock>>>,
    /// The lock of a separate `wal_dir`. It is taken after the lock [`db`](Self::db) and released before that
    /// lock.
    pub wal_dir: Mutex<Option<Box<dyn FileLock>>>,
}

/// The job number of recoveries in events.
pub(crate) const RECOVERY_JOB: u64 = 1;

/// Families by id and by name.
#[derive(Default, Clone)]
pub(crate) struct FamilyIndex {
    pub by_id: HashMap<u32, Arc<Family>>,
    pub by_name: HashMap<String, Arc<Family>>,
}

impl DbInner {
    /// True if the database is closed.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.default_family.is_closed()
    }

    /// `ShutdownInProgress` if the database is closed.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(closing()),
            false => Ok(()),
        }
    }

    /// An error unless `family` belongs to this database: a family's obsolete files are queued in its own
    /// database. Sequence numbers of another database would have no meaning for its rows.
    #[inline]
    pub(crate) fn check_owns(&self, family: &Family) -> Result<()> {
        if family.tables.belongs_to(&self.obsolete) {
            return Ok(());
        }
        Err(not_owned(family))
    }

    /// The sequence number of the last write that readers see.
    pub(crate) fn latest_sequence_number(&self) -> SeqNo {
        match &self.secondary {
            // The number up to which rows are visible in every family. `published` may already have the
            // number of a catch-up that is being installed.
            Some(secondary) => secondary.view().seqno,
            None => self.published.load(std::sync::atomic::Ordering::Acquire),
        }
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
            // A panic of a listener while it is notified of the stop does not stop the database again.
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
    pub(crate) fn notify_stalls(&self) {
        let _telling = self.write.telling.lock();
        let events = {
            let mut state = self.state.lock();
            state.record_caught_up();
            std::mem::take(&mut state.stall_events)
        };
        events.iter().for_each(|event| self.notify(event));
    }

    /// The number of a new job.
    pub(crate) fn new_job(&self) -> u64 {
        self.jobs.new_number()
    }

    /// Stops writes, because `action` failed. The first failure stays the reason.
    pub(crate) fn latch(&self, action: &'static str, error: Error) {
        // Writes are stopped before the caller gets the error.
        self.latch_in(&mut self.state.lock(), action, &error);
        self.notify_failure(action, error);
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

    /// Runs `body` as [`guarded`](Self::guarded) does, for a caller that holds the database mutex. The mutex
    /// is released while listeners are notified of a panic.
    pub(crate) fn guarded_in<T>(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        action: &'static str,
        body: impl FnOnce(&mut MutexGuard<'_, DbState>) -> Result<T>,
    ) -> Result<T> {
        user_code::catch(|| body(state)).unwrap_or_else(|error| {
            self.latch_in(state, action, &error);
            MutexGuard::unlocked(state, || self.notify_failure(action, error.clone()));
            Err(error)
        })
    }

    /// Latches an error as `latch` does, for a caller that holds the database mutex. The caller must release
    /// the mutex and then call [`notify_failure`](Self::notify_failure).
    pub(crate) fn latch_in(&self, state: &mut DbState, action: &'static str, error: &Error) {
        if is_told(error) {
            return;
        }
        self.latch_anew(state, action, error);
    }

    /// Latches an error as [`latch_in`](Self::latch_in) does, without the check whether the error was
    /// returned by the latch itself.
    pub(crate) fn latch_anew(&self, state: &mut DbState, action: &'static str, error: &Error) {
        state.latch(action, error);
        if state.recovery.automatic == Automatic::Due {
            self.obsolete.wake();
        }
        self.write
            .attention
            .store(true, std::sync::atomic::Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Reports a failure that has latched the database.
    pub(crate) fn notify_failure(&self, action: &'static str, error: Error) {
        if let Some(share) = &self.write.share {
            share.give_up();
        }
        if !is_told(&error) {
            self.report_failure(action, error);
        }
    }

    /// Reports a failure as [`notify_failure`](Self::notify_failure) does, without the check whether the
    /// error was returned by the latch itself.
    pub(crate) fn report_failure(&self, action: &'static str, error: Error) {
        self.stats.failed(&error);
        self.notify(&Event::BackgroundError {
            action,
            error,
            stops_writes: true,
        });
    }

    /// Reports a failure after which writes continue.
    pub(crate) fn notify_soft_failure(&self, action: &'static str, error: Error) {
        self.stats.failed(&error);
        self.notify(&Event::BackgroundError {
            action,
            error,
            stops_writes: false,
        });
    }
}

/// True for the error that the latch itself returns after a failure. Such an error is not a new failure, and
/// may arrive after the database has resumed from the first failure.
fn is_told(error: &Error) -> bool {
    matches!(
        error.kind(),
        base::ErrorKind::ReadOnly | base::ErrorKind::SpaceLimit
    )
}

#[cold]
fn not_owned(family: &Family) -> Error {
    Error::invalid_argument(format!(
        "the column family {:?} belongs to another database",
        family.name
    ))
}
