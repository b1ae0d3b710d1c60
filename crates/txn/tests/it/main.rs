//! Tests of transactions over a whole database.

mod anomalies;
mod common;
mod entities;
mod history;
mod late_writes;
mod optimistic;
mod orders;
mod pessimistic;
mod ranges;
mod removals;
mod rocksdb;
mod serializable;
mod sums;
mod timestamped_snapshots;
mod two_phase;
mod two_phase_crash;
