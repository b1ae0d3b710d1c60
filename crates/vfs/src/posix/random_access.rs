//! Files read by `pread`, through a mapping, and past the page cache.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;

use super::io::read_aligned;
use super::io::{error, read_full};
use super::started::Request;
use super::sys::{self, Mapping};
use crate::aligned_buffer::{AlignedBuffer, DIRECT_ALIGNMENT};
use crate::{Access, PendingRead, RandomAccessFile, ReadBuffer};

/// Reads through the page cache.
#[derive(Debug)]
pub(super) struct PreadFile {
    file: Arc<File>,
    len: u64,
    ring: bool,
    path: PathBuf,
}

impl PreadFile {
    pub(super) fn new(file: File, len: u64, path: &Path, access: Access, ring: bool) -> Result<PreadFile> {
        sys::advise(&file, access).map_err(|e| error("advise on", path, e))?;
        Ok(PreadFile {
            file: Arc::new(file),
            len,
            ring,
            path: path.to_path_buf(),
        })
    }
}

impl RandomAccessFile for PreadFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        read_full(&self.file, buf, offset).map_err(|e| error("read", &self.path, e).at(offset))
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, offset: u64, len: u64) {
        // To the kernel a length of 0 means: up to the end.
        if len > 0 {
            let _hint = sys::will_need(&self.file, offset, len);
        }
    }

    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        let request = Request {
            file: &self.file,
            path: &self.path,
            offset,
            len,
            direct: None,
            ring: self.ring,
        };
        request.start(memory)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads from a mapping of the whole file.
#[derive(Debug)]
pub(super) struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    mapping: Option<Mapping>,
    path: PathBuf,
}

impl MappedFile {
    pub(super) fn new(file: &File, len: usize, path: &Path, access: Access) -> Result<MappedFile> {
        let mapping = match len {
            0 => None,
            _ => {
                let mapping = Mapping::to_read(file, len).map_err(|e| error("mmap", path, e))?;
                mapping.advise(access).map_err(|e| error("madvise", path, e))?;
                Some(mapping)
            }
        };
        Ok(MappedFile {
            mapping,
            path: path.to_path_buf(),
        })
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.mapping {
            None => &[],
            // SAFETY: the mapping is readable, lives as long as `self`, and is as long as the file was when
            // opened. The contract of `OpenOptions::mmap` forbids that the file shrinks or changes while
            // mapped.
            Some(mapping) => unsafe { std::slice::from_raw_parts(mapping.start().as_ptr(), mapping.len()) },
        }
    }
}

impl RandomAccessFile for MappedFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let bytes = self.bytes();
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| bytes.get(offset..))
            .unwrap_or_default();
        let read = rest.len().min(buf.len());
        buf[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(self.bytes())
    }

    fn prefetch(&self, offset: u64, len: u64) {
        if let Some(mapping) = &self.mapping {
            let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(mapping.len());
            let _hint = mapping.will_need(clamp(offset)..clamp(offset.saturating_add(len)));
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The maximum that a thread reads at a time into its bounce buffer, and keeps between reads.
const BOUNCE: usize = 256 << 10;

thread_local! {
    /// The buffer for direct reads of unaligned ranges. The buffer grows to the size of the thread's largest
    /// read.
    static BOUNCE_BUFFER: RefCell<Option<AlignedBuffer>> = const { RefCell::new(None) };
}

/// Reads that bypass the page cache.
#[derive(Debug)]
pub(super) struct DirectFile {
    file: Arc<File>,
    len: u64,
    ring: bool,
    alignment: usize,
    path: PathBuf,
}

impl DirectFile {
    /// A file opened with `O_DIRECT`.
    pub(super) fn new(file: File, len: u64, path: &Path, ring: bool) -> DirectFile {
        DirectFile {
            alignment: sys::direct_read_alignment(&file),
            file: Arc::new(file),
            len,
            ring,
            path: path.to_path_buf(),
        }
    }

    fn read_bounced(
        &self,
        offset: u64,
        buf: &mut [u8],
        bounce: &mut AlignedBuffer,
    ) -> std::io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            let skip = (at % self.alignment as u64) as usize;
            let wanted = (skip + buf.len() - done)
                .next_multiple_of(self.alignment)
                .min(bounce.len());
            let read = read_aligned(
                &self.file,
                self.alignment,
                at - skip as u64,
                &mut bounce[..wanted],
            )?;
            let useful = read.saturating_sub(skip).min(buf.len() - done);
            buf[done..done + useful].copy_from_slice(&bounce[skip..skip + useful]);
            done += useful;
            if read < wanted {
                break;
            }
        }
        Ok(done)
    }
}

impl RandomAccessFile for DirectFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let aligned = offset.is_multiple_of(self.alignment as u64)
            && buf.len().is_multiple_of(self.alignment)
            && (buf.as_ptr() as usize).is_multiple_of(self.alignment);
        let result = if aligned {
            read_aligned(&self.file, self.alignment, offset, buf)
        } else {
            let len = (buf.len().saturating_add(self.alignment)).next_multiple_of(self.alignment);
            let len = len.min(BOUNCE.max(self.alignment));
            BOUNCE_BUFFER.with_borrow_mut(|slot| {
                let bounce = match slot {
                    Some(bounce) if bounce.len() >= len && bounce.alignment() >= self.alignment => bounce,
                    slot => {
                        let alignment = self.alignment.max(DIRECT_ALIGNMENT);
                        slot.insert(AlignedBuffer::new(len.next_power_of_two(), alignment))
                    }
                };
                self.read_bounced(offset, buf, bounce)
            })
        };
        result.map_err(|e| error("read", &self.path, e).at(offset))
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, _offset: u64, _len: u64) {}

    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        let request = Request {
            file: &self.file,
            path: &self.path,
            offset,
            len,
            direct: Some(self.alignment),
            ring: self.ring,
        };
        request.start(memory)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
