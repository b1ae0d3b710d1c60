//! Tests of the engine through its public interface.

mod block_cache_trace;
mod counted;
mod damaged;
mod direct_io;
mod fixtures;
mod full_history;
mod identity;
mod io_trace;
mod long_values;
mod numbers;
mod query_trace;
mod quick_start;
mod recovery;
mod repair;
mod row_limit;
mod rows;
mod statistics;
mod table_paths;
mod trace_files;
mod unique_ids;
mod wal_iterator;
