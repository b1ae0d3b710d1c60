//! `dump_live_files`: the MANIFEST, and every live table, blob file and WAL.

use std::io::Write;

use crate::directory;
use crate::ldb::line::Line;
use crate::ldb::manifest_dump;
use crate::ldb::outcome::Outcome;
use crate::ldb::{open, options};
use crate::output::Out;
use crate::rocksdb_text::{blob, manifest, table, wal};

/// The rules below titles and below names.
const DOUBLE: &str = "==============================";
const SINGLE: &str = "------------------------------";

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let session = open::read_only(line)?;
    let (db, dir) = (&session.db, line.db());
    let options = options::prepare(line)?;
    let current = directory::current_manifest(&dir)?;
    writeln!(out, "Manifest File\n{DOUBLE}\n{}", current.display())?;
    let levels = manifest_dump::levels(&options, options::loads_options(line)?);
    manifest_dump::dump(&current, manifest::Form::default(), &levels, out)?;
    writeln!(out)?;
    let entries = table::Entries {
        decode_blob_index: line.flag("decode_blob_index"),
        ..table::Entries::default()
    };
    let blobs = blob::Form {
        uncompressed: line.flag("dump_uncompressed_blobs"),
        ..blob::Form::default()
    };
    let tables = db.live_files();
    for family in db.column_families() {
        writeln!(
            out,
            "Column family name: {}\n{DOUBLE}\n\nSST Files\n{DOUBLE}",
            family.name()
        )?;
        for file in tables.iter().filter(|file| file.column_family == family.name()) {
            writeln!(out, "{} level:{}\n{SINGLE}", file.path.display(), file.level)?;
            table::dump(&file.path, &entries, out)?;
            writeln!(out)?;
        }
        writeln!(out, "Blob Files\n{DOUBLE}")?;
        for file in db.blob_files(&family) {
            writeln!(out, "{}\n{SINGLE}", file.path.display())?;
            blob::dump(&file.path, blobs, out)?;
            writeln!(out)?;
        }
    }
    writeln!(out, "\nWrite Ahead Log Files\n{DOUBLE}")?;
    let mut wals = wal::Dump::full(session.comparators());
    let wal_dir = match options.wal_dir.as_str() {
        "" => dir,
        other => other.into(),
    };
    for file in db.get_sorted_wal_files()? {
        let path = base::filename::wal(&wal_dir, file.number);
        writeln!(out, "{}", path.display())?;
        wals.file(&path, out)?;
    }
    Ok(String::new())
}
