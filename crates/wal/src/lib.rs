//! The record format of WAL and MANIFEST: writer, and a reader with RocksDB's four recovery modes.
