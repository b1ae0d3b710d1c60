//! The work of background threads for one database, a turn at a time: flush, compact, keep house. The threads belong to the pool
//! ([`thread_pool`](super::thread_pool)).

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::SeqNo;
use base::sync::{Condvar, MutexGuard, WaitTimeoutResult};

use compact::Style;
use compact::stall::StallCondition;

use super::thread_pool::{Kind, Lane, Next, ThreadPool};
use crate::db::DbInner;
use crate::db::error_handler::AutoRecovery;
use crate::db::open::compacts;
use crate::db::state::{COMPACTION, DbState, FLUSH, FamilyState, HOUSEKEEPING, closing};
use crate::events::Event;

/// Says that there may be something to do in the background.
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

    /// There may be a flush or a compaction to do.
    pub fn notify_all(&self) {
        self.follower.notify_all();
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.notify();
            compactions.notify();
        }
    }

    /// Waits as a follower does, for so long at most.
    pub fn wait_for(&self, state: &mut MutexGuard<'_, DbState>, time: Duration) -> WaitTimeoutResult {
        self.follower.wait_for(state, time)
    }

    fn set_most(&self, flushers: usize, compactors: usize) {
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.set_most(flushers);
            compactions.set_most(compactors);
        }
    }

    /// Returns when no thread works for the database any more, and none begins.
    pub fn close(&self) {
        if let Some((flushes, compactions)) = self.lanes.get() {
            flushes.close();
            compactions.close();
        }
    }
}

/// When what is due from time to time is due next, by the clock of the options.
pub(crate) struct Housekeeping {
    dump: Duration,
    aged: Duration,
    timed: Duration,
    persisted: Duration,
    recovery: Option<AutoRecovery>,
}

impl DbInner {
    /// Has the threads of the pool work for a database open for writing.
    pub(crate) fn start_threads(self: &Arc<Self>) {
        if let Some(share) = &self.share {
            share.belongs_to(self);
        }
        self.begin_stats_history();
        *self.housekeeping.lock() = Some(self.begin_housekeeping());
        if let Err(error) = self.join_pool() {
            // Without a thread the database still serves; what needs the thread says so when it waits.
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

    /// Has as many threads flush, and compact, as `max_background_jobs` of `jobs` says.
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

    /// A turn of the thread that deletes files, and looks at the clock when there are none.
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

    /// Ends the threads' work for the database, the last of it here: what is to be deleted.
    pub(crate) fn end_housekeeping(&self) {
        self.obsolete.close();
        self.obsolete.work_off(&mut || None);
        if let Some(mut house) = self.housekeeping.lock().take() {
            self.end_auto_recovery(&mut house.recovery, Some(closing()));
        }
    }

    /// Looks at what only time makes due for compaction, when `due`, and gives the time until it is to be looked at again: a sixtieth of the
    /// shortest age that an option names. `None`: no option names one.
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

    /// No snapshot is older, whether open or still to come.
    pub(crate) fn oldest_snapshot(&self) -> SeqNo {
        self.snapshots.oldest_or(&self.published)
    }

    /// If the oldest snapshot was released: what only it could see may go, from what lies at the bottom too.
    pub(crate) fn note_released(&self, state: &mut DbState) {
        if !self.snapshots.take_released() {
            return;
        }
        let oldest = self.oldest_snapshot();
        let mut newer = false;
        for own in state.families.values_mut() {
            // An older one may still be held, that another thread took.
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

    /// A flush, if one is due.
    fn flush_due(&self) -> Next {
        let mut state = self.state.lock();
        let may = state.check_job().is_ok() && (state.background_paused == 0 || state.shutting_down);
        let due = state.due_flush().filter(|_| may && !state.closing);
        let Some(ids) = due else {
            return Next::Nothing;
        };
        // A failure has latched the database and is told from there.
        drop(self.guarded_in(&mut state, FLUSH, |state| self.flush_families(state, &ids)));
        Next::Again
    }

    /// A compaction, if one is due.
    fn compact_due(&self) -> Next {
        let mut state = self.state.lock();
        if state.closing {
            return Next::Nothing;
        }
        let compact = |state: &mut MutexGuard<'_, DbState>| Ok(self.compact_once(state));
        // After a panic nothing is compacted, which the next look finds.
        match self.guarded_in(&mut state, COMPACTION, compact).unwrap_or(true) {
            true => Next::Again,
            false => Next::Nothing,
        }
    }

    /// Compacts the family most in need. False if there is nothing that could be done now.
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
        // A job that failed has let go of the mutex as well, so everything is looked at again before this thread waits:
        // it may have missed being told that the database closes.
        due.into_iter()
            .any(|(_, id)| self.compact_family(state, id).unwrap_or(true))
    }

    /// True if compactions may begin by themselves.
    pub(crate) fn may_compact(&self, state: &DbState) -> bool {
        let held_back = state.background_paused > 0 || state.manual_alone || state.shutting_down;
        state.background_error.is_none() && !held_back
    }

    /// True if a compaction of `family` should run.
    pub(crate) fn wants_compaction(&self, _state: &DbState, family: &FamilyState) -> bool {
        compacts(&family.family.current()) && family.compaction_due
    }

    /// After the files of a family changed: whether writes may go on, and what is to be compacted.
    /// Returns what listeners are to be told of it, to be put with [`DbState::stall_events`].
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

/// How many of so many background jobs flush, and how many compact.
fn workers(jobs: usize) -> (usize, usize) {
    let flushers = (jobs / 4).max(1);
    (flushers, jobs.saturating_sub(flushers).max(1))
}
