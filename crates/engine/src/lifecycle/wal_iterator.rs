//! Reads of updates from the WALs, RocksDB's `GetUpdatesSince`, and the list of WALs.

use std::path::PathBuf;

use base::{Error, ErrorKind, Result, SeqNo, filename};
use wal::{Reader, ReaderOptions, RecoveryMode};

use crate::batch::operation::Operations;
use crate::batch::write_batch::WriteBatch;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;
use crate::write::predecessor::Predecessor;

/// A WAL of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalFile {
    /// The file number.
    pub number: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The sequence number of its first row; 0 if it has no row.
    pub start_sequence: SeqNo,
    /// The size of the file in bytes. The current WAL may have preallocated space at its end.
    pub size: u64,
}

/// Iterates over the batches in the WALs, in the order of their writes. It is positioned on the first batch
/// after its creation, if there is one. At the end it has no position, and [`next`](Self::next) checks for
/// batches written since. It keeps the database open. If the WAL that it reads is deleted because a flush
/// made it obsolete, it ends with an error.
pub struct TransactionLogIterator {
    db: Db,
    /// Batches whose last row is older are skipped.
    wanted: SeqNo,
    /// The current WAL and its reader.
    reader: Option<(u64, Reader)>,
    current: Option<(SeqNo, WriteBatch)>,
    error: Option<Error>,
}

impl std::fmt::Debug for TransactionLogIterator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sequence = self.current.as_ref().map(|(sequence, _)| sequence);
        f.debug_struct("TransactionLogIterator")
            .field("sequence", &sequence)
            .finish_non_exhaustive()
    }
}

impl Db {
    /// Returns an iterator over the batches written since `sequence`, beginning with the batch that contains
    /// that row. Rows written without a WAL, and rows of WALs that flushes have made obsolete, are not
    /// included.
    ///
    /// # Errors
    /// `NotFound` if no row has that number yet; the errors of reading a WAL.
    pub fn get_updates_since(&self, sequence: SeqNo) -> Result<TransactionLogIterator> {
        self.inner().check_open()?;
        if sequence > self.latest_sequence_number() {
            return Err(Error::new(
                ErrorKind::NotFound,
                "Requested sequence not yet written in the db",
            ));
        }
        let mut first = None;
        for number in self.inner().live_wals() {
            match self.inner().first_sequence(number)? {
                Some(start) if start > sequence && first.is_some() => break,
                _ => first = Some(number),
            }
        }
        let reader = first.map(|number| self.inner().wal_reader(number).map(|reader| (number, reader)));
        let mut iter = TransactionLogIterator {
            db: self.clone(),
            wanted: sequence,
            reader: reader.transpose()?,
            current: None,
            error: None,
        };
        iter.next();
        iter.status()?;
        Ok(iter)
    }

    /// Returns the WALs, oldest first. Each is opened to read its first row.
    ///
    /// # Errors
    /// The errors of reading a WAL.
    pub fn get_sorted_wal_files(&self) -> Result<Vec<WalFile>> {
        let inner = self.inner();
        inner.check_open()?;
        inner
            .live_wals()
            .into_iter()
            .map(|number| inner.wal_file(number))
            .collect()
    }

    /// The current WAL, which is being written.
    ///
    /// # Errors
    /// The errors of reading the WAL.
    pub fn get_current_wal_file(&self) -> Result<WalFile> {
        let inner = self.inner();
        inner.check_open()?;
        let current = inner.state.lock().current_wal();
        inner.wal_file(current)
    }
}

impl DbInner {
    /// The numbers of the WALs that are kept, oldest first.
    fn live_wals(&self) -> Vec<u64> {
        self.state.lock().wals.iter().map(|wal| wal.number).collect()
    }

    fn wal_reader(&self, number: u64) -> Result<Reader> {
        let file = self.open_wals(&[number])?.remove(0).1;
        let options = ReaderOptions {
            log_number: Some(number),
            mode: RecoveryMode::PointInTime,
        };
        Ok(Reader::new(file, options).with_readahead(self.options.log_readahead_size))
    }

    /// The sequence number of a WAL's first row.
    fn first_sequence(&self, number: u64) -> Result<Option<SeqNo>> {
        let mut reader = self.wal_reader(number)?;
        let mut record = Vec::new();
        while reader.read_record_into(&mut record)? {
            if !Predecessor::is_record(Operations::new(&record)?)? {
                return Ok(Some(Operations::new(&record)?.sequence()));
            }
        }
        Ok(None)
    }

    fn wal_file(&self, number: u64) -> Result<WalFile> {
        let path = filename::wal(&self.wal_dir, number);
        Ok(WalFile {
            number,
            start_sequence: self.first_sequence(number)?.unwrap_or(0),
            size: self.options.fs.size(&path)?,
            path,
        })
    }
}

impl TransactionLogIterator {
    /// True if the iterator is positioned on a batch.
    pub fn valid(&self) -> bool {
        self.current.is_some()
    }

    /// The error because of which the iterator has no position, if there is one.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// The current batch, and the sequence number of its first row.
    pub fn batch(&self) -> Option<(SeqNo, &WriteBatch)> {
        self.current.as_ref().map(|(sequence, batch)| (*sequence, batch))
    }

    /// Moves to the next batch, or from the end to the first batch written since.
    pub fn next(&mut self) {
        self.current = None;
        if self.error.is_none() {
            match self.read() {
                Ok(found) => self.current = found,
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn read(&mut self) -> Result<Option<(SeqNo, WriteBatch)>> {
        self.db.inner().check_open()?;
        let mut record = Vec::new();
        // The end of each WAL is read twice: rows may have been appended after the first time, before the
        // next WAL was begun.
        let mut was_followed = false;
        while let Some((number, reader)) = &mut self.reader {
            let (number, resume) = (*number, reader.record_end());
            let visible = self.db.latest_sequence_number();
            let followed = self
                .db
                .inner()
                .live_wals()
                .into_iter()
                .find(|other| *other > number);
            if reader.read_record_into(&mut record)? {
                let operations = Operations::new(&record)?;
                let (sequence, count) = (operations.sequence(), u64::from(operations.promised()));
                // A write in progress is in the WAL before it is visible.
                if sequence > visible {
                    reader.resume_from(resume);
                    return Ok(None);
                }
                let last = (sequence + count).saturating_sub(1).max(sequence);
                if last < self.wanted || Predecessor::is_record(operations)? {
                    continue;
                }
                return Ok(Some((sequence, WriteBatch::from_data(&record)?)));
            }
            // In a recycled file, the rest of an older WAL is the normal end.
            let stopped = reader.stopped().filter(|_| !reader.is_recycled()).cloned();
            reader.resume_from(resume);
            match (followed, stopped) {
                (None, _) => return Ok(None),
                (Some(_), _) if !was_followed => was_followed = true,
                (Some(_), Some(error)) => return Err(error),
                (Some(newer), None) => {
                    self.reader = Some((newer, self.db.inner().wal_reader(newer)?));
                    was_followed = false;
                }
            }
        }
        Ok(None)
    }
}
