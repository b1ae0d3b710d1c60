//! A user's filter that sees each record of a WAL before recovery applies it: RocksDB's `WalFilter`.

use std::collections::BTreeMap;
use std::path::Path;

use base::user_code::{call, catch_or_fail};
use base::{Error, Result, SeqNo};

use crate::batch::operation::{Operation, Operations, set_sequence};
use crate::batch::write_batch::WriteBatch;
use crate::options::wal_filter::WalProcessingOption;
use crate::state::db_inner::DbInner;
use crate::state::sections::Applied;
use crate::write::predecessor::Predecessor;

/// The decision of a replay about a record that a filter has seen.
pub(crate) enum Filtered {
    /// Apply the record.
    AsItIs,
    /// Apply this batch instead of the record.
    Changed(WriteBatch),
    /// Stop the replay before the record.
    Stop,
    /// Report the record as corrupt, for this reason.
    Corrupted(String),
}

impl DbInner {
    /// Passes the families to the filter, if there is one.
    pub(crate) fn notify_wal_filter_of_families(&self) -> Result<()> {
        let Some(filter) = &self.options.wal_filter else {
            return Ok(());
        };
        let (mut log_numbers, mut ids) = (BTreeMap::new(), BTreeMap::new());
        for own in self.state.lock().families.values() {
            log_numbers.insert(own.family.id, own.log_number);
            ids.insert(own.family.name.clone(), own.family.id);
        }
        catch_or_fail(|| {
            call(
                "WAL filter",
                || filter.name(),
                || {
                    filter.column_family_log_number_map(&log_numbers, &ids);
                    Ok(())
                },
            )
        })
    }

    /// Returns the decision of the filter, if there is one, about `record` of WAL `number` in `path`.
    pub(crate) fn filter_record(&self, number: u64, path: &Path, record: &[u8]) -> Result<Filtered> {
        let Some(filter) = &self.options.wal_filter else {
            return Ok(Filtered::AsItIs);
        };
        let operations = Operations::new(record)?;
        let (sequence, count) = (operations.sequence(), operations.promised());
        // A record that does not decode is not passed to the filter: the replay reports it.
        if Predecessor::is_record(operations).unwrap_or(true) {
            return Ok(Filtered::AsItIs);
        }
        let Ok(batch) = WriteBatch::from_data(record) else {
            return Ok(Filtered::AsItIs);
        };
        let file = path.to_string_lossy();
        let decided = catch_or_fail(|| {
            call(
                "WAL filter",
                || filter.name(),
                || filter.log_record_found(number, &file, &batch),
            )
        })?;
        let mut changed = match decided {
            WalProcessingOption::ContinueProcessing => return Ok(Filtered::AsItIs),
            WalProcessingOption::ChangeBatch(batch) => batch,
            WalProcessingOption::IgnoreCurrentRecord => WriteBatch::new(),
            WalProcessingOption::StopReplay => return Ok(Filtered::Stop),
            WalProcessingOption::CorruptedRecord => {
                return Ok(Filtered::Corrupted(format!(
                    "Corruption reported by Wal Filter : {}",
                    filter.name()
                )));
            }
        };
        if changed.count() > count {
            return Err(Error::not_supported(format!(
                "More than original # of records returned by Wal Filter : {}",
                filter.name()
            )));
        }
        changed.status()?;
        set_sequence(changed.data_mut(), sequence);
        Ok(Filtered::Changed(changed))
    }
}

/// The outcome of a record that was replaced by a filter's batch: the rows of the original record use up
/// their sequence numbers nevertheless. If the original has a marker, the number of rows that it would have
/// committed is unknown.
pub(crate) fn applied_in_place_of(record: &[u8], applied: Applied) -> Result<Applied> {
    let operations = Operations::new(record)?;
    let behind: SeqNo = operations.sequence() + u64::from(operations.promised());
    for operation in operations {
        let operation = operation?;
        let is_mark =
            operation.row().is_none() && !matches!(operation, Operation::LogData(_) | Operation::Noop);
        if is_mark {
            return Ok(Applied {
                ends_open: true,
                ..applied
            });
        }
    }
    Ok(Applied {
        next: applied.next.max(behind),
        ..applied
    })
}
