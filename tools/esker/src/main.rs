//! The inspector: inspects databases without changing them, and writes single rows on request.
//!
//! The commands that read rows use the engine, opened for reading only. `verify` and the dumps read the files
//! themselves, so that they also work on databases that the engine refuses.
//!
//! Results go to standard output, an error as one line to standard error. The exit status is 0, 1 for an
//! error or if corruption was found, 2 for a wrong command line, 130 if long work was stopped.
#![forbid(unsafe_code)]

mod advise;
mod args;
mod backup;
mod checkpoint;
mod decrypt;
mod directory;
mod dump;
mod feed;
mod first_argument;
mod ldb;
mod log;
mod lsm;
mod notes;
mod open;
mod options;
mod output;
mod properties;
mod repair;
mod report;
mod rocksdb_text;
mod rows;
mod salvage;
mod serving;
mod sst_dump;
mod top;
mod trace;
mod verify;
mod working;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use base::ErrorKind;
use output::{Failure, Out};
use serve::text;
use working::{STOPPED, watched};

fn run(command: &Command, out: &mut Out) -> Result<(), Failure> {
    match command {
        Command::Scan(args) => rows::scan(args, out),
        Command::Get(args) => rows::get(args, out),
        Command::Put(args) => rows::put(args),
        Command::Delete(args) => rows::delete(args),
        Command::Deleterange(args) => rows::delete_range(args),
        Command::Verify(args) => watched("verify", &args.working, |progress| {
            verify::verify(args, out, progress)
        }),
        Command::Sst(args) => dump::sst::dump(args, out),
        Command::Manifest(args) => dump::manifest::dump(args, out),
        Command::Wal(args) => dump::wal::dump(args, out),
        Command::Trace(args) => trace::trace(args, out),
        Command::Advise(args) => watched("advise", &args.working, |progress| {
            advise::advise(args, out, progress)
        }),
        Command::Lsm(args) => lsm::lsm(args, out),
        Command::Top(args) => top::top(args, out),
        Command::Serve(args) => serving::serve(args, out),
        Command::Pins(args) => top::pins(args, out),
        Command::Feed(args) => feed::feed(args, out),
        Command::Properties(args) => properties::properties(args, out),
        Command::Options(args) => options::options(args, out),
        Command::Salvage(args) => watched("salvage", &args.working, |progress| {
            salvage::salvage(args, out, progress)
        }),
        Command::Repair(args) => watched("repair", &args.working, |progress| {
            repair::repair(args, out, progress)
        }),
        Command::Checkpoint(args) => watched("checkpoint", &args.working, |progress| {
            checkpoint::checkpoint(args, out, progress)
        }),
        Command::Backup(args) => watched("backup", &args.working, |progress| {
            backup::backup(args, out, progress)
        }),
        Command::Decrypt(args) => decrypt::decrypt(args, out),
        // These commands are never reached here: they are run before the command line is parsed.
        Command::Ldb(_) | Command::SstDump(_) => Ok(()),
        Command::Restore(args) => watched("restore", &args.working, |progress| {
            backup::restore(args, out, progress)
        }),
    }
}

/// Runs one of RocksDB's tools, if the command line names one: they have flags of their own.
fn rocksdb_tool(out: &mut Out) -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let tool = args.next()?;
    let args: Vec<_> = args.collect();
    let status = match tool.to_str()? {
        "ldb" => ldb::run(&args, out),
        "sst_dump" => sst_dump::run(&args, out),
        _ => return None,
    };
    // A failure to write the output counts as a failure of the command.
    let flushed = out.finish().is_ok();
    Some(ExitCode::from(if flushed { status } else { status.max(1) }))
}

fn main() -> ExitCode {
    let mut out = Out::new();
    if let Some(code) = rocksdb_tool(&mut out) {
        return code;
    }
    let args = match Args::try_parse_from(first_argument::with_db(std::env::args_os().collect())) {
        Ok(args) => args,
        Err(error) => {
            // An error is ignored: if standard error cannot be written, there is no other place to report it.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let result = run(&args.command, &mut out);
    // Standard output is flushed first, so that it is shown before the error.
    let result = match (result, out.finish()) {
        (Ok(()), flushed) => flushed,
        (failed, _) => failed,
    };
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    let (message, status) = match failure {
        // The program that reads standard output has closed it.
        Failure::PipeClosed => return ExitCode::SUCCESS,
        Failure::Usage(message) => (message, 2),
        Failure::Error(error) if error.kind() == ErrorKind::Aborted => {
            (format!("{error}; the same command continues from here"), STOPPED)
        }
        Failure::Error(error) => (format!("{error:#}"), 1),
    };
    let line = message.replace(['\n', '\r'], " ");
    let _ = writeln!(std::io::stderr(), "esker: {line}");
    ExitCode::from(status)
}
