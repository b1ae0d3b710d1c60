//! Where the partitions of an index end, by RocksDB's rule: a partition is closed when its block would grow beyond
//! `metadata_block_size`, and when the filter asks for it.

use std::collections::VecDeque;
use std::ops::Range;

use super::index::{BlockCoding, IndexBlock};
use super::options::TableWriterOptions;
use crate::format::{BlockHandle, MAX_HANDLE_LEN};

pub(super) struct Partitions {
    /// Bytes of a partition's block.
    block_size: usize,
    /// A block up to this size is never closed.
    early_end: usize,
    /// Of the separators whose block has no handle yet: bytes of the last key of their block, `None` for the table's last block.
    last_key_lens: VecDeque<Option<usize>>,
    /// The number of each partition's first data block, but of the first partition.
    starts: Vec<usize>,
    /// The block of the partition being filled, as it would stand in the file.
    current: IndexBlock,
    /// How `current` is coded.
    coding: BlockCoding,
    cut_requested: bool,
}

impl Partitions {
    pub fn new(options: &TableWriterOptions, coding: BlockCoding) -> Partitions {
        Partitions {
            block_size: options.metadata_block_size,
            early_end: options.early_end(options.metadata_block_size),
            last_key_lens: VecDeque::new(),
            starts: Vec::new(),
            current: IndexBlock::new(coding),
            coding,
            cut_requested: false,
        }
    }

    /// The next separator: how long the last key of its block is, and whether there is a block after it.
    pub fn note_separator(&mut self, last_key_len: usize, has_next: bool) {
        self.last_key_lens.push_back(has_next.then_some(last_key_len));
    }

    /// Has the next block begin a partition.
    pub fn request_cut(&mut self) {
        self.cut_requested = true;
    }

    /// Takes up the last of `handles`. True if a partition begins with it.
    pub fn add<'a>(
        &mut self,
        coding: BlockCoding,
        separators: &impl Fn(usize) -> &'a [u8],
        handles: &[BlockHandle],
    ) -> bool {
        let block = handles.len() - 1;
        let handle = handles[block];
        // A last partition of one entry is avoided.
        let last_key_len = self.last_key_lens.pop_front().flatten();
        let cut = last_key_len.is_some_and(|last_key_len| {
            !self.current.builder().is_empty() && (self.cut_requested || self.is_full(last_key_len, handle))
        });
        if cut {
            self.starts.push(block);
            self.cut_requested = false;
        }
        if cut || self.coding.internal_keys != coding.internal_keys {
            // What went before is coded anew if the keys are internal ones from now on.
            self.coding = coding;
            self.current = IndexBlock::new(coding);
            let start = self.starts.last().copied().unwrap_or(0);
            for (i, &handle) in handles.iter().enumerate().take(block).skip(start) {
                self.current.add(separators(i), handle, None);
            }
        }
        self.current.add(separators(block), handle, None);
        cut
    }

    fn is_full(&self, last_key_len: usize, handle: BlockHandle) -> bool {
        let builder = self.current.builder();
        if builder.size() <= self.early_end {
            return false;
        }
        let mut value = Vec::with_capacity(MAX_HANDLE_LEN);
        handle.encode(&mut value);
        let size_after = match self.coding.delta {
            true => builder.size_after_delta(last_key_len, value.len()),
            false => builder.size_after(last_key_len, value.len()),
        };
        builder.size() >= self.block_size || size_after > self.block_size
    }

    /// The data blocks of each partition, of `blocks` altogether.
    pub fn ranges(&self, blocks: usize) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.starts.iter().copied());
        let ends = self.starts.iter().copied().chain([blocks]);
        starts
            .zip(ends)
            .map(|(start, end)| start..end)
            .filter(|blocks| !blocks.is_empty())
    }
}
