//! The crate over bytes RocksDB wrote, and over bytes nobody vouches for.

extern crate esker_manifest as manifest;

mod builder;
mod checks;
mod damage;
mod edits;
mod fixtures;
mod replay;
mod rocksdb;
mod support;
mod vectors;
