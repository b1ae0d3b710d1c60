//! Checksums, hashes and compression of RocksDB files, with the fastest implementation chosen at run time.
//!
//! * [`checksum`]: CRC-32C and the five block checksums
//! * [`file_checksum`]: the whole-file checksum that a MANIFEST records
//! * [`hash`]: XXPH3 and Hash32, the hashes of filters and hash indexes, and the published xxHash functions
//! * [`compression`]: compression of blocks, with RocksDB's framing and dictionaries
#![forbid(unsafe_code)]

pub mod checksum;
pub mod compression;
pub mod file_checksum;
pub mod hash;

pub use checksum::ChecksumType;
pub use compression::{CompressionOptions, CompressionType, Compressor, Decompressor};
