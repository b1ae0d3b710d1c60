//! Write stalls: stopped writers wait until memory or L0 has room, and delayed writers wait as long as their
//! writes should take at the delayed rate.

use std::fmt;
use std::time::Duration;

use base::perf;
use base::sync::MutexGuard;
use base::{Error, ErrorKind, Result};
use compact::stall::StallCondition;

use crate::events::Event;
use crate::options::WriteOptions;
use crate::options::write_buffer_manager::WriteBufferManager;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, MEMORY_LIMIT, StallReason};
use crate::state::write_queue::DrainedQueue;
use crate::state::writer::LEAST_WAIT;
use crate::stats::StallTotal;

impl DbInner {
    /// Makes another database flush its largest memtable, if no database has a larger one. True if that
    /// database has begun a flush.
    pub(crate) fn flush_largest_elsewhere(&self) -> bool {
        let share = self.write.share.as_ref();
        let other = share.and_then(|share| share.manager.largest_other(share));
        other.is_some_and(|other| other.flush_for_manager())
    }

    /// Waits until the calling thread is the first of the stalled writers. The write queue's lock is released
    /// meanwhile.
    pub(super) fn stand_in_line(&self, writer: &mut DrainedQueue<'_>) -> MutexGuard<'_, ()> {
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        writer.unlocked(|| self.write.line.lock())
    }

    /// Runs `wait`, which releases the database mutex while it waits, at the head of the line of stalled
    /// writers, with the write queue's lock released. One stalled writer waits for the end of the stall, the
    /// others for their turn in the line, so that the end of a stall wakes one of them and they continue in
    /// order. Writers with `no_slowdown`, flushes and locks of the WAL find the write queue free. False if
    /// the caller had to wait in the line first: then all conditions must be checked again, and `wait` was
    /// not run.
    pub(super) fn hold_back<'db>(
        &'db self,
        writer: &mut DrainedQueue<'_>,
        place: &mut Option<MutexGuard<'db, ()>>,
        state: MutexGuard<'_, DbState>,
        wait: impl FnOnce(MutexGuard<'_, DbState>),
    ) -> bool {
        if place.is_none() {
            *place = self.write.line.try_lock();
        }
        if place.is_none() {
            drop(state);
            *place = Some(self.stand_in_line(writer));
            return false;
        }
        writer.held_back = true;
        // The database mutex is released last, by `wait` itself, so that no change is missed before the wait.
        writer.unlocked(|| wait(state));
        writer.held_back = false;
        true
    }

    /// Waits for a job to end, because `family` stops writes.
    pub(super) fn wait_for_room(
        &self,
        mut state: MutexGuard<'_, DbState>,
        family: u32,
        condition: StallCondition,
    ) {
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        let start = self.options.clock.now();
        self.work.notify_all();
        self.changed.wait(&mut state);
        self.count_stall(&mut state, family, condition, start);
    }

    /// Waits for flushes of memtables of any database, until they take less memory than the write buffer
    /// manager allows, or nothing can be written anyway.
    pub(super) fn wait_for_memory(&self, mut state: MutexGuard<'_, DbState>, manager: &WriteBufferManager) {
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        let start = self.options.clock.now();
        let event = |previous, condition, stalled| {
            let memory = (manager.memory_usage(), manager.buffer_size());
            Event::stall_of_database(previous, condition, stalled, memory)
        };
        if state.memory_stall.begin() {
            let begun = event(StallCondition::Normal, MEMORY_LIMIT, StallTotal::default());
            state.stall_events.push(begun);
            MutexGuard::unlocked(&mut state, || self.notify_stalls());
        }
        while manager.should_stall() && state.check_writable().is_ok() {
            MutexGuard::unlocked(&mut state, || {
                manager.flush_immutable();
                manager.wait();
            });
        }
        let waited = self.options.clock.now().saturating_sub(start);
        self.stats.stalled(MEMORY_LIMIT, waited);
        if let Some(stalled) = state.memory_stall.end(waited.as_micros() as u64) {
            let ended = event(MEMORY_LIMIT, StallCondition::Normal, stalled);
            state.stall_events.push(ended);
            drop(state);
            self.notify_stalls();
        }
    }

    /// Waits as long as the bytes written since the last delay should have taken, or until no stall is left.
    pub(super) fn delay(&self, mut state: MutexGuard<'_, DbState>, mut due: Duration, reason: StallReason) {
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        let start = self.options.clock.now();
        let until = start + due;
        loop {
            let waited = self.changed.wait_for(&mut state, due);
            let now = self.options.clock.now();
            let is_over = state.stall() == StallCondition::Normal || state.check_writable().is_err();
            due = until.saturating_sub(now);
            if waited.timed_out() || is_over || due < LEAST_WAIT {
                break;
            }
        }
        self.count_stall(&mut state, reason.family, reason.condition, start);
    }

    fn count_stall(&self, state: &mut DbState, family: u32, condition: StallCondition, start: Duration) {
        let waited = self.options.clock.now().saturating_sub(start);
        self.stats.stalled(condition, waited);
        if let Some(own) = state.families.get_mut(&family) {
            own.record_stalled(condition, waited.as_micros() as u64);
        }
    }
}

/// `Incomplete`, with the reason `why`, for a write with `no_slowdown`.
pub(super) fn check_may_wait(options: &WriteOptions, why: impl fmt::Display) -> Result<()> {
    match options.no_slowdown {
        true => Err(Error::new(ErrorKind::Incomplete, format!("Write stall: {why}"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::writer::WriteCredit;

    #[test]
    fn time_that_passes_pays() {
        let millis = Duration::from_millis;
        let mut paid = WriteCredit::default();
        // The rate is a thousand bytes per millisecond. Every writer has a credit of one millisecond.
        assert_eq!(paid.charge(millis(100), 1_500, 1_000_000), Duration::ZERO);
        assert_eq!(paid.charge(millis(100), 1_500, 1_000_000), millis(2));
        // One of the two milliseconds of delay has passed.
        assert_eq!(paid.charge(millis(101), 1_000, 1_000_000), millis(2));
        // A writer that is slower than the rate is never delayed.
        for at in 200..300 {
            assert_eq!(paid.charge(millis(at), 900, 1_000_000), Duration::ZERO);
        }
        // A long idle time accrues no more credit.
        assert_eq!(paid.charge(millis(10_000), 5_000, 1_000_000), millis(4));
    }
}
