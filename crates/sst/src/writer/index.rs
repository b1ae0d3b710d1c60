//! Builds the index of a table: an entry for each data block, in one block or in partitions.
//!
//! An entry is a separator and the block's handle. A separator is a key at or after every key of its block
//! and before every key of the next block. Separators are either all user keys or all internal keys. They are
//! user keys, unless two neighbouring blocks meet within the versions of one user key, or the format version
//! is too old for them. This is not known before the last block is written. So separators are kept as
//! internal keys, and the index blocks are built once, at the end.

use base::internal_key::{TRAILER_LEN, pack_trailer, trailer, user_key};
use base::{InternalComparator, MAX_SEQNO, Result};
use std::cmp::Ordering;

use super::index_block::{BlockCoding, IndexBlock};
use super::options::TableWriterOptions;
use super::partitions::Partitions;
use crate::format::{BlockHandle, FV_DELTA_INDEX, FV_USER_KEY_INDEX, IndexShortening, IndexType};

/// The kind byte of shortened separators: the highest that RocksDB had until 8.10, so that every release
/// knows it. With the highest sequence number, any kind sorts before every entry of its user key.
const SEPARATOR_KIND: u8 = 0x16;

/// The approximate bytes of an entry besides its key: lengths, handle, restart point.
const ENTRY_OVERHEAD: usize = 12;

/// Keys, back to back.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    /// The end of each key in `bytes`.
    ends: Vec<usize>,
}

impl Keys {
    fn get(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[i]]
    }

    fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }
}

pub(super) struct IndexBuilder {
    /// The separators, as internal keys.
    separators: Keys,
    /// The first internal key of each block, if the index holds first keys.
    first_keys: Option<Keys>,
    /// The first key of the next block.
    next_first_key: Vec<u8>,
    /// The handles of the blocks written so far. The blocks of the last separators may not be written yet.
    handles: Vec<BlockHandle>,
    /// The ends of the partitions, if the index has partitions.
    partitions: Option<Partitions>,
    shortening: IndexShortening,
    coding: BlockCoding,
    /// The user key of a separator while it is being shortened.
    scratch: Vec<u8>,
}

/// A finished index, with the facts that its reader needs.
pub(super) struct Index {
    /// The block that the footer or the metaindex leads to.
    pub handle: BlockHandle,
    /// The bytes of all its blocks, uncompressed and without trailers.
    pub size: usize,
    /// The number of partitions and the bytes of the top-level index.
    pub partitions: Option<(usize, usize)>,
}

impl IndexBuilder {
    pub fn new(options: &TableWriterOptions) -> IndexBuilder {
        let first_keys = options.index_type == IndexType::BinarySearchWithFirstKey;
        let coding = BlockCoding {
            internal_keys: options.format_version < FV_USER_KEY_INDEX,
            // Deltas need every block to follow the previous one without a gap.
            delta: options.format_version >= FV_DELTA_INDEX && !options.block_align,
            restart_interval: match options.index_type {
                // The hints of a hash index count restart points.
                IndexType::HashSearch => 1,
                _ => options.index_block_restart_interval,
            },
        };
        IndexBuilder {
            separators: Keys::default(),
            first_keys: first_keys.then(Keys::default),
            next_first_key: Vec::new(),
            handles: Vec::new(),
            partitions: (options.index_type == IndexType::TwoLevel).then(|| Partitions::new(options, coding)),
            shortening: options.index_shortening,
            coding,
            scratch: Vec::new(),
        }
    }

    /// The number of data blocks closed so far.
    pub fn num_separators(&self) -> usize {
        self.separators.len()
    }

    /// The coding of the index blocks, as far as it is known before the last separator.
    pub fn coding(&self) -> BlockCoding {
        self.coding
    }

