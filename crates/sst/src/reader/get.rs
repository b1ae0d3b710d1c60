//! Point lookups, and the search for a data block: by its slot, in the cache, in the file.

use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, ErrorKind, Result};
use cache::{Buffer, CacheKey, EntryRole, Priority, prefetch};

use super::{BlockCache, BlockReadOptions, Table};
use crate::block::search::{Lookup, Outcome, visit_versions};
use crate::block::{Block, BlockPin, PinnedBytes};
use crate::block_trace::{self, TracedBlock};
use crate::fetch::Span;
use crate::format::BlockHandle;
use crate::index::Index;
use crate::lookup_key::LookupKey;
use crate::readahead::Readahead;

/// The place in a table at which a key must be, if the table holds it; see [`Table::locate`].
#[derive(Clone, Copy, Debug)]
pub struct Located {
    pub(crate) block: usize,
}

/// The state of an index search after its first step; the default is a search that has not started. See
/// [`Table::approach`], [`Table::approach_index`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Approached {
    leaf: Option<usize>,
}

/// A place that is searched for a block before the file is read.
pub(crate) enum Ahead<'a> {
    Nothing,
    /// The readahead of a cursor, which reads ahead now.
    Cursor(&'a mut Readahead),
    /// A range of the file that was read before.
    Read(&'a Span),
}

/// The result of a search for a block in the cache.
enum Found {
    Block(BlockPin),
    /// A block whose checksum was not verified, though the reader asks for that.
    Unverified,
    Nothing,
}

/// The bytes of a mapped block that are prefetched. Processors do not support many more outstanding lines,
/// and prefetch further by themselves.
const MAPPED_AHEAD: usize = 8 << 10;
/// The number of blocks ahead for which a walk prefetches the place: a cache line holds four places.
const PLACES_AHEAD: usize = 6;
/// Stands for a block number: the cache is not searched before the last step of the lookup.
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
    /// The next block holds no match.
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
        self.get_approached(key, Approached::default(), options, visit)
    }

    /// Reads a key as [`Table::get`] does, with the result of [`Table::approach`] or
    /// [`Table::approach_index`] for the same table and key.
    #[inline]
    pub fn get_approached(
        &self,
        key: &LookupKey,
        approached: Approached,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        if self.caches_parts() {
            return self.get_by_parts(key, true, options, visit);
        }
        if !self.owned_filter_may_contain(key)? {
            return Ok(None);
        }
        match self.locate_and_prefetch(key, approached)? {
            Some(located) => self.get_by_owned(key, located, options, visit),
            None => Ok(None),
        }
    }

    /// The first step of a [`Table::get`]: asks the filter. False if the key is not in the table.
    ///
    /// Separate steps are worth it if many keys are looked up at once: the caller takes each step for all
    /// keys, and their memory accesses overlap. The steps are [`Table::prefetch_filter`], this,
    /// [`Table::approach_index`], [`Table::locate`], [`Table::prefetch_block_of`],
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
    pub fn approach_index(&self, key: &LookupKey) -> Approached {
        let index = self.index.value.get();
        Approached {
            leaf: index.and_then(|index| index.approach_in_steps(&self.target(key.internal_key()))),
        }
    }

    /// Searches the index with the result of [`Table::approach_index`] for the same table and key. `None` if
    /// the key is not in the table.
    ///
    /// Errors: those of reading the index, on the first call.
    #[inline]
    pub fn locate(&self, key: &LookupKey, approached: Approached) -> Result<Option<Located>> {
        match self.caches_parts() {
            true => Ok(Some(Located { block: UNLOCATED })),
            false => Ok(self.locate_in_owned(key, approached)?.map(|(_, located)| located)),
        }
    }

    /// A step before [`Table::get_approached`], for a key that is probably in this table: prefetches the
    /// memory of the filter and of the index, so that both loads overlap. Does nothing for a part that is not
    /// loaded.
    #[inline]
    pub fn approach(&self, key: &LookupKey) -> Approached {
        self.prefetch_filter(key);
        let index = self.index.value.get();
        Approached {
            leaf: index.and_then(|index| index.approach(&self.target(key.internal_key()))),
        }
    }

    /// True if lookups probably read blocks that the block cache does not keep: as probable as such reads are
    /// frequent.
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
            false => self.locate_and_prefetch(key, Approached::default()),
        }
    }

    /// Locates a key as `locate_in_owned` does, and prefetches the block's entry index.
    #[inline]
    fn locate_and_prefetch(&self, key: &LookupKey, approached: Approached) -> Result<Option<Located>> {
        let located = self.locate_in_owned(key, approached)?;
        Ok(located.map(|(index, located)| {
            index.place(located.block).prefetch();
            located
        }))
    }

    #[inline]
    fn locate_in_owned(&self, key: &LookupKey, approached: Approached) -> Result<Option<(&Index, Located)>> {
        let index = self.owned_index()?;
        let target = self.target(key.internal_key());
        let block = match approached.leaf {
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

    /// The step after [`Table::prefetch_block_of`]: prefetches the entry that the last step reads. Does
    /// nothing if the block is not in the cache or has no entry index.
    #[inline]
    pub fn prefetch_entry_of(&self, key: &LookupKey, located: Located) {
        let (Some(cache), Some(index)) = (&self.cache, self.index.value.get()) else {
            return;
        };
        if !self.stored_order.is_bytewise() || self.form.timestamp_size() != 0 {
            return;
        }
        if let Some(block) = cache.get(&index.place(located.block).slot) {
            block.prefetch_entry(self.target(key.internal_key()).user_key);
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
        let lookup = self.lookup(key);
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
    pub(super) fn lookup<'a>(&'a self, key: &'a LookupKey) -> Lookup<'a> {
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
    pub(super) fn visit_block(
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
                self.note_hit(EntryRole::DataBlock, || block.charge());
                let visited = self.visit_held(index, &block, lookup, visit);
                if block_trace::is_on() {
                    self.trace_data(index, i, &block, true, options);
                    self.trace_visited(index, i, &block, lookup, options);
                }
                place.note(block.entry_index_address());
                index.note_read(i, false);
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
        self.note_hit(EntryRole::DataBlock, || block.charge());
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

    fn block_key(&self, handle: BlockHandle) -> CacheKey {
        CacheKey {
            id: self.cache_id,
            offset: handle.offset,
        }
    }

    /// Data block `i` from the cache or from the secondary cache. Its slot leads to it from now on.
    fn lookup_block(
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
                self.note_hit(role, || block.charge());
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
    fn trace_data(&self, index: &Index, i: usize, block: &Block, is_hit: bool, options: &BlockReadOptions) {
        self.trace_access(
            TracedBlock::Data,
            index.handle(i),
            block.charge(),
            is_hit,
            options,
        );
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
        let visited = self.visit_held(index, pin, &self.lookup(key), visit);
        if block_trace::is_on() {
            self.trace_searched(index.handle(i), pin, &self.lookup(key));
        }
        let visited = visited.map(|(done, kept)| Visited {
            done,
            kept: kept.map(|kept| kept.of(pin.clone())),
        });
        visited.map_err(|error| self.fetcher.in_block(error, index.handle(i)))
    }

    /// The typical bytes of an uncompressed data block according to the table's properties: whole keys, and
    /// nothing for lengths.
    fn usual_block_len(&self) -> usize {
        let properties = &self.properties;
        let all = properties.raw_key_size.saturating_add(properties.raw_value_size);
        let one = all.checked_div(properties.num_data_blocks).unwrap_or(0);
        usize::try_from(one).unwrap_or(usize::MAX)
    }

    /// Data block `i`, whose slot leads to nothing: from the cache, from readahead, or from the file.
    #[cold]
    #[inline(never)]
    pub(crate) fn load_block(
        &self,
        index: &Index,
        i: usize,
        options: &BlockReadOptions,
        ahead: Ahead<'_>,
    ) -> Result<BlockPin> {
        let handle = index.handle(i);
        // All of a mapped block is about to be read, at least for its checksum. Its first lines load in
        // parallel and both of its pages are translated while the cache is searched.
        if let Some(mapped) = self.fetcher.file().mapped()
            && let Some(block) = mapped.get(handle.offset as usize..)
        {
            prefetch(
                block.as_ptr().addr(),
                block.len().min(handle.size as usize).min(MAPPED_AHEAD),
            );
        }
        let looked_up = !matches!(ahead, Ahead::Cursor(_));
        let read = |cache: Option<&Arc<BlockCache>>| {
            if options.cache_only && self.fetcher.file().mapped().is_none() {
                return Err(Error::new(ErrorKind::Incomplete, "a block is not in the cache")
                    .at(handle.offset)
                    .in_file(self.path()));
            }
            let verify = options.verify_checksums;
            let started = self.start_of_read();
            let memory = cache.map(|cache| cache.memory());
            let block = match ahead {
                Ahead::Nothing => self
                    .fetcher
                    .data_block(handle, verify, &Span::default(), memory)?,
                Ahead::Read(span) => self.fetcher.data_block(handle, verify, span, memory)?,
                Ahead::Cursor(ahead) => {
                    if !options.cache_only {
                        ahead.before_read(self, index, i, options)?;
                    }
                    self.fetcher.data_block(handle, verify, ahead.span(), memory)?
                }
            };
            self.note_read(started);
            let protected = block.protect(self.block_protection);
            let block = protected.map_err(|error| self.fetcher.in_block(error, handle))?;
            Ok(if verify { block } else { block.unverified() })
        };
        let Some(cache) = &self.cache else {
            return Ok(BlockPin::Owned(Arc::new(read(None)?)));
        };
        let key = self.block_key(handle);
        // A block that was not verified is replaced by a verified one.
        let mut replaces = false;
        if self.slots_tell_all && !index.place(i).slot.is_set() {
            cache.note_absent(key);
        } else {
            match self.lookup_block(cache, index, i, options) {
                Found::Block(block) => return Ok(block),
                Found::Unverified => replaces = true,
                Found::Nothing => {}
            }
        }
        self.note_miss(EntryRole::DataBlock);
        let always = replaces || self.caches_first_reads || options.caches_first_reads;
        let len = self.usual_block_len().max(handle.size as usize);
        if !options.fill_cache || !always && !cache.admits(key, len) {
            index.note_read(i, true);
            let block = read(None)?;
            if block_trace::is_on() {
                self.trace_data(index, i, &block, false, options);
            }
            return Ok(BlockPin::Owned(Arc::new(block)));
        }
        let block = read(Some(cache))?;
        if looked_up {
            block.expect_searches();
        }
        if block_trace::is_on() {
            self.trace_data(index, i, &block, false, options);
        }
        let charge = block.charge();
        let inserted = cache.insert_as(key, block, charge, Priority::Low, EntryRole::DataBlock);
        self.note_insert(EntryRole::DataBlock, charge, inserted.is_ok());
        Ok(match inserted {
            Ok(block) => {
                index.place(i).slot.store(&block);
                BlockPin::Cached(block)
            }
            Err(block) => BlockPin::Owned(Arc::new(block)),
        })
    }
}
