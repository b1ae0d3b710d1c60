//! Rows of WALs that exceed the row limit: RocksDB writes such rows, and earlier releases of this engine did.
//!
//! No table can hold such a row, so a memtable with one could never be flushed. Recovery skips it, keeps
//! every other row, and gives the WAL a second name in the directory `lost`, which stays when the WAL itself
//! is deleted. That directory belongs to the operator of the database: the engine never deletes files from
//! it.

use std::collections::BTreeSet;

use base::{Error, Kind, Result, RowLimit, SeqNo, filename};

use crate::batch::operation::Operations;
use crate::events::{Event, RowTooLargeOutcome, shown_key};
use crate::files::lost::{LOST, keep_in};
use crate::state::db_inner::DbInner;

/// The length in bytes of rows that no WAL of RocksDB contains, since lengths have 32 bits there. Earlier
/// releases of this engine wrote such rows and failed before they acknowledged them.
const NEVER_ACKNOWLEDGED: u64 = 1 << 32;

/// A row that is too large, or is in one batch with a row that was never acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct LargeRow {
    pub wal: u64,
    pub family: u32,
    /// The user key, or its beginning.
    pub key: Vec<u8>,
    pub seqno: SeqNo,
    pub error: Error,
}

/// Collects those rows of WALs that exceed the limit of a row's size.
#[derive(Debug)]
pub(crate) struct LargeRows {
    limit: RowLimit,
    /// True if the current batch was never acknowledged.
    whole_batch: bool,
    /// The number of the current WAL.
    wal: u64,
    pub rows: Vec<LargeRow>,
}

impl LargeRows {
    pub fn new(limit: RowLimit) -> LargeRows {
        LargeRows {
            limit,
            whole_batch: false,
            wal: 0,
            rows: Vec::new(),
        }
    }

    /// Begins a batch of `record_len` bytes in WAL `wal`: the next rows belong to it. False if the batch was
    /// never acknowledged, so that another batch may have its sequence numbers.
    pub fn begin_batch(&mut self, wal: u64, operations: &Operations<'_>, record_len: usize) -> bool {
        self.wal = wal;
        self.whole_batch =
            record_len as u64 >= NEVER_ACKNOWLEDGED && has_row_of(operations.clone(), NEVER_ACKNOWLEDGED);
        !self.whole_batch
    }

    /// True if the row must be skipped. A skipped row is added to [`rows`](LargeRows::rows).
    #[inline]
    pub fn takes(&mut self, family: u32, seqno: SeqNo, kind: Kind, key: &[u8], value: &[u8]) -> bool {
        let is_allowed = match kind {
            Kind::RangeDeletion => self.limit.allows(key.len().max(value.len()), 0),
            _ => self.limit.allows(key.len(), value.len()),
        };
        if is_allowed && !self.whole_batch {
            return false;
        }
        self.take(family, seqno, kind, key, value);
        true
    }

    #[cold]
    fn take(&mut self, family: u32, seqno: SeqNo, kind: Kind, key: &[u8], value: &[u8]) {
        let checked = match kind {
            Kind::RangeDeletion => self
                .limit
                .check_key(key)
                .and_then(|()| self.limit.check_key(value)),
            _ => self.limit.check(key, value),
        };
        let error = checked.err().unwrap_or_else(|| {
            Error::invalid_argument("another row of its batch is too large: the batch was never acknowledged")
        });
        self.rows.push(LargeRow {
            wal: self.wal,
            family,
            key: shown_key(key),
            seqno,
            error,
        });
    }
}

/// True if a key or value has `len` bytes or more.
fn has_row_of(operations: Operations<'_>, len: u64) -> bool {
    let mut rows = operations
        .map_while(Result::ok)
        .filter_map(|operation| operation.row());
    rows.any(|(_, _, key, value)| key.len().max(value.len()) as u64 >= len)
}

impl DbInner {
    /// Creates a second name in `lost` for every WAL with some of `rows`, and reports the rows. Called before
    /// the MANIFEST records that the WALs are no longer needed.
    pub(crate) fn set_aside(&self, rows: &[LargeRow]) -> Result<()> {
        let fs = &*self.options.fs;
        let lost = self.wal_dir.join(LOST);
        let wals: BTreeSet<u64> = rows.iter().map(|row| row.wal).collect();
        if wals.is_empty() {
            return Ok(());
        }
        fs.create_dir_all(&lost)?;
        for &wal in &wals {
            let path = filename::wal(&self.wal_dir, wal);
            // A process that crashed may not have synced the WAL.
            fs.sync_file(&path)?;
            keep_in(fs, &path, &lost)?;
        }
        fs.sync_dir(&lost)?;
        fs.sync_dir(&self.wal_dir)?;
        self.report_large_rows(rows, |wal| RowTooLargeOutcome::SetAside {
            path: filename::wal(&lost, wal).display().to_string(),
        });
        Ok(())
    }

    /// Reports rows of WALs that are skipped.
    pub(crate) fn report_large_rows(&self, rows: &[LargeRow], outcome: impl Fn(u64) -> RowTooLargeOutcome) {
        for row in rows {
            let family = self.family_by_id(row.family);
            self.notify(&Event::RowTooLarge {
                family: family.map_or_else(|| row.family.to_string(), |family| family.name.clone()),
                path: filename::wal(&self.wal_dir, row.wal).display().to_string(),
                key: row.key.clone(),
                seqno: row.seqno,
                error: row.error.clone(),
                outcome: outcome(row.wal),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::write_batch::WriteBatch;

    #[test]
    fn a_batch_with_a_row_that_was_never_acknowledged_is_taken_whole() {
        let mut batch = WriteBatch::new();
        batch.put(b"small", b"1");
        batch.put(b"large", &[0; 100]);
        assert!(has_row_of(batch.operations(), 100));
        assert!(!has_row_of(batch.operations(), 101));
        let mut large = LargeRows::new(RowLimit::MAX);
        assert!(large.begin_batch(7, &batch.operations(), batch.data_size()));
        assert!(!large.takes(0, 1, Kind::Value, b"small", b"1"));
        large.whole_batch = true;
        assert!(large.takes(0, 1, Kind::Value, b"small", b"1"));
        let row = &large.rows[0];
        assert_eq!((row.wal, row.seqno, &row.key[..]), (7, 1, &b"small"[..]));
        assert!(row.error.message().contains("never acknowledged"));
    }

    #[test]
    fn both_ends_of_a_range_are_keys() {
        let mut large = LargeRows::new(RowLimit::at_most(20));
        assert!(!large.takes(0, 1, Kind::Value, &[0; 12], &[0; 20]));
        assert!(!large.takes(0, 1, Kind::RangeDeletion, &[0; 12], &[1; 12]));
        assert!(large.takes(0, 1, Kind::RangeDeletion, &[0; 12], &[1; 13]));
        assert!(large.takes(0, 1, Kind::RangeDeletion, &[0; 13], &[1; 12]));
        assert!(large.takes(0, 1, Kind::Value, &[0; 13], &[]));
        assert!(large.takes(0, 1, Kind::Value, &[], &[0; 21]));
        let kinds: Vec<&str> = large.rows.iter().map(|row| &row.error.message()[..3]).collect();
        assert_eq!(kinds, ["key", "key", "key", "val"]);
    }
}
