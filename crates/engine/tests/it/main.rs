//! Tests of the engine through its public interface.

mod block_cache_trace;
mod codecs;
mod counted;
mod damaged;
mod direct_io;
mod errors;
mod fixtures;
mod full_history;
mod identity;
mod io_trace;
mod long_values;
mod max_timestamps;
mod numbers;
mod query_trace;
mod recovery;
mod repair;
mod row_limit;
mod rows;
mod statistics;
mod table_paths;
mod trace_files;
mod track_wals;
mod unique_ids;
mod wal_iterator;
mod wals_in_manifest;
