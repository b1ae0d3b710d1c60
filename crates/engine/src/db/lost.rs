//! The directory `lost` in that of a database: files that the database does without, and that may hold what is missing elsewhere.
//! Opens and RocksDB pass over it.

use std::path::{Path, PathBuf};

use base::{ErrorKind, Progress, Result};
use vfs::FileSystem;

use super::checkpoint::copy;

/// Its name.
pub(crate) const LOST: &str = "lost";

/// The directory `lost` of one database.
#[derive(Debug)]
pub(crate) struct Lost<'a> {
    fs: &'a dyn FileSystem,
    dir: PathBuf,
}

impl<'a> Lost<'a> {
    /// That of the database in `db_dir`, which is created if missing, and its name made durable.
    pub fn create(fs: &'a dyn FileSystem, db_dir: &Path) -> Result<Lost<'a>> {
        let dir = db_dir.join(LOST);
        fs.create_dir_all(&dir)?;
        fs.sync_dir(db_dir)?;
        Ok(Lost { fs, dir })
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Moves a file of the database there. Gives its path.
    pub fn take(&self, path: &Path) -> Result<PathBuf> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = free_name(self.fs, &self.dir, &name)?;
        if let Err(error) = self.fs.rename(path, &to) {
            if error.kind() == ErrorKind::NoSpace || !self.fs.exists(path)? {
                return Err(error);
            }
            // A directory of tables may be on another file system.
            copy(self.fs, path, &to, &Progress::new())?;
            self.fs.sync_dir(&self.dir)?;
            self.fs.remove(path)?;
        }
        self.fs.sync_dir(&self.dir)?;
        Ok(to)
    }

    /// Gives a file another name there, or a copy, unless one of that name and size is there already: an earlier attempt was cut off.
    /// [`sync`](Lost::sync) makes the name durable.
    pub fn keep(&self, path: &Path) -> Result<PathBuf> {
        keep_in(self.fs, path, &self.dir)
    }

    /// Makes the names there durable.
    pub fn sync(&self) -> Result<()> {
        self.fs.sync_dir(&self.dir)
    }
}

/// Gives `path` a second name of the same kind in `lost`, unless it has one there, and gives that name. The name is not yet durable.
pub(crate) fn keep_in(fs: &dyn FileSystem, path: &Path, lost: &Path) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    let same = lost.join(name);
    if fs.exists(&same)? && fs.size(&same)? == fs.size(path)? {
        return Ok(same);
    }
    let to = free_name(fs, lost, &name.to_string_lossy())?;
    match fs.link(path, &to) {
        Err(error) if error.kind() == ErrorKind::NoSpace => return Err(error),
        // Not every file system has links, and the directory may be on another one.
        Err(_) => copy(fs, path, &to, &Progress::new())?,
        Ok(()) => {}
    }
    Ok(to)
}

/// A name in `lost` that nothing has.
fn free_name(fs: &dyn FileSystem, lost: &Path, name: &str) -> Result<PathBuf> {
    let mut to = lost.join(name);
    let mut nth = 1;
    while fs.exists(&to)? {
        to = lost.join(format!("{name}.{nth}"));
        nth += 1;
    }
    Ok(to)
}
