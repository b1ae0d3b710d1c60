//! Point lookups.

use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;

use base::Result;
use cache::EntryRole;

use super::cached_parts::{PartPlace, PartRef};
use super::load_block::Ahead;
use super::table::Table;
use crate::block::search::{Lookup, Outcome, visit_versions};
use crate::block::{Block, BlockPin, PinnedBytes};
use crate::block_trace;
use crate::index::Index;
use crate::lookup_key::LookupKey;
use crate::read_options::BlockReadOptions;

/// The place in a table at which a key must be, if the table holds it; see [`Table::locate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    pub(crate) block: usize,
}

/// The state of an index search after its first step; the default is a search that has not started. See
/// [`Table::begin_get`], [`Table::begin_index_seek`].
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexSeek {
    leaf: Option<usize>,
}

/// A placeholder for a block number, for lookups that search the cache only in their last step.
const UNLOCATED: usize = usize::MAX;
/// The counterpart of [`UNLOCATED`] for a lookup that does not ask the filter.
const UNLOCATED_UNFILTERED: usize = usize::MAX - 1;

/// A value within a block, borrowed while the visitor runs.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    bytes: &'a [u8],
    start: usize,
    kept: &'a Cell<Option<Kept>>,
}

/// The place within its block of the value to return.
#[derive(Clone, Copy)]
struct Kept {
    start: usize,
    len: usize,
}

impl Kept {
    /// The value in the block of `pin`.
    #[inline(always)]
    fn of(self, pin: BlockPin) -> PinnedBytes {
        PinnedBytes::in_block(pin, self.start, self.len)
    }
}

/// The result of the search of one block.
pub(crate) struct Visited {
    /// True if no later data block needs to be searched.
    pub done: bool,
    pub kept: Option<PinnedBytes>,
}

impl<'a> Value<'a> {
    /// The bytes of the value.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Makes the lookup return this value. The lookup's pin of the block passes to the returned value, and
    /// nothing is copied. If several values are to be kept, the last one is.
    #[inline]
    pub fn keep(&self) {
        self.kept.set(Some(Kept {
            start: self.start,
            len: self.bytes.len(),
        }));
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({} bytes)", self.bytes.len())
    }
}

/// The place that a lookup reads its block from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSource {
    /// The cache, or a mapped file.
    Memory,
    /// The file, which is not mapped.
    File,
    /// The index is in the cache, and must be searched first.
    Unknown,
}

impl Table {
    /// Looks up a key. Passes the versions that are visible at the key's sequence number (and timestamp) to
    /// `visit`, newest first, until it breaks. Returns the value that `visit` asked to [keep](Value::keep).
    /// The filter is asked first. Range deletions are not considered.
    ///
    /// While the block is in the cache, the lookup allocates nothing and locks nothing.
    ///
    /// Errors: `Corruption` with file and offset; those of the file system. Versions passed to `visit` before
    /// an error are valid.
    #[inline]
    pub fn get(
        &self,
        key: &LookupKey,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        self.get_with_seek(key, IndexSeek::default(), options, visit)
    }

    /// Reads a key as [`Table::get`] does, with the result of [`Table::begin_get`] or
    /// [`Table::begin_index_seek`] for the same table and key.
    #[inline]
    pub fn get_with_seek(
        &self,
        key: &LookupKey,
        index_seek: IndexSeek,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        if self.caches_parts() {
            return self.get_by_parts(key, true, options, visit);
        }
        if !self.owned_filter_may_contain(key)? {
            return Ok(None);
        }
        match self.locate_and_prefetch(key, index_seek)? {
            Some(located) => self.get_by_owned(key, located, options, visit),
            None => Ok(None),
        }
    }

    /// The first step of a [`Table::get`]: asks the filter. False if the key is not in the table.
    ///
    /// Separate steps are worth it if many keys are looked up at once: the caller takes each step for all
    /// keys, and their memory accesses overlap. The steps are [`Table::prefetch_filter`], this,
    /// [`Table::begin_index_seek`], [`Table::locate`], [`Table::prefetch_block_of`],
    /// [`Table::prefetch_entry_of`], [`Table::get_located`].
    ///
    /// Errors: those of reading the filter, on the first call.
    #[inline]
    pub fn passes_filter(&self, key: &LookupKey) -> Result<bool> {
        match self.caches_parts() {
            // The last step asks the filter.
            true => Ok(true),
            false => self.owned_filter_may_contain(key),
        }
    }

    /// The step after [`Table::passes_filter`]: prefetches the memory of the index. Does nothing if the index
    /// is not loaded.
    #[inline]
    pub fn begin_index_seek(&self, key: &LookupKey) -> IndexSeek {
        let index = self.index.value.get();
        IndexSeek {
            leaf: index.and_then(|index| index.begin_seek_in_steps(&self.target(key.internal_key()))),
        }
    }

