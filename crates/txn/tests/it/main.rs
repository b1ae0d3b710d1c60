//! Tests of transactions over a whole database.

mod anomalies;
mod clock_set_back;
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
mod together;
mod two_phase;
mod two_phase_crash;
