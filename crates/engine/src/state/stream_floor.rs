//! The minimum size of a stream that a flush writes to a table of its own, as far as the disk decides it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of tables up to which a flush never counts as too slow: if its streams went through L0,
/// compactions would write about as many files.
const FEW: u64 = 4;

/// The rate in bytes a second that a flush of many tables must reach. A database that flushes all rows to L0,
/// and rewrites them three times, reaches about half of that rate on two processors.
const RATE: u64 = 64 << 20;

/// The upper bound of the minimum size in bytes: larger tables are worth their syncs on any disk. With the
/// default of `target_file_size_base` a stream has at least that size anyway.
const MOST: u64 = 256 << 10;

/// Each flush lowers the minimum size by 1/256 of it: after some 180 flushes it is half as large, so that
/// flushes try smaller tables again.
const PART: u64 = 256;

/// The minimum size in bytes of a stream that gets a table of its own. It rises after a flush that wrote many
/// tables more slowly than [`RATE`], because such tables are too small to be worth their syncs. It falls with
/// every other flush.
#[derive(Debug, Default)]
pub(crate) struct StreamFloor(AtomicU64);

impl StreamFloor {
    /// The minimum size of a stream in bytes; 0 on disks that are fast enough.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The minimum size in bytes of a compaction's output that ends where a stream continues.
    pub fn bytes_of_output(&self) -> u64 {
        match self.bytes() {
            0 => 0,
            _ => MOST,
        }
    }

    /// Updates the minimum after a flush that wrote `tables` tables of streams, of `bytes` bytes together, in
    /// the time `took`. At most one flush of a family runs at a time.
    pub fn record(&self, tables: usize, bytes: u64, took: Duration) {
        let (tables, floor) = (tables as u64, self.bytes());
        let in_time = u128::from(bytes) * 1_000_000_000 >= u128::from(RATE) * took.as_nanos();
        let next = match tables <= FEW || in_time {
            // Most of the tables are smaller than twice the average size.
            true => floor - floor.div_ceil(PART),
            false => floor.max(2 * bytes / tables).min(MOST),
        };
        self.0.store(next, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_after_slow_flushes_of_many_tables_alone() {
        let floor = StreamFloor::default();
        let second = Duration::from_secs(1);
        floor.record(64, RATE, second);
        floor.record(4, 1 << 10, second);
        floor.record(0, 0, second);
        assert_eq!((floor.bytes(), floor.bytes_of_output()), (0, 0));
        floor.record(64, 1 << 20, second);
        assert_eq!((floor.bytes(), floor.bytes_of_output()), (32 << 10, MOST));
        // The second slow flush of the test writes larger tables.
        floor.record(8, 8 << 20, second);
        assert_eq!(floor.bytes(), 256 << 10);
        floor.record(64, 1 << 20, second);
        assert_eq!(floor.bytes(), 256 << 10);
    }

    #[test]
    fn it_falls_from_flush_to_flush() {
        let floor = StreamFloor::default();
        floor.record(64, 1 << 20, Duration::from_secs(1));
        let flushes = (1..1000).find(|_| {
            floor.record(0, 0, Duration::ZERO);
            floor.bytes() < 16 << 10
        });
        assert_eq!(flushes, Some(177));
        (0..5000).for_each(|_| floor.record(0, 0, Duration::ZERO));
        assert_eq!(floor.bytes(), 0);
    }
}
