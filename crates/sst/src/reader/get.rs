//! Point lookups, and how a data block is found: by its slot, in the cache, in the file.

use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, ErrorKind, Result};
use cache::{Buffer, CacheKey, EntryRole, Priority, prefetch};

use super::{BlockCache, BlockReadOptions, Table};
use crate::block::search::{Lookup, Outcome, visit_versions};
use crate::block::{Block, BlockPin, PinnedBytes};
use crate::fetch::Span;
use crate::format::BlockHandle;
use crate::index::Index;
use crate::lookup_key::LookupKey;
use crate::readahead::Readahead;

/// Where in a table a key must be, if it is in the table. See [`Table::locate`].
#[derive(Clone, Copy, Debug)]
pub struct Located {
    pub(crate) block: usize,
}

/// What is known of where in a table's index a key must be: by default nothing. See [`Table::approach`], [`Table::approach_index`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Approached {
    leaf: Option<usize>,
}

/// Where a block may be before it is looked for in the file.
pub(crate) enum Ahead<'a> {
    Nothing,
    /// What a cursor reads ahead, which it does now.
    Cursor(&'a mut Readahead),
    /// What was read before.
    Read(&'a Span),
}

/// The result of a look for a block in the cache.
enum Found {
    Block(BlockPin),
    /// One that was not verified, which the reader asks for.
    Unverified,
    Nothing,
}

/// Bytes of a mapped block that are asked for ahead: processors do not have many more lines under way, and read on by themselves.
const MAPPED_AHEAD: usize = 8 << 10;
/// How many blocks ahead a walk asks where a block is: there are four places in a line.
const PLACES_AHEAD: usize = 6;
/// In the place of a block's number: the cache is not asked before the last step of the lookup.
const UNLOCATED: usize = usize::MAX;
/// The same, where the filter is not to be asked.
const UNLOCATED_UNFILTERED: usize = usize::MAX - 1;

/// A value within a block, borrowed while the visitor runs.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    bytes: &'a [u8],
    start: usize,
    kept: &'a Cell<Option<Kept>>,
}

/// The value to hand out: where it lies in its block.
#[derive(Clone, Copy)]
struct Kept {
    start: usize,
    len: usize,
}

impl Kept {
    /// In the block of `pin`.
    #[inline(always)]
    fn of(self, pin: BlockPin) -> PinnedBytes {
        PinnedBytes::in_block(pin, self.start, self.len)
    }
}

/// What came of the search of one block.
pub(crate) struct Visited {
    /// The next block has none of what is looked for.
    pub done: bool,
    pub kept: Option<PinnedBytes>,
}

impl<'a> Value<'a> {
    /// The value.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Has the lookup hand the value out when it is over: the hold on the block that the lookup has goes over to it, and nothing is
    /// copied. Of several that are to be kept the last one is.
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
    /// Looks a key up: shows `visit` the versions of it that are visible at the key's sequence number (and timestamp),
    /// newest first, until it breaks. Gives the value that `visit` wanted to [keep](Value::keep). The filter is asked first. Range
    /// deletions are not looked at.
    ///
    /// Nothing is allocated and nothing locked while the block is in the cache.
    ///
    /// Errors: `Corruption` with file and offset; what the file system says. Versions shown before an error were there.
    #[inline]
    pub fn get(
        &self,
        key: &LookupKey,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        self.get_approached(key, Approached::default(), options, visit)
    }

    /// As [`Table::get`], with what [`Table::approach`] or [`Table::approach_index`] of this table and key gave.
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
    /// Taking the steps one by one is worth it where many keys are looked up at once: each step for all of them, and they wait for memory
    /// together. The steps are [`Table::prefetch_filter`], this, [`Table::approach_index`], [`Table::locate`],
    /// [`Table::prefetch_block_of`], [`Table::prefetch_entry_of`], [`Table::get_located`].
    ///
    /// Errors: those of reading the filter, the first time.
    #[inline]
    pub fn passes_filter(&self, key: &LookupKey) -> Result<bool> {
        match self.caches_parts() {
            // The last step asks.
            true => Ok(true),
            false => self.owned_filter_may_contain(key),
        }
    }

    /// After [`Table::passes_filter`]: asks for the memory of the index. Does nothing if it is not loaded.
    #[inline]
    pub fn approach_index(&self, key: &LookupKey) -> Approached {
        let index = self.index.value.get();
        Approached {
            leaf: index.and_then(|index| index.approach_in_steps(&self.target(key.internal_key()))),
        }
    }

    /// With what [`Table::approach_index`] of this table and key gave: searches the index. `None` if the key is not in the table.
    ///
    /// Errors: those of reading the index, the first time.
    #[inline]
    pub fn locate(&self, key: &LookupKey, approached: Approached) -> Result<Option<Located>> {
        match self.caches_parts() {
            true => Ok(Some(Located { block: UNLOCATED })),
            false => Ok(self.locate_in_owned(key, approached)?.map(|(_, located)| located)),
        }
    }

