//! The kind of the trace in a file.

use std::path::Path;

use base::{Error, Result};
use vfs::FileSystem;

use super::accesses::decode_header;
use super::accesses::sealed::Decoded;
use super::block_record::BlockCacheTraceRecord;
use super::file::FileTraceReader;
use super::{MAGIC, RECORD_HEADER_LEN, kind, split};

/// The kinds of traces.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{FileTraceWriter, TraceKind, TraceOptions};
///
/// let (fs, path) = (&*options.fs, dir.path().join("trace"));
/// let writer = FileTraceWriter::create(fs, &path)?;
/// db.start_trace(&TraceOptions::default(), Box::new(writer))?;
/// db.end_trace()?;
/// assert_eq!(TraceKind::of_file(fs, &path)?, Some(TraceKind::Queries));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// A trace of queries: [`Db::start_trace`](crate::Db::start_trace).
    Queries,
    /// A trace of I/O: [`Db::start_io_trace`](crate::Db::start_io_trace).
    Io,
    /// A trace of the block cache: [`Db::start_block_cache_trace`](crate::Db::start_block_cache_trace).
    BlockCache,
}

impl TraceKind {
    /// Returns the kind of the trace in a file; `None` for a trace of accesses without records, whose kind
    /// the header does not show.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist; `Corruption` with the offset if the file is not a trace.
    pub fn of_file(fs: &dyn FileSystem, path: &Path) -> Result<Option<TraceKind>> {
        let mut reader = FileTraceReader::open(fs, path)?;
        let record = reader.read()?.unwrap_or_default();
        if record[RECORD_HEADER_LEN.min(record.len())..].starts_with(MAGIC.as_bytes()) {
            return Ok(Some(TraceKind::Queries));
        }
        decode_header(&record).map_err(|error| reader.place(error, 0))?;
        let at = reader.offset();
        let Some(record) = reader.read()? else {
            return Ok(None);
        };
        match split(&record)?.1 {
            kind::IO => Ok(Some(TraceKind::Io)),
            kind if BlockCacheTraceRecord::is_of_type(kind) => Ok(Some(TraceKind::BlockCache)),
            other => {
                let error =
                    Error::corruption(format!("a record of type {other} does not belong into a trace")).at(8);
                Err(reader.place(error, at))
            }
        }
    }
}
