//! The trace of the operations on the files of a database.

use base::Result;

use crate::state::handle::Db;
use crate::trace::{TraceOptions, TraceWriter};

impl Db {
    /// Records operations on the files of the database until [`end_io_trace`](Self::end_io_trace), in
    /// RocksDB's format: tables, blob files, WALs (those that are open already too), MANIFEST, directories.
    /// The info log, the trace's own file and reads of memory maps are not recorded. The option
    /// [`filter`](TraceOptions::filter), which is about queries, is ignored. Where the trace cannot be
    /// written the database goes on, and `end_io_trace` has the error.
    ///
    /// # Errors
    /// `Busy` if one is under way; that of writing the header; `ShutdownInProgress` once the database is
    /// closed.
    pub fn start_io_trace(&self, options: &TraceOptions, writer: Box<dyn TraceWriter>) -> Result<()> {
        self.inner().check_open()?;
        self.inner().io_trace.start(options, writer)
    }

    /// Ends the trace of I/O, if there is one, and closes its writer. Closing the database does the same.
    ///
    /// # Errors
    /// That of the first record that could not be written.
    pub fn end_io_trace(&self) -> Result<()> {
        self.inner().io_trace.end()
    }
}
