//! The ends of the partitions of an index, by RocksDB's rule: a partition is closed when its block would grow
//! beyond `metadata_block_size`, and when the filter requests it.

use std::collections::VecDeque;
use std::ops::Range;

use super::index_block::{BlockCoding, IndexBlock};
use super::options::TableWriterOptions;
use crate::format::{BlockHandle, MAX_HANDLE_LEN};

pub(super) struct Partitions {
    /// The target bytes of a partition's block.
    block_size: usize,
    /// The size in bytes up to which the block of a partition is never closed.
    early_end: usize,
    /// For each separator whose block has no handle yet: the length of its block's last key, `None` for the
    /// table's last block.
    last_key_lens: VecDeque<Option<usize>>,
    /// The number of the first data block of each partition but the first.
    starts: Vec<usize>,
    /// The block of the current partition, as it would be in the file.
    current: IndexBlock,
    /// The coding of `current`.
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

    /// Records the next separator: the length of its block's last key, and whether another block follows.
    pub fn record_separator(&mut self, last_key_len: usize, has_next: bool) {
        self.last_key_lens.push_back(has_next.then_some(last_key_len));
    }

    /// Makes the next block begin a partition.
    pub fn request_cut(&mut self) {
        self.cut_requested = true;
    }

    /// Adds the last of `handles`, that of the newest block. Returns true if a partition begins with this
    /// block.
    pub fn add<'a>(
        &mut self,
        coding: BlockCoding,
        separators: &impl Fn(usize) -> &'a [u8],
        handles: &[BlockHandle],
    ) -> bool {
        let block = handles.len() - 1;
        let handle = handles[block];
        // The partition is not ended before the last entry, which would get a partition of its own.
        let last_key_len = self.last_key_lens.pop_front().flatten();
        let cut = last_key_len.is_some_and(|last_key_len| {
            !self.current.builder().is_empty() && (self.cut_requested || self.is_full(last_key_len, handle))
        });
        if cut {
            self.starts.push(block);
            self.cut_requested = false;
        }
        if cut || self.coding.internal_keys != coding.internal_keys {
            // The entries so far are coded again when keys become internal keys.
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

    /// The range of data blocks of each partition, for `blocks` data blocks in total.
    pub fn ranges(&self, blocks: usize) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.starts.iter().copied());
        let ends = self.starts.iter().copied().chain([blocks]);
        starts
            .zip(ends)
            .map(|(start, end)| start..end)
            .filter(|blocks| !blocks.is_empty())
    }
}
