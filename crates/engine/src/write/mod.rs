//! The write path: from the user to WAL and memtable.

pub mod batch;
mod batch_entities;
pub mod batch_index;
mod batch_protection;
pub(crate) mod controller;
mod inserts;
pub(crate) mod pipeline;
pub(crate) mod predecessor;
pub(crate) mod queue;
pub(crate) mod sync_group;
pub(crate) mod throttle;
pub(crate) mod two_phase;
pub(crate) mod unchanged;
pub(crate) mod unchanged_range;
mod wal_control;
pub mod write_buffer_manager;
