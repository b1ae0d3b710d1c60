//! From the user to WAL and memtable.

pub mod batch;
pub mod batch_index;
mod batch_protection;
pub(crate) mod controller;
pub(crate) mod pipeline;
pub(crate) mod predecessor;
pub(crate) mod sync_group;
pub(crate) mod throttle;
mod wal_control;
pub mod write_buffer_manager;
