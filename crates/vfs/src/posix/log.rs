//! The log file: an append reaches the kernel at once, and nearly always costs no system call.
//!
//! # Problem
//!
//! An acknowledged write must survive process death, and a `write(2)` per append costs ten times as much as
//! the rest of a small put. Shared mapped memory of the file *is* the kernel's: bytes copied there have
//! reached it. There are three obstacles.
//!
//! * The first access to a page faults (microseconds), and on a full disk kills the process (`SIGBUS`).
//! * The page after a sync is clean and faults again; where the page cache holds the file in large folios,
//!   that access makes the whole folio dirty, and the next sync writes all of it.
//! * Not every kernel and file system supports it.
//!
//! # Scheme
//!
//! ```text
//! 0 ........ window ........ position .............. prepared ............. window + WINDOW
//!            | unmapped later | data | mapped, zero   | not there yet       |
//! ```
//!
//! 1. *Prepare.* `STEP` bytes of zeros are written ahead of the data by one `write`. This is where a full
//!    disk shows, as an error. It also makes the pages several times cheaper than a hole does: they come in
//!    large folios, and none is looked up on disk.
//! 2. *Map.* A window of the file is mapped, and its prepared part is populated in bulk
//!    (`MADV_POPULATE_WRITE`). From then on an append is a comparison and a copy. When the window is used up
//!    it is unmapped and the next one mapped.
//! 3. *Write instead* where that is better: for data so long that the call does not matter; and after a sync
//!    for the next `WRITES_AFTER_SYNC` bytes, so that a log that is synced on every write dirties single
//!    pages. These writes go to the prepared zeros too: neither the file's length nor its blocks change, and
//!    a sync has no metadata to write.
//! 4. *Old bytes* of a reused file ([`FileSystem::reuse`](crate::FileSystem::reuse)) never follow the data
//!    directly: zeros precede them as in step 1 and, where an append is written past them, up to the next
//!    multiple of `CLEARED`. A reader after process death comes from zeros to the beginning of a block of old
//!    bytes, never into its middle.
//! 5. *Give up mapping* permanently when the file system is not known to support step 1 (a copy-on-write file
//!    system needs new space for old pages) or a call of step 2 fails. Every append is a `write` then.
//! 6. *Truncate* where an append fails: the file ends where it ended before, at `position`, so that a reader
//!    after process death finds no part of a record. Other files may use the space again, and the next append
//!    begins with step 1.
//! 7. *Fail permanently* if the kernel reports that writeback was lost (`sync_file_range`). It reports that
//!    once for a descriptor: a later fdatasync would succeed. Appends and syncs fail from then on, and not
//!    with a lack of space, which would allow a resume.
//!
//! # Invariants
//!
//! `room > 0` means: `cursor` is the address of byte `position` of the file in the window, and `room` bytes
//! from there are mapped, within the file, and have disk space. `position <= prepared`. Old bytes begin at a
//! multiple of `CLEARED`, at or past `prepared`. Bytes past `position` are never read back.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

use super::buffered::{SyncHandle, closed};
use super::io::{Preallocation, Writeback, error, sync, write_full};
use super::sys::{self, Mapping};
use crate::{CreateOptions, FileSync, WritableFile};

/// Bytes prepared at a time. More would save next to nothing, and make the append that prepares them that
/// much longer: with puts of a hundred bytes it is one in two hundred, so it determines their 99.9th
/// percentile.
const STEP: u64 = 32 << 10;
/// Bytes prepared at a time in a log that is synced on every write: the sync takes longer anyway, and must
/// write metadata when the length has changed.
const SYNCED_STEP: u64 = 4 * STEP;
/// Bytes mapped at a time, a multiple of both steps. Bounds the growth of the process's size by the mapping.
const WINDOW: u64 = 4 << 20;
/// Appends of this many bytes are written: zeroing, populating and copying would cost more than the call.
const STRAIGHT: usize = 64 << 10;
/// The number of bytes after a sync that are written instead of copied.
const WRITES_AFTER_SYNC: u64 = 16 << 10;
/// Old bytes after the data begin at a multiple of this, which is the block size of the log format.
const CLEARED: u64 = 32 << 10;
/// The bytes that `prepare` writes.
static ZEROS: [u8; SYNCED_STEP as usize] = [0; SYNCED_STEP as usize];

