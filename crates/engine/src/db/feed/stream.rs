//! Batches from WALs, in the order of their writes. A two-phase transaction is one batch, at its commit; a
//! transaction that is rolled back is not returned.

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

    /// True if the whole batch is older than the row with sequence number `wanted`.
    pub fn is_before(&self, wanted: SeqNo) -> bool {
        self.sequence < wanted && self.next_sequence() <= wanted
    }
}

/// Reads the WALs one after the other. At the end of the newest WAL, a later call continues there.
pub(crate) struct UpdateStream {
    wals: Arc<Wals>,
    /// The number of the first WAL to read; `None`: the oldest.
    first: Option<u64>,
    /// The number of the WAL that is being read, and its reader.
    reader: Option<(u64, Reader)>,
    /// The prepared sections that were read, and that are neither committed nor rolled back yet.
    sections: Sections,
    /// The number of the WAL in which each outstanding section was prepared, by the section's name.
    section_wals: BTreeMap<Vec<u8>, u64>,
    /// The corruption that ended a WAL which is not the newest, and that WAL's number. The rows after the
    /// corruption are missing, unless the next WAL continues with the next sequence number.
    damage: Option<(u64, Error)>,
    record: Vec<u8>,
}

impl UpdateStream {
    /// Creates a stream that begins with WAL `first`, or with the oldest WAL.
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

    /// Takes the corruption that has ended a WAL since the last call, if there was one, with the number of
    /// the WAL.
    pub fn take_damage(&mut self) -> Option<(u64, Error)> {
        self.damage.take()
    }

    /// The number of the WAL that is being read.
    pub fn reading(&self) -> Option<u64> {
        self.reader.as_ref().map(|(number, _)| *number).or(self.first)
    }

    /// The number of the oldest WAL that is needed to continue from here: that of the current WAL, or of the
    /// WAL with the oldest outstanding section.
    pub fn oldest_needed(&self) -> Option<u64> {
        self.section_wals.values().copied().chain(self.reading()).min()
    }

    /// The next batch; `None` at the end of the newest WAL, where a later call may find more.
    pub fn next(&mut self) -> Result<Option<Update>> {
        let visible = self.wals.visible()?;
        if self.reader.is_none() && !self.begin()? {
            return Ok(None);
        }
        // The end of each WAL is read twice: between the first read and the creation of the next WAL, rows
        // may have been appended.
        let mut was_followed = false;
        while let Some((number, reader)) = &mut self.reader {
            let (number, resume) = (*number, reader.record_end());
            if reader.read_record_into(&mut self.record)? {
                let operations = Operations::new(&self.record)?;
                if Predecessor::is_record(operations.clone())? {
                    continue;
                }
                // A write is in the WAL before its rows are visible to reads.
                if operations.sequence() > visible {
                    reader.resume_from(resume);
                    return Ok(None);
                }
                if let Some(update) = self.take_effect(number)? {
                    return Ok(Some(update));
                }
                continue;
            }
            // A recycled WAL usually ends before records of its former contents. They are not corruption.
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
            self.damage = stopped.map(|error| (number, error)).or(self.damage.take());
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

    /// Opens the first WAL of `numbers` that still exists. Returns false if none does.
    fn go_on_with(&mut self, numbers: &[u64]) -> Result<bool> {
        for &number in numbers {
            if let Some(reader) = self.wals.open(number)? {
                self.reader = Some((number, reader));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The batch that takes effect with the last record read, which is in WAL `number`. `None` if the record
    /// prepares a section or rolls one back.
    fn take_effect(&mut self, number: u64) -> Result<Option<Update>> {
        let operations = Operations::new(&self.record)?;
        let sequence = operations.sequence();
        let mut marks = Marks::default();
        for operation in operations.clone() {
            marks.record(&operation?);
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

    /// The section called `name` that was prepared last in the WALs before `number`, if its WAL still exists.
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
    fn record(&mut self, operation: &Operation<'_>) {
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

/// The error for sequence number `found` in a place where `expected` should follow.
pub(crate) fn gap(expected: SeqNo, found: SeqNo, damage: Option<Error>) -> Error {
    let because = damage.map_or(String::new(), |error| format!("; {error}"));
    Error::new(
        ErrorKind::Corruption,
        format!(
            "Gap in sequence number. Could not seek to required sequence number {expected}: the next batch begins with {found}{because}"
        ),
    )
}
