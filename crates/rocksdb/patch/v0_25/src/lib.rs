//! `esker-rocksdb` under the name of the crate that it replaces.
#![forbid(unsafe_code)]

pub use esker_rocksdb::*;
