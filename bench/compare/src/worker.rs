//! One engine, one workload, once, in a process and a program of its own: so the memory of the process is the
//! engine's, and no engine inherits another's heap or code. The result is one line of standard output for the
//! parent.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Args, Parser};

use crate::data::Data;
use crate::engine::{Engine, Feature, Kind, Scan, Settings};
use crate::run;
use crate::threads::{Done, Pace, Shape};
use crate::workload::Workload;
use crate::{transaction, write};

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(3_600);

/// The size of the data and the settings of the engines.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// The number of keys.
    #[arg(long, default_value_t = 1_000_000)]
    pub num: u64,
    /// The number of point reads of a round; scans do fewer.
    #[arg(long, default_value_t = 500_000)]
    pub reads: u64,
    /// The size of a value in bytes.
    #[arg(long, default_value_t = 100)]
    pub value_size: usize,
    /// The size of the block cache in bytes.
    #[arg(long, default_value_t = 1 << 30)]
    pub cache_size: usize,
    /// The size of a memtable in bytes.
    #[arg(long, default_value_t = 64 << 20)]
    pub write_buffer_size: usize,
    /// Do not compress.
    #[arg(long)]
    pub no_compression: bool,
    /// Data blocks begin where a page does (`block_align`), which requires `--no-compression`; fjall, LMDB,
    /// redb and the device ignore it.
    #[arg(long, requires = "no_compression")]
    pub block_align: bool,
    /// Sync every write.
    #[arg(long)]
    pub sync: bool,
    /// Read bypassing the page cache.
    #[arg(long, conflicts_with = "mmap")]
    pub direct: bool,
    /// Read through memory maps of the files.
    #[arg(long)]
    pub mmap: bool,
    /// The number of threads that read or write; `name@4` in `--benchmarks` sets it for one workload.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub threads: u64,
    /// Writes per second during the reads of `...whilewriting` and `readwhiledeleting`.
    #[arg(long, default_value_t = 20_000)]
    pub writes_per_second: u64,
    /// The contents of the database that is read.
    #[arg(long, value_enum, default_value_t = Shape::Compacted)]
    pub shape: Shape,
}

impl Common {
    /// Data that fits every cache.
    pub fn small() -> Common {
        Common {
            num: 100_000,
            reads: 100_000,
            value_size: 100,
            cache_size: 256 << 20,
            write_buffer_size: 64 << 20,
            no_compression: false,
            block_align: false,
            sync: false,
            direct: false,
            mmap: false,
            threads: 1,
            writes_per_second: 20_000,
            shape: Shape::Compacted,
        }
    }

    fn settings(&self, workload: Workload) -> Settings {
        Settings {
            cache_size: self.cache_size,
            write_buffer_size: self.write_buffer_size,
            lz4: !self.no_compression,
            block_align: self.block_align,
            bloom_bits: 10.0,
            sync: self.sync || workload.syncs(),
            direct: self.direct,
            mmap: self.mmap,
            disable_auto_compactions: workload.disables_auto_compactions(),
        }
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--num={}", self.num),
            format!("--reads={}", self.reads),
            format!("--value-size={}", self.value_size),
            format!("--cache-size={}", self.cache_size),
            format!("--write-buffer-size={}", self.write_buffer_size),
            format!("--threads={}", self.threads),
            format!("--writes-per-second={}", self.writes_per_second),
            format!(
                "--shape={}",
                match self.shape {
                    Shape::Compacted => "compacted",
                    Shape::Overwritten => "overwritten",
                    Shape::Streams => "streams",
                    Shape::Written => "written",
                    Shape::Tombstones => "tombstones",
                }
            ),
        ];
        let switches = [
            (self.no_compression, "--no-compression"),
            (self.block_align, "--block-align"),
            (self.sync, "--sync"),
            (self.direct, "--direct"),
            (self.mmap, "--mmap"),
        ];
        arguments.extend(
            switches
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, name)| (*name).to_owned()),
        );
        arguments
    }
}

