//! A cursor over a whole table: its data blocks one after the other.

mod whole_block;

use std::fmt;
use std::sync::Arc;

use base::{Cursor, Error, Result};

use vfs::RandomAccessFile;

use crate::block::{BlockCursor, BlockPin, PinnedBytes, Target};
use crate::block_properties::{BlockPropertyFilter, SkippedBlocks};
use crate::index::Index;
use crate::read_options::{BlockReadOptions, ScanBounds};
use crate::reader::{Ahead, Located, Prepared, Readahead, Table, index_of};

/// The position of an iterator in a table. Holds the table and at most one block.
///
/// The methods are those of [`Cursor`], as inherent functions, so that they can be inlined where the type is
/// known.
pub struct TableCursor {
    table: Arc<Table>,
    options: BlockReadOptions,
    /// The part of the index that leads to the current block, if the table keeps its index in the cache.
    part: Option<BlockPin>,
    /// The number of the index partition that was read last.
    partition: usize,
    block: BlockCursor,
    /// The block's number; meaningful while the block cursor has a block.
    number: usize,
    /// The state of reads from the file. It is created when a block is read from the file, or when an option
    /// for such reads is set: a scan of cached blocks does not need it, and a smaller cursor is cheaper to
    /// move.
    reads: Option<Box<FileReads>>,
    /// Blocks that are skipped as if they did not exist.
    skipped: Option<Arc<SkippedBlocks>>,
    error: Option<Error>,
}

/// The state of the reads that go beyond the block which a cursor needs now.
#[derive(Default)]
struct FileReads {
    readahead: Readahead,
    /// The blocks that the caller announced it will read.
    prepared: Option<Prepared>,
}

impl Table {
    /// A cursor over all entries of the table, not positioned yet.
    pub fn cursor(self: &Arc<Self>, options: BlockReadOptions) -> TableCursor {
        TableCursor::new(self.clone(), options)
    }
}

impl TableCursor {
    pub(crate) fn new(table: Arc<Table>, options: BlockReadOptions) -> TableCursor {
        TableCursor {
            block: BlockCursor::new(table.form),
            table,
            options,
            part: None,
            partition: 0,
            number: 0,
            reads: None,
            skipped: None,
            error: None,
        }
    }

    /// Sets the bounds of a scan, so that nothing outside is read ahead. The cursor still walks over all
    /// entries.
    pub fn set_bounds(&mut self, bounds: Option<Arc<ScanBounds>>) {
        if bounds.is_some() || self.reads.is_some() {
            self.reads().readahead.set_bounds(bounds);
        }
    }

    /// Reads data blocks through `file` from now on, another descriptor of the table's file, whose hints are
    /// only this cursor's. It reads a window at a time, even for one block, and even if the table is mapped.
    pub fn read_through(&mut self, file: Arc<dyn RandomAccessFile>) {
        self.reads().readahead.read_through(file);
    }

    /// Sets the blocks that the cursor will walk through, as [`Table::start_ranges`] of its table started to
    /// read them.
    pub fn prepare(&mut self, prepared: Prepared) {
        self.reads().prepared = Some(prepared);
    }

    /// Skips the blocks that `filter` does not want. Must come before the first move. Fails with `Corruption`
    /// if the table's property is malformed.
    pub fn skip_by(&mut self, filter: &dyn BlockPropertyFilter) -> Result<()> {
        let skipped = SkippedBlocks::of(self.table.properties(), filter);
        self.skipped = skipped.map_err(|error| error.in_file(self.table.path()))?;
        Ok(())
    }

    /// Skips all blocks.
    pub fn skip_all(&mut self) {
        self.skipped = Some(Arc::new(SkippedBlocks::all()));
    }

    /// Takes over the [prepared](TableCursor::prepare) blocks of `before`, a cursor over the same table.
    pub fn follow_in_table(&mut self, mut before: TableCursor) {
        if let Some(before) = &mut before.reads {
            self.reads().prepared = before.prepared.take();
        }
    }

    /// Takes over from a cursor that has reached the end of the previous table in the same scan: its
    /// readahead memory and, with [`adaptive_readahead`](BlockReadOptions::adaptive_readahead), its readahead
    /// size.
    pub fn follow(&mut self, before: TableCursor) {
        let adaptive = self.options.adaptive_readahead;
        if let Some(before) = before.reads {
            self.reads().readahead.follow(before.readahead, adaptive);
        }
    }

    fn reads(&mut self) -> &mut FileReads {
        self.reads.get_or_insert_default()
    }

