//! RocksDB's blob files: values kept outside the tables.
//!
//! With key-value separation a table holds, in place of a large value, a [`BlobIndex`]: the file, offset and
//! size of the value. The values are in blob files, in the order they were written.
//!
//! * [`index`]: the blob index
//! * [`mod@format`]: header, records and footer of a blob file
//! * [`BlobFile`] reads: [`BlobFile::get`] one value, [`BlobFile::records`] all of them, to verify or to
//!   collect garbage
//! * [`BlobWriter`] writes
//!
//! `docs/format/blob.md` shows the bytes.
#![forbid(unsafe_code)]

pub mod format;
pub mod index;
pub mod reader;
pub mod writer;

pub use index::{BlobIndex, BlobLocation, for_each_location};
pub use reader::{BlobFile, Record, Records};
pub use writer::{BlobSummary, BlobWriter, BlobWriterOptions};
