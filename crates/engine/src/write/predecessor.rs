//! The first record of every WAL we write: the length of the previous WAL, as a sequence number.
//!
//! Records of a WAL that were not synced may be lost in a power failure, and a loss that ends at a record
//! boundary leaves no trace in the file. Rows of the next WAL may have reached the disk nevertheless;
//! replayed, they would follow missing rows. Sequence numbers alone do not reveal that, because rows written
//! without WAL leave harmless gaps.
//!
//! The record is a batch without rows: log data, which every RocksDB skips. (Earlier RocksDB releases report
//! the record type that 9.11 introduced for the purpose as corruption.)

use base::coding;
use base::{Result, SeqNo};

use crate::batch::operation::set_sequence;
use crate::batch::operation::{Operation, Operations};
use crate::batch::write_batch::WriteBatch;

/// The prefix of the log data.
const NAME: &[u8] = b"esker.predecessor-wal ";

/// The previous WAL, as known when the next one was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predecessor {
    /// The number of the previous WAL; 0: none is needed.
    pub number: u64,
    /// The sequence number after the last record of the previous WAL.
    pub next_seqno: SeqNo,
    /// True if the previous WAL is deleted only when the MANIFEST says that no recovery needs it, so that its
    /// absence is a loss. Records without this flag are from releases that deleted a WAL earlier, as soon as
    /// no family had rows in it.
    pub kept: bool,
}

/// The byte after the numbers if [`Predecessor::kept`] is true.
const KEPT: u8 = 1;

/// The number of the WAL before the one that begins with `record`, if `record` names one that must exist as
/// long as the MANIFEST needs it. `Corruption` for a record that does not decode.
pub fn wal_before(record: &[u8]) -> Result<Option<u64>> {
    let named = Predecessor::decode(Operations::new(record)?)?;
    Ok(named
        .filter(|named| named.kept && named.number > 0)
        .map(|named| named.number))
}

impl Predecessor {
    /// No previous WAL is needed.
    pub const NONE: Predecessor = Predecessor {
        number: 0,
        next_seqno: 0,
        kept: true,
    };

    /// The record, in a WAL whose first row will have sequence number `sequence`.
    pub fn encode(&self, sequence: SeqNo) -> WriteBatch {
        let mut text = NAME.to_vec();
        coding::put_u64(&mut text, self.number);
        coding::put_u64(&mut text, self.next_seqno);
        text.extend(self.kept.then_some(KEPT));
        let mut record = WriteBatch::new();
        record.put_log_data(&text);
        set_sequence(record.data_mut(), sequence);
        record
    }

    /// True for the record that begins a WAL, whether or not it names a previous one. Writes of users contain
    /// no such record.
    pub fn is_record(mut operations: Operations<'_>) -> Result<bool> {
        let first = operations.next().transpose()?;
        Ok(operations.promised() == 0
            && matches!(first, Some(Operation::LogData(text)) if text.starts_with(NAME)))
    }

    /// The previous WAL that a batch names, if the batch is such a record.
    pub fn decode(mut operations: Operations<'_>) -> Result<Option<Predecessor>> {
        if operations.promised() != 0 {
            return Ok(None);
        }
        let Some(Operation::LogData(text)) = operations.next().transpose()? else {
            return Ok(None);
        };
        let Some(numbers) = text.strip_prefix(NAME) else {
            return Ok(None);
        };
        let kept = match numbers.get(16..) {
            Some([]) => false,
            Some([KEPT]) => true,
            _ => return Ok(None),
        };
        let (number, next_seqno) = (coding::u64_at(numbers, 0), coding::u64_at(numbers, 8));
        Ok((number != 0).then_some(Predecessor {
            number,
            next_seqno,
            kept,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_round_and_other_batches_are_none() {
        let decode =
            |batch: &WriteBatch| Predecessor::decode(Operations::new(batch.data()).unwrap()).unwrap();
        for kept in [false, true] {
            let predecessor = Predecessor {
                number: 7,
                next_seqno: 1 << 40,
                kept,
            };
            let record = predecessor.encode(99);
            assert_eq!(decode(&record), Some(predecessor));
            assert_eq!((record.operations().sequence(), record.count()), (99, 0));
        }
        assert_eq!(decode(&Predecessor::NONE.encode(1)), None);
        let mut other = WriteBatch::new();
        other.put_log_data(b"esker.predecessor-wal short");
        assert_eq!(decode(&other), None);
        other.put(b"key", b"value");
        assert_eq!(decode(&other), None);
    }
}
