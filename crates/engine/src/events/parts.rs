//! The types of fields of events.

use base::SeqNo;

/// The reason for a flush.
///
/// ```
/// use esker::{Event, FlushReason};
///
/// /// Counts the flushes that memory was short for.
/// fn is_for_memory(event: &Event) -> bool {
///     matches!(event, Event::FlushBegun { reason: FlushReason::WriteBufferManager, .. })
/// }
/// assert_eq!(FlushReason::ManualFlush.name(), "Manual Flush");
/// # assert!(!is_for_memory(&Event::WalCreated { wal: 7 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// Memtables are full.
    WriteBufferFull,
    /// All families' memtables together are too large
    /// ([`db_write_buffer_size`](crate::Options::db_write_buffer_size)).
    WriteBufferManager,
    /// The memtables keep WALs that are too large together.
    WalFull,
    /// A user requested the flush, or the database closes.
    ManualFlush,
    /// The database recovers from a background error.
    ErrorRecovery,
}

impl FlushReason {
    /// RocksDB's text for the reason.
    pub fn name(self) -> &'static str {
        match self {
            FlushReason::WriteBufferFull => "Write Buffer Full",
            FlushReason::WriteBufferManager => "Write Buffer Manager",
            FlushReason::WalFull => "WAL Full",
            FlushReason::ManualFlush => "Manual Flush",
            FlushReason::ErrorRecovery => "Error Recovery",
        }
    }
}

/// A file that was ingested.
///
/// See the example of [`Event`](super::Event).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestedFile {
    /// The path of the ingested file before the ingestion.
    pub external_path: String,
    /// The number of the file in the database.
    pub file: u64,
    /// The level the file was placed in.
    pub level: usize,
    /// The sequence number of all entries of the file; 0: none.
    pub global_seqno: SeqNo,
    /// The size in bytes.
    pub bytes: u64,
    /// The number of entries, range deletions included.
    pub entries: u64,
    /// True if the file was copied and not linked.
    pub copied: bool,
}

/// The treatment of a row that is too large.
///
/// See the example of [`Event`](super::Event).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTooLargeOutcome {
    /// Recovery drops the row, and keeps the whole WAL at this path.
    SetAside {
        /// A path in the directory `lost` in the directory of the WAL. The engine never deletes the file.
        path: String,
    },
    /// A read-only or secondary database does not return the row.
    PassedOver,
    /// The compaction that found it changes nothing, and compactions exclude its file until the database is
    /// reopened.
    FileLeftAlone,
}
