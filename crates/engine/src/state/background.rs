//! The background work of one database: its tasks in the pool of threads, and its periodic work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::Error;
use base::sync::thread::JoinHandle;
use base::sync::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
use compact::SeqnoToTimeMapping;

use crate::options::thread_pool::Task;
use crate::state::db_state::DbState;
use crate::state::verifier::Verifier;

/// Notifies threads that there may be background work.
#[derive(Default)]
pub(crate) struct Work {
    /// The condition variable on which the thread of a follower waits, with the database mutex.
    follower: Condvar,
    tasks: OnceLock<Tasks>,
}

/// The tasks of a database for flushes and compactions.
pub(crate) struct Tasks {
    pub flushes: Task,
    pub compactions: Task,
    /// Compactions that were handed over to threads of bottom priority.
    pub bottom: Task,
}

impl Work {
    pub fn begin(&self, tasks: Tasks) {
        // The tasks are set only here, and a database is opened once.
        let _ = self.tasks.set(tasks);
    }

    /// True if there is a thread for compactions of bottom priority.
    pub fn has_bottom_thread(&self) -> bool {
        self.tasks.get().is_some_and(|tasks| tasks.bottom.has_thread())
    }

    /// The number of processors that are idle while the caller's job runs; 0 without background work.
    pub fn idle_processors(&self) -> usize {
        self.tasks
            .get()
            .map_or(0, |tasks| tasks.compactions.idle_processors())
    }

    /// Runs a part of a job on a new thread, which counts as background work.
    pub fn part_of_job<T>(&self, part: impl FnOnce() -> T) -> T {
        match self.tasks.get() {
            Some(tasks) => tasks.compactions.work(part),
            None => part(),
        }
    }

    /// Notifies the task of the compactions that were handed over.
    pub fn notify_bottom(&self) {
        if let Some(tasks) = self.tasks.get() {
            tasks.bottom.notify();
        }
    }

    /// Notifies the tasks, and the thread of a follower, that there may be a flush or a compaction to run.
    pub fn notify_all(&self) {
        self.follower.notify_all();
        if let Some(tasks) = self.tasks.get() {
            tasks.flushes.notify();
            tasks.compactions.notify();
        }
    }

    /// Makes the thread of a follower wait for a notification, for at most `time`.
    pub fn wait_for(&self, state: &mut MutexGuard<'_, DbState>, time: Duration) -> WaitTimeoutResult {
        self.follower.wait_for(state, time)
    }

    pub fn set_most(&self, flushers: usize, compactors: usize) {
        if let Some(tasks) = self.tasks.get() {
            tasks.flushes.set_most(flushers);
            tasks.compactions.set_most(compactors);
        }
    }

    /// Ends the background work of the database. Returns when no thread works for the database; none begins
    /// afterwards.
    pub fn close(&self) {
        if let Some(tasks) = self.tasks.get() {
            tasks.flushes.close();
            tasks.compactions.close();
            tasks.bottom.close();
        }
    }
}

/// The state of a database's jobs that the database mutex does not guard.
pub(crate) struct JobSide {
    /// The periodic work of a database that is open for writing. The thread that deletes files holds the lock
    /// while it checks.
    pub housekeeping: Mutex<Option<Housekeeping>>,
    /// The number of the next job in events.
    next: AtomicU64,
    /// Set to make compactions stop, when the database closes.
    pub cancelled: Arc<AtomicBool>,
    /// Set to make manual compactions stop.
    pub manual_cancelled: Arc<AtomicBool>,
    /// Set to make all compactions stop while the database stays open.
    pub compactions_aborted: Arc<AtomicBool>,
    /// The times at which rows were written, for families that preserve them.
    pub seqno_to_time: Mutex<SeqnoToTimeMapping>,
    /// Verifies files in the background.
    pub verifier: Arc<Verifier>,
    /// The thread of a follower.
    pub threads: Mutex<Vec<JoinHandle<()>>>,
}

impl JobSide {
    /// The state before job number `first`.
    pub fn new(first: u64, verifier: Verifier) -> JobSide {
        JobSide {
            housekeeping: Mutex::default(),
            next: AtomicU64::new(first),
            cancelled: Arc::default(),
            manual_cancelled: Arc::default(),
            compactions_aborted: Arc::default(),
            seqno_to_time: Mutex::default(),
            verifier: Arc::new(verifier),
            threads: Mutex::default(),
        }
    }

    /// The number of a new job.
    pub fn new_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// The due times of periodic work, by the clock of the options.
pub(crate) struct Housekeeping {
    pub dump: Duration,
    pub aged: Duration,
    pub timed: Duration,
    pub persisted: Duration,
    /// The time at which compactions that had no room begin again; `None`: no compaction waits.
    pub room: Option<Duration>,
    pub recovery: Option<AutoRecovery>,
}

/// An automatic recovery in progress. It belongs to the thread that drives it.
pub(crate) struct AutoRecovery {
    pub background_error: Error,
    /// The time of the next attempt to recover, by the clock of the options.
    pub due: Duration,
    /// The number of failed attempts in this recovery.
    pub failed: u64,
    /// The number of successful recoveries of the database when this recovery began: `Recovery::resumed`.
    pub resumed: u64,
}
