//! `write_extern_sst`: writes the rows of a dump on standard input to a table outside the database.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use esker::SstFileWriter;

use crate::ldb::line::Line;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::{open, rows};
use crate::output::Out;

pub fn run(line: &Line, _: &mut Out) -> Outcome {
    let [path] = line.params() else {
        return Err(Failed::said("output SST file path must be specified"));
    };
    let path = Path::new(OsStr::from_bytes(path));
    let session = open::writable(line, line.is_set("create_if_missing", false)?)?;
    let mut writer = SstFileWriter::for_column_family(session.db.options(), &session.family);
    writer
        .open(path)
        .map_err(|error| Failed::with("failed to open SST file: ", &error))?;
    let bad = rows::each_of_stdin(line, |key, value| {
        let written = writer.put(key, value);
        written.map_err(|error| Failed::with("failed to write record to file: ", &error))
    })?;
    writer
        .finish()
        .map_err(|error| Failed::with("Failed to finish writing to file: ", &error))?;
    if bad > 0 {
        eprintln!("Warning: {bad} bad lines ignored.");
    }
    session.close()?;
    Ok(format!("external SST file written to {}", path.display()))
}
