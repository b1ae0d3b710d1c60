//! Calls of Linux alone.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) use libc::mmap64 as mmap;
pub(super) use libc::off64_t as Offset;

use super::{check, offset};
use crate::Access;
use crate::aligned_buffer::DIRECT_ALIGNMENT;

/// The flag of a file whose access time reads do not change.
pub(in crate::posix) const NO_ACCESS_TIME: libc::c_int = libc::O_NOATIME;

/// The advice that makes pages present and writable.
pub(super) const POPULATE_WRITE: Option<libc::c_int> = Some(libc::MADV_POPULATE_WRITE);
/// The advice that makes pages present.
pub(super) const POPULATE_READ: libc::c_int = libc::MADV_POPULATE_READ;

/// The flag of a file that is read or written past the page cache.
pub(in crate::posix) fn direct_flag() -> io::Result<libc::c_int> {
    Ok(libc::O_DIRECT)
}

/// Claims disk space without changing the file's length.
pub(in crate::posix) fn claim_space(file: &File, at: u64, len: u64) -> io::Result<()> {
    let (at, len) = (offset(at)?, offset(len)?);
    // SAFETY: takes numbers; the descriptor is open.
    check(unsafe { libc::fallocate64(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, at, len) })
}

/// Asks the kernel to start writing a range to disk.
pub(in crate::posix) fn start_writeback(file: &File, at: u64, len: u64) -> io::Result<()> {
    let (at, len) = (offset(at)?, offset(len)?);
    // SAFETY: takes numbers; the descriptor is open.
    check(unsafe { libc::sync_file_range(file.as_raw_fd(), at, len, libc::SYNC_FILE_RANGE_WRITE) })
}

/// Waits until the writeback in flight of the first `len` bytes is complete, then asks the kernel to start
/// that of the rest of them.
pub(in crate::posix) fn start_writeback_after(file: &File, len: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: takes numbers; the descriptor is open.
    check(unsafe { libc::sync_file_range(file.as_raw_fd(), 0, offset(len)?, flags) })
}

fn fadvise(file: &File, at: u64, len: u64, advice: libc::c_int) -> io::Result<()> {
    let (at, len) = (offset(at)?, offset(len)?);
    // SAFETY: takes numbers; the descriptor is open.
    match unsafe { libc::posix_fadvise64(file.as_raw_fd(), at, len, advice) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Advises the kernel of the access pattern of the whole file through this descriptor.
pub(in crate::posix) fn advise(file: &File, access: Access) -> io::Result<()> {
    let advice = match access {
        Access::Normal => return Ok(()),
        Access::Random => libc::POSIX_FADV_RANDOM,
        Access::Sequential => libc::POSIX_FADV_SEQUENTIAL,
    };
    fadvise(file, 0, 0, advice)
}

/// Starts reading a range into the page cache.
pub(in crate::posix) fn will_need(file: &File, at: u64, len: u64) -> io::Result<()> {
    fadvise(file, at, len, libc::POSIX_FADV_WILLNEED)
}

/// The magic number of the file system that holds `file`.
pub(in crate::posix) fn file_system_magic(file: &File) -> io::Result<u64> {
    let mut answer = MaybeUninit::<libc::statfs64>::uninit();
    // SAFETY: the descriptor is open, and `answer` has room for what is written.
    check(unsafe { libc::fstatfs64(file.as_raw_fd(), answer.as_mut_ptr()) })?;
    // SAFETY: the call succeeded and has filled `answer`.
    Ok(unsafe { answer.assume_init() }.f_type as u64)
}

/// `XFS_IOC_FSGEOMETRY_V4`: `_IOR('X', 124, struct xfs_fsop_geom_v4)`.
const XFS_GEOMETRY: u64 = 0x8070_587c;
/// `XFS_FSOP_GEOM_FLAGS_REFLINK`.
const XFS_REFLINK: u32 = 1 << 20;

/// True unless the XFS that holds `file` was made without reflinks: its files may share blocks, and a write
/// to a shared block needs a new one.
pub(in crate::posix) fn xfs_shares_blocks(file: &File) -> bool {
    /// 112 bytes, as the ioctl number encodes.
    #[repr(C, align(8))]
    struct Geometry {
        before: [u32; 23],
        flags: u32,
        after: [u32; 4],
    }
    let mut geometry = Geometry {
        before: [0; 23],
        flags: 0,
        after: [0; 4],
    };
    // SAFETY: the descriptor is open, and the call writes the number of bytes that its number encodes, which
    // `geometry` has.
    let asked = unsafe { libc::ioctl(file.as_raw_fd(), XFS_GEOMETRY as _, &raw mut geometry) };
    asked != 0 || geometry.flags & XFS_REFLINK != 0
}

/// Free bytes for unprivileged processes.
pub(in crate::posix) fn free_space(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statvfs64>::uninit();
    loop {
        // SAFETY: `path` ends in a zero, and `answer` has room for what is written.
        match check(unsafe { libc::statvfs64(path.as_ptr(), answer.as_mut_ptr()) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(()) => break,
        }
    }
    // SAFETY: the call succeeded and has filled `answer`.
    let answer = unsafe { answer.assume_init() };
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}

/// The alignment of buffers and offsets for direct reads of `file`: a power of two, the smallest that the
/// file system accepts. A block of a table seldom begins at a page boundary, and each byte outside it is read
/// in vain.
pub(in crate::posix) fn direct_read_alignment(file: &File) -> usize {
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the descriptor is open, the path is an empty C string, and `answer` has room for what is
    // written.
    let result = check(unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            answer.as_mut_ptr(),
        )
    });
    // SAFETY: all zeros is a valid value, and the call only writes valid values.
    let answer = unsafe { answer.assume_init() };
    let told = match result {
        Ok(()) => answer.stx_dio_offset_align.max(answer.stx_dio_mem_align) as usize,
        Err(_) => 0,
    };
    match told.is_power_of_two() {
        true => told,
        false => DIRECT_ALIGNMENT,
    }
}
