//! What every file system of ours promises. The bodies behind these traits are checked by one conformance suite.
//!
//! # Three places a byte can be
//!
//! | place | how it gets there | survives process death | survives power loss |
//! |---|---|---|---|
//! | our buffer | [`append`](WritableFile::append) to a plain file | no | no |
//! | the kernel | `append` to a log file; [`flush`](WritableFile::flush) of any file | yes | perhaps |
//! | the disk | [`sync`](WritableFile::sync), [`FileSync::sync`] | yes | yes |
//!
//! "Perhaps" means: any prefix of it, a prefix torn at any byte, or zeros in its place; of a log file also later
//! pages without earlier ones. Bytes once synced never change by themselves.
//!
//! Names are data of their directory: a create, rename, link or remove survives process death at once, and power loss
//! only after [`sync_dir`](FileSystem::sync_dir) of the directory (both, for a rename across two). Until then it may be
//! there or not; a rename is there as a whole or not at all. Syncing a file does not sync its name.
//!
//! # Errors
//!
//! Every error names the action and the path. A missing file is `NotFound`, a full disk or quota `NoSpace`, a lock
//! somebody holds `LockHeld`, everything else the system says is `Io`.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use base::{Error, Result, Temperature};

use crate::{PendingRead, ReadBuffer};

/// How a file will be read, for the kernel's readahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The kernel guesses.
    #[default]
    Normal,
    /// Here and there: nothing beyond the request is fetched.
    Random,
    /// Front to back: more is fetched ahead.
    Sequential,
}

/// How to open a file for reading. The default is `pread` through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Past the page cache (`O_DIRECT`). Default false. `NotSupported` where the file system cannot.
    pub direct: bool,
    /// Map the whole file, so that [`RandomAccessFile::mapped`] gives its bytes without a copy. Default false; `direct`
    /// wins. The file must not become shorter while open, and a disk that fails under a mapping kills the process
    /// (`SIGBUS`): for files that are finished, on disks that are trusted.
    pub mmap: bool,
    /// Readahead. Default [`Access::Normal`].
    pub access: Access,
    /// Which storage it lies on, as far as whoever opens it knows: a hint, that the bodies here pass over.
    pub temperature: Temperature,
}

/// How to create a file for writing. The default is a buffered file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Each append is the kernel's when it returns, at the cost of a copy and (nearly always) no system call. The file is
    /// extended ahead, so zeros (after [`FileSystem::reuse`] also old bytes) follow the data until
    /// [`close`](WritableFile::close). Default false. Wins over `direct`.
    pub log: bool,
    /// Past the page cache (`O_DIRECT`). Default false. `NotSupported` where the file system cannot.
    pub direct: bool,
    /// Disk space in bytes to claim at a time, ahead of the data and without changing the file's length. A hint; logs
    /// extended ahead ignore it. Default 0: none.
    pub preallocate: u64,
    /// Ask the kernel to start writing to disk each time that many bytes came in, so that a later sync finds little to
    /// do. Waits for nothing and makes nothing durable. The newest mebibyte is left alone; a log looks at it each 32 KiB.
    /// Ignored with `direct`. Default 0: never.
    pub bytes_per_sync: u64,
    /// Each time the kernel is asked to, what it was asked for before is waited for, so that never much more than that is under way; an
    /// fdatasync where a file system cannot start writing apart from waiting. Makes nothing durable either. Default false.
    pub strict_bytes_per_sync: bool,
    /// How often it will be read: a hint for file systems with storage of several kinds, that the bodies here pass over.
    pub temperature: Temperature,
}

/// The only door to a disk. Shared as `Arc<dyn FileSystem>`; every method may be called from any thread.
///
/// Paths are taken as they are. Names that are not UTF-8 are never ours, and [`list`](FileSystem::list) leaves them out.
pub trait FileSystem: Send + Sync + Debug {
    /// Opens a file for reading at any offset. `NotFound` if it does not exist.
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>>;

    /// Creates a file for writing; one that exists is truncated (what survives power loss before the next sync is either
    /// the old bytes or some of the new). The directory must exist. At most one writer to a file at a time.
    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>>;