/// The task of one process.
#[derive(Args, Clone, Debug)]
pub struct Task {
    /// The engine.
    #[arg(long)]
    pub engine: Kind,
    /// The workload.
    #[arg(long)]
    pub benchmark: Workload,
    /// The directory of the database.
    #[arg(long)]
    pub dir: PathBuf,
    /// The seed of the workload.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The planted slow-down, as a share of the time of the operations.
    #[arg(long, default_value_t = 0.0)]
    pub slow_down: f64,
    /// The size of the data, and the settings of the engines.
    #[command(flatten)]
    pub common: Common,
}

/// The result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Nanoseconds per operation.
    pub nanos: f64,
    /// The number of entries found or walked.
    pub found: u64,
    /// Nanoseconds of CPU time per operation, with background work.
    pub cpu_nanos: f64,
    /// The maximum of resident bytes.
    pub peak_rss: f64,
    /// The bytes written to storage, with WAL, for each byte of key and value put; NaN if nothing was put.
    pub storage_amplification: f64,
    /// The bytes that flushes and compactions wrote for each byte flushed; NaN if the engine does not count
    /// them.
    pub write_amplification: f64,
    /// The bytes of live files for each byte of live keys and values, after everything has come to rest; NaN
    /// if nothing was put, or the engine does not count them.
    pub space_amplification: f64,
}

impl Sample {
    fn line(&self) -> String {
        format!(
            "result {} {} {} {} {} {} {}",
            self.nanos,
            self.found,
            self.cpu_nanos,
            self.peak_rss,
            self.storage_amplification,
            self.write_amplification,
            self.space_amplification
        )
    }

    fn parse(output: &str) -> Option<Sample> {
        let line = output
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("result "))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [nanos, found, cpu_nanos, peak_rss, storage, write, space] = words[..] else {
            return None;
        };
        Some(Sample {
            nanos: nanos.parse().ok()?,
            found: found.parse().ok()?,
            cpu_nanos: cpu_nanos.parse().ok()?,
            peak_rss: peak_rss.parse().ok()?,
            storage_amplification: storage.parse().ok()?,
            write_amplification: write.parse().ok()?,
            space_amplification: space.parse().ok()?,
        })
    }
}

/// Runs the task in a process of its own.
pub fn spawn(task: &Task) -> Result<Sample, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name(task.engine.program());
    if !program.exists() {
        return Err(format!(
            "{} does not exist: `cargo build --release -p bench-compare` builds it",
            program.display()
        ));
    }
    let mut command = Command::new(program);
    command
        .arg(format!("--engine={}", task.engine))
        .arg(format!("--benchmark={}", task.benchmark))
        .arg(format!("--dir={}", task.dir.display()))
        .arg(format!("--seed={}", task.seed))
        .arg(format!("--slow-down={}", task.slow_down))
        .args(task.common.arguments());
    let finished = paired::run(&mut command, LIMIT)?;
    Sample::parse(&finished.output).ok_or_else(|| {
        format!(
            "{} {}: no result in {:?}",
            task.engine, task.benchmark, finished.output
        )
    })
}

/// Runs one workload over one engine, in this process: the command that `bench-compare` starts for each run.
/// Useful for profilers.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    task: Task,
}

/// Runs a task over one engine. It fails if the engine lacks a feature that the task needs.
type TaskRun = fn(&Task) -> Result<Sample, String>;

