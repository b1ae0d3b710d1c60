//! A table of a document: its rows, the figure of each, and the run that measures it.

use crate::collect;
use crate::versions::{Case as VersionsCase, collection, ycsb};
use bench_worker::workload::Workload;

/// The sizes of a run.
pub struct Sizes {
    pub(super) scale: f64,
}

impl Sizes {
    /// A number of keys from a document, multiplied by `share` and by the scale.
    pub(super) fn keys(&self, published: u64, share: f64) -> u64 {
        ((published as f64 * share * self.scale).round() as u64).max(1)
    }

    /// The seconds of a run that takes `seconds` at scale 1.
    pub(super) fn seconds(&self, seconds: u64) -> u64 {
        ((seconds as f64 * self.scale).round() as u64).max(1)
    }
}

/// A table of a document.
pub struct Table {
    /// The source of the table: S1, S2 and so on, as listed at the head of the report.
    pub(super) source: &'static str,
    pub(super) title: &'static str,
    /// The differences from the document's setting.
    pub(super) note: &'static str,
    /// True if cells are means with the standard deviation over the rounds, like the document's, instead of
    /// medians.
    pub(super) means: bool,
    pub(super) rows: Vec<Row>,
}

/// A figure of a document, and its measurement here.
pub struct Row {
    pub(super) label: String,
    /// The figure in the form of the document.
    pub(super) published: String,
    /// The figure before the change that the document describes, if it has one.
    pub(super) before: Option<&'static str>,
    pub(super) metric: Metric,
    pub(super) run: RunMethod,
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
    /// The CPU time of flushes and compactions in seconds, divided by the operations per second, as in the
    /// document.
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

impl Metric {
    /// The unit of the figure, for the report.
    pub fn name(self) -> String {
        match self {
            Metric::OpsPerSecond => "ops/s".to_owned(),
            Metric::MillisPerOp => "ms/op".to_owned(),
            Metric::MicrosPerOp => "us/op".to_owned(),
            Metric::WritesPerSecond => "writes/s".to_owned(),
            Metric::MegabytesIngested => "MB ingested".to_owned(),
            Metric::MegabytesFlushed => "MB flushed".to_owned(),
            Metric::MegabytesCompacted => "MB compacted".to_owned(),
            Metric::CompactionSeconds => "s of jobs (c.wsecs)".to_owned(),
            Metric::CompactionCpuSeconds => "CPU s of jobs (c.csecs)".to_owned(),
            Metric::CompactionCpuPerWrite => "cpu/w (c.csecs/wps)".to_owned(),
            Metric::CacheHitPercent => "% cache hits".to_owned(),
            Metric::MoveRatio => "move-ratio".to_owned(),
            Metric::MbPerSecond => "MB/s".to_owned(),
            Metric::WriteAmplification => "write amplification".to_owned(),
            Metric::StallPercent => "% stalled".to_owned(),
            Metric::KilobytesReadPerOp => "KB read/op".to_owned(),
            Metric::SecondsPerJob(_) => "s/job".to_owned(),
            Metric::MicrosPerCall => "us/call".to_owned(),
            Metric::InstructionsPerCall => "instructions/call".to_owned(),
            Metric::TableMegabytes => "MB of tables".to_owned(),
        }
    }

    /// The better direction.
    pub fn better(self) -> Better {
        match self {
            Metric::OpsPerSecond
            | Metric::MbPerSecond
            | Metric::WritesPerSecond
            | Metric::MegabytesIngested
            | Metric::CacheHitPercent
            | Metric::MoveRatio => Better::More,
            _ => Better::Less,
        }
    }
}

/// The better one of two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Better {
    More,
    Less,
}

/// The method of a measurement.
#[derive(Clone)]
pub enum RunMethod {
    /// A command for each program of db_bench, with the figure from the line of `workload` or the statistics
    /// after it. Over the database of the setup, or a fresh one.
    DbBench {
        setup: Option<Setup>,
        flags: String,
        workload: &'static str,
    },
    /// A workload of bench-compare over Esker and RocksDB tuned by an expert.
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
    /// A workload of YCSB over each engine, while old versions are collected.
    Ycsb(ycsb::Case),
}

/// A database that several rows read; each program creates its own.
#[derive(Clone)]
pub struct Setup {
    pub(super) name: String,
    pub(super) flags: String,
    /// Removes the database's files from the page cache before each run.
    pub(super) cold: bool,
}

/// The text of a cell whose figure the document shows only in a picture, without a number.
pub(super) const PICTURE: &str = "picture";

/// A row of a table of operations a second.
pub(super) fn row(
    label: impl Into<String>,
    published: impl Into<String>,
    metric: Metric,
    run: RunMethod,
) -> Row {
    Row {
        label: label.into(),
        published: published.into(),
        before: None,
        metric,
        run,
    }
}

pub(super) fn bench(setup: Option<&Setup>, flags: String, workload: &'static str) -> RunMethod {
    RunMethod::DbBench {
        setup: setup.cloned(),
        flags,
        workload,
    }
}

pub(super) fn setup(name: &str, flags: String) -> Setup {
    Setup {
        name: name.to_owned(),
        flags,
        cold: false,
    }
}
