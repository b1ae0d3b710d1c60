//! The plain file for writing: our buffer, then the page cache.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use parking_lot::Mutex;

use super::io::{Preallocation, Writeback, error, sync, write_full};
use super::sys;
use crate::{Ahead, CreateOptions, FileSync, WritableFile};

/// The number of bytes buffered before a system call, which writes everything up to a multiple of it. The
/// kernel keeps data written at once in one large folio if it can, and finds large folios faster on reads. A
/// larger buffer would leave a core's cache before it is written.
const BUFFER: usize = 256 << 10;

/// The state that writer and syncers share: the descriptor stays open until the last of them is done.
#[derive(Debug)]
pub(super) struct SyncHandle {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// The result of a sync [ahead](FileSync::ahead), until it is returned.
    ahead: Mutex<Option<Result<()>>>,
}

impl SyncHandle {
    pub(super) fn new(file: File, path: &Path) -> SyncHandle {
        SyncHandle {
            file,
            path: path.to_path_buf(),
            ahead: Mutex::new(None),
        }
    }

    /// Syncs all bytes that the kernel has now.
    pub(super) fn sync_now(&self) -> Result<()> {
        sync(&self.file, false).map_err(|e| error("fdatasync", &self.path, e))
    }
}

impl FileSync for SyncHandle {
    fn sync(&self) -> Result<()> {
        let ahead = self.ahead.lock().take();
        ahead.unwrap_or_else(|| self.sync_now())
    }

    fn ahead(self: Arc<Self>) -> Option<Ahead> {
        // This is a hint: the file gets its place on the disk now, so that several files can share the next
        // commit of the journal.
        if let Ok(metadata) = self.file.metadata() {
            let _unsupported = sys::start_writeback(&self.file, 0, metadata.len());
        }
        Some(Box::new(move || {
            let result = self.sync_now();
            *self.ahead.lock() = Some(result);
        }))
    }
}

/// The error of a call that came after `close`.
#[cold]
pub(super) fn closed(path: &Path) -> Error {
    Error::invalid_argument("the file is closed").in_file(path)
}

/// A file written through the page cache.
#[derive(Debug)]
pub(super) struct BufferedFile {
    handle: Arc<SyncHandle>,
    buffer: Vec<u8>,
    /// Bytes that the kernel has.
    written: u64,
    /// True if the file had bytes before, some of which may follow the data written.
    overwrites: bool,
    preallocation: Preallocation,
    writeback: Writeback,
    closed: bool,
}

impl BufferedFile {
    /// Creates a writer that writes `file` from its start. `overwrites` is true if the file already has
    /// bytes.
    pub(super) fn new(file: File, path: &Path, options: &CreateOptions, overwrites: bool) -> BufferedFile {
        BufferedFile {
            handle: Arc::new(SyncHandle::new(file, path)),
            buffer: Vec::new(),
            written: 0,
            overwrites,
            preallocation: Preallocation::new(options.preallocate),
            writeback: Writeback::new(options),
            closed: false,
        }
    }

    /// Passes `data` to the kernel at `written`. Bytes that were written before an error are counted, so that
    /// a later call continues after them.
    fn hand_over(&mut self, data: &[u8]) -> Result<(), (usize, Error)> {
        let SyncHandle { file, path, .. } = &*self.handle;
        self.preallocation.reach(file, self.written + data.len() as u64);
        if let Err((done, e)) = write_full(file, data, self.written) {
            let failure = error("append", path, e).at(self.written + done as u64);
            self.written += done as u64;
            return Err((done, failure));
        }
        self.written += data.len() as u64;
        self.writeback
            .reach(file, self.written)
            .map_err(|e| (data.len(), error("sync_file_range", path, e)))
    }

    fn gather(&mut self, data: &[u8]) {
        if self.buffer.capacity() == 0 && !data.is_empty() {
            self.buffer.reserve_exact(BUFFER);
        }
        self.buffer.extend_from_slice(data);
    }

    fn check_open(&self) -> Result<()> {
        if self.closed {
            Err(closed(&self.handle.path))
        } else {
            Ok(())
        }
    }
}

impl WritableFile for BufferedFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.check_open()?;
        let room = BUFFER - (self.len() % BUFFER as u64) as usize;
        if data.len() < room {
            self.gather(data);
            return Ok(());
        }
        let whole = room + (data.len() - room) / BUFFER * BUFFER;
        let (now, later) = data.split_at(whole);
        if self.buffer.is_empty() {
            self.hand_over(now).map_err(|(_, e)| e)?;
        } else {
            let (first, rest) = now.split_at(room);
            self.gather(first);
            self.flush()?;
            if !rest.is_empty() {
                self.hand_over(rest).map_err(|(_, e)| e)?;
            }
        }
        self.gather(later);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.check_open()?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.hand_over(&buffer);
        match result {
            Ok(()) => buffer.clear(),
            Err((done, _)) => drop(buffer.drain(..done)),
        }
        self.buffer = buffer;
        result.map_err(|(_, e)| e)
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.handle.sync_now()
    }

    fn sync_all(&mut self) -> Result<()> {
        self.flush()?;
        let SyncHandle { file, path, .. } = &*self.handle;
        sync(file, true).map_err(|e| error("fsync", path, e))
    }

    fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn close(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        self.flush()?;
        self.closed = true;
        self.buffer = Vec::new();
        if self.overwrites || self.preallocation.exceeds(self.written) {
            let SyncHandle { file, path, .. } = &*self.handle;
            file.set_len(self.written)
                .map_err(|e| error("truncate", path, e))?;
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.handle.path
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(self.handle.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends pieces of one length; returns the distinct file lengths that the kernel had after the calls.
    fn handed_over(piece: usize, total: usize) -> Vec<u64> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = BufferedFile::new(
            File::create(&path).unwrap(),
            &path,
            &CreateOptions::default(),
            false,
        );
        let mut ends = Vec::new();
        let mut appended = 0;
        while appended < total {
            let len = piece.min(total - appended);
            file.append(&vec![appended as u8; len]).unwrap();
            appended += len;
            ends.push(file.written);
        }
        file.close().unwrap();
        ends.push(file.written);
        ends.dedup();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), total as u64);
        ends
    }

    #[test]
    fn the_kernel_gets_whole_pieces_from_where_the_last_one_ended() {
        const PIECE: u64 = BUFFER as u64;
        let total = 5 * BUFFER + 1_234;
        for piece in [37, 4_101, BUFFER - 1, BUFFER] {
            let ends = handed_over(piece, total);
            let expected: Vec<u64> = (0..=5).map(|at| at * PIECE).chain([total as u64]).collect();
            assert_eq!(
                ends.strip_prefix(&[0]).unwrap_or(&ends),
                &expected[1..],
                "{piece}"
            );
        }
        // A larger append is written in one call, up to the last multiple it reaches.
        let ends = handed_over(2 * BUFFER + 5, total);
        assert_eq!(ends, [2 * PIECE, 4 * PIECE, 5 * PIECE, total as u64]);
    }
}
