//! The tables of the documents Esker started from, run again: RocksDB's db_bench and ours in turn, with one
//! command line.
//!
//! [`tables`] is the data: a row is a figure of a document and a command, or an engine workload if RocksDB's
//! db_bench would have to be patched. [`run`](mod@run) measures, [`report`] writes the document. Rows with
//! the same command share its runs. If a program refuses a row (a flag that does not exist there), the cell
//! says so.

mod figure;
mod levels;
mod mixgraph;
mod mmap;
mod report;
mod run;
mod tables;
mod versions;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::collect;
use crate::versions::{Case as VersionsCase, collection, ycsb};
use bench_worker::workload::Workload;

/// The settings of the runs.
#[derive(Args, Clone, Debug)]
pub struct PublishedArgs {
    /// Sizes and times, as a multiple of the tables' own. The default fits two cores, 8 GiB and 20 minutes.
    #[arg(long, default_value_t = 0.5)]
    scale: f64,
    /// The number of runs of each program; a confidence interval needs six, fewer have least and greatest.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// RocksDB's db_bench. Default: the one on the search path.
    #[arg(long, default_value = "db_bench")]
    peer: PathBuf,
    /// Our db_bench. Default: the one next to this program.
    #[arg(long)]
    ours: Option<PathBuf>,
    /// Only tables whose source or title contains this text.
    #[arg(long, default_value = "")]
    tables: String,
    /// The directory of the databases. Default: a temporary directory.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The file of the document.
    #[arg(long, default_value = "docs/lab/published.md")]
    out: PathBuf,
}

impl PublishedArgs {
    /// The directory of the databases, if it was given.
    pub fn dir(&self) -> Option<&PathBuf> {
        self.dir.as_ref()
    }
}

/// The sizes of a run.
pub struct Sizes {
    scale: f64,
}

impl Sizes {
    /// A document's count, at scale 1 multiplied by `share`.
    fn keys(&self, published: u64, share: f64) -> u64 {
        ((published as f64 * share * self.scale).round() as u64).max(1)
    }

    /// The seconds of a run that takes `seconds` at scale 1.
    fn seconds(&self, seconds: u64) -> u64 {
        ((seconds as f64 * self.scale).round() as u64).max(1)
    }
}

/// A table of a document.
pub struct Table {
    /// S1, S2 ...: see the head of the report.
    source: &'static str,
    title: &'static str,
    /// The differences from the document's setting.
    note: &'static str,
    /// Cells are means with the standard deviation over the rounds, like the document's, and not medians.
    means: bool,
    rows: Vec<Row>,
}

/// A figure of a document, and its measurement here.
pub struct Row {
    label: String,
    /// In the document's form.
    published: String,
    /// The figure before the change that the document describes, if it has one.
    before: Option<&'static str>,
    metric: Metric,
    run: Run,
}

/// The figure that is read from a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    OpsPerSecond,
    MillisPerOp,
    MicrosPerOp,
    MbPerSecond,
    /// The keys per second that a writer wrote during the reads.
    WritesPerSecond,
    /// The bytes of keys and values that were written.
    MegabytesIngested,
    MegabytesFlushed,
    /// The bytes that compactions wrote.
    MegabytesCompacted,
    /// The time of all flushes and compactions together.
    CompactionSeconds,
    /// The CPU time of flushes and compactions.
    CompactionCpuSeconds,
    /// That time in seconds, divided by the operations per second, as in the document.
    CompactionCpuPerWrite,
    /// The lookups in the block cache that found their block.
    CacheHitPercent,
    /// The bytes that compactions moved for each byte they wrote.
    MoveRatio,
    /// The bytes flushed and compacted for each byte flushed.
    WriteAmplification,
    /// The share of the time in which writes were stopped or slowed down.
    StallPercent,
    /// The bytes read from the disk for each operation of the workload.
    KilobytesReadPerOp,
    /// The mean time of a flush or compaction job into the level.
    SecondsPerJob(u8),
    /// The time of an operation on versions of keys, or of their collection.
    MicrosPerCall,
    /// The maximum size of the tables in use while old versions were collected.
    TableMegabytes,
    /// The instructions of a collection.
    InstructionsPerCall,
}

/// The better one of two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Better {
    More,
    Less,
}

/// The method of a measurement.
#[derive(Clone)]
pub enum Run {
    /// A command for each program of db_bench, with the figure from the line of `workload` or the statistics
    /// after it. Over the database of the setup, or a fresh one.
    DbBench {
        setup: Option<Setup>,
        flags: String,
        workload: &'static str,
    },
    /// A workload of this program over Esker and tuned RocksDB.
    Engines {
        benchmark: Workload,
        num: u64,
        write_buffer_size: usize,
    },
    /// A garbage collection of versions over Esker's MVCC layer and RocksDB.
    Collect(collect::Case),
    /// An operation on versions of keys over Esker's MVCC layer and RocksDB's user-defined timestamps.
    Versions(VersionsCase),
    /// The collection of old versions by compactions, in each engine.
    Collection(collection::Collection),
    /// A workload of YCSB over each engine, during that collection.
    Ycsb(ycsb::Case),
}

/// A database that several rows read; each program creates its own.
#[derive(Clone)]
pub struct Setup {
    name: String,
    flags: String,
    /// Before each run its files are removed from the page cache.
    cold: bool,
}

/// Runs the tables and writes the document.
pub fn publish(args: &PublishedArgs, dir: PathBuf) -> Result<(), String> {
    if !(args.scale > 0.0 && args.scale <= 1_000.0) {
        return Err(format!("--scale={}: a number above 0, 1000 at most", args.scale));
    }
    let start = Instant::now();
    let sizes = Sizes { scale: args.scale };
    let tables: Vec<Table> = tables::all(&sizes)
        .into_iter()
        .filter(|table| table.source == args.tables || table.title.contains(&args.tables))
        .collect();
    if tables.is_empty() {
        return Err(format!("--tables={}: no such table", args.tables));
    }
    let ours = match &args.ours {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|error| error.to_string())?
            .with_file_name("db_bench"),
    };
    let mut runner = run::Runner::new([ours, args.peer.clone()], dir.clone(), args.rounds.max(1));
    let mut measured = Vec::new();
    for table in &tables {
        let mut cells = Vec::new();
        for row in &table.rows {
            eprintln!(
                "[{:4.0} s] {}: {}",
                start.elapsed().as_secs_f64(),
                table.source,
                row.label
            );
            cells.push(runner.measure(row));
        }
        measured.push((table, cells));
    }
    let text = report::document(args, &dir, &runner, &measured, start.elapsed());
    if let Some(parent) = args.out.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    }
    std::fs::write(&args.out, text).map_err(|error| format!("{}: {error}", args.out.display()))?;
    println!("wrote {}", args.out.display());
    Ok(())
}
