//! From the user to WAL and memtable.

pub mod batch;
pub(crate) mod pipeline;
pub(crate) mod predecessor;