    /// Renames `old` to `new` and opens it for writing over its old bytes from the front: the disk space is there
    /// already, so a sync has no metadata to write. Until [`close`](WritableFile::close) the new bytes are followed by old
    /// ones; of a log on a disk by zeros first, to a multiple of 32 KiB at least. `direct` is ignored.
    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>>;

    /// Renames a file or a directory, atomically replacing a file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file's name. Those who have it open go on reading; the space is freed when the last of them is done.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Gives the file `from` a second name. Fails if `to` exists.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;

    /// Makes a file `len` bytes long, cutting it or adding zeros. Not for files open for writing or mapped.
    fn truncate(&self, path: &Path, len: u64) -> Result<()>;

    /// Names (not paths) of the files and directories in `dir`, sorted by byte.
    fn list(&self, dir: &Path) -> Result<Vec<String>>;

    /// Creates a directory and those above it. Those that exist are left alone.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> Result<()>;

    /// Makes the names in `dir` durable: creates, renames, links and removes done before.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// Makes the bytes of a file durable that nobody has open for writing: one that another process left behind.
    fn sync_file(&self, path: &Path) -> Result<()>;

    /// True if the file or directory exists.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// Length of a file in bytes. Of a log open for writing: with the zeros it was extended by.
    fn size(&self, path: &Path) -> Result<u64>;

    /// When the file was last written to, in seconds since 1970.
    fn modified_seconds(&self, path: &Path) -> Result<u64>;

    /// Locks a file, which is created if missing, against everybody: other processes, RocksDB's among them, and this
    /// one. `LockHeld` if somebody has it; it names the process where the system tells. Released when the value drops or
    /// the process ends. The file must not be opened by other means meanwhile: closing it would release the lock.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// Bytes the file system that holds `dir` has free for us.
    fn free_space(&self, dir: &Path) -> Result<u64>;

    /// The bytes of a whole file, for small ones: CURRENT, IDENTITY, OPTIONS.
    fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let file = self.open_random(path, &OpenOptions::default())?;
        let len =
            usize::try_from(file.len()).map_err(|_| Error::not_supported("file too large").in_file(path))?;
        let mut bytes = vec![0; len];
        file.read_exact_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Creates a file of these bytes and syncs it, but not its name.
    fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.create(path, &CreateOptions::default())?;
        file.append(bytes)?;
        file.sync()?;
        file.close()
    }

    /// Makes `bytes` the content of `path` such that after a crash at any moment it has either the old content or the new,
    /// and after success the new. `temporary`, in the same directory, is written and renamed; an error may leave it there.
    fn replace_file(&self, path: &Path, temporary: &Path, bytes: &[u8]) -> Result<()> {
        self.write_file(temporary, bytes)?;
        self.rename(temporary, path)?;
        match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => self.sync_dir(dir),
            _ => self.sync_dir(Path::new(".")),
        }
    }
}

/// Bytes read at a time where a file is read as a whole: enough for a disk to be busy, little to hold.
pub const PIECE: usize = 256 << 10;

/// A file open for reading. Any number of threads may read at once. Renaming or removing the file does not disturb it.
pub trait RandomAccessFile: Send + Sync + Debug {
    /// Fills `buf` from `offset` on and gives the number of bytes read, fewer than asked only where the file ends.
    /// What a writer hands to the kernel is seen by reads that begin later, beyond [`len`](RandomAccessFile::len) too,
    /// unless the file is mapped.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize>;

    /// Length in bytes when it was opened.
    fn len(&self) -> u64;

    /// True if it was empty when it was opened.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole file ([`len`](RandomAccessFile::len) bytes) without a copy, if it is mapped. A body may decline to map
    /// although asked.
    fn mapped(&self) -> Option<&[u8]>;

    /// Starts reading a range into the page cache and does not wait. A hint: it cannot fail, and does nothing for
    /// `direct` files.
    fn prefetch(&self, offset: u64, len: u64);

