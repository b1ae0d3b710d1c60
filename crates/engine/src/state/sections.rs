//! The order in which a replay applies rows of WALs: at once, or in *prepared sections*, the rows of
//! transactions in two-phase commit, which a later record commits.
//!
//! A section uses no sequence numbers where it is written. Its rows get the numbers after the marker that
//! commits it, so the number of sequence numbers that a record uses is known only after it has been decoded.

use std::collections::BTreeMap;

use base::{Error, Kind, Result, SeqNo};

use crate::batch::operation::{Operation, Operations};
use crate::batch::write_batch::WriteBatch;

/// The outcome of applying a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applied {
    /// The sequence number after the last row of the record.
    pub next: SeqNo,
    /// True if the record commits a section that was not found, because its WAL was deleted after all its
    /// rows were in tables. Those rows had the numbers from `next` on.
    pub ends_open: bool,
}

/// The prepared sections of a replay without a commit or rollback so far.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    /// True if a section, or a marker that ends one, is an error: sections of older WALs may not have been
    /// read.
    refused: bool,
    by_name: BTreeMap<Vec<u8>, WriteBatch>,
}

impl Sections {
    /// Creates an empty set. If `allowed` is false, WALs with sections are refused.
    pub fn new(allowed: bool) -> Sections {
        Sections {
            refused: !allowed,
            by_name: BTreeMap::new(),
        }
    }

    /// Creates an empty set that refuses sections if this one does.
    pub fn none_yet(&self) -> Sections {
        Sections::new(!self.refused)
    }

    /// True if no section is outstanding.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// True if the section `name` is outstanding.
    pub fn holds(&self, name: &[u8]) -> bool {
        self.by_name.contains_key(name)
    }

    /// Adds a section that was prepared in a WAL which this replay has not read.
    pub fn insert(&mut self, name: &[u8], section: WriteBatch) {
        self.by_name.insert(name.to_vec(), section);
    }

    /// Removes the section `name` and returns it, if it is outstanding.
    pub fn take(&mut self, name: &[u8]) -> Option<WriteBatch> {
        self.by_name.remove(name)
    }

    /// The outstanding sections, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &WriteBatch)> {
        self.by_name.iter().map(|(name, batch)| (&name[..], batch))
    }

    /// Calls `insert(family, seqno, kind, key, value)` for each row that takes effect with this record, in
    /// order and with its sequence number.
    ///
    /// # Errors
    /// `Corruption` if the record is not a batch; `NotSupported` for sections that are refused, or have a
    /// policy other than write-committed.
    pub fn apply(
        &mut self,
        mut operations: Operations<'_>,
        mut insert: impl FnMut(u32, SeqNo, Kind, &[u8], &[u8]),
    ) -> Result<Applied> {
        let mut applied = Applied {
            next: operations.sequence(),
            ends_open: false,
        };
        let mut section: Option<Begun<'_>> = None;
        loop {
            let before = operations.rest();
            let Some(operation) = operations.next() else {
                break;
            };
            let operation = operation?;
            if let Some((family, kind, key, value)) = operation.row() {
                match &mut section {
                    Some(begun) => begun.count += 1,
                    None => {
                        insert(family, applied.next, kind, key, value);
                        applied.next += 1;
                    }
                }
                continue;
            }
            match operation {
                Operation::LogData(_) | Operation::Noop => {}
                Operation::BeginPrepare { persisted: true } => return Err(other_policy("WritePrepared")),
                Operation::BeginUnprepare => return Err(other_policy("WriteUnprepared")),
                Operation::BeginPrepare { persisted: false } if self.refused => return Err(refused()),
                Operation::BeginPrepare { persisted: false } => {
                    let begun = Begun {
                        rest: operations.rest(),
                        count: 0,
                    };
                    if section.replace(begun).is_some() {
                        return Err(Error::corruption("a prepared section within another"));
                    }
                }
                Operation::EndPrepare { xid } => {
                    let begun = section.take().ok_or_else(|| {
                        Error::corruption("the end of a prepared section that did not begin")
                    })?;
                    self.by_name.insert(xid.to_vec(), begun.end_before(before)?);
                }
                _ if section.is_some() => {
                    return Err(Error::corruption("a marker within a prepared section"));
                }
                Operation::Commit { .. } if self.refused => return Err(refused()),
                Operation::Commit { xid } => match self.by_name.remove(xid) {
                    Some(batch) => applied.next = insert_section(&batch, applied.next, &mut insert)?,
                    None => applied.ends_open = true,
                },
                Operation::Rollback { xid } => drop(self.by_name.remove(xid)),
                _ => {
                    return Err(Error::not_supported(
                        "the WAL holds a transaction that was committed with a timestamp",
                    ));
                }
            }
        }
        if section.is_some() {
            return Err(Error::corruption("a prepared section without its end"));
        }
        operations.check_count()?;
        Ok(applied)
    }
}

