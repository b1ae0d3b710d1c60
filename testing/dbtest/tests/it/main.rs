//! Tests of the engine with scripts, random histories, and RocksDB itself.

extern crate esker_dbtest as dbtest;

mod blob_files;
mod clock_set_back;
mod compaction;
mod company;
mod corruption;
mod crash;
mod errors;
mod fixtures;
mod ingest;
mod jobs;
mod metamorphic;
mod model;
mod open;
mod reads;
mod report;
mod rocksdb;
mod scripts;
mod secondary;
mod stalls;
mod timestamps;
mod wal;
mod writes;
