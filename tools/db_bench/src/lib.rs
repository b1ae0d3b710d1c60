//! RocksDB's db_bench over Esker: the same flags, workloads, keys, values and result lines.
//!
//! Without `--benchmarks` it gives a tour of about a minute on a database of its own.
//!
//! The program is [`main`]. Other benchmarks use the operations of [`Mixgraph`] from here.
#![forbid(unsafe_code)]

mod bench;
mod document;
mod flags;
mod flamegraph;
mod handles;
mod harness;
mod header;
mod histogram;
mod intervals;
mod keys;
mod machine;
mod mixgraph;
mod op;
mod options;
mod options_file;
mod page;
mod params;
mod peer;
mod picture;
mod record;
mod report;
mod resources;
mod runner;
mod schedule;
mod secondary;
mod seeds;
mod stderr_logger;
mod tour;
mod transactions;
mod values;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;

use ::flags::Parsed;
use bench::Bench;
use flags::Flags;
use flamegraph::Flamegraph;
pub use mixgraph::{Kind, Mixgraph, Operation, Preset, Share};
use tour::Tour;

/// Runs db_bench with the arguments of the process.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), String> {
    if let [first, rest @ ..] = args
        && first == "report"
    {
        print!("{}", page::command(rest)?);
        return Ok(());
    }
    if args
        .iter()
        .any(|arg| matches!(arg.as_str(), "--version" | "-version"))
    {
        println!("db_bench version {}", esker::ROCKSDB_VERSION);
        return Ok(());
    }
    let flags = match ::flags::parse::<Flags>(args)? {
        Parsed::Run(flags) => *flags,
        Parsed::Help => {
            print!("{}", help());
            return Ok(());
        }
    };
    if flags.build_info {
        print!("{}", header::build_info());
        return Ok(());
    }
    for name in &flags.rest.ignored {
        eprintln!("note: {name}");
    }
    for item in flags.benchmarks.split(',').filter(|item| !item.is_empty()) {
        workloads::parse(item)?;
    }
    if !flags.peer.is_empty() {
        return peer::compare(&flags, args);
    }
    if !flags.db.is_empty() {
        let path = PathBuf::from(&flags.db);
        return drive(flags, &path).map_err(|error| error.to_string());
    }
    let test_directory = ::flags::test_directory()?;
    if !flags.benchmarks.is_empty() {
        return drive(flags, &test_directory.join("dbbench")).map_err(|error| error.to_string());
    }
    // This directory, with the tour's database in it, is removed when the function returns.
    let own = tempfile::Builder::new()
        .prefix("db_bench-")
        .tempdir_in(&test_directory)
        .map_err(|error| format!("{}: {error}", test_directory.display()))?;
    drive(flags, &own.path().join("db")).map_err(|error| error.to_string())
}

fn drive(flags: Flags, path: &std::path::Path) -> base::Result<()> {
    let list = flags.benchmarks.clone();
    if !list.is_empty() {
        let flamegraph = match flags.flamegraph.as_str() {
            "" => None,
            file => Some(Flamegraph::start(file.as_ref())?),
        };
        let mut bench = Bench::open(flags, path)?;
        bench.run(&list)?;
        if let Some(flamegraph) = flamegraph {
            print!("{}", flamegraph.finish()?);
        }
        return bench.close();
    }
    if !flags.flamegraph.is_empty() {
        return Err(base::Error::invalid_argument("--flamegraph wants --benchmarks"));
    }
    let flags = tour::flags(flags);
    let mut bench = Bench::open(flags, path)?;
    eprint!("{}", bench.environment()?);
    print!("{}", bench.seed_text());
    bench.begin()?;
    print!("{}", header::text(&bench.flags, bench.sizes()));
    let mut tour = Tour::new(bench);
    tour.run()?;
    tour.close()
}

fn help() -> String {
    format!(
        "db_bench [--benchmarks=a,b,c] [flags]\ndb_bench report A.json [B.json ...]: one HTML page of what --json wrote\n\n\
         Without --benchmarks: a tour of about a minute on a database of its own.\n\nWorkloads, each also as name[X5-W1] \
         for five runs after one warm-up:\n{}\nFlags:\n{}\nOptions of the engine, under its names:\n{}",
        workloads::help(),
        ::flags::help::<Flags>(),
        ::flags::engine::help()
    )
}
