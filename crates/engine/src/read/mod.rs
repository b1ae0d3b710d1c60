//! The path from files and memtables to the user: Gets, cursors, iterators.

pub(crate) mod approximate_size;
pub(crate) mod async_get;
pub(crate) mod blob_files;
pub(crate) mod db_iterator;
pub(crate) mod deadline;
pub(crate) mod families_view;
pub(crate) mod filters;
pub(crate) mod get;
mod get_timestamp;
pub(crate) mod key_versions;
pub(crate) mod level_cursor;
pub(crate) mod merge_operands;
pub(crate) mod merging_cursor;
pub(crate) mod multi_cf_iterator;
pub(crate) mod multi_get;
pub(crate) mod multi_scan;
pub(crate) mod observed;
pub(crate) mod overlap;
mod range;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod sources;
pub(crate) mod spare;
pub(crate) mod versions_iterator;
pub mod wide_columns;

#[cfg(test)]
mod tests;
