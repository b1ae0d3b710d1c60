//! The disk, through POSIX and Linux extensions.

mod buffered;
mod direct;
mod io;
mod lock;
mod log;
#[cfg(not(all(target_os = "linux", feature = "io-uring")))]
mod no_ring;
mod random_access;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod ring;
mod started;
pub(crate) mod sys;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use ::base::{Error, ErrorKind, Result};

use self::buffered::BufferedFile;
use self::direct::DirectWriter;
use self::io::error;
use self::log::LogFile;
use self::random_access::{DirectFile, MappedFile, PreadFile};
#[cfg(not(all(target_os = "linux", feature = "io-uring")))]
use no_ring as ring;

pub use self::ring::together;
use crate::{CreateOptions, FileLock, FileSystem, OpenOptions, RandomAccessFile, WritableFile, io_stats};

/// The file systems of this machine.
///
/// * Logs are mapped where that is sound: ext2/3/4, XFS made without reflinks (`mkfs.xfs -m reflink=0`) and
///   tmpfs on Linux 5.14 and later. Elsewhere (XFS with reflinks, btrfs, ZFS, overlay, network file systems,
///   older kernels) each append is a `write`: if a copy of a live log shares its blocks, as copies by `cp`
///   do, a store into a mapped page needs a new block, and on a full disk would kill the process.
/// * A disk that *fails* (`EIO`, not a full one) when a page of a mapped log must be read back kills the
///   process with `SIGBUS`, and so does a truncation of the log by another process.
///   [`PosixFs::without_mapped_logs`] avoids both.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs as file_system;
/// # }
///
/// use esker::file_system::{FileSystem, PosixFs};
///
/// let fs = PosixFs::new();
/// assert!(fs.exists("/".as_ref())?);
/// assert!(fs.free_space("/".as_ref())? > 0);
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PosixFs {
    map_logs: bool,
    io_uring: bool,
}

impl PosixFs {
    /// Maps logs where it is sound.
    pub fn new() -> PosixFs {
        PosixFs {
            map_logs: true,
            io_uring: true,
        }
    }

    /// Never maps a log: each append is a `write`.
    pub fn without_mapped_logs() -> PosixFs {
        PosixFs {
            map_logs: false,
            ..PosixFs::new()
        }
    }

    /// Does not use io_uring, as on a kernel without it: [started](RandomAccessFile::start_read) reads are
    /// hints.
    pub fn without_io_uring() -> PosixFs {
        PosixFs {
            io_uring: false,
            ..PosixFs::new()
        }
    }

    fn writer(
        &self,
        file: File,
        path: &Path,
        options: &CreateOptions,
        old_end: u64,
    ) -> Box<dyn WritableFile> {
        if options.log {
            Box::new(LogFile::new(file, path, options, self.map_logs, old_end))
        } else {
            Box::new(BufferedFile::new(file, path, options, old_end > 0))
        }
    }
}

impl Default for PosixFs {
    fn default() -> PosixFs {
        PosixFs::new()
    }
}

/// The error of an open. Its text says if the file system refused `O_DIRECT`.
fn open_error(action: &str, direct: bool, path: &Path, e: std::io::Error) -> Error {
    let refused = direct && e.raw_os_error() == Some(libc::EINVAL);
    let error = error(action, path, e);
    if refused {
        error
            .with_kind(ErrorKind::NotSupported)
            .context("Direct I/O is not supported here")
    } else {
        error
    }
}

/// The flag of a file that is read or written past the page cache, if it is to be.
fn direct_flag(direct: bool) -> std::io::Result<i32> {
    match direct {
        true => sys::direct_flag(),
        false => Ok(0),
    }
}

/// Opens a file without updates of its access time, which would make the kernel check the clock and the mount
/// on each read. Only the file's owner may ask for that; otherwise it is opened normally.
fn open_for_reading(path: &Path, flags: i32) -> std::io::Result<File> {
    let open = |flags| fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    match open(flags | sys::NO_ACCESS_TIME) {
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => open(flags),
        opened => opened,
    }
}

impl FileSystem for PosixFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let _timer = io_stats::time(|cells| &cells.open_nanos);
        let file = direct_flag(options.direct)
            .and_then(|flag| open_for_reading(path, flag))
            .map_err(|e| open_error("open for reading", options.direct, path, e))?;
        let metadata = file.metadata().map_err(|e| error("stat", path, e))?;
        if metadata.is_dir() {
            return Err(error(
                "open for reading",
                path,
                std::io::ErrorKind::IsADirectory.into(),
            ));
        }
        let len = metadata.len();
        if options.direct {
            return Ok(Arc::new(DirectFile::new(file, len, path, self.io_uring)));
        }
        match usize::try_from(len) {
            Ok(len) if options.mmap => Ok(Arc::new(MappedFile::new(&file, len, path, options.access)?)),
            _ => Ok(Arc::new(PreadFile::new(
                file,
                len,
                path,
                options.access,
                self.io_uring,
            )?)),
        }
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let _timer = io_stats::time(|cells| &cells.open_nanos);
        let direct = options.direct && !options.log;
        let open = |flag| {
            fs::OpenOptions::new()
                .read(options.log)
                .write(true)
                .create(true)
                .truncate(true)
                .custom_flags(flag)
                .open(path)
        };
        let file = direct_flag(direct)
            .and_then(open)
            .map_err(|e| open_error("create", direct, path, e))?;
        if direct {
            return Ok(Box::new(DirectWriter::new(file, path, options)));
        }
        Ok(self.writer(file, path, options, 0))
    }

    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        self.rename(old, new)?;
        let _timer = io_stats::time(|cells| &cells.open_nanos);
        let file = fs::OpenOptions::new()
            .read(options.log)
            .write(true)
            .open(new)
            .map_err(|e| error("open for writing again", new, e))?;
        let old_end = file.metadata().map_err(|e| error("stat", new, e))?.len();
        Ok(self.writer(file, new, options, old_end))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(|e| error(&format!("rename to {}", to.display()), from, e))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|e| error("remove", path, e))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        fs::hard_link(from, to).map_err(|e| error(&format!("link to {}", to.display()), from, e))
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(len))
            .map_err(|e| error("truncate", path, e))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).map_err(|e| error("list", dir, e))? {
            let entry = entry.map_err(|e| error("list", dir, e))?;
            names.extend(entry.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir).map_err(|e| error("create directory", dir, e))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        fs::remove_dir(dir).map_err(|e| error("remove directory", dir, e))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        match File::open(dir).and_then(|dir| dir.sync_all()) {
            // The error of a sync is ignored if the file system does not sync directories: there is no
            // alternative.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            result => result.map_err(|e| error("fsync directory", dir, e)),
        }
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        let synced = File::open(path).and_then(|file| io::sync(&file, false));
        synced.map_err(|e| error("fdatasync", path, e))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        path.try_exists().map_err(|e| error("look for", path, e))
    }

    fn size(&self, path: &Path) -> Result<u64> {
        let metadata = fs::metadata(path).map_err(|e| error("stat", path, e))?;
        Ok(metadata.len())
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        let modified = fs::metadata(path)
            .and_then(|metadata| metadata.modified())
            .map_err(|e| error("stat", path, e))?;
        Ok(modified
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()))
    }

    fn links(&self, path: &Path) -> Result<u64> {
        let metadata = fs::metadata(path).map_err(|e| error("stat", path, e))?;
        Ok(metadata.nlink())
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        lock::lock(path)
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        sys::free_space(dir).map_err(|e| error("statvfs", dir, e))
    }
}
