//! Histories that are run, which only a build under `--cfg simulate` can: `cargo xtask simulate` runs these first.
#![cfg(simulate)]
#![forbid(unsafe_code)]

mod ingest;
mod scripts;
mod seeds;
mod threads;
mod transactions;
