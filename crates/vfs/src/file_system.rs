//! The file-system traits and their contract. One conformance suite checks all implementations.
//!
//! # Three places a byte can be
//!
//! | place | how it gets there | survives process death | survives power loss |
//! |---|---|---|---|
//! | our buffer | [`append`](WritableFile::append) to a plain file | no | no |
//! | the kernel | `append` to a log file; [`flush`](WritableFile::flush) of any file | yes | perhaps |
//! | the disk | [`sync`](WritableFile::sync), [`FileSync::sync`] | yes | yes |
//!
//! "Perhaps" means: any prefix of it, a prefix torn at any byte, or zeros in its place; of a log file also
//! later pages without earlier ones. Synced bytes never change by themselves.
//!
//! Names are data of their directory: a create, rename, link or remove survives process death at once, and
//! power loss only after [`sync_dir`](FileSystem::sync_dir) of the directory (of both directories for a
//! rename across two). Until then it may or may not survive; a rename survives entirely or not at all.
//! Syncing a file does not sync its name.
//!
//! # Errors
//!
//! Every error names the action and the path. A missing file is `NotFound`, a full disk or quota `NoSpace`, a
//! lock that is held `LockHeld`, and every other error of the system `Io`.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use base::{Error, Result, Temperature};

use crate::{PendingRead, ReadBuffer};

/// The expected access pattern of a file, for the kernel's readahead.
///
/// See the example of [`FileSystem`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The kernel decides how much it reads ahead.
    #[default]
    Normal,
    /// Random reads: the kernel reads nothing beyond the request.
    Random,
    /// Sequential reads: the kernel reads more ahead.
    Sequential,
}

/// The options of opening a file for reading. The default is `pread` through the page cache.
///
/// See the example of [`FileSystem`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Bypasses the page cache (`O_DIRECT`). Default: false. `NotSupported` if the file system cannot.
    pub direct: bool,
    /// Maps the whole file, so that [`RandomAccessFile::mapped`] returns its bytes without a copy. Default:
    /// false; `direct` takes precedence. The file must not shrink while open, and a disk that fails under a
    /// mapping kills the process (`SIGBUS`): use it for finished files on trusted disks.
    pub mmap: bool,
    /// The readahead. Default: [`Access::Normal`].
    pub access: Access,
    /// The kind of storage that holds the file, as far as the caller knows: a hint, which the implementations
    /// in this crate ignore.
    pub temperature: Temperature,
}

/// The options of creating a file for writing. The default is a buffered file.
///
/// See the example of [`FileSystem`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Each append has reached the kernel when it returns, at the cost of a copy and nearly always without a
    /// system call. The file is extended ahead, so zeros (after [`FileSystem::reuse`] also old bytes) follow
    /// the data until [`close`](WritableFile::close). Default: false. Takes precedence over `direct`.
    pub log: bool,
    /// Bypasses the page cache (`O_DIRECT`). Default: false. `NotSupported` if the file system cannot.
    pub direct: bool,
    /// Disk space in bytes to claim at a time, ahead of the data and without a change of the file's length. A
    /// hint; logs that are extended ahead ignore it. Default: 0, none.
    pub preallocate: u64,
    /// Asks the kernel to start writing to disk each time this number of bytes was appended, so that a later
    /// sync has little left to do. It waits for nothing and makes nothing durable. The newest mebibyte is
    /// excluded; a log checks this every 32 KiB. Ignored with `direct`. Default: 0, never.
    pub bytes_per_sync: u64,
    /// Each request of `bytes_per_sync` also waits until the previous request is complete, so that never much
    /// more data is in flight. If the file system cannot start a write without waiting, it is an fdatasync.
    /// This makes nothing durable either. Default: false.
    pub strict_bytes_per_sync: bool,
    /// How often the file will be read: a hint for file systems with several kinds of storage, which the
    /// implementations in this crate ignore.
    pub temperature: Temperature,
}

/// The only interface to a disk. Shared as `Arc<dyn FileSystem>`; every method may be called from any thread.
///
/// Paths are used as they are. Names that are not UTF-8 are never ours, and [`list`](FileSystem::list) skips
/// them.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs as file_system;
/// # }
///
/// use esker::file_system::{Access, CreateOptions, FileSystem, MemFs, OpenOptions};
///
/// let fs = MemFs::new();
/// let lock = fs.lock("/LOCK".as_ref())?;
/// let mut file = fs.create("/a".as_ref(), &CreateOptions { preallocate: 4096, ..Default::default() })?;
/// file.append(b"some bytes")?;
/// let sync = file.syncer();
/// file.sync()?;
/// file.close()?;
///
/// let options = OpenOptions { access: Access::Random, ..Default::default() };
/// let file = fs.open_random("/a".as_ref(), &options)?;
/// let mut bytes = [0; 5];
/// file.read_exact_at(5, &mut bytes)?;
/// assert_eq!(&bytes, b"bytes");
/// # drop((lock, sync));
/// # Ok::<(), base::Error>(())
/// ```
pub trait FileSystem: Send + Sync + Debug {
    /// Opens a file for reading at any offset. `NotFound` if it does not exist.
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>>;

