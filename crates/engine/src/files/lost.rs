//! The directory `lost` of a database: files that the database does not need, but that may hold data missing
//! elsewhere. Opens, and RocksDB, ignore it.

use std::path::{Path, PathBuf};

use base::{ErrorKind, Progress, Result};
use vfs::FileSystem;

use crate::files::copy::copy;

/// The name of the directory `lost`.
pub(crate) const LOST: &str = "lost";

/// The directory `lost` of one database.
#[derive(Debug)]
pub(crate) struct Lost<'a> {
    fs: &'a dyn FileSystem,
    dir: PathBuf,
}

impl<'a> Lost<'a> {
    /// The directory `lost` of the database in `db_dir`. It is created if it does not exist, and its name is
    /// made durable.
    pub fn create(fs: &'a dyn FileSystem, db_dir: &Path) -> Result<Lost<'a>> {
        let dir = db_dir.join(LOST);
        fs.create_dir_all(&dir)?;
        fs.sync_dir(db_dir)?;
        Ok(Lost { fs, dir })
    }

    /// The path of the directory `lost`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Moves a file of the database to `lost`. Returns its new path.
    pub fn take(&self, path: &Path) -> Result<PathBuf> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = free_name(self.fs, &self.dir, &name)?;
        if let Err(error) = self.fs.rename(path, &to) {
            if error.kind() == ErrorKind::NoSpace || !self.fs.exists(path)? {
                return Err(error);
            }
            // A directory of tables may be on another file system, to which a rename fails.
            copy(self.fs, path, &to, &Progress::new())?;
            self.fs.sync_dir(&self.dir)?;
            self.fs.remove(path)?;
        }
        self.fs.sync_dir(&self.dir)?;
        Ok(to)
    }

    /// Links or copies a file to `lost`, unless an interrupted attempt has left one of that name and size
    /// there. [`sync`](Lost::sync) makes the name durable.
    pub fn keep(&self, path: &Path) -> Result<PathBuf> {
        keep_in(self.fs, path, &self.dir)
    }

    /// Makes the names in the directory durable.
    pub fn sync(&self) -> Result<()> {
        self.fs.sync_dir(&self.dir)
    }
}

/// Creates a second name for `path` in `lost`, unless a file of its name and size is there, and returns that
/// name. The name is not durable yet.
pub(crate) fn keep_in(fs: &dyn FileSystem, path: &Path, lost: &Path) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    let same = lost.join(name);
    if fs.exists(&same)? && fs.size(&same)? == fs.size(path)? {
        return Ok(same);
    }
    let to = free_name(fs, lost, &name.to_string_lossy())?;
    match fs.link(path, &to) {
        Err(error) if error.kind() == ErrorKind::NoSpace => return Err(error),
        // Linking may fail because the file system has no links, or because the directory is on another one.
        Err(_) => copy(fs, path, &to, &Progress::new())?,
        Ok(()) => {}
    }
    Ok(to)
}

/// A name in `lost` that no file has.
fn free_name(fs: &dyn FileSystem, lost: &Path, name: &str) -> Result<PathBuf> {
    let mut to = lost.join(name);
    let mut nth = 1;
    while fs.exists(&to)? {
        to = lost.join(format!("{name}.{nth}"));
        nth += 1;
    }
    Ok(to)
}
