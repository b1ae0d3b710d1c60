//! Changes of a family's rows by whole files: ingestions, and deletions of files with their rows.

use std::sync::atomic::{AtomicU64, Ordering};

use base::SeqNo;

/// The changes by files since the database was opened.
///
/// The files of an ingestion may have keys that sort before or after those in memory in the user's order, for
/// example newer versions of them, although the rows in memory have other sequence numbers. So rows in memory
/// are known to be the newest of their keys only if they were written after the last ingestion.
#[derive(Default)]
pub(crate) struct FileChanges {
    /// The newest sequence number at the last ingestion, or at the open.
    ingested_until: AtomicU64,
    count: AtomicU64,
}

impl FileChanges {
    /// Called when rows up to `last` were recovered from WALs. Files may have been ingested after them.
    pub fn recovered(&self, last: SeqNo) {
        self.ingested_until.fetch_max(last, Ordering::Release);
    }

    /// Called before the super version with ingested files is installed. `last` is the newest sequence
    /// number.
    pub fn ingested(&self, last: SeqNo) {
        self.ingested_until.fetch_max(last, Ordering::Release);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Called before the super version without the deleted files is installed.
    pub fn deleted(&self) {
        self.count.fetch_add(1, Ordering::Release);
    }

    /// The sequence number up to which rows may have been written before an ingestion.
    #[inline]
    pub fn ingested_until(&self) -> SeqNo {
        self.ingested_until.load(Ordering::Acquire)
    }

    /// The number of changes.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }
}
