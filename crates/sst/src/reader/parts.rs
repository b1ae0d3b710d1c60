//! Tables whose index and filter are in the block cache. Each use finds them there, or reads them from the
//! file and inserts them.
//!
//! The table keeps a [`Slot`] for each of the two and nothing else. The part that a slot leads to may be
//! evicted at any time like a data block; a reader pins it while it uses it. A partitioned index is a
//! top-level index whose places lead to the partitions, just as the places of a partition lead to data
//! blocks. A partitioned filter is the same.

use base::perf;
use base::{Error, ErrorKind, Result};
use cache::{EntryRole, Priority, Slot};

use super::cached_parts::{PartKind, PartPlace, PartRef};
use super::table::Table;
use crate::block::{Block, BlockPin, Target};
use crate::block_trace;
use crate::filter::FilterReader;
use crate::filter::table_filter::FilterHandle;
use crate::format::{BlockHandle, FOOTER_LEN};
use crate::index::{Index, IndexBuilder, IndexCoding};
use crate::metadata_block::MetadataBlock;
use crate::read_options::BlockReadOptions;

impl Table {
    /// The part that `slot` leads to, or else the block at `handle`.
    #[inline]
    pub(super) fn part(
        &self,
        slot: &Slot,
        handle: BlockHandle,
        kind: PartKind,
        options: &BlockReadOptions,
    ) -> Result<PartRef<'_>> {
        match self.cache.as_ref().and_then(|cache| cache.get(slot)) {
            Some(guard) => {
                self.record_hit(kind.role(), || guard.charge());
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
                    .map(MetadataBlock::Filter),
                _ => self.read_index_block(handle, kind).map(MetadataBlock::Index),
            };
            part.map(Block::of_metadata)
                .map_err(|error| self.fetcher.in_block(error, handle))
        };
        let Some(cache) = &self.cache else {
            return Ok(PartRef::Pin(BlockPin::Owned(read()?.into())));
        };
        let parts = self.cached_parts();
        // Only one thread reads a part of a table that is to be pinned: a second thread would replace the
        // entry of the first one.
        let mut pins = parts.pins(kind).then(|| parts.pins.lock());
        if pins.is_some()
            && let Some(guard) = cache.get(slot)
        {
            return Ok(PartRef::Guard(guard));
        }
        let key = kind.key(self.cache_id, handle);
        let found = match &pins {
            // A part that is not cached now would be restored for this reader alone, and the next reader
            // would read it again.
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
                self.record_hit(kind.role(), || found.charge());
                if block_trace::is_on() {
                    self.trace_access(kind.traced(), handle, found.charge(), true, options);
                }
                found
            }
            Some(Err(block)) => return Ok(PartRef::Pin(BlockPin::Owned(block.into()))),
            None => {
                self.record_miss(kind.role());
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
                self.record_insert(kind.role(), charge, inserted.is_ok());
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
            PartKind::Filter | PartKind::FilterPartition => {
                FilterReader::new(saved).map(MetadataBlock::Filter)
            }
            _ => Index::restore(
                saved,
                self.properties.index_key_is_user_key,
                self.limit_of_blocks(),
                &self.stored_order,
            )
            .map(MetadataBlock::Index),
        };
        let block = part.map(Block::of_metadata).ok()?;
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
    pub(super) fn index_part(
        &self,
        partition: usize,
        options: &BlockReadOptions,
    ) -> Result<Option<PartRef<'_>>> {
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
