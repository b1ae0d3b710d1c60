//! The search for a data block in memory: by its slot, and in the cache.

use std::sync::Arc;

use cache::{Buffer, CacheKey, EntryRole, Priority};

use super::table::Table;
use crate::block::{Block, BlockPin};
use crate::block_trace::{self, TracedBlock};
use crate::format::BlockHandle;
use crate::index::Index;
use crate::read_options::{BlockCache, BlockReadOptions};

/// The result of a search for a block in the cache.
pub(super) enum Found {
    Block(BlockPin),
    /// A block whose checksum was not verified, though the reader requires that.
    Unverified,
    Nothing,
}

/// The number of blocks ahead for which a walk prefetches the place: a cache line holds four places.
const PLACES_AHEAD: usize = 6;

impl Table {
    /// A pin of data block `i`, if its slot leads to the cache and the block is verified as the options
    /// require.
    #[inline]
    pub(crate) fn cached_block(
        &self,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
    ) -> Option<BlockPin> {
        let cache = self.cache.as_ref()?;
        let place = index.place(i);
        place.prefetch();
        let block = cache.get(&place.slot)?;
        if !block.serves(options.verify_checksums) {
            return None;
        }
        self.record_hit(EntryRole::DataBlock, || block.charge());
        if block_trace::is_on() {
            self.trace_data(index, i, &block, true, options);
        }
        Some(BlockPin::Cached(block.into_handle()))
    }

    /// Prefetches what a walk through the cache reads after data block `i`: the next block, the frame of the
    /// block after it, and the places of later ones. Each address comes from memory that was prefetched some
    /// blocks before, so the walk waits for none.
    #[inline]
    pub(crate) fn prefetch_walk(&self, index: &Index, i: usize, backwards: bool) {
        let Some(cache) = &self.cache else { return };
        let ahead = |blocks: usize| match backwards {
            true => i.checked_sub(blocks),
            false => Some(i + blocks).filter(|&i| i < index.len()),
        };
        if let Some(next) = ahead(1)
            && let Some(block) = cache.get(&index.place(next).slot)
        {
            match backwards {
                true => block.prefetch_back(),
                false => block.prefetch_front(),
            }
        }
        if let Some(second) = ahead(2) {
            cache.prefetch(&index.place(second).slot);
        }
        if let Some(far) = ahead(PLACES_AHEAD) {
            index.prefetch_place(far);
        }
    }

    /// True if data block `i` is in the cache and its slot leads to it.
    pub(crate) fn is_cached(&self, index: &Index, i: usize) -> bool {
        let cache = self.cache.as_ref();
        cache.is_some_and(|cache| cache.get(&index.place(i).slot).is_some())
    }

    /// A pin of data block `i`, if it is in the cache and verified as the options require. Its slot leads to
    /// it from now on.
    pub(crate) fn hold_cached(
        &self,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
    ) -> Option<BlockPin> {
        self.cached_block(index, i, options).or_else(|| {
            let cache = self.cache.as_ref()?;
            match self.lookup_block(cache, index, i, options) {
                Found::Block(block) => Some(block),
                Found::Unverified | Found::Nothing => None,
            }
        })
    }

    /// True if data block `i` need not be read from the file.
    pub(crate) fn has_block(&self, index: &Index, i: usize) -> bool {
        let key = self.block_key(index.handle(i));
        self.is_cached(index, i)
            || self
                .cache
                .as_ref()
                .is_some_and(|cache| cache.lookup(key).is_some() || cache.secondary_holds(key))
    }

    pub(super) fn block_key(&self, handle: BlockHandle) -> CacheKey {
        CacheKey {
            id: self.cache_id,
            offset: handle.offset,
        }
    }

    /// Data block `i` from the cache or from the secondary cache. Its slot leads to it from now on.
    pub(super) fn lookup_block(
        &self,
        cache: &Arc<BlockCache>,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
    ) -> Found {
        let key = self.block_key(index.handle(i));
        let restore = |bytes: &[u8]| {
            let bytes = Buffer::copy_of(Some(cache.memory()), bytes);
            let block = Block::parse(bytes).ok()?.protect(self.block_protection).ok()?;
            let charge = block.charge();
            Some((block, charge))
        };
        let (priority, role) = (Priority::Low, EntryRole::DataBlock);
        match cache.lookup_or_restore(key, priority, role, &self.secondary_tally, restore) {
            Some(Ok(block)) if !block.serves(options.verify_checksums) => Found::Unverified,
            Some(Ok(block)) => {
                self.record_hit(role, || block.charge());
                if block_trace::is_on() {
                    self.trace_data(index, i, &block, true, options);
                }
                index.place(i).slot.store(&block);
                Found::Block(BlockPin::Cached(block))
            }
            Some(Err(block)) => Found::Block(BlockPin::Owned(Arc::new(block))),
            None => Found::Nothing,
        }
    }

    /// Records the lookup of data block `i`.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_data(
        &self,
        index: &Index,
        i: usize,
        block: &Block,
        is_hit: bool,
        options: &BlockReadOptions,
    ) {
        self.trace_access(
            TracedBlock::Data,
            index.handle(i),
            block.charge(),
            is_hit,
            options,
        );
    }
}
