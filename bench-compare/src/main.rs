//! The same operations over Esker and RocksDB.
fn main() {}
