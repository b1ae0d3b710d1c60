//! The interface of the `rocksdb` crate, each part of it once.

mod database;
mod time_to_live;
mod transactions;
