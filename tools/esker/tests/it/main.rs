//! Tests of the inspector's binary over databases that RocksDB wrote, intact and corrupt.

mod backup;
mod checkpoint;
mod common;
mod damage;
mod dumps;
mod errors;
mod feed;
mod opening;
mod options;
mod repair;
mod rows;
mod salvage;
mod serve;
mod tools;
mod top;
mod trace;
