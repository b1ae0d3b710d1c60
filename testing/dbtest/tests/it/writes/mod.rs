//! Writes, and the memtables that hold them.

mod batch_entries;
mod batch_index;
mod concurrent_inserts;
mod memtable_factory;
mod memtable_filter;
mod merge_operators;
mod row_limit;
mod wide_columns;
