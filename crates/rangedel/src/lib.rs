//! Range tombstones: fragments, and the highest sequence number covering a key.
