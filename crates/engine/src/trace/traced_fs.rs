//! The file system of an open database. A running trace of I/O records its operations.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::{Error, Result};
use vfs::{Call, Details, FileSystem, Layer, Op, PendingRead, RandomAccessFile, ReadBuffer, WritableFile};

use super::io::{Finished, IoTrace};
use super::io_record::IoNumbers;

/// Wraps the file system of a database. Without a running trace, an operation costs one relaxed load.
#[derive(Clone, Debug)]
pub(crate) struct TracedFs {
    inner: Arc<dyn FileSystem>,
    trace: Arc<IoTrace>,
}

/// Returns RocksDB's name of an operation.
fn name_of(op: Op) -> &'static str {
    match op {
        Op::Open => "NewRandomAccessFile",
        Op::Create => "NewWritableFile",
        Op::Reuse => "ReuseWritableFile",
        Op::Rename => "RenameFile",
        Op::Remove => "DeleteFile",
        Op::Link => "LinkFile",
        Op::Truncate => "Truncate",
        Op::List => "GetChildren",
        Op::CreateDir => "CreateDirIfMissing",
        Op::RemoveDir => "DeleteDir",
        Op::SyncDir | Op::SyncAll => "Fsync",
        Op::Exists => "FileExists",
        Op::Size => "GetFileSize",
        Op::Modified => "GetFileModificationTime",
        Op::Lock => "LockFile",
        Op::FreeSpace => "GetFreeSpace",
        Op::Read | Op::StartRead => "Read",
        Op::Prefetch => "Prefetch",
        Op::Append => "Append",
        Op::Flush => "Flush",
        Op::Sync => "Sync",
        Op::Close => "Close",
        other => other.name(),
    }
}

fn read_of(offset: u64, len: usize) -> IoNumbers {
    IoNumbers {
        len: Some(len as u64),
        offset: Some(offset),
        ..IoNumbers::default()
    }
}

impl TracedFs {
    pub fn new(inner: Arc<dyn FileSystem>, trace: Arc<IoTrace>) -> TracedFs {
        TracedFs { inner, trace }
    }

    #[cold]
    fn record(&self, (op, path): (Op, &Path), numbers: IoNumbers, began: Duration, error: Option<&Error>) {
        self.trace.record(&Finished {
            name: name_of(op),
            path,
            numbers,
            began,
            error,
        });
    }

    /// Performs an operation and records it with its numbers.
    #[cold]
    fn recorded<T>(
        &self,
        call: &Call<'_>,
        perform: impl FnOnce() -> Result<T>,
        numbers: impl FnOnce(&Result<T>) -> IoNumbers,
    ) -> Result<T> {
        let began = self.trace.now();
        let result = perform();
        let error = result.as_ref().err();
        self.record((call.op, call.path), numbers(&result), began, error);
        result
    }
}

impl Layer for TracedFs {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn unwatched(&self) -> Option<Arc<dyn FileSystem>> {
        Some(self.inner.clone())
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.trace.is_on() {
            return perform();
        }
        self.recorded(call, perform, |_| IoNumbers {
            file_size: match call.details {
                Details::Length(size) if call.op == Op::Truncate => Some(size),
                _ => None,
            },
            ..IoNumbers::default()
        })
    }

    fn size(&self, call: &Call<'_>) -> Result<u64> {
        if !self.trace.is_on() {
            return self.inner.size(call.path);
        }
        self.recorded(
            call,
            || self.inner.size(call.path),
            |size| IoNumbers {
                file_size: Some(*size.as_ref().unwrap_or(&0)),
                ..IoNumbers::default()
            },
        )
    }

    fn read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        if !self.trace.is_on() {
            return file.read_at(offset, buf);
        }
        let len = buf.len();
        self.recorded(call, || file.read_at(offset, buf), |_| read_of(offset, len))
    }

    /// Starts a read. Its recorded latency is the time from the start of the read to the end of the wait for
    /// it.
    fn start_read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        len: usize,
        memory: ReadBuffer,
    ) -> PendingRead {
        if !self.trace.is_on() {
            return file.start_read(offset, len, memory);
        }
        let (fs, path, began) = (self.clone(), call.path.to_path_buf(), self.trace.now());
        file.start_read(offset, len, memory).telling(move |result| {
            let error = result.as_ref().err();
            fs.record((Op::Read, &path), read_of(offset, len), began, error);
        })
    }

    fn prefetch(&self, call: &Call<'_>, file: &dyn RandomAccessFile, offset: u64, len: u64) {
        let began = self.trace.is_on().then(|| self.trace.now());
        file.prefetch(offset, len);
        if let Some(began) = began {
            let numbers = read_of(offset, usize::try_from(len).unwrap_or(usize::MAX));
            self.record((call.op, call.path), numbers, began, None);
        }
    }

    fn append(&self, call: &Call<'_>, file: &mut dyn WritableFile, data: &[u8]) -> Result<()> {
        if !self.trace.is_on() {
            return file.append(data);
        }
        let numbers = |_: &Result<()>| IoNumbers {
            len: Some(data.len() as u64),
            ..IoNumbers::default()
        };
        self.recorded(call, || file.append(data), numbers)
    }
}
