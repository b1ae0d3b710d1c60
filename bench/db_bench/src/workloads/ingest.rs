//! Files that are written outside of the database and ingested.

use std::path::PathBuf;

use base::{Error, Result};
use esker::{IngestExternalFileOptions, SstFileWriter};

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

/// Ingests batches of files, each file with all keys. An operation is a batch, and its time includes the
/// writing of its files, as in RocksDB's db_bench.
pub fn files(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let options = params.db.options();
    let dir = params.db.path().join("ingest_tmp");
    std::fs::create_dir_all(&dir).map_err(|error| Error::io("create", &dir, error))?;
    let (batches, batch_size) = (
        flags.ingest_external_file_num_batches.max(1),
        flags.ingest_external_file_batch_size.max(1),
    );
    thread.message = format!(
        "({batches} batches x {batch_size} files, {} keys/file)",
        params.num
    );
    let ingestion = IngestExternalFileOptions {
        move_files: true,
        fill_cache: flags.ingest_external_file_fill_cache,
        ..IngestExternalFileOptions::default()
    };
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    for batch in 0..batches {
        let mut files: Vec<PathBuf> = Vec::new();
        let mut bytes = 0;
        for file in 0..batch_size {
            let path = dir.join(format!("ingest_{batch}_{file}.sst"));
            let mut writer = SstFileWriter::new(options);
            writer.open(&path)?;
            for number in 0..params.num.max(1) as u64 {
                params.keys.write(number, &mut key);
                let value = values.next_value();
                bytes += (key.len() + value.len()) as u64;
                writer.put(&key, value)?;
            }
            writer.finish()?;
            files.push(path);
        }
        params
            .db
            .ingest_external_file_cf(&params.families[0], &files, &ingestion)?;
        thread.add_bytes(bytes);
        thread.finished(1, Op::Write);
    }
    std::fs::remove_dir(&dir).map_err(|error| Error::io("remove", &dir, error))
}
