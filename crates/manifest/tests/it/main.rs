//! Tests with bytes that RocksDB wrote, and with untrusted bytes.

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
