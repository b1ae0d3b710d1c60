//! Assembles a document: the setting at the start, and each run as it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::Result;
use esker::option_table::OptionTable;
use esker::{
    BlockBasedOptions, BlockCache, ColumnFamilyOptions, Options, StallCause, StallCondition, StallTotal,
    Ticker,
};

use crate::document::{
    Background, Benchmark, CacheUse, CpuUse, Document, FORMAT, Harness, IntervalRow, Level, Memory, Overdue,
    Reads, Stall, Writes,
};
use crate::flags::Flags;
use crate::handles::Handles;
use crate::histogram::{Histogram, Percentiles};
use crate::machine;
use crate::op::Op;
use crate::report::Summary;
use crate::resources::{self, Used};
use ::flags::FlagSet;

/// Writes the document of a command line again after each run.
pub struct Recorder {
    path: PathBuf,
    document: Document,
}

impl Recorder {
    /// Starts the document and writes it, so that a path that cannot be written is found out before the first
    /// run.
    pub fn new(flags: &Flags, options: &Options, db: &Path, seed: i64, harness: Harness) -> Result<Recorder> {
        let recorder = Recorder {
            path: PathBuf::from(&flags.json),
            document: Document {
                format: FORMAT,
                program: "db_bench".to_owned(),
                engine: "Esker".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                debug_assertions: cfg!(debug_assertions),
                unix_seconds: SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs()),
                db: db.display().to_string(),
                seed,
                flags_given: flags.rest.given.clone(),
                flags: Flags::FLAGS
                    .iter()
                    .map(|flag| (flag.name.to_owned(), (flag.get)(flags)))
                    .collect(),
                options: all_options(options),
                machine: machine::describe(db),
                harness,
                benchmarks: Vec::new(),
            },
        };
        recorder.document.write(&recorder.path)?;
        Ok(recorder)
    }

    /// Adds a run and writes the document.
    pub fn add(&mut self, benchmark: Benchmark) -> Result<()> {
        self.document.benchmarks.push(benchmark);
        self.document.write(&self.path)
    }
}

fn all_options(options: &Options) -> BTreeMap<String, String> {
    fn of<S: OptionTable>(options: &S) -> impl Iterator<Item = (String, String)> {
        S::rows()
            .iter()
            .map(move |row| (row.name.to_owned(), (row.get)(options)))
    }
    let family: &ColumnFamilyOptions = &options.column_family;
    let table: &BlockBasedOptions = &family.table;
    of(options).chain(of(family)).chain(of(table)).collect()
}

/// The state when a run began.
pub struct Before {
    start: Instant,
    used: Used,
    levels: Vec<Level>,
    engine: Engine,
}

/// Counts of the engine.
struct Engine {
    tickers: Vec<u64>,
    stalls: Vec<StallTotal>,
    cache: CacheCounts,
}

/// Counts of the block cache.
#[derive(Clone, Copy, Default)]
struct CacheCounts {
    misses: u64,
    inserts: u64,
    evictions: u64,
}

/// Every condition that holds writers back, with RocksDB's name where it has one.
const STALLS: [(&str, StallCondition); 9] = [
    (
        "memtable-limit-delays",
        StallCondition::Delayed {
            cause: StallCause::MemtableLimit,
        },
    ),
    (
        "memtable-limit-stops",
        StallCondition::Stopped {
            cause: StallCause::MemtableLimit,
        },
    ),
    (
        "l0-file-count-limit-delays",
        StallCondition::Delayed {
            cause: StallCause::L0FileCountLimit,
        },
    ),
    (
        "l0-file-count-limit-stops",
        StallCondition::Stopped {
            cause: StallCause::L0FileCountLimit,
        },
    ),
    (
        "pending-compaction-bytes-delays",
        StallCondition::Delayed {
            cause: StallCause::PendingCompactionBytes,
        },
    ),
    (
        "pending-compaction-bytes-stops",
        StallCondition::Stopped {
            cause: StallCause::PendingCompactionBytes,
        },
    ),
    (
        "write-buffer-manager-limit-stops",
        StallCondition::Stopped {
            cause: StallCause::WriteBufferManagerLimit,
        },
    ),
    (
        "low-priority-delays",
        StallCondition::Delayed {
            cause: StallCause::LowPriority,
        },
    ),
    (
        "wal-locked-stops",
        StallCondition::Stopped {
            cause: StallCause::WalLocked,
        },
    ),
];

