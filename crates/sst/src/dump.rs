//! A table in readable form, for the inspector.

use std::sync::Arc;

use base::Result;

use crate::block::entries::Entries;
use crate::block::{Block, BlockCursor, BlockPin};
use crate::fetch::BlockKind;
use crate::format::{BlockHandle, Footer, IndexType, meta};
use crate::index::{self, IndexCoding};
use crate::reader::Table;

/// The footer.
pub fn footer(table: &Table) -> Footer {
    table.footer
}

/// The place of the index, or of its top level.
pub fn index_handle(table: &Table) -> BlockHandle {
    table.index_handle
}

/// The names in the metaindex with their handles, in order.
pub fn metaindex(table: &Table) -> &[(Vec<u8>, BlockHandle)] {
    &table.metaindex
}

/// The entries of the properties block in their stored form.
///
/// Errors: those of reading the block.
pub fn properties(table: &Table) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let found = table
        .metaindex
        .iter()
        .find(|entry| entry.0 == meta::PROPERTIES.as_bytes());
    let Some((_, handle)) = found else {
        return Ok(Vec::new());
    };
    let block = table.fetcher.meta_block(*handle, false)?;
    let mut entries = Entries::new(block.entries());
    let mut properties = Vec::new();
    while let Some(entry) = entries
        .next()
        .map_err(|error| table.fetcher.in_block(error, *handle))?
    {
        properties.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    Ok(properties)
}

/// An entry of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexLine {
    /// The number of the index partition that holds the entry; 0 in an index without partitions.
    pub partition: usize,
    /// The key in its stored form: a user key or an internal key, as the properties define it.
    pub separator: Vec<u8>,
    /// The handle of the data block.
    pub handle: BlockHandle,
    /// The block's first internal key, if the index has it.
    pub first_key: Option<Vec<u8>>,
}

/// Every entry of the index in its stored form.
///
/// Errors: those of reading the blocks.
pub fn index(table: &Table) -> Result<Vec<IndexLine>> {
    let coding = IndexCoding::of(table.properties());
    let partitions = match table.properties().index_type {
        IndexType::TwoLevel => table.partitions(table.index_handle)?,
        _ => vec![table.index_handle],
    };
    let mut lines = Vec::new();
    for (partition, handle) in partitions.into_iter().enumerate() {
        let block = table.fetcher.meta_block(handle, true)?;
        index::decode_block(&block, coding, |entry| {
            lines.push(IndexLine {
                partition,
                separator: entry.separator.to_vec(),
                handle: entry.handle,
                first_key: entry.first_key.map(<[u8]>::to_vec),
            });
            Ok(())
        })
        .map_err(|error| table.fetcher.in_block(error, handle))?;
    }
    Ok(lines)
}

/// The storage and the contents of a data block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDump {
    /// The stored size in bytes, without the trailer.
    pub stored_size: u64,
    /// The type byte of the block's trailer, which is the compression.
    pub compression_type: u8,
    /// The uncompressed size in bytes.
    pub size: usize,
    /// The number of restart points.
    pub num_restarts: usize,
    /// Internal keys as they are read, with their values.
    pub entries: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The data block at `handle`.
///
/// Errors: those of reading it.
pub fn data_block(table: &Table, handle: BlockHandle) -> Result<BlockDump> {
    let in_block = |error| table.fetcher.in_block(error, handle);
    let (_, trailer) = table.fetcher.stored(handle)?;
    let contents = table.fetcher.contents(handle, BlockKind::Data, true)?;
    let size = contents.len();
    let block = Block::parse(contents).map_err(in_block)?;
    let mut dump = BlockDump {
        stored_size: handle.size,
        compression_type: trailer[0],
        size,
        num_restarts: block.num_restarts(),
        entries: Vec::new(),
    };
    let mut cursor = BlockCursor::new(table.form);
    cursor.set_block(BlockPin::Owned(Arc::new(block)));
    cursor.seek_to_first();
    while cursor.valid() {
        dump.entries
            .push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    match cursor.take_error() {
        Some(error) => Err(in_block(error)),
        None => Ok(dump),
    }
}

/// The filter of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterDump {
    /// `FastLocalBloom`, `Standard128Ribbon`, ...; for a partitioned filter that of the first partition.
    pub kind: &'static str,
    /// The number of partitions; 0 for a filter in one block.
    pub partitions: usize,
    /// The memory of the filter in bytes.
    pub memory_usage: usize,
}

/// The filter, if the table has one that this engine supports.
///
/// Errors: those of reading it.
pub fn filter(table: &Table) -> Result<Option<FilterDump>> {
    let filter = table.describe_filter()?;
    Ok(filter.map(|(kind, partitions, memory_usage)| FilterDump {
        kind,
        partitions,
        memory_usage,
    }))
}
