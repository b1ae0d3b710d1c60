//! `file_checksum_dump`: the checksums of whole files that the MANIFEST has.

use std::collections::BTreeMap;
use std::io::Write;

use crate::directory;
use crate::ldb::line::Line;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;
use crate::rocksdb_text::edit::{UNKNOWN_CHECKSUM, file_checksum};
use crate::rocksdb_text::prefixed_hex_if;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    if line.flag("path") {
        return Err(Failed::said("--path: missing pathname"));
    }
    // As in RocksDB, the path is accepted and ignored: the current MANIFEST is read.
    let state = directory::manifest_state(&directory::current_manifest(&line.db())?)?;
    let mut files = BTreeMap::new();
    for family in state.families.values() {
        for (_, file) in family.version.all_files() {
            let (checksum, function) = file_checksum(file);
            files.insert(file.number, (function.to_owned(), checksum.to_vec()));
        }
        for blob in family.version.blob_files().values() {
            let addition = &blob.shared.addition;
            let function = match addition.checksum_method.as_str() {
                "" => UNKNOWN_CHECKSUM,
                method => method,
            };
            let checksum = addition.checksum_value.to_vec();
            files.insert(blob.number(), (function.to_owned(), checksum));
        }
    }
    for (number, (function, checksum)) in files {
        write!(out, "{number}, {function}, ")?;
        out.write_all(&prefixed_hex_if(line.flag("hex"), &checksum))?;
        out.write_all(b"\n")?;
    }
    writeln!(out, "Print SST file checksum information finished ")?;
    Ok(String::new())
}
