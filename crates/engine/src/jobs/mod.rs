//! Background jobs and their scheduling.

pub(crate) mod blob_garbage;
pub(crate) mod blob_inputs;
pub(crate) mod blob_outputs;
pub(crate) mod compaction;
pub mod compaction_service;
pub mod control;
pub(crate) mod creation_reason;
pub(crate) mod delete_files;
pub(crate) mod error_handler;
pub(crate) mod families;
pub(crate) mod flush;
pub(crate) mod full_history;
pub(crate) mod large_rows;
pub(crate) mod maintain;
pub(crate) mod memtable_tables;
pub(crate) mod options_file;
pub(crate) mod output;
pub(crate) mod output_check;
pub(crate) mod output_file;
pub(crate) mod requests;
pub(crate) mod rewrite;
pub(crate) mod scheduler;
pub(crate) mod seqno_to_time;
pub(crate) mod streams;
pub(crate) mod verifier;
pub(crate) mod verify;
