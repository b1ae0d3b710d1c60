//! RocksDB's block-based tables, format versions 2 to 7: reader, writer, blocks, indexes, filters.
