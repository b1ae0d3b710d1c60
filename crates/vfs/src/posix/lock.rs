//! File locks that keep out other processes, RocksDB's among them, and our own.
//!
//! RocksDB takes a POSIX record lock over the whole of `LOCK`, so that is the lock to take. Such a lock knows processes
//! only: a second one in the same process succeeds, and closing *any* descriptor of the file releases it. Hence the
//! table of files this process has locked, which is looked into before a descriptor is opened.

use std::collections::HashSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

use super::io::error;
use super::sys;
use crate::FileLock;

/// A file whatever its names: device and inode.
type FileId = (u64, u64);

fn id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// The files this process has locked. Held while a lock is taken or released, which does not wait.
static LOCKED: Mutex<Option<HashSet<FileId>>> = Mutex::new(None);

#[derive(Debug)]
struct PosixLock {
    /// `Some` until dropped.
    file: Option<File>,
    id: FileId,
    path: PathBuf,
}

#[cold]
fn held(path: &Path, by: &str) -> Error {
    Error::new(
        ErrorKind::LockHeld,
        format!("Resource temporarily unavailable: held by {by}"),
    )
    .in_file(path)
}

/// Locks `path`, creating it if missing.
pub(super) fn lock(path: &Path) -> Result<Box<dyn FileLock>> {
    let failed = |e: io::Error| error("lock", path, e);
    let mut table = LOCKED.lock();
    let table = table.get_or_insert_default();
    let ours = || held(path, &format!("this process ({})", std::process::id()));
    match std::fs::metadata(path) {
        Ok(metadata) if table.contains(&id(&metadata)) => return Err(ours()),
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(failed)?;
    let id = id(&file.metadata().map_err(failed)?);
    if table.contains(&id) {
        // Another name of a locked file was moved here since we looked. Closing the descriptor would release that lock.
        std::mem::forget(file);
        return Err(ours());
    }
    if let Err(e) = sys::lock_whole(&file) {
        let contended = matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES));
        return Err(match (contended, sys::lock_holder(&file)) {
            (true, Some(holder)) => held(path, &format!("process {holder}")),
            (true, None) => held(path, "another process"),
            (false, _) => failed(e),
        });
    }
    table.insert(id);
    Ok(Box::new(PosixLock {
        file: Some(file),
        id,
        path: path.to_path_buf(),
    }))
}

impl FileLock for PosixLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PosixLock {
    fn drop(&mut self) {
        let mut table = LOCKED.lock();
        drop(self.file.take());
        table.get_or_insert_default().remove(&self.id);
    }
}
