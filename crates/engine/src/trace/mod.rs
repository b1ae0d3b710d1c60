//! Traces in RocksDB's formats: the file they share, the traces of queries, of I/O and of the block cache,
//! and the replay of queries.
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
mod traced_fs;

pub use accesses::{AccessTraceReader, TraceKind, TracedAccess};
pub(crate) use block_cache::BlockCacheTrace;
pub use block_record::{BlockCacheTraceReader, BlockCacheTraceRecord};
pub use file::{FileTraceReader, FileTraceWriter, TraceWriter};
pub(crate) use io::IoTrace;
pub use io_record::{IoTraceReader, IoTraceRecord};
pub(crate) use query::QueryTrace;
pub use query_reader::QueryTraceReader;
pub use record::{TraceRecord, TracedQuery};
pub(crate) use traced_fs::TracedFs;

use base::Result;
use base::coding::{self, Reader};

/// Every trace begins with it.
const MAGIC: &str = "feedcafedeadbeef";

/// The release of RocksDB that headers name: that of the formats.
const ROCKSDB_RELEASE: (u32, u32) = (11, 8);

/// Bytes of a record before its payload.
const RECORD_HEADER_LEN: usize = 13;

/// Types of records, by RocksDB's numbers.
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

/// How a database is traced: RocksDB's `TraceOptions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Bytes of the file beyond which nothing is added but its last record. Default: 64 GiB.
    pub max_trace_file_size: u64,
    /// One in so many queries is recorded, of those that pass [`filter`](Self::filter). Default: 1; 0 means
    /// the same.
    pub sampling_frequency: u64,
    /// The kinds of queries that are not recorded: a sum of the constants [`FILTER_GET`](Self::FILTER_GET)
    /// and so on. Bits without a meaning are ignored. Default: 0, everything is recorded.
    pub filter: u64,
    /// Records of writes stand in the order in which the rows became visible. They always do here. Default:
    /// false.
    pub preserve_write_order: bool,
}

impl TraceOptions {
    /// Gets are not recorded.
    pub const FILTER_GET: u64 = 1;
    /// Writes are not recorded.
    pub const FILTER_WRITE: u64 = 1 << 1;
    /// Seeks of iterators are not recorded.
    pub const FILTER_ITERATOR_SEEK: u64 = 1 << 2;
    /// Seeks of iterators backwards are not recorded.
    pub const FILTER_ITERATOR_SEEK_FOR_PREV: u64 = 1 << 3;
    /// MultiGets are not recorded.
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

/// Timestamp, type and payload of a record.
fn split(record: &[u8]) -> Result<(u64, u8, &[u8])> {
    let mut reader = Reader::new(record);
    let timestamp = reader.u64("time of a trace record")?;
    let kind = reader.u8("type of a trace record")?;
    reader.u32("length of a trace record")?;
    Ok((timestamp, kind, reader.rest()))
}

/// How lookups of blocks in the cache are traced: RocksDB's `BlockCacheTraceOptions` and
/// `BlockCacheTraceWriterOptions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCacheTraceOptions {
    /// One in so many blocks is recorded, with all its lookups: the blocks are chosen by a hash of their keys
    /// in the cache. Default: 1; 0 means the same.
    pub sampling_frequency: u64,
    /// Bytes of the file beyond which nothing is added. Default: 64 GiB.
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

/// Encodes a record. The payload is shorter than 4 GiB.
fn encode_record(out: &mut Vec<u8>, timestamp: u64, kind: u8, payload: &[u8]) {
    coding::put_u64(out, timestamp);
    out.push(kind);
    coding::put_u32(out, payload.len() as u32);
    out.extend_from_slice(payload);
}
