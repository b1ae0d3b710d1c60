//! The minimum size of a stream that a flush writes to a table of its own, as far as the disk decides it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Flushes of at most this number of tables are never too slow: through L0, compactions would write about as
/// many files.
const FEW: u64 = 4;

/// The rate in bytes a second that a flush of many tables must reach. A database that writes everything
/// through L0, and rewrites it three times, comes to about half of it on two processors.
const RATE: u64 = 64 << 20;

/// The highest minimum in bytes: larger tables are worth their syncs on any disk. It is what the default of
/// `target_file_size_base` asks of a stream anyway.
const MOST: u64 = 256 << 10;

/// The part of the minimum by which it falls with each flush: after some 180 flushes it is the half, and as
/// many tables are tried again.
const PART: u64 = 256;

/// The minimum bytes of a stream. It rises after flushes of many tables to a disk that took too long, which
/// are those whose tables are too small to be worth their syncs, and falls from one flush to the next.
#[derive(Debug, Default)]
pub(crate) struct StreamFloor(AtomicU64);

impl StreamFloor {
    /// The minimum in bytes; 0 on disks that are fast enough.
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

    /// Takes account of a flush that wrote `tables` tables of streams to a disk, of `bytes` together. At most
    /// one flush of a family runs at a time.
    pub fn note(&self, tables: usize, bytes: u64, took: Duration) {
        let (tables, floor) = (tables as u64, self.bytes());
        let in_time = u128::from(bytes) * 1_000_000_000 >= u128::from(RATE) * took.as_nanos();
        let next = match tables <= FEW || in_time {
            // The size of most of the tables is less than twice the average.
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
        floor.note(64, RATE, second);
        floor.note(4, 1 << 10, second);
        floor.note(0, 0, second);
        assert_eq!((floor.bytes(), floor.bytes_of_output()), (0, 0));
        floor.note(64, 1 << 20, second);
        assert_eq!((floor.bytes(), floor.bytes_of_output()), (32 << 10, MOST));
        // This flush writes larger tables, and is slow too.
        floor.note(8, 8 << 20, second);
        assert_eq!(floor.bytes(), 256 << 10);
        floor.note(64, 1 << 20, second);
        assert_eq!(floor.bytes(), 256 << 10);
    }

    #[test]
    fn it_falls_from_flush_to_flush() {
        let floor = StreamFloor::default();
        floor.note(64, 1 << 20, Duration::from_secs(1));
        let flushes = (1..1000).find(|_| {
            floor.note(0, 0, Duration::ZERO);
            floor.bytes() < 16 << 10
        });
        assert_eq!(flushes, Some(177));
        (0..5000).for_each(|_| floor.note(0, 0, Duration::ZERO));
        assert_eq!(floor.bytes(), 0);
    }
}
