//! The write path: from the user to WAL and memtable.

pub mod batch_entries;
pub mod batch_index;
pub(crate) mod commit;
pub(crate) mod guard;
mod manual_wal;
mod obstacle;
pub(crate) mod pipeline;
pub(crate) mod predecessor;
mod range_latch;
mod recorded;
pub(crate) mod shared_memory;
pub(crate) mod stalled_writers;
pub(crate) mod throttle;
pub(crate) mod two_phase;
pub(crate) mod unchanged;
pub(crate) mod unchanged_range;
mod wal_sync;
pub(crate) mod wals;
pub(crate) mod wide_columns;