fn block_cache(options: &Options) -> Option<&BlockCache> {
    options.column_family.table.block_cache.as_deref()
}

impl Engine {
    fn now(handles: &Handles, options: &Options) -> Engine {
        let stats = handles.db.statistics();
        Engine {
            tickers: Ticker::ALL.iter().map(|ticker| stats.get(*ticker)).collect(),
            stalls: STALLS
                .iter()
                .map(|(_, condition)| stats.stall(*condition))
                .collect(),
            cache: block_cache(options).map_or_else(Default::default, |cache| {
                let stats = cache.stats();
                CacheCounts {
                    misses: stats.misses,
                    inserts: stats.inserts,
                    evictions: stats.evictions,
                }
            }),
        }
    }
}

impl Before {
    /// The current state. The peak of resident memory is reset, and counts from this call on.
    pub fn now(handles: &Handles, options: &Options) -> Before {
        resources::forget_peak();
        Before {
            levels: levels(&resources::levels(handles)),
            engine: Engine::now(handles, options),
            used: Used::now(),
            start: Instant::now(),
        }
    }

    /// The run that has just ended. `summary` is that of its threads; a workload without one counts no
    /// operations.
    pub fn ended(
        self,
        name: &str,
        threads: usize,
        summary: &Summary,
        flags: &Flags,
        handles: &Handles,
        options: &Options,
    ) -> Benchmark {
        let elapsed = self.start.elapsed();
        let used = Used::now() - self.used;
        let run = Difference {
            summary,
            elapsed,
            used,
            before: &self.engine,
            after: Engine::now(handles, options),
        };
        let limited = flags.benchmark_read_rate_limit > 0 || flags.benchmark_write_rate_limit > 0;
        let seconds = if summary.elapsed.is_zero() {
            elapsed
        } else {
            summary.elapsed
        }
        .as_secs_f64();
        Benchmark {
            name: name.to_owned(),
            warm_up: false,
            threads: threads as u64,
            operations: summary.done,
            seconds,
            operations_per_second: if summary.done == 0 {
                0.0
            } else {
                summary.ops_per_second()
            },
            micros_per_operation: run.each(summary.busy.as_secs_f64() * 1e6),
            bytes: summary.bytes,
            mib_per_second: summary.mib_per_second().unwrap_or(0.0),
            message: summary.message.trim().to_owned(),
            latency_from: if limited { "due" } else { "start" }.to_owned(),
            latency_micros: percentiles(&summary.latencies),
            background: Background {
                operations: summary.background_done,
                latency_micros: percentiles(&summary.background),
            },
            overdue: Overdue {
                write_bytes: summary.overdue_writes,
                reads: summary.overdue_reads,
            },
            memory: memory(handles),
            writes: run.writes(),
            reads: run.reads(),
            cpu: run.cpu(),
            stalls: run.stalls(),
            block_cache: block_cache(options).map_or_else(CacheUse::default, |cache| run.block_cache(cache)),
            levels_before: Some(self.levels),
            levels: levels(&resources::levels(handles)),
            intervals: intervals(summary, &self.engine.tickers, self.used),
        }
    }
}

/// A run that has ended: its threads' summary, and the counts before and after it.
struct Difference<'a> {
    summary: &'a Summary,
    elapsed: Duration,
    /// The use of the machine during the run.
    used: Used,
    before: &'a Engine,
    after: Engine,
}

