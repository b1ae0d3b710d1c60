//! WALs: written, synced, recycled, archived, filtered and followed.

mod archive;
mod dirs;
mod feeds;
mod filter;
mod live_wals;
mod manual_wal;
mod missing_wals;
mod recycled_wals;
