//! The tables of the documents Esker started from, run again: RocksDB's db_bench and ours in turn, with one command line.
//!
//! [`tables`] is the data: a row is what a document says and a command, or an engine workload where RocksDB's db_bench
//! would have to be patched. [`run`](mod@run) measures, [`report`] writes the document. Rows with the same command share
//! its runs. What a program refuses (a flag it does not have yet) is said in its cell.

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

/// How the tables are run.
#[derive(Args, Clone, Debug)]
pub struct PublishedArgs {
    /// Sizes and times, as a multiple of the tables' own. The default fits two cores, 8 GiB and 20 minutes.
    #[arg(long, default_value_t = 0.5)]
    scale: f64,
    /// Runs of each program; it takes six for a confidence interval, fewer give least and greatest.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// RocksDB's db_bench. Default: the one on the search path.
    #[arg(long, default_value = "db_bench")]
    peer: PathBuf,
    /// Our db_bench. Default: the one beside this program.
    #[arg(long)]
    ours: Option<PathBuf>,
    /// Only tables whose source or title contains this.
    #[arg(long, default_value = "")]
    tables: String,
    /// Where the databases go. Default: a temporary directory.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Where the document goes.
    #[arg(long, default_value = "docs/lab/published.md")]
    out: PathBuf,
}

impl PublishedArgs {
    /// Where the databases are to go, if it was said.
    pub fn dir(&self) -> Option<&PathBuf> {
        self.dir.as_ref()
    }
}

/// Sizes of a run.
pub struct Sizes {
    scale: f64,
}

impl Sizes {
    /// A document's count, of which `share` is taken at scale 1.
    fn keys(&self, published: u64, share: f64) -> u64 {
        ((published as f64 * share * self.scale).round() as u64).max(1)
    }

    /// Seconds of a run that takes `seconds` at scale 1.
    fn seconds(&self, seconds: u64) -> u64 {
        ((seconds as f64 * self.scale).round() as u64).max(1)
    }
}

/// A table of a document.
pub struct Table {
    /// S1, S2 ...: see the head of the report.
    source: &'static str,
    title: &'static str,
    /// What differs from the document's setting.
    note: &'static str,
    /// Cells are means with the standard deviation over the rounds, as the document's are, and not medians.
    means: bool,
    rows: Vec<Row>,
}

/// A figure of a document, and how it is measured here.
pub struct Row {
    label: String,
    /// As the document writes it.
    published: String,
    /// The same before the change that the document is about, where it gives that figure.
    before: Option<&'static str>,
    metric: Metric,
    run: Run,
}

/// What is read off a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    OpsPerSecond,
    MillisPerOp,
    MicrosPerOp,
    MbPerSecond,
    /// Keys that a writer beside the readers wrote, in the time of the workload.
    WritesPerSecond,
    /// Bytes of keys and values that were written.
    MegabytesIngested,
    MegabytesFlushed,
    /// Bytes that compactions wrote.
    MegabytesCompacted,
    /// Time of all flushes and compactions together.
    CompactionSeconds,
    /// Their CPU time.
    CompactionCpuSeconds,
    /// That time in seconds, divided by the operations a second, as the document has it.
    CompactionCpuPerWrite,
    /// Lookups in the block cache that found their block.
    CacheHitPercent,
    /// Bytes that compactions moved for a byte they wrote.
    MoveRatio,
    /// Bytes flushed and compacted for each byte flushed.
    WriteAmplification,
    /// Time writes were stopped or slowed down, of all time.
    StallPercent,
    /// Bytes read from the disk for each operation of the workload.
    KilobytesReadPerOp,
    /// Mean time of a flush or compaction job into the level.
    SecondsPerJob(u8),
    /// Time of an operation on versions of keys, or of their collection.
    MicrosPerCall,
    /// The most that tables in use took while what was old was collected.
    TableMegabytes,
    /// Instructions of a collection.
    InstructionsPerCall,
}

/// Which of two figures is the better one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Better {
    More,
    Less,
}

/// How a figure is measured.
#[derive(Clone)]
pub enum Run {
    /// Both programs of db_bench, the figure from the line of `workload` or the statistics behind it. Over the database
    /// of the setup, or a fresh one.
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
    /// The collection of what is old by the compactions of both.
    Collection(collection::Collection),
    /// A workload of YCSB over both, while that goes on.
    Ycsb(ycsb::Case),
}

/// A database that several rows read; each program makes its own.
#[derive(Clone)]
pub struct Setup {
    name: String,
    flags: String,
    /// Before each run its files are taken out of the page cache.
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
