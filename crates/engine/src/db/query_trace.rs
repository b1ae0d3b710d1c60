//! The trace of the queries of a database.

use base::{Error, ErrorKind, Result};

use crate::state::handle::Db;
use crate::trace::{TraceOptions, TraceWriter};

impl Db {
    /// Records queries until [`end_trace`](Self::end_trace), in RocksDB's format: writes, as soon as they are
    /// in the WAL, Gets, MultiGets and seeks of iterators. If a trace of queries is running already, it is
    /// ended first. If the trace cannot be written, queries continue, and `end_trace` returns the error.
    ///
    /// # Errors
    /// The error of writing the header of this trace, or of ending the previous trace; `ShutdownInProgress`
    /// if the database is closed.
    pub fn start_trace(&self, options: &TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        self.inner().check_open()?;
        self.inner().traces.query.start(options.clone(), writer)
    }

    /// Ends the trace of queries and closes its writer. Closing the database does the same.
    ///
    /// # Errors
    /// `Io` if no trace of queries is running; the error of the first record that could not be written.
    pub fn end_trace(&self) -> Result<()> {
        let ended = self.inner().traces.query.end();
        ended.unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "No trace file to close")))
    }
}
