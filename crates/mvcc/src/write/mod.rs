//! Writes: batches, the operations in them, the store that applies them, and the locks of its writers.

pub(crate) mod batch;
pub(crate) mod clear;
pub(crate) mod compaction_limits;
mod inline;
pub(crate) mod key_batch;
pub(crate) mod predicate;
pub(crate) mod range_tombstones;
mod recent_keys;
pub(crate) mod revert;
pub(crate) mod store;
mod threshold;
pub(crate) mod writers;
