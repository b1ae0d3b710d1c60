//! Tests that run histories, which needs a build under `--cfg simulate`: `cargo xtask simulate` runs them
//! first.
#![cfg(simulate)]
#![forbid(unsafe_code)]

mod anomalies;
mod ingest;
mod scripts;
mod seeds;
mod threads;
mod transactions;
