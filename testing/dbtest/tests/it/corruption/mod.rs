//! Corrupt bytes on disk and in memory: their detection, and the rows that stay readable.

mod background_verify;
mod bit_flips;
mod block_damage;
mod file_checksums;
mod protection;
mod read_flips;
mod torn_manifest;
