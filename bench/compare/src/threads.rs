//! The threads of a workload: their settings, and their joined outcome.

use std::time::{Duration, Instant};

use paired::Cost;

/// The state of a database when reads begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Every key once, in random order, then compacted into one level.
    Compacted,
    /// Every key once, in random order, compacted into one level, and then as many random keys written again,
    /// flushed, and compacted as the engine decides.
    Overwritten,
    /// The keys of eight ascending streams in turn, each once, flushed, and compacted as the engine decides.
    Streams,
    /// Every key once, in random order, flushed, and compacted as the engine decides.
    Written,
    /// Every key once, in random order, as for `Levels`, with a range tombstone over a hundred keys after
    /// every hundredth: RocksDB's pull request 4449.
    Tombstones,
}

/// The settings of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub seed: u64,
    /// The shape of the database to load.
    pub shape: Shape,
    /// The number of threads that read or write; streams, `compact` and `recovery` are written by one.
    pub threads: u64,
    /// The writes per second of the thread that writes while others read.
    pub writes_per_second: u64,
    /// The planted slow-down, as a share of the time of the operations.
    pub slow_down: f64,
    /// Reads bypass the page cache.
    pub direct: bool,
}

/// The outcome of a workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub operations: u64,
    /// The number of entries found or walked, which must be equal for every engine; 0 if it depends on
    /// chance.
    pub found: u64,
    /// The bytes of keys and values written.
    pub written: u64,
    pub time: Duration,
    /// The 99.9th percentile, for workloads that measure the slowest operations.
    pub tail: Option<Duration>,
    /// The cost of the operations, and of the flushes and compactions they caused.
    pub cost: Cost,
}

/// Runs the same function on `threads` threads, each with its number, and joins their results.
pub(crate) fn by_threads(threads: u64, work: impl Fn(u64) -> Done + Sync) -> Done {
    let start = Instant::now();
    let work = &work;
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let mut all = work(0);
        for thread in others {
            let done = thread.join().expect("a thread of the workload");
            all.operations += done.operations;
            all.found += done.found;
            all.written += done.written;
        }
        all
    });
    all.time = start.elapsed();
    all
}