/// Whether a file may be mapped, and the properties of its mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    /// The file may not be mapped: every append is a write.
    Unmapped,
    /// The file is on a disk: a sync has a cost.
    Disk,
    /// The file is in memory: a sync does nothing, and populating for reads is the cheapest way to map pages.
    Memory,
}

impl Backing {
    fn of(file: &File) -> Backing {
        Backing::on(sys::file_system_magic(file).ok(), || sys::xfs_shares_blocks(file))
    }

    /// The backing of a file on the file system with this number, which is an XFS that shares blocks between
    /// copies if `shares_blocks`.
    fn on(magic: Option<u64>, shares_blocks: impl FnOnce() -> bool) -> Backing {
        // Linux's numbers of file systems, which no other system returns.
        const EXT: u64 = 0xef53;
        const XFS: u64 = 0x5846_5342;
        const TMPFS: u64 = 0x0102_1994;
        match magic {
            Some(EXT) => Backing::Disk,
            // A copy of a log that shares its blocks may be made at any time: `cp` does so by default.
            Some(XFS) if !shares_blocks() => Backing::Disk,
            Some(TMPFS) => Backing::Memory,
            _ => Backing::Unmapped,
        }
    }
}

/// The state that the writer and independent syncers share.
#[derive(Debug)]
struct Shared {
    handle: SyncHandle,
    /// Set by a sync, and cleared by the writer. The flag publishes no data: it only selects the cheaper way
    /// of the next appends.
    synced: AtomicBool,
    notes_syncs: bool,
    /// True once bytes were lost on their way to the disk.
    lost: AtomicBool,
    /// Locked during each sync, and during each writeback that waits: the kernel reports a failure to only
    /// one of them.
    telling: Mutex<()>,
}

impl Shared {
    fn record_sync(&self) {
        if self.notes_syncs {
            self.synced.store(true, Ordering::Relaxed);
        }
    }

    fn sync_unless_lost(&self, all: bool) -> Result<()> {
        let _telling = self.telling.lock();
        if self.lost.load(Ordering::Relaxed) {
            return Err(lost_before(&self.handle.path));
        }
        let action = if all { "fsync" } else { "fdatasync" };
        sync(&self.handle.file, all).map_err(|e| error(action, &self.handle.path, e))?;
        self.record_sync();
        Ok(())
    }

    /// The result of an append whose writeback was started or waited for.
    fn written_back(&self, started: io::Result<()>) -> Result<()> {
        started.map_err(|e| {
            self.lost.store(true, Ordering::Relaxed);
            // The error must not allow a resume, as a lack of space does: the bytes for which the disk has no
            // room were acknowledged before.
            error("sync_file_range", &self.handle.path, e).with_kind(ErrorKind::Io)
        })
    }
}

#[cold]
fn lost_before(path: &Path) -> Error {
    let message = "an earlier write of this file to the disk has failed";
    Error::new(ErrorKind::Io, message).in_file(path)
}

impl FileSync for Shared {
    fn sync(&self) -> Result<()> {
        self.sync_unless_lost(false)
    }
}

#[derive(Debug)]
struct Window {
    mapping: Mapping,
    offset: u64,
}

/// A log open for writing.
#[derive(Debug)]
pub(super) struct LogFile {
    cursor: NonNull<u8>,
    room: usize,
    position: u64,
    shared: Arc<Shared>,
    window: Option<Window>,
    /// The offset up to which the file has disk space and its length is set.
    prepared: u64,
    /// The end of the old bytes of a reused file.
    old_end: u64,
    /// Appends before this offset are written, not copied.
    write_until: u64,
    backing: Backing,
    preallocation: Preallocation,
    writeback: Writeback,
    closed: bool,
}

