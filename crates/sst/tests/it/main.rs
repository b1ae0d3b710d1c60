//! Whole tables: those RocksDB wrote, those we write, and damaged ones.

extern crate esker_sst as sst;

mod common;
mod damage;
mod fixtures;
mod parts;
mod readahead;
mod secondary;
mod tables;