    /// Creates a file for writing; an existing one is truncated (after power loss before the next sync it has
    /// either the old bytes or some of the new). The directory must exist. A file may have at most one writer
    /// at a time.
    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>>;

    /// Renames `old` to `new` and opens it for writing over its old bytes from the front: the disk space
    /// exists already, so a sync has no metadata to write. Until [`close`](WritableFile::close) old bytes
    /// follow the new ones; in a log on a disk, zeros follow first, at least up to a multiple of 32 KiB. A
    /// file system that may not write over old bytes begins an empty file. `direct` is ignored.
    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>>;

    /// Renames a file or a directory, atomically replacing a file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file's name. Open handles stay readable; the space is freed when the last of them is closed.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Gives the file `from` a second name. Fails if `to` exists.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;

    /// Sets the length of a file to `len` bytes, by truncation or by added zeros. Not for files open for
    /// writing or mapped. `NotSupported` if the file system cannot add zeros.
    fn truncate(&self, path: &Path, len: u64) -> Result<()>;

    /// The names (not paths) of the files and directories in `dir`, sorted bytewise.
    fn list(&self, dir: &Path) -> Result<Vec<String>>;

    /// Creates a directory and its parents. Existing ones are left as they are.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> Result<()>;

    /// Makes the names in `dir` durable: all creates, renames, links and removes so far.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// Makes the bytes of a file durable that is not open for writing: one that another process left behind.
    fn sync_file(&self, path: &Path) -> Result<()>;

    /// True if the file or directory exists.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// The length of a file in bytes. For a log open for writing, it includes the zeros it was extended by.
    fn size(&self, path: &Path) -> Result<u64>;

    /// Same as [`size`](FileSystem::size), but 0 for a damaged file whose size cannot be found, such as an
    /// encrypted file that lost its header with the power. For files that are only counted or deleted.
    fn size_or_zero(&self, path: &Path) -> Result<u64> {
        match self.size(path) {
            Err(error) if error.is_corruption() => Ok(0),
            size => size,
        }
    }

    /// The time the file was last written to, in Unix seconds.
    fn modified_seconds(&self, path: &Path) -> Result<u64>;

    /// The number of names of a file. `NotSupported` if the file system does not count them: then a file is
    /// not truncated in place of its removal. Default: `NotSupported`.
    fn links(&self, path: &Path) -> Result<u64> {
        Err(Error::not_supported("the file system does not count the names of files").in_file(path))
    }

    /// Locks a file, which is created if missing, against other processes, including RocksDB's, and against
    /// this one. `LockHeld` if the lock is held; the error names the holder where the system reports it. The
    /// lock is released when the value drops or the process ends. The file must not be opened by other means
    /// meanwhile: closing it would release the lock.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// The free bytes of the file system that holds `dir`.
    fn free_space(&self, dir: &Path) -> Result<u64>;

    /// The file system below, if this one does nothing but watch the operations of one open database. Another
    /// database that is given this one uses that instead. Default: none.
    fn unwatched(&self) -> Option<Arc<dyn FileSystem>> {
        None
    }

    /// The bytes of a whole file, for small files: CURRENT, IDENTITY, OPTIONS.
    fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let file = self.open_random(path, &OpenOptions::default())?;
        let len =
            usize::try_from(file.len()).map_err(|_| Error::not_supported("file too large").in_file(path))?;
        let mut bytes = vec![0; len];
        file.read_exact_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Creates a file with these bytes and syncs it, but not its name.
    fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.create(path, &CreateOptions::default())?;
        file.append(bytes)?;
        file.sync()?;
        file.close()
    }

    /// Atomically replaces the content of `path` by `bytes`: after a crash at any moment it has either the
    /// old content or the new, and after success the new. `temporary`, in the same directory, is written and
    /// renamed; an error may leave it there.
    fn replace_file(&self, path: &Path, temporary: &Path, bytes: &[u8]) -> Result<()> {
        self.write_file(temporary, bytes)?;
        self.rename(temporary, path)?;
        match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => self.sync_dir(dir),
            _ => self.sync_dir(Path::new(".")),
        }
    }
}

/// The number of bytes per read where a whole file is read: large enough to keep a disk busy, small enough to
/// hold in memory.
pub const PIECE: usize = 256 << 10;

/// A file open for reading. Any number of threads may read at once. Renaming or removing the file does not
/// affect it.
///
/// See the example of [`FileSystem`].
pub trait RandomAccessFile: Send + Sync + Debug {
    /// Fills `buf` from `offset` on and returns the number of bytes read, fewer than requested only at the
    /// end of the file. Bytes that a writer hands to the kernel are visible to reads that begin later, also
    /// beyond [`len`](RandomAccessFile::len), unless the file is mapped.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize>;

