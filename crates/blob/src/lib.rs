//! RocksDB's blob files: values kept outside the tables.
