//! A separate directory for the WALs (`wal_dir`): its owner, and the search for WALs that an open would miss.
//!
//! WALs are identified by their numbers alone: a second database in such a directory would replay and delete
//! those of the first. The file [`OWNER`] therefore records the owner by the database's id, and `LOCK` is
//! held there while the database is open. RocksDB ignores both.
//!
//! A checkpoint or a copy has the id of its source. OWNER therefore also records the directories of the
//! database and of its WALs at the time it was written. While a database of that id is still in its
//! directory, no other one gets the WALs; if it is gone, it was moved or restored elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vfs::RandomAccessFile;

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Result};
use vfs::{Access, CreateOptions, FileLock, FileSystem, OpenOptions};
use wal::{ReaderOptions, RecoveryMode};

use crate::batch::operation::{HEADER_LEN, Operations};
use crate::files::session_id::new_session_id;
use crate::lifecycle::manifest_tail::read_manifest;
use crate::lifecycle::moment::{Moment, READ_ONLY_ATTEMPTS, read_identity};
use crate::log::log_line;
use crate::options::Options;
use crate::options::file::OptionsFile;
use crate::state::db_inner::DbInner;

/// The name of the file that identifies the database with WALs in a directory.
const OWNER: &str = "OWNER";
/// The temporary file that is renamed to OWNER. The next open removes one that a crash left.
pub(crate) const TEMPORARY: &str = "OWNER.tmp";

/// The contents of OWNER: three lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    /// The id of the database.
    id: String,
    /// The absolute path of the database when OWNER was written.
    dir: String,
    /// The absolute path of its WALs when OWNER was written.
    wal_dir: String,
}

impl Owner {
    fn new(id: &str, dir: &Path, wal_dir: &Path) -> Owner {
        Owner {
            id: id.to_owned(),
            dir: absolute(dir),
            wal_dir: absolute(wal_dir),
        }
    }

    fn parse(text: &str) -> Option<Owner> {
        let mut lines = text.lines().map(str::to_owned);
        let id = lines.next().filter(|id| !id.is_empty())?;
        Some(Owner {
            id,
            dir: lines.next().unwrap_or_default(),
            wal_dir: lines.next().unwrap_or_default(),
        })
    }

