//! The work of one process of a comparison: one workload over one engine. Each engine has a program of its
//! own (`src/bin`), which links that engine and no other.

mod burden;
pub mod data;
pub mod engine;
mod run;
mod threads;
pub mod transaction;
pub mod worker;
pub mod workload;
mod write;
