//! Reads: their rows, and the work that they avoid.

mod allocations;
mod async_get;
mod block_cache;
mod disk_reads;
mod iterators;
mod less_work;
mod limits;
mod mapped_reads;
mod multi_get;
mod multi_scan;
mod next_prefix;
mod range_delete_jumps;
mod read_filters;
mod read_limits;
mod row_cache;
mod secondary_cache;
