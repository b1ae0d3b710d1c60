//! Tables whose index and filter are in the block cache. Each use finds them there, or reads them from the
//! file and inserts them.
//!
//! The table keeps a [`Slot`] for each of the two and nothing else. The part that a slot leads to may be
//! evicted at any time like a data block; a reader pins it while it uses it. A partitioned index is a
//! top-level index whose places lead to the partitions, just as the places of a partition lead to data
//! blocks. A partitioned filter is the same.

use std::ops::ControlFlow;

use base::perf;
use base::sync::Mutex;
use base::{Error, ErrorKind, Result};
use cache::{CacheKey, EntryRole, Guard, Handle, Priority, Slot};
use codec::hash::hash32;

use super::filter::FilterHandle;
use super::{BlockReadOptions, Table, Value};
use crate::block::{Block, BlockPin, PinnedBytes, Target};
use crate::block_trace::{self, TracedBlock};
use crate::filter::{FilterReader, LEGACY_SEED};
use crate::format::{BlockHandle, FOOTER_LEN, IndexType};
use crate::index::{Index, IndexBuilder, IndexCoding};
use crate::lookup_key::LookupKey;
use crate::part::Part;

/// The caching of index and filter, for tables that keep them in the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataCaching {
    /// Index and filter have high priority; otherwise they have the priority of data blocks.
    pub high_priority: bool,
    /// The top-level indexes over partitions stay in the cache once they were read.
    pub pin_top_level: bool,
    /// Partitions stay in the cache once they were read.
    pub pin_partitions: bool,
    /// An index or filter in one block stays in the cache once it was read.
    pub pin_unpartitioned: bool,
}

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

/// Offsets are below 2 to the power of this: no file is that long.
const KIND_SHIFT: u32 = 60;

impl PartKind {
    pub fn key(self, id: u64, handle: BlockHandle) -> CacheKey {
        let offset = handle.offset & ((1 << KIND_SHIFT) - 1);
        CacheKey {
            id,
            offset: (self as u64) << KIND_SHIFT | offset,
        }
    }

    fn traced(self) -> TracedBlock {
        match self {
            PartKind::Index | PartKind::TopLevelIndex | PartKind::IndexPartition => TracedBlock::Index,
            PartKind::Filter | PartKind::TopLevelFilter | PartKind::FilterPartition => TracedBlock::Filter,
        }
    }

    fn role(self) -> EntryRole {
        match self {
            PartKind::Index | PartKind::TopLevelIndex | PartKind::IndexPartition => EntryRole::IndexBlock,
            PartKind::Filter | PartKind::FilterPartition => EntryRole::FilterBlock,
            PartKind::TopLevelFilter => EntryRole::FilterMetaBlock,
        }
    }
}

/// The index and filter of a table that keeps them in the cache.
pub(super) struct CachedParts {
    caching: MetadataCaching,
    /// The slot of the index, or of its top level.
    index: Slot,
    /// The slot of the filter, or of its top level.
    filter: Slot,
    /// The pins of the parts that stay in the cache as long as the table is open.
    pins: Mutex<Vec<Handle<Block>>>,
}

impl CachedParts {
    pub(super) fn new(caching: MetadataCaching) -> CachedParts {
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

    fn filter(&self) -> Result<&FilterReader> {
        match self.block().part() {
            Some(Part::Filter(filter)) => Ok(filter),
            _ => Err(Error::corruption("the part in the block cache is no filter")),
        }
    }
}

/// The index that `block` carries.
pub(crate) fn index_of(block: &Block) -> Result<&Index> {
    match block.part() {
        Some(Part::Index(index)) => Ok(index),
        _ => Err(Error::corruption("the part in the block cache is no index")),
    }
}

/// The place of an entry in an index that is in the cache.
pub(super) struct PartPlace<'a> {
    /// The index, or the partition of it.
    pub part: PartRef<'a>,
    /// The number of the partition; 0 for an index in one block.
    pub partition: usize,
    /// The number of the entry within the part.
    pub number: usize,
}

impl Table {
    /// True if index and filter are in the block cache and not owned by the table.
    #[inline]
    pub fn caches_parts(&self) -> bool {
        self.parts.is_some()
    }

    pub(super) fn cached_parts(&self) -> &CachedParts {
        self.parts
            .as_deref()
            .expect("only tables that keep their parts in the cache have them")
    }

    pub(super) fn has_partitioned_index(&self) -> bool {
        self.properties.index_type == IndexType::TwoLevel
    }

