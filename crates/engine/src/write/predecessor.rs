//! How far the WAL before this one went: the first record of every WAL we write.
//!
//! What of a WAL was not synced may be lost with the power, and a loss that ends where a record ends leaves no trace in the
//! file. Rows of the next WAL may have reached the disk all the same; replayed, they would stand behind a hole. Sequence
//! numbers alone do not show it, since rows written without WAL leave gaps between them that are none.
//!
//! The record is a batch without rows: log data, which every RocksDB passes over. (The record type RocksDB 9.11 has for the
//! purpose is damage to those before.)

use base::coding;
use base::{Result, SeqNo};

use super::batch::{self, Operation, Operations, WriteBatch};

/// What the log data begins with.
const NAME: &[u8] = b"esker.predecessor-wal ";

/// The WAL before, as whoever began the next one knew it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predecessor {
    /// Its number. 0: there is none that is still needed.
    pub number: u64,
    /// The sequence number behind its last record.
    pub next_seqno: SeqNo,
    /// It is deleted only when the MANIFEST says that no recovery needs it, so that its absence is a loss. Records without a word on it
    /// are of releases that deleted a WAL sooner, where no family had rows in it.
    pub kept: bool,
}

/// The byte behind the numbers where [`Predecessor::kept`] is true.
const KEPT: u8 = 1;

/// The number of the WAL before the one that begins with `record`, if it says so and that one must be there as long as the MANIFEST needs it.
/// `Corruption` for a record that does not decode.
pub fn wal_before(record: &[u8]) -> Result<Option<u64>> {
    let named = Predecessor::decode(Operations::new(record)?)?;
    Ok(named
        .filter(|named| named.kept && named.number > 0)
        .map(|named| named.number))
}

impl Predecessor {
    /// None that is needed.
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
        batch::set_sequence(record.data_mut(), sequence);
        record
    }

    /// True of the record that begins a WAL, whether it names one before or not: rows of users have none such.
    pub fn is_record(mut operations: Operations<'_>) -> Result<bool> {
        let first = operations.next().transpose()?;
        Ok(operations.promised() == 0
            && matches!(first, Some(Operation::LogData(text)) if text.starts_with(NAME)))
    }

    /// What a batch says of the WAL before, if it is such a record.
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
