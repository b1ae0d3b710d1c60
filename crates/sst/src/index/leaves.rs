//! The part of an index that is kept per data block, in leaves of sixteen blocks.
//!
//! A search ends in one leaf. The reader then needs the block's place in memory or its handle in the file,
//! and both are in the same page as the leaf's prefixes, so that one address translation serves all.

use std::sync::atomic::{AtomicUsize, Ordering};

use cache::{Slot, prefetch};

use super::prefixes::{self, GROUP, HIGHEST};
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle};

/// Bytes of a typical entry index: 30 to 40 entries of three bytes, and the common prefix of their keys.
const ENTRY_INDEX_PREFETCH: usize = 128;

/// The last known place of a data block in memory.
#[derive(Debug, Default)]
pub(crate) struct CachePlace {
    /// The slot that leads to the block in the cache.
    pub slot: Slot,
    /// The address of the block's entry index when it was last used, 0 if never used. The memory may hold
    /// something else by now. A lookup prefetches it before it knows that the block is in the cache.
    pub entry_index: AtomicUsize,
}

impl CachePlace {
    /// Records `address`, that of the entry index of the block.
    #[inline(always)]
    pub fn note(&self, address: usize) {
        if self.entry_index.load(Ordering::Relaxed) != address {
            self.entry_index.store(address, Ordering::Relaxed);
        }
    }

    /// Prefetches the memory of the entry index, if the block may be in the cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        let address = self.entry_index.load(Ordering::Relaxed);
        if address != 0 && self.slot.is_set() {
            prefetch(address, ENTRY_INDEX_PREFETCH);
        }
    }
}

/// Sixteen entries. A leaf is aligned to its size, so that it is within one page.
#[derive(Debug)]
#[repr(C, align(512))]
struct Leaf {
    /// The prefixes of the separators, if they are searched by prefix. The entries after the last block hold
    /// the highest prefix.
    prefixes: [u64; GROUP],
    places: [CachePlace; GROUP],
    /// The lower half of each block's offset in the file. The low bits, which alignment leaves at 0, hold the
    /// bytes of padding after the block.
    offsets: [u32; GROUP],
    /// The end of each separator in the index's `keys`.
    key_ends: [u32; GROUP],
}

const _: () = assert!(size_of::<Leaf>() == 512);

/// The leaves of an index; see the module.
#[derive(Debug)]
pub(super) struct Leaves {
    leaves: Box<[Leaf]>,
    len: usize,
    /// The offset at which a block after the last one would begin.
    end: u64,
    /// The upper half of the offset of each leaf's first block; empty if all are 0. A block whose lower half
    /// is below that of the leaf's first block is in the next 4 GiB.
    highs: Box<[u32]>,
    /// A mask of the bits of `offsets` that hold the padding after a block. All blocks begin at multiples of
    /// the power of two above the mask, and the padding between two blocks is less than that.
    padding: u32,
    /// The handles of all blocks, for files in which the gaps between blocks are not just padding or a leaf
    /// spans more than 4 GiB.
    apart: Option<Box<[BlockHandle]>>,
}

impl Leaves {
    /// Builds the leaves of blocks with these offsets and sizes, whose separators have these ends. `prefixes`
    /// has one entry for each block or is empty.
    pub fn new(prefixes: &[u64], offsets: &[u64], sizes: &[u32], key_ends: &[u32]) -> Leaves {
        let behind = |i: usize| {
            offsets[i]
                .wrapping_add(u64::from(sizes[i]))
                .wrapping_add(BLOCK_TRAILER_LEN as u64)
        };
        let len = offsets.len();
        let alignment = 1
            << offsets
                .iter()
                .fold(u32::BITS - 1, |bits, offset| bits.min(offset.trailing_zeros()));
        let padding_of = |i: usize| match offsets.get(i + 1) {
            Some(next) => next.checked_sub(behind(i)).filter(|&padding| padding < alignment),
            None => Some(0),
        };
        let near = |leaf: &[u64]| {
            let span = leaf[leaf.len() - 1].checked_sub(leaf[0]);
            span.is_some_and(|span| span <= u64::from(u32::MAX))
        };
        let together = (0..len).all(|i| padding_of(i).is_some()) && offsets.chunks(GROUP).all(near);
        let in_file = |i: usize| match offsets.get(i) {
            Some(offset) => (offset | padding_of(i).unwrap_or(0)) as u32,
            None => 0,
        };
        let highs = offsets.chunks(GROUP).map(|leaf| (leaf[0] >> u32::BITS) as u32);
        let leaf = |at: usize| Leaf {
            prefixes: std::array::from_fn(|i| prefixes.get(at * GROUP + i).copied().unwrap_or(HIGHEST)),
            places: std::array::from_fn(|_| CachePlace::default()),
            offsets: std::array::from_fn(|i| in_file(at * GROUP + i)),
            key_ends: std::array::from_fn(|i| key_ends.get(at * GROUP + i).copied().unwrap_or(0)),
        };
        let handle = |(&offset, &size): (&u64, &u32)| BlockHandle::new(offset, size.into());
        Leaves {
            leaves: (0..len.div_ceil(GROUP)).map(leaf).collect(),
            len,
            end: len.checked_sub(1).map_or(0, behind),
            highs: match together && highs.clone().any(|high| high > 0) {
                true => highs.collect(),
                false => Box::default(),
            },
            padding: (alignment - 1) as u32,
            apart: (!together).then(|| offsets.iter().zip(sizes).map(handle).collect()),
        }
    }

