//! Checksums, hashes and compression of RocksDB files, the fastest body chosen at run time.
//!
//! * [`checksum`]: CRC-32C and the five block checksums
//! * [`file_checksum`]: the checksum of a whole file that a MANIFEST records
//! * [`hash`]: XXPH3 and Hash32, which filters and hash indexes are built on, and the published xxHash functions
//! * [`compression`]: blocks made smaller and back, with RocksDB's framing and dictionaries
#![forbid(unsafe_code)]

pub mod checksum;
pub mod compression;
pub mod file_checksum;
pub mod hash;

pub use checksum::ChecksumType;
pub use compression::{CompressionOptions, CompressionType, Compressor, Decompressor};
