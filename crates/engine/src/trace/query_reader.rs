//! Reading of the queries of a trace, one by one.

use base::{Error, ErrorKind, Result};

use super::file::FileTraceReader;
use super::record::{self, TraceRecord};

/// Reads the queries of a trace without running them.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{FileTraceReader, FileTraceWriter, QueryTraceReader, TraceOptions, TracedQuery};
///
/// let (fs, path) = (&*options.fs, dir.path().join("trace"));
/// let writer = FileTraceWriter::create(fs, &path)?;
/// db.start_trace(&TraceOptions { sampling_frequency: 1, ..Default::default() }, Box::new(writer))?;
/// db.get(b"key")?;
/// db.end_trace()?;
///
/// let mut reader = QueryTraceReader::new(FileTraceReader::open(fs, &path)?);
/// reader.prepare()?;
/// let record = reader.next_record()?.unwrap();
/// assert_eq!(record.query, TracedQuery::Get { family: 0, key: b"key".to_vec() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct QueryTraceReader {
    reader: FileTraceReader,
    /// The start of the trace in microseconds since 1970, and the version of its format; `None` before
    /// [`prepare`](Self::prepare) was called.
    header: Option<(u64, u32)>,
    ended: bool,
}

impl QueryTraceReader {
    /// Creates a reader of the queries in the trace of `reader`.
    pub fn new(reader: FileTraceReader) -> QueryTraceReader {
        QueryTraceReader {
            reader,
            header: None,
            ended: false,
        }
    }

    /// Reads the header of the trace. It must be called before the first query is read, and again before the
    /// trace is read once more from its start.
    ///
    /// # Errors
    /// `Corruption` with the offset if the file has no valid header or names no version; `Incomplete` if the
    /// file is empty.
    pub fn prepare(&mut self) -> Result<()> {
        self.reader.reset()?;
        let record = self.reader.read()?;
        let record = record.ok_or_else(|| Error::new(ErrorKind::Incomplete, ""))?;
        let header = record::decode_header(&record).map_err(|error| self.reader.place(error, 0))?;
        self.header = Some(header);
        self.ended = false;
        Ok(())
    }

    /// The start of the trace in microseconds since 1970; 0 before [`prepare`](Self::prepare) was called.
    pub fn header_timestamp(&self) -> u64 {
        self.header.map_or(0, |(timestamp, _)| timestamp)
    }

    /// Returns the next query, or `None` at the end of the trace.
    ///
    /// # Errors
    /// `Incomplete` before [`prepare`](Self::prepare) was called; `Corruption` with the offset for a corrupt
    /// record; `NotSupported` for a record that is not a query. After `NotSupported`, and after a record with
    /// a corrupt payload and an intact length, the next call continues with the next record.
    pub fn next_record(&mut self) -> Result<Option<TraceRecord>> {
        let (_, version) = self.prepared()?;
        if self.ended {
            return Ok(None);
        }
        let at = self.reader.offset();
        let Some(record) = self.reader.read()? else {
            self.ended = true;
            return Ok(None);
        };
        let query = record::decode(&record, version).map_err(|error| self.reader.place(error, at))?;
        self.ended = query.is_none();
        Ok(query)
    }

    /// True after the end of the trace was read. `Incomplete` before [`prepare`](Self::prepare) was called.
    pub(crate) fn has_ended(&self) -> Result<bool> {
        self.prepared().map(|_| self.ended)
    }

    fn prepared(&self) -> Result<(u64, u32)> {
        self.header
            .ok_or_else(|| Error::new(ErrorKind::Incomplete, "Not prepared!"))
    }
}
