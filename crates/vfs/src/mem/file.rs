//! Open files of [`MemFs`](super::MemFs).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

use super::inode::{Data, Handle, Inode};
use super::state::{Lock, Shared};
use crate::{CreateOptions, FileLock, FileSync, RandomAccessFile, WritableFile};

/// Bytes that a plain file buffers before they reach the simulated kernel.
const BUFFER: usize = 64 << 10;
/// The unit in bytes to whose multiples a log is extended in advance.
const LOG_STEP: usize = 16 << 10;

/// A file open for reading.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) inode: Handle,
    pub(super) len: u64,
    pub(super) mapped: Option<Arc<Vec<u8>>>,
    pub(super) path: PathBuf,
}

fn copy_at(bytes: &[u8], offset: u64, buf: &mut [u8]) -> usize {
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|offset| bytes.get(offset..))
        .unwrap_or_default();
    let read = rest.len().min(buf.len());
    buf[..read].copy_from_slice(&rest[..read]);
    read
}

impl RandomAccessFile for Reader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        Ok(match &self.mapped {
            Some(bytes) => copy_at(bytes, offset, buf),
            None => copy_at(&self.inode.data.read().live, offset, buf),
        })
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn mapped(&self) -> Option<&[u8]> {
        self.mapped.as_ref().map(|bytes| bytes.as_slice())
    }

    fn prefetch(&self, _offset: u64, _len: u64) {}

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A file open for writing.
#[derive(Debug)]
pub(super) struct Writer {
    sync: Arc<Syncer>,
    log: bool,
    buffer: Vec<u8>,
    /// Bytes in the simulated kernel.
    written: u64,
    closed: bool,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        inode: Arc<Inode>,
        path: &Path,
        options: &CreateOptions,
    ) -> Writer {
        inode.data.write().log = options.log;
        Writer {
            sync: Arc::new(Syncer {
                shared,
                inode: Handle::new(inode),
                path: path.to_path_buf(),
            }),
            log: options.log,
            buffer: Vec::new(),
            written: 0,
            closed: false,
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.closed {
            return Err(Error::invalid_argument("the file is closed").in_file(&self.sync.path));
        }
        Ok(())
    }

    fn full(&self) -> Error {
        Error::io("append", &self.sync.path, io::ErrorKind::StorageFull.into()).at(self.written)
    }

    fn append_to_log(&mut self, bytes: &[u8]) -> Result<()> {
        let Syncer { shared, inode, .. } = &*self.sync;
        let mut data = inode.data.write();
        let end = data.written + bytes.len();
        if end > data.live.len() {
            let ahead = end.next_multiple_of(LOG_STEP);
            // A disk too full for the zeros may still have room for the bytes.
            let target = [ahead, end]
                .into_iter()
                .find(|&target| shared.grow(&data, target));
            let Some(target) = target else {
                let room = shared.room_for(&data).saturating_sub(data.written);
                cut_back(shared, &mut data, &bytes[..room.min(bytes.len())]);
                return Err(self.full());
            };
            data.extend(target);
        }
        data.write(bytes);
        data.modified = shared.clock.unix_seconds();
        self.written = end as u64;
        Ok(())
    }
}

/// Writes `part` after the end of a log, where the disk has no room for more, and truncates the log to that
/// end.
fn cut_back(shared: &Shared, data: &mut Data, part: &[u8]) {
    data.tear(part);
    shared.release(data, data.live.len() - data.written);
    data.trim();
}

impl WritableFile for Writer {
    fn append_partly(&mut self, data: &[u8], part: usize, error: Error) -> Error {
        if !self.log {
            return self.append(&data[..part]).err().unwrap_or(error);
        }
        let Syncer { shared, inode, .. } = &*self.sync;
        cut_back(shared, &mut inode.data.write(), &data[..part]);
        error
    }

    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.check_open()?;
        if self.log {
            return self.append_to_log(data);
        }
        if self.buffer.len() + data.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(data);
        if self.buffer.len() >= BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.check_open()?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        let Syncer { shared, inode, .. } = &*self.sync;
        let mut data = inode.data.write();
        let start = data.written;
        let end = start + self.buffer.len();
        // Some bytes are written, as on a disk that becomes full during a write.
        let target = if shared.grow(&data, end) {
            end
        } else {
            shared.grow_to_limit(&data, end).max(start)
        };
        data.extend(target);
        data.write(&self.buffer[..target - start]);
        data.modified = shared.clock.unix_seconds();
        drop(data);
        self.written = target as u64;
        self.buffer.drain(..target - start);
        if target < end { Err(self.full()) } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.sync.sync()
    }

    fn sync_all(&mut self) -> Result<()> {
        self.sync()
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
        let Syncer { shared, inode, .. } = &*self.sync;
        let mut data = inode.data.write();
        shared.release(&data, data.live.len() - data.written);
        data.trim();
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.sync.path
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(self.sync.clone())
    }
}

/// Syncs a file independently of its writer.
#[derive(Debug)]
struct Syncer {
    shared: Arc<Shared>,
    inode: Handle,
    path: PathBuf,
}

impl FileSync for Syncer {
    fn sync(&self) -> Result<()> {
        self.inode.data.write().sync();
        Ok(())
    }
}

impl FileLock for Lock {
    fn path(&self) -> &Path {
        &self.path
    }
}
