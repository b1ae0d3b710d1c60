//! The background work of one database, one run of a task at a time: flush, compact, housekeeping. The
//! threads belong to the pool ([`thread_pool`](crate::options::thread_pool)).

use std::time::Duration;

use base::sync::MutexGuard;

use compact::Style;

use crate::options::thread_pool::Next;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{COMPACTION, DbState, FLUSH};

impl DbInner {
    /// Sets the numbers of flush and compaction threads from `jobs`, the value of `max_background_jobs`.
    pub(crate) fn set_workers(&self, jobs: usize) {
        let (flushers, compactors) = workers(jobs);
        self.work.set_most(flushers, compactors);
    }

    /// If `due` has passed, checks which files need a compaction because of their age, and returns the time
    /// until the next check: a sixtieth of the shortest age among the options. `None`: no option sets an age.
    pub(crate) fn record_ages_when_due(&self, due: &mut Duration) -> Option<Duration> {
        let now = self.options.clock.now();
        let mut state = self.state.lock();
        self.record_released(&mut state);
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
                any |= own.record_age();
            }
            if any {
                self.work.notify_all();
            }
            *due = now + period;
        }
        Some(due.saturating_sub(now))
    }

    /// Runs a flush, if one is due.
    pub(crate) fn flush_due(&self) -> Next {
        let mut state = self.state.lock();
        let may = state.check_job().is_ok() && (state.background_paused == 0 || state.shutting_down);
        let due = state.due_flush().filter(|_| may && !state.closing);
        let Some(ids) = due else {
            return Next::Nothing;
        };
        // A failed job has latched its error in the database, which reports it.
        drop(self.guarded_in(&mut state, FLUSH, |state| self.flush_families(state, &ids)));
        Next::Again
    }

    /// Runs a compaction, if one is due.
    pub(crate) fn compact_due(&self) -> Next {
        let mut state = self.state.lock();
        if state.closing {
            return Next::Nothing;
        }
        let compact = |state: &mut MutexGuard<'_, DbState>| Ok(self.compact_once(state));
        // A panic has latched its error in the database: the next check finds it, and nothing is compacted.
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
}

/// The numbers of flush and compaction threads for `jobs` background jobs.
pub(crate) fn workers(jobs: usize) -> (usize, usize) {
    let flushers = (jobs / 4).max(1);
    (flushers, jobs.saturating_sub(flushers).max(1))
}
