//! Databases that RocksDB and Esker use in turn.

mod formats;
pub mod interop;
mod library;
mod tools;
mod traces;
