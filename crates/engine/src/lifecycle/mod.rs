//! The life of a database: open, recovery and close, repair, secondaries, checkpoints.

mod background;
mod best_efforts;
pub mod checkpoint;
pub(crate) mod close;
pub mod file_deletions;
pub(crate) mod manifest_tail;
pub(crate) mod moment;
pub(crate) mod open;
pub(crate) mod open_and_compact;
pub(crate) mod recover;
pub(crate) mod repair;
pub(crate) mod secondary;
pub(crate) mod set_aside;
pub mod set_options;
pub(crate) mod stored_options;
mod tracked_files;
mod tracked_wals;
mod trim_history;
pub(crate) mod unread_sections;
pub mod wal_dir;
pub mod wal_filter;
