//! The file written past the page cache: whole aligned blocks from a large buffer.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use base::Result;

use super::buffered::{SyncHandle, closed};
use super::io::{Preallocation, error, sync, write_full};
use super::sys;
use crate::aligned_buffer::AlignedBuffer;
use crate::{CreateOptions, FileSync, WritableFile};

/// The number of bytes per write: enough for a disk to run at full speed.
const BUFFER: usize = 1 << 20;

/// A file opened with `O_DIRECT`.
///
/// `buffer[..held]` are the bytes from `start` on, which is aligned. The disk takes whole blocks, so `flush`
/// writes the last one padded with zeros, truncates the file to its true length, and keeps the block to write
/// it again when it is full.
#[derive(Debug)]
pub(super) struct DirectWriter {
    handle: Arc<SyncHandle>,
    buffer: AlignedBuffer,
    start: u64,
    held: usize,
    /// The number of bytes of `held` that the kernel has already.
    flushed: usize,
    preallocation: Preallocation,
    closed: bool,
}

impl DirectWriter {
    pub(super) fn new(file: File, path: &Path, options: &CreateOptions) -> DirectWriter {
        let alignment = sys::direct_write_alignment(&file);
        DirectWriter {
            handle: Arc::new(SyncHandle::new(file, path)),
            buffer: AlignedBuffer::new(BUFFER.max(alignment), alignment),
            start: 0,
            held: 0,
            flushed: 0,
            preallocation: Preallocation::new(options.preallocate),
            closed: false,
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.closed {
            Err(closed(&self.handle.path))
        } else {
            Ok(())
        }
    }

    /// Writes the first `len` bytes of the buffer, a multiple of the alignment.
    fn write_blocks(&mut self, len: usize) -> Result<()> {
        let SyncHandle { file, path, .. } = &*self.handle;
        self.preallocation.reach(file, self.start + len as u64);
        write_full(file, &self.buffer[..len], self.start)
            .map_err(|(done, e)| error("append", path, e).at(self.start + done as u64))
    }
}

impl WritableFile for DirectWriter {
    fn append(&mut self, mut data: &[u8]) -> Result<()> {
        self.check_open()?;
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(self.buffer.len() - self.held));
            self.buffer[self.held..self.held + now.len()].copy_from_slice(now);
            self.held += now.len();
            data = later;
            if self.held == self.buffer.len() {
                self.write_blocks(self.held)?;
                self.start += self.held as u64;
                self.held = 0;
                self.flushed = 0;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.check_open()?;
        if self.held == self.flushed {
            return Ok(());
        }
        let alignment = self.buffer.alignment();
        let padded = self.held.next_multiple_of(alignment);
        self.buffer[self.held..padded].fill(0);
        self.write_blocks(padded)?;
        if padded > self.held {
            let SyncHandle { file, path, .. } = &*self.handle;
            file.set_len(self.len()).map_err(|e| error("truncate", path, e))?;
        }
        let whole = self.held / alignment * alignment;
        self.buffer.copy_within(whole..self.held, 0);
        self.start += whole as u64;
        self.held -= whole;
        self.flushed = self.held;
        Ok(())
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
        self.start + self.held as u64
    }

    fn close(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        self.flush()?;
        self.closed = true;
        if self.preallocation.exceeds(self.len()) {
            let SyncHandle { file, path, .. } = &*self.handle;
            file.set_len(self.len()).map_err(|e| error("truncate", path, e))?;
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
