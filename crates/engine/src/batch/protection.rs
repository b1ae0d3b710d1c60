//! Checksums of a batch's operations, from the call that adds an operation until it is in the WAL and in
//! memtables.
//!
//! Each operation that becomes a row has a checksum of its own, which the memtable gets with the row. All
//! other operations, which are written to the WAL only, share one checksum.

use base::protection::mismatch;
use base::{Error, Kind, Protection, Result, SeqNo};

use crate::batch::operation::{Operation, Operations, tag};

/// The checksums of a batch's operations, or of a single operation.
#[derive(Clone, Debug)]
pub(crate) struct BatchProtection {
    /// One checksum per row, in order, of kind, key, value and family.
    rows: Vec<Protection>,
    /// The checksum of all operations without a row, each hashed with its number among these operations.
    rest: Protection,
    others: u64,
}

/// A state of a [`BatchProtection`], which is only appended to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtectionMark {
    rows: usize,
    rest: Protection,
    others: u64,
}

impl Default for BatchProtection {
    fn default() -> BatchProtection {
        BatchProtection {
            rows: Vec::new(),
            rest: Protection::of_entry(&[], &[]),
            others: 0,
        }
    }
}

/// The size of a checksum in bytes.
pub(crate) const WIDTH: usize = 8;

/// `InvalidArgument` unless batches can have checksums of `bytes` bytes.
pub(crate) fn check_width(bytes: usize) -> Result<()> {
    if bytes == 0 || bytes == WIDTH {
        return Ok(());
    }
    Err(Error::invalid_argument(
        "`WriteOptions::protection_bytes_per_key` must be zero or eight",
    ))
}

/// `Corruption` unless `data`, the wire format of one operation with this sequence number, matches the
/// checksum `expected`.
pub(crate) fn verify_single(expected: Protection, data: &[u8], sequence: SeqNo) -> Result<()> {
    let mut operations = Operations::new(data)?;
    let operation = operations.next().transpose()?;
    let row = operation.as_ref().and_then(Operation::row_protection);
    let is_all = operations.next().is_none();
    if row == Some(expected) && is_all && operations.sequence() == sequence {
        return operations.check_count();
    }
    let (_, kind, key, _) = operation
        .as_ref()
        .and_then(Operation::row)
        .unwrap_or((0, Kind::Value, &[], &[]));
    Err(mismatch("a write", key, sequence, kind as u8))
}

impl Operation<'_> {
    /// The checksum of the operation's row with its family, if it has a row.
    fn row_protection(&self) -> Option<Protection> {
        let (family, kind, key, value) = self.row()?;
        Some(Protection::of_row(kind as u8, key, value).toggle_family(family))
    }

    /// The checksum of the parts of the operation that are not in its row.
    fn rest_protection(&self) -> Option<Protection> {
        let (tag, first, second): (u8, &[u8], &[u8]) = match *self {
            // The row of a timed put is a plain value; its time is in the WAL only.
            Operation::TimedPut { ref write_time, .. } => {
                let time = write_time.to_le_bytes();
                return Some(Protection::of_row(tag::TIMED_PUT.0, &[], &time));
            }
            _ if self.is_counted() => return None,
            Operation::LogData(blob) => (tag::LOG_DATA, &[], blob),
            Operation::BeginPrepare { persisted: false } => (tag::BEGIN_PREPARE, &[], &[]),
            Operation::BeginPrepare { persisted: true } => (tag::BEGIN_PERSISTED_PREPARE, &[], &[]),
            Operation::BeginUnprepare => (tag::BEGIN_UNPREPARE, &[], &[]),
            Operation::EndPrepare { xid } => (tag::END_PREPARE, &[], xid),
            Operation::Commit { xid } => (tag::COMMIT, &[], xid),
            Operation::CommitWithTimestamp { timestamp, xid } => (tag::COMMIT_WITH_TIMESTAMP, timestamp, xid),
            Operation::Rollback { xid } => (tag::ROLLBACK, &[], xid),
            _ => (tag::NOOP, &[], &[]),
        };
        Some(Protection::of_row(tag, first, second))
    }
}

impl BatchProtection {
    /// Adds the checksums of the next operation.
    pub fn push(&mut self, operation: &Operation<'_>) {
        self.rows.extend(operation.row_protection());
        self.push_rest(operation);
    }

    /// Adds the checksums of the operations in `other`. Those of its rows are taken from `protection`, or
    /// computed if that is `None`.
    pub fn append(&mut self, other: Operations<'_>, protection: Option<&BatchProtection>) {
        for operation in other.map_while(Result::ok) {
            match protection {
                Some(_) => self.push_rest(&operation),
                None => self.push(&operation),
            }
        }
        self.rows
            .extend(protection.iter().flat_map(|protection| &protection.rows));
    }