    /// Searches the index with the result of [`Table::begin_index_seek`] for the same table and key. `None`
    /// if the key is not in the table.
    ///
    /// Errors: those of reading the index, on the first call.
    #[inline]
    pub fn locate(&self, key: &LookupKey, index_seek: IndexSeek) -> Result<Option<Located>> {
        match self.caches_parts() {
            true => Ok(Some(Located { block: UNLOCATED })),
            false => Ok(self.locate_in_owned(key, index_seek)?.map(|(_, located)| located)),
        }
    }

    /// A step before [`Table::get_with_seek`], for a key that is probably in this table: prefetches the
    /// memory of the filter and of the index, so that both loads overlap. Does nothing for a part that is not
    /// loaded.
    #[inline]
    pub fn begin_get(&self, key: &LookupKey) -> IndexSeek {
        self.prefetch_filter(key);
        let index = self.index.value.get();
        IndexSeek {
            leaf: index.and_then(|index| index.begin_seek(&self.target(key.internal_key()))),
        }
    }

    /// Returns true with about the probability with which lookups read blocks that the block cache does not
    /// keep.
    #[inline]
    pub fn reads_past_cache(&self) -> bool {
        self.index.value.get().is_some_and(Index::reads_past_cache)
    }

    /// Locates a key as [`Table::locate`] does, for a lookup whose later steps do not ask the filter either.
    #[inline]
    pub fn locate_unfiltered(&self, key: &LookupKey) -> Result<Option<Located>> {
        match self.caches_parts() {
            true => Ok(Some(Located {
                block: UNLOCATED_UNFILTERED,
            })),
            false => self.locate_and_prefetch(key, IndexSeek::default()),
        }
    }

    /// Locates a key as `locate_in_owned` does, and prefetches the block's entry index.
    #[inline]
    fn locate_and_prefetch(&self, key: &LookupKey, index_seek: IndexSeek) -> Result<Option<Located>> {
        let located = self.locate_in_owned(key, index_seek)?;
        Ok(located.map(|(index, located)| {
            index.place(located.block).prefetch();
            located
        }))
    }

    #[inline]
    fn locate_in_owned(&self, key: &LookupKey, index_seek: IndexSeek) -> Result<Option<(&Index, Located)>> {
        let index = self.owned_index()?;
        let target = self.target(key.internal_key());
        let block = match index_seek.leaf {
            Some(leaf) => index.seek_from(leaf, &target, &self.form),
            None => self.seek_index(index, &target),
        };
        Ok((block < index.len()).then_some((index, Located { block })))
    }

    /// A step after [`Table::locate`], for many keys at once: prefetches the block's frame in the cache, and
    /// its entry index.
    #[inline]
    pub fn prefetch_block_of(&self, located: Located) {
        if let (Some(cache), Some(index)) = (&self.cache, self.index.value.get()) {
            let place = index.place(located.block);
            place.prefetch();
            cache.prefetch(&place.slot);
        }
    }

    /// The step after [`Table::prefetch_block_of`]: prefetches the entry that the last step reads, if the
    /// block is in the cache and has an entry index. Returns the place that the last step reads the block
    /// from.
    #[inline]
    pub fn prefetch_entry_of(&self, key: &LookupKey, located: Located) -> BlockSource {
        let Some(index) = self.index.value.get() else {
            return BlockSource::Unknown;
        };
        let place = index.place(located.block);
        let Some(block) = self.cache.as_ref().and_then(|cache| cache.get(&place.slot)) else {
            return match self.fetcher.file().mapped() {
                Some(_) => BlockSource::Memory,
                None => BlockSource::File,
            };
        };
        if self.stored_order.is_bytewise() && self.form.timestamp_size() == 0 {
            block.prefetch_entry(self.target(key.internal_key()).user_key);
        }
        BlockSource::Memory
    }

    /// Starts to read a block into the page cache, for a block that [`Table::prefetch_entry_of`] found to be
    /// in the file alone, so that the reads of several blocks overlap. Does nothing for a file that is read
    /// directly.
    pub fn prefetch_from_file(&self, located: Located) {
        if let Some(index) = self.index.value.get() {
            let handle = index.handle(located.block);
            self.fetcher.file().prefetch(handle.offset, handle.size);
        }
    }

    /// The last step of [`Table::get`], with the result of [`Table::locate`] for the same table and key.
    #[inline]
    pub fn get_located(
        &self,
        key: &LookupKey,
        located: Located,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        match self.caches_parts() {
            true => self.get_by_parts(key, located.block == UNLOCATED, options, visit),
            false => self.get_by_owned(key, located, options, visit),
        }
    }

    #[inline]
    fn get_by_owned(
        &self,
        key: &LookupKey,
        located: Located,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        let index = self.owned_index()?;
        let lookup = self.lookup_of(key);
        let mut kept = None;
        for i in located.block..index.len() {
            let visited = self.visit_block(index, i, &lookup, options, visit)?;
            kept = visited.kept.or(kept);
            if visited.done {
                break;
            }
        }
        Ok(kept)
    }

    #[inline(always)]
    fn lookup_of<'a>(&'a self, key: &'a LookupKey) -> Lookup<'a> {
        Lookup {
            target: self.target(key.internal_key()),
            user_key: key.user_key(),
            seqno: key.seqno(),
            form: &self.form,
            stored_order: &self.stored_order,
            order: self.cmp.user(),
        }
    }

