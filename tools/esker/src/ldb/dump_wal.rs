//! `dump_wal`: the batches of a WAL, or of all WALs of a directory.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use vfs::FileSystem;

use crate::directory;
use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;
use crate::rocksdb_text::wal;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let Some(path) = line.path("walfile") else {
        return Err(Failed::said("Argument walfile must be specified."));
    };
    let comparators = match line.value("db") {
        Some(_) => open::read_only(line)?.comparators(),
        None => BTreeMap::new(),
    };
    let mut dump = wal::Dump {
        header: line.flag("header"),
        values: line.flag("print_value"),
        only_seqno_gaps: line.flag("only_print_seqno_gaps"),
        write_committed: line.boolean("write_committed")?.unwrap_or(true),
        ..wal::Dump::full(comparators)
    };
    files(&mut dump, &path, out)?;
    Ok(String::new())
}

/// Dumps the WAL at `path`, or all WALs in the directory `path` in the order of their numbers.
fn files(wals: &mut wal::Dump, path: &Path, out: &mut Out) -> Result<(), Failed> {
    if !path.is_dir() {
        return dump(wals, path, out);
    }
    let number = |name: &String| match filename::parse(name) {
        Some(FileKind::Wal(number)) => Some(number),
        _ => None,
    };
    let mut found: Vec<(u64, PathBuf)> = directory::fs()
        .list(path)?
        .iter()
        .filter_map(|name| Some((number(name)?, path.join(name))))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(Failed::said(format!(
            "{}: No valid wal logs found",
            path.display()
        )));
    }
    for (_, path) in found {
        writeln!(out, "Checking wal file: {}", path.display())?;
        wals.file(&path, out)?;
    }
    Ok(())
}

/// Dumps one WAL.
///
/// Errors: there is no such file, or its name is not that of a WAL; those of reading it.
pub fn dump(wals: &mut wal::Dump, path: &Path, out: &mut Out) -> Result<(), Failed> {
    if !path.exists() {
        return Err(Failed::said(format!(
            "{}: No such file or directory",
            path.display()
        )));
    }
    if path.extension().is_none_or(|extension| extension != "log") {
        return Err(Failed::said(format!("{}: Invalid log file name", path.display())));
    }
    Ok(wals.file(path, out)?)
}
