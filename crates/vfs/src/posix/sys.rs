//! System calls that `std` lacks, each behind a safe interface. Linux.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::Access;
use crate::aligned_buffer::DIRECT_ALIGNMENT;

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn offset(value: u64) -> io::Result<libc::off64_t> {
    libc::off64_t::try_from(value).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
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
// SAFETY: as above; `madvise` may be called from any thread.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, at: u64, len: usize, protection: libc::c_int) -> io::Result<Mapping> {
        // SAFETY: no address is requested, so no existing mapping is affected; the kernel checks everything
        // else.
        let start = unsafe {
            libc::mmap64(
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

    /// Maps the first `len` bytes of `file`, not 0, for reading.
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
        self.madvise(range, libc::MADV_POPULATE_WRITE)
    }

    /// Makes the pages of a range present.
    pub(super) fn populate_read(&self, range: Range<usize>) -> io::Result<()> {
        self.madvise(range, libc::MADV_POPULATE_READ)
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
        // SAFETY: exactly the range that `mmap64` returned; users of pointers into it hold the mapping too.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Claims disk space without changing the file's length.
pub(super) fn claim_space(file: &File, at: u64, len: u64) -> io::Result<()> {
    let (at, len) = (offset(at)?, offset(len)?);
    // SAFETY: takes numbers; the descriptor is open.
    check(unsafe { libc::fallocate64(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, at, len) })
}

/// Asks the kernel to start writing a range to disk.
pub(super) fn start_writeback(file: &File, at: u64, len: u64) -> io::Result<()> {
    let (at, len) = (offset(at)?, offset(len)?);
    // SAFETY: takes numbers; the descriptor is open.
    check(unsafe { libc::sync_file_range(file.as_raw_fd(), at, len, libc::SYNC_FILE_RANGE_WRITE) })
}

/// Waits until the writeback in flight of the first `len` bytes is complete, then asks the kernel to start
/// that of the rest of them.
pub(super) fn start_writeback_after(file: &File, len: u64) -> io::Result<()> {
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
pub(super) fn advise(file: &File, access: Access) -> io::Result<()> {
    let advice = match access {
        Access::Normal => return Ok(()),
        Access::Random => libc::POSIX_FADV_RANDOM,
        Access::Sequential => libc::POSIX_FADV_SEQUENTIAL,
    };
    fadvise(file, 0, 0, advice)
}

/// Starts reading a range into the page cache.
pub(super) fn will_need(file: &File, at: u64, len: u64) -> io::Result<()> {
    fadvise(file, at, len, libc::POSIX_FADV_WILLNEED)
}

/// The magic number of the file system that holds `file`.
pub(super) fn file_system_magic(file: &File) -> io::Result<u64> {
    let mut answer = MaybeUninit::<libc::statfs64>::uninit();
    // SAFETY: the descriptor is open, and `answer` has room for what is written.
    check(unsafe { libc::fstatfs64(file.as_raw_fd(), answer.as_mut_ptr()) })?;
    // SAFETY: the call succeeded and has filled it.
    Ok(unsafe { answer.assume_init() }.f_type as u64)
}

/// `XFS_IOC_FSGEOMETRY_V4`: `_IOR('X', 124, struct xfs_fsop_geom_v4)`.
const XFS_GEOMETRY: u64 = 0x8070_587c;
/// `XFS_FSOP_GEOM_FLAGS_REFLINK`.
const XFS_REFLINK: u32 = 1 << 20;

/// True unless the XFS that holds `file` was made without reflinks: its files may share blocks, and a write
/// to a shared block needs a new one.
pub(super) fn xfs_shares_blocks(file: &File) -> bool {
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
pub(super) fn free_space(path: &Path) -> io::Result<u64> {
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
    // SAFETY: the call succeeded and has filled it.
    let answer = unsafe { answer.assume_init() };
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}

/// The alignment of buffers and offsets for direct writes of `file`: a power of two, and at least the size
/// that disks write at a time, whatever they accept.
pub(super) fn direct_write_alignment(file: &File) -> usize {
    direct_read_alignment(file).max(DIRECT_ALIGNMENT)
}

/// The alignment of buffers and offsets for direct reads of `file`: a power of two, the smallest that the
/// file system accepts. A block of a table seldom begins at a page boundary, and each byte outside it is read
/// in vain.
pub(super) fn direct_read_alignment(file: &File) -> usize {
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

fn whole_file(ty: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: ty as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn set_lock(file: &File, kind: LockKind, ty: libc::c_int) -> io::Result<()> {
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
    set_lock(file, kind, libc::F_WRLCK)
}

/// Releases the lock, for every process that has the descriptor.
pub(super) fn unlock_whole(file: &File, kind: LockKind) -> io::Result<()> {
    set_lock(file, kind, libc::F_UNLCK)
}

/// The holder that prevents [`lock_whole`] from succeeding, if it is known.
pub(super) fn lock_holder(file: &File) -> Option<LockHolder> {
    // The query for open file descriptions also reports locks of this process. Where it is not supported, the
    // query for processes is used.
    [libc::F_OFD_GETLK, libc::F_GETLK]
        .into_iter()
        .find_map(|command| {
            let mut lock = whole_file(libc::F_WRLCK);
            // SAFETY: the descriptor is open, and the call reads and fills a `flock`.
            check(unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) }).ok()?;
            match lock.l_pid {
                _ if lock.l_type == libc::F_UNLCK as libc::c_short => None,
                -1 => Some(LockHolder::OpenFile),
                holder if holder > 0 => Some(LockHolder::Process(holder)),
                _ => None,
            }
        })
}
