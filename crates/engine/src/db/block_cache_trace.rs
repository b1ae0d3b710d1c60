//! The trace of the lookups in the block cache of a database.

use base::Result;

use crate::state::handle::Db;
use crate::trace::{BlockCacheTraceOptions, TraceWriter};

impl Db {
    /// Records lookups of blocks in the block cache until
    /// [`end_block_cache_trace`](Self::end_block_cache_trace), in RocksDB's format. Blocks that a table owns,
    /// and blocks of tables without a cache, are not looked up and so not recorded. If the trace cannot be
    /// written, reads continue, and `end_block_cache_trace` returns the error.
    ///
    /// # Errors
    /// `Busy` if a trace of the block cache is running already; the error of writing the header;
    /// `ShutdownInProgress` if the database is closed.
    pub fn start_block_cache_trace(
        &self,
        options: &BlockCacheTraceOptions,
        writer: Box<dyn TraceWriter>,
    ) -> Result<()> {
        self.inner().check_open()?;
        self.inner().traces.block.start(options, writer)?;
        self.inner().traces.query.watch_blocks(true);
        Ok(())
    }

    /// Ends the trace of the block cache, if there is one, and closes its writer. Closing the database does
    /// the same.
    ///
    /// # Errors
    /// The error of the first record that could not be written.
    pub fn end_block_cache_trace(&self) -> Result<()> {
        self.inner().end_block_trace()
    }
}
