//! The interface of the `rocksdb` crate, each part of it once.

mod database;
mod transactions;
