//! The queries of a trace, one after the other.

use base::{Error, ErrorKind, Result};

use super::file::FileTraceReader;
use super::record::{self, TraceRecord};

/// Reads the queries of a trace without running them.
#[derive(Debug)]
pub struct QueryTraceReader {
    reader: FileTraceReader,
    /// When the trace was begun, and the version of its format, once prepared.
    header: Option<(u64, u32)>,
    ended: bool,
}

impl QueryTraceReader {
    /// Takes the queries that `reader` has.
    pub fn new(reader: FileTraceReader) -> QueryTraceReader {
        QueryTraceReader {
            reader,
            header: None,
            ended: false,
        }
    }

    /// Reads the header. Must come first, and once more before the trace is read from its beginning again.
    ///
    /// # Errors
    /// `Corruption` with the offset if it is none, or of no version; `Incomplete` for an empty file.
    pub fn prepare(&mut self) -> Result<()> {
        self.reader.reset()?;
        let record = self.reader.read()?;
        let record = record.ok_or_else(|| Error::new(ErrorKind::Incomplete, ""))?;
        let header = record::decode_header(&record).map_err(|error| self.reader.place(error, 0))?;
        self.header = Some(header);
        self.ended = false;
        Ok(())
    }

    /// When the trace was begun, in microseconds since 1970; 0 before it is [prepared](Self::prepare).
    pub fn header_timestamp(&self) -> u64 {
        self.header.map_or(0, |(timestamp, _)| timestamp)
    }

    /// The next query, or `None` at the end of the trace.
    ///
    /// # Errors
    /// `Incomplete` before it is prepared; `Corruption` with the offset for a damaged record; `NotSupported`
    /// for a record that is no query. After the latter, and after one that is damaged within its bounds, the
    /// next call goes on behind it.
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

    /// True once the last query was read. `Incomplete` before it is prepared.
    pub(crate) fn has_ended(&self) -> Result<bool> {
        self.prepared().map(|_| self.ended)
    }

    fn prepared(&self) -> Result<(u64, u32)> {
        self.header
            .ok_or_else(|| Error::new(ErrorKind::Incomplete, "Not prepared!"))
    }
}
