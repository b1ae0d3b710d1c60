//! When operations of a rate-limited run are due, and what their latency is.
//!
//! A benchmark that begins an operation only when the one before is done asks nothing of the engine while the engine
//! stands still: a pause of a second is one slow operation among thousands of fast ones, where users of a service would
//! have waited by the thousand. That is coordinated omission. Where a rate is given, there is a remedy: operations are
//! due at fixed times, whatever became of those before them, and latency counts from there. Those that a pause made late
//! follow one another without delay until the schedule is kept again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// So many units (bytes, operations) a second, taken by all threads in turn.
#[derive(Debug)]
pub struct Schedule {
    per_second: f64,
    /// When the first unit was taken, which was when it was due.
    start: OnceLock<Instant>,
    taken: AtomicU64,
}

impl Schedule {
    /// `per_second` units; `None` for 0: no limit.
    pub fn new(per_second: u64) -> Option<Schedule> {
        (per_second > 0).then(|| Schedule {
            per_second: per_second as f64,
            start: OnceLock::new(),
            taken: AtomicU64::new(0),
        })
    }

    /// Takes the next `units` and says when they are due, which may be past.
    pub fn take(&self, units: u64, now: Instant) -> Instant {
        let start = *self.start.get_or_init(|| now);
        let before = self.taken.fetch_add(units, Ordering::Relaxed);
        start + Duration::from_secs_f64(before as f64 / self.per_second)
    }

    /// A schedule of another rate, which begins where this one is: what is late stays late.
    pub fn followed_by(&self, per_second: u64) -> Option<Schedule> {
        let next = Schedule::new(per_second)?;
        if self.start.get().is_some() {
            // The due time of the next unit does not depend on the clock any more.
            let due = self.take(0, Instant::now());
            next.start.get_or_init(|| due);
        }
        Some(next)
    }

    /// Units that were due before `now` and that nobody took; none if those of the last hundredth of a second are all.
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

/// Returns at `due`, or somewhat later: as soon as the operating system wakes the thread.
pub fn wait_until(due: Instant) {
    loop {
        let wait = due.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return;
        }
        std::thread::park_timeout(wait);
    }
}

/// One thread's operations as they would have gone if it had never been woken late: each begins when it is due, or when
/// the one before it is done.
///
/// To be woken late, by some fifty microseconds each time, is the doing of the harness, and would be most of the latency
/// of a read from memory. What operations made each other wait is the doing of the engine, and is all here.
#[derive(Debug, Default)]
pub struct Line {
    /// When the last operation was done.
    free: Option<Instant>,
}

impl Line {
    /// The latency, from `due`, of an operation that took `time` from its actual beginning.
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

    /// A clock moved by hand: an operation a millisecond takes 100 microseconds each, but the tenth a second.
    #[test]
    fn a_stall_is_charged_to_all_that_were_due_in_it() {
        let schedule = Schedule::new(1_000).unwrap();
        let start = Instant::now();
        let (mut now, mut line, mut latencies) = (start, Line::default(), Vec::new());
        for operation in 0..3_000 {
            let due = schedule.take(1, now);
            // Woken late whenever it had to wait: not the engine's doing.
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
        // Each next was due a millisecond later, and takes a tenth of one: the line gets shorter by 0.9 ms each time.
        assert_eq!(latencies[11], Duration::from_micros(999_100));
        assert_eq!(latencies[510], Duration::from_micros(550_000));
        let late = latencies.iter().filter(|latency| **latency > MILLI / 10).count();
        assert_eq!(
            late,
            1 + 1_110,
            "1,000 were due in the stall, 110 more while those caught up"
        );
        assert_eq!(latencies[2_999], MILLI / 10);
        // A loop that waits for each operation would have told of one slow operation in 3,000.
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
