//! The WALs that a reader of updates may read: archived ones, and those of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{ErrorKind, Result, SeqNo};
use vfs::{Access, FileSystem, OpenOptions};
use wal::{Reader, ReaderOptions, RecoveryMode};

use crate::batch::operation::Operations;
use crate::files::archived_wals::{archived, directory, wals_in};
use crate::files::unread_wals;
use crate::options::Options;
use crate::state::handle::Db;
use crate::write::predecessor::Predecessor;

/// The WALs of one database.
pub(crate) struct Wals {
    fs: Arc<dyn FileSystem>,
    wal_dir: PathBuf,
    readahead_size: usize,
    /// The database, if this process has it open.
    db: Option<Db>,
}

/// A WAL as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundWal {
    pub path: PathBuf,
    pub archived: bool,
}

impl Wals {
    /// The WALs of an open database.
    pub fn of(db: &Db) -> Wals {
        let inner = db.inner();
        Wals {
            db: Some(db.clone()),
            ..Wals::in_directory(&inner.options, &inner.wal_dir)
        }
    }

    /// The WALs in `wal_dir` of a database that is closed, or that another process may have open.
    pub fn in_directory(options: &Options, wal_dir: &Path) -> Wals {
        Wals {
            fs: options.fs.clone(),
            wal_dir: wal_dir.to_path_buf(),
            readahead_size: options.log_readahead_size,
            db: None,
        }
    }

    /// The directory of the live WALs.
    pub fn wal_dir(&self) -> &Path {
        &self.wal_dir
    }

    /// Makes the WALs from `number` on durable.
    pub fn sync_from(&self, number: u64) -> Result<()> {
        for found in self.all()?.range(number..).map(|(_, found)| found) {
            match self.fs.sync_file(&found.path) {
                // The database has archived or deleted the WAL, so all its rows are in tables.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                synced => synced?,
            }
        }
        Ok(())
    }

    /// The file system.
    pub fn fs(&self) -> &dyn FileSystem {
        &*self.fs
    }

    /// The sequence number of the newest row that is visible to reads.
    pub fn visible(&self) -> Result<SeqNo> {
        let Some(db) = &self.db else {
            return Ok(SeqNo::MAX);
        };
        db.inner().check_open()?;
        Ok(db.latest_sequence_number())
    }

    /// The number of the WAL to which the database is writing; `u64::MAX` if it is not known.
    fn newest(&self) -> u64 {
        match &self.db {
            Some(db) if !db.inner().read_only => db.inner().state.lock().current_wal(),
            _ => u64::MAX,
        }
    }

    /// The numbers of the WALs that recoveries have left out: their rows are not in the database, and others
    /// may have their sequence numbers.
    fn unread(&self) -> Result<BTreeSet<u64>> {
        match self.db.as_ref().and_then(|db| db.inner().obsolete.archive()) {
            Some(archive) => Ok(archive.unread()),
            None => unread_wals::unread(&*self.fs, &self.wal_dir),
        }
    }

    /// All WALs by number. The live WALs are listed before the archived ones, so a WAL that is archived
    /// meanwhile is found in one of the lists or in both.
    pub fn all(&self) -> Result<BTreeMap<u64, FoundWal>> {
        let newest = self.newest();
        let live = wals_in(&*self.fs, &self.wal_dir)?;
        let archived = archived(&*self.fs, &self.wal_dir)?;
        let of = |archived| move |(number, path)| (number, FoundWal { path, archived });
        // A WAL above the newest number is being created, and its creation may still fail.
        let mut all: BTreeMap<u64, FoundWal> = live
            .into_iter()
            .filter(|(number, _)| *number <= newest)
            .map(of(false))
            .collect();
        all.extend(archived.into_iter().map(of(true)));
        let unread = self.unread()?;
        all.retain(|number, _| !unread.contains(number));
        Ok(all)
    }

    /// The size in bytes and the location of a listed WAL, which may have moved to the archive since it was
    /// listed. `None` if it was deleted.
    pub fn size(&self, number: u64, found: FoundWal) -> Result<Option<(u64, FoundWal)>> {
        let moved = FoundWal {
            path: base::filename::wal(&directory(&self.wal_dir), number),
            archived: true,
        };
        for found in [found, moved] {
            match self.fs.size(&found.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                size => return Ok(Some((size?, found))),
            }
        }
        Ok(None)
    }

    /// The numbers of the WALs after `number`, in order. If `number` is known to be the newest WAL, no
    /// directory is read.
    pub fn behind(&self, number: u64) -> Result<Vec<u64>> {
        match self.newest() <= number {
            true => Ok(Vec::new()),
            false => Ok(self
                .all()?
                .range(number + 1..)
                .map(|(number, _)| *number)
                .collect()),
        }
    }

    /// Opens WAL `number` in the directory of live WALs or in the archive. `None` if it is in neither any
    /// more.
    pub fn open(&self, number: u64) -> Result<Option<Reader>> {
        let open = OpenOptions {
            access: Access::Sequential,
            ..OpenOptions::default()
        };
        let options = ReaderOptions {
            log_number: Some(number),
            mode: RecoveryMode::PointInTime,
        };
        for dir in [&self.wal_dir, &directory(&self.wal_dir)] {
            let path = base::filename::wal(dir, number);
            match self.fs.open_random(&path, &open) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                opened => {
                    let reader = Reader::new(opened?, options);
                    return Ok(Some(reader.with_readahead(self.readahead_size)));
                }
            }
        }
        Ok(None)
    }

    /// The sequence number of the first record of WAL `number` that is no predecessor record. `None` if it
    /// has no such record, or was deleted.
    pub fn first_sequence(&self, number: u64) -> Result<Option<SeqNo>> {
        let Some(mut reader) = self.open(number)? else {
            return Ok(None);
        };
        let mut record = Vec::new();
        while reader.read_record_into(&mut record)? {
            let operations = Operations::new(&record)?;
            if !Predecessor::is_record(operations.clone())? {
                return Ok(Some(operations.sequence()));
            }
        }
        Ok(None)
    }

    /// The sequence number of the oldest row in WALs, and the number of its WAL. Without a row: the next
    /// sequence number, and `None`.
    pub fn oldest_row(&self) -> Result<(SeqNo, Option<u64>)> {
        for &number in self.all()?.keys() {
            if let Some(first) = self.first_sequence(number)? {
                return Ok((first, Some(number)));
            }
        }
        let next = self.visible()?.saturating_add(1);
        Ok((if self.db.is_some() { next } else { 1 }, None))
    }

    /// The WAL from which a reader of row `sequence` begins: the newest WAL whose first row is not after that
    /// row, else the oldest WAL.
    pub fn holding(&self, sequence: SeqNo) -> Result<Option<u64>> {
        let mut oldest = None;
        for &number in self.all()?.keys().rev() {
            oldest = Some(number);
            if self
                .first_sequence(number)?
                .is_some_and(|first| first <= sequence)
            {
                break;
            }
        }
        Ok(oldest)
    }
}
