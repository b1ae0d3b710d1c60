//! The block cache: sharded LRU whose hits take no lock.