    /// The length of the file in bytes when it was opened.
    fn len(&self) -> u64;

    /// True if the file was empty when it was opened.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole file ([`len`](RandomAccessFile::len) bytes) without a copy, if it is mapped. An
    /// implementation may decline to map.
    fn mapped(&self) -> Option<&[u8]>;

    /// Starts reading a range into the page cache without waiting. A hint: it cannot fail, and does nothing
    /// for `direct` files.
    fn prefetch(&self, offset: u64, len: u64);

    /// Starts reading `len` bytes from `offset` on, into `memory`, without waiting. Its result is that of
    /// [`read_at`](RandomAccessFile::read_at). Several reads are started [`together`](crate::together). See
    /// [`pending_read`](crate::pending_read).
    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        PendingRead::at_once(len, memory, |buf| self.read_at(offset, buf))
    }

    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Fills `buf` from `offset` on. A file that is too short is `Corruption` with path and offset: the
    /// caller expects the bytes to exist.
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

    /// Passes the [`len`](RandomAccessFile::len) bytes of the file from the front to `each`, [`PIECE`] bytes
    /// at a time, and stops at the first error. A file that has become shorter is `Corruption`, as for
    /// [`read_exact_at`](RandomAccessFile::read_exact_at).
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

/// A file that one owner writes from front to back.
///
/// After an error of `append`, `flush` or `sync` the bytes past the last sync are undefined, and the file can
/// only be dropped or removed. There is one exception: an `append` to a log that fails with `NoSpace` leaves
/// the log unchanged, with no part of the data after its end, and may be tried again; after a loss of power a
/// part may be there. A failed sync in particular must not be repeated in the hope of success: the kernel may
/// have dropped the bytes.
///
/// Dropping without [`close`](WritableFile::close) has the effect of process death: bytes in our buffer are
/// lost, and a log keeps the bytes that follow its data.
///
/// See the example of [`FileSystem`].
pub trait WritableFile: Send + Debug {
    /// Appends `data` at the end. In a log, the kernel has it when this returns, and process death during the
    /// call tears it at a byte. In other files, it may stay in our buffer.
    fn append(&mut self, data: &[u8]) -> Result<()>;

    /// Fails with `error`, as an append of `data` of which the first `part` bytes reached the file. Used by
    /// [`FaultFs`](crate::FaultFs). Returns the error. Default: those bytes are appended, and stay in the
    /// file.
    fn append_partly(&mut self, data: &[u8], part: usize, error: Error) -> Error {
        self.append(&data[..part]).err().unwrap_or(error)
    }

    /// Passes the bytes in our buffer to the kernel.
    fn flush(&mut self) -> Result<()>;

    /// Flushes, then makes bytes and length durable (`fdatasync`).
    fn sync(&mut self) -> Result<()>;

    /// Flushes, then makes bytes, length and the rest of the metadata durable (`fsync`).
    fn sync_all(&mut self) -> Result<()>;

    /// The number of bytes appended.
    fn len(&self) -> u64;

    /// True if nothing was appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Flushes, truncates everything after the data (zeros, old bytes, claimed space) and closes. Syncs
    /// nothing: after power loss the truncated bytes may reappear. Later calls of `append`, `flush` and
    /// `sync` fail; closing again is allowed.
    fn close(&mut self) -> Result<()>;

    /// The path it was created with.
    fn path(&self) -> &Path;

    /// Bytes of the file that are mapped and populated for writing. Default: none.
    fn mapped_bytes(&self) -> u64 {
        0
    }

    /// A handle that syncs while the writer continues to append, so that a group commit need not hold the
    /// writer. It makes durable all bytes that the kernel had when `sync` was called: all appends of a log,
    /// the flushed ones of another file. `None` if the implementation cannot.
    fn syncer(&self) -> Option<Arc<dyn FileSync>>;
}

/// A sync that any thread may run; see [`FileSync::ahead`].
pub type Ahead = Box<dyn FnOnce() + Send>;

/// Syncs a file independently of its writer, from any thread. Stays usable after the writer is closed.
///
/// See the example of [`FileSystem`].
pub trait FileSync: Send + Sync + Debug {
    /// Makes durable all bytes that the kernel has (`fdatasync`).
    fn sync(&self) -> Result<()>;

    /// Begins a sync, and returns the rest of it, which any thread may run while other threads sync other
    /// files: for [`sync_together`](crate::sync_together()). Once it was run, the next call of
    /// [`sync`](FileSync::sync) returns its result, and syncs nothing: so the file must not be written to any
    /// more. `None` if syncs of several files gain nothing by running at the same time. Default: `None`.
    fn ahead(self: Arc<Self>) -> Option<Ahead> {
        None
    }
}

/// Holds a lock until it is dropped.
///
/// See the example of [`FileSystem`].
pub trait FileLock: Send + Sync + Debug {
    /// The locked file.
    fn path(&self) -> &Path;
}
