//! Complete reads and writes: partial results are continued, and interrupted calls repeated.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use base::{Error, ErrorKind};
use rustix::io::Errno;

use super::sys;
use crate::{CreateOptions, io_stats};

/// The error of `action` on `path`. A file larger than the process may write counts as a full disk.
#[cold]
pub(super) fn error(action: &str, path: &Path, source: io::Error) -> Error {
    let too_large = source.kind() == io::ErrorKind::FileTooLarge;
    let error = Error::io(action, path, source);
    if too_large {
        error.with_kind(ErrorKind::NoSpace)
    } else {
        error
    }
}

/// Fills `buf` from `offset` on; fewer bytes only at the end of the file.
pub(super) fn read_full(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let _timer = io_stats::time_read();
    let mut done = 0;
    while done < buf.len() {
        // The standard library is avoided here: the C library's call is a cancellation point of threads,
        // which costs as much as finding the file.
        match rustix::io::pread(file, &mut buf[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    io_stats::count_read(done);
    Ok(done)
}

/// Writes all of `data` at `offset`. An error has the number of bytes written before it.
pub(super) fn write_full(file: &File, data: &[u8], offset: u64) -> Result<(), (usize, io::Error)> {
    let _timer = io_stats::time_write();
    let mut done = 0;
    while done < data.len() {
        match file.write_at(&data[done..], offset + done as u64) {
            Ok(0) => return Err((done, io::ErrorKind::WriteZero.into())),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((done, error)),
        }
    }
    io_stats::count_write(done);
    Ok(())
}

/// Syncs the data of `file`, or with `all` its metadata too.
pub(super) fn sync(file: &File, all: bool) -> io::Result<()> {
    let _timer = io_stats::time(|cells| &cells.fsync_nanos);
    match all {
        true => file.sync_all(),
        false => file.sync_data(),
    }
}

/// Claims disk space ahead of a file's data, a chunk at a time. After a failure, on a disk that cannot or is
/// nearly full, it does not try again: the writes will report it.
#[derive(Debug)]
pub(super) struct Preallocation {
    chunk: u64,
    claimed: u64,
}

impl Preallocation {
    /// Claims in chunks of `chunk` bytes; 0 claims nothing.
    pub(super) fn new(chunk: u64) -> Preallocation {
        Preallocation { chunk, claimed: 0 }
    }

    /// Claims space for data up to `end`.
    pub(super) fn reach(&mut self, file: &File, end: u64) {
        if self.chunk == 0 || end <= self.claimed {
            return;
        }
        let target = end.div_ceil(self.chunk).saturating_mul(self.chunk);
        let _timer = io_stats::time(|cells| &cells.allocate_nanos);
        match sys::claim_space(file, self.claimed, target - self.claimed) {
            Ok(()) => self.claimed = target,
            Err(_) => self.chunk = 0,
        }
    }

    /// True if space beyond `end` may have been claimed.
    pub(super) fn exceeds(&self, end: u64) -> bool {
        self.claimed > end
    }
}

/// The number of newest bytes whose writeback is not started yet: file systems that write neighbouring pages
/// together would otherwise write the growing last page again and again.
const WRITEBACK_MARGIN: u64 = 1 << 20;
const WRITEBACK_ALIGNMENT: u64 = 4096;

/// Starts writeback each time enough data has been written.
#[derive(Debug)]
pub(super) struct Writeback {
    /// The number of bytes; 0: never.
    every: u64,
    /// True to wait each time for the previous writeback to end.
    strict: bool,
    started: u64,
}

impl Writeback {
    /// The writeback that the options of the file specify.
    pub(super) fn new(options: &CreateOptions) -> Writeback {
        Writeback {
            every: options.bytes_per_sync,
            strict: options.strict_bytes_per_sync,
            started: 0,
        }
    }

    /// The end of the data whose writeback may start once the kernel has all data up to `end`.
    fn target(end: u64) -> u64 {
        end.saturating_sub(WRITEBACK_MARGIN) / WRITEBACK_ALIGNMENT * WRITEBACK_ALIGNMENT
    }

    /// True if data up to `end` is enough to start writeback again.
    pub(super) fn is_due(&self, end: u64) -> bool {
        self.every > 0 && Writeback::target(end) >= self.started.saturating_add(self.every)
    }

    /// True if [`reach`](Writeback::reach) waits for the previous writeback, and may get its error.
    pub(super) fn waits(&self) -> bool {
        self.strict
    }

    /// Must be called when the kernel has all data up to `end`.
    pub(super) fn reach(&mut self, file: &File, end: u64) -> io::Result<()> {
        if !self.is_due(end) {
            return Ok(());
        }
        let target = Writeback::target(end);
        let _timer = io_stats::time(|cells| &cells.range_sync_nanos);
        let started = match self.strict {
            true => sys::start_writeback_after(file, target),
            false => sys::start_writeback(file, self.started, target - self.started),
        };
        match started {
            // If writeback cannot be started without waiting, a file with `strict_bytes_per_sync` waits for a
            // sync.
            Err(error) if error.kind() == io::ErrorKind::Unsupported && self.strict => sync(file, false)?,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.every = 0,
            result => result?,
        }
        self.started = target;
        Ok(())
    }
}

/// Reads aligned ranges into an aligned buffer. A count that is not a multiple of the alignment means the end
/// of the file: the kernel accepts no offset that would continue there.
pub(super) fn read_aligned(file: &File, alignment: usize, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    let _timer = io_stats::time_read();
    let mut done = 0;
    while done < buf.len() && done.is_multiple_of(alignment) {
        match file.read_at(&mut buf[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    io_stats::count_read(done);
    Ok(done)
}
