//! Counts of the operations.

use std::fmt;

macro_rules! counted {
    ($( $name:ident = $text:literal, )+) => {
        /// The kinds of operations of a worker.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum What { $( $name, )+ }

        const NAMES: &[&str] = &[ $( $text, )+ ];
    };
}

counted! {
    Get = "gets",
    MultiGet = "multi-gets",
    Prefix = "prefix scans",
    Iterate = "iterations",
    IterateFamilies = "iterations over families",
    Refresh = "refreshes of iterators",
    Write = "writes",
    Batch = "batches",
    Delete = "deletes",
    DeleteRange = "range deletes",
    Refused = "writes refused where they would have waited, or rolled back",
    LargeRow = "rows refused for their size",
    LargeMerge = "merges that no row can hold",
    Ingest = "ingestions",
    IngestBehind = "ingestions behind everything",
    IngestReplace = "ranges replaced by ingestions",
    Snapshot = "snapshots",
    TimestampedSnapshot = "snapshots with a timestamp",
    Flush = "flushes",
    CompactRange = "range compactions",
    CompactFiles = "file compactions",
    ClearFamily = "families cleared",
    SyncWal = "WAL syncs",
    FlushWal = "WAL flushes",
    LockWal = "times with the WAL locked",
    Property = "properties",
    VerifyChecksum = "checksum verifications",
    VerifyFileChecksums = "file checksum verifications",
    Checkpoint = "checkpoints",
    Backup = "backups",
    Export = "exports",
    CacheCapacity = "changes of the cache's capacity",
    SetOptions = "changes of options",
    Pause = "pauses of background work",
    DisableManual = "times without manual compactions",
    AbortCompactions = "times with compactions aborted",
    Promote = "promotions of L0",
    Sizes = "sizes",
    MayExist = "questions whether a key may exist",
    Metadata = "metadata of families",
    LiveFiles = "lists of live files",
    Wals = "lists of WALs",
    HoldFiles = "times without deletions of files",
    Verify = "families verified",
    Secondary = "catch-ups of a secondary",
    ReadOnly = "opened for reading",
    Failed = "made to fail",
    Resumed = "resumed after that",
}

/// The count of each kind.
#[derive(Clone, Debug)]
pub struct Done([u64; NAMES.len()]);

impl Default for Done {
    fn default() -> Done {
        Done([0; NAMES.len()])
    }
}

impl Done {
    /// Counts an operation.
    pub fn count(&mut self, what: What) {
        self.0[what as usize] += 1;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Done) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(all, more)| *all += more);
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = NAMES.iter().zip(self.0).filter(|(_, times)| *times > 0);
        let counts: Vec<String> = counts.map(|(name, times)| format!("{times} {name}")).collect();
        f.write_str(&counts.join(", "))
    }
}
