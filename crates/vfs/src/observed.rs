//! A file system over another that reports operations on the contents of files to an observer.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::Clock;
use base::{Error, Result};

use crate::layer::{Call, Details, Layer};
use crate::{FileSystem, Op, PendingRead, RandomAccessFile, ReadBuffer, WritableFile};

/// A completed operation on a file's contents.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs::{FileOperation, Op as FileOperationType};
/// # }
/// use esker::{FileOperation, FileOperationType};
/// use std::time::Duration;
///
/// /// To be called by a listener's `on_file_operation`.
/// fn is_slow_sync(operation: &FileOperation<'_>) -> bool {
///     operation.op == FileOperationType::Sync && operation.took > Duration::from_millis(100)
/// }
/// # let operation = FileOperation {
/// #     op: FileOperationType::Sync,
/// #     path: "/a".as_ref(),
/// #     offset: 0,
/// #     length: 0,
/// #     took: Duration::from_secs(1),
/// #     error: None,
/// # };
/// # assert!(is_slow_sync(&operation));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FileOperation<'a> {
    /// [`Read`](Op::Read), [`Append`](Op::Append), [`Flush`](Op::Flush), [`Sync`](Op::Sync),
    /// [`SyncAll`](Op::SyncAll), [`Close`](Op::Close) or [`Truncate`](Op::Truncate).
    pub op: Op,
    /// The file.
    pub path: &'a Path,
    /// The offset of the read, append or truncation; 0 for other operations.
    pub offset: u64,
    /// The number of bytes appended; the number read or, if the read failed, requested; 0 for other
    /// operations.
    pub length: usize,
    /// The duration; for a started read, from the start to the end of the wait.
    pub took: Duration,
    /// The error, if the operation failed.
    pub error: Option<&'a Error>,
}

/// An observer of operations on the contents of files.
pub trait FileObserver: Send + Sync + Debug {
    /// Called when an operation is complete, on the thread of the operation and with any locks that the
    /// thread holds.
    fn finished(&self, operation: &FileOperation<'_>);
}

/// Wraps any file system and reports reads, appends, flushes, syncs, closes and truncations of its files to
/// an observer. Reads of a mapping are not reported.
#[derive(Clone, Debug)]
pub struct ObservedFs {
    inner: Arc<dyn FileSystem>,
    observer: Arc<dyn FileObserver>,
    clock: Arc<dyn Clock>,
}

impl ObservedFs {
    /// An observed file system over `inner`; times come from `clock`.
    pub fn new(
        inner: Arc<dyn FileSystem>,
        observer: Arc<dyn FileObserver>,
        clock: Arc<dyn Clock>,
    ) -> ObservedFs {
        ObservedFs {
            inner,
            observer,
            clock,
        }
    }

    fn tell(
        &self,
        op: Op,
        path: &Path,
        (offset, length): (u64, usize),
        began: Duration,
        error: Option<&Error>,
    ) {
        self.observer.finished(&FileOperation {
            op,
            path,
            offset,
            length,
            took: self.clock.now().saturating_sub(began),
            error,
        });
    }
}

impl Layer for ObservedFs {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn unwatched(&self) -> Option<Arc<dyn FileSystem>> {
        Some(self.inner.clone())
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        if !matches!(
            call.op,
            Op::Flush | Op::Sync | Op::SyncAll | Op::Close | Op::Truncate
        ) {
            return perform();
        }
        let began = self.clock.now();
        let result = perform();
        let offset = match call.details {
            Details::Length(len) => len,
            _ => 0,
        };
        self.tell(call.op, call.path, (offset, 0), began, result.as_ref().err());
        result
    }

    fn read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let began = self.clock.now();
        let result = file.read_at(offset, buf);
        let length = *result.as_ref().unwrap_or(&buf.len());
        self.tell(
            Op::Read,
            call.path,
            (offset, length),
            began,
            result.as_ref().err(),
        );
        result
    }

    fn start_read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        len: usize,
        memory: ReadBuffer,
    ) -> PendingRead {
        let (fs, path, began) = (self.clone(), call.path.to_path_buf(), self.clock.now());
        file.start_read(offset, len, memory).telling(move |result| {
            let length = result.as_ref().map_or(len, |read| read.len());
            fs.tell(Op::Read, &path, (offset, length), began, result.as_ref().err());
        })
    }

    fn append(&self, call: &Call<'_>, file: &mut dyn WritableFile, data: &[u8]) -> Result<()> {
        let (offset, began) = (file.len(), self.clock.now());
        let result = file.append(data);
        self.tell(
            Op::Append,
            call.path,
            (offset, data.len()),
            began,
            result.as_ref().err(),
        );
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use base::ErrorKind;
    use base::env::SystemClock;

    use super::*;
    use crate::{Action, CreateOptions, FaultFs, MemFs, OpenOptions, Rule};

    #[derive(Debug, Default)]
    struct Told(Mutex<Vec<String>>);

    impl FileObserver for Told {
        fn finished(&self, operation: &FileOperation<'_>) {
            let FileOperation {
                op, offset, length, ..
            } = operation;
            let failure = operation.error.map_or("", |_| " failed");
            let line = format!("{op} {} {offset}+{length}{failure}", operation.path.display());
            self.0.lock().unwrap().push(line);
        }
    }

    #[test]
    fn contents_are_told_of_and_names_are_not() {
        let told = Arc::new(Told::default());
        let faults = FaultFs::new(Arc::new(MemFs::new()));
        let fs = ObservedFs::new(
            Arc::new(faults.clone()),
            told.clone(),
            Arc::new(SystemClock::new()),
        );
        let path = Path::new("/file");
        let mut file = fs.create(path, &CreateOptions::default()).unwrap();
        file.append(b"hello").unwrap();
        file.append(b" world").unwrap();
        file.flush().unwrap();
        file.syncer().unwrap().sync().unwrap();
        file.close().unwrap();
        fs.truncate(path, 8).unwrap();
        assert!(fs.exists(path).unwrap());
        let file = fs.open_random(path, &OpenOptions::default()).unwrap();
        assert_eq!(file.read_at(6, &mut [0; 10]).unwrap(), 2);
        let pending = file.start_read(0, 5, ReadBuffer::default());
        let began = told.0.lock().unwrap().len();
        assert_eq!(&*pending.wait().unwrap(), b"hello");
        assert_eq!(
            told.0.lock().unwrap().len(),
            began + 1,
            "reported when it is complete"
        );
        drop(file.start_read(0, 5, ReadBuffer::default()));
        faults.add(Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Read]));
        file.read_at(0, &mut [0; 3]).unwrap_err();
        assert_eq!(
            *told.0.lock().unwrap(),
            [
                "append /file 0+5",
                "append /file 5+6",
                "flush /file 0+0",
                "sync /file 0+0",
                "close /file 0+0",
                "truncate /file 8+0",
                "read /file 6+2",
                "read /file 0+5",
                "read /file 0+3 failed",
            ]
        );
    }
}
