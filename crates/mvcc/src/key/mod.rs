//! The data: keys and their order, times, values, spans, range tombstones and statistics. Nothing here reads
//! a database.

pub(crate) mod comparator;
pub(crate) mod mvcc_key;
pub(crate) mod range_stack;
pub(crate) mod ranges;
pub(crate) mod span;
pub(crate) mod stats;
pub(crate) mod time_interval;
pub(crate) mod timestamp;
pub(crate) mod value;
