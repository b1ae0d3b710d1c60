//! The engine's properties, by RocksDB's names.

use std::io::Write;

use base::{Error, ErrorKind};
use esker::{ColumnFamily, Db};

use crate::args::PropertiesArgs;
use crate::open;
use crate::output::{Failure, Out};
use crate::text::Form;

/// Properties that are one number, in the order they are printed.
const NUMBERS: &[&str] = &[
    "estimate-num-keys",
    "estimate-live-data-size",
    "total-sst-files-size",
    "live-sst-files-size",
    "obsolete-sst-files-size",
    "num-blob-files",
    "total-blob-file-size",
    "live-blob-file-size",
    "num-entries-active-mem-table",
    "num-deletes-active-mem-table",
    "cur-size-active-mem-table",
    "cur-size-all-mem-tables",
    "size-all-mem-tables",
    "num-immutable-mem-table",
    "num-immutable-mem-table-flushed",
    "num-entries-imm-mem-tables",
    "num-deletes-imm-mem-tables",
    "mem-table-flush-pending",
    "compaction-pending",
    "estimate-pending-compaction-bytes",
    "base-level",
    "num-running-flushes",
    "num-running-compactions",
    "num-unscheduled-compactions",
    "num-live-versions",
    "is-file-deletions-enabled",
    "background-errors",
    "is-write-stopped",
    "actual-delayed-write-rate",
    "num-snapshots",
    "oldest-snapshot-time",
    "oldest-snapshot-sequence",
    "min-log-number-to-keep",
    "estimate-table-readers-mem",
    "block-cache-capacity",
    "block-cache-usage",
    "block-cache-pinned-usage",
];

/// Properties that are text of several lines.
const TEXTS: &[&str] = &["levelstats", "sstables", "stats"];

/// Prints properties.
pub fn properties(args: &PropertiesArgs, out: &mut Out) -> Result<(), Failure> {
    let opened = open::read_only(&args.database, &args.reading)?;
    let db = &opened.db;
    let families = match &args.column_family {
        Some(name) => vec![open::column_family(db, Some(name))?],
        None => db.column_families(),
    };
    if let Some(name) = &args.name {
        let several = families.len() > 1;
        for family in &families {
            let value = property(db, family, name)?;
            if several {
                write!(out, "{}\t", Form::Escaped.show(family.name().as_bytes()))?;
            }
            writeln!(out, "{}", value.trim_end_matches('\n'))?;
        }
        return Ok(());
    }
    writeln!(out, "latest sequence number: {}", db.latest_sequence_number())?;
    for family in &families {
        let name = Form::Escaped.show(family.name().as_bytes()).to_string();
        writeln!(
            out,
            "\n[{name}]  id {}, {}",
            family.id(),
            family.comparator().name()
        )?;
        for name in NUMBERS {
            writeln!(out, "rocksdb.{name:<36} {}", property(db, family, name)?)?;
        }
        for name in TEXTS {
            let text = property(db, family, name)?;
            writeln!(out, "rocksdb.{name}")?;
            text.trim_matches('\n')
                .lines()
                .try_for_each(|line| writeln!(out, "    {line}"))?;
        }
    }
    Ok(())
}

fn property(db: &Db, family: &ColumnFamily, name: &str) -> Result<String, Failure> {
    let name = match name.strip_prefix("rocksdb.") {
        Some(_) => name.to_owned(),
        None => format!("rocksdb.{name}"),
    };
    let value = db.property(family, &name);
    value.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no property {name}")).into())
}
