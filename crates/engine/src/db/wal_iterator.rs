//! Reads of updates from the WALs, RocksDB's `GetUpdatesSince`, and the list of WALs.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Error, ErrorKind, Result, SeqNo, filename};

use crate::batch::write_batch::WriteBatch;
use crate::db::feed::stream::{Update, UpdateStream, gap};
use crate::db::feed::wals::{FoundWal, Wals};
use crate::state::handle::Db;

/// A WAL of the database.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// let current = db.get_current_wal_file()?;
/// assert!(!current.archived);
/// for wal in db.get_sorted_wal_files()? {
///     println!("{}: {} bytes from row {}", wal.path.display(), wal.size, wal.start_sequence);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalFile {
    /// The file number.
    pub number: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// True if the file is in the archive: no recovery needs it.
    pub archived: bool,
    /// The sequence number of its first row; 0 if it has no row.
    pub start_sequence: SeqNo,
    /// The size of the file in bytes. The current WAL may have preallocated space at its end.
    pub size: u64,
}

/// Iterates over the batches in archived and live WALs, in the order of their writes. It is positioned on the
/// first batch after its creation, if there is one. At the end it has no position, and [`next`](Self::next)
/// checks for batches written since, in later WALs too: RocksDB's `TryAgain`, which asks for a new iterator
/// there, does not occur. A two-phase transaction is one batch, at its commit. The iterator keeps the
/// database open.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// let since = db.latest_sequence_number() + 1;
/// db.put(b"a", b"1")?;
/// let mut updates = db.get_updates_since(since)?;
/// while let Some((sequence, batch)) = updates.batch() {
///     println!("{sequence}: {} rows", batch.count());
///     updates.next();
/// }
/// updates.status()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TransactionLogIterator {
    stream: UpdateStream,
    /// Batches whose last row is older are skipped.
    wanted: SeqNo,
    current: Option<Update>,
    /// The sequence number that the next batch begins with; `None` before the first.
    expected: Option<SeqNo>,
    error: Option<Error>,
}

impl std::fmt::Debug for TransactionLogIterator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sequence = self.current.as_ref().map(|update| update.sequence);
        f.debug_struct("TransactionLogIterator")
            .field("sequence", &sequence)
            .finish_non_exhaustive()
    }
}

impl Db {
    /// Returns an iterator over the batches written since `sequence`, beginning with the batch that contains
    /// that row. If no WAL has that row any more, it begins with the first batch after it: the caller
    /// compares the numbers. [`wal_ttl_seconds`](crate::Options::wal_ttl_seconds) and
    /// [`wal_size_limit_mb`](crate::Options::wal_size_limit_mb) decide how long WALs are kept.
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
        let wals = Arc::new(Wals::of(self));
        let first = wals.holding(sequence)?;
        let mut iter = TransactionLogIterator {
            stream: UpdateStream::new(wals, first),
            wanted: sequence,
            current: None,
            expected: None,
            error: None,
        };
        iter.next();
        iter.status()?;
        Ok(iter)
    }

    /// Returns the WALs, oldest first, with the archived ones. Each is opened to read its first row.
    ///
    /// # Errors
    /// Those of reading a WAL.
    pub fn get_sorted_wal_files(&self) -> Result<Vec<WalFile>> {
        self.inner().check_open()?;
        let wals = Wals::of(self);
        let mut files = Vec::new();
        for (number, found) in wals.all()? {
            if let Some((size, FoundWal { path, archived })) = wals.size(number, found)? {
                files.push(WalFile {
                    number,
                    path,
                    archived,
                    start_sequence: wals.first_sequence(number)?.unwrap_or(0),
                    size,
                });
            }
        }
        Ok(files)
    }

    /// The current WAL, which is being written.
    ///
    /// # Errors
    /// The errors of reading the WAL.
    pub fn get_current_wal_file(&self) -> Result<WalFile> {
        let inner = self.inner();
        loop {
            inner.check_open()?;
            let number = inner.state.lock().current_wal();
            let path = filename::wal(&inner.wal_dir, number);
            let size = match inner.options.fs.size(&path) {
                // A flush began the next WAL, and the WAL that was listed as current was archived or deleted.
                Err(error)
                    if error.kind() == ErrorKind::NotFound && inner.state.lock().current_wal() != number =>
                {
                    continue;
                }
                size => size?,
            };
            return Ok(WalFile {
                number,
                archived: false,
                start_sequence: Wals::of(self).first_sequence(number)?.unwrap_or(0),
                size,
                path,
            });
        }
    }
}

impl TransactionLogIterator {
    /// True if the iterator is positioned on a batch.
    pub fn valid(&self) -> bool {
        self.current.is_some()
    }

    /// The error because of which the iterator has no position, if there is one. It is `Corruption` where a
    /// sequence number is missing between two batches: rows were written without a WAL, files were ingested,
    /// or a WAL is gone. A new iterator from a number after the gap skips it.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// The current batch, and the sequence number of its first row.
    pub fn batch(&self) -> Option<(SeqNo, &WriteBatch)> {
        self.current
            .as_ref()
            .map(|update| (update.sequence, &update.batch))
    }

    /// Moves to the next batch; from the end, to the first batch that was written since the end was reached.
    pub fn next(&mut self) {
        self.current = None;
        if self.error.is_none() {
            match self.read() {
                Ok(found) => self.current = found,
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn read(&mut self) -> Result<Option<Update>> {
        while let Some(update) = self.stream.next()? {
            match self.expected {
                None if update.is_before(self.wanted) => continue,
                Some(expected) if expected != update.sequence => {
                    return Err(gap(
                        expected,
                        update.sequence,
                        self.stream.take_damage().map(|(_, error)| error),
                    ));
                }
                _ => {}
            }
            self.expected = Some(update.next_sequence());
            return Ok(Some(update));
        }
        Ok(None)
    }
}
