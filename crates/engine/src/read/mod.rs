//! The path from files and memtables to the user: cursors, the iterator, open tables, resolved values.

pub(crate) mod blob_cache;
pub(crate) mod charged_reads;
pub(crate) mod db_iterator;
pub(crate) mod filters;
pub(crate) mod level_cursor;
pub(crate) mod merging_cursor;
pub(crate) mod multi_cf_iterator;
pub(crate) mod multi_scan;
pub(crate) mod open_iterators;
pub(crate) mod open_limit;
pub(crate) mod overlap;
pub(crate) mod read_latency;
pub(crate) mod rows;
pub(crate) mod sources;
pub(crate) mod spare;
pub(crate) mod super_version;
pub(crate) mod table_cache;
pub(crate) mod table_place;
pub(crate) mod timed_file;
pub(crate) mod value;
pub(crate) mod versions_iterator;

#[cfg(test)]
mod tests;
