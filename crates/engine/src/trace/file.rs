//! The file of a trace: records are appended, and read back one by one.

use std::path::Path;
use std::sync::Arc;

use base::{Error, ErrorKind, Result, coding};
use vfs::{CreateOptions, FileSystem, OpenOptions, RandomAccessFile, WritableFile};

use super::RECORD_HEADER_LEN;

/// Bytes of a payload read at a time: a length that a damaged file claims allocates no more than the file
/// has.
const PIECE: usize = 64 << 10;

/// Takes the records of a trace: a file, or what a user has instead. Called by one thread at a time, under
/// locks of the database: it must not call the database.
pub trait TraceWriter: Send {
    /// Takes one record, whole.
    fn write(&mut self, record: &[u8]) -> Result<()>;

    /// Bytes taken so far; compared with [`max_trace_file_size`](super::TraceOptions::max_trace_file_size).
    fn file_size(&self) -> u64;

    /// No record follows. Called once.
    fn close(&mut self) -> Result<()>;
}

/// Writes a trace to a file. The end of the trace may be in memory until the writer is closed; a process that
/// dies before loses it.
#[derive(Debug)]
pub struct FileTraceWriter(Box<dyn WritableFile>);

impl FileTraceWriter {
    /// Creates the file, or empties it.
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
#[derive(Debug)]
pub struct FileTraceReader {
    /// `None` once it is closed.
    file: Option<Arc<dyn RandomAccessFile>>,
    offset: u64,
}

impl FileTraceReader {
    /// Opens the file. `NotFound` if there is none.
    pub fn open(fs: &dyn FileSystem, path: &Path) -> Result<FileTraceReader> {
        Ok(FileTraceReader {
            file: Some(fs.open_random(path, &OpenOptions::default())?),
            offset: 0,
        })
    }

    /// The next record as it stands in the file, or `None` at its end.
    ///
    /// # Errors
    /// `Corruption` with the offset if the file ends within a record; the next call finds the same. `Io` once
    /// it is closed.
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

    /// The next record read is the first. `Io` once it is closed.
    pub fn reset(&mut self) -> Result<()> {
        self.file()?;
        self.offset = 0;
        Ok(())
    }

    /// Lets go of the file. Closing again is allowed.
    pub fn close(&mut self) -> Result<()> {
        self.file = None;
        Ok(())
    }

    /// Where the record begins that is read next.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// `error`, of a record at `offset`, with the place in the file.
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
