//! The trace of the lookups in the block cache of a database.

use base::Result;

use crate::state::handle::Db;
use crate::trace::{BlockCacheTraceOptions, TraceWriter};

impl Db {
    /// Records lookups of blocks in the block cache until
    /// [`end_block_cache_trace`](Self::end_block_cache_trace), in RocksDB's format. Blocks that a table owns,
    /// and tables without a cache, are not looked up. Where the trace cannot be written reads go on, and
    /// `end_block_cache_trace` has the error.
    ///
    /// # Errors
    /// `Busy` if one is under way; that of writing the header; `ShutdownInProgress` once the database is
    /// closed.
    pub fn start_block_cache_trace(
        &self,
        options: &BlockCacheTraceOptions,
        writer: Box<dyn TraceWriter>,
    ) -> Result<()> {
        self.inner().check_open()?;
        self.inner().block_trace.start(options, writer)?;
        self.inner().query_trace.watch_blocks(true);
        Ok(())
    }

    /// Ends the trace of the block cache, if there is one, and closes its writer. Closing the database does
    /// the same.
    ///
    /// # Errors
    /// That of the first record that could not be written.
    pub fn end_block_cache_trace(&self) -> Result<()> {
        self.inner().end_block_trace()
    }
}
