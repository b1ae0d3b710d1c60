//! An embedded LSM-tree storage engine that opens and writes RocksDB databases: same files, no C++.
