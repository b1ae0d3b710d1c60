//! The only source of time and chance, so that a test can put its own in their place.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use fastrand::Rng;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Time since some fixed moment; never goes back. For durations.
    fn now(&self) -> Duration;

    /// The same to within some milliseconds, for a quarter of the cost where the system has such a clock.
    fn coarse_now(&self) -> Duration {
        self.now()
    }

    /// Seconds since 1970, for what is written into files.
    fn unix_seconds(&self) -> u64;

    /// Microseconds since 1970, for what people compare with other logs. Whole seconds where the clock knows nothing finer.
    fn unix_micros(&self) -> u64 {
        self.unix_seconds() * 1_000_000
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    /// By the coarse clock.
    coarse_start: Duration,
}

impl SystemClock {
    /// Counts from now.
    pub fn new() -> SystemClock {
        SystemClock {
            start: Instant::now(),
            coarse_start: coarse_clock().unwrap_or_default(),
        }
    }
}

/// The coarse clock of the system, if it has one.
#[inline]
fn coarse_clock() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    return rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse)
        .try_into()
        .ok();
    #[cfg(not(target_os = "linux"))]
    None
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn coarse_now(&self) -> Duration {
        match coarse_clock() {
            Some(now) => now.saturating_sub(self.coarse_start),
            None => self.now(),
        }
    }

    fn unix_seconds(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    }

    fn unix_micros(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as u64)
    }
}

/// A clock that moves only when told to.
#[derive(Debug, Default)]
pub struct ManualClock {
    micros: AtomicU64,
}

impl ManualClock {
    /// Moves time on by `step`.
    pub fn advance(&self, step: Duration) {
        self.micros.fetch_add(step.as_micros() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::SeqCst))
    }

    fn unix_seconds(&self) -> u64 {
        self.now().as_secs()
    }

    fn unix_micros(&self) -> u64 {
        self.micros.load(Ordering::SeqCst)
    }
}

/// Takes the time of one short thing, for statistics: what is decided by time goes by a [`Clock`]. While the engine is
/// simulated it takes none, so that runs repeat exactly.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Option<Instant>);

impl Stopwatch {
    /// From now on.
    #[inline]
    pub fn start() -> Stopwatch {
        Stopwatch((!crate::sync::SIMULATED).then(Instant::now))
    }

    /// Nanoseconds until now.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0.map_or(0, |start| start.elapsed().as_nanos() as u64)
    }
}

/// CPU time the calling thread has used. While the engine is simulated there is none: runs repeat exactly.
pub fn thread_cpu() -> Duration {
    if crate::sync::SIMULATED {
        return Duration::ZERO;
    }
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32)
}

/// A seed nobody chose: for session identities, and for tests that print it so that a failure can be replayed.
///
/// While the engine is simulated it is the simulation's seed that chooses.
pub fn fresh_seed() -> u64 {
    #[cfg(simulate)]
    if let Some(seed) = simulated::chance() {
        return seed;
    }
    fastrand::u64(..)
}
