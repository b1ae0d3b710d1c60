//! An open that drops the newest part of the history of families with timestamps.

use std::path::Path;

use base::{Error, Result};

use crate::options::Options;
use crate::state::handle::Db;

impl Db {
    /// Opens the database in `path` as [`open`](Db::open) does, and drops every row and range deletion newer
    /// than `trim_ts` from the families with timestamps, as if it had never been written: RocksDB's
    /// `OpenAndTrimHistory`. Families without timestamps stay as they are, and an empty `trim_ts` drops
    /// nothing. Only tables that may hold such rows are rewritten, each in its level. After a crash during
    /// the call only a part of the tables may have lost these rows: the call must be repeated.
    ///
    /// Archived WALs, backups and checkpoints keep the rows.
    ///
    /// # Errors
    /// Those of [`open`](Db::open). `InvalidArgument` if `trim_ts` has another length than the timestamps of
    /// a family, or with [`avoid_flush_during_recovery`](Options::avoid_flush_during_recovery), with which
    /// rows would stay in memory. `NotSupported` if a family's tables have no timestamps
    /// ([`persist_user_defined_timestamps`](crate::ColumnFamilyOptions::persist_user_defined_timestamps)).
    pub fn open_and_trim_history(options: &Options, path: impl AsRef<Path>, trim_ts: &[u8]) -> Result<Db> {
        if options.avoid_flush_during_recovery {
            return Err(Error::invalid_argument(
                "avoid_flush_during_recovery incompatible with OpenAndTrimHistory",
            ));
        }
        let db = Db::open(options, path)?;
        if trim_ts.is_empty() {
            return Ok(db);
        }
        let families: Vec<_> = db.inner().index.load().by_id.values().cloned().collect();
        let stamped = families
            .into_iter()
            .map(|family| (family.cmp.user().timestamp_size(), family))
            .filter(|(size, _)| *size > 0);
        let stamped: Vec<_> = stamped.collect();
        // All families are checked first: if one of them refuses the timestamp, no row of any family is
        // dropped.
        for (size, family) in &stamped {
            if *size != trim_ts.len() {
                return Err(Error::invalid_argument(format!(
                    "trim_ts has {} bytes, the timestamps of column family {} have {size}",
                    trim_ts.len(),
                    family.name
                )));
            }
            if family.cuts_timestamps() {
                return Err(Error::not_supported(format!(
                    "history of column family {} cannot be trimmed: its tables have no timestamps (persist_user_defined_timestamps=false)",
                    family.name
                )));
            }
        }
        for (_, family) in &stamped {
            db.inner().trim_history(family, trim_ts)?;
        }
        Ok(db)
    }
}
