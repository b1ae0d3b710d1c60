//! A clock whose wall clock a test sets, also back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::env::Clock;

/// A clock of two times: that of durations, which only advances, and that since 1970, which a test sets as an
/// administrator sets the clock of a machine.
#[derive(Debug)]
pub struct SteppedClock {
    /// The time of durations in microseconds.
    steady: AtomicU64,
    /// The time since 1970 in microseconds.
    wall: AtomicU64,
}

impl SteppedClock {
    /// A clock at `wall` since 1970.
    pub fn at(wall: Duration) -> SteppedClock {
        SteppedClock {
            steady: AtomicU64::new(0),
            wall: AtomicU64::new(micros(wall)),
        }
    }

    /// Advances both times by `step`.
    pub fn advance(&self, step: Duration) {
        self.steady.fetch_add(micros(step), Ordering::SeqCst);
        self.wall.fetch_add(micros(step), Ordering::SeqCst);
    }

    /// Sets the time since 1970. The time of durations stays.
    pub fn set_wall(&self, wall: Duration) {
        self.wall.store(micros(wall), Ordering::SeqCst);
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

impl Clock for SteppedClock {
    fn now(&self) -> Duration {
        Duration::from_micros(self.steady.load(Ordering::SeqCst))
    }

    fn unix_seconds(&self) -> u64 {
        self.unix_micros() / 1_000_000
    }

    fn unix_micros(&self) -> u64 {
        self.wall.load(Ordering::SeqCst)
    }
}
