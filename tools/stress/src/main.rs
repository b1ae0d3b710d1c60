//! RocksDB's db_stress over Esker: threads that read, write, compact and reopen at random, and compare everything the database
//! says with an expected state that outlives the process. See docs/stress.md.
#![forbid(unsafe_code)]

mod done;
mod driver;
mod expected_state;
mod expected_value;
mod flags;
mod keys;
mod stress;
mod verify;
mod worker;

use std::process::ExitCode;

use ::flags::Parsed;

use crate::flags::Flags;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flags = match ::flags::parse::<Flags>(&args) {
        Ok(Parsed::Run(flags)) => *flags,
        Ok(Parsed::Help) => {
            print!("{}", help());
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    for note in &flags.rest.ignored {
        eprintln!("note: {note}");
    }
    match driver::drive(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    format!(
        "db_stress [flags]\n\nFlags:\n{}\nOptions of the engine, under its names:\n{}",
        ::flags::help::<Flags>(),
        ::flags::engine::help()
    )
}
