//! The trace of the queries of a database.

use base::{Error, ErrorKind, Result};

use crate::state::handle::Db;
use crate::trace::{TraceOptions, TraceWriter};

impl Db {
    /// Records queries until [`end_trace`](Self::end_trace), in RocksDB's format: writes that were done,
    /// Gets, MultiGets and seeks of iterators. A trace that is under way is ended first. Where the trace
    /// cannot be written queries go on, and `end_trace` has the error.
    ///
    /// # Errors
    /// If the first record cannot be written, or that which ends the trace before; `ShutdownInProgress`
    /// once the database is closed.
    pub fn start_trace(&self, options: &TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        self.inner().check_open()?;
        self.inner().query_trace.start(options.clone(), writer)
    }

    /// Ends the trace of queries, and closes its writer. Closing the database does the same.
    ///
    /// # Errors
    /// `Io` if there is none; that of the first record that could not be written.
    pub fn end_trace(&self) -> Result<()> {
        let ended = self.inner().query_trace.end();
        ended.unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "No trace file to close")))
    }
}
