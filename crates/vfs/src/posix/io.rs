//! Whole reads and writes: what the kernel did in part is finished, interruptions are tried again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use base::{Error, ErrorKind};
use rustix::io::Errno;

use super::sys;
use crate::{CreateOptions, io_stats};

/// The error met while doing `action` to `path`. A file larger than the process may write is a kind of full disk.
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

/// Fills `buf` from `offset` on; fewer bytes only where the file ends.
pub(super) fn read_full(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let _timer = io_stats::time_read();
    let mut done = 0;
    while done < buf.len() {
        // Not by the standard library: in the C library the call is one where threads can be cancelled, which costs as much as
        // finding the file does.
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

/// Writes all of `data` at `offset`. An error comes with the number of bytes written before it.
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

/// Has the disk hold what the kernel has of `file`: the data, or `all` there is to know of it.
pub(super) fn sync(file: &File, all: bool) -> io::Result<()> {
    let _timer = io_stats::time(|cells| &cells.fsync_nanos);
    match all {
        true => file.sync_all(),
        false => file.sync_data(),
    }
}

/// Claims disk space ahead of a file's data, a chunk at a time. A disk that cannot, or is nearly full, is not asked again:
/// the writes will tell.
#[derive(Debug)]
pub(super) struct Preallocation {
    chunk: u64,
    claimed: u64,
}

impl Preallocation {
    /// In chunks of `chunk` bytes; 0 claims nothing.
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

/// The newest bytes, which are not asked to be written yet: file systems that write neighbours along would write the
/// growing last page again and again.
const WRITEBACK_MARGIN: u64 = 1 << 20;
const WRITEBACK_ALIGNMENT: u64 = 4096;

/// Starts writing data to disk each time enough of it came in.
#[derive(Debug)]
pub(super) struct Writeback {
    /// Bytes; 0 is never.
    every: u64,
    /// Waits each time for what was started before.
    strict: bool,
    started: u64,
}

impl Writeback {
    /// As the options of the file say.
    pub(super) fn new(options: &CreateOptions) -> Writeback {
        Writeback {
            every: options.bytes_per_sync,
            strict: options.strict_bytes_per_sync,
            started: 0,
        }
    }

    /// Up to where writing may begin once the kernel has all data up to `end`.
    fn target(end: u64) -> u64 {
        end.saturating_sub(WRITEBACK_MARGIN) / WRITEBACK_ALIGNMENT * WRITEBACK_ALIGNMENT
    }

    /// True if data up to `end` is enough to begin writing again.
    pub(super) fn is_due(&self, end: u64) -> bool {
        self.every > 0 && Writeback::target(end) >= self.started.saturating_add(self.every)
    }

    /// True if [`reach`](Writeback::reach) waits for what was begun before, and may be told that it failed.
    pub(super) fn waits(&self) -> bool {
        self.strict
    }

    /// To be called when the kernel has all data up to `end`.
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
            // What cannot be begun apart from the waiting is waited for.
            Err(error) if error.kind() == io::ErrorKind::Unsupported && self.strict => sync(file, false)?,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.every = 0,
            result => result?,
        }
        self.started = target;
        Ok(())
    }
}
