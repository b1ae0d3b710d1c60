//! RocksDB's db_stress and db_crashtest over Esker: threads that read, write, compact and reopen at random
//! and compare all results with an expected state; and crashes, of processes and of power, real and
//! simulated, after which the database must have everything that was promised. See docs/stress.md.
#![forbid(unsafe_code)]

mod ask;
mod backups;
mod checkpoint;
mod control;
mod crashtest;
mod done;
mod draw;
mod driver;
mod engine_options;
mod entities;
mod expected_state;
mod expected_value;
mod exports;
mod failure;
mod faults;
mod feed;
mod filter;
mod flags;
mod followers;
mod ingest;
mod ingest_behind;
mod iterate;
mod iterate_families;
mod keys;
mod kill_fs;
mod large_rows;
mod moves;
mod open;
mod operations;
mod outside;
mod rare;
mod recover;
mod remote;
mod restore;
mod secondary;
mod simulate;
mod stress;
mod trace;
mod transaction_db;
mod transactions;
mod unsynced_fs;
mod verify;
mod wal_dirs;
mod worker;
mod writes;

use std::process::ExitCode;

use ::flags::{FlagSet, Parsed};

/// The program `db_stress`: see its `--help`.
pub fn db_stress() -> ExitCode {
    let about = format!(
        "db_stress [flags]\n\nFlags:\n{}\nOptions of the engine, under its names:\n{}",
        ::flags::help::<flags::Flags>(),
        ::flags::engine::help()
    );
    program("db_stress", &about, |flags: flags::Flags| {
        for note in &flags.rest.ignored {
            eprintln!("note: {note}");
        }
        driver::drive(flags).map_err(|failure| failure.to_string())
    })
}

/// The program `db_crashtest`: see its `--help`.
pub fn db_crashtest() -> ExitCode {
    let about = format!(
        "db_crashtest [flags]\n\nFlags:\n{}",
        ::flags::help::<crashtest::Flags>()
    );
    program("db_crashtest", &about, crashtest::run)
}

fn program<F: FlagSet>(name: &str, help: &str, run: impl FnOnce(F) -> Result<(), String>) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args
        .iter()
        .any(|arg| matches!(arg.as_str(), "--version" | "-version"))
    {
        println!("{name} version {}", esker::ROCKSDB_VERSION);
        return ExitCode::SUCCESS;
    }
    let outcome = match ::flags::parse::<F>(&args) {
        Ok(Parsed::Run(flags)) => run(*flags),
        Ok(Parsed::Help) => {
            print!("{help}");
            Ok(())
        }
        Err(message) => Err(message),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
