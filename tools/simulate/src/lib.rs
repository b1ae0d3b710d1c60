//! The whole engine under one seed.
//!
//! A [`History`] is text: options, lives of a process, the operations of its threads, what goes wrong on its disk, how each
//! life ends, and who goes on when. [`generate()`] draws one from a seed, [`run()`] runs it in a [world](simulated) on a disk in
//! memory and compares all that is read with a [`model`], [`shrink()`] makes one that fails small.
//!
//! Only a build under `--cfg simulate` can run one: `cargo xtask simulate`.
#![forbid(unsafe_code)]

pub mod explore;
pub mod generate;
pub mod history;
pub mod model;
pub mod run;
pub mod shrink;
mod worker;

pub use explore::explore;
pub use generate::generate;
pub use history::History;
pub use run::{Report, run};
pub use shrink::shrink;
