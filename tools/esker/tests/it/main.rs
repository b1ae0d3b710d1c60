//! The inspector from outside: the real binary over the databases RocksDB wrote, whole and damaged.

mod backup;
mod checkpoint;
mod common;
mod damage;
mod dumps;
mod errors;
mod opening;
mod options;
mod repair;
mod rows;
mod salvage;
mod tools;
mod top;