    /// Before [`Table::get_approached`], where the key may well be in this table: asks for the memory of the filter and of the index, which
    /// are waited for at once then. Does nothing for what is not loaded.
    #[inline]
    pub fn approach(&self, key: &LookupKey) -> Approached {
        self.prefetch_filter(key);
        let index = self.index.value.get();
        Approached {
            leaf: index.and_then(|index| index.approach(&self.target(key.internal_key()))),
        }
    }

    /// True if lookups read blocks that the block cache does not keep, as far as is known; as often as they do.
    #[inline]
    pub fn reads_past_cache(&self) -> bool {
        self.index.value.get().is_some_and(Index::reads_past_cache)
    }

    /// As [`Table::locate`], where the filter is not asked by the next steps either.
    #[inline]
    pub fn locate_unfiltered(&self, key: &LookupKey) -> Result<Option<Located>> {
        match self.caches_parts() {
            true => Ok(Some(Located {
                block: UNLOCATED_UNFILTERED,
            })),
            false => self.locate_and_prefetch(key, Approached::default()),
        }
    }

    /// As `locate_in_owned`, and asks for the block's entry index.
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

    /// After [`Table::locate`], where many keys are looked up at once: asks for the block's frame in the cache, and for
    /// its entry index.
    #[inline]
    pub fn prefetch_block_of(&self, located: Located) {
        if let (Some(cache), Some(index)) = (&self.cache, self.index.value.get()) {
            let place = index.place(located.block);
            place.prefetch();
            cache.prefetch(&place.slot);
        }
    }

    /// After [`Table::prefetch_block_of`]: asks for the entry that the last step will look at. Does nothing where the block
    /// is not in the cache, or has no entry index.
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

    /// The last step of [`Table::get`], with what [`Table::locate`] of this table and key gave.
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

    /// Shows `visit` what it looks for in block `i`.
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
                place.note(&block);
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
                visited.map(|(done, kept)| Visited {
                    done,
                    kept: kept.map(|kept| kept.of(pin)),
                })
            }
        };
        visited.map_err(|error| self.fetcher.in_block(error, index.handle(i)))
    }

    /// Shows `visit` what it looks for in a block that is held meanwhile. Gives whether the next block has none of it, and what is to be
    /// kept.
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
        // A user key that separates blocks is in one of them only, unless it has timestamps: they are part of it.
        let one_block = index.has_user_keys() && self.cmp.user().timestamp_size() == 0;
        Ok((outcome == Outcome::Done || one_block, kept.get()))
    }

    /// Data block `i`, to hold, if its slot leads to the cache, and it is verified as the options say.
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
        Some(BlockPin::Cached(block.into_handle()))
    }

    /// Asks for what a walk through the cache that has come to data block `i` will read: the next block, the frame of the one behind it, and
    /// where those behind are. Each is found by what was asked for blocks before, so that nothing is waited for.
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

    /// True if data block `i` is in the cache and its slot leads there.
    pub(crate) fn is_cached(&self, index: &Index, i: usize) -> bool {
        let cache = self.cache.as_ref();
        cache.is_some_and(|cache| cache.get(&index.place(i).slot).is_some())
    }

    /// Data block `i`, to hold, if it is in the cache and verified as the options say; its slot leads there from now on.
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

    /// Data block `i` from the cache, or from what is below it; its slot leads there from now on.
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
                index.place(i).slot.store(&block);
                Found::Block(BlockPin::Cached(block))
            }
            Some(Err(block)) => Found::Block(BlockPin::Owned(Arc::new(block))),
            None => Found::Nothing,
        }
    }

    /// Searches block `i`, which is held.
    pub(crate) fn search_pin(
        &self,
        index: &Index,
        key: &LookupKey,
        i: usize,
        pin: &BlockPin,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Visited> {
        let visited = self.visit_held(index, pin, &self.lookup(key), visit);
        let visited = visited.map(|(done, kept)| Visited {
            done,
            kept: kept.map(|kept| kept.of(pin.clone())),
        });
        visited.map_err(|error| self.fetcher.in_block(error, index.handle(i)))
    }

    /// Bytes of a data block that is not compressed, as its table's properties have it: whole keys, and nothing for lengths.
    fn usual_block_len(&self) -> usize {
        let properties = &self.properties;
        let all = properties.raw_key_size.saturating_add(properties.raw_value_size);
        let one = all.checked_div(properties.num_data_blocks).unwrap_or(0);
        usize::try_from(one).unwrap_or(usize::MAX)
    }

    /// Data block `i`, whose slot leads nowhere: from the cache, from what was read ahead, or from the file.
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
        // All of a mapped block is about to be read, for its checksum if for nothing else: its lines come side by side, and both of its pages'
        // addresses are looked up, while the cache is asked.
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
        // One that was not verified makes place for one that is.
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
            return Ok(BlockPin::Owned(Arc::new(read(None)?)));
        }
        let block = read(Some(cache))?;
        if looked_up {
            block.expect_searches();
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
