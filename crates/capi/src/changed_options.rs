//! Changes of options while a database is open.

use esker::{Error, Result};

use crate::generated::fields::OptionsFields;

/// Options of a family that RocksDB can change while the database is open, and that Esker stores without
/// effect. Each affects cost only, no result.
const CHANGED_LATER: &[&str] = &[
    "arena_block_size",
    "bottommost_file_compaction_delay",
    "experimental_mempurge_threshold",
    "inplace_update_num_locks",
    "max_successive_merges",
    "memtable_avg_op_scan_flush_trigger",
    "memtable_huge_page_size",
    "memtable_max_range_deletions",
    "memtable_op_scan_flush_trigger",
    "report_bg_io_stats",
    "sample_for_compression",
    "strict_max_successive_merges",
];

/// Returns the changes of options that the engine knows, after a type check of the options that are stored
/// without effect.
///
/// # Errors `InvalidArgument` if the value of an option that is stored without effect has the wrong type.
pub fn changes_of_engine(changes: &[(String, String)]) -> Result<Vec<(&str, &str)>> {
    let mut fields = OptionsFields::default();
    let mut engine = Vec::new();
    for (name, value) in changes {
        if !CHANGED_LATER.contains(&name.as_str()) {
            engine.push((name.as_str(), value.as_str()));
        } else if fields.set(name, value).is_none() {
            return Err(Error::invalid_argument(format!("Error parsing: {name}")));
        }
    }
    Ok(engine)
}
