//! The threshold of a store, which every read and write loads.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

use crate::key::timestamp::Timestamp;

/// A time that rises, and is read without a lock or a write to memory: the readers of all processors share
/// its cache line.
///
/// There are two copies. A raise writes the one that is not current and then makes it the current one, so a
/// reader never waits for a thread that is interrupted during a raise. A reader that overlaps with two raises
/// reads again.
#[derive(Debug, Default)]
pub(crate) struct Threshold {
    /// The number of raises. Its lowest bit is the place of the current copy.
    raises: AtomicU64,
    copies: [Copied; 2],
}

#[derive(Debug, Default)]
struct Copied {
    wall: AtomicI64,
    logical: AtomicI32,
}

impl Threshold {
    pub fn new(threshold: Timestamp) -> Threshold {
        let own = Threshold::default();
        own.raise(threshold);
        own
    }

    /// The time.
    #[inline]
    pub fn get(&self) -> Timestamp {
        loop {
            let raises = self.raises.load(Ordering::SeqCst);
            let copy = &self.copies[raises as usize % 2];
            let time = Timestamp {
                wall: copy.wall.load(Ordering::SeqCst),
                logical: copy.logical.load(Ordering::SeqCst),
            };
            if self.raises.load(Ordering::SeqCst) == raises {
                return time;
            }
        }
    }

    /// Sets the time. Only one thread at a time may do so.
    pub fn raise(&self, threshold: Timestamp) {
        let raises = self.raises.load(Ordering::SeqCst) + 1;
        let copy = &self.copies[raises as usize % 2];
        copy.wall.store(threshold.wall, Ordering::SeqCst);
        copy.logical.store(threshold.logical, Ordering::SeqCst);
        self.raises.store(raises, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_whole_times_that_rise() {
        let threshold = Threshold::new(Timestamp { wall: 1, logical: 1 });
        assert_eq!(threshold.get(), Timestamp { wall: 1, logical: 1 });
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut before = Timestamp::ZERO;
                    for _ in 0..100_000 {
                        let seen = threshold.get();
                        assert!(seen >= before && i64::from(seen.logical) == seen.wall, "{seen}");
                        before = seen;
                    }
                });
            }
            for wall in 2..20_000 {
                let logical = wall as i32;
                threshold.raise(Timestamp { wall, logical });
                assert_eq!(threshold.get(), Timestamp { wall, logical });
            }
        });
    }
}
