//! Esker and RocksDB, the real one, in one process.

mod metamorphic;
mod ownership;
mod rocksdb_store;
mod versions;