// SAFETY: `cursor` points into `window`, which the value owns, and a mapping belongs to the process, not to a
// thread.
unsafe impl Send for LogFile {}

impl LogFile {
    /// Writes `file`, open for reading and writing, from its front, over its `old_end` old bytes. `map`
    /// false: every append is a write.
    pub(super) fn new(file: File, path: &Path, options: &CreateOptions, map: bool, old_end: u64) -> LogFile {
        let backing = if map {
            Backing::of(&file)
        } else {
            Backing::Unmapped
        };
        LogFile {
            cursor: NonNull::dangling(),
            room: 0,
            position: 0,
            shared: Arc::new(Shared {
                handle: SyncHandle::new(file, path),
                synced: AtomicBool::new(false),
                notes_syncs: backing == Backing::Disk,
                lost: AtomicBool::new(false),
                telling: Mutex::new(()),
            }),
            window: None,
            prepared: 0,
            old_end,
            write_until: 0,
            backing,
            // A file that is extended ahead needs no claim, and pages over claimed but unwritten space are
            // expensive.
            preallocation: Preallocation::new(if backing == Backing::Unmapped {
                options.preallocate
            } else {
                0
            }),
            writeback: Writeback::new(options),
            closed: false,
        }
    }

    fn file(&self) -> &File {
        &self.shared.handle.file
    }

    #[cold]
    fn append_slowly(&mut self, data: &[u8]) -> Result<()> {
        if self.closed {
            return Err(closed(self.path()));
        }
        if self.shared.synced.swap(false, Ordering::Relaxed) {
            self.write_until = self.position + WRITES_AFTER_SYNC;
            self.room = 0;
        }
        if data.is_empty() {
            return Ok(());
        }
        let start = self.position;
        let appended = self.append_at_end(data);
        appended.map_err(|error| self.cut_back(start, error))
    }

    /// On failure the position may have moved.
    fn append_at_end(&mut self, data: &[u8]) -> Result<()> {
        if self.shared.lost.load(Ordering::Relaxed) {
            return Err(lost_before(self.path()));
        }
        if self.backing == Backing::Unmapped || data.len() >= STRAIGHT {
            return self.write(data);
        }
        let end = self.position + data.len() as u64;
        self.prepare(end);
        // A disk too full for zeros may still have room for the data, and reports an error if not.
        if self.position < self.write_until || self.prepared < end {
            return self.write(data);
        }
        self.copy(data)
    }

    /// Reverts the append that began at `start` and failed with `error`: truncates the file there. Returns
    /// the error; if the truncation fails too, it is an error that does not allow a retry.
    #[cold]
    fn cut_back(&mut self, start: u64, error: Error) -> Error {
        self.position = start;
        self.room = 0;
        // Pages after the end of a file must not be accessed.
        self.window = None;
        // The truncation releases claimed space.
        self.preallocation = Preallocation::new(0);
        let cut = match self.file().metadata() {
            // Setting a length may allocate a block, as where blocks are shared, even if the length does not
            // change.
            Ok(metadata) if metadata.len() == start => Ok(()),
            _ => self.file().set_len(start),
        };
        match cut {
            Ok(()) => {
                self.prepared = start;
                self.old_end = self.old_end.min(start);
                error
            }
            Err(e) => {
                let context = format!("and the file keeps a part of it: {e}");
                self.shared.lost.store(true, Ordering::Relaxed);
                error.with_kind(ErrorKind::Io).context(&context)
            }
        }
    }

