//! Block checksums and compression of RocksDB files, the fastest body chosen at run time.
