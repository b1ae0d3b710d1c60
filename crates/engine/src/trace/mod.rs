//! Traces in RocksDB's formats: their common file format, the traces of queries, of I/O and of the block
//! cache, and the replay of queries.
//!
//! ```text
//! file   = record*, the first of type BEGIN
//! record = microseconds since 1970 (8 bytes) | type (1) | length of the payload (4) | payload
//! ```

mod accesses;
mod appender;
mod block_cache;
mod block_record;
pub(crate) mod file;
mod io;
mod io_record;
mod query;
pub(crate) mod query_reader;
pub(crate) mod record;
mod trace_kind;
mod traced_fs;

pub use accesses::{AccessTraceReader, TracedAccess};
pub(crate) use block_cache::BlockCacheTrace;
pub use block_record::{BlockCacheTraceReader, BlockCacheTraceRecord};
pub use file::{FileTraceReader, FileTraceWriter, TraceWriter};
pub(crate) use io::IoTrace;
pub use io_record::{IoTraceReader, IoTraceRecord};
pub(crate) use query::QueryTrace;
pub use query_reader::QueryTraceReader;
pub use record::{TraceRecord, TracedQuery};
pub use trace_kind::TraceKind;
pub(crate) use traced_fs::TracedFs;

use base::Result;
use base::coding::{self, Reader};

/// The magic number in the header of every trace.
const MAGIC: &str = "feedcafedeadbeef";

/// The release of RocksDB that trace headers name: the one whose formats are written.
const ROCKSDB_RELEASE: (u32, u32) = (11, 8);

/// The size of a record's header in bytes, which precedes the payload.
const RECORD_HEADER_LEN: usize = 13;

/// The types of records, with RocksDB's numbers.
mod kind {
    pub const BEGIN: u8 = 1;
    pub const END: u8 = 2;
    pub const WRITE: u8 = 3;
    pub const GET: u8 = 4;
    pub const SEEK: u8 = 5;
    pub const SEEK_FOR_PREV: u8 = 6;
    pub const IO: u8 = 12;
    pub const MULTI_GET: u8 = 13;
}

/// The options of a trace of queries or of I/O: RocksDB's `TraceOptions`.
///
/// See the example of [`QueryTraceReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// The size of the file in bytes after which no record is appended, except the last record of a trace of
    /// queries. Default: 64 GiB.
    pub max_trace_file_size: u64,
    /// The number of queries, or of I/O operations, of which one is recorded. Queries that
    /// [`filter`](Self::filter) excludes do not count. 0 means 1. Default: 1.
    pub sampling_frequency: u64,
    /// The kinds of queries that are not recorded: a sum of the constants [`FILTER_GET`](Self::FILTER_GET)
    /// and so on. Bits without a meaning are ignored. 0 records all queries. Default: 0.
    pub filter: u64,
    /// Records writes in the order in which their rows became visible. Esker does so in any case. Default:
    /// false.
    pub preserve_write_order: bool,
}

impl TraceOptions {
    /// Excludes Gets from the trace.
    pub const FILTER_GET: u64 = 1;
    /// Excludes writes from the trace.
    pub const FILTER_WRITE: u64 = 1 << 1;
    /// Excludes forward seeks of iterators (`seek`) from the trace.
    pub const FILTER_ITERATOR_SEEK: u64 = 1 << 2;
    /// Excludes backward seeks of iterators (`seek_for_prev`) from the trace.
    pub const FILTER_ITERATOR_SEEK_FOR_PREV: u64 = 1 << 3;
    /// Excludes MultiGets from the trace.
    pub const FILTER_MULTI_GET: u64 = 1 << 4;
}

impl Default for TraceOptions {
    fn default() -> TraceOptions {
        TraceOptions {
            max_trace_file_size: 64 << 30,
            sampling_frequency: 1,
            filter: 0,
            preserve_write_order: false,
        }
    }
}

/// Splits a record into its timestamp, type and payload.
fn split(record: &[u8]) -> Result<(u64, u8, &[u8])> {
    let mut reader = Reader::new(record);
    let timestamp = reader.u64("time of a trace record")?;
    let kind = reader.u8("type of a trace record")?;
    reader.u32("length of a trace record")?;
    Ok((timestamp, kind, reader.rest()))
}

/// The options of a trace of the block cache: RocksDB's `BlockCacheTraceOptions` and
/// `BlockCacheTraceWriterOptions`.
///
/// See the example of [`BlockCacheTraceReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCacheTraceOptions {
    /// The number of blocks of which one is recorded, with all its lookups. The blocks are chosen by a hash
    /// of their keys in the cache. 0 means 1. Default: 1.
    pub sampling_frequency: u64,
    /// The size of the file in bytes after which no record is appended. Default: 64 GiB.
    pub max_trace_file_size: u64,
}

impl Default for BlockCacheTraceOptions {
    fn default() -> BlockCacheTraceOptions {
        BlockCacheTraceOptions {
            sampling_frequency: 1,
            max_trace_file_size: 64 << 30,
        }
    }
}

/// Encodes a record. The payload must be shorter than 4 GiB.
fn encode_record(out: &mut Vec<u8>, timestamp: u64, kind: u8, payload: &[u8]) {
    coding::put_u64(out, timestamp);
    out.push(kind);
    coding::put_u32(out, payload.len() as u32);
    out.extend_from_slice(payload);
}
