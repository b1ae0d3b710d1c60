//! Background jobs and their scheduling.

pub(crate) mod blob_inputs;
pub(crate) mod blob_outputs;
pub(crate) mod compaction;
pub mod compaction_service;
pub(crate) mod file_checksum;
pub(crate) mod flush;
pub(crate) mod large_rows;
pub(crate) mod memtable_tables;
pub(crate) mod obsolete_files;
pub(crate) mod output;
pub(crate) mod output_check;
pub(crate) mod output_file;
pub(crate) mod rewrite;
pub(crate) mod scheduler;
pub(crate) mod streams;
pub(crate) mod thread_pool;
pub(crate) mod verifier;
