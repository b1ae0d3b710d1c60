//! Measuring two things in turn, and saying honestly whether they differ.
//!
//! [`Comparison`] judges the ratios of many rounds, [`run`] runs one program and notes what it cost, [`Line`] reads the
//! result lines of db_bench, RocksDB's or ours.
#![forbid(unsafe_code)]

mod comparison;
mod line;
mod program;

pub use comparison::{Comparison, MARGIN, Verdict, median};
pub use line::{Line, lines, write_amplification};
pub use program::{Cost, Finished, run};
