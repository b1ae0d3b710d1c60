//! RocksDB's block-based tables, format versions 2 to 7: reader, writer, blocks, indexes, filters.
//!
//! A table is a file of blocks: data blocks of sorted entries, an index over them, and meta blocks (filter,
//! properties, range deletions, compression dictionary). The form in memory differs from the form on disk. An
//! open table keeps its index decoded in flat arrays ([`index`]), and a data block in the cache carries a
//! small array to search it by ([`block`]).
//!
//! * [`Table`] reads: [`Table::get`], [`Table::cursor`], [`Table::verify`]
//! * [`TableWriter`] writes
//! * [`mod@format`], [`properties`], [`block`], [`index`], [`filter`]: the parts of the format, one module
//!   each
//! * [`dump`]: the contents of a table as text
//!
//! The layout is drawn in `docs/format/block_based_table.md`.
#![deny(unsafe_code)]

pub mod block;
pub mod block_properties;
pub mod block_trace;
pub mod cache_reservation;
pub mod cursor;
pub mod dump;
mod fetch;
pub mod filter;
pub mod format;
pub mod index;
pub mod lookup_key;
mod metadata_block;
pub mod properties;
pub mod read_options;
pub mod reader;
mod stored_order;
mod unique_id;
pub mod verify;
pub mod writer;

#[cfg(test)]
mod vectors;

pub use block::{Block, PinnedBytes};
pub use block_properties::{BlockPropertyCollector, BlockPropertyCollectorFactory, BlockPropertyFilter};
pub use block_trace::{BlockTrace, TableReaderCaller};
pub use cache_reservation::CacheReservation;
pub use cursor::TableCursor;
pub use filter::FilterPolicy;
pub use lookup_key::LookupKey;
pub use properties::TableProperties;
pub use read_options::{
    AutoReadahead, BlockCache, BlockReadOptions, MetadataCaching, ScanBounds, TableReadOptions,
};
pub use reader::{
    BlockSource, BlocksInFlight, HeldBlocks, HeldLookups, IO_COALESCE_THRESHOLD, IndexSeek, Located,
    LookupsInFlight, Prepared, Table, TableMemory, Value,
};
pub use writer::{CompressionTally, TableSummary, TableWriter, TableWriterOptions};
