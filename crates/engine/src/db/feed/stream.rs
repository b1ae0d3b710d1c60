//! Batches from WALs, in the order they were written in and each with what takes effect with it: a two-phase
//! transaction comes whole at its commit, and not at all if it is rolled back.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, ErrorKind, Result, SeqNo};
use wal::Reader;

use crate::batch::operation::{Operation, Operations, set_sequence};
use crate::batch::write_batch::WriteBatch;
use crate::db::feed::wals::Wals;
use crate::state::sections::Sections;
use crate::write::predecessor::Predecessor;

/// A batch that took effect.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// The sequence number of the first row of the batch.
    pub sequence: SeqNo,
    pub batch: WriteBatch,
}

impl Update {
    /// The sequence number after the last row of the batch.
    pub fn next_sequence(&self) -> SeqNo {
        self.sequence + u64::from(self.batch.count())
    }

    /// True if it was written before the row of number `wanted`.
    pub fn is_before(&self, wanted: SeqNo) -> bool {
        self.sequence < wanted && self.next_sequence() <= wanted
    }
}

/// Reads on from WAL to WAL, and at the end waits for more.
pub(crate) struct UpdateStream {
    wals: Arc<Wals>,
    /// The first WAL that may be read, to begin with.
    first: Option<u64>,
    /// The WAL that is read, and where it was read to.
    reader: Option<(u64, Reader)>,
    /// Sections that were prepared in what was read, and are outstanding.
    sections: Sections,
    /// The WAL in which each outstanding section was prepared.
    section_wals: BTreeMap<Vec<u8>, u64>,
    /// Why a WAL behind which there are others ended, if that is damage: the rows behind it are missing,
    /// unless the next WAL goes on where it ended.
    damage: Option<Error>,
    record: Vec<u8>,
}

impl UpdateStream {
    /// Reads from WAL `first` on, or from the oldest.
    pub fn new(wals: Arc<Wals>, first: Option<u64>) -> UpdateStream {
        UpdateStream {
            wals,
            first,
            reader: None,
            sections: Sections::new(true),
            section_wals: BTreeMap::new(),
            damage: None,
            record: Vec::new(),
        }
    }

    /// The damage that ended a WAL since the last call, if any did.
    pub fn take_damage(&mut self) -> Option<Error> {
        self.damage.take()
    }

    /// The oldest WAL that a reader needs which goes on from here: the one that is read, or that of a section
    /// that is outstanding.
    pub fn oldest_needed(&self) -> Option<u64> {
        let current = self.reader.as_ref().map(|(number, _)| *number).or(self.first);
        self.section_wals.values().copied().chain(current).min()
    }

