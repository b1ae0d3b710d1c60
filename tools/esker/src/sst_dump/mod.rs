//! `esker sst_dump`: RocksDB's `sst_dump` 11.8 with its commands, flags, output and exit status, so that a
//! runbook that was written for `sst_dump` works. `docs/ldb.md` lists the differences.

mod args;
mod help;
mod recompress;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sst::Table;
use vfs::FileSystem;

use crate::directory;
use crate::output::{Failure, Out};
use crate::rocksdb_text::{properties, raw_table, table};
use crate::text::Form;
use args::{Args, Asked};

/// The line of dashes above the lists.
const RULE: &str = "------------------------------";

/// The reasons why a run ends early.
enum End {
    /// The message for standard error; the exit status is 1.
    Message(String),
    /// The program that reads standard output has closed it.
    PipeClosed,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> End {
        match failure {
            Failure::Error(error) => End::Message(error.to_string()),
            Failure::Usage(message) => End::Message(message),
            Failure::PipeClosed => End::PipeClosed,
        }
    }
}

impl From<std::io::Error> for End {
    fn from(error: std::io::Error) -> End {
        Failure::from(error).into()
    }
}

/// Runs `sst_dump` with the arguments after its name, and returns the exit status.
pub fn run(args: &[OsString], out: &mut Out) -> u8 {
    let asked = match args::parse(args) {
        Ok(asked) => asked,
        Err(message) => {
            eprint!("{message}");
            return 1;
        }
    };
    let result = match asked {
        Asked::InternalKey(key) => return show_internal_key(&key, out),
        Asked::Help => out.write_all(help::text().as_bytes()).map_err(End::from),
        Asked::Version => writeln!(out, "sst_dump from RocksDB 11.8.1").map_err(End::from),
        Asked::Files(args) => return DumpTotals::new(*args).all(out),
    };
    status(result.map(|()| 0))
}

fn status(result: Result<u8, End>) -> u8 {
    match result {
        Ok(status) => status,
        Err(End::PipeClosed) => 0,
        Err(End::Message(message)) => {
            eprintln!("{message}");
            1
        }
    }
}

/// Prints an internal key. If the key is too short, the text is that of an empty key, and the exit status is
/// that of C++'s -1, as in RocksDB.
fn show_internal_key(key: &[u8], out: &mut Out) -> u8 {
    let (text, bad) = match base::ParsedInternalKey::parse(key) {
        Ok(_) => (crate::rocksdb_text::key::internal_key(key, true, None), None),
        Err(error) => (b"'' seq:72057594037927935, type:0".to_vec(), Some(error)),
    };
    let printed = [b"key=", &text[..], b"\n"].concat();
    let written = out.write_all(&printed).map_err(End::from);
    match bad {
        Some(error) => {
            eprintln!("{}", error.message());
            255
        }
        None => status(written.map(|()| 0)),
    }
}

/// The sums that `--show_summary` prints.
#[derive(Default)]
struct Summary {
    files: u64,
    data_blocks: u64,
    data_size: u64,
    index_size: u64,
    filter_size: u64,
}

struct DumpTotals {
    args: Args,
    /// The tables that could be opened.
    valid: Vec<PathBuf>,
    /// The entries read so far.
    read: u64,
    summary: Summary,
}

impl DumpTotals {
    fn new(args: Args) -> DumpTotals {
        DumpTotals {
            args,
            valid: Vec::new(),
            read: 0,
            summary: Summary::default(),
        }
    }

    fn all(mut self, out: &mut Out) -> u8 {
        let result = self.files(out).and_then(|()| self.end(out));
        let flushed = out.finish().map_err(End::from);
        status(result.and_then(|status| flushed.map(|()| status)))
    }

