//! The replacement of Linux's calls on other systems: hints are dropped, disk space is not claimed ahead,
//! logs are not mapped, and direct I/O is refused.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) use libc::mmap;
pub(super) use libc::off_t as Offset;

use super::check;
use crate::Access;
use crate::aligned_buffer::DIRECT_ALIGNMENT;

/// This system has no flag `O_NOATIME`.
pub(in crate::posix) const NO_ACCESS_TIME: libc::c_int = 0;

/// Pages cannot be made writable ahead.
pub(super) const POPULATE_WRITE: Option<libc::c_int> = None;
/// The advice nearest to making pages present.
pub(super) const POPULATE_READ: libc::c_int = libc::MADV_WILLNEED;

/// `EINVAL`, the error of a file system without direct I/O on Linux.
pub(in crate::posix) fn direct_flag() -> io::Result<libc::c_int> {
    Err(io::Error::from_raw_os_error(libc::EINVAL))
}

/// `Unsupported`: the file grows as it is written.
pub(in crate::posix) fn claim_space(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `Unsupported`: the caller syncs instead, or leaves the time to the system.
pub(in crate::posix) fn start_writeback(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `Unsupported`: the caller syncs instead, or leaves the time to the system.
pub(in crate::posix) fn start_writeback_after(_: &File, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing: this system takes no advice about reads.
pub(in crate::posix) fn advise(_: &File, _: Access) -> io::Result<()> {
    Ok(())
}

/// Does nothing: this system takes no advice about reads.
pub(in crate::posix) fn will_need(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// `Unsupported`: no file system is known to be safe for mapped logs.
pub(in crate::posix) fn file_system_magic(_: &File) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// True: files may share blocks.
pub(in crate::posix) fn xfs_shares_blocks(_: &File) -> bool {
    true
}

/// Free bytes for unprivileged processes.
pub(in crate::posix) fn free_space(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` ends in a zero, and `answer` has room for what is written.
    check(unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) })?;
    // SAFETY: the call succeeded and has filled `answer`.
    let answer = unsafe { answer.assume_init() };
    Ok((answer.f_bavail as u64).saturating_mul(answer.f_frsize as u64))
}

/// The alignment of disks.
pub(in crate::posix) fn direct_read_alignment(_: &File) -> usize {
    DIRECT_ALIGNMENT
}