    fn read(fs: &dyn FileSystem, wal_dir: &Path) -> Result<Option<Owner>> {
        match fs.read_file(&wal_dir.join(OWNER)) {
            Ok(bytes) => Ok(Owner::parse(&String::from_utf8_lossy(&bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, fs: &dyn FileSystem, wal_dir: &Path) -> Result<()> {
        let text = format!("{}\n{}\n{}\n", self.id, self.dir, self.wal_dir);
        fs.replace_file(&wal_dir.join(OWNER), &wal_dir.join(TEMPORARY), text.as_bytes())
    }
}

fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute.to_string_lossy().into_owned()
}

/// The WAL directory of a database that is open for writing, or whose files are being changed otherwise. No
/// other database gets it until this value is dropped.
///
/// ```
/// use esker::{Db, Options, WalDir};
///
/// # let dir = tempfile::tempdir()?;
/// let (path, wals) = (dir.path().join("db"), dir.path().join("wal"));
/// let wal_dir = wals.to_str().unwrap().to_owned();
/// let options = Options { create_if_missing: true, wal_dir, ..Default::default() };
/// Db::open(&options, &path)?.close()?;
/// // A tool that changes files of a closed database keeps others away from its WALs meanwhile.
/// let wal_dir = WalDir::claim(&options, &path, None)?;
/// assert!(wal_dir.path().ends_with("wal"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WalDir {
    path: PathBuf,
    /// `None` for the database's own directory, which has a lock of its own.
    lock: Option<Box<dyn FileLock>>,
    /// True if OWNER has not been written yet or is out of date.
    unmarked: bool,
}

impl WalDir {
    /// Claims the WAL directory that `options` name for the database in `dir`, whose id is `id` (`None` if it
    /// is unknown or the database is about to be created). The caller must have locked `dir`. Any database
    /// may claim a directory without an owner, and a directory whose owner has neither its database nor a WAL
    /// there any more.
    ///
    /// # Errors
    /// `LockHeld` if a database with its WALs there is open. `InvalidArgument` if the directory belongs to
    /// another database, or is the directory of one.
    pub fn claim(options: &Options, dir: &Path, id: Option<&str>) -> Result<WalDir> {
        let fs = &*options.fs;
        let path = options.wal_directory(dir);
        let place = CandidateWalDir {
            options,
            dir,
            wal_dir: &path,
            may_write: true,
        };
        if !fs.exists(&path)? || place.is_the_databases_own()? {
            let path = if fs.exists(&path)? {
                dir.to_path_buf()
            } else {
                path
            };
            return Ok(WalDir {
                path,
                lock: None,
                unmarked: false,
            });
        }
        let lock = fs.lock(&filename::lock(&path));
        let lock = lock.map_err(|error| match Owner::read(fs, &path) {
            Ok(Some(owner)) => error.context(&format!("wal_dir of the database in {}", owner.dir)),
            _ => error,
        })?;
        let unmarked = place.check_owner(id)?;
        Ok(WalDir {
            path,
            lock: Some(lock),
            unmarked,
        })
    }

    /// Makes the database in `dir`, whose id is `id`, the owner. Nothing happens in a database's own
    /// directory.
    pub fn mark(&mut self, fs: &dyn FileSystem, dir: &Path, id: &str) -> Result<()> {
        if self.unmarked {
            Owner::new(id, dir, &self.path).write(fs, &self.path)?;
            self.unmarked = false;
        }
        Ok(())
    }

    /// Same as [`mark`](WalDir::mark), with the id found in the files of the database. If they have none, the
    /// first database that is opened with the directory becomes the owner.
    pub fn mark_by_files(&mut self, options: &Options, dir: &Path) -> Result<()> {
        id_of(options, dir).map_or(Ok(()), |id| self.mark(&*options.fs, dir, &id))
    }

    /// Removes the owner's mark. The next database that is opened with the directory becomes the owner.
    pub fn unmark(&mut self, fs: &dyn FileSystem) -> Result<()> {
        if self.lock.is_none() {
            return Ok(());
        }
        for name in [OWNER, TEMPORARY] {
            match fs.remove(&self.path.join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.unmarked = true;
        Ok(())
    }

    /// The path of the WALs. If it is the database's own directory, it has the same spelling as the
    /// database's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock of the directory; `None` for a database's own directory.
    pub(crate) fn into_lock(self) -> Option<Box<dyn FileLock>> {
        self.lock
    }

    /// Releases the directory and removes its LOCK.
    pub(crate) fn remove_lock(self, fs: &dyn FileSystem) -> Result<()> {
        match self.lock {
            None => Ok(()),
            Some(lock) => {
                drop(lock);
                fs.remove(&filename::lock(&self.path))
            }
        }
    }

    /// The WAL directory of the database in `dir`, for a read-only database, which takes no lock.
    ///
    /// # Errors
    /// The errors of [`claim`](WalDir::claim), except `LockHeld`.
    pub(crate) fn look(options: &Options, dir: &Path, id: Option<&str>) -> Result<PathBuf> {
        let path = options.wal_directory(dir);
        let place = CandidateWalDir {
            options,
            dir,
            wal_dir: &path,
            may_write: false,
        };
        if place.is_the_databases_own()? {
            return Ok(dir.to_path_buf());
        }
        place.check_owner(id)?;
        Ok(path)
    }
}

/// The id of the database in `dir`, if its files are readable.
pub(crate) fn id_of(options: &Options, dir: &Path) -> Option<String> {
    let recorded = read_manifest(options, dir)
        .ok()
        .and_then(|(_, state)| state.db_id);
    recorded.or_else(|| read_identity(&*options.fs, dir).ok().flatten())
}

/// A database and a directory that may have its WALs.
struct CandidateWalDir<'a> {
    options: &'a Options,
    dir: &'a Path,
    wal_dir: &'a Path,
    /// True if two directories may be compared by creating a file in one of them.
    may_write: bool,
}

impl CandidateWalDir<'_> {
    fn fs(&self) -> &dyn FileSystem {
        &*self.options.fs
    }

    /// True if the WALs are in the database's own directory, under any name. An error if they are in that of
    /// another database.
    fn is_the_databases_own(&self) -> Result<bool> {
        if absolute(self.dir) == absolute(self.wal_dir) {
            return Ok(true);
        }
        if self.is_same_database(self.wal_dir)? {
            return Ok(true);
        }
        if self.fs().exists(&filename::current(self.wal_dir))? {
            return Err(Error::invalid_argument(
                "wal_dir is the directory of another database, which has its WALs there",
            )
            .in_file(self.wal_dir));
        }
        Ok(false)
    }

    /// True if `other` is the directory of this database under another name.
    fn is_same_database(&self, other: &Path) -> Result<bool> {
        if absolute(self.dir) == absolute(other) {
            return Ok(true);
        }
        if self.may_write {
            return is_same_directory(self.fs(), self.dir, other, &filename::temp(Path::new(""), 0));
        }
        if !self.fs().exists(&filename::current(other))? {
            return Ok(false);
        }
        Ok(Moment::of(self.options, self.dir)? == Moment::of(self.options, other)?)
    }

    /// True if `other` is the WAL directory under another name.
    fn is_same_wal_dir(&self, other: &Path) -> Result<bool> {
        if absolute(self.wal_dir) == absolute(other) {
            return Ok(true);
        }
        if self.may_write {
            return is_same_directory(self.fs(), self.wal_dir, other, Path::new(TEMPORARY));
        }
        let owner = Owner::read(self.fs(), other)?;
        Ok(owner.is_some() && owner == Owner::read(self.fs(), self.wal_dir)?)
    }

    /// True if OWNER must be written. `InvalidArgument` if the directory belongs to another database.
    fn check_owner(&self, id: Option<&str>) -> Result<bool> {
        let Some(owner) = Owner::read(self.fs(), self.wal_dir)? else {
            return Ok(true);
        };
        let now = Owner::new(id.unwrap_or(&owner.id), self.dir, self.wal_dir);
        if owner == now {
            return Ok(false);
        }
        if self.keeps(&owner)? {
            return Err(Error::invalid_argument(format!(
                "wal_dir belongs to the database in {} with the id {}, which is still there: this one, a copy of it perhaps, needs a \
                 wal_dir of its own",
                owner.dir, owner.id
            ))
            .in_file(&self.wal_dir.join(OWNER)));
        }
        if owner.id != now.id && holds_wals(self.fs(), self.wal_dir)? {
            return Err(Error::invalid_argument(format!(
                "wal_dir holds WALs of the database with the id {}, which was in {}: the id of this one is {}",
                owner.id, owner.dir, now.id
            ))
            .in_file(&self.wal_dir.join(OWNER)));
        }
        Ok(true)
    }

    /// True if the owner is another database, is still in its recorded directory, and has its WALs here.
    fn keeps(&self, owner: &Owner) -> Result<bool> {
        let (dir, wal_dir) = (Path::new(&owner.dir), Path::new(&owner.wal_dir));
        if !self.fs().exists(&filename::current(dir))? || self.is_same_database(dir)? {
            return Ok(false);
        }
        if id_of(self.options, dir).is_some_and(|id| id != owner.id) {
            return Ok(false);
        }
        // If the recorded directory has an OWNER and is not this one, the owner's WALs are still there, and
        // this directory is a copy of it.
        let was_copied = self.fs().exists(&wal_dir.join(OWNER))? && !self.is_same_wal_dir(wal_dir)?;
        Ok(!was_copied)
    }
}

/// True if a file created in `dir` appears in `other`. `name` is a file name that the next open removes if
/// the file is left over.
fn is_same_directory(fs: &dyn FileSystem, dir: &Path, other: &Path, name: &Path) -> Result<bool> {
    if !fs.exists(other)? {
        return Ok(false);
    }
    let probe = dir.join(name);
    let text = new_session_id();
    let mut file = fs.create(&probe, &CreateOptions::default())?;
    file.append(text.as_bytes())?;
    file.close()?;
    let found = match fs.read_file(&other.join(name)) {
        Ok(found) => Ok(found == text.as_bytes()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        // A power loss has damaged an encrypted file of that name: it is not the one just written.
        Err(error) if error.is_corruption() => Ok(false),
        Err(error) => Err(error),
    };
    fs.remove(&probe)?;
    found
}

/// `InvalidArgument` if WALs with rows are in one of `elsewhere`, directories that a repair of the WALs in
/// `wal_dir` does not read: after the repair, the MANIFEST needs no WAL.
pub(crate) fn check_other_wals(
    options: &Options,
    dir: &Path,
    wal_dir: &Path,
    elsewhere: impl Iterator<Item = PathBuf>,
) -> Result<()> {
    let fs = &*options.fs;
    for other in elsewhere.filter(|other| absolute(other) != absolute(wal_dir)) {
        let place = CandidateWalDir {
            options,
            dir,
            wal_dir: &other,
            may_write: true,
        };
        if !fs.exists(&other)? || place.is_same_wal_dir(wal_dir)? {
            continue;
        }
        let is_another = fs.exists(&filename::current(&other))? && !place.is_same_database(&other)?;
        let owner = Owner::read(fs, &other)?;
        if is_another || owner.is_some_and(|owner| place.keeps(&owner).unwrap_or(true)) {
            continue;
        }
        if let Some(wal) = first_with_rows(fs, &other, 0, &|_, _| true)? {
            return Err(unread(&other, wal, wal_dir).in_file(dir));
        }
    }
    Ok(())
}

/// The error for WAL number `wal` in `dir`, which has rows and is not read.
fn unread(dir: &Path, wal: u64, wal_dir: &Path) -> Error {
    Error::invalid_argument(format!(
        "WALs with rows that no table has are in {}, the first is {wal:06}.log, and wal_dir is {}: use the former, or move them",
        dir.display(),
        wal_dir.display()
    ))
}

/// The first WAL in `dir` from number `oldest` on with a row of a family for which `needs` is true, or with
/// unreadable contents.
fn first_with_rows(
    fs: &dyn FileSystem,
    dir: &Path,
    oldest: u64,
    needs: &dyn Fn(u32, u64) -> bool,
) -> Result<Option<u64>> {
    let names = fs.list(dir)?;
    let wals = names.iter().filter_map(|name| match filename::parse(name) {
        Some(FileKind::Wal(number)) => Some(number),
        _ => None,
    });
    let mut wals: Vec<u64> = wals.filter(|&number| number >= oldest).collect();
    wals.sort_unstable();
    for number in wals {
        if holds_rows(fs, &filename::wal(dir, number), number, needs)? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn holds_rows(
    fs: &dyn FileSystem,
    path: &Path,
    number: u64,
    needs: &dyn Fn(u32, u64) -> bool,
) -> Result<bool> {
    let open = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    let file = match fs.open_random(path, &open) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let options = ReaderOptions {
        log_number: Some(number),
        mode: RecoveryMode::PointInTime,
    };
    let mut reader = wal::Reader::new(file, options);
    let is_needed = |record: &[u8]| -> Result<bool> {
        if record.len() < HEADER_LEN {
            return Ok(true);
        }
        for operation in Operations::new(record)? {
            if operation?.family().is_some_and(|id| needs(id, number)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    while let Some(record) = reader.read_record()? {
        match is_needed(record) {
            Ok(false) => {}
            Err(error) if !error.is_corruption() => return Err(error),
            _ => return Ok(true),
        }
    }
    Ok(reader.stopped().is_some() && !reader.is_recycled())
}

fn holds_wals(fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
    let names = fs.list(dir)?;
    Ok(names
        .iter()
        .any(|name| matches!(filename::parse(name), Some(FileKind::Wal(_)))))
}

impl DbInner {
    pub(crate) fn open_wals(&self, numbers: &[u64]) -> Result<Vec<(u64, Arc<dyn RandomAccessFile>)>> {
        let open = OpenOptions {
            access: Access::Sequential,
            ..OpenOptions::default()
        };
        let opened = numbers.iter().map(|&number| {
            let path = filename::wal(&self.wal_dir, number);
            Ok((number, self.options.fs.open_random(&path, &open)?))
        });
        opened.collect()
    }

    /// `InvalidArgument` if rows of no table are in WALs that are not read, because they are outside the WAL
    /// directory: in the database's own directory, or in the one that the OPTIONS file names.
    pub(crate) fn check_unread_wals(&self) -> Result<()> {
        let fs = &*self.options.fs;
        let mut elsewhere = Vec::new();
        if self.wal_dir != self.dir {
            elsewhere.push(self.dir.clone());
        }
        let stored = self.stored_wal_dir()?;
        if let Some(stored) = stored.filter(|stored| !stored.is_empty()).map(PathBuf::from)
            && absolute(&stored) != absolute(&self.wal_dir)
            && absolute(&stored) != absolute(&self.dir)
            && fs.exists(&stored)?
            && !fs.exists(&filename::current(&stored))?
            && self.owns(&stored)?
        {
            elsewhere.push(stored);
        }
        let state = self.state.lock();
        let oldest = state.oldest_recorded_wal();
        let log_numbers: BTreeMap<u32, u64> = state
            .families
            .iter()
            .map(|(&id, family)| (id, family.log_number))
            .collect();
        drop(state);
        let needs = |id: u32, wal: u64| log_numbers.get(&id).is_some_and(|&number| number <= wal);
        for dir in elsewhere {
            if let Some(wal) = first_with_rows(fs, &dir, oldest, &needs)? {
                return Err(unread(&dir, wal, &self.wal_dir).in_file(&self.dir));
            }
        }
        Ok(())
    }

    /// The `wal_dir` in the newest OPTIONS file. A damaged file has none. A file that cannot be read now is
    /// an error, because it may name a directory with rows.
    fn stored_wal_dir(&self) -> Result<Option<String>> {
        let newest = || OptionsFile::newest(&*self.options.fs, &self.dir);
        let mut found = newest();
        for _ in 0..READ_ONLY_ATTEMPTS {
            match &found {
                // The writer has replaced the OPTIONS file by a newer one since the directory was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => found = newest(),
                _ => break,
            }
        }
        match found {
            Ok(newest) => Ok(newest.and_then(|(_, file)| file.wal_dir().map(str::to_owned))),
            Err(error) if error.is_corruption() || error.kind() == ErrorKind::InvalidArgument => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if `stored`, the directory named in the OPTIONS file, is not the WAL directory and belongs to
    /// this database. The OPTIONS of a checkpoint by RocksDB name the WAL directory of its source.
    fn owns(&self, stored: &Path) -> Result<bool> {
        let place = CandidateWalDir {
            options: &self.options,
            dir: &self.dir,
            wal_dir: stored,
            may_write: !self.read_only,
        };
        if self.wal_dir != self.dir && place.is_same_wal_dir(&self.wal_dir)? {
            return Ok(false);
        }
        match Owner::read(&*self.options.fs, stored)? {
            Some(owner) => Ok(owner.id == self.identity.db_id && !place.keeps(&owner)?),
            None => {
                log_line!(
                    self.log,
                    Warn,
                    "OPTIONS names the wal_dir {}, which is not read and has no OWNER",
                    stored.display()
                );
                Ok(false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_goes_round_and_an_empty_file_names_none() {
        let owner = Owner::new("id", Path::new("/db"), Path::new("/wals"));
        let text = format!("{}\n{}\n{}\n", owner.id, owner.dir, owner.wal_dir);
        assert_eq!(Owner::parse(&text), Some(owner));
        assert_eq!(Owner::parse(""), None);
        assert_eq!(Owner::parse("\n/db\n"), None);
    }
}
