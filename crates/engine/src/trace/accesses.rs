//! The traces of accesses, which are those of I/O and of the block cache. They have the same header.

use std::marker::PhantomData;
use std::path::Path;

use base::coding::{self, Reader};
use base::{Error, Result};
use vfs::FileSystem;

use super::file::FileTraceReader;
use super::{MAGIC, RECORD_HEADER_LEN, ROCKSDB_RELEASE, encode_record, kind, split};

/// A record of a trace of accesses: [`IoTraceRecord`](super::IoTraceRecord) or
/// [`BlockCacheTraceRecord`](super::BlockCacheTraceRecord).
///
/// See the example of [`BlockCacheTraceReader`](super::BlockCacheTraceReader).
pub trait TracedAccess: Sized + sealed::Decoded {}

impl<T: sealed::Decoded> TracedAccess for T {}

pub(super) mod sealed {
    use base::Result;

    pub trait Decoded: Sized {
        /// True if records of type `kind` are decoded by this type.
        fn is_of_type(kind: u8) -> bool;

        /// Decodes the payload of a record. `Corruption` with the offset within the payload.
        fn decode(timestamp: u64, kind: u8, payload: &[u8]) -> Result<Self>;
    }
}

/// Encodes the first record of a trace of accesses.
pub(super) fn header(timestamp: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    coding::put_length_prefixed(&mut payload, MAGIC.as_bytes());
    coding::put_u32(&mut payload, ROCKSDB_RELEASE.0);
    coding::put_u32(&mut payload, ROCKSDB_RELEASE.1);
    let mut record = Vec::new();
    encode_record(&mut record, timestamp, kind::BEGIN, &payload);
    record
}

/// Decodes the first record of a trace. Returns the start of the trace in microseconds since 1970.
pub(super) fn decode_header(record: &[u8]) -> Result<u64> {
    let (timestamp, kind, payload) = split(record)?;
    if kind != kind::BEGIN {
        return Err(Error::corruption("Corrupted trace file. Incorrect header.").at(8));
    }
    decode_magic(payload).map_err(|error| error.offset_by(RECORD_HEADER_LEN as u64))?;
    Ok(timestamp)
}

fn decode_magic(payload: &[u8]) -> Result<()> {
    let mut reader = Reader::new(payload);
    if reader.length_prefixed("magic number of a trace")? != MAGIC.as_bytes() {
        let message = "Corrupted header in the trace file: Magic number does not match.";
        return Err(Error::corruption(message).at(0));
    }
    reader.u32("major version of a trace")?;
    reader.u32("minor version of a trace")?;
    all_taken(&reader)
}

/// `Corruption` if the payload has bytes after its last field.
pub(super) fn all_taken(reader: &Reader<'_>) -> Result<()> {
    match reader.is_empty() {
        true => Ok(()),
        false => {
            let message = "a trace record has bytes after its last field";
            Err(Error::corruption(message).at(reader.position() as u64))
        }
    }
}

/// Reads the records of a trace of accesses.
///
/// See the example of [`BlockCacheTraceReader`](super::BlockCacheTraceReader).
#[derive(Debug)]
pub struct AccessTraceReader<T> {
    reader: FileTraceReader,
    header_timestamp: u64,
    records: PhantomData<T>,
}

impl<T: TracedAccess> AccessTraceReader<T> {
    /// Opens the file and reads its header.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist; `Corruption` with the offset if the file is empty or is not a
    /// trace of accesses.
    pub fn open(fs: &dyn FileSystem, path: &Path) -> Result<AccessTraceReader<T>> {
        let mut reader = FileTraceReader::open(fs, path)?;
        let record = reader.read()?;
        let header = record.ok_or_else(|| Error::corruption("Corrupted trace file.").at(0));
        let header = header.and_then(|record| decode_header(&record));
        Ok(AccessTraceReader {
            header_timestamp: header.map_err(|error| reader.place(error, 0))?,
            reader,
            records: PhantomData,
        })
    }

    /// The start of the trace in microseconds since 1970.
    pub fn header_timestamp(&self) -> u64 {
        self.header_timestamp
    }

    /// Returns the next record, or `None` at the end of the file. These traces have no record that marks
    /// their end.
    ///
    /// # Errors
    /// `Corruption` with the offset for a corrupt record, for a record of another type, and for a file that
    /// ends within a record.
    pub fn next_record(&mut self) -> Result<Option<T>> {
        let at = self.reader.offset();
        let Some(record) = self.reader.read()? else {
            return Ok(None);
        };
        let decoded = split(&record).and_then(|(timestamp, kind, payload)| match T::is_of_type(kind) {
            true => {
                T::decode(timestamp, kind, payload).map_err(|error| error.offset_by(RECORD_HEADER_LEN as u64))
            }
            false => Err(Error::corruption(format!(
                "a record of type {kind} does not belong into a trace of this kind"
            ))
            .at(8)),
        });
        decoded.map(Some).map_err(|error| self.reader.place(error, at))
    }
}
