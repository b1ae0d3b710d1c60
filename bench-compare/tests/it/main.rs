//! Esker and RocksDB, the real one.

mod compare;
mod metamorphic;
mod ownership;
mod rocksdb_store;
mod versions;