    /// Extends the file with zeros to `end` and beyond, as far as the disk allows.
    fn prepare(&mut self, end: u64) {
        while self.prepared < end {
            let start = self.prepared.max(self.position);
            let step = match self.position < self.write_until {
                true => SYNCED_STEP,
                false => STEP,
            };
            let zeros = &ZEROS[..(step - start % step) as usize];
            match write_full(self.file(), zeros, start) {
                Ok(()) => self.prepared = start + zeros.len() as u64,
                Err((done, _full)) => {
                    self.prepared = start + done as u64;
                    return;
                }
            }
        }
    }

    /// Appends by a system call.
    fn write(&mut self, data: &[u8]) -> Result<()> {
        self.room = 0;
        let end = self.position + data.len() as u64;
        let handle = &self.shared.handle;
        self.preallocation.reach(&handle.file, end);
        let cleared = end.next_multiple_of(CLEARED).min(self.old_end);
        if end > self.prepared && end < cleared {
            let zeros = &ZEROS[..(cleared - end) as usize];
            write_full(&handle.file, zeros, end)
                .map_err(|(_, e)| error("append", &handle.path, e).at(self.position))?;
        }
        write_full(&handle.file, data, self.position)
            .map_err(|(done, e)| error("append", &handle.path, e).at(self.position + done as u64))?;
        self.position = end;
        self.prepared = self.prepared.max(end).max(cleared);
        self.start_writeback()
    }

    /// Appends by copying. The file is prepared for all of `data`.
    fn copy(&mut self, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            if self.room == 0 && !self.map() {
                return self.write(data);
            }
            let (now, later) = data.split_at(data.len().min(self.room));
            self.copy_within_room(now);
            data = later;
        }
        self.start_writeback()
    }

    #[inline]
    fn copy_within_room(&mut self, data: &[u8]) {
        debug_assert!(data.len() <= self.room);
        // SAFETY: `room` bytes from `cursor` are mapped writable, in the file, and have disk space (see the
        // invariants); no reference to them exists anywhere in the process except readers' mappings, whose
        // contract is a finished file, so `data` cannot overlap them. With `data` empty the cursor may
        // dangle, and nothing is accessed.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.cursor.as_ptr(), data.len());
            self.cursor = self.cursor.add(data.len());
        }
        self.room -= data.len();
        self.position += data.len() as u64;
    }

    /// Makes room at `position`, which is before `prepared`. False if the system refuses: then nothing is
    /// ever mapped again, and writes fill the prepared zeros.
    fn map(&mut self) -> bool {
        match self.try_map() {
            Ok(()) => true,
            Err(_) => {
                self.backing = Backing::Unmapped;
                self.window = None;
                false
            }
        }
    }

    fn try_map(&mut self) -> std::io::Result<()> {
        let window = match self.window.take() {
            Some(window) if (window.offset..window.offset + WINDOW).contains(&self.position) => window,
            behind => {
                drop(behind);
                let offset = self.position / STEP * STEP;
                let mapping = Mapping::to_write(self.file(), offset, WINDOW as usize)?;
                Window { mapping, offset }
            }
        };
        let start = (self.position - window.offset) as usize;
        let end = (self.prepared - window.offset).min(WINDOW) as usize;
        match self.backing {
            // The kernel does not track the first write to a page in memory, so pages populated for reading
            // can be written too.
            Backing::Memory => window.mapping.populate_read(start..end)?,
            _ => window.mapping.populate_write(start..end)?,
        }
        // SAFETY: `start` is less than `WINDOW`, the mapping's length.
        self.cursor = unsafe { window.mapping.start().add(start) };
        self.room = end - start;
        self.window = Some(window);
        Ok(())
    }

    fn start_writeback(&mut self) -> Result<()> {
        let shared = &self.shared;
        if !self.writeback.is_due(self.position) {
            return Ok(());
        }
        let _telling = self.writeback.waits().then(|| shared.telling.lock());
        let started = self.writeback.reach(&shared.handle.file, self.position);
        shared.written_back(started)
    }
}

