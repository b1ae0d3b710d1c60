//! Whole tables: those that RocksDB wrote, those that we write, and damaged ones.

extern crate esker_sst as sst;

mod common;
mod damage;
mod fixtures;
mod parts;
mod readahead;
mod secondary;
mod tables;
