//! RocksJava's native library over Esker: the native methods of `org.rocksdb`, whose Java classes are
//! unchanged.
//!
//! The methods of a class are in a module with its name. `cargo xtask gen` generates the settings of option
//! classes, the methods that end an object, and those that are not implemented, from `options.tsv` and
//! `natives.tsv`. The modules `frame`, `env` and `handles` contain the rules of the boundary: no panic
//! crosses it, a closed handle is an exception, and each method is exported under its long name, by which the
//! JVM distinguishes the signatures of several releases.
mod backup_engine;
mod batch;
mod batch_iterator;
mod cache;
mod callback;
mod checkpoint;
mod collectors;
mod compaction_filter;
mod compaction_job_info;
mod compaction_job_stats;
mod comparator;
mod database;
mod env;
mod environment;
mod exclusive;
mod fail;
mod filters;
mod flink;
mod frame;
#[rustfmt::skip]
mod generated;
mod handles;
mod iterator;
mod java_hooks;
mod listener;
mod logger;
mod maintain;
mod memory_util;
mod merge;
mod metadata;
mod objects;
mod option_parts;
mod options;
mod options_text;
mod perf_context;
mod places;
mod properties;
mod read;
mod release;
mod settings;
mod slice;
mod snapshot;
mod sst_file_manager;
mod sst_reader;
mod sst_writer;
mod statistics;
mod status;
mod stubs;
mod table;
mod table_properties;
mod thread_status;
mod trace_writer;
mod transaction;
mod transaction_db;
mod ttl;
mod wal_iterator;
mod write;
