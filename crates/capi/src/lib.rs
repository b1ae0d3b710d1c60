//! RocksDB's C interface over Esker: the functions of `rocksdb/c.h`, exported from a shared and a static
//! library.
//!
//! The functions of a family are in a module of its name. `cargo xtask gen` generates uniform functions,
//! setters and getters, and those that are not implemented from `fields.tsv` and `functions.tsv`. Option
//! objects store their values in C's types with RocksDB's defaults, and are translated for the engine when a
//! database is opened. The module `ffi` has the rules of the boundary: no panic crosses it, memory that the
//! caller frees comes from malloc, and errors have RocksDB's texts.
#[macro_use]
mod ffi;

mod backup_engine;
mod batch;
mod batch_index;
mod blob_infos;
mod block_based;
mod cache;
mod changed_options;
mod checked;
mod checkpoint;
mod collector_factories;
mod column_family;
mod compact_files;
mod compaction_filter;
mod compaction_service_options;
mod comparator;
mod compression;
mod db;
mod diagnostics;
mod env;
mod family_handle;
mod filter_policy;
#[rustfmt::skip]
mod generated;
#[rustfmt::skip]
mod generated_functions;
mod generation;
mod ingest;
mod iterator;
mod kept_options;
mod legacy;
mod listener;
mod live_files;
mod load_options;
mod maintain;
mod memory;
mod merge_operator;
mod metadata;
mod objects;
mod open_and_compact;
mod optimistic_transaction_db;
mod option_compression;
mod option_objects;
mod option_presets;
mod options;
mod perf;
mod pinned;
mod process;
mod properties;
mod rate_limiter;
mod read;
mod read_options;
mod remote_compaction;
mod slice_transform;
mod snapshot;
mod sst_file_manager;
mod sst_file_writer;
mod statistics;
mod table_properties;
mod thread_priority;
mod timestamps;
mod trace;
mod transaction;
mod transaction_db;
mod transaction_timestamps;
mod ttl;
mod versions;
mod wal;
mod wal_filter;
mod write;
