//! Counts of rare events that a soak must have met. They are kept while a run goes on, so that a run that is
//! killed reports them too.

use std::sync::atomic::{AtomicU64, Ordering};

/// The events of a run so far.
#[derive(Debug, Default)]
pub struct RareEvents {
    refused_rows: AtomicU64,
    resumes: AtomicU64,
    wal_dir_changes: AtomicU64,
}

/// The number of each event.
#[derive(Clone, Copy, Debug, Default)]
pub struct RareCounts {
    /// Rows that were refused for their size.
    pub refused_rows: u64,
    /// Databases that wrote again after an injected failure had stopped writes.
    pub resumes: u64,
    /// Opens with another `wal_dir` than the open before; a run begins at that of its options.
    pub wal_dir_changes: u64,
}

impl RareEvents {
    /// Counts a row that was refused for its size.
    pub fn refused_row(&self) {
        self.refused_rows.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a database that writes again.
    pub fn resumed(&self) {
        self.resumes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an open with another `wal_dir`.
    pub fn changed_wal_dir(&self) {
        self.wal_dir_changes.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts now.
    pub fn counts(&self) -> RareCounts {
        RareCounts {
            refused_rows: self.refused_rows.load(Ordering::Relaxed),
            resumes: self.resumes.load(Ordering::Relaxed),
            wal_dir_changes: self.wal_dir_changes.load(Ordering::Relaxed),
        }
    }
}

impl RareCounts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: RareCounts) {
        self.refused_rows += other.refused_rows;
        self.resumes += other.resumes;
        self.wal_dir_changes += other.wal_dir_changes;
    }

    /// The counts under the names that a record of a soak has for them.
    pub fn named(&self) -> [(&'static str, u64); 3] {
        [
            ("refused_rows", self.refused_rows),
            ("resumes", self.resumes),
            ("wal_dir_changes", self.wal_dir_changes),
        ]
    }

    /// The counts as a run leaves them for the process that kills it.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (place, (_, count)) in bytes.chunks_exact_mut(8).zip(self.named()) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    /// The counts that [`to_bytes`](RareCounts::to_bytes) has encoded; 0 for missing ones.
    pub fn from_bytes(bytes: &[u8]) -> RareCounts {
        let mut counts = bytes
            .chunks_exact(8)
            .map(|count| count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count)));
        let mut next = || counts.next().unwrap_or(0);
        RareCounts {
            refused_rows: next(),
            resumes: next(),
            wal_dir_changes: next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_round_and_missing_ones_are_zero() {
        let events = RareEvents::default();
        events.refused_row();
        (0..2).for_each(|_| events.resumed());
        (0..3).for_each(|_| events.changed_wal_dir());
        let mut counts = RareCounts::from_bytes(&events.counts().to_bytes());
        counts.add(RareCounts::from_bytes(&7u64.to_le_bytes()));
        assert_eq!(counts.named().map(|(_, count)| count), [8, 2, 3]);
    }
}