    fn push_rest(&mut self, operation: &Operation<'_>) {
        if let Some(rest) = operation.rest_protection() {
            self.rest = self.rest.combine(rest.toggle_seqno(self.others));
            self.others += 1;
        }
    }

    /// The checksums of the rows, in order.
    pub fn rows(&self) -> &[Protection] {
        &self.rows
    }

    /// Removes all checksums and keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        *self = BatchProtection {
            rows: std::mem::take(&mut self.rows),
            ..BatchProtection::default()
        };
    }

    /// The current state, for a later rollback.
    pub fn mark(&self) -> ProtectionMark {
        ProtectionMark {
            rows: self.rows.len(),
            rest: self.rest,
            others: self.others,
        }
    }

    /// Removes the checksums added since `mark`.
    pub fn rollback(&mut self, mark: ProtectionMark) {
        self.rows.truncate(mark.rows);
        (self.rest, self.others) = (mark.rest, mark.others);
    }

    /// `Corruption` that names the operation unless `data`, the wire format, matches the checksums. If
    /// `sequence` is given, the batch must have that sequence number.
    pub fn verify(&self, data: &[u8], sequence: Option<SeqNo>) -> Result<()> {
        let mut operations = Operations::new(data)?;
        if let Some(sequence) = sequence.filter(|sequence| *sequence != operations.sequence()) {
            return Err(Error::corruption(format!(
                "WriteBatch has sequence number {}, {sequence} expected",
                operations.sequence()
            )));
        }
        let first = operations.sequence();
        let mut found = BatchProtection::default();
        let mut count = 0;
        for operation in operations.by_ref() {
            let operation = operation?;
            if let Some((_, kind, key, _)) = operation.row() {
                if self.rows.get(count).copied() != operation.row_protection() {
                    let place = format!("operation {count} of a write batch");
                    return Err(mismatch(&place, key, first + count as u64, kind as u8));
                }
                count += 1;
            }
            found.push_rest(&operation);
        }
        operations.check_count()?;
        if count != self.rows.len() || found.others != self.others || found.rest != self.rest {
            return Err(Error::corruption(format!(
                "per key-value checksum verification failed: of the {} rows of a write batch there are {count}, or other bytes between them",
                self.rows.len()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::operation::{SingleKind, SingleOperation, set_sequence};
    use crate::batch::write_batch::WriteBatch;
    use crate::batch::write_batch::encode_single;

    #[test]
    fn a_bit_turned_anywhere_in_a_single_operation_is_noticed() {
        for family in [0, 7, 300] {
            for what in [
                SingleKind::Put(b"a value"),
                SingleKind::Put(b""),
                SingleKind::Delete,
                SingleKind::SingleDelete,
                SingleKind::Merge(b"operand"),
                SingleKind::DeleteRange(b"z"),
            ] {
                let single = SingleOperation {
                    family,
                    key: b"some key",
                    what,
                };
                let mut rep = Vec::new();
                encode_single(&mut rep, &single);
                set_sequence(&mut rep, 99);
                verify_single(single.protection(), &rep, 99).unwrap();
                for bit in 0..rep.len() * 8 {
                    let mut damaged = rep.clone();
                    damaged[bit / 8] ^= 1 << (bit % 8);
                    let error = verify_single(single.protection(), &damaged, 99).unwrap_err();
                    assert!(error.is_corruption(), "bit {bit}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_batch_out_of_a_wal_gets_the_same_checksums_as_one_made_with_them() {
        // Every tag of the wire format.
        let mut data = vec![0; 12];
        data[8] = 9;
        let rows: [(u8, bool); 9] = [
            (tag::DELETE.0, false),
            (tag::PUT.0, true),
            (tag::MERGE.0, true),
            (tag::SINGLE_DELETE.0, false),
            (tag::DELETE_RANGE.0, true),
            (tag::BLOB_INDEX.0, true),
            (tag::ENTITY.0, true),
            (tag::TIMED_PUT.0, true),
            (tag::PUT.0, true),
        ];
        for (at, (row, with_value)) in rows.into_iter().enumerate() {
            data.push(row);
            data.extend([1, b'a' + at as u8]);
            if with_value {
                data.push(9);
                data.extend(b"pqrstuvwx");
            }
        }
        data.extend([tag::LOG_DATA, 3, 1, 2, 3, tag::NOOP]);
        let mut batch = WriteBatch::from_data(&data).unwrap();
        batch.verify_checksum().unwrap();
        batch.protect().unwrap();
        batch.verify_checksum().unwrap();
        let protection = batch.protection().expect("it was made");
        assert_eq!(protection.rows().len(), 9);
        for bit in 8 * 8..data.len() * 8 {
            let mut damaged = data.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = protection.verify(&damaged, None).unwrap_err();
            assert!(error.is_corruption(), "bit {bit}: {error}");
        }
        assert!(protection.verify(&data, Some(5)).unwrap_err().is_corruption());
    }
}
