//! The directory of archived WALs, and the WALs in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{ErrorKind, Result};
use vfs::FileSystem;

/// The name of the directory, in that of the WALs.
pub(crate) const ARCHIVE: &str = "archive";

/// Returns the directory of archived WALs, if the live WALs are in `wal_dir`.
pub(crate) fn directory(wal_dir: &Path) -> PathBuf {
    wal_dir.join(ARCHIVE)
}

/// Creates the directory of archived WALs if it does not exist.
pub(crate) fn create_directory(fs: &dyn FileSystem, wal_dir: &Path) -> Result<()> {
    let archive = directory(wal_dir);
    if fs.exists(&archive)? {
        return Ok(());
    }
    fs.create_dir_all(&archive)?;
    fs.sync_dir(wal_dir)
}

/// The archived WALs by number. Empty if there is no archive.
pub(crate) fn archived(fs: &dyn FileSystem, wal_dir: &Path) -> Result<BTreeMap<u64, PathBuf>> {
    wals_in(fs, &directory(wal_dir))
}

/// The WALs in `dir` by number. Empty if the directory does not exist.
pub(crate) fn wals_in(fs: &dyn FileSystem, dir: &Path) -> Result<BTreeMap<u64, PathBuf>> {
    let names = match fs.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        names => names?,
    };
    let wals = names.iter().filter_map(|name| match filename::parse(name) {
        Some(FileKind::Wal(number)) => Some((number, dir.join(name))),
        _ => None,
    });
    Ok(wals.collect())
}
