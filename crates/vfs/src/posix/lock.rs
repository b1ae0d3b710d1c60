//! File locks that exclude other processes, including RocksDB's, and other users in this process.
//!
//! RocksDB takes a POSIX record lock over the whole of `LOCK`. Such a lock is lost when its own process opens
//! the file and closes it again, for whatever reason. So the lock taken here belongs to the open file
//! description: each kind is refused while the other is held. A forked child has the description too, so a
//! release unlocks it explicitly.
//!
//! If a file system does not support such locks, a POSIX lock is taken. A second one in the same process
//! would succeed, so a table of the files that this process has locked is checked before a descriptor is
//! opened.
//!
//! While the lock is held, the file records its holder and the time. RocksDB never reads that.

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use base::env::{Clock, SystemClock};
use base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

use super::io::error;
use super::sys::{self, LockHolder, LockKind};
use crate::FileLock;

/// A file, independent of its names: device and inode.
type FileId = (u64, u64);

fn id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// The files that this process has locked. The mutex is held while a lock is taken or released, which never
/// waits.
static LOCKED: Mutex<Option<HashMap<FileId, LockKind>>> = Mutex::new(None);

/// The beginning of the file's text; the process id follows.
const PID: &str = "pid ";
/// An upper bound of the text's length.
const LONGEST_NOTE: usize = 128;

#[derive(Debug)]
struct PosixLock {
    /// The file is `Some` until the lock is dropped.
    file: Option<File>,
    id: FileId,
    kind: LockKind,
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
    lock_as(path, &[LockKind::OpenFile, LockKind::Process])
}

/// Locks as [`lock`] does, by the first of `kinds` that the file system supports.
fn lock_as(path: &Path, kinds: &[LockKind]) -> Result<Box<dyn FileLock>> {
    let failed = |e: io::Error| error("lock", path, e);
    let mut table = LOCKED.lock();
    let table = table.get_or_insert_default();
    let ours = || held(path, &format!("this process ({})", std::process::id()));
    match std::fs::metadata(path) {
        Ok(metadata) if table.contains_key(&id(&metadata)) => return Err(ours()),
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
    if let Some(kind) = table.get(&id) {
        // After the check above, a file that this process has locked may have been renamed to this path.
        if *kind == LockKind::Process {
            // Closing the descriptor would release that lock.
            std::mem::forget(file);
        }
        return Err(ours());
    }
    let kind = take(&file, kinds).map_err(|e| refused(path, &file, e))?;
    table.insert(id, kind);
    write_note(&file);
    Ok(Box::new(PosixLock {
        file: Some(file),
        id,
        kind,
        path: path.to_path_buf(),
    }))
}

/// Takes a lock of the first kind that the file system supports.
fn take(file: &File, kinds: &[LockKind]) -> io::Result<LockKind> {
    let mut unknown = io::ErrorKind::Unsupported.into();
    for &kind in kinds {
        match sys::lock_whole(file, kind) {
            Ok(()) => return Ok(kind),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => unknown = e,
            Err(e) => return Err(e),
        }
    }
    Err(unknown)
}

#[cold]
fn refused(path: &Path, file: &File, e: io::Error) -> Error {
    if !matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) {
        return error("lock", path, e);
    }
    let noted = || Some(format!("process {}", noted_pid(file)?));
    let holder: Option<String> = match sys::lock_holder(file) {
        Some(LockHolder::Process(holder)) => Some(format!("process {holder}")),
        // The recorded holder is another process, or an earlier one that has ended by now.
        Some(LockHolder::OpenFile) => noted(),
        None => None,
    };
    held(path, &holder.unwrap_or_else(|| "another process".to_owned()))
}

/// Records the holder in the file. The lock is valid without the record: on a full disk the file stays empty.
fn write_note(file: &File) {
    let now = SystemClock::new().unix_seconds();
    let note = format!(
        "{PID}{} locked at {now} (seconds since 1970)\n",
        std::process::id()
    );
    debug_assert!(note.len() < LONGEST_NOTE);
    if file.set_len(0).is_ok() {
        let _ = file.write_all_at(note.as_bytes(), 0);
    }
}

fn noted_pid(file: &File) -> Option<u32> {
    let mut note = [0; LONGEST_NOTE];
    let read = file.read_at(&mut note, 0).ok()?;
    let note = str::from_utf8(&note[..read]).ok()?;
    note.strip_prefix(PID)?.split(' ').next()?.parse().ok()
}

impl FileLock for PosixLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PosixLock {
    fn drop(&mut self) {
        let mut table = LOCKED.lock();
        if let Some(file) = self.file.take() {
            // The next holder of the lock writes its own record into the file. If the truncation or the
            // unlocking fails, the close of the file still releases the lock.
            let _ = file.set_len(0);
            let _ = sys::unlock_whole(&file, self.kind);
        }
        table.get_or_insert_default().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        (dir, path)
    }

    fn open(path: &Path) -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .unwrap()
    }

    /// Takes the lock as RocksDB does, which checks the file and closes no other descriptor of it.
    #[test]
    fn a_posix_lock_is_refused_against_ours_and_ours_against_it() {
        let (_dir, path) = lock_file();
        let ours = lock(&path).unwrap();
        let theirs = open(&path);
        let refused = sys::lock_whole(&theirs, LockKind::Process).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EAGAIN));
        drop(ours);
        sys::lock_whole(&theirs, LockKind::Process).unwrap();
        let error = lock(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LockHeld);
        let holder = format!("held by process {}", std::process::id());
        assert!(error.message().ends_with(&holder), "{error}");
        drop(theirs);
        drop(lock(&path).unwrap());
    }

    #[test]
    fn the_file_says_who_holds_it_and_nothing_once_it_is_free() {
        let (_dir, path) = lock_file();
        std::fs::write(
            &path,
            "pid 1 of an older process that was killed, with a longer text",
        )
        .unwrap();
        let lock = lock(&path).unwrap();
        assert_eq!(noted_pid(&open(&path)), Some(std::process::id()));
        let note = std::fs::read_to_string(&path).unwrap();
        assert!(note.ends_with("(seconds since 1970)\n"), "{note}");
        drop(lock);
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        assert_eq!(noted_pid(&open(&path)), None);
    }

    /// A process that was forked while the lock was held has the open file, too.
    #[test]
    fn a_lock_that_was_given_back_is_not_held_by_a_forked_child() {
        let (_dir, path) = lock_file();
        let held = lock(&path).unwrap();
        let parent = std::process::id();
        // SAFETY: the child only makes system calls. It ends with its parent, which may have ended before the
        // child asked for the signal.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                while libc::getppid() as u32 == parent {
                    libc::pause();
                }
                libc::_exit(0);
            }
            child
        };
        assert!(child > 0);
        drop(held);
        let again = lock(&path);
        // SAFETY: takes numbers, no address.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        drop(again.unwrap());
    }

    /// The fallback for a file system without open file description locks.
    #[test]
    fn a_posix_lock_is_held_once_in_a_process() {
        let (_dir, path) = lock_file();
        let first = lock_as(&path, &[LockKind::Process]).unwrap();
        for kinds in [&[LockKind::Process], &[LockKind::OpenFile]] {
            let error = lock_as(&path, kinds).unwrap_err();
            assert!(error.message().contains("held by this process"), "{error}");
        }
        drop(first);
        drop(lock(&path).unwrap());
    }
}
