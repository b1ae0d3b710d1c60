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
        return Err(base::Error::invalid_argument("--flamegraph needs --benchmarks"));
    }
    let flags = tour::flags(flags);
    let mut bench = Bench::open(flags, path)?;
    eprint!("{}", bench.environment()?);
    print!("{}", bench.seed_text());
    bench.begin()?;
    print!("{}", bench.header());
    let mut tour = Tour::new(bench);
    tour.run()?;
    tour.close()
}

/// The sections of the help about flags: the first flag of each, and its title.
const SECTIONS: &[(&str, &str)] = &[
    ("benchmarks", "Workloads, the database, the command line"),
    ("num", "Numbers of operations, threads, sizes of keys and values"),
    ("read_random_exp_range", "Choice of keys, iterators, MultiGet"),
    ("readwritepercent", "Workloads that mix operations"),
    ("transaction_db", "Transactions"),
    ("key_id_range", "Time series"),
    ("overwrite_probability", "Overwrites and range deletions"),
    ("benchmark_write_rate_limit", "Rates of reads and writes"),
    ("ingest_external_file_batch_size", "Ingestion and backups"),
    ("mixgraph_preset", "mixgraph"),
    ("bgwriter_num", "Writes"),
    ("verify_checksum", "Reads"),
    ("streams", "Streams of keys"),
    ("prefix_size", "Prefixes"),
    (
        "auto_refresh_iterator_with_snapshot",
        "Iterators that live long, checksums of files, merges",
    ),
    ("cache_type", "Caches"),
    ("bloom_bits", "Filters and indexes of tables"),
    ("checksum_type", "Checksums and compression of tables"),
    ("compaction_style", "Compactions and memtables"),
    ("rate_limiter_bytes_per_sec", "Rate limiter"),
    ("max_background_compactions", "Threads and files"),
    ("histogram", "Reports"),
    ("peer", "Comparisons, and workloads without a database"),
];

fn help() -> String {
    format!(
        "db_bench [--benchmarks=a,b,c] [flags]\ndb_bench report A.json [B.json ...]: one HTML page of what --json wrote\n\n\
         Without --benchmarks: a tour of about a minute on a database of its own.\n\n\
         This text: workloads, flags by section, options of the engine.\n\nWorkloads, each also as name[X5-W1] \
         for five runs after one warm-up:\n{}{}\nOptions of the engine, under its names:\n{}",
        workloads::help(),
        ::flags::help_in_sections::<Flags>(SECTIONS),
        ::flags::engine::help()
    )
}

#[cfg(test)]
mod tests {
    use ::flags::FlagSet;

    use super::*;

    #[test]
    fn each_flag_is_in_a_section_of_the_help() {
        let at = |name: &str| Flags::FLAGS.iter().position(|flag| flag.name == name);
        let firsts: Vec<Option<usize>> = SECTIONS.iter().map(|(first, _)| at(first)).collect();
        assert_eq!(firsts[0], Some(0), "the first section begins with the first flag");
        assert!(firsts.iter().all(Option::is_some), "{firsts:?}");
        assert!(firsts.is_sorted(), "{firsts:?}");
        for pair in firsts.windows(2) {
            let flags = pair[1].unwrap() - pair[0].unwrap();
            assert!((1..=30).contains(&flags), "{pair:?}: a section of {flags} flags");
        }
        let help = help();
        for (first, title) in SECTIONS {
            assert!(help.contains(&format!("\n{title}:\n  --{first} (")), "{title}");
        }
    }
}
