//! What reads have cost, and for how little: one by one, and all scans of a store together.

use std::sync::atomic::{AtomicU64, Ordering};

/// What reading has cost, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Steps of the engine's iterator, to the version or key before or after.
    pub steps: u64,
    /// Seeks of the engine's iterator.
    pub seeks: u64,
    /// Versions it stepped on for nothing: too new for their reader, or older than what it sees. What a seek passes over is not counted.
    pub skipped: u64,
    /// Keys that were found to be deleted, by a deletion or a range tombstone, and not returned for that.
    pub tombstones: u64,
    /// Versions and inline values returned.
    pub rows: u64,
}

impl ReadCounters {
    /// What it met in vain: versions and deletions.
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

/// Sums over many readers: each is added when a scan ends, so that nothing is shared while it runs.
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
        // Most are nothing, of a short scan.
        for (total, more) in each.into_iter().filter(|(_, more)| *more > 0) {
            total.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Each sum never falls; together they may be those of different moments.
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
