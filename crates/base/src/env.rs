//! The only source of time and randomness, so that a test can replace them.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use fastrand::Rng;

/// A source of time.
///
/// See the example of [`ManualClock`].
pub trait Clock: Send + Sync + Debug {
    /// The time since some fixed moment; never goes back. For durations.
    fn now(&self) -> Duration;

    /// The time of [`now`](Self::now) to within some milliseconds, for a quarter of the cost where the
    /// system has such a clock.
    fn coarse_now(&self) -> Duration {
        self.now()
    }

    /// Seconds since 1970, for times that are written into files.
    fn unix_seconds(&self) -> u64;

    /// Microseconds since 1970, for times that people compare with other logs. Whole seconds if the clock is
    /// no finer.
    fn unix_micros(&self) -> u64 {
        self.unix_seconds() * 1_000_000
    }
}

/// The clock of the machine.
///
/// See the example of [`ManualClock`].
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    /// The reading of the coarse clock at the start.
    coarse_start: Duration,
}

impl SystemClock {
    /// A clock whose [`now`](Clock::now) counts from this call.
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

/// A clock that moves only when it is advanced.
///
/// ```
/// # use esker_base::env as esker;
/// use esker::{Clock, ManualClock, SystemClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::default();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.unix_seconds(), 60);
/// assert!(SystemClock::new().unix_seconds() > 60);
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    micros: AtomicU64,
}

impl ManualClock {
    /// Advances the time by `step`.
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

/// Measures a short duration for statistics, and for hints to the kernel; other decisions that depend on time
/// use a [`Clock`]. In a simulation it always measures 0, so that runs repeat exactly.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Option<Instant>);

impl Stopwatch {
    /// Starts a measurement of CPU time.
    #[inline]
    pub fn start() -> Stopwatch {
        Stopwatch((!crate::sync::SIMULATED).then(Instant::now))
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0.map_or(0, |start| start.elapsed().as_nanos() as u64)
    }
}

/// CPU time that the calling thread has used. It is 0 in a simulation, so that runs repeat exactly.
pub fn thread_cpu() -> Duration {
    if crate::sync::SIMULATED {
        return Duration::ZERO;
    }
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32)
}

/// CPU time that all threads of the process have used. It is 0 in a simulation, so that runs repeat exactly.
pub fn process_cpu() -> Duration {
    if crate::sync::SIMULATED {
        return Duration::ZERO;
    }
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32)
}

/// A random seed: for session identities, and for tests that print it so that a failure can be replayed. In a
/// simulation it derives from the simulation's seed.
pub fn fresh_seed() -> u64 {
    #[cfg(simulate)]
    if let Some(seed) = crate::simulation::chance() {
        return seed;
    }
    fastrand::u64(..)
}
