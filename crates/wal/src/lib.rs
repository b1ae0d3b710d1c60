//! The record format of WAL and MANIFEST: a [`Writer`], and a [`Reader`] with RocksDB's four recovery modes.
//!
//! A file is a sequence of blocks of 32 KiB. A logical record (a write batch, a version edit) is one physical
//! record if it fits the rest of a block; otherwise it is a first, some middle and a last one. Each physical
//! record has a checksum, so a reader can detect where a writer died. `docs/format/wal.md` shows the bytes.
//!
//! * [`mod@format`]: record types and headers
//! * the [`writer`]: part of every write
//! * the [`reader`]: recovery
//! * [`dump`]: physical records one by one, to inspect a file
#![forbid(unsafe_code)]

#[cfg(feature = "zstd")]
mod compression;
pub mod dump;
pub mod format;
#[cfg(not(feature = "zstd"))]
mod no_compression;
pub mod reader;
#[cfg(test)]
mod test_files;
pub mod writer;

pub use format::{PredecessorWal, RecordType};
pub use reader::{Dropped, Reader, ReaderOptions, RecoveryMode};
pub use writer::{Writer, WriterOptions};