    /// Passes the matches in block `i` to `visit`.
    #[inline(always)]
    fn visit_block(
        &self,
        index: &Index,
        i: usize,
        lookup: &Lookup<'_>,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Visited> {
        let place = index.place(i);
        let cached = self.cache.as_ref().and_then(|cache| cache.get(&place.slot));
        let visited = match cached {
            Some(block) if block.serves(options.verify_checksums) => {
                self.record_hit(EntryRole::DataBlock, || block.charge());
                let visited = self.visit_held(index, &block, lookup, visit);
                if block_trace::is_on() {
                    self.trace_data(index, i, &block, true, options);
                    self.trace_visited(index, i, &block, lookup, options);
                }
                place.note(block.entry_index_address());
                index.record_read(i, false);
                visited.map(|(done, kept)| Visited {
                    done,
                    kept: kept.map(|kept| kept.of(BlockPin::Cached(block.into_handle()))),
                })
            }
            _ => {
                drop(cached);
                let pin = self.load_block(index, i, options, Ahead::Nothing)?;
                let visited = self.visit_held(index, &pin, lookup, visit);
                if block_trace::is_on() {
                    self.trace_visited(index, i, &pin, lookup, options);
                }
                visited.map(|(done, kept)| Visited {
                    done,
                    kept: kept.map(|kept| kept.of(pin)),
                })
            }
        };
        visited.map_err(|error| self.fetcher.in_block(error, index.handle(i)))
    }

    /// Passes the matches in a pinned block to `visit`. Returns whether the next block holds no match, and
    /// the value to keep.
    #[inline(always)]
    fn visit_held(
        &self,
        index: &Index,
        block: &Block,
        lookup: &Lookup<'_>,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<(bool, Option<Kept>)> {
        let kept = Cell::new(None);
        let outcome = visit_versions(block, lookup, &mut |internal_key, value| {
            let value = Value {
                bytes: &block.data()[value.clone()],
                start: value.start,
                kept: &kept,
            };
            visit(internal_key, value)
        })?;
        // If separators are user keys, a user key is in one block only. This does not hold with timestamps,
        // which are part of the separators.
        let one_block = index.has_user_keys() && self.cmp.user().timestamp_size() == 0;
        Ok((outcome == Outcome::Done || one_block, kept.get()))
    }

    /// Records the lookup of data block `i` for a Get, which has searched it.
    #[cold]
    #[inline(never)]
    fn trace_visited(
        &self,
        index: &Index,
        i: usize,
        block: &Block,
        lookup: &Lookup<'_>,
        options: &BlockReadOptions,
    ) {
        if options.caller.is_get() {
            self.trace_searched(index.handle(i), block, lookup);
        }
    }

    /// Searches block `i`, which is pinned.
    pub(crate) fn search_pin(
        &self,
        index: &Index,
        key: &LookupKey,
        i: usize,
        pin: &BlockPin,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Visited> {
        let visited = self.visit_held(index, pin, &self.lookup_of(key), visit);
        if block_trace::is_on() {
            self.trace_searched(index.handle(i), pin, &self.lookup_of(key));
        }
        let visited = visited.map(|(done, kept)| Visited {
            done,
            kept: kept.map(|kept| kept.of(pin.clone())),
        });
        visited.map_err(|error| self.fetcher.in_block(error, index.handle(i)))
    }

    /// [`Table::get`] for tables that keep index and filter in the cache.
    #[inline(never)]
    fn get_by_parts(
        &self,
        key: &LookupKey,
        filtered: bool,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        if filtered && !self.parts_may_contain(key, options)? {
            return Ok(None);
        }
        match self.seek_parts(&self.lookup_of(key).target, options)? {
            Some(place) => self.walk_from(place, key, options, visit),
            None => Ok(None),
        }
    }

    /// Continues a lookup at entry `number` of `part`, which is partition `partition` of the index.
    pub(crate) fn walk_parts(
        &self,
        part: BlockPin,
        partition: usize,
        number: usize,
        key: &LookupKey,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        let place = PartPlace {
            part: PartRef::Pin(part),
            partition,
            number,
        };
        self.walk_from(place, key, options, visit)
    }

    #[inline(always)]
    fn walk_from<'a>(
        &'a self,
        mut place: PartPlace<'a>,
        key: &LookupKey,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        let lookup = self.lookup_of(key);
        let mut kept = None;
        loop {
            let index = place.part.index()?;
            for number in place.number..index.len() {
                let visited = self.visit_block(index, number, &lookup, options, visit)?;
                kept = visited.kept.or(kept);
                if visited.done {
                    return Ok(kept);
                }
            }
            let partition = place.partition + 1;
            match self.index_part(partition, options)? {
                Some(part) => {
                    place = PartPlace {
                        part,
                        partition,
                        number: 0,
                    }
                }
                None => return Ok(kept),
            }
        }
    }
}
