//! `esker ldb`: RocksDB's `ldb` 11.8 with its commands, flags, output and exit status, so that a runbook that
//! was written for `ldb` works. `docs/ldb.md` lists the differences.
//!
//! Results go to standard output, messages to standard error; the exit status is 0 or 1.

mod approxsize;
mod backup;
mod batchput;
mod change_compaction_style;
mod checkconsistency;
mod checkpoint;
mod column_families;
mod command;
mod compact;
mod count;
mod delete;
mod dump;
mod dump_live_files;
mod dump_wal;
mod file_checksum_dump;
mod get;
mod get_entity;
mod get_property;
mod help;
mod idump;
mod ingest_extern_sst;
mod line;
mod list_file_range_deletes;
mod list_live_files_metadata;
mod load;
mod manifest_dump;
mod offline;
mod open;
mod options;
mod outcome;
mod put;
mod put_entity;
mod query;
mod reduce_levels;
mod remote_compaction;
mod repair;
mod rows;
mod scan;
mod stderr_logger;
mod table;
mod unsafe_remove_sst_file;
mod update_manifest;
mod write_extern_sst;

pub use line::unhex_if;

use std::ffi::OsString;
use std::io::Write;

use crate::output::Out;
use command::Command;
use line::Line;
use outcome::Failed;

/// Runs `ldb` with the arguments after its name, and returns the exit status.
pub fn run(args: &[OsString], out: &mut Out) -> u8 {
    if args.len() <= 1 {
        match args.first().and_then(|arg| arg.to_str()) {
            Some("--version") => return printed(writeln!(out, "{}", help::version())),
            Some("--help") => return printed(out.write_all(help::text().as_bytes())),
            _ => {}
        }
        eprint!("{}", help::text());
        return 1;
    }
    let line = Line::new(args);
    let Some(name) = line.words().first() else {
        // As in RocksDB, the error message has no line feed at its end.
        eprint!("Command not specified!");
        return unknown();
    };
    let Some(command) = table::COMMANDS
        .iter()
        .find(|command| command.name.as_bytes() == &name[..])
    else {
        return unknown();
    };
    if let Err(message) = check(command, &line) {
        eprintln!("{message}");
        return 1;
    }
    let outcome = (command.run)(&line, out);
    let outcome = match (outcome, out.finish()) {
        (Ok(_), Err(failure)) => Err(failure.into()),
        (outcome, _) => outcome,
    };
    match outcome {
        Ok(message) => {
            if !message.is_empty() {
                eprintln!("{message}");
            }
            0
        }
        Err(Failed::PipeClosed) => 0,
        Err(Failed::Message(message)) => {
            eprintln!("Failed: {message}");
            1
        }
    }
}

fn printed(result: std::io::Result<()>) -> u8 {
    u8::from(result.is_err())
}

fn unknown() -> u8 {
    eprintln!("Unknown command");
    eprint!("{}", help::text());
    1
}

/// The message about the first option that `command` does not have.
fn check(command: &Command, line: &Line) -> Result<(), String> {
    let own = |name: &str| command.options.iter().any(|group| group.contains(&name));
    let known = |name: &str| own(name) || table::is_common(command, name);
    if let Some((kind, name)) = line.first_invalid(known) {
        return Err(format!("Invalid command-line {kind} {name}"));
    }
    let has_db = line.value("db").is_some() || line.value("path").is_some();
    match command.needs_no_db || has_db {
        true => Ok(()),
        false => Err("Either db or path must be specified.".to_owned()),
    }
}

#[cfg(test)]
mod tests;