/// A section whose end has not been read yet.
struct Begun<'a> {
    /// The bytes of the record after the beginning of the section.
    rest: &'a [u8],
    count: u32,
}

impl Begun<'_> {
    /// The rows of the section; `rest` are the bytes of the record after these rows.
    fn end_before(&self, rest: &[u8]) -> Result<WriteBatch> {
        let rows = &self.rest[..self.rest.len() - rest.len()];
        WriteBatch::from_rows(rows, self.count)
    }
}

fn insert_section(
    batch: &WriteBatch,
    first: SeqNo,
    insert: &mut impl FnMut(u32, SeqNo, Kind, &[u8], &[u8]),
) -> Result<SeqNo> {
    let mut next = first;
    for operation in batch.operations() {
        if let Some((family, kind, key, value)) = operation?.row() {
            insert(family, next, kind, key, value);
            next += 1;
        }
    }
    Ok(next)
}

pub(crate) fn refused() -> Error {
    Error::not_supported("WAL contains prepared transactions. Open with TransactionDB::Open().")
}

fn other_policy(policy: &str) -> Error {
    Error::not_supported(format!(
        "{policy} txn tag when write_after_commit_ is enabled (in default WriteCommitted mode). If it is not due to corruption, the WAL must be \
         emptied before changing the WritePolicy."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::operation::{HEADER_LEN, set_sequence};
    use crate::write::two_phase::encode_section;

    fn rows_of(sections: &mut Sections, record: &[u8]) -> (Vec<(SeqNo, Vec<u8>)>, Applied) {
        let mut rows = Vec::new();
        let operations = Operations::new(record).unwrap();
        let applied = sections
            .apply(operations, |_, seqno, _, key, _| rows.push((seqno, key.to_vec())))
            .unwrap();
        (rows, applied)
    }

    fn section(keys: &[&[u8]], name: &[u8], sequence: SeqNo) -> Vec<u8> {
        let mut batch = WriteBatch::new();
        keys.iter().for_each(|key| batch.put(key, b"v"));
        let mut record = encode_section(&batch, name);
        set_sequence(&mut record, sequence);
        record
    }

    /// A record with one row, followed by `marks`.
    fn marked(marks: &[u8], sequence: SeqNo) -> Vec<u8> {
        let mut batch = WriteBatch::new();
        batch.put(b"own", b"v");
        let mut record = batch.data().to_vec();
        record.extend_from_slice(marks);
        set_sequence(&mut record, sequence);
        record
    }

    #[test]
    fn rows_of_a_section_are_numbered_where_it_is_committed() {
        let mut sections = Sections::new(true);
        let (rows, applied) = rows_of(&mut sections, &section(&[b"a", b"b"], b"x", 5));
        assert!(rows.is_empty() && applied.next == 5 && !sections.is_empty());
        let (rows, applied) = rows_of(&mut sections, &marked(b"\x0b\x01x", 9));
        assert_eq!(
            rows,
            [(9, b"own".to_vec()), (10, b"a".to_vec()), (11, b"b".to_vec())]
        );
        assert!(applied.next == 12 && !applied.ends_open && sections.is_empty());
        // The WAL of the committed section was deleted along with its rows.
        let (rows, applied) = rows_of(&mut sections, &marked(b"\x0b\x01x", 20));
        assert_eq!((rows.len(), applied.next, applied.ends_open), (1, 21, true));
    }

    #[test]
    fn a_section_that_was_rolled_back_is_forgotten() {
        let mut sections = Sections::new(true);
        rows_of(&mut sections, &section(&[b"a"], b"x", 5));
        rows_of(&mut sections, &section(&[b"b"], b"y", 5));
        rows_of(&mut sections, &marked(b"\x0c\x01x", 5));
        let left: Vec<&[u8]> = sections.iter().map(|(name, _)| name).collect();
        assert_eq!(left, [b"y"]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let text = |allowed, record: &[u8]| {
            let operations = Operations::new(record).unwrap();
            let applied = Sections::new(allowed).apply(operations, |_, _, _, _, _| {});
            applied.unwrap_err().to_string()
        };
        let with = |marks: &[u8]| marked(marks, 1);
        let good = section(&[b"a"], b"x", 1);
        for refused in [&good, &with(b"\x0b\x01x")] {
            assert!(text(false, refused).contains("Open with TransactionDB::Open()"));
        }
        assert!(text(true, &with(b"\x12")).contains("WritePrepared txn tag"));
        assert!(text(true, &with(b"\x13")).contains("WriteUnprepared txn tag"));
        assert!(text(true, &with(b"\x15\x00\x01x")).contains("timestamp"));
        for damaged in [&b"\x09\x09"[..], b"\x09", b"\x0a\x01x", b"\x09\x0b\x01x"] {
            assert!(
                text(true, &with(damaged)).starts_with("Corruption"),
                "{damaged:?}"
            );
        }
        let cut = &good[..HEADER_LEN + 5];
        assert!(text(true, cut).starts_with("Corruption"));
    }
}