    /// Adds the separator between `last`, the last key of a block, and `next`, the first key of the next
    /// block. Without a next block the separator is `last` itself, or its successor. All are internal keys.
    /// `first` is the first key of the table.
    pub fn add_separator(
        &mut self,
        cmp: &InternalComparator,
        first: &[u8],
        last: &[u8],
        next: Option<&[u8]>,
    ) {
        let last_user_key = user_key(last);
        self.scratch.clear();
        self.scratch.extend_from_slice(last_user_key);
        match next {
            Some(next) if cmp.user().compare(last_user_key, user_key(next)) == Ordering::Equal => {
                self.coding.internal_keys = true;
            }
            Some(next) if self.shortening != IndexShortening::None => {
                cmp.user().shorten_separator(&mut self.scratch, user_key(next));
            }
            None if self.shortening == IndexShortening::SeparatorsAndSuccessor => {
                cmp.user().shorten_successor(&mut self.scratch);
            }
            _ => {}
        }
        let trailer = if self.scratch == last_user_key {
            trailer(last)
        } else {
            pack_trailer(MAX_SEQNO, SEPARATOR_KIND)
        };
        self.separators.bytes.extend_from_slice(&self.scratch);
        self.separators.bytes.extend_from_slice(&trailer.to_le_bytes());
        self.separators.end();
        if let Some(first_keys) = &mut self.first_keys {
            let first = match first_keys.len() {
                0 => first,
                _ => &self.next_first_key,
            };
            first_keys.bytes.extend_from_slice(first);
            first_keys.end();
            self.next_first_key.clear();
            self.next_first_key.extend_from_slice(next.unwrap_or(&[]));
        }
        if let Some(partitions) = &mut self.partitions {
            partitions.record_separator(last.len(), next.is_some());
        }
    }

    /// Adds the handle of the next block. Returns true if the block is the first of a partition other than
    /// the first partition.
    #[inline]
    pub fn add_handle(&mut self, handle: BlockHandle) -> bool {
        self.handles.push(handle);
        match &mut self.partitions {
            None => false,
            Some(partitions) => {
                let separators = |i: usize| self.separators.get(i);
                partitions.add(self.coding, &separators, &self.handles)
            }
        }
    }

    /// Makes the next block begin a partition.
    pub fn request_cut(&mut self) {
        if let Some(partitions) = &mut self.partitions {
            partitions.request_cut();
        }
    }

    /// The separator of the block whose handle was added last.
    pub fn last_separator(&self) -> &[u8] {
        self.separators.get(self.handles.len() - 1)
    }

    /// The approximate bytes of the blocks if the index were finished now.
    #[inline]
    pub fn estimated_size(&self) -> usize {
        let entries = self.separators.len();
        let trailers = if self.coding.internal_keys {
            0
        } else {
            entries * TRAILER_LEN
        };
        let first_keys = self.first_keys.as_ref().map_or(0, |keys| keys.bytes.len());
        self.separators.bytes.len() - trailers + first_keys + entries * ENTRY_OVERHEAD + 4
    }

    fn block(&self, blocks: std::ops::Range<usize>) -> Vec<u8> {
        let mut block = IndexBlock::new(self.coding);
        for i in blocks {
            let first_key = self.first_keys.as_ref().map(|keys| keys.get(i));
            block.add(self.separators.get(i), self.handles[i], first_key);
        }
        block.finish()
    }

    /// Builds the blocks and passes each to `write`, the top-level block last. There must be as many handles
    /// as separators.
    pub fn finish(&self, mut write: impl FnMut(&mut Vec<u8>) -> Result<BlockHandle>) -> Result<Index> {
        let Some(partitions) = &self.partitions else {
            let mut contents = self.block(0..self.handles.len());
            let size = contents.len();
            return Ok(Index {
                handle: write(&mut contents)?,
                size,
                partitions: None,
            });
        };
        let mut top_level = IndexBlock::new(self.coding);
        let (mut size, mut count) = (0, 0);
        for blocks in partitions.ranges(self.handles.len()) {
            let last = self.separators.get(blocks.end - 1);
            let mut contents = self.block(blocks);
            size += contents.len();
            count += 1;
            top_level.add(last, write(&mut contents)?, None);
        }
        let mut contents = top_level.finish();
        let top_level_size = contents.len();
        Ok(Index {
            handle: write(&mut contents)?,
            size: size + top_level_size,
            partitions: Some((count, top_level_size)),
        })
    }
}

#[cfg(test)]
mod tests;
