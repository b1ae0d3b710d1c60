//! The background threads: some flush, the others compact. All wait on one condition variable with the database mutex.

use base::SeqNo;
use base::sync::{MutexGuard, thread};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use compact::Style;
use compact::stall::StallCondition;

use crate::db::DbInner;
use crate::db::open::compacts;
use crate::db::state::{COMPACTION, DbState, FLUSH, FamilyState, HOUSEKEEPING, closing};
use crate::events::Event;

impl DbInner {
    /// Starts the threads of a database open for writing.
    pub(crate) fn start_threads(self: &Arc<Self>) {
        if let Some(share) = &self.share {
            share.belongs_to(self);
        }
        self.start_workers(self.options.max_background_jobs as usize);
        self.begin_stats_history();
        self.spawn("delete", |inner| {
            let period = inner.current.load().stats_dump_period_sec;
            let mut due = inner.opened + Duration::from_secs(period);
            let mut aged = inner.options.clock.now();
            let mut timed = inner.options.clock.now();
            let persist = inner.current.load().stats_persist_period_sec;
            let mut persisted = inner.opened + Duration::from_secs(persist);
            let mut recovery = None;
            inner.obsolete.run(&mut || {
                inner.latch_listener();
                let looked = inner.guarded(HOUSEKEEPING, || {
                    let dump = inner.dump_stats_when_due(&mut due);
                    let age = inner.note_ages_when_due(&mut aged);
                    let time = inner.note_seqno_time_when_due(&mut timed);
                    let stats = inner.persist_stats_when_due(&mut persisted);
                    let recovers = inner.recover_when_due(&mut recovery);
                    let others = dump.into_iter().chain(age).chain(time).chain(stats);
                    Ok(others.chain(recovers).min())
                });
                looked.unwrap_or_default()
            });
            inner.end_auto_recovery(&mut recovery, Some(closing()));
        });
    }

    /// Starts as many threads that flush, and that compact, as `max_background_jobs` of `jobs` needs and there are not yet. Of those there
    /// are too many of, the last have nothing to do.
    pub(crate) fn start_workers(self: &Arc<Self>, jobs: usize) {
        let (flushers, compactors) = workers(jobs);
        let mut started = self.workers.lock();
        while started.0 < flushers {
            let at = started.0;
            self.spawn("flush", move |inner| inner.run_flushes(at));
            started.0 += 1;
        }
        while started.1 < compactors {
            let at = started.1;
            self.spawn("compact", move |inner| inner.run_compactions(at));
            started.1 += 1;
        }
    }

    fn spawn(self: &Arc<Self>, name: &str, run: impl FnOnce(&DbInner) + Send + 'static) {
        let inner = self.clone();
        let thread = thread::Builder::new()
            .name(format!("esker-{name}"))
            .spawn(move || run(&inner));
        match thread {
            Ok(thread) => {
                let mut threads = self.threads.lock();
                // The one that deletes files stays the last.
                let at =
                    threads.len() - usize::from(!threads.is_empty() && self.deletes.load(Ordering::Relaxed));
                threads.insert(at, thread);
                if name == "delete" {
                    self.deletes.store(true, Ordering::Relaxed);
                }
            }
            // Without a thread the database still serves; what needs the thread says so when it waits.
            Err(error) => self.latch(
                "start a background thread",
                base::Error::io("start thread", &self.dir, error),
            ),
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

    /// What the flushing thread `at` does.
    fn run_flushes(&self, at: usize) {
        let mut state = self.state.lock();
        while !state.closing {
            let may = state.check_job().is_ok() && (state.background_paused == 0 || state.shutting_down);
            let wanted = at < workers(self.current.load().max_background_jobs as usize).0;
            match state.due_flush().filter(|_| may && wanted) {
                // A failure has latched the database and is told from there.
                Some(ids) => {
                    drop(self.guarded_in(&mut state, FLUSH, |state| self.flush_families(state, &ids)))
                }
                None => self.work.wait(&mut state),
            }
        }
    }

    /// What the compacting thread `at` does.
    fn run_compactions(&self, at: usize) {
        let mut state = self.state.lock();
        while !state.closing {
            let wanted = at < workers(self.current.load().max_background_jobs as usize).1;
            let compact = |state: &mut MutexGuard<'_, DbState>| Ok(self.compact_once(state));
            // After a panic nothing is compacted, which the next look finds.
            if !wanted || !self.guarded_in(&mut state, COMPACTION, compact).unwrap_or(true) {
                self.work.wait(&mut state);
            }
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