    /// The next batch; `None` at the end, where a later call may find more.
    pub fn next(&mut self) -> Result<Option<Update>> {
        let visible = self.wals.visible()?;
        if self.reader.is_none() && !self.begin()? {
            return Ok(None);
        }
        // The end of each WAL is read once more: rows may have been appended after it was read, before the
        // next WAL began.
        let mut was_followed = false;
        while let Some((number, reader)) = &mut self.reader {
            let (number, resume) = (*number, reader.record_end());
            if reader.read_record_into(&mut self.record)? {
                let operations = Operations::new(&self.record)?;
                if Predecessor::is_record(operations.clone())? {
                    continue;
                }
                // A write that is under way is in the WAL before it can be seen.
                if operations.sequence() > visible {
                    reader.resume_from(resume);
                    return Ok(None);
                }
                if let Some(update) = self.take_effect(number)? {
                    return Ok(Some(update));
                }
                continue;
            }
            // A recycled WAL usually ends before records of its former contents, which are no corruption.
            let stopped = reader.stopped().filter(|_| !reader.is_recycled()).cloned();
            reader.resume_from(resume);
            let behind = self.wals.behind(number)?;
            if behind.is_empty() {
                return Ok(None);
            }
            if !was_followed {
                was_followed = true;
                continue;
            }
            self.damage = stopped.or(self.damage.take());
            was_followed = false;
            if !self.go_on_with(&behind)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Opens the first WAL. False if there is none.
    fn begin(&mut self) -> Result<bool> {
        let first = self.first.unwrap_or(0);
        let from: Vec<u64> = self
            .wals
            .all()?
            .range(first..)
            .map(|(number, _)| *number)
            .collect();
        self.go_on_with(&from)
    }

    /// Opens the first of these WALs that is still there.
    fn go_on_with(&mut self, numbers: &[u64]) -> Result<bool> {
        for &number in numbers {
            if let Some(reader) = self.wals.open(number)? {
                self.reader = Some((number, reader));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The batch that takes effect with the record of WAL `number` that was read last. `None`: it prepares a
    /// section, or rolls one back.
    fn take_effect(&mut self, number: u64) -> Result<Option<Update>> {
        let operations = Operations::new(&self.record)?;
        let sequence = operations.sequence();
        let mut marks = Marks::default();
        for operation in operations.clone() {
            marks.note(&operation?);
        }
        if marks.is_empty() {
            return Ok(Some(Update {
                sequence,
                batch: WriteBatch::from_data(&self.record)?,
            }));
        }
        for name in &marks.committed {
            if !self.sections.holds(name)
                && let Some(section) = self.find_section(number, name)?
            {
                self.sections.insert(name, section);
            }
        }
        let mut batch = WriteBatch::new();
        marks.log_data.iter().for_each(|blob| batch.put_log_data(blob));
        let operations = Operations::new(&self.record)?;
        self.sections.apply(operations, |family, _, kind, key, value| {
            batch.add_row(family, kind, key, value)
        })?;
        batch.status()?;
        for name in &marks.prepared {
            self.section_wals.insert(name.clone(), number);
        }
        for name in marks.committed.iter().chain(&marks.rolled_back) {
            self.section_wals.remove(name);
        }
        if marks.committed.is_empty() && batch.is_empty() {
            return Ok(None);
        }
        set_sequence(batch.data_mut(), sequence);
        Ok(Some(Update { sequence, batch }))
    }

    /// The section of that name that was prepared last before WAL `number`, if its WAL is still there.
    fn find_section(&self, number: u64, name: &[u8]) -> Result<Option<WriteBatch>> {
        let mut record = Vec::new();
        for &older in self.wals.all()?.range(..number).rev().map(|(number, _)| number) {
            let Some(mut reader) = self.wals.open(older)? else {
                continue;
            };
            let mut sections = Sections::new(true);
            while reader.read_record_into(&mut record)? {
                sections.apply(Operations::new(&record)?, |_, _, _, _, _| {})?;
            }
            if let Some(section) = sections.take(name) {
                return Ok(Some(section));
            }
        }
        Ok(None)
    }
}

/// The markers of prepared transactions in a record.
#[derive(Default)]
struct Marks {
    prepared: Vec<Vec<u8>>,
    committed: Vec<Vec<u8>>,
    rolled_back: Vec<Vec<u8>>,
    log_data: Vec<Vec<u8>>,
}

impl Marks {
    fn note(&mut self, operation: &Operation<'_>) {
        match *operation {
            Operation::EndPrepare { xid } => self.prepared.push(xid.to_vec()),
            Operation::Commit { xid } => self.committed.push(xid.to_vec()),
            Operation::Rollback { xid } => self.rolled_back.push(xid.to_vec()),
            Operation::LogData(blob) => self.log_data.push(blob.to_vec()),
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.prepared.is_empty() && self.committed.is_empty() && self.rolled_back.is_empty()
    }
}

/// The status of a reader that met number `found` where `expected` should come.
pub(crate) fn gap(expected: SeqNo, found: SeqNo, damage: Option<Error>) -> Error {
    let because = damage.map_or(String::new(), |error| format!("; {error}"));
    Error::new(
        ErrorKind::Corruption,
        format!(
            "Gap in sequence number. Could not seek to required sequence number {expected}: the next batch begins with {found}{because}"
        ),
    )
}
