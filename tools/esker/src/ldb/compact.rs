//! `compact`: compacts the rows of a range, or all.

use esker::{BottommostLevelCompaction, CompactRangeOptions};

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

pub fn run(line: &Line, _: &mut Out) -> Outcome {
    let (from, to) = (line.key_option("from")?, line.key_option("to")?);
    let session = open::writable(line, false)?;
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..CompactRangeOptions::default()
    };
    let range = (from.as_deref(), to.as_deref());
    let compacted = session
        .db
        .compact_range_cf_opt(&session.family, range.0, range.1, &options);
    compacted.map_err(|error| Failed::with("Compaction failed: ", &error))?;
    session.close()?;
    Ok(String::new())
}
