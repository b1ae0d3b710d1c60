//! `load`: writes the rows of a dump on standard input.

use std::io::Write;

use esker::{Options, WriteBatch, WriteOptions};

use crate::ldb::line::Line;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::{open, options, rows};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let mut options = options::prepare(line)?;
    options.create_if_missing = line.flag("create_if_missing");
    if line.flag("bulk_load") {
        prepare_for_bulk_load(&mut options);
    }
    let session = open::with_options(line, options)?;
    let write = WriteOptions {
        disable_wal: line.flag("disable_wal"),
        ..WriteOptions::default()
    };
    let bad = rows::each_of_stdin(line, |key, value| {
        let mut batch = WriteBatch::new();
        batch.put_cf(&session.family, key, value);
        let written = session.write_opt(&write, batch);
        written.map_err(|error| Failed::with("Load failed: ", &error))
    })?;
    if bad > 0 {
        writeln!(out, "Warning: {bad} bad lines ignored.")?;
    }
    if line.flag("compact") {
        let compacted = session.db.compact_range_cf(&session.family, None, None);
        compacted.map_err(|error| Failed::with("Compaction failed: ", &error))?;
    }
    session.close()?;
    Ok(String::new())
}

/// RocksDB's `Options::PrepareForBulkLoad`: nothing is compacted, and writers never wait for compactions.
fn prepare_for_bulk_load(options: &mut Options) {
    const NEVER: i32 = 1 << 30;
    for family in options::families(options) {
        family.level0_file_num_compaction_trigger = NEVER;
        family.level0_slowdown_writes_trigger = NEVER;
        family.level0_stop_writes_trigger = NEVER;
        family.soft_pending_compaction_bytes_limit = 0;
        family.hard_pending_compaction_bytes_limit = 0;
        family.disable_auto_compactions = true;
        family.max_compaction_bytes = 1 << 60;
        family.num_levels = 2;
        family.max_write_buffer_number = 6;
        family.min_write_buffer_number_to_merge = 1;
        family.target_file_size_base = 256 << 20;
    }
    options.max_background_jobs = 4;
}
