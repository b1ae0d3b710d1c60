//! Rows that our tables cannot hold, found by a compaction: RocksDB's limit is higher.
//!
//! The compaction ends without effect, and from then on compactions exclude the file that holds the row.
//! Writes do not stall because of files that are excluded. A user may delete the row and compact its range,
//! which drops it.

use base::{Error, SeqNo};
use compact::Plan;

use crate::events::{Event, RowTooLargeOutcome, shown_key};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::FamilyState;

/// The first row that a compaction could not write.
#[derive(Clone, Debug)]
pub(crate) struct RefusedRow {
    /// The number of the file that holds the row, if that is known.
    pub file: Option<u64>,
    /// The user key, or a prefix of it.
    pub key: Vec<u8>,
    pub seqno: SeqNo,
}

impl RefusedRow {
    pub fn new(user_key: &[u8], seqno: SeqNo) -> RefusedRow {
        RefusedRow {
            file: None,
            key: shown_key(user_key),
            seqno,
        }
    }

    /// Excludes the file with the row from compactions of the family with the state `own`. If that file is
    /// unknown, excludes all files of `plan`.
    pub fn leave_files_alone(&self, own: &mut FamilyState, plan: &Plan) {
        let is_meant = |number: u64| self.file.is_none_or(|file| file == number);
        for (_, file) in plan.files().filter(|(_, file)| is_meant(file.number)) {
            file.leave_alone();
            own.left_alone.insert(file.number);
        }
    }

    /// The event of this row, which `plan` could not write.
    pub fn event(&self, family: &Family, plan: &Plan, error: &Error) -> Event {
        let of_row = plan.files().find(|(_, file)| Some(file.number) == self.file);
        let path = of_row
            .or_else(|| plan.files().next())
            .map(|(_, file)| family.paths.table(file));
        Event::RowTooLarge {
            family: family.name.clone(),
            path: path.unwrap_or_default().display().to_string(),
            key: self.key.clone(),
            seqno: self.seqno,
            error: Error::invalid_argument(error.message()),
            outcome: RowTooLargeOutcome::FileLeftAlone,
        }
    }
}

impl DbInner {
    /// Notifies listeners of rows for which a compaction filter returned values that no row can hold.
    pub(crate) fn report_refused_values(&self, family: &Family, job: u64, refused: &[(Vec<u8>, Error)]) {
        for (user_key, error) in refused {
            self.notify(&Event::FilterValueTooLarge {
                family: family.name.clone(),
                job,
                key: shown_key(user_key),
                error: error.clone(),
            });
        }
    }
}
