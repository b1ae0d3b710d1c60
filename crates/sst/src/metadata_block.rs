//! The parts of a table that the block cache can hold besides its data blocks.

use crate::filter::FilterReader;
use crate::index::Index;

/// A part of a table, decoded.
#[derive(Debug)]
pub(crate) enum MetadataBlock {
    /// An index, a partition of one, or a top-level index over partitions of the index or of the filter.
    Index(Index),
    /// A filter, or a partition of a filter.
    Filter(FilterReader),
}

impl MetadataBlock {
    /// The bytes from which the index or filter can be restored.
    pub fn save(&self) -> Vec<u8> {
        match self {
            MetadataBlock::Index(index) => index.save(),
            MetadataBlock::Filter(filter) => filter.contents(),
        }
    }

    /// Bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        match self {
            MetadataBlock::Index(index) => index.memory_usage(),
            MetadataBlock::Filter(filter) => filter.memory_usage(),
        }
    }
}
