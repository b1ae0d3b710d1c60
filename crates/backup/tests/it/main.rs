//! Backups and restorations: their contents, the state after crashes, and RocksDB's view.

mod crash;
mod damage;
mod engine;
mod excluded;
mod fixtures;
mod rocksdb;
mod stop;
