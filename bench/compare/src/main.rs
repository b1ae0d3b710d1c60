//! The same operations over Esker, RocksDB, fjall, LMDB and redb, in turns.
//!
//! Each round runs a workload over every engine, back to back, and the next round in another order. Each run
//! is a process of its own ([`bench_worker::worker`]), and each engine a program, over the same data with the
//! same settings ([`bench_worker::engine`]). A round's ratio of times is above 1 if the first engine is
//! faster. [`paired::Comparison`] judges all rounds together: median, 95% interval, and a verdict, which is
//! "no difference" if the spread says so. The numbers of found entries must be equal, or the run fails.
//!
//! The report also has: CPU time, with background threads; peak resident memory of the process; bytes the
//! process wrote to storage for each byte put (`disk/put`, from `/proc/self/io`, with WAL and removed files,
//! until flushes and compactions have come to rest); the engine's own write amplification, without WAL
//! (`W-amp`), if it counts one; and bytes of live files for each byte of live keys and values (`S-amp`), as a
//! scan finds them.
//!
//! `self-check` measures Esker against itself, then against itself with a planted slow-down of a tenth, and
//! fails unless the verdicts are "no difference" and "10%". `published` runs the tables of the documents
//! Esker started from again.

mod benchmark;
mod collect;
mod compare;
mod published;
mod versions;

use std::path::PathBuf;
use std::process::ExitCode;

use bench_worker::worker::Common;
use bench_worker::workload::Workload;
use clap::{Parser, Subcommand};
use compare::Arena;
use paired::Verdict;

/// Compares engines.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    compare: CompareArgs,
}

#[derive(Subcommand)]
enum Verb {
    /// Measures Esker against itself, and against itself with a planted slow-down: shows that the verdicts
    /// are right.
    SelfCheck(CheckArgs),
    /// Runs every table of the documents Esker started from, and writes docs/lab/published.md.
    Published(published::PublishedArgs),
}

#[derive(clap::Args)]
struct CompareArgs {
    /// Engines, separated by commas: esker, rocksdb-tuned, rocksdb-default, fjall, lmdb and redb, which need
    /// `--no-compression`, and device, the file system without an engine. The first is compared with each
    /// other one; one may occur twice.
    #[arg(long, default_value = "esker,rocksdb-tuned,rocksdb-default,fjall")]
    engines: String,
    /// Workloads, separated by commas; `fillseq@4` has four threads. `writing` and `reading` are the tables
    /// by which Esker is judged.
    #[arg(
        long,
        default_value = "fillseq,fillrandom,overwrite,overwriteandwait,readrandom,readmissing,readseq,readreverse,seekrandom10,seekrandom100"
    )]
    benchmarks: String,
    /// The number of rounds; a verdict needs six.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Slows the last engine down by this share, as in 10%.
    #[arg(long, value_parser = share, default_value = "0")]
    slow_down: f64,
    /// The directory of the databases. Default: a temporary directory.
    #[arg(long)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct CheckArgs {
    /// The workload.
    #[arg(long, default_value = "readrandom")]
    benchmark: Workload,
    /// The number of rounds.
    #[arg(long, default_value_t = 16)]
    rounds: usize,
    /// The planted slow-down.
    #[arg(long, value_parser = share, default_value = "10%")]
    slow_down: f64,
    /// The directory of the databases. Default: a temporary directory.
    #[arg(long)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// `10%` or `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |number| (number, 100.0));
    match number.parse::<f64>() {
        Ok(number) if (0.0..=10.0).contains(&(number / unit)) => Ok(number / unit),
        _ => Err(format!("{text} is no share such as 10%")),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.verb {
        None => compare(&cli.compare),
        Some(Verb::SelfCheck(args)) => self_check(&args),
        Some(Verb::Published(args)) => {
            place(args.dir()).and_then(|(dir, _own)| published::publish(&args, dir))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The given directory, or one that is removed when the guard is dropped.
fn place(asked: Option<&PathBuf>) -> Result<(PathBuf, Option<tempfile::TempDir>), String> {
    if let Some(dir) = asked {
        return Ok((dir.clone(), None));
    }
    let own = tempfile::TempDir::new().map_err(|error| error.to_string())?;
    Ok((own.path().to_path_buf(), Some(own)))
}

fn compare(args: &CompareArgs) -> Result<(), String> {
    let entrants = compare::entrants(&args.engines, args.slow_down)?;
    let benchmarks = benchmark::benchmarks(&args.benchmarks)?;
    let (dir, _own) = place(args.dir.as_ref())?;
    println!(
        "{} keys of 16 bytes, values of {}, {} compression, {} MiB of cache, memtables of {} MiB, {}, {} rounds",
        args.common.num,
        args.common.value_size,
        match (args.common.no_compression, args.common.block_align) {
            (true, true) => "aligned blocks, no",
            (true, false) => "no",
            (false, _) => "LZ4",
        },
        args.common.cache_size >> 20,
        args.common.write_buffer_size >> 20,
        if args.common.sync {
            "every write synced"
        } else {
            "no write synced"
        },
        args.rounds
    );
    if benchmarks.iter().any(|benchmark| benchmark.workload.is_read()) {
        let arena = Arena {
            entrants: &entrants,
            common: &args.common,
            rounds: args.rounds,
            dir: dir.clone(),
        };
        arena.load()?;
    }
    for benchmark in benchmarks {
        let common = Common {
            threads: benchmark.threads.unwrap_or(args.common.threads),
            ..args.common.clone()
        };
        let arena = Arena {
            entrants: &entrants,
            common: &common,
            rounds: args.rounds,
            dir: dir.clone(),
        };
        let samples = arena.run(benchmark.workload)?;
        print!("{}", compare::report(&benchmark.to_string(), &entrants, &samples));
    }
    Ok(())
}

fn self_check(args: &CheckArgs) -> Result<(), String> {
    let (dir, _own) = place(args.dir.as_ref())?;
    let mut wrong = Vec::new();
    for slow_down in [0.0, args.slow_down] {
        let entrants = compare::entrants("esker,esker", slow_down)?;
        let arena = Arena {
            entrants: &entrants,
            common: &args.common,
            rounds: args.rounds,
            dir: dir.clone(),
        };
        if args.benchmark.is_read() && slow_down == 0.0 {
            arena.load()?;
        }
        let samples = arena.run(args.benchmark)?;
        print!(
            "{}",
            compare::report(&args.benchmark.to_string(), &entrants, &samples)
        );
        match (slow_down > 0.0, compare::verdict(&samples)) {
            (false, Some(Verdict::NoDifference(_))) | (true, Some(Verdict::Greater)) => {}
            (false, verdict) => wrong.push(format!("the same twice: {verdict:?}, and not no difference")),
            (true, verdict) => wrong.push(format!("slowed down by {slow_down}: {verdict:?}, and not found")),
        }
    }
    if wrong.is_empty() {
        println!("self-check: no difference between the same, and the planted one is found");
        Ok(())
    } else {
        Err(wrong.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(
            (share("10%"), share("0.1"), share("0")),
            (Ok(0.1), Ok(0.1), Ok(0.0))
        );
        for bad in ["x", "-1%", "", "nan", "1e9"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