    /// The part that `slot` leads to, or else the block at `handle`.
    #[inline]
    fn part(
        &self,
        slot: &Slot,
        handle: BlockHandle,
        kind: PartKind,
        options: &BlockReadOptions,
    ) -> Result<PartRef<'_>> {
        match self.cache.as_ref().and_then(|cache| cache.get(slot)) {
            Some(guard) => {
                self.note_hit(kind.role(), || guard.charge());
                if block_trace::is_on() {
                    self.trace_access(kind.traced(), handle, guard.charge(), true, options);
                }
                Ok(PartRef::Guard(guard))
            }
            None => self.load_part(slot, handle, kind, options),
        }
    }

    #[cold]
    #[inline(never)]
    fn load_part(
        &self,
        slot: &Slot,
        handle: BlockHandle,
        kind: PartKind,
        options: &BlockReadOptions,
    ) -> Result<PartRef<'_>> {
        let read = || {
            if options.cache_only && self.fetcher.file().mapped().is_none() {
                return Err(
                    Error::new(ErrorKind::Incomplete, "index or filter is not in the cache")
                        .at(handle.offset)
                        .in_file(self.path()),
                );
            }
            let part = match kind {
                PartKind::Filter | PartKind::FilterPartition => self
                    .fetcher
                    .raw(handle, self.verify_checksums, |contents| {
                        FilterReader::new(contents)
                    })?
                    .map(Part::Filter),
                _ => self.read_index_block(handle, kind).map(Part::Index),
            };
            part.map(Block::of_part)
                .map_err(|error| self.fetcher.in_block(error, handle))
        };
        let Some(cache) = &self.cache else {
            return Ok(PartRef::Pin(BlockPin::Owned(read()?.into())));
        };
        let parts = self.cached_parts();
        // Only one thread reads a part that is to be pinned: a second one would replace the first one's
        // entry.
        let mut pins = parts.pins(kind).then(|| parts.pins.lock());
        if pins.is_some()
            && let Some(guard) = cache.get(slot)
        {
            return Ok(PartRef::Guard(guard));
        }
        let key = kind.key(self.cache_id, handle);
        let found = match &pins {
            // The part would be restored for this reader alone, and the next reader would read it again.
            Some(_) => cache.lookup(key).map(Ok),
            None => cache.lookup_or_restore(
                key,
                self.part_priority(),
                kind.role(),
                &self.secondary_tally,
                |bytes| self.restore_part(kind, bytes),
            ),
        };
        let found = match found {
            Some(Ok(found)) => {
                self.note_hit(kind.role(), || found.charge());
                if block_trace::is_on() {
                    self.trace_access(kind.traced(), handle, found.charge(), true, options);
                }
                found
            }
            Some(Err(block)) => return Ok(PartRef::Pin(BlockPin::Owned(block.into()))),
            None => {
                self.note_miss(kind.role());
                let timer = match kind.role() {
                    EntryRole::IndexBlock => {
                        perf::count(|cells| &cells.index_block_read_count, 1);
                        perf::time(|cells| &cells.read_index_block_nanos)
                    }
                    _ => {
                        perf::count(|cells| &cells.filter_block_read_count, 1);
                        perf::time(|cells| &cells.read_filter_block_nanos)
                    }
                };
                let block = read()?;
                drop(timer);
                if block_trace::is_on() {
                    self.trace_access(kind.traced(), handle, block.charge(), false, options);
                }
                if !options.fill_cache && pins.is_none() {
                    return Ok(PartRef::Pin(BlockPin::Owned(block.into())));
                }
                let charge = block.charge();
                let inserted = cache.insert_as(key, block, charge, self.part_priority(), kind.role());
                self.note_insert(kind.role(), charge, inserted.is_ok());
                match inserted {
                    Ok(inserted) => inserted,
                    Err(block) => return Ok(PartRef::Pin(BlockPin::Owned(block.into()))),
                }
            }
        };
        slot.store(&found);
        if let Some(pins) = &mut pins
            && !pins.iter().any(|pin| std::ptr::eq(&**pin, &*found))
        {
            pins.push(found.clone());
        }
        Ok(PartRef::Pin(BlockPin::Cached(found)))
    }

    fn part_priority(&self) -> Priority {
        match self.cached_parts().caching.high_priority {
            true => Priority::High,
            false => Priority::Low,
        }
    }

    /// A part restored from the secondary cache, and its charge.
    fn restore_part(&self, kind: PartKind, saved: &[u8]) -> Option<(Block, usize)> {
        let part = match kind {
            PartKind::Filter | PartKind::FilterPartition => FilterReader::new(saved).map(Part::Filter),
            _ => Index::restore(
                saved,
                self.properties.index_key_is_user_key,
                self.limit_of_blocks(),
                &self.stored_order,
            )
            .map(Part::Index),
        };
        let block = part.map(Block::of_part).ok()?;
        let charge = block.charge();
        Some((block, charge))
    }

    fn limit_of_blocks(&self) -> u64 {
        self.file_size() - FOOTER_LEN as u64
    }

    fn read_index_block(&self, handle: BlockHandle, kind: PartKind) -> Result<Index> {
        let coding = match kind {
            PartKind::TopLevelIndex | PartKind::TopLevelFilter => {
                IndexCoding::of(&self.properties).top_level()
            }
            _ => IndexCoding::of(&self.properties),
        };
        let block = self.fetcher.meta_block(handle, self.verify_checksums)?;
        let mut builder = IndexBuilder::new(coding.user_keys, self.limit_of_blocks());
        builder.add_block(&block, coding)?;
        Ok(builder.build(&self.stored_order))
    }

    /// The index, or its top level.
    pub(super) fn first_part(&self, options: &BlockReadOptions) -> Result<PartRef<'_>> {
        let kind = match self.has_partitioned_index() {
            true => PartKind::TopLevelIndex,
            false => PartKind::Index,
        };
        self.with_index_handle(|handle| self.part(&self.cached_parts().index, handle, kind, options))
    }

    /// The top level of a partitioned filter.
    pub(super) fn top_level_filter(
        &self,
        handle: BlockHandle,
        options: &BlockReadOptions,
    ) -> Result<PartRef<'_>> {
        let slot = &self.cached_parts().filter;
        self.part(slot, handle, PartKind::TopLevelFilter, options)
    }

    pub(super) fn partition(
        &self,
        top: &Index,
        partition: usize,
        options: &BlockReadOptions,
    ) -> Result<PartRef<'_>> {
        let slot = &top.place(partition).slot;
        self.part(slot, top.handle(partition), PartKind::IndexPartition, options)
    }

    /// Partition `partition` of the index. Partition 0 of an index in one block is the index itself. `None`
    /// after the last partition.
    fn index_part(&self, partition: usize, options: &BlockReadOptions) -> Result<Option<PartRef<'_>>> {
        if !self.has_partitioned_index() {
            return match partition {
                0 => self.first_part(options).map(Some),
                _ => Ok(None),
            };
        }
        let top = self.first_part(options)?;
        match top.index()? {
            top if partition < top.len() => self.partition(top, partition, options).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns [`index_part`](Table::index_part) with a pin that outlives the read.
    pub(crate) fn pin_index_part(
        &self,
        partition: usize,
        options: &BlockReadOptions,
    ) -> Result<Option<BlockPin>> {
        let part = self.index_part(partition, options)?;
        Ok(part.map(|part| self.pin_part(part)))
    }

    /// Seeks as [`seek_parts`](Table::seek_parts) does, with a pin that outlives the read: the part, its
    /// number, and the number of the entry in it.
    pub(crate) fn pin_sought_part(
        &self,
        target: &Target<'_>,
        options: &BlockReadOptions,
    ) -> Result<Option<(BlockPin, usize, usize)>> {
        let place = self.seek_parts(target, options)?;
        Ok(place.map(|place| (self.pin_part(place.part), place.partition, place.number)))
    }

    fn pin_part(&self, part: PartRef<'_>) -> BlockPin {
        match part {
            PartRef::Guard(guard) => BlockPin::Cached(guard.into_handle()),
            PartRef::Pin(pin) => pin,
        }
    }

    /// The number of partitions of the index; 1 for an index in one block.
    pub(crate) fn index_partitions(&self, options: &BlockReadOptions) -> Result<usize> {
        match self.has_partitioned_index() {
            true => Ok(self.first_part(options)?.index()?.len()),
            false => Ok(1),
        }
    }

    /// The first entry that can lead to a key at or after the target. `None` if the index ends before it.
    pub(super) fn seek_parts(
        &self,
        target: &Target<'_>,
        options: &BlockReadOptions,
    ) -> Result<Option<PartPlace<'_>>> {
        let first = self.first_part(options)?;
        let index = first.index()?;
        let number = self.seek_index(index, target);
        if number == index.len() {
            return Ok(None);
        }
        if !self.has_partitioned_index() {
            return Ok(Some(PartPlace {
                part: first,
                partition: 0,
                number,
            }));
        }
        let part = self.partition(index, number, options)?;
        let within = self.seek_index(part.index()?, target);
        Ok(Some(PartPlace {
            part,
            partition: number,
            number: within,
        }))
    }

    /// [`Table::get`] for tables that keep index and filter in the cache.
    #[inline(never)]
    pub(super) fn get_by_parts(
        &self,
        key: &LookupKey,
        filtered: bool,
        options: &BlockReadOptions,
        visit: &mut impl FnMut(&[u8], Value<'_>) -> ControlFlow<()>,
    ) -> Result<Option<PinnedBytes>> {
        if filtered && !self.parts_may_contain(key, options)? {
            return Ok(None);
        }
        match self.seek_parts(&self.lookup(key).target, options)? {
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
        let lookup = self.lookup(key);
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

    /// [`Table::may_contain`] for tables that keep index and filter in the cache.
    #[inline(never)]
    pub(crate) fn parts_may_contain(&self, key: &LookupKey, options: &BlockReadOptions) -> Result<bool> {
        if self.filter_has_whole_keys {
            let legacy = || key.legacy_filter_hash();
            let may_match = self.ask_cached_filter(key.internal_key(), key.filter_hash(), legacy, options)?;
            return Ok(self.note_asked(true, may_match));
        }
        let extractor = self.filter_prefixes.as_ref();
        match extractor.and_then(|extractor| extractor.prefix_of(key.user_key_without_timestamp())) {
            Some(prefix) => self.cached_filter_may_match(key.internal_key(), prefix, options),
            None => Ok(true),
        }
    }

    pub(super) fn cached_filter_may_match(
        &self,
        internal_key: &[u8],
        bytes: &[u8],
        options: &BlockReadOptions,
    ) -> Result<bool> {
        let legacy = || hash32(bytes, LEGACY_SEED);
        let may_match =
            self.ask_cached_filter(internal_key, codec::hash::xxph3_64(bytes), legacy, options)?;
        Ok(self.note_asked(false, may_match))
    }

    /// Counts the answer of a filter, if there is one, and returns it.
    fn note_asked(&self, whole_key: bool, may_match: bool) -> bool {
        match self.filter_handle {
            FilterHandle::None => may_match,
            _ => self.note_filtered(whole_key, may_match),
        }
    }

    fn ask_cached_filter(
        &self,
        internal_key: &[u8],
        hash: u64,
        legacy: impl FnOnce() -> u32,
        options: &BlockReadOptions,
    ) -> Result<bool> {
        let slot = &self.cached_parts().filter;
        match self.filter_handle {
            FilterHandle::None => Ok(true),
            FilterHandle::Full(handle) => {
                let filter = self.part(slot, handle, PartKind::Filter, options)?;
                Ok(filter.filter()?.may_match(hash, legacy))
            }
            FilterHandle::Partitioned(handle) => {
                let top = self.top_level_filter(handle, options)?;
                let top = top.index()?;
                let Some(last) = top.len().checked_sub(1) else {
                    return Ok(true);
                };
                // A prefix of a key after all partitions may still be in the last one.
                let partition = self.seek_index(top, &self.target(internal_key)).min(last);
                let (slot, handle) = (&top.place(partition).slot, top.handle(partition));
                let filter = self.part(slot, handle, PartKind::FilterPartition, options)?;
                Ok(filter.filter()?.may_match(hash, legacy))
            }
        }
    }

    /// Reads every part that is not in the cache once, and so finds damage in them.
    pub(super) fn load_parts(&self) -> Result<()> {
        let options = BlockReadOptions::default();
        if self.has_partitioned_index() {
            for partition in 0..self.index_partitions(&options)? {
                self.index_part(partition, &options)?;
            }
        } else {
            self.first_part(&options)?;
        }
        let slot = &self.cached_parts().filter;
        match self.filter_handle {
            FilterHandle::None => {}
            FilterHandle::Full(handle) => {
                self.part(slot, handle, PartKind::Filter, &options)?;
            }
            FilterHandle::Partitioned(handle) => {
                let top = self.top_level_filter(handle, &options)?;
                let top = top.index()?;
                for partition in 0..top.len() {
                    let (slot, handle) = (&top.place(partition).slot, top.handle(partition));
                    self.part(slot, handle, PartKind::FilterPartition, &options)?;
                }
            }
        }
        Ok(())
    }
}
