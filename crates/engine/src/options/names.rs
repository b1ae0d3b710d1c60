//! Names that options and OPTIONS files have for families and merge operators.

use std::sync::Arc;

use base::merge::{self, MergeOperator};

/// The name of the column family that every database has.
pub const DEFAULT_COLUMN_FAMILY: &str = "default";

/// The name of the column family with the statistics history, as in RocksDB.
pub(crate) const STATS_COLUMN_FAMILY: &str = "___rocksdb_stats_history___";

/// A merge operator, or the name of an operator that was not supplied. The latter is an error only when a
/// merge must be resolved.
#[derive(Clone)]
pub(crate) enum Merger {
    Operator(Arc<dyn MergeOperator>),
    Unknown(String),
}

/// The merge operator named in an OPTIONS file: `StringAppendOperator`, or
/// `{id=StringAppendOperator;delimiter=,;}`.
pub(crate) fn stored_merger(text: &str) -> Merger {
    match merge::from_text(text) {
        Ok(operator) => Merger::Operator(operator),
        Err("nullptr") => Merger::Unknown(String::new()),
        Err(name) => Merger::Unknown(name.to_owned()),
    }
}