    /// The table that the cursor iterates over.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// True while the cursor is at an entry.
    #[inline(always)]
    pub fn valid(&self) -> bool {
        self.block.valid()
    }

    /// The internal key. Requires [`valid`](TableCursor::valid).
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        self.block.key()
    }

    /// The value. Requires [`valid`](TableCursor::valid).
    #[inline(always)]
    pub fn value(&self) -> &[u8] {
        self.block.value()
    }

    /// The value as a pin that outlives the cursor's next move: it holds the block and copies nothing.
    /// Requires [`valid`](TableCursor::valid).
    pub fn value_pin(&self) -> PinnedBytes {
        self.block.value_pin()
    }

    /// Moves to the next entry. Requires [`valid`](TableCursor::valid).
    #[inline]
    pub fn next(&mut self) {
        self.step();
    }

    /// Moves as [`next`](TableCursor::next) does. True if the entry was the last of a block.
    #[inline]
    pub fn step(&mut self) -> bool {
        self.block.next();
        let ended = !self.block.valid();
        if ended {
            self.next_block();
        }
        ended
    }

    /// Moves to the previous entry. Requires [`valid`](TableCursor::valid).
    #[inline]
    pub fn prev(&mut self) {
        self.block.prev();
        if !self.block.valid() {
            self.prev_block();
        }
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.error = None;
        if self.open_part(0) && self.enter_ahead(0) {
            self.block.seek_to_first();
            if !self.block.valid() {
                self.next_block();
            }
        }
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.error = None;
        let partitions = match self.table.caches_parts() {
            true => self.table.index_partitions(&self.options),
            false => Ok(1),
        };
        match partitions {
            Ok(partitions) => {
                // A seek to the last entry moves as [`prev`](TableCursor::prev) would from a position after
                // that entry.
                if self.enter_last_of(partitions) {
                    self.block.seek_to_last();
                    if !self.block.valid() {
                        self.prev_block();
                    }
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Moves to the first entry at or after the internal key `target`. Cheaper if that is in the current
    /// block.
    pub fn seek(&mut self, target: &[u8]) {
        if let Some(place) = self.enter_block_of(target) {
            self.block.seek(&place, &self.table.stored_order);
            self.record_place();
            if !self.block.valid() {
                self.next_block();
            }
        }
    }

    /// Loads the block of `target`, or the next one. `None` if all keys are before it, or after an error.
    #[inline(always)]
    fn enter_block_of<'a>(&mut self, target: &'a [u8]) -> Option<Target<'a>> {
        let place = self.table.target(target);
        let number = self.sought(&place)?;
        self.enter_ahead(number).then_some(place)
    }

    /// The number, in the current part of the index, of the block for the target `place`. `None` after an
    /// error.
    #[inline(always)]
    fn sought(&mut self, place: &Target<'_>) -> Option<usize> {
        self.error = None;
        let table = &*self.table;
        match table.loaded_index() {
            Some(index) => Some(table.seek_index(index, place)),
            None => match self.seek_part(place) {
                Ok(number) => Some(number),
                Err(error) => {
                    self.fail(error);
                    None
                }
            },
        }
    }

    /// Moves as [`seek`](TableCursor::seek) does. But if `target` leads to the first key of a block that is
    /// not in the cache, and the index has that key, the block is not read: it returns true, and the cursor
    /// will be at [`deferred_key`](TableCursor::deferred_key) once the block is
    /// [loaded](TableCursor::load_deferred). It is not valid before.
    pub fn seek_deferring(&mut self, target: &[u8]) -> bool {
        let deferred = match self.table.has_first_keys() && self.skipped.is_none() {
            true => self.unread_block_of(target),
            false => None,
        };
        match deferred {
            Some(number) => {
                self.block.clear();
                self.number = number;
            }
            None => self.seek(target),
        }
        deferred.is_some()
    }

    /// The number of the block at whose first key a seek to `target` ends, if it is not in memory.
    fn unread_block_of(&mut self, target: &[u8]) -> Option<usize> {
        self.error = None;
        let table = &*self.table;
        let place = table.target(target);
        let number = match table.loaded_index() {
            Some(index) => table.seek_index(index, &place),
            // If this search fails, the seek reports the error.
            None => self.seek_part(&place).ok()?,
        };
        let at_hand = self.number == number && self.block.block().is_some();
        let index = self.index()?;
        if number >= index.len() || at_hand || self.table.is_cached(index, number) {
            return None;
        }
        let first_key = index.first_key(number)?;
        (self.table.cmp.compare(first_key, target) != std::cmp::Ordering::Less).then_some(number)
    }

    /// The key at which the cursor will be; only meaningful after
    /// [`seek_deferring`](TableCursor::seek_deferring).
    pub fn deferred_key(&self) -> &[u8] {
        let index = self.index();
        index
            .and_then(|index| index.first_key(self.number))
            .unwrap_or_default()
    }

    /// Loads the deferred block and moves to its first entry. Fails with `Corruption` if its key differs from
    /// the index's.
    #[cold]
    pub fn load_deferred(&mut self) {
        if !self.enter(self.number) {
            return;
        }
        self.block.seek_to_first();
        self.record_place();
        if self.block_failed() || self.block.valid() && self.block.key() == self.deferred_key() {
            return;
        }
        let error = Error::corruption("first key in index doesn't match first key in block");
        self.fail(match self.index() {
            Some(index) => self.table.fetcher.in_block(error, index.handle(self.number)),
            None => error,
        });
    }

    /// Starts to read the block that [`seek`](TableCursor::seek) to `target`, or with `backwards`
    /// [`seek_for_prev`](TableCursor::seek_for_prev), will need, unless it is in the cache. One of the two
    /// must follow. An index that was evicted from the cache is read now.
    pub fn start_seek(&mut self, target: &[u8], backwards: bool) {
        if self.options.cache_only {
            return;
        }
        // If this read fails, the seek reports the error.
        let place = self.table.target(target);
        let Ok(sought) = self.seek_part(&place) else {
            return;
        };
        let table = &*self.table;
        let index = match table.loaded_index() {
            Some(index) => index,
            None => match self.part.as_deref().map(index_of) {
                Some(Ok(index)) => index,
                _ => return,
            },
        };
        let number = match backwards && sought >= index.len() {
            true => index.len().wrapping_sub(1),
            false => sought,
        };
        let at_hand = self.number == number && self.block.block().is_some();
        if number < index.len() && !at_hand && !self.skips(index, number) && !table.has_block(index, number) {
            let FileReads { readahead, prepared } = &mut **self.reads.get_or_insert_default();
            let offset = index.handle(number).offset;
            if !prepared
                .as_ref()
                .is_some_and(|prepared| prepared.has(number, offset))
            {
                readahead.start_block(table, index, number);
            }
        }
    }

    /// Prefetches the memory that a [`seek`](TableCursor::seek) or
    /// [`seek_for_prev`](TableCursor::seek_for_prev) to `target` will read first, if its block is in the
    /// cache. Worthwhile if several cursors seek the same target: their cache misses overlap.
    pub fn hint_seek(&self, target: &[u8]) {
        let table = &*self.table;
        if let Some(index) = table.loaded_index() {
            let block = table.seek_index(index, &table.target(target));
            if block < index.len() {
                table.prefetch_block_of(Located { block });
            }
        }
    }

    /// Starts a [`seek_within_prefix`](TableCursor::seek_within_prefix), as
    /// [`start_seek`](TableCursor::start_seek) starts a seek.
    pub fn start_seek_within_prefix(&mut self, target: &[u8]) {
        let may_contain = self.table.may_contain_prefix_of(target, &self.options);
        if may_contain.unwrap_or(false) {
            self.start_seek(target, false);
        }
    }

    /// Moves as [`seek`](TableCursor::seek) does, but if the filter excludes `target`'s prefix from the
    /// table, it reads nothing and is not valid.
    pub fn seek_within_prefix(&mut self, target: &[u8]) {
        // An unreadable filter must not hide rows.
        if self
            .table
            .may_contain_prefix_of(target, &self.options)
            .unwrap_or(true)
        {
            return self.seek(target);
        }
        self.error = None;
        self.block.clear();
    }

    /// Moves to the last entry at or before the internal key `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        if self.skipped.is_some() {
            return self.seek_for_prev_skipping(target);
        }
        if let Some(place) = self.enter_block_of(target) {
            self.block.seek_for_prev(&place, &self.table.stored_order);
            self.record_place();
            if !self.block.valid() {
                self.prev_block();
            }
        } else if self.error.is_none() {
            self.seek_to_last();
        }
    }

    /// Moves as [`seek_for_prev`](TableCursor::seek_for_prev) does, with skipped blocks.
    #[cold]
    fn seek_for_prev_skipping(&mut self, target: &[u8]) {
        let place = self.table.target(target);
        let Some(number) = self.sought(&place) else {
            return;
        };
        let Some(index) = self.index().filter(|index| number < index.len()) else {
            return self.seek_to_last();
        };
        if self.skips(index, number) {
            if !self.enter_back(number.checked_sub(1)) {
                return;
            }
            self.block.seek_to_last();
        } else if self.enter(number) {
            self.block.seek_for_prev(&place, &self.table.stored_order);
        } else {
            return;
        }
        if !self.block.valid() {
            self.prev_block();
        }
    }

    /// The error that made the cursor invalid, if one did.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.block.clear();
        self.error = Some(error);
    }

    /// Takes the error of the block cursor, if it has one.
    #[inline]
    fn block_failed(&mut self) -> bool {
        match self.block.take_error() {
            None => false,
            Some(error) => {
                let error = match self.index() {
                    Some(index) => self.table.fetcher.in_block(error, index.handle(self.number)),
                    None => error,
                };
                self.fail(error);
                true
            }
        }
    }

    /// The index, or its current part. `None` before the first move.
    #[inline]
    fn index(&self) -> Option<&Index> {
        match self.table.loaded_index() {
            Some(index) => Some(index),
            None => index_of(self.part.as_deref()?).ok(),
        }
    }

    /// Ensures that there is an index to use: the table's, or its partition `partition`, which is then held.
    /// False if there is none, or it cannot be read.
    #[inline]
    fn open_part(&mut self, partition: usize) -> bool {
        match self.table.loaded_index() {
            Some(_) => partition == 0,
            None => self.load_part(partition),
        }
    }

    #[inline(never)]
    fn load_part(&mut self, partition: usize) -> bool {
        if !self.table.caches_parts() {
            return match self.table.owned_index() {
                Ok(_) => partition == 0,
                Err(error) => {
                    self.fail(error);
                    false
                }
            };
        }
        if self.part.is_some() && self.partition == partition {
            return true;
        }
        match self.table.pin_index_part(partition, &self.options) {
            Ok(Some(part)) => {
                self.hold_part(part, partition);
                true
            }
            Ok(None) => {
                self.block.clear();
                false
            }
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    fn hold_part(&mut self, part: BlockPin, partition: usize) {
        if self.partition != partition {
            // The number of the current block belongs to the previous part of the index.
            self.block.clear();
            self.partition = partition;
        }
        self.part = Some(part);
    }

    /// The number of the entry for `target` in the index, whose part is then held.
    #[inline(never)]
    fn seek_part(&mut self, target: &Target<'_>) -> Result<usize> {
        if !self.table.caches_parts() {
            let index = self.table.owned_index()?;
            return Ok(self.table.seek_index(index, target));
        }
        let Some((part, partition, number)) = self.table.pin_sought_part(target, &self.options)? else {
            return Ok(usize::MAX);
        };
        self.hold_part(part, partition);
        Ok(number)
    }

    /// Moves to the first block of the next part, if there is one.
    #[cold]
    fn enter_part_behind(&mut self) -> bool {
        self.table.caches_parts() && self.open_part(self.partition + 1) && self.enter(0)
    }

    /// Moves to the last block of the last part before `partition` that has blocks.
    fn enter_last_of(&mut self, partition: usize) -> bool {
        let mut partition = partition;
        while let Some(before) = partition.checked_sub(1) {
            if !self.open_part(before) {
                return false;
            }
            let last = self.index().and_then(|index| index.len().checked_sub(1));
            if let Some(last) = last.and_then(|last| self.unskipped_before(last)) {
                return self.enter(last);
            }
            partition = before;
        }
        self.block.clear();
        false
    }

    /// Loads block `number` of the current part of the index, unless it is loaded; if the part ends before,
    /// the first block of the next part. False if there is none, or it cannot be read.
    #[inline]
    fn enter(&mut self, number: usize) -> bool {
        let len = self.index().map_or(0, Index::len);
        if number >= len {
            if number == len && self.enter_part_behind() {
                return true;
            }
            self.block.clear();
            return false;
        }
        if self.number == number && self.block.block().is_some() {
            return true;
        }
        let Some(index) = (match self.table.loaded_index() {
            Some(index) => Some(index),
            None => self.part.as_deref().and_then(|part| index_of(part).ok()),
        }) else {
            return false;
        };
        let pin = match self.table.cached_block(index, number, &self.options) {
            Some(pin) => Ok(pin),
            None => {
                let FileReads { readahead, prepared } = &mut **self.reads.get_or_insert_default();
                let prepared = prepared.as_mut();
                match prepared.and_then(|prepared| prepared.take(&self.table, index, number, &self.options)) {
                    Some(pin) => Ok(pin),
                    None => {
                        let ahead = Ahead::Cursor(readahead);
                        self.table.load_block(index, number, &self.options, ahead)
                    }
                }
            }
        };
        match pin {
            Ok(pin) => {
                self.number = number;
                self.block.set_block(pin);
                true
            }
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// True if block `number` of `index` is skipped.
    #[inline]
    fn skips(&self, index: &Index, number: usize) -> bool {
        let skipped = self.skipped.as_deref();
        skipped.is_some_and(|skipped| skipped.range_of(index.handle(number).offset).is_some())
    }

    /// Enters, as [`enter`](TableCursor::enter) does, the first block at or after `number` that is not
    /// skipped.
    #[inline]
    fn enter_ahead(&mut self, number: usize) -> bool {
        match self.skipped {
            None => self.enter(number),
            Some(_) => self.enter_unskipped_ahead(number),
        }
    }

    #[cold]
    fn enter_unskipped_ahead(&mut self, mut number: usize) -> bool {
        while let Some(index) = self.index() {
            let len = index.len();
            while number < len
                && let Some(range) = self
                    .skipped
                    .as_deref()
                    .and_then(|skipped| skipped.range_of(index.handle(number).offset))
            {
                number = index.block_at_or_after(range.end).max(number + 1);
            }
            if number < len {
                return self.enter(number);
            }
            if number > len || !self.table.caches_parts() || !self.open_part(self.partition + 1) {
                break;
            }
            number = 0;
        }
        self.block.clear();
        false
    }

    /// The last block of the part at or before `number` that is not skipped.
    fn unskipped_before(&self, mut number: usize) -> Option<usize> {
        let Some(skipped) = self.skipped.as_deref() else {
            return Some(number);
        };
        let index = self.index()?;
        while let Some(range) = skipped.range_of(index.handle(number).offset) {
            number = index.block_at_or_after(range.start).min(number).checked_sub(1)?;
        }
        Some(number)
    }

    /// Loads block `number` of the part, or the last one before it that is not skipped; if there is none, the
    /// last of a previous part. False if there is none, or it cannot be read.
    fn enter_back(&mut self, number: Option<usize>) -> bool {
        match number.and_then(|number| self.unskipped_before(number)) {
            Some(number) => self.enter(number),
            None if self.table.caches_parts() => self.enter_last_of(self.partition),
            None => {
                self.block.clear();
                false
            }
        }
    }

    /// Records the address of the data block's entry index after a search in the block, so that the next
    /// search of the block prefetches the entry index.
    #[inline]
    fn record_place(&self) {
        if let (Some(index), Some(block)) = (self.index(), self.block.block()) {
            index.place(self.number).note(block.entry_index_address());
        }
    }

    /// Moves to the first entry after this block.
    #[inline(never)]
    fn next_block(&mut self) {
        while !self.block_failed() && self.enter_ahead(self.number + 1) {
            self.block.seek_to_first();
            if self.block.valid() {
                if let Some(index) = self.index() {
                    self.table.prefetch_walk(index, self.number, false);
                }
                return;
            }
        }
    }

    /// Moves to the last entry before this block.
    #[inline(never)]
    fn prev_block(&mut self) {
        while !self.block_failed() {
            if !self.enter_back(self.number.checked_sub(1)) {
                return;
            }
            self.block.seek_to_last();
            if self.block.valid() {
                if let Some(index) = self.index() {
                    self.table.prefetch_walk(index, self.number, true);
                }
                return;
            }
        }
    }
}

impl Cursor for TableCursor {
    #[inline]
    fn valid(&self) -> bool {
        TableCursor::valid(self)
    }
    fn seek_to_first(&mut self) {
        TableCursor::seek_to_first(self);
    }
    fn seek_to_last(&mut self) {
        TableCursor::seek_to_last(self);
    }
    fn seek(&mut self, target: &[u8]) {
        TableCursor::seek(self, target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        TableCursor::seek_for_prev(self, target);
    }
    #[inline]
    fn next(&mut self) {
        TableCursor::next(self);
    }
    #[inline]
    fn prev(&mut self) {
        TableCursor::prev(self);
    }
    #[inline]
    fn key(&self) -> &[u8] {
        TableCursor::key(self)
    }
    #[inline]
    fn value(&self) -> &[u8] {
        TableCursor::value(self)
    }
    fn status(&self) -> Result<()> {
        TableCursor::status(self)
    }
}

impl fmt::Debug for TableCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableCursor")
            .field("table", &self.table)
            .field("number", &self.number)
            .field("valid", &self.valid())
            .finish_non_exhaustive()
    }
}
