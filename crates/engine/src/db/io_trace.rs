//! The trace of the operations on the files of a database.

use base::Result;

use crate::state::handle::Db;
use crate::trace::{TraceOptions, TraceWriter};

impl Db {
    /// Records operations on the files of the database until [`end_io_trace`](Self::end_io_trace), in
    /// RocksDB's format: tables, blob files, WALs (including those that are open already), MANIFEST,
    /// directories. The info log, the trace's own file and reads of memory maps are not recorded. The option
    /// [`filter`](TraceOptions::filter), which selects queries, is ignored. If the trace cannot be written,
    /// the database continues to work, and `end_io_trace` returns the error.
    ///
    /// # Errors
    /// `Busy` if a trace of I/O is running already; the error of writing the header; `ShutdownInProgress` if
    /// the database is closed.
    pub fn start_io_trace(&self, options: &TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        self.inner().check_open()?;
        self.inner().traces.io.start(options, writer)
    }

    /// Ends the trace of I/O, if there is one, and closes its writer. Closing the database does the same.
    ///
    /// # Errors
    /// The error of the first record that could not be written.
    pub fn end_io_trace(&self) -> Result<()> {
        self.inner().traces.io.end()
    }
}
