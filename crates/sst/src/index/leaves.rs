//! What an index has of each data block, sixteen blocks at a time.
//!
//! A search ends in one leaf, and what is asked for next, where the block lies in memory or in the file, is in the same page: its
//! address is looked up once.

use std::sync::atomic::{AtomicUsize, Ordering};

use cache::{Slot, prefetch};

use super::prefixes::{self, GROUP, HIGHEST};
use crate::block::Block;
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle};

/// Bytes of a usual entry index: 30 to 40 entries of three bytes, and what their keys have in common.
const ENTRY_INDEX_PREFETCH: usize = 128;

/// Where a data block was seen in memory.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Where it sits in the cache.
    pub slot: Slot,
    /// The address of its entry index when it was last used, 0 if never; there may be nothing by now. Lets a lookup ask
    /// for that memory before it knows that the block is there.
    pub entry_index: AtomicUsize,
}

impl Place {
    /// Remembers where the entry index of `block` is.
    #[inline(always)]
    pub fn note(&self, block: &Block) {
        let address = block.entry_index_address();
        if self.entry_index.load(Ordering::Relaxed) != address {
            self.entry_index.store(address, Ordering::Relaxed);
        }
    }

    /// Asks for the memory of the entry index, if the block may be in the cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        let address = self.entry_index.load(Ordering::Relaxed);
        if address != 0 && self.slot.is_set() {
            prefetch(address, ENTRY_INDEX_PREFETCH);
        }
    }
}

/// Sixteen entries. Aligned to its size, so that it lies in one page.
#[derive(Debug)]
#[repr(C, align(512))]
struct Leaf {
    /// The prefixes of the separators, if they are searched by them; the highest there is behind the last.
    prefixes: [u64; GROUP],
    places: [Place; GROUP],
    /// Where the blocks begin in the file, the lower half. The bits that alignment leaves at 0 say how much padding is behind the block.
    offsets: [u32; GROUP],
    /// Where the separators end.
    key_ends: [u32; GROUP],
}

const _: () = assert!(size_of::<Leaf>() == 512);

/// See the module.
#[derive(Debug)]
pub(super) struct Leaves {
    leaves: Box<[Leaf]>,
    len: usize,
    /// Where a block behind the last one would begin.
    end: u64,
    /// Upper half of where the first block of each leaf begins in the file; empty if all are 0. A block whose lower half is below that of
    /// the first is in the next 4 GiB.
    highs: Box<[u32]>,
    /// Of the bits of offsets, those that say how much padding is behind a block: all blocks begin at multiples of the power of two
    /// above it, and less than that lies between two of them.
    padding: u32,
    /// Where each block is, unless what lies between them is padding, and those of a leaf lie within 4 GiB.
    apart: Option<Box<[BlockHandle]>>,
}

impl Leaves {
    /// Of blocks that begin there and have those sizes, and of separators that end there; `prefixes` are of as many, or there are none.
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
            places: std::array::from_fn(|_| Place::default()),
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

    /// Data blocks.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where block `i` begins in the file, and how much padding is behind it, if there is nothing else between blocks.
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

    /// Where block `i` is in the file.
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

    /// Where separator `i` ends.
    #[inline(always)]
    pub fn key_end(&self, i: usize) -> usize {
        self.leaves[i / GROUP].key_ends[i % GROUP] as usize
    }

    /// Where block `i` is in memory, if it is.
    #[inline(always)]
    pub fn place(&self, i: usize) -> &Place {
        &self.leaves[i / GROUP].places[i % GROUP]
    }

    /// The prefix of entry `i`.
    #[inline(always)]
    pub fn prefix(&self, i: usize) -> u64 {
        self.leaves[i / GROUP].prefixes[i % GROUP]
    }

    /// The first entry from leaf `at` on whose prefix is not below `prefix`, if that leaf has one; else some number up to that of
    /// the entries.
    #[inline(always)]
    pub fn lower_bound_in(&self, at: usize, prefix: u64) -> usize {
        match self.leaves.get(at) {
            Some(leaf) => (at * GROUP + prefixes::count_below(&leaf.prefixes, prefix)).min(self.len),
            None => self.len,
        }
    }

    /// Asks for where the blocks of leaf `at` are in memory; for where they are in the file as well if `in_file`.
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

    /// Asks for where block `i` is in memory; for where it is in the file as well if `in_file`.
    #[inline(always)]
    pub fn prefetch_place(&self, i: usize, in_file: bool) {
        let Some(leaf) = self.leaves.get(i / GROUP) else {
            return;
        };
        prefetch(
            std::ptr::from_ref(&leaf.places[i % GROUP]).addr(),
            size_of::<Place>(),
        );
        if in_file {
            prefetch(
                std::ptr::from_ref(&leaf.offsets[i % GROUP]).addr(),
                size_of::<u32>(),
            );
        }
    }

    /// Asks for the prefixes of leaf `at`.
    #[inline(always)]
    pub fn prefetch_prefixes(&self, at: usize) {
        if let Some(leaf) = self.leaves.get(at) {
            prefetch(
                std::ptr::from_ref(&leaf.prefixes).addr(),
                size_of_val(&leaf.prefixes),
            );
        }
    }

    /// The first block that begins at or behind an offset of the file, or the number of blocks. Of blocks that lie in another order than
    /// their keys, any.
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
