//! The background work of one database, one turn at a time: flush, compact, housekeeping. The threads belong
//! to the pool ([`thread_pool`](crate::options::thread_pool)).

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::SeqNo;
use base::sync::{Condvar, MutexGuard, WaitTimeoutResult};

use compact::Style;
use compact::stall::StallCondition;

use crate::db::DbInner;
use crate::events::Event;
use crate::jobs::error_handler::AutoRecovery;
use crate::lifecycle::open::compacts;
use crate::options::thread_pool::{Kind, Lane, Next, ThreadPool};
use crate::state::db_state::{COMPACTION, DbState, FLUSH, FamilyState, HOUSEKEEPING, closing};

/// Notifies threads that there may be background work.
#[derive(Default)]
pub(crate) struct Work {
    /// The thread of a follower waits here, with the database mutex.
    follower: Condvar,
    lanes: OnceLock<(Lane, Lane)>,
}

impl Work {
    fn begin(&self, flushes: Lane, compactions: Lane) {
        // A database is opened once.
        let _ = self.lanes.set((flushes, compactions));
    }

    /// There may be a flush or a compaction to run.
    pub fn notify_all(&self) {
        self.follower.notify_all();
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.notify();
            compactions.notify();
        }
    }

    /// Waits on behalf of a follower, for at most `time`.
    pub fn wait_for(&self, state: &mut MutexGuard<'_, DbState>, time: Duration) -> WaitTimeoutResult {
        self.follower.wait_for(state, time)
    }

    fn set_most(&self, flushers: usize, compactors: usize) {
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.set_most(flushers);
            compactions.set_most(compactors);
        }
    }

    /// Returns when no thread works for the database, and none can begin.
    pub fn close(&self) {
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.close();
            compactions.close();
        }
    }
}

/// The due times of periodic work, by the clock of the options.
pub(crate) struct Housekeeping {
    dump: Duration,
    aged: Duration,
    timed: Duration,
    persisted: Duration,
    recovery: Option<AutoRecovery>,
}

impl DbInner {
    /// Starts the pool's work for a database that is open for writing.
    pub(crate) fn start_threads(self: &Arc<Self>) {
        if let Some(share) = &self.share {
            share.belongs_to(self);
        }
        self.begin_stats_history();
        *self.housekeeping.lock() = Some(self.begin_housekeeping());
        if let Err(error) = self.join_pool() {
            // Without a thread the database still serves reads; operations that need the thread return this
            // error.
            self.latch(
                "start a background thread",
                base::Error::io("start thread", &self.dir, error),
            );
        }
        self.work.notify_all();
        self.obsolete.wake();
    }

    fn join_pool(self: &Arc<Self>) -> io::Result<()> {
        let pool = self.options.thread_pool.clone();
        let pool = pool.unwrap_or_else(|| ThreadPool::default_of(&self.options.clock));
        let turn = |take: fn(&DbInner) -> Next| {
            let inner = Arc::downgrade(self);
            move || inner.upgrade().map_or(Next::Nothing, |inner| take(&inner))
        };
        let (flushers, compactors) = workers(self.options.max_background_jobs as usize);
        let flushes = pool.add(Kind::Flush, flushers, turn(DbInner::flush_due))?;
        let compactions = pool.add(Kind::Compaction, compactors, turn(DbInner::compact_due))?;
        self.work.begin(flushes, compactions);
        let housekeeping = pool.add(Kind::Housekeeping, 1, turn(DbInner::keep_house))?;
        self.obsolete.begin(housekeeping);
        Ok(())
    }

    /// Sets the numbers of flush and compaction threads from `jobs`, the value of `max_background_jobs`.
    pub(crate) fn set_workers(&self, jobs: usize) {
        let (flushers, compactors) = workers(jobs);
        self.work.set_most(flushers, compactors);
    }

    fn begin_housekeeping(&self) -> Housekeeping {
        let now = self.options.clock.now();
        let current = self.current.load();
        Housekeeping {
            dump: self.opened + Duration::from_secs(current.stats_dump_period_sec),
            aged: now,
            timed: now,
            persisted: self.opened + Duration::from_secs(current.stats_persist_period_sec),
            recovery: None,
        }
    }

    /// A turn of the thread that deletes files; it checks the periodic work when there are none.
    fn keep_house(&self) -> Next {
        let wait = self.obsolete.work_off(&mut || {
            let mut house = self.housekeeping.lock();
            let house = house.as_mut()?;
            self.latch_listener();
            let looked = self.guarded(HOUSEKEEPING, || {
                let dump = self.dump_stats_when_due(&mut house.dump);
                let age = self.note_ages_when_due(&mut house.aged);
                let time = self.note_seqno_time_when_due(&mut house.timed);
                let stats = self.persist_stats_when_due(&mut house.persisted);
                let recovers = self.recover_when_due(&mut house.recovery);
                let others = dump.into_iter().chain(age).chain(time).chain(stats);
                Ok(others.chain(recovers).min())
            });
            looked.unwrap_or_default()
        });
        wait.map_or(Next::Nothing, Next::After)
    }

