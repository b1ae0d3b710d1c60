//! Backups and restorations: what is kept, what a crash leaves, and what RocksDB says.

mod crash;
mod damage;
mod engine;
mod fixtures;
mod rocksdb;
mod stop;
