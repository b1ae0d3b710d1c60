//! The due times of operations in a run with a rate, and latencies that count from them.
//!
//! A benchmark that begins an operation only after the previous one has ended asks nothing of the engine
//! during a pause: a pause of a second is one slow operation among thousands of fast ones, where thousands of
//! a service's users would have waited. That is coordinated omission. A rate avoids it: operations are due at
//! fixed times, whatever happened to those before them, and latency counts from the due time. Operations that
//! a pause delayed follow one another immediately until the schedule is met again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A rate of units (bytes, operations) a second, which all threads take in turn.
#[derive(Debug)]
pub struct Schedule {
    per_second: f64,
    /// The time at which the first unit was taken, which is its due time.
    start: OnceLock<Instant>,
    taken: AtomicU64,
}

impl Schedule {
    /// A rate of `per_second` units; `None` for 0, which means no limit.
    pub fn new(per_second: u64) -> Option<Schedule> {
        (per_second > 0).then(|| Schedule {
            per_second: per_second as f64,
            start: OnceLock::new(),
            taken: AtomicU64::new(0),
        })
    }

    /// Takes the next `units` and returns their due time, which may be past.
    pub fn take(&self, units: u64, now: Instant) -> Instant {
        let start = *self.start.get_or_init(|| now);
        let before = self.taken.fetch_add(units, Ordering::Relaxed);
        start + Duration::from_secs_f64(before as f64 / self.per_second)
    }

    /// A schedule with another rate, which begins where this one is: late units stay late.
    pub fn followed_by(&self, per_second: u64) -> Option<Schedule> {
        let next = Schedule::new(per_second)?;
        if self.start.get().is_some() {
            // After the first call the due time of the next unit does not depend on the clock.
            let due = self.take(0, Instant::now());
            next.start.get_or_init(|| due);
        }
        Some(next)
    }

    /// The number of units that were due before `now` and were not taken; 0 if all of them were due in the
    /// last hundredth of a second.
    pub fn overdue(&self, now: Instant) -> u64 {
        let Some(start) = self.start.get() else { return 0 };
        let due = now.saturating_duration_since(*start).as_secs_f64() * self.per_second;
        let overdue = (due as u64).saturating_sub(self.taken.load(Ordering::Relaxed));
        if overdue as f64 <= self.per_second / 100.0 {
            0
        } else {
            overdue
        }
    }
}

/// Returns at `due` or somewhat later: as soon as the operating system wakes the thread.
pub fn wait_until(due: Instant) {
    loop {
        let wait = due.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return;
        }
        std::thread::park_timeout(wait);
    }
}

/// One thread's operations as they would have run if the thread had never been woken late: each begins at its
/// due time, or when the previous one is done.
///
/// Late wake-ups, of some fifty microseconds each, are caused by the harness, and would be most of the
/// latency of a read from memory. Waiting of operations for one another is caused by the engine, and is fully
/// included.
#[derive(Debug, Default)]
pub struct Line {
    /// The time at which the last operation was done.
    free: Option<Instant>,
}

impl Line {
    /// The latency, from `due`, of an operation that took `time` from its actual start.
    pub fn latency(&mut self, due: Instant, time: Duration) -> Duration {
        let begin = self.free.map_or(due, |free| free.max(due));
        let end = begin + time;
        self.free = Some(end);
        end - due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn units_are_due_at_the_rate() {
        assert!(Schedule::new(0).is_none());
        let schedule = Schedule::new(1_000).unwrap();
        let start = Instant::now();
        assert_eq!(schedule.overdue(start), 0, "nobody has begun");
        assert_eq!(schedule.take(100, start), start);
        assert_eq!(schedule.take(50, start + 7 * MILLI), start + 100 * MILLI);
        assert_eq!(schedule.take(1, start + 9_000 * MILLI), start + 150 * MILLI);
        assert_eq!(schedule.overdue(start + 161 * MILLI), 0);
        assert_eq!(schedule.overdue(start + 1_151 * MILLI), 1_000);
    }

    #[test]
    fn a_change_of_the_rate_does_not_forgive_delays() {
        let slow = Schedule::new(1_000).unwrap();
        let start = Instant::now();
        slow.take(100, start);
        let fast = slow.followed_by(10_000).unwrap();
        assert_eq!(fast.take(50, start + 900 * MILLI), start + 100 * MILLI);
        assert_eq!(fast.take(1, start + 900 * MILLI), start + 105 * MILLI);
        assert!(slow.followed_by(0).is_none());
    }

    /// With a simulated clock, one operation is due every millisecond and takes 100 microseconds, except the
    /// tenth, which takes a second.
    #[test]
    fn a_stall_is_charged_to_all_that_were_due_in_it() {
        let schedule = Schedule::new(1_000).unwrap();
        let start = Instant::now();
        let (mut now, mut line, mut latencies) = (start, Line::default(), Vec::new());
        for operation in 0..3_000 {
            let due = schedule.take(1, now);
            // The thread is woken late whenever it had to wait; the engine is not to blame.
            if due > now {
                now = due + Duration::from_micros(60);
            }
            let time = if operation == 10 {
                Duration::from_secs(1)
            } else {
                MILLI / 10
            };
            now += time;
            latencies.push(line.latency(due, time));
        }
        assert!(latencies[..10].iter().all(|latency| *latency == MILLI / 10));
        assert_eq!(latencies[10], Duration::from_secs(1));
        // The operations after the slow one are each due a millisecond later, and take a tenth of a
        // millisecond: the backlog shrinks by 0.9 ms each time.
        assert_eq!(latencies[11], Duration::from_micros(999_100));
        assert_eq!(latencies[510], Duration::from_micros(550_000));
        let late = latencies.iter().filter(|latency| **latency > MILLI / 10).count();
        assert_eq!(
            late,
            1 + 1_110,
            "1,000 were due in the stall, 110 more while those caught up"
        );
        assert_eq!(latencies[2_999], MILLI / 10);
        // A loop that waits for each operation would have reported one slow operation in 3,000.
        let over_half = latencies.iter().filter(|latency| **latency > 500 * MILLI).count();
        assert_eq!(over_half, 556);
    }

    #[test]
    fn lateness_of_the_harness_is_not_charged() {
        let start = Instant::now();
        let mut line = Line::default();
        assert_eq!(line.latency(start, MILLI), MILLI);
        assert_eq!(line.latency(start + MILLI, MILLI), MILLI);
        assert_eq!(
            line.latency(start + MILLI, MILLI),
            2 * MILLI,
            "it waited for the one before"
        );
        assert_eq!(line.latency(start + 10 * MILLI, MILLI), MILLI);
    }
}
