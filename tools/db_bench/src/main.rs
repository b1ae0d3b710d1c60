//! RocksDB's db_bench over Esker.
fn main() {}
