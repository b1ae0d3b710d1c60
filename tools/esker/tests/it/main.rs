//! Tests of the inspector's binary over databases that RocksDB wrote, intact and corrupt.

mod advise;
mod backup;
mod checkpoint;
mod common;
mod damage;
mod decrypt;
mod dumps;
mod errors;
mod feed;
mod ldb;
mod opening;
mod options;
mod repair;
mod rows;
mod salvage;
mod serve;
mod sst_dump;
mod tools;
mod top;
mod trace;
