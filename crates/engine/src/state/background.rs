//! The background work of one database: its lanes in the pool of threads, and its periodic work.

use std::sync::OnceLock;
use std::time::Duration;

use base::Error;
use base::sync::{Condvar, MutexGuard, WaitTimeoutResult};

use crate::options::thread_pool::Lane;
use crate::state::db_state::DbState;

/// Notifies threads that there may be background work.
#[derive(Default)]
pub(crate) struct Work {
    /// The thread of a follower waits here, with the database mutex.
    follower: Condvar,
    lanes: OnceLock<(Lane, Lane)>,
}

impl Work {
    pub fn begin(&self, flushes: Lane, compactions: Lane) {
        // The lanes are set only here, and a database is opened once.
        let _ = self.lanes.set((flushes, compactions));
    }

    /// Notifies the lanes, and the thread of a follower, that there may be a flush or a compaction to run.
    pub fn notify_all(&self) {
        self.follower.notify_all();
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.notify();
            compactions.notify();
        }
    }

    /// Makes the thread of a follower wait for a notification, for at most `time`.
    pub fn wait_for(&self, state: &mut MutexGuard<'_, DbState>, time: Duration) -> WaitTimeoutResult {
        self.follower.wait_for(state, time)
    }

    pub fn set_most(&self, flushers: usize, compactors: usize) {
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.set_most(flushers);
            compactions.set_most(compactors);
        }
    }

    /// Ends the background work of the database. Returns when no thread works for the database; none begins
    /// afterwards.
    pub fn close(&self) {
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.close();
            compactions.close();
        }
    }
}

/// The due times of periodic work, by the clock of the options.
pub(crate) struct Housekeeping {
    pub dump: Duration,
    pub aged: Duration,
    pub timed: Duration,
    pub persisted: Duration,
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