    /// Begins to read `len` bytes from `offset` on, into `memory`, and does not wait: what comes of it is what
    /// [`read_at`](RandomAccessFile::read_at) would have said. Several are begun [`together`](crate::together). See
    /// [`pending_read`](crate::pending_read).
    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        PendingRead::at_once(len, memory, |buf| self.read_at(offset, buf))
    }

    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Fills `buf` from `offset` on. A file too short is `Corruption` with path and offset: whoever calls this believes
    /// the bytes to be there.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let read = self.read_at(offset, buf)?;
        if read == buf.len() {
            return Ok(());
        }
        Err(
            Error::corruption(format!("truncated: read {read} of {} bytes", buf.len()))
                .in_file(self.path())
                .at(offset),
        )
    }

    /// Hands its [`len`](RandomAccessFile::len) bytes from the front, [`PIECE`] of them at a time, and ends at the first
    /// error. A file that has become shorter is `Corruption`, as for [`read_exact_at`](RandomAccessFile::read_exact_at).
    fn for_each_piece(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut buffer = vec![0; self.len().min(PIECE as u64) as usize];
        let mut offset = 0;
        while offset < self.len() {
            let piece = (self.len() - offset).min(PIECE as u64) as usize;
            self.read_exact_at(offset, &mut buffer[..piece])?;
            each(&buffer[..piece])?;
            offset += piece as u64;
        }
        Ok(())
    }
}

/// A file being written from front to back by one owner.
///
/// After an error of `append`, `flush` or `sync` the bytes past the last sync are unknown, and all that is left is to
/// drop or remove the file; with one exception: an `append` to a log that fails with `NoSpace` leaves the log as it was, no part of
/// the data behind its end, and may be tried again. After a loss of power a part may be there. A failed sync in particular must not be repeated in the hope of a better answer: the kernel may
/// have dropped the bytes.
///
/// Dropping without [`close`](WritableFile::close) is what process death is: bytes in our buffer are lost, and a log
/// keeps the bytes that follow its data.
pub trait WritableFile: Send + Debug {
    /// Adds `data` at the end. To a log: the kernel has it when this returns, and death in the middle tears it at a byte.
    /// To other files: it may rest in our buffer.
    fn append(&mut self, data: &[u8]) -> Result<()>;

    /// For [`FaultFs`](crate::FaultFs): fails by `error` as an append of `data` does whose first `part` bytes came into the file. Gives
    /// the error. Default: they are appended, and stay.
    fn append_partly(&mut self, data: &[u8], part: usize, error: Error) -> Error {
        self.append(&data[..part]).err().unwrap_or(error)
    }

    /// Hands what our buffer holds to the kernel.
    fn flush(&mut self) -> Result<()>;

    /// Flushes, then makes bytes and length durable (`fdatasync`).
    fn sync(&mut self) -> Result<()>;

    /// Flushes, then makes bytes, length and the rest of the metadata durable (`fsync`).
    fn sync_all(&mut self) -> Result<()>;

    /// Bytes appended.
    fn len(&self) -> u64;

    /// True if nothing was appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Flushes, cuts off all that follows the data (zeros, old bytes, claimed space) and closes. Syncs nothing: after
    /// power loss what was cut off may be back. Later calls of `append`, `flush` and `sync` fail; closing again is fine.
    fn close(&mut self) -> Result<()>;

    /// The path it was created by.
    fn path(&self) -> &Path;

    /// Bytes of the file that are mapped and populated to be written to. Default: none.
    fn mapped_bytes(&self) -> u64 {
        0
    }

    /// A handle to sync by while the writer goes on appending, so that a group commit need not hold the writer. It makes
    /// durable what the kernel had when `sync` was called: all appends of a log, the flushed ones of another file.
    /// `None` where the body cannot.
    fn syncer(&self) -> Option<Arc<dyn FileSync>>;
}

/// Syncs a file apart from its writer, from any thread. Stays usable after the writer closed.
pub trait FileSync: Send + Sync + Debug {
    /// Makes durable what the kernel has (`fdatasync`).
    fn sync(&self) -> Result<()>;
}

/// Holds a lock; dropping it releases.
pub trait FileLock: Send + Sync + Debug {
    /// The locked file.
    fn path(&self) -> &Path;
}
