//! Files whose bytes follow the header one after the other: tables, MANIFEST, OPTIONS.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Result};
use vfs::{FileSync, PendingRead, RandomAccessFile, ReadBuffer, WritableFile};

use crate::cipher::{BLOCK, Cipher};
use crate::header::HEADER_LEN;

const BEGIN: u64 = HEADER_LEN as u64;

/// A file that is read at any offset.
#[derive(Debug)]
pub(crate) struct PlainReader {
    pub file: Arc<dyn RandomAccessFile>,
    pub cipher: Cipher,
}

/// True if the block at `offset` of the file consists of zeros.
fn is_hole(file: &dyn RandomAccessFile, offset: u64) -> Result<bool> {
    let mut block = [0; BLOCK];
    let read = file.read_at(BEGIN + offset, &mut block)?;
    Ok(read == BLOCK && block == [0; BLOCK])
}

impl RandomAccessFile for PlainReader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let read = self.file.read_at(offset.saturating_add(BEGIN), buf)?;
        self.cipher
            .decrypt(offset, &mut buf[..read], |block| is_hole(&*self.file, block))?;
        Ok(read)
    }

    fn len(&self) -> u64 {
        self.file.len().saturating_sub(BEGIN)
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.file.prefetch(offset.saturating_add(BEGIN), len);
    }

    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        let (file, cipher) = (self.file.clone(), self.cipher.clone());
        let read = self.file.start_read(offset.saturating_add(BEGIN), len, memory);
        read.then(move |read| {
            let mut bytes = read?;
            cipher.decrypt(offset, bytes.bytes_mut(), |block| is_hole(&*file, block))?;
            Ok(bytes)
        })
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// A file that is written from front to back, in either layout.
#[derive(Debug)]
pub(crate) struct Writer {
    file: Box<dyn WritableFile>,
    cipher: Cipher,
    /// Each append begins with its length.
    is_log: bool,
    len: u64,
    /// Holds an append while it is encrypted.
    scratch: Vec<u8>,
}

/// The maximum number of bytes in a frame.
const FRAME: usize = 1 << 30;

impl Writer {
    /// A writer to `file`, which has its header.
    pub fn new(file: Box<dyn WritableFile>, cipher: Cipher, is_log: bool) -> Writer {
        Writer {
            file,
            cipher,
            is_log,
            len: 0,
            scratch: Vec::new(),
        }
    }
}

impl WritableFile for Writer {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return self.file.append(data);
        }
        // A log takes all of an append or nothing, so that a frame is one append.
        if self.is_log && data.len() > FRAME {
            return Err(Error::not_supported(format!(
                "an append of {} bytes to an encrypted log is too long",
                data.len()
            ))
            .in_file(self.path()));
        }
        self.scratch.clear();
        if self.is_log {
            self.scratch.extend_from_slice(&(data.len() as u32).to_le_bytes());
        }
        let begin = self.scratch.len();
        self.scratch.extend_from_slice(data);
        self.cipher.apply(self.len, &mut self.scratch[begin..])?;
        self.file.append(&self.scratch)?;
        self.len += data.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn sync_all(&mut self) -> Result<()> {
        self.file.sync_all()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn close(&mut self) -> Result<()> {
        self.file.close()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    fn mapped_bytes(&self) -> u64 {
        self.file.mapped_bytes()
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        self.file.syncer()
    }
}
