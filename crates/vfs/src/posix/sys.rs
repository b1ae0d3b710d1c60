//! System calls that `std` lacks, each behind a safe interface. Those of Linux alone are in `linux`; on other
//! systems `portable` replaces it.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::Access;
use crate::aligned_buffer::DIRECT_ALIGNMENT;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;
pub(super) use system::{
    NO_ACCESS_TIME, advise, claim_space, direct_flag, direct_read_alignment, file_system_magic, free_space,
    start_writeback, start_writeback_after, will_need, xfs_shares_blocks,
};
use system::{Offset, POPULATE_READ, POPULATE_WRITE, mmap};

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn offset(value: u64) -> io::Result<Offset> {
    Offset::try_from(value).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

/// The size of a page of memory in bytes.
pub(super) fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: takes a number and gives one.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).expect("the system has a page size")
    })
}

/// A part of a file, mapped shared, and unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread. The type itself never reads or writes through
// `start`.
unsafe impl Send for Mapping {}
// SAFETY: a mapping belongs to the process, and `madvise` may be called from any thread.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, at: u64, len: usize, protection: libc::c_int) -> io::Result<Mapping> {
        // SAFETY: no address is requested, so no existing mapping is affected; the kernel checks everything
        // else.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset(at)?,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("the kernel maps nothing at address 0 unasked");
        Ok(Mapping { start, len })
    }

    /// Maps the first `len` bytes of `file` for reading; `len` is not 0.
    pub(super) fn to_read(file: &File, len: usize) -> io::Result<Mapping> {
        Mapping::new(file, 0, len, libc::PROT_READ)
    }

    /// Maps `len` bytes from `at`, a multiple of the page size, for writing. They may be beyond the end of
    /// the file, and must not be accessed while they are.
    pub(super) fn to_write(file: &File, at: u64, len: usize) -> io::Result<Mapping> {
        Mapping::new(file, at, len, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// The start of the mapping.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The length of the mapping in bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn madvise(&self, range: Range<usize>, advice: libc::c_int) -> io::Result<()> {
        let start = range.start / page_size() * page_size();
        let end = range.end.min(self.len);
        if start >= end {
            return Ok(());
        }
        loop {
            // SAFETY: the range is within the mapping, and none of the advice used here discards bytes.
            let result =
                check(unsafe { libc::madvise(self.start.as_ptr().add(start).cast(), end - start, advice) });
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Makes the pages of a range present and writable, so that access causes no fault. Returns an error,
    /// instead of a signal, if that is not possible.
    pub(super) fn populate_write(&self, range: Range<usize>) -> io::Result<()> {
        match POPULATE_WRITE {
            Some(advice) => self.madvise(range, advice),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Makes the pages of a range present.
    pub(super) fn populate_read(&self, range: Range<usize>) -> io::Result<()> {
        self.madvise(range, POPULATE_READ)
    }

    /// Starts reading a range.
    pub(super) fn will_need(&self, range: Range<usize>) -> io::Result<()> {
        self.madvise(range, libc::MADV_WILLNEED)
    }

    /// Advises the kernel of the access pattern of the whole mapping.
    pub(super) fn advise(&self, access: Access) -> io::Result<()> {
        let advice = match access {
            Access::Normal => return Ok(()),
            Access::Random => libc::MADV_RANDOM,
            Access::Sequential => libc::MADV_SEQUENTIAL,
        };
        self.madvise(0..self.len, advice)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is exactly the range that `mmap` returned, and every user of a pointer into it holds
        // the mapping.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The alignment of buffers and offsets for direct writes of `file`: a power of two, and at least the size
/// that disks write at a time, whatever they accept.
pub(super) fn direct_write_alignment(file: &File) -> usize {
    direct_read_alignment(file).max(DIRECT_ALIGNMENT)
}

/// The owner of a file lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockKind {
    /// The open file description: that of one `open`, and of the processes forked since.
    OpenFile,
    /// The process, which loses the lock when it closes any descriptor of the file. RocksDB's locks are of
    /// this kind.
    Process,
}

/// The owner of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockHolder {
    /// An open file description.
    OpenFile,
    /// The process of this id.
    Process(i32),
}

/// The types of locks, which systems declare with different integers.
const WRITE_LOCK: libc::c_short = libc::F_WRLCK as libc::c_short;
const NO_LOCK: libc::c_short = libc::F_UNLCK as libc::c_short;

fn whole_file(ty: libc::c_short) -> libc::flock {
    libc::flock {
        l_type: ty,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn set_lock(file: &File, kind: LockKind, ty: libc::c_short) -> io::Result<()> {
    let command = match kind {
        LockKind::OpenFile => libc::F_OFD_SETLK,
        LockKind::Process => libc::F_SETLK,
    };
    let lock = whole_file(ty);
    // SAFETY: the descriptor is open, and the call reads a `flock`.
    check(unsafe { libc::fcntl(file.as_raw_fd(), command, &lock) })
}

/// Takes a write lock on the whole file; does not wait. `EINVAL` if that kind of lock is not supported.
pub(super) fn lock_whole(file: &File, kind: LockKind) -> io::Result<()> {
    set_lock(file, kind, WRITE_LOCK)
}

/// Releases the lock, for every process that has the descriptor.
pub(super) fn unlock_whole(file: &File, kind: LockKind) -> io::Result<()> {
    set_lock(file, kind, NO_LOCK)
}

/// The holder that prevents [`lock_whole`] from succeeding, if it is known.
pub(super) fn lock_holder(file: &File) -> Option<LockHolder> {
    // The query for open file descriptions also reports locks of this process. Where it is not supported, the
    // query for processes is used.
    [libc::F_OFD_GETLK, libc::F_GETLK]
        .into_iter()
        .find_map(|command| {
            let mut lock = whole_file(WRITE_LOCK);
            // SAFETY: the descriptor is open, and the call reads and fills a `flock`.
            check(unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) }).ok()?;
            match lock.l_pid {
                _ if lock.l_type == NO_LOCK => None,
                -1 => Some(LockHolder::OpenFile),
                holder if holder > 0 => Some(LockHolder::Process(holder)),
                _ => None,
            }
        })
}
