//! Files for the tests of this crate: bytes to read, and a sink to write to that can be inspected.

use std::path::Path;
use std::sync::{Arc, Mutex};

use base::{Error, ErrorKind, Result};
use vfs::{FileSync, RandomAccessFile, WritableFile};

use crate::{Reader, ReaderOptions, RecoveryMode, Writer, WriterOptions};

pub(crate) const MODES: [RecoveryMode; 4] = [
    RecoveryMode::TolerateCorruptedTailRecords,
    RecoveryMode::AbsoluteConsistency,
    RecoveryMode::PointInTime,
    RecoveryMode::SkipAnyCorruptedRecords,
];

/// A file to read, whose reads can be made to fail from an offset on.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub bytes: Vec<u8>,
    pub fails_from: u64,
}

impl Bytes {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Arc<Bytes> {
        Arc::new(Bytes {
            bytes: bytes.into(),
            fails_from: u64::MAX,
        })
    }
}

impl RandomAccessFile for Bytes {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        if offset + buf.len() as u64 > self.fails_from {
            return Err(Error::new(ErrorKind::Io, "planted").in_file(self.path()));
        }
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
    fn prefetch(&self, _offset: u64, _len: u64) {}
    fn path(&self) -> &Path {
        Path::new("000007.log")
    }
}

#[derive(Debug, Default)]
struct Shared {
    bytes: Vec<u8>,
    appends: usize,
    fail_next: bool,
}

/// A file to write; clones see the same bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sink(Arc<Mutex<Shared>>);

impl Sink {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }
    pub fn appends(&self) -> usize {
        self.0.lock().unwrap().appends
    }
    pub fn fail_next(&self) {
        self.0.lock().unwrap().fail_next = true;
    }
}

impl WritableFile for Sink {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let mut shared = self.0.lock().unwrap();
        if std::mem::take(&mut shared.fail_next) {
            return Err(Error::new(ErrorKind::NoSpace, "planted"));
        }
        shared.bytes.extend_from_slice(data);
        shared.appends += 1;
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
        self.0.lock().unwrap().bytes.len() as u64
    }
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
    fn path(&self) -> &Path {
        Path::new("000007.log")
    }
    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        None
    }
}

/// A writer, and its sink.
pub(crate) fn writer(options: WriterOptions) -> (Writer, Sink) {
    let sink = Sink::default();
    (Writer::new(Box::new(sink.clone()), options).unwrap(), sink)
}

/// The result of reading a whole file.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub records: Vec<Vec<u8>>,
    pub error: Option<Error>,
    pub stopped: Option<Error>,
    pub dropped: Vec<crate::Dropped>,
}

pub(crate) fn read(bytes: &[u8], mode: RecoveryMode, log_number: Option<u64>) -> Outcome {
    let mut reader = Reader::new(Bytes::new(bytes), ReaderOptions { log_number, mode });
    read_all(&mut reader)
}

pub(crate) fn read_all(reader: &mut Reader) -> Outcome {
    let mut records = Vec::new();
    let error = loop {
        match reader.read_record() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    // Further calls must return the same end, or the same error.
    match (&error, reader.read_record()) {
        (None, again) => assert!(again.unwrap().is_none()),
        (Some(error), again) => assert_eq!(again.unwrap_err().to_string(), error.to_string()),
    }
    Outcome {
        records,
        error,
        stopped: reader.stopped().cloned(),
        dropped: reader.dropped().to_vec(),
    }
}
