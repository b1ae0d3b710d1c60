//! Rewrites of files without the rows that are newer than a timestamp.

use std::sync::Arc;

use base::{Error, ErrorKind, Result};
use compact::pick_to_trim;

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

impl DbInner {
    /// Drops the rows of `family` newer than `trim_ts` from its tables. No other compaction runs meanwhile;
    /// the caller ensures that no memtable has such rows, and that none are written.
    pub(crate) fn trim_history(&self, family: &Arc<Family>, trim_ts: &[u8]) -> Result<()> {
        let trim_ts: Arc<[u8]> = trim_ts.into();
        self.manually(|state| {
            self.alone(
                state,
                |state| self.check_manual(state),
                |state| {
                    let first_new = self.versions.next_file_number();
                    loop {
                        self.check_manual(state)?;
                        let picked = self.with_pick_context(state, family.id, |context| {
                            pick_to_trim(context, &trim_ts, first_new)
                        });
                        let gone = || Error::new(ErrorKind::ColumnFamilyDropped, family.name.clone());
                        let Some(plan) = picked.ok_or_else(gone)?? else {
                            return Ok(());
                        };
                        self.run_manual_plan(state, family.id, plan, 0)?;
                    }
                },
            )
        })
    }
}
