//! Rebuilds a MANIFEST from tables and WALs.

use std::io::Write;

use base::filename::{self, FileKind};
use base::{Progress, Result};
use esker::{Db, Options, OptionsFile, RepairReport};

use crate::args::RepairArgs;
use crate::directory;
use crate::open;
use crate::output::{Failure, Out};
use crate::text::count;

/// Repairs a database. Lost data is reported, and makes the command fail.
pub fn repair(args: &RepairArgs, out: &mut Out, progress: &Progress) -> Result<(), Failure> {
    let dir = &*args.database.db;
    directory::files(dir, args.database.wal_dir.as_deref())?;
    let options = Options {
        wal_dir: open::wal_dir(&args.database)?,
        ..stored_options(args)
    };
    let report = Db::repair_with_progress(&options, dir, progress)?;
    show(&report, out)?;
    match report.lost.first() {
        None => Ok(()),
        Some(first) => {
            let found = format!(
                "{} lost, or part of them, the first",
                count(report.lost.len() as u64, "file")
            );
            Err(first.error.clone().context(&found).into())
        }
    }
}

/// The options of the newest OPTIONS file, if it can be read; an unreadable file must not prevent a repair.
fn stored_options(args: &RepairArgs) -> Options {
    let Ok(Some((_, file))) = OptionsFile::newest(&directory::fs(), &args.database.db) else {
        return Options::default();
    };
    let mut options = file.options().0;
    options.create_if_missing = false;
    options.error_if_exists = false;
    options.create_missing_column_families = false;
    options
}

fn show(report: &RepairReport, out: &mut Out) -> Result<(), Failure> {
    for table in &report.tables {
        let from = if table.from_wal { "  (from WALs)" } else { "" };
        writeln!(
            out,
            "ok   {:06}.sst  L{}  {}{from}",
            table.number, table.level, table.family
        )?;
    }
    for lost in &report.lost {
        let name = lost.path.file_name().unwrap_or_default().to_string_lossy();
        let what = match filename::parse(&name) {
            Some(FileKind::Wal(_)) => "PART",
            _ => "LOST",
        };
        writeln!(out, "{what} {}", lost.path.display())?;
        writeln!(out, "    {}", lost.error)?;
    }
    for warning in &report.warnings {
        writeln!(out, "note {warning}")?;
    }
    writeln!(
        out,
        "{}, {} from WALs, last sequence number {}",
        count(report.tables.len() as u64, "table"),
        count(report.wal_rows, "row"),
        report.last_sequence
    )?;
    Ok(())
}
