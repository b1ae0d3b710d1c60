//! The cost and yield of reads: one by one, and summed over all scans of a store.

use std::sync::atomic::{AtomicU64, Ordering};

/// The cost of reads, and their yield.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Steps of the engine's iterator to the next or previous version or key.
    pub steps: u64,
    /// Seeks of the engine's iterator.
    pub seeks: u64,
    /// Versions on which the iterator stepped without use: too new for the reader, or older than the one it
    /// sees. Versions that a seek passes are not counted.
    pub skipped: u64,
    /// Keys that were not returned because a deletion or a range tombstone deletes them.
    pub tombstones: u64,
    /// Versions and inline values returned.
    pub rows: u64,
}

impl ReadCounters {
    /// Versions and deletions that were read without being returned.
    pub fn wasted(&self) -> u64 {
        self.skipped + self.tombstones
    }
}

impl std::ops::AddAssign for ReadCounters {
    fn add_assign(&mut self, other: ReadCounters) {
        self.steps += other.steps;
        self.seeks += other.seeks;
        self.skipped += other.skipped;
        self.tombstones += other.tombstones;
        self.rows += other.rows;
    }
}

impl std::ops::SubAssign for ReadCounters {
    fn sub_assign(&mut self, other: ReadCounters) {
        self.steps -= other.steps;
        self.seeks -= other.seeks;
        self.skipped -= other.skipped;
        self.tombstones -= other.tombstones;
        self.rows -= other.rows;
    }
}

/// Sums over many readers. Each reader is added when its scan ends, so that nothing is shared while it runs.
#[derive(Debug, Default)]
pub(crate) struct ReadTotals {
    steps: AtomicU64,
    seeks: AtomicU64,
    skipped: AtomicU64,
    tombstones: AtomicU64,
    rows: AtomicU64,
}

impl ReadTotals {
    pub fn add(&self, counters: &ReadCounters) {
        let each = [
            (&self.steps, counters.steps),
            (&self.seeks, counters.seeks),
            (&self.skipped, counters.skipped),
            (&self.tombstones, counters.tombstones),
            (&self.rows, counters.rows),
        ];
        // Most counters are zero in a short scan.
        for (total, more) in each.into_iter().filter(|(_, more)| *more > 0) {
            total.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The sums. Each of them never decreases; together they may be of different moments.
    pub fn get(&self) -> ReadCounters {
        ReadCounters {
            steps: self.steps.load(Ordering::Relaxed),
            seeks: self.seeks.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            tombstones: self.tombstones.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
        }
    }
}