    /// The number of data blocks.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The offset of block `i` in the file and the bytes of padding after it, for files without other gaps.
    #[inline(always)]
    fn offset_and_padding(&self, i: usize) -> (u64, u64) {
        let offsets = &self.leaves[i / GROUP].offsets;
        let offset = |i: usize| offsets[i] & !self.padding;
        let low = offset(i % GROUP);
        let high = self.highs.get(i / GROUP).map_or(0, |&high| u64::from(high));
        let padding = offsets[i % GROUP] & self.padding;
        (
            (high + u64::from(low < offset(0))) << u32::BITS | u64::from(low),
            padding.into(),
        )
    }

    /// The location of block `i` in the file.
    #[inline]
    pub fn handle(&self, i: usize) -> BlockHandle {
        assert!(i < self.len);
        if let Some(handles) = &self.apart {
            return handles[i];
        }
        let (offset, padding) = self.offset_and_padding(i);
        let next = match i + 1 == self.len {
            true => self.end,
            false => self.offset_and_padding(i + 1).0,
        };
        let behind = padding + BLOCK_TRAILER_LEN as u64;
        BlockHandle::new(offset, next.wrapping_sub(offset).wrapping_sub(behind))
    }

    /// The end of separator `i` in the index's `keys`.
    #[inline(always)]
    pub fn key_end(&self, i: usize) -> usize {
        self.leaves[i / GROUP].key_ends[i % GROUP] as usize
    }

    /// The last known place of block `i` in memory.
    #[inline(always)]
    pub fn place(&self, i: usize) -> &CachePlace {
        &self.leaves[i / GROUP].places[i % GROUP]
    }

    /// The prefix of entry `i`.
    #[inline(always)]
    pub fn prefix(&self, i: usize) -> u64 {
        self.leaves[i / GROUP].prefixes[i % GROUP]
    }

    /// The first entry of leaf `at` whose prefix is not below `prefix`. If the leaf has none, some number up
    /// to the number of entries.
    #[inline(always)]
    pub fn lower_bound_in(&self, at: usize, prefix: u64) -> usize {
        match self.leaves.get(at) {
            Some(leaf) => (at * GROUP + prefixes::count_below(&leaf.prefixes, prefix)).min(self.len),
            None => self.len,
        }
    }

    /// Prefetches the places in memory of the blocks of leaf `at`, and with `in_file` also their offsets in
    /// the file.
    #[inline(always)]
    pub fn prefetch_places(&self, at: usize, in_file: bool) {
        let Some(leaf) = self.leaves.get(at) else { return };
        prefetch(std::ptr::from_ref(&leaf.places).addr(), size_of_val(&leaf.places));
        if in_file {
            prefetch(
                std::ptr::from_ref(&leaf.offsets).addr(),
                size_of_val(&leaf.offsets),
            );
        }
    }

    /// Prefetches the place in memory of block `i`, and with `in_file` also its offset in the file.
    #[inline(always)]
    pub fn prefetch_place(&self, i: usize, in_file: bool) {
        let Some(leaf) = self.leaves.get(i / GROUP) else {
            return;
        };
        prefetch(
            std::ptr::from_ref(&leaf.places[i % GROUP]).addr(),
            size_of::<CachePlace>(),
        );
        if in_file {
            prefetch(
                std::ptr::from_ref(&leaf.offsets[i % GROUP]).addr(),
                size_of::<u32>(),
            );
        }
    }

    /// Prefetches the prefixes of leaf `at`.
    #[inline(always)]
    pub fn prefetch_prefixes(&self, at: usize) {
        if let Some(leaf) = self.leaves.get(at) {
            prefetch(
                std::ptr::from_ref(&leaf.prefixes).addr(),
                size_of_val(&leaf.prefixes),
            );
        }
    }

    /// The first block that begins at or after an offset of the file, or the number of blocks. If the blocks
    /// are not in the order of their keys, the result is any block.
    pub fn block_at_or_after(&self, offset: u64) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.handle(middle).offset < offset {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of_val(&*self.leaves)
            + size_of_val(&*self.highs)
            + self.apart.as_ref().map_or(0, |handles| size_of_val(&**handles))
    }
}
