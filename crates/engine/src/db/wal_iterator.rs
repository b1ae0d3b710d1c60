//! Updates read back from the WALs: RocksDB's `GetUpdatesSince`, and the list of WALs.

use std::path::PathBuf;

use base::{Error, ErrorKind, Result, SeqNo, filename};
use wal::{Reader, ReaderOptions, RecoveryMode};

use crate::db::{Db, DbInner};
use crate::write::batch::{Operations, WriteBatch};
use crate::write::predecessor::Predecessor;

/// A WAL that the database has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalFile {
    /// Its number.
    pub number: u64,
    /// Where it lies.
    pub path: PathBuf,
    /// The sequence number of its first row; 0 while it has none.
    pub start_sequence: SeqNo,
    /// Bytes of the file. What is written to may have room for more at its end.
    pub size: u64,
}

/// Batches in the order they were written in, from the WALs. Stands on one from the beginning, if there is one; at the end it stands
/// nowhere, and [`next`](Self::next) looks again for what was written since. Keeps the database open. A WAL that is deleted while
/// it is read, since a flush has made it obsolete, ends in an error.
pub struct TransactionLogIterator {
    db: Db,
    /// Batches whose last row is older are passed over.
    wanted: SeqNo,
    /// The WAL that is read, and where it was read to.
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
    /// The batches written since `sequence`, that with the row of that number first. What was written without a WAL is not among
    /// them, nor what WALs had that flushes have made obsolete.
    ///
    /// # Errors
    /// `NotFound` if no row has that number yet; those of reading a WAL.
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

    /// The WALs, oldest first. Each is opened to see its first row.
    ///
    /// # Errors
    /// Those of reading a WAL.
    pub fn get_sorted_wal_files(&self) -> Result<Vec<WalFile>> {
        let inner = self.inner();
        inner.check_open()?;
        inner
            .live_wals()
            .into_iter()
            .map(|number| inner.wal_file(number))
            .collect()
    }

    /// The WAL that is written to.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn get_current_wal_file(&self) -> Result<WalFile> {
        let inner = self.inner();
        inner.check_open()?;
        let current = inner.state.lock().current_wal();
        inner.wal_file(current)
    }
}

impl DbInner {
    /// Numbers of the WALs that are kept, oldest first.
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

    /// The number of a WAL's first row.
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
    /// True if it stands on a batch.
    pub fn valid(&self) -> bool {
        self.current.is_some()
    }

    /// Why it stands nowhere, if that is for an error.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// The batch, and the sequence number of its first row.
    pub fn batch(&self) -> Option<(SeqNo, &WriteBatch)> {
        self.current.as_ref().map(|(sequence, batch)| (*sequence, batch))
    }

    /// Moves to the batch behind, or to the first one written since it stood at the end.
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
        // Once more over the end of each WAL: it may have got rows after it was read, before the next one was begun.
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
                // A write that is under way is in the WAL before it can be seen.
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
            // In a recycled file the rest of an older one is the usual end.
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
