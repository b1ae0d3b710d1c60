//! RocksDB's db_bench over Esker: the same flags, workloads, keys, values and result lines.
//!
//! Without `--benchmarks` it gives a tour of about a minute on a database of its own.
#![forbid(unsafe_code)]

mod bench;
mod flags;
mod header;
mod histogram;
mod keys;
mod limiter;
mod options;
mod peer;
mod picture;
mod report;
mod runner;
mod suggest;
mod tour;
mod values;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;

use bench::Bench;
use flags::{Flags, Parsed};
use tour::Tour;

fn main() -> ExitCode {
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
    let rows = options::rows();
    let names: Vec<&str> = rows.iter().map(|row| row.0).collect();
    let flags = match flags::parse(args, &options::is_bool, &names)? {
        Parsed::Run(flags) => *flags,
        Parsed::Help => {
            print!("{}", help(&rows));
            return Ok(());
        }
    };
    for name in &flags.ignored {
        eprintln!("note: --{name} tunes RocksDB and has no effect here");
    }
    for item in flags.benchmarks.split(',').filter(|item| !item.is_empty()) {
        workloads::parse(item)?;
    }
    if !flags.peer.is_empty() {
        return peer::compare(&flags, args);
    }
    // Removed, with the database in it, when this function returns.
    let own = if flags.db.is_empty() {
        Some(
            tempfile::Builder::new()
                .prefix("db_bench-")
                .tempdir()
                .map_err(|error| error.to_string())?,
        )
    } else {
        None
    };
    let path = own
        .as_ref()
        .map_or_else(|| PathBuf::from(&flags.db), |dir| dir.path().join("db"));
    drive(flags, &path).map_err(|error| error.to_string())
}

fn drive(flags: Flags, path: &std::path::Path) -> base::Result<()> {
    let list = flags.benchmarks.clone();
    if !list.is_empty() {
        let mut bench = Bench::open(flags, path)?;
        bench.run(&list)?;
        return bench.close();
    }
    let flags = tour::flags(flags);
    eprint!("{}", header::environment());
    let bench = Bench::open(flags, path)?;
    print!("{}", header::text(&bench.flags, bench.sizes()));
    let mut tour = Tour::new(bench);
    tour.run()?;
    tour.close()
}

fn help(rows: &[(&'static str, &'static str, String, &'static str)]) -> String {
    let mut text = format!(
        "db_bench [--benchmarks=a,b,c] [flags]\n\nWithout --benchmarks: a tour of about a minute on a database of its \
         own.\n\nWorkloads, each also as name[X5-W1] for five runs after one warm-up:\n{}\nFlags:\n{}\nOptions of the \
         engine, under its names:\n",
        workloads::help(),
        flags::help()
    );
    for (name, kind, default, doc) in rows {
        let doc: Vec<&str> = doc.lines().map(str::trim).collect();
        text.push_str(&format!(
            "  --{name} ({kind}, default {default:?})\n     {}\n",
            doc.join(" ")
        ));
    }
    text
}
