//! Holds threads to a rate.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Unused permission older than this lapses, so that a pause is not made up for by a burst.
const BURST: Duration = Duration::from_millis(10);

/// So many units a second, shared by all threads that ask.
#[derive(Debug)]
pub struct RateLimiter {
    per_second: f64,
    /// When everything granted so far will have been used up.
    free_at: Mutex<Instant>,
}

impl RateLimiter {
    /// A limit of `per_second` units; `None` for 0: no limit.
    pub fn new(per_second: u64) -> Option<RateLimiter> {
        (per_second > 0).then(|| RateLimiter {
            per_second: per_second as f64,
            free_at: Mutex::new(Instant::now()),
        })
    }

    /// Waits until `units` may be used.
    pub fn request(&self, units: u64) {
        let wait = self.reserve(units, Instant::now());
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
    }

    /// Grants `units` and says how long to wait before they are used.
    fn reserve(&self, units: u64, now: Instant) -> Duration {
        let mut free_at = self.free_at.lock().expect("no thread panics in here");
        let start = (*free_at).max(now.checked_sub(BURST).unwrap_or(now));
        *free_at = start + Duration::from_secs_f64(units as f64 / self.per_second);
        start.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_pauses_lapse() {
        assert!(RateLimiter::new(0).is_none());
        let limiter = RateLimiter::new(1_000).unwrap();
        let start = Instant::now() + Duration::from_secs(1);
        // A burst's worth is granted at once; from then on each hundred units take a tenth of a second.
        assert_eq!(limiter.reserve(10, start), Duration::ZERO);
        assert_eq!(limiter.reserve(100, start), Duration::ZERO);
        assert_eq!(limiter.reserve(100, start), Duration::from_millis(100));
        assert_eq!(limiter.reserve(100, start), Duration::from_millis(200));
        let later = start + Duration::from_secs(60);
        assert_eq!(limiter.reserve(10, later), Duration::ZERO);
        assert_eq!(limiter.reserve(1, later), Duration::ZERO);
        assert!(limiter.reserve(1, later) <= Duration::from_millis(1));
    }
}