    /// Ends the periodic work for the database. The remaining files are deleted on this thread.
    pub(crate) fn end_housekeeping(&self) {
        self.obsolete.close();
        self.obsolete.work_off(&mut || None);
        if let Some(mut house) = self.housekeeping.lock().take() {
            self.end_auto_recovery(&mut house.recovery, Some(closing()));
        }
    }

    /// If `due` has passed, checks which files need a compaction because of their age, and returns the time
    /// until the next check: a sixtieth of the shortest age among the options. `None`: no option sets an age.
    fn note_ages_when_due(&self, due: &mut Duration) -> Option<Duration> {
        let now = self.options.clock.now();
        let mut state = self.state.lock();
        self.note_released(&mut state);
        let ages = state.families.values().filter_map(|own| {
            let options = own.family.current().leveled();
            let ages = [options.ttl, options.periodic_compaction_seconds];
            let fifo = match &options.style {
                Style::Fifo(fifo) => &fifo.file_temperature_age_thresholds[..],
                _ => &[],
            };
            let ages = ages.into_iter().chain(fifo.iter().map(|due| due.age));
            ages.filter(|&age| age > 0).min()
        });
        let period = Duration::from_secs((ages.min()? / 60).clamp(1, 12 * 60 * 60));
        if now >= *due {
            let mut any = false;
            for own in state.families.values_mut() {
                any |= own.note_age();
            }
            if any {
                self.work.notify_all();
            }
            *due = now + period;
        }
        Some(due.saturating_sub(now))
    }

    /// A lower bound of all snapshots, whether open or still to be taken.
    pub(crate) fn oldest_snapshot(&self) -> SeqNo {
        self.snapshots.oldest_or(&self.published)
    }

    /// If the oldest snapshot was released, re-check bottommost files for obsolete versions.
    pub(crate) fn note_released(&self, state: &mut DbState) {
        if !self.snapshots.take_released() {
            return;
        }
        let oldest = self.oldest_snapshot();
        let mut newer = false;
        for own in state.families.values_mut() {
            // Another thread may have taken and still hold an older snapshot.
            if own.released_snapshot < oldest {
                own.released_snapshot = oldest;
                own.note_age();
                newer = true;
            }
        }
        if newer {
            self.work.notify_all();
        }
    }

    /// Runs a flush, if one is due.
    fn flush_due(&self) -> Next {
        let mut state = self.state.lock();
        let may = state.check_job().is_ok() && (state.background_paused == 0 || state.shutting_down);
        let due = state.due_flush().filter(|_| may && !state.closing);
        let Some(ids) = due else {
            return Next::Nothing;
        };
        // A failure has latched the database, which reports it.
        drop(self.guarded_in(&mut state, FLUSH, |state| self.flush_families(state, &ids)));
        Next::Again
    }

    /// Runs a compaction, if one is due.
    fn compact_due(&self) -> Next {
        let mut state = self.state.lock();
        if state.closing {
            return Next::Nothing;
        }
        let compact = |state: &mut MutexGuard<'_, DbState>| Ok(self.compact_once(state));
        // After a panic nothing is compacted; the next check finds that.
        match self.guarded_in(&mut state, COMPACTION, compact).unwrap_or(true) {
            true => Next::Again,
            false => Next::Nothing,
        }
    }

    /// Compacts the family most in need. False if no compaction can run now.
    fn compact_once(&self, state: &mut MutexGuard<'_, DbState>) -> bool {
        if !self.may_compact(state) {
            return false;
        }
        let mut due: Vec<(f64, u32)> = state
            .families
            .values()
            .filter(|family| self.wants_compaction(state, family))
            .map(|family| (family.compaction_score, family.family.id))
            .collect();
        due.sort_by(|a, b| b.0.total_cmp(&a.0));
        // A failed job has released the mutex too, so all conditions are checked again before this thread
        // waits: it may have missed the notification that the database closes.
        due.into_iter()
            .any(|(_, id)| self.compact_family(state, id).unwrap_or(true))
    }

    /// True if automatic compactions may begin.
    pub(crate) fn may_compact(&self, state: &DbState) -> bool {
        let held_back = state.background_paused > 0 || state.manual_alone || state.shutting_down;
        state.background_error.is_none() && !held_back
    }

    /// True if a compaction of `family` should run.
    pub(crate) fn wants_compaction(&self, _state: &DbState, family: &FamilyState) -> bool {
        compacts(&family.family.current()) && family.compaction_due
    }

    /// Called after the files of a family changed: updates its stall and whether a compaction is due. Returns
    /// the event for listeners, to be sent with [`DbState::stall_events`].
    pub(crate) fn note_stall(&self, family: &mut FamilyState) -> Option<Event> {
        self.note_share();
        let before = family.stall_of_all();
        family.update_stall();
        family.memtables_stall &= !family.has_room_for_immutable();
        if family.stall != StallCondition::Normal {
            self.attention.store(true, Ordering::Relaxed);
        }
        family.stall_event(before, self.current.load().delayed_write_rate)
    }
}

/// The numbers of flush and compaction threads for `jobs` background jobs.
fn workers(jobs: usize) -> (usize, usize) {
    let flushers = (jobs / 4).max(1);
    (flushers, jobs.saturating_sub(flushers).max(1))
}
