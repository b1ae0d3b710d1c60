//! Holding writers back: until there is room, or for as long as what they wrote should have taken.

use std::fmt;
use std::time::Duration;

use base::perf;
use base::sync::MutexGuard;
use base::{Error, ErrorKind, Result};
use compact::stall::StallCondition;

use super::queue::Settled;
use super::write_buffer_manager::WriteBufferManager;
use crate::db::DbInner;
use crate::db::state::{DbState, MEMORY_LIMIT, StallReason};
use crate::events::Event;
use crate::options::WriteOptions;
use crate::stats::StallTotal;

/// Shorter waits cost more than they slow. Who was silent has no more than this to his credit.
pub(super) const LEAST_WAIT: Duration = Duration::from_millis(1);

/// What was written while writes are delayed, as the time it should have taken.
#[derive(Debug, Default)]
pub(crate) struct Paid {
    until: Duration,
}

impl Paid {
    /// Charges `bytes` at `rate` bytes a second, and gives how long to wait for it: nothing, or [`LEAST_WAIT`] and more.
    pub fn charge(&mut self, now: Duration, bytes: u64, rate: u64) -> Duration {
        let from = self.until.max(now.saturating_sub(LEAST_WAIT));
        self.until = from + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        match self.until.saturating_sub(now) {
            due if due >= LEAST_WAIT => due,
            _ => Duration::ZERO,
        }
    }
}

impl DbInner {
    /// A place at the head of the line of those held back, once all who came before have left it. The write queue's lock is released
    /// meanwhile.
    pub(super) fn stand_in_line(&self, writer: &mut Settled<'_>) -> MutexGuard<'_, ()> {
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        writer.unlocked(|| self.line.lock())
    }

    /// Does `wait`, which is to give the database mutex back, with the write queue's lock released, and at the head of the line: of those held
    /// back one waits for what holds them back, the others for their turn, so that what ends a stall wakes one of them and they go on in their
    /// order. Whoever asks for `no_slowdown`, flushes or locks the WAL finds the write queue free. False if it had to stand in line
    /// first: then everything must be looked at again, and nothing was waited for.
    pub(super) fn hold_back<'db>(
        &'db self,
        writer: &mut Settled<'_>,
        place: &mut Option<MutexGuard<'db, ()>>,
        state: MutexGuard<'_, DbState>,
        wait: impl FnOnce(MutexGuard<'_, DbState>),
    ) -> bool {
        if place.is_none() {
            *place = self.line.try_lock();
        }
        if place.is_none() {
            drop(state);
            *place = Some(self.stand_in_line(writer));
            return false;
        }
        writer.held_back = true;
        // The database mutex goes last: nothing can change before it is waited for.
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

    /// Waits for memtables of whatever database to be flushed, until they take less than the write buffer manager allows or nothing can be
    /// written anyway.
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
            MutexGuard::unlocked(&mut state, || self.tell_stalls());
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
            self.tell_stalls();
        }
    }

    /// Waits for as long as what was written since somebody was last held back should have taken, or until nothing stalls any more.
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
            own.note_stalled(condition, waited.as_micros() as u64);
        }
    }
}

/// `Incomplete` for a write that is not to wait, because of `why`.
pub(super) fn check_may_wait(options: &WriteOptions, why: impl fmt::Display) -> Result<()> {
    match options.no_slowdown {
        true => Err(Error::new(ErrorKind::Incomplete, format!("Write stall: {why}"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_passes_pays() {
        let millis = Duration::from_millis;
        let mut paid = Paid::default();
        // A thousand bytes a millisecond. One millisecond is to everybody's credit.
        assert_eq!(paid.charge(millis(100), 1_500, 1_000_000), Duration::ZERO);
        assert_eq!(paid.charge(millis(100), 1_500, 1_000_000), millis(2));
        // It has waited one of them.
        assert_eq!(paid.charge(millis(101), 1_000, 1_000_000), millis(2));
        // Slower than it may be: it never waits.
        for at in 200..300 {
            assert_eq!(paid.charge(millis(at), 900, 1_000_000), Duration::ZERO);
        }
        // A long silence is not saved up.
        assert_eq!(paid.charge(millis(10_000), 5_000, 1_000_000), millis(4));
    }
}
