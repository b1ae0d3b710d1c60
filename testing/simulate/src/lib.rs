//! The whole engine under one seed.
//!
//! A [`History`] is text: options, the lives of a process, the operations of its threads, the faults of its
//! disk, the end of each life, and the schedule of the threads. [`generate()`] draws a history from a seed,
//! [`run()`] runs it in a [world](base::simulation) on a disk in memory and compares all reads with a
//! [`model`], and [`shrink()`] reduces a history that fails.
//!
//! Only a build under `--cfg simulate` can run one: `cargo xtask simulate`.
#![forbid(unsafe_code)]

pub mod explore;
pub mod generate;
pub mod history;
pub mod locks;
mod log;
pub mod model;
pub mod run;
pub mod shrink;
mod trouble;
mod worker;

pub use explore::explore;
pub use generate::generate;
pub use history::History;
pub use run::{Report, run};
pub use shrink::shrink;
