//! The user's filter of the records of WALs that recovery reads.

use std::collections::BTreeMap;

use base::Result;

use crate::batch::write_batch::WriteBatch;

/// The decision of a filter about a record of a WAL.
///
/// See the example of [`WalFilter`].
#[derive(Debug)]
pub enum WalProcessingOption {
    /// Apply the record.
    ContinueProcessing,
    /// Apply this batch instead, which must not have more rows.
    ChangeBatch(WriteBatch),
    /// Skip the record, and continue with the next one.
    IgnoreCurrentRecord,
    /// Skip the record and all later ones, in this WAL and in later WALs, which are then deleted.
    StopReplay,
    /// Treat the record as corrupt: the consequence depends on
    /// [`wal_recovery_mode`](crate::Options::wal_recovery_mode).
    CorruptedRecord,
}

/// Sees each record of the WALs that a recovery reads, and decides its use. Set by
/// [`Options::wal_filter`](crate::Options::wal_filter).
///
/// Called by the thread that opens the database, also for reading only, in the order in which the rows were
/// written; the database cannot be used meanwhile. Secondaries that catch up, and repairs, do not call it. A
/// panic in it is an error of the open, and then nothing has changed.
///
/// ```
/// use esker::{Db, Options, Result, WalFilter, WalProcessingOption, WriteBatch};
///
/// /// Passes over records with a single row.
/// struct Filter;
///
/// impl WalFilter for Filter {
///     fn name(&self) -> &str {
///         "example.Filter"
///     }
///
///     fn log_record_found(&self, _wal: u64, _file: &str, batch: &WriteBatch) -> Result<WalProcessingOption> {
///         Ok(match batch.count() {
///             1 => WalProcessingOption::IgnoreCurrentRecord,
///             _ => WalProcessingOption::ContinueProcessing,
///         })
///     }
/// }
///
/// # let dir = tempfile::tempdir()?;
/// let mut options = Options { create_if_missing: true, ..Default::default() };
/// let db = Db::open(&options, dir.path())?;
/// db.put(b"a", b"1")?;
/// db.close()?;
/// options.wal_filter = Some(std::sync::Arc::new(Filter));
/// assert!(Db::open(&options, dir.path())?.get(b"a")?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait WalFilter: Send + Sync {
    /// The name of the filter, for errors and LOG.
    fn name(&self) -> &str;

    /// Called once, before any record is read. `log_numbers` has, by the id of a family, the number of the
    /// oldest WAL that it needs; rows of older WALs are in its tables. `ids` has the ids of families by their
    /// names.
    fn column_family_log_number_map(&self, _log_numbers: &BTreeMap<u32, u64>, _ids: &BTreeMap<String, u32>) {}

    /// Called once for each record. `batch` has the rows that were written together, possibly by several
    /// callers. Records that Esker writes for internal use are not shown.
    ///
    /// # Errors
    /// An error becomes the error of the open.
    fn log_record_found(
        &self,
        log_number: u64,
        log_file_name: &str,
        batch: &WriteBatch,
    ) -> Result<WalProcessingOption>;
}