/// The main function of a program whose engines `runs` knows: it runs the task of the command line and prints
/// the result.
pub fn main(runs: impl FnOnce(Kind) -> Option<TaskRun>) -> ExitCode {
    let Cli { task } = Cli::parse();
    let run = runs(task.engine).ok_or_else(|| format!("{} runs {}", task.engine.program(), task.engine));
    let outcome = run.and_then(|run| match std::fs::create_dir_all(&task.dir) {
        Ok(()) => run(&task),
        Err(error) => Err(format!("{}: {error}", task.dir.display())),
    });
    match outcome {
        Ok(sample) => {
            println!("{}", sample.line());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The features that a workload needs with the settings of a task.
fn needs(benchmark: Workload, settings: &Settings) -> impl Iterator<Item = Feature> {
    [
        (settings.lz4, Feature::Compression),
        (settings.direct, Feature::DirectReads),
        (settings.mmap, Feature::MemoryMaps),
        (matches!(benchmark, Workload::Recovery(_)), Feature::Log),
        (benchmark == Workload::Compact, Feature::Compaction),
    ]
    .into_iter()
    .filter_map(|(needed, feature)| needed.then_some(feature))
}

/// Runs the task over the engine, in this process.
pub fn run<E: Engine>(task: &Task) -> Result<Sample, String> {
    let settings = task.common.settings(task.benchmark);
    if let Some(lacked) = needs(task.benchmark, &settings).find(|feature| E::LACKS.contains(feature)) {
        return Err(format!("{} has no {lacked}", task.engine));
    }
    let data = Data::new(task.common.num, task.common.reads, task.common.value_size);
    let pace = Pace {
        seed: task.seed,
        shape: task.common.shape,
        threads: task.common.threads,
        writes_per_second: task.common.writes_per_second,
        slow_down: task.slow_down,
        direct: task.common.direct,
    };
    if let Workload::Transact(control, keys) = task.benchmark {
        let db = E::transactions(&task.dir, &settings, control);
        let db = db.ok_or_else(|| format!("{} has no transactions here", task.engine))?;
        return Ok(timed(&transaction::run(&*db, keys, &data, &pace)));
    }
    let (db, done) = match task.benchmark {
        Workload::Recovery(mib) => write::recover::<E>(&task.dir, &settings, &data, mib, &pace),
        benchmark => {
            let db = E::open(&task.dir, &settings);
            let done = run::run(&db, benchmark, &data, &pace);
            (db, done)
        }
    };
    let (write_amplification, live_file_bytes) = if done.written > 0 {
        (db.write_amplification(), db.live_file_bytes())
    } else {
        (None, None)
    };
    // A WAL may have been written even if nothing was put. On a file system in memory the kernel counts no
    // writes.
    let storage_amplification = match done.written {
        0 => f64::NAN,
        put => done.cost.written as f64 / put as f64,
    };
    let space_amplification = live_file_bytes.map(|bytes| {
        let live = db.scan(Scan::Forward, u64::MAX);
        bytes as f64 / live.bytes as f64
    });
    Ok(Sample {
        storage_amplification,
        write_amplification: write_amplification.unwrap_or(f64::NAN),
        space_amplification: space_amplification.unwrap_or(f64::NAN),
        ..timed(&done)
    })
}

/// The times, without the disk.
fn timed(done: &Done) -> Sample {
    let operations = done.operations.max(1) as f64;
    let nanos = match done.tail {
        Some(tail) => tail.as_nanos() as f64,
        None => done.time.as_nanos() as f64 / operations,
    };
    Sample {
        nanos,
        found: done.found,
        cpu_nanos: done.cost.cpu_seconds * 1e9 / operations,
        peak_rss: done.cost.peak_rss as f64,
        storage_amplification: f64::NAN,
        write_amplification: f64::NAN,
        space_amplification: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_needs_what_its_settings_name() {
        let common = Common::small();
        let of = |name: &str, common: &Common| -> Vec<Feature> {
            let benchmark: Workload = name.parse().unwrap();
            needs(benchmark, &common.settings(benchmark)).collect()
        };
        assert_eq!(of("readrandom", &common), [Feature::Compression]);
        let raw = Common {
            no_compression: true,
            mmap: true,
            ..common
        };
        assert_eq!(of("recovery5", &raw), [Feature::MemoryMaps, Feature::Log]);
        assert_eq!(of("compact", &raw), [Feature::MemoryMaps, Feature::Compaction]);
    }

    #[test]
    fn results_come_back() {
        let sample = Sample {
            nanos: 12.5,
            found: 7,
            cpu_nanos: 14.0,
            peak_rss: 1e9,
            storage_amplification: 2.25,
            write_amplification: 1.0,
            space_amplification: 1.25,
        };
        let output = format!("noise\n{}\n", sample.line());
        assert_eq!(Sample::parse(&output), Some(sample));
        assert_eq!(Sample::parse("result 1 2 3"), None);
        let silent = Sample {
            write_amplification: f64::NAN,
            ..sample
        };
        assert!(
            Sample::parse(&silent.line())
                .unwrap()
                .write_amplification
                .is_nan()
        );
    }
}