impl Difference<'_> {
    fn ticker(&self, ticker: Ticker) -> u64 {
        self.after.tickers[ticker as usize].saturating_sub(self.before.tickers[ticker as usize])
    }

    /// The share of one operation in a total. 0 without operations.
    fn each(&self, total: f64) -> f64 {
        match self.summary.done {
            0 => 0.0,
            operations => total / operations as f64,
        }
    }

    fn writes(&self) -> Writes {
        let (user, wal) = (self.ticker(Ticker::BytesWritten), self.ticker(Ticker::WalBytes));
        let flushed = self.ticker(Ticker::FlushWriteBytes);
        let compacted = self.ticker(Ticker::CompactWriteBytes);
        Writes {
            user_bytes: user,
            wal_bytes: wal,
            flush_bytes: flushed,
            compaction_read_bytes: self.ticker(Ticker::CompactReadBytes),
            compaction_bytes: compacted,
            trivial_moves: self.ticker(Ticker::TrivialMoves),
            storage_bytes: self.used.storage_written,
            write_amplification: (user > 0).then(|| (wal + flushed + compacted) as f64 / user as f64),
        }
    }

    fn reads(&self) -> Reads {
        Reads {
            calls: self.summary.reads,
            bytes: self.summary.bytes_read,
            bytes_per_operation: self.each(self.summary.bytes_read as f64),
            storage_bytes: self.used.storage_read,
            storage_bytes_per_operation: self.each(self.used.storage_read as f64),
            major_faults: self.used.major_faults,
        }
    }

    fn cpu(&self) -> CpuUse {
        let cpu = &self.used.cpu;
        CpuUse {
            user_seconds: cpu.user.as_secs_f64(),
            system_seconds: cpu.system.as_secs_f64(),
            micros_per_operation: self.each(cpu.total().as_secs_f64() * 1e6),
            foreground_micros_per_operation: self.each(self.summary.cpu.total().as_secs_f64() * 1e6),
            busy: cpu.total().as_secs_f64() / self.elapsed.as_secs_f64().max(1e-9),
            involuntary_switches: self.used.involuntary_switches,
        }
    }

    fn stalls(&self) -> Vec<Stall> {
        STALLS
            .iter()
            .zip(self.before.stalls.iter().zip(&self.after.stalls))
            .map(|((reason, _), (before, after))| Stall {
                reason: (*reason).to_owned(),
                count: after.count.saturating_sub(before.count),
                seconds: after.micros.saturating_sub(before.micros) as f64 / 1e6,
            })
            .collect()
    }

    fn block_cache(&self, cache: &BlockCache) -> CacheUse {
        let (before, after) = (&self.before.cache, &self.after.cache);
        CacheUse {
            capacity: cache.capacity() as u64,
            usage: cache.usage() as u64,
            pinned: cache.pinned_usage() as u64,
            misses: after.misses.saturating_sub(before.misses),
            inserts: after.inserts.saturating_sub(before.inserts),
            evictions: after.evictions.saturating_sub(before.evictions),
        }
    }
}

/// The memory of the process now, and that of the memtables and open tables of all families.
fn memory(handles: &Handles) -> Memory {
    let (resident, peak) = resources::memory();
    let sum = |property: &str| -> u64 {
        handles
            .families
            .iter()
            .filter_map(|family| handles.db.property_int(family, property))
            .sum()
    };
    Memory {
        resident,
        peak,
        memtables: sum("rocksdb.cur-size-all-mem-tables"),
        table_readers: sum("rocksdb.estimate-table-readers-mem"),
    }
}

fn percentiles(latencies: &BTreeMap<Op, Histogram>) -> BTreeMap<String, Percentiles> {
    latencies
        .iter()
        .map(|(op, latencies)| (op.name().to_owned(), latencies.percentiles()))
        .collect()
}

fn named(latencies: &BTreeMap<Op, Percentiles>) -> BTreeMap<String, Percentiles> {
    latencies
        .iter()
        .map(|(op, latencies)| (op.name().to_owned(), *latencies))
        .collect()
}

fn levels(levels: &[(u64, u64)]) -> Vec<Level> {
    levels
        .iter()
        .map(|&(files, bytes)| Level { files, bytes })
        .collect()
}

/// The differences between the counts of successive samples.
fn intervals(summary: &Summary, tickers: &[u64], used: Used) -> Vec<IntervalRow> {
    let ticker = |ticker: Ticker| tickers[ticker as usize];
    let mut stalled = ticker(Ticker::StallMicros);
    let mut jobs = ticker(Ticker::FlushWriteBytes) + ticker(Ticker::CompactWriteBytes);
    let mut cpu = used.cpu.total().as_secs_f64();
    let mut rows = Vec::with_capacity(summary.intervals.len());
    for interval in &summary.intervals {
        let sample = &interval.sample;
        rows.push(IntervalRow {
            seconds: interval.end.as_secs_f64(),
            operations: interval.operations,
            background_operations: interval.background_operations,
            latency_micros: named(&interval.latencies),
            background_latency_micros: named(&interval.background),
            levels: levels(&sample.levels),
            stall_seconds: sample.stall_micros.saturating_sub(stalled) as f64 / 1e6,
            job_bytes: sample.job_bytes.saturating_sub(jobs),
            cpu_seconds: (sample.cpu_seconds - cpu).max(0.0),
            resident: sample.resident,
        });
        stalled = sample.stall_micros;
        jobs = sample.job_bytes;
        cpu = sample.cpu_seconds;
    }
    rows
}
