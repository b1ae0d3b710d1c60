//! The engine under scripts, random histories and RocksDB itself.

extern crate esker_dbtest as dbtest;

mod api;
mod background_verify;
mod behaviour;
mod bit_flips;
mod blob_files;
mod block_cache;
mod company;
mod crash;
mod crash_faults;
mod crash_group;
mod crash_kill;
mod disk_reads;
mod file_checksums;
mod fixtures;
mod flush_and_drop;
mod formats;
mod info_log;
mod interop;
mod iterators;
mod limits;
mod mapped_reads;
mod memory;
mod memtable_filter;
mod metamorphic;
mod model;
mod multi_get;
mod multi_scan;
mod protection;
mod read_flips;
mod secondary;
mod secondary_cache;
mod streams;
mod styles;
mod timestamps;
mod told_faults;
