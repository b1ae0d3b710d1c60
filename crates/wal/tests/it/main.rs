//! Tests against real RocksDB: its vectors, its files, and its own reader over our files.

mod fixtures;
mod oracle;
mod vectors;

use std::path::Path;
use std::sync::{Arc, Mutex};

use base::Result;
use esker_wal::{Writer, WriterOptions};
use vfs::{FileSync, FileSystem, OpenOptions, PosixFs, RandomAccessFile, WritableFile};

const MANIFEST_DIR: &str = env!("CARGO_MANIFEST_DIR");

fn testdata(name: &str) -> std::path::PathBuf {
    Path::new(MANIFEST_DIR).join("../../testdata").join(name)
}

fn open(path: &Path) -> Arc<dyn RandomAccessFile> {
    PosixFs::new().open_random(path, &OpenOptions::default()).unwrap()
}

/// The sequence number and count of a write batch.
fn batch_header(batch: &[u8]) -> (u64, u32) {
    (
        u64::from_le_bytes(batch[..8].try_into().unwrap()),
        u32::from_le_bytes(batch[8..12].try_into().unwrap()),
    )
}

/// Bytes as a readable file.
#[derive(Debug)]
struct Bytes(Vec<u8>);

impl RandomAccessFile for Bytes {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
    fn prefetch(&self, _offset: u64, _len: u64) {}
    fn path(&self) -> &Path {
        Path::new("bytes")
    }
}

/// A file that keeps the written bytes.
#[derive(Clone, Debug, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl WritableFile for Sink {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync_all(&mut self) -> Result<()> {
        Ok(())
    }
    fn len(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
    fn path(&self) -> &Path {
        Path::new("sink")
    }
    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        None
    }
}

/// The bytes that a writer of `options` writes in `write`.
fn written(options: WriterOptions, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let sink = Sink::default();
    let mut writer = Writer::new(Box::new(sink.clone()), options).unwrap();
    write(&mut writer);
    let bytes = sink.0.lock().unwrap();
    bytes.clone()
}
