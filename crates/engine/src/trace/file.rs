//! The file of a trace, to which records are appended and from which they are read one by one.

use std::path::Path;
use std::sync::Arc;

use base::{Error, ErrorKind, Result, coding};
use vfs::{CreateOptions, FileSystem, OpenOptions, RandomAccessFile, WritableFile};

use super::RECORD_HEADER_LEN;

/// The bytes of a payload that are read at a time, so that a corrupt length allocates no more memory than the
/// file has bytes.
const PIECE: usize = 64 << 10;

/// The destination of a trace's records: a file, or an implementation of the user. One thread at a time calls
/// it, while it holds locks of the database; the writer must not call the database.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{Result, TraceOptions, TraceWriter};
///
/// /// Counts records and drops them.
/// #[derive(Default)]
/// struct Counts {
///     bytes: u64,
/// }
///
/// impl TraceWriter for Counts {
///     fn write(&mut self, record: &[u8]) -> Result<()> {
///         self.bytes += record.len() as u64;
///         Ok(())
///     }
///
///     fn file_size(&self) -> u64 {
///         self.bytes
///     }
///
///     fn close(&mut self) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// db.start_trace(&TraceOptions::default(), Box::new(Counts::default()))?;
/// db.end_trace()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TraceWriter: Send {
    /// Appends one complete record.
    fn write(&mut self, record: &[u8]) -> Result<()>;

    /// The bytes written so far, which are compared with
    /// [`max_trace_file_size`](super::TraceOptions::max_trace_file_size).
    fn file_size(&self) -> u64;

    /// Ends the trace: called once, after the last record.
    fn close(&mut self) -> Result<()>;
}

/// Writes a trace to a file. The last records may be in the memory of the process until the writer is closed;
/// they are lost if the process dies before.
///
/// See the example of [`QueryTraceReader`](super::QueryTraceReader).
#[derive(Debug)]
pub struct FileTraceWriter(Box<dyn WritableFile>);

impl FileTraceWriter {
    /// Creates the file, or truncates an existing one.
    pub fn create(fs: &dyn FileSystem, path: &Path) -> Result<FileTraceWriter> {
        fs.create(path, &CreateOptions::default()).map(FileTraceWriter)
    }
}

impl TraceWriter for FileTraceWriter {
    fn write(&mut self, record: &[u8]) -> Result<()> {
        self.0.append(record)
    }

    fn file_size(&self) -> u64 {
        self.0.len()
    }

    fn close(&mut self) -> Result<()> {
        self.0.close()
    }
}

/// Reads the records of a trace.
///
/// See the example of [`QueryTraceReader`](super::QueryTraceReader).
#[derive(Debug)]
pub struct FileTraceReader {
    /// The file; `None` after [`close`](Self::close).
    file: Option<Arc<dyn RandomAccessFile>>,
    offset: u64,
}

impl FileTraceReader {
    /// Opens the file. `NotFound` if it does not exist.
    pub fn open(fs: &dyn FileSystem, path: &Path) -> Result<FileTraceReader> {
        Ok(FileTraceReader {
            file: Some(fs.open_random(path, &OpenOptions::default())?),
            offset: 0,
        })
    }

    /// Returns the next record, encoded as in the file; `None` at the end of the file.
    ///
    /// # Errors
    /// `Corruption` with the offset if the file ends within a record; later calls return the same error. `Io`
    /// after [`close`](Self::close).
    pub fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let file = self.file()?;
        let mut record = vec![0; RECORD_HEADER_LEN];
        let read = file.read_at(self.offset, &mut record)?;
        if read == 0 {
            return Ok(None);
        }
        if read < RECORD_HEADER_LEN {
            return Err(self.torn());
        }
        let length = coding::u32_at(&record, RECORD_HEADER_LEN - 4) as usize;
        let end = RECORD_HEADER_LEN + length;
        while record.len() < end {
            let (from, piece) = (record.len(), PIECE.min(end - record.len()));
            record.resize(from + piece, 0);
            if file.read_at(self.offset + from as u64, &mut record[from..])? < piece {
                return Err(self.torn());
            }
        }
        self.offset += end as u64;
        Ok(Some(record))
    }

    /// Continues with the first record. `Io` after [`close`](Self::close).
    pub fn reset(&mut self) -> Result<()> {
        self.file()?;
        self.offset = 0;
        Ok(())
    }

    /// Closes the file. A second call does nothing.
    pub fn close(&mut self) -> Result<()> {
        self.file = None;
        Ok(())
    }

    /// The offset of the record that is read next.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Adds the path of the file and `offset`, the offset of the record, to `error`.
    pub(crate) fn place(&self, error: Error, offset: u64) -> Error {
        match &self.file {
            Some(file) => error.offset_by(offset).in_file(file.path()),
            None => error.offset_by(offset),
        }
    }

    fn file(&self) -> Result<Arc<dyn RandomAccessFile>> {
        let file = self.file.clone();
        file.ok_or_else(|| Error::new(ErrorKind::Io, "TraceReader is closed."))
    }

    #[cold]
    fn torn(&self) -> Error {
        let torn = Error::corruption("Corrupted trace file.").at(0);
        self.place(torn, self.offset)
    }
}
