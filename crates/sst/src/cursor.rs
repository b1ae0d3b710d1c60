//! A cursor over a whole table: its data blocks one after the other.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use base::{Cursor, Error, Result};

use crate::block::{Block, BlockCursor, PinnedBytes};
use crate::readahead::{Readahead, ScanBounds};
use crate::reader::{BlockReadOptions, Table};

/// Where an iterator over a table stands. Holds the table and at most one block.
///
/// The methods are those of [`Cursor`], as functions of the type, so that they can be inlined where the type is known.
pub struct TableCursor {
    table: Arc<Table>,
    options: BlockReadOptions,
    block: BlockCursor,
    /// The block's number; meaningful while the block cursor has a block.
    number: usize,
    readahead: Readahead,
    error: Option<Error>,
}

impl TableCursor {
    pub(crate) fn new(table: Arc<Table>, options: BlockReadOptions) -> TableCursor {
        TableCursor {
            block: BlockCursor::new(table.form),
            table,
            options,
            number: 0,
            readahead: Readahead::default(),
            error: None,
        }
    }

    /// Says between which keys somebody scans, so that nothing outside is read ahead. The cursor goes on to walk over all entries.
    pub fn set_bounds(&mut self, bounds: Option<Arc<ScanBounds>>) {
        self.readahead.set_bounds(bounds);
    }

    /// Takes over from a cursor that has come to the end of the table before in the same scan: its memory for what is read ahead,
    /// and with [`adaptive_readahead`](BlockReadOptions::adaptive_readahead) how much that is.
    pub fn follow(&mut self, before: TableCursor) {
        self.readahead
            .follow(before.readahead, self.options.adaptive_readahead);
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// True while it stands on an entry.
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

    /// The value, to keep beyond the cursor's next move: holds its block, copies nothing. Requires
    /// [`valid`](TableCursor::valid).
    pub fn value_pin(&self) -> PinnedBytes {
        self.block.value_pin()
    }

    /// To the entry after. Requires [`valid`](TableCursor::valid).
    #[inline]
    pub fn next(&mut self) {
        self.block.next();
        if !self.block.valid() {
            self.next_block();
        }
    }

    /// To the entry before. Requires [`valid`](TableCursor::valid).
    #[inline]
    pub fn prev(&mut self) {
        self.block.prev();
        if !self.block.valid() {
            self.prev_block();
        }
    }

    /// To the first entry.
    pub fn seek_to_first(&mut self) {
        self.error = None;
        if self.enter(0) {
            self.block.seek_to_first();
            if !self.block.valid() {
                self.next_block();
            }
        }
    }

    /// To the last entry.
    pub fn seek_to_last(&mut self) {
        self.error = None;
        let last = match self.table.index() {
            Ok(index) => index.len().checked_sub(1),
            Err(error) => return self.fail(error),
        };
        match last {
            Some(last) => {
                if self.enter(last) {
                    self.block.seek_to_last();
                    if !self.block.valid() {
                        self.prev_block();
                    }
                }
            }
            None => self.block.clear(),
        }
    }

    /// To the first entry at or after the internal key `target`. Cheaper when that is in the block it stands in.
    pub fn seek(&mut self, target: &[u8]) {
        self.error = None;
        let table = &*self.table;
        let index = match table.index() {
            Ok(index) => index,
            Err(error) => return self.fail(error),
        };
        let place = table.target(target);
        let number = table.seek_index(index, &place);
        if !self.enter(number) {
            return;
        }
        self.block.seek(&place, &self.table.stored_order);
        self.note_place();
        if !self.block.valid() {
            self.next_block();
        }
    }

    /// As [`seek`](TableCursor::seek), but where the filter knows that the table has nothing of `target`'s prefix at or behind it, it
    /// reads nothing and stands nowhere.
    pub fn seek_within_prefix(&mut self, target: &[u8]) {
        // A filter that cannot be read keeps nobody from the rows.
        if self.table.may_contain_prefix_of(target).unwrap_or(true) {
            return self.seek(target);
        }
        self.error = None;
        self.block.clear();
    }

    /// To the last entry at or before the internal key `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.seek(target);
        if self.valid() {
            if self.table.cmp.compare(self.key(), target) != Ordering::Equal {
                self.prev();
            }
        } else if self.error.is_none() {
            self.seek_to_last();
        }
    }

    /// The error that made it invalid, if one did.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.block.clear();
        self.error = Some(error);
    }

    /// Takes over the error the block cursor met, if it met one.
    #[inline]
    fn block_failed(&mut self) -> bool {
        match self.block.take_error() {
            None => false,
            Some(error) => {
                let error = match self.table.index() {
                    Ok(index) => self.table.fetcher.in_block(error, index.handle(self.number)),
                    Err(error) => error,
                };
                self.fail(error);
                true
            }
        }
    }

    /// Loads block `number`, unless it stands in it. False if there is none, or it cannot be had.
    #[inline]
    fn enter(&mut self, number: usize) -> bool {
        let index = match self.table.index() {
            Ok(index) => index,
            Err(error) => {
                self.fail(error);
                return false;
            }
        };
        if number >= index.len() {
            self.block.clear();
            return false;
        }
        if self.number == number && self.block.block().is_some() {
            return true;
        }
        let pin = match self.table.cached_block(index, number) {
            Some(pin) => Ok(pin),
            None => self
                .table
                .load_block(index, number, &self.options, Some(&mut self.readahead)),
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

    /// After a search: the next one in this block may ask for its memory early.
    #[inline]
    fn note_place(&self) {
        if let (Ok(index), Some(block)) = (self.table.index(), self.block.block()) {
            index.place(self.number).note(block);
        }
    }

    /// To the first entry behind this block.
    #[inline(never)]
    fn next_block(&mut self) {
        while !self.block_failed() && self.enter(self.number + 1) {
            self.block.seek_to_first();
            if self.block.valid() {
                if let Ok(index) = self.table.index() {
                    self.table
                        .prefetch_block(index, self.number + 1, Block::prefetch_front);
                }
                return;
            }
        }
    }

    /// To the last entry before this block.
    #[inline(never)]
    fn prev_block(&mut self) {
        while !self.block_failed() {
            match self.number.checked_sub(1) {
                Some(number) => {
                    if !self.enter(number) {
                        return;
                    }
                    self.block.seek_to_last();
                    if self.block.valid() {
                        if let (Ok(index), Some(before)) = (self.table.index(), number.checked_sub(1)) {
                            self.table.prefetch_block(index, before, Block::prefetch_back);
                        }
                        return;
                    }
                }
                None => return self.block.clear(),
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
