//! `esker-rocksdb` under the name of the crate it stands for.
#![forbid(unsafe_code)]

pub use esker_rocksdb::*;
