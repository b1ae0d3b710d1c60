//! The engine under scripts, random histories and RocksDB itself.

extern crate esker_dbtest as dbtest;

mod crash;
mod fixtures;
mod interop;
mod model;
