//! Reads as of a time, of a window of time, and of the whole history.

pub(crate) mod count_stats;
pub(crate) mod counters;
pub(crate) mod export;
pub(crate) mod fingerprint;
pub(crate) mod iterator;
pub(crate) mod range_index;
mod range_load;
pub(crate) mod range_mask;
pub(crate) mod range_rows;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod results;
pub(crate) mod rows;
mod scan;
pub(crate) mod scan_versions;
mod span_queries;
pub(crate) mod version_iter;
mod whole_rows;
pub(crate) mod window;
