//! Predicts what other options would do to a workload: write, space and read amplification, and stalls.
//!
//! A [`Workload`] holds the tables that a database has, and the writes and reads that follow. [`predict`]
//! replays it in memory under one set of options. The engine's own pickers choose each compaction and cut its
//! outputs, so that the tree takes the shape that it would take in a database; of each row only its key, its
//! sequence number and its size are kept. Nothing is read from a disk or written to one.
//!
//! ```
//! use esker::ColumnFamilyOptions;
//! use esker_advise::{Machine, WorkloadBuilder, predict};
//! # use base::UserComparator;
//!
//! let mut builder = WorkloadBuilder::new(UserComparator::Bytewise, 1);
//! for i in 0..10_000u64 {
//!     let key = format!("key{:05}", i * 7919 % 10_000);
//!     builder.put(i, key.as_bytes(), 100);
//! }
//! let workload = builder.finish();
//! let small = ColumnFamilyOptions { write_buffer_size: 64 << 10, ..Default::default() };
//! let prediction = predict(&workload, &small, &Machine::default());
//! assert!(prediction.write_amplification() >= 1.0);
//! ```
#![forbid(unsafe_code)]

mod keys;
mod machine;
mod mixgraph;
mod prediction;
mod replay;
mod rows;
mod tree;
mod workload;

pub use machine::Machine;
pub use prediction::Prediction;
pub use replay::predict;
pub use workload::{Workload, WorkloadBuilder};
