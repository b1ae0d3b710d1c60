//! A planted slow-down, which checks the comparison itself.

use std::time::Instant;

/// The number of operations between two reads of the clock by a [`Burden`].
const STEP: u64 = 64;

/// A planted slow-down: it spins for a share of the time that the operations take. With a share of 0 only its
/// clock reads cost time, so that both sides of a self-check have the same overhead.
pub struct Burden {
    share: f64,
    operations: u64,
    last: Instant,
}

impl Burden {
    pub fn new(share: f64) -> Burden {
        Burden {
            share,
            operations: 0,
            last: Instant::now(),
        }
    }

    /// The caller calls this function after each operation.
    #[inline]
    pub fn bear(&mut self) {
        self.operations += 1;
        if self.operations.is_multiple_of(STEP) {
            self.burn();
        }
    }

    pub fn burn(&mut self) {
        let now = Instant::now();
        let burning = (now - self.last).mul_f64(self.share);
        while now.elapsed() < burning {
            std::hint::spin_loop();
        }
        self.last = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burden_burns_its_share() {
        let mut burden = Burden::new(0.5);
        let start = Instant::now();
        let mut worked = Duration::ZERO;
        for _ in 0..20 * STEP {
            let operation = Instant::now();
            while operation.elapsed() < Duration::from_micros(2) {}
            worked += operation.elapsed();
            burden.bear();
        }
        // The planted slow-down never takes less than its share, however busy the machine is.
        assert!(
            start.elapsed() >= worked.mul_f64(1.5),
            "{:?} {worked:?}",
            start.elapsed()
        );
    }
}