impl WritableFile for LogFile {
    #[inline]
    fn append(&mut self, data: &[u8]) -> Result<()> {
        if data.len() <= self.room && !self.shared.synced.load(Ordering::Relaxed) {
            self.copy_within_room(data);
            return Ok(());
        }
        self.append_slowly(data)
    }

    fn append_partly(&mut self, data: &[u8], part: usize, error: Error) -> Error {
        // If this write fails too, the append has failed already, and its first error is reported.
        let _ = write_full(self.file(), &data[..part], self.position);
        self.cut_back(self.position, error)
    }

    fn flush(&mut self) -> Result<()> {
        if self.closed {
            Err(closed(self.path()))
        } else {
            Ok(())
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.shared.sync()
    }

    fn sync_all(&mut self) -> Result<()> {
        self.flush()?;
        self.shared.sync_unless_lost(true)
    }

    fn len(&self) -> u64 {
        self.position
    }

    fn close(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        self.room = 0;
        self.window = None;
        self.file()
            .set_len(self.position)
            .map_err(|e| error("truncate", self.path(), e))
    }

    fn path(&self) -> &Path {
        &self.shared.handle.path
    }

    fn mapped_bytes(&self) -> u64 {
        let end = |window: &Window| self.prepared.min(window.offset + WINDOW);
        let window = self.window.as_ref();
        window.map_or(0, |window| end(window).saturating_sub(window.offset))
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(self.shared.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(dir: &Path) -> LogFile {
        let path = dir.join("log");
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        LogFile::new(file, &path, &CreateOptions::default(), true, 0)
    }

    /// The kernel reports lost writeback to one call only, in this test to the `sync_file_range` of an
    /// append. A store into a page whose block a copy shares would need a new block, and kill the process if
    /// there is none.
    #[test]
    fn logs_are_mapped_where_their_blocks_are_their_own() {
        let xfs = u64::from(u32::from_be_bytes(*b"XFSB"));
        let on = |magic, shares_blocks| Backing::on(magic, || shares_blocks);
        assert_eq!(on(Some(xfs), false), Backing::Disk);
        assert_eq!(on(Some(xfs), true), Backing::Unmapped);
        assert_eq!(on(Some(0xef53), true), Backing::Disk);
        assert_eq!(on(None, false), Backing::Unmapped);
    }

    #[test]
    fn a_lost_write_back_is_no_lack_of_room_and_fails_every_later_append_and_sync() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = log(dir.path());
        file.append(b"acknowledged").unwrap();
        let syncer = file.syncer().unwrap();
        syncer.sync().unwrap();
        let no_room = Err(io::Error::from_raw_os_error(libc::ENOSPC));
        let told = file.shared.written_back(no_room).unwrap_err();
        assert_eq!(told.kind(), ErrorKind::Io);
        assert!(told.to_string().contains("No space left"), "{told}");
        let told = file.cut_back(12, told);
        assert_eq!((told.kind(), file.len()), (ErrorKind::Io, 12));
        for failed in [file.append(b"more"), file.sync(), file.sync_all(), syncer.sync()] {
            assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
        }
        file.close().unwrap();
        assert_eq!(std::fs::read(dir.path().join("log")).unwrap(), b"acknowledged");
    }

    /// If the truncation fails, a part of the data stays in the file: the error must not allow a resume.
    #[test]
    fn an_append_that_cannot_be_taken_back_is_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, b"part").unwrap();
        // The file is open for reading only, so it can be neither written nor truncated.
        let file = File::open(&path).unwrap();
        let mut file = LogFile::new(file, &path, &CreateOptions::default(), false, 0);
        let full = Error::new(ErrorKind::NoSpace, "full");
        assert_eq!(file.append_partly(b"data", 2, full).kind(), ErrorKind::Io);
        assert_eq!(file.append(b"data").unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(file.sync().unwrap_err().kind(), ErrorKind::Io);
    }
}
