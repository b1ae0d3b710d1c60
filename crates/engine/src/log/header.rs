//! The header of each info log: the writer, the existing files, and every option.

use std::fmt::Write;
use std::path::Path;

use base::filename::{self, FileKind};

use super::{InfoLog, log_line};
use crate::options::logger::InfoLogLevel;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::options::table::{OptionNumber, OptionTable};
use crate::options::{BlockBasedOptions, ColumnFamilyOptions, Options};

/// The commit that this library was built from, in a release build: a hash of 40 digits, or `unknown`. The
/// environment variable `ESKER_GIT_SHA` overrides it at build time. LOG's header has it in the line `Git
/// sha`.
pub const GIT_SHA: &str = env!("ESKER_GIT_SHA");

impl InfoLog {
    /// Writes the header of session `session_id` of the database in `dir`, whose files are listed before
    /// recovery. `release` is the RocksDB release whose options are written. RocksDB's scripts read the
    /// release and the commit by their positions in the lines.
    pub fn write_header(&self, options: &Options, dir: &Path, session_id: &str, release: &str) {
        if !self.takes(InfoLogLevel::Header) {
            return;
        }
        let mut out = format!(
            "RocksDB version: {release}\nEsker version: {}\nGit sha {}\nDB SUMMARY\nDB Session ID:  {session_id}\n",
            env!("CARGO_PKG_VERSION"),
            GIT_SHA,
        );
        // The line is written for programs that search for it; block checksums are computed with any
        // instructions the CPU has.
        out.push_str("Jemalloc supported: 0\n");
        summary(&mut out, options, dir);
        dump(&mut out, options);
        for (name, value) in &options.kept_options {
            let name = format!("Options.{name}");
            line(
                &mut out,
                format_args!(
                    "{name:>48}: {}\n{:>50}kept, there is nothing behind it",
                    shown(value),
                    ""
                ),
            );
        }
        let families = std::iter::once((DEFAULT_COLUMN_FAMILY, options.family(DEFAULT_COLUMN_FAMILY))).chain(
            options
                .column_families
                .iter()
                .map(|(name, family)| (&name[..], family))
                .filter(|(name, _)| *name != DEFAULT_COLUMN_FAMILY),
        );
        families.for_each(|(name, family)| dump_family(&mut out, name, family));
        self.write(InfoLogLevel::Header, out.trim_end());
    }

    /// Logs the creation of family `name`, and its options, which belong to the header from now on.
    pub fn write_family(&self, name: &str, id: u32, options: &ColumnFamilyOptions) {
        log_line!(self, Info, "Created column family [{name}] (ID {id})");
        if self.takes(InfoLogLevel::Header) {
            let mut out = String::new();
            dump_family(&mut out, name, options);
            self.write(InfoLogLevel::Header, out.trim_end());
        }
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

/// The files of the database, as far as they can be listed.
fn summary(out: &mut String, options: &Options, dir: &Path) {
    let size = |path: &Path| options.fs.size(path).unwrap_or(0);
    let wal_dir = options.wal_directory(dir);
    let (mut tables, mut wals) = (Vec::new(), String::new());
    for name in options.fs.list(dir).unwrap_or_default() {
        match filename::parse(&name) {
            Some(FileKind::Current) => line(out, format_args!("CURRENT file:  {name}")),
            Some(FileKind::Identity) => line(out, format_args!("IDENTITY file:  {name}")),
            Some(FileKind::Manifest(_)) => line(
                out,
                format_args!("MANIFEST file:  {name} size: {} Bytes", size(&dir.join(&name))),
            ),
            Some(FileKind::Table(_)) => tables.push(name),
            _ => {}
        }
    }
    for name in options.fs.list(&wal_dir).unwrap_or_default() {
        if let Some(FileKind::Wal(_)) = filename::parse(&name) {
            let _ = write!(wals, "{name} size: {} ; ", size(&wal_dir.join(&name)));
        }
    }
    line(
        out,
        format_args!(
            "SST files in {} dir, Total Num: {}, files: {}",
            dir.display(),
            tables.len(),
            tables[..tables.len().min(9)].join(" ")
        ),
    );
    line(
        out,
        format_args!("Write Ahead Log file in {}: {wals}", wal_dir.display()),
    );
}

/// The value of an option as RocksDB's LOG has it.
fn shown(value: &str) -> &str {
    match value {
        "true" => "1",
        "false" => "0",
        "kDataBlockBinarySearch" => "0",
        "kDataBlockBinaryAndHash" => "1",
        "kNoCompression" => "NoCompression",
        "kDisableCompressionOption" => "Disabled",
        "kZSTD" => "ZSTD",
        _ => match value.strip_suffix("Compression") {
            Some(name) => name.strip_prefix('k').unwrap_or(value),
            None => value,
        },
    }
}

/// Calls `each` with the name and the value of every option.
fn for_each_row<S: OptionTable>(options: &S, mut each: impl FnMut(&str, &str)) {
    for row in S::rows() {
        match (row.number)(options) {
            Some(OptionNumber::Float(number)) => each(row.name, &format!("{number:.6}")),
            _ => each(row.name, shown(&(row.get)(options))),
        }
    }
}

/// One line per option, with its name in the table, in RocksDB's format.
fn dump<S: OptionTable>(out: &mut String, options: &S) {
    for_each_row(options, |name, value| {
        line(out, format_args!("{:>48}: {value}", format!("Options.{name}")));
    });
}

/// The options of tables, in RocksDB's format.
fn dump_table(out: &mut String, options: &BlockBasedOptions) {
    line(
        out,
        format_args!("{:>48}: BlockBasedTable", "Options.table_factory"),
    );
    let policy = "flush_block_policy_factory: FlushBlockBySizePolicyFactory";
    line(out, format_args!("            table_factory options:   {policy}"));
    for_each_row(options, |name, value| {
        line(out, format_args!("  {name}: {value}"))
    });
    if let Some(cache) = &options.block_cache {
        line(out, format_args!("  block_cache_name: {}", cache.name()));
        line(out, format_args!("  block_cache_options:"));
        line(out, format_args!("    capacity : {}", cache.capacity()));
        line(
            out,
            format_args!("    num_shard_bits : {}", cache.shards().ilog2()),
        );
    }
}

fn dump_family(out: &mut String, name: &str, options: &ColumnFamilyOptions) {
    line(
        out,
        format_args!("--------------- Options for column family [{name}]:"),
    );
    let component = |out: &mut String, name: &str, value: &str| {
        line(out, format_args!("{:>48}: {value}", format!("Options.{name}")));
    };
    component(out, "comparator", options.comparator.name());
    let merge = options.merge_operator.as_ref();
    component(
        out,
        "merge_operator",
        merge.map_or("None", |operator| operator.name()),
    );
    let filter = options.compaction_filter_factory.as_ref();
    component(
        out,
        "compaction_filter_factory",
        filter.map_or("None", |factory| factory.name()),
    );
    let collectors = options.table_properties_collector_factories.iter();
    let collectors: String = collectors
        .map(|factory| format!("{}; ", factory.text()))
        .collect();
    if !collectors.is_empty() {
        component(out, "table_properties_collectors", &collectors);
    }
    dump(out, options);
    dump_table(out, &options.table);
}
