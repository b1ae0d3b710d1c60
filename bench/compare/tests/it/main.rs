//! Tests of the comparisons of Esker with the real RocksDB.

mod compare;
mod defaults;
mod metamorphic;
mod ownership;
mod rocksdb_store;
mod versions;