    /// Runs the command on each table. An error of a table is printed, and the next table follows.
    fn files(&mut self, out: &mut Out) -> Result<(), End> {
        for path in self.paths()? {
            if path.extension().is_none_or(|extension| extension != "sst") {
                continue;
            }
            let table = match table::open(&path, out) {
                Ok(table) => table,
                Err(Failure::Error(error)) => {
                    eprintln!("{}: {error}", path.display());
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            };
            self.valid.push(path.clone());
            if self.valid.len() == 1 && self.reads_entries() {
                let show =
                    |key: &Option<Vec<u8>>| Form::Hex.show(key.as_deref().unwrap_or_default()).to_string();
                let entries = &self.args.entries;
                let from = show(&entries.from.clone().or_else(|| entries.prefix.clone()));
                writeln!(out, "from [{from}] to [{}]", show(&entries.to))?;
            }
            if !self.file(&path, &table, out)? {
                break;
            }
        }
        Ok(())
    }

    /// The named files, and those in the named directories.
    fn paths(&self) -> Result<Vec<PathBuf>, End> {
        let mut paths = Vec::new();
        for place in &self.args.places {
            if place.is_dir() {
                let listed = directory::fs().list(place);
                let mut names = listed.map_err(|error| End::Message(error.to_string()))?;
                names.sort();
                paths.extend(names.iter().map(|name| place.join(name)));
            } else if place.exists() {
                paths.push(place.clone());
            } else {
                let message = format!("NotFound: {}: No such file or directory", place.display());
                return Err(End::Message(message));
            }
        }
        Ok(paths)
    }

    fn reads_entries(&self) -> bool {
        matches!(&*self.args.command, "" | "check" | "scan")
    }

    /// Runs the command on one table. Returns false once enough entries were read.
    fn file(&mut self, path: &Path, table: &Arc<Table>, out: &mut Out) -> Result<bool, End> {
        match &*self.args.command {
            "recompress" => {
                recompress::show(table, &self.args, out).map_err(|failure| match failure {
                    Failure::Error(error) => End::Message(format!("Failed to recompress: {error}")),
                    other => other.into(),
                })?;
                return Ok(true);
            }
            "raw" => {
                self.raw(path, table, out)?;
                return Ok(true);
            }
            "verify" => {
                match table.verify(self.args.readahead_size, &mut |_| ()) {
                    Ok(()) => writeln!(out, "The file is ok")?,
                    Err(error) => eprintln!("{} is corrupted: {error}", path.display()),
                }
                return Ok(true);
            }
            _ => {}
        }
        if self.reads_entries() && !self.entries(path, table, out)? {
            return Ok(false);
        }
        self.properties(table, out)?;
        if self.args.list_meta_blocks {
            raw_table::meta_blocks(table, out)?;
        }
        Ok(true)
    }

    fn entries(&mut self, path: &Path, table: &Arc<Table>, out: &mut Out) -> Result<bool, End> {
        let most = self.args.read_num;
        let entries = table::Entries {
            limit: if most > 0 {
                most.saturating_sub(self.read)
            } else {
                most
            },
            ..self.args.entries.clone()
        };
        if most > 0 && entries.limit == 0 {
            return Ok(false);
        }
        match table::read(table, &entries, out) {
            Ok(read) => self.read = self.read.saturating_add(read),
            Err(Failure::Error(error)) => eprintln!("{}: {error}", path.display()),
            Err(failure) => return Err(failure.into()),
        }
        Ok(most == 0 || self.read <= most)
    }

    fn properties(&mut self, table: &Arc<Table>, out: &mut Out) -> Result<(), End> {
        if self.args.show_properties {
            let stored = sst::dump::properties(table).map_err(Failure::from)?;
            properties::show(table.properties(), &stored, out)?;
        }
        let own = table.properties();
        self.summary.files += 1;
        self.summary.data_blocks += own.num_data_blocks;
        self.summary.data_size += own.data_size;
        self.summary.index_size += own.index_size;
        self.summary.filter_size += own.filter_size;
        Ok(())
    }

    /// Writes the dump of a table to a file next to the table.
    fn raw(&self, path: &Path, table: &Arc<Table>, out: &mut Out) -> Result<(), End> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let to = path.with_file_name(format!("{stem}_dump.txt"));
        let written = raw_table::dump(table, self.args.show_sequence_number_type)
            .and_then(|text| directory::fs().write_file(&to, &text));
        written.map_err(|error| End::Message(format!("{}: {error}", path.display())))?;
        Ok(writeln!(out, "raw dump written to file {}", to.display())?)
    }

    fn end(&self, out: &mut Out) -> Result<u8, End> {
        if self.args.show_summary {
            let summary = &self.summary;
            writeln!(
                out,
                "total number of files: {}\ntotal number of data blocks: {}\ntotal data block size: {}\n\
                 total index block size: {}\ntotal filter block size: {}",
                summary.files,
                summary.data_blocks,
                summary.data_size,
                summary.index_size,
                summary.filter_size
            )?;
        }
        if self.valid.is_empty() {
            for place in &self.args.places {
                match place.is_dir() {
                    true => {
                        writeln!(out, "{RULE}")?;
                        eprintln!("No valid SST files found in {}", place.display());
                    }
                    false => eprintln!("{} is not a valid SST file", place.display()),
                }
            }
            return Ok(1);
        }
        if self.args.command == "identify" {
            self.identify(out)?;
        }
        Ok(0)
    }

    fn identify(&self, out: &mut Out) -> Result<(), End> {
        let place = match &self.args.places[..] {
            [file] if !file.is_dir() => {
                return Ok(writeln!(out, "{} is a valid SST file", file.display())?);
            }
            [dir] => format!(" found in {}", dir.display()),
            _ => String::new(),
        };
        writeln!(out, "{RULE}\nList of valid SST files{place}:")?;
        for path in &self.valid {
            writeln!(out, "{}", path.display())?;
        }
        writeln!(out, "Number of valid SST files: {}", self.valid.len())?;
        Ok(())
    }
}
