//! replay: runs the queries of the trace in `--trace_file`.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};
use esker::file_system::PosixFs;
use esker::{ErrorKind, FileTraceReader, ReplayOptions, Replayer};

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

/// Refuses what RocksDB's db_bench refuses.
pub fn prepare(params: &mut Params<'_>) -> Result<()> {
    let refuse = |message: &str| Err(Error::invalid_argument(message));
    if params.flags.threads > 1 {
        return refuse("Multi-threaded replay is not yet supported: --trace_replay_threads has its threads");
    }
    if params.flags.trace_file.is_empty() {
        return refuse("Please set --trace_file to be replayed from");
    }
    Ok(())
}

/// Runs the queries of the trace at their recorded intervals, divided by `--trace_replay_fast_forward`. Kinds
/// of queries that a replay does not support are not counted.
pub fn run(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let reader = FileTraceReader::open(&PosixFs::new(), Path::new(&flags.trace_file))?;
    let mut replayer = Replayer::new(params.db, params.families, reader);
    replayer.prepare()?;
    let options = ReplayOptions {
        num_threads: flags.trace_replay_threads.max(1) as u32,
        fast_forward: flags.trace_replay_fast_forward,
    };
    let queries = AtomicU64::new(0);
    let count = |result: base::Result<esker::Replayed>| {
        if !result.is_err_and(|error| error.kind() == ErrorKind::NotSupported) {
            queries.fetch_add(1, Ordering::Relaxed);
        }
    };
    replayer.replay(&options, Some(&count))?;
    thread.finished(queries.into_inner(), Op::Other);
    println!("Replay completed from trace_file: {}", flags.trace_file);
    Ok(())
}
