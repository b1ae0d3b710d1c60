//! Alternating measurement of two programs, and a sound verdict on whether they differ.
//!
//! [`Comparison`] judges the ratios of many rounds, [`run`] runs one program and records its cost, [`Line`]
//! parses the result lines of db_bench, RocksDB's or ours.
#![forbid(unsafe_code)]

mod comparison;
mod line;
mod program;

pub use comparison::{Comparison, MARGIN, Verdict, median};
pub use line::{Line, lines, write_amplification};
pub use program::{Cost, Finished, run};
