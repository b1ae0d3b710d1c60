//! The parts of a table that the block cache can hold besides its data blocks: index and filter, or their
//! partitions.

use base::sync::Mutex;
use base::{Error, Result};
use cache::{CacheKey, EntryRole, Guard, Handle, Slot};

use crate::block::{Block, BlockPin};
use crate::block_trace::TracedBlock;
use crate::filter::FilterReader;
use crate::format::BlockHandle;
use crate::index::Index;
use crate::metadata_block::MetadataBlock;
use crate::read_options::MetadataCaching;

/// The kind of a part. Its number separates the cache keys of the kinds from each other and from those of
/// data blocks, whatever offsets a damaged file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Index = 1,
    TopLevelIndex,
    IndexPartition,
    Filter,
    TopLevelFilter,
    FilterPartition,
}

/// The binary logarithm of a bound of all offsets: no file is that long.
const KIND_SHIFT: u32 = 60;

impl PartKind {
    pub fn key(self, id: u64, handle: BlockHandle) -> CacheKey {
        let offset = handle.offset & ((1 << KIND_SHIFT) - 1);
        CacheKey {
            id,
            offset: (self as u64) << KIND_SHIFT | offset,
        }
    }

    pub fn traced(self) -> TracedBlock {
        match self {
            PartKind::Index | PartKind::TopLevelIndex | PartKind::IndexPartition => TracedBlock::Index,
            PartKind::Filter | PartKind::TopLevelFilter | PartKind::FilterPartition => TracedBlock::Filter,
        }
    }

    pub fn role(self) -> EntryRole {
        match self {
            PartKind::Index | PartKind::TopLevelIndex | PartKind::IndexPartition => EntryRole::IndexBlock,
            PartKind::Filter | PartKind::FilterPartition => EntryRole::FilterBlock,
            PartKind::TopLevelFilter => EntryRole::FilterMetaBlock,
        }
    }
}

/// The index and filter of a table that keeps them in the cache.
pub(super) struct CachedParts {
    pub caching: MetadataCaching,
    /// The slot of the index, or of its top level.
    pub index: Slot,
    /// The slot of the filter, or of its top level.
    pub filter: Slot,
    /// The pins of the parts that stay in the cache as long as the table is open.
    pub pins: Mutex<Vec<Handle<Block>>>,
}

impl CachedParts {
    pub fn new(caching: MetadataCaching) -> CachedParts {
        CachedParts {
            caching,
            index: Slot::default(),
            filter: Slot::default(),
            pins: Mutex::default(),
        }
    }

    /// Releases the pins of the parts that were to stay.
    pub fn unpin(&self) {
        self.pins.lock().clear();
    }

    /// True if a part of that kind stays in the cache.
    pub fn pins(&self, kind: PartKind) -> bool {
        match kind {
            PartKind::Index | PartKind::Filter => self.caching.pin_unpartitioned,
            PartKind::TopLevelIndex | PartKind::TopLevelFilter => self.caching.pin_top_level,
            PartKind::IndexPartition | PartKind::FilterPartition => self.caching.pin_partitions,
        }
    }
}

/// A part that a reader holds for the length of a read.
pub(super) enum PartRef<'a> {
    Guard(Guard<'a, Block>),
    Pin(BlockPin),
}

impl PartRef<'_> {
    fn block(&self) -> &Block {
        match self {
            PartRef::Guard(guard) => guard,
            PartRef::Pin(pin) => pin,
        }
    }

    /// The index that this part is.
    pub fn index(&self) -> Result<&Index> {
        index_of(self.block())
    }

    pub fn filter(&self) -> Result<&FilterReader> {
        match self.block().metadata() {
            Some(MetadataBlock::Filter(filter)) => Ok(filter),
            _ => Err(Error::corruption("the part in the block cache is no filter")),
        }
    }
}

/// The index that `block` carries.
pub(crate) fn index_of(block: &Block) -> Result<&Index> {
    match block.metadata() {
        Some(MetadataBlock::Index(index)) => Ok(index),
        _ => Err(Error::corruption("the part in the block cache is no index")),
    }
}

/// The place of an entry in an index that is in the cache.
pub(super) struct PartPlace<'a> {
    /// The index, or a partition of the index.
    pub part: PartRef<'a>,
    /// The number of the partition; 0 for an index in one block.
    pub partition: usize,
    /// The number of the entry within the part.
    pub number: usize,
}
