//! The traces of a workload: `--trace_file` has its queries, `--block_cache_trace_file` its lookups of
//! blocks. A later workload replaces the files of an earlier one.

use std::path::Path;

use base::{Error, Result};
use esker::file_system::PosixFs;
use esker::{BlockCacheTraceOptions, Db, FileTraceWriter, TraceOptions};

use crate::flags::Flags;

/// The traces that are being written.
pub struct Traces<'a> {
    db: &'a Db,
    queries: bool,
    blocks: bool,
}

/// Refuses values of the flags, as RocksDB's db_bench does.
pub fn check(flags: &Flags) -> Result<()> {
    let refuse = |message: &str| Err(Error::invalid_argument(message));
    if flags.block_cache_trace_sampling_frequency <= 0 {
        return refuse("Block cache trace sampling frequency must be higher than 0.");
    }
    if flags.block_cache_trace_max_trace_file_size_in_bytes <= 0 {
        return refuse("The maximum file size for block cache tracing must be higher than 0.");
    }
    if flags.trace_replay_fast_forward <= 0.0 {
        return refuse("--trace_replay_fast_forward must be greater than 0");
    }
    if flags.trace_replay_threads < 1 {
        return refuse("--trace_replay_threads must be at least 1");
    }
    Ok(())
}

impl Traces<'_> {
    /// Begins the traces of workload `name`. The file of queries of `replay` is its input.
    pub fn start<'a>(flags: &Flags, db: &'a Db, name: &str) -> Result<Traces<'a>> {
        let writer = |path: &str| FileTraceWriter::create(&PosixFs::new(), Path::new(path)).map(Box::new);
        let mut traces = Traces {
            db,
            queries: false,
            blocks: false,
        };
        let path = &flags.trace_file;
        if !path.is_empty() && name != "replay" {
            db.start_trace(&TraceOptions::default(), writer(path)?)?;
            traces.queries = true;
            println!("Tracing the workload to: [{path}]");
        }
        let path = &flags.block_cache_trace_file;
        if !path.is_empty() {
            let options = BlockCacheTraceOptions {
                sampling_frequency: flags.block_cache_trace_sampling_frequency as u64,
                max_trace_file_size: flags.block_cache_trace_max_trace_file_size_in_bytes as u64,
            };
            db.start_block_cache_trace(&options, writer(path)?)?;
            traces.blocks = true;
            println!("Tracing block cache accesses to: [{path}]");
        }
        Ok(traces)
    }

    /// Ends the running traces.
    pub fn end(self) -> Result<()> {
        if self.queries {
            self.db.end_trace()?;
        }
        if self.blocks {
            self.db.end_block_cache_trace()?;
        }
        Ok(())
    }
}
