//! Whether reads of a family wait for the disk, or find their bytes in the page cache.

use std::sync::atomic::{AtomicBool, Ordering};

/// The time of a read in nanoseconds above which it waited for the disk. The page cache answers in 1 to 10
/// microseconds, a flash disk in 50 to 100.
const WAITED: u64 = 20_000;

/// The experience of the last lookup of several keys. A hint to the kernel that bytes will be needed costs a
/// fifth of a read that finds them in the page cache, so it is given only while reads wait.
#[derive(Default)]
pub(crate) struct DiskWaits(AtomicBool);

impl DiskWaits {
    /// True if the last read waited for the disk, so that the next one probably waits too.
    #[inline]
    pub fn are_likely(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Called with the time of a read, which may include that of a few lookups in memory.
    #[inline]
    pub fn record(&self, nanos: u64) {
        let waited = nanos > WAITED;
        // The line is shared by all readers: it is written only when the experience changes.
        if waited != self.are_likely() {
            self.0.store(waited, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_read_tells_what_the_next_one_does() {
        let waits = DiskWaits::default();
        assert!(!waits.are_likely());
        for (nanos, likely) in [(3_000, false), (80_000, true), (60_000, true), (2_000, false)] {
            waits.record(nanos);
            assert_eq!(waits.are_likely(), likely, "after {nanos} ns");
        }
    }
}
