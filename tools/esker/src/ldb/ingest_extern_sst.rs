//! `ingest_extern_sst`: adds a table from outside to the database.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use esker::IngestExternalFileOptions;

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

pub fn run(line: &Line, _: &mut Out) -> Outcome {
    let options = IngestExternalFileOptions {
        move_files: line.is_set("move_files", false)?,
        snapshot_consistency: line.is_set("snapshot_consistency", true)?,
        allow_global_seqno: line.is_set("allow_global_seqno", true)?,
        allow_blocking_flush: line.is_set("allow_blocking_flush", true)?,
        ingest_behind: line.is_set("ingest_behind", false)?,
        write_global_seqno: line.is_set("write_global_seqno", true)?,
        ..IngestExternalFileOptions::default()
    };
    match (options.allow_global_seqno, options.write_global_seqno) {
        (true, false) => eprintln!(
            "Warning: not writing global_seqno to the ingested SST can\nprevent older versions of RocksDB from \
             being able to open it"
        ),
        (false, true) => {
            return Err(Failed::said(
                "ldb cannot write global_seqno to the ingested SST when global_seqno is not allowed",
            ));
        }
        _ => {}
    }
    let [path] = line.params() else {
        return Err(Failed::said("input SST path must be specified"));
    };
    let path = Path::new(OsStr::from_bytes(path));
    let session = open::writable(line, line.is_set("create_if_missing", false)?)?;
    session
        .db
        .ingest_external_file_cf(&session.family, &[path], &options)
        .map_err(|error| Failed::with("failed to ingest external SST: ", &error))?;
    session.close()?;
    Ok("external SST files ingested".to_owned())
}
