//! An open table: its state in memory, point lookups, and reads of many blocks.
//!
//! Opening reads the footer, the metaindex, the properties, the dictionary and the range deletions. The first
//! reader that needs the index or the filter reads and decodes it, and it stays: the table owns it, not the
//! cache, and [`Table::memory_usage`] counts it. With [`TableReadOptions::metadata_caching`] index and filter
//! are in the cache instead (`parts`), which bounds the memory of open tables.
//!
//! [`TableReadOptions::metadata_caching`]: crate::read_options::TableReadOptions::metadata_caching

mod cached_blocks;
mod cached_parts;
mod charge;
mod counted;
mod filter;
mod get;
mod index;
mod lazy;
mod load_block;
mod multi_read;
mod open;
mod parts;
mod readahead;
mod sizes;
mod table;
#[cfg(test)]
mod tests;
mod traced;
mod uncache;
mod warm;

pub(crate) use cached_parts::index_of;
pub use get::{BlockSource, IndexSeek, Located, Value};
pub use index::IndexRef;
pub(crate) use load_block::Ahead;
pub use multi_read::{
    BlocksInFlight, HeldBlocks, HeldLookups, IO_COALESCE_THRESHOLD, LookupsInFlight, Prepared,
};
pub(crate) use open::read_properties;
pub(crate) use readahead::{Readahead, bytes_of};
pub use table::{Table, TableMemory};
