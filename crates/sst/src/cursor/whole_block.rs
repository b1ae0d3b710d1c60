//! A data block taken as a whole, its entries looked at and its bytes copied; or many of its entries at once.

use std::ops::ControlFlow;

use base::internal_key::{TRAILER_LEN, prefix, user_key};
use base::{Error, Result};

use super::TableCursor;
use crate::block::Block;
use crate::fetch::StoredBlock;
use crate::reader::index_of;

/// Bytes that a [prefix] is made of.
const PREFIX_LEN: usize = 8;

/// The [prefix] of a user key, known from the one before.
#[derive(Clone, Copy)]
struct KeyPrefix {
    value: u64,
    /// The user key is no shorter.
    whole: bool,
}

impl KeyPrefix {
    fn of(internal_key: &[u8]) -> KeyPrefix {
        KeyPrefix {
            value: prefix(user_key(internal_key)),
            whole: internal_key.len() >= PREFIX_LEN + TRAILER_LEN,
        }
    }

    /// That of the internal key that has `common` bytes in common with this one, and `rest` behind them. `None` where one of them is short.
    #[inline(always)]
    fn next(self, common: usize, rest: &[u8]) -> Option<KeyPrefix> {
        if !self.whole || common + rest.len() < PREFIX_LEN + TRAILER_LEN {
            return None;
        }
        if common >= PREFIX_LEN {
            return Some(self);
        }
        let rest = u64::from_be_bytes(*rest.first_chunk::<PREFIX_LEN>()?);
        let own = u64::MAX >> (8 * common);
        Some(KeyPrefix {
            value: self.value & !own | rest >> (8 * common),
            ..self
        })
    }
}

impl TableCursor {
    /// True on the first entry of a block.
    #[inline(always)]
    pub fn at_block_start(&self) -> bool {
        self.block.at_first()
    }

    /// Where it stands on the first entry of a block whose keys are read as they are stored: a user key at or behind those of the block. No
    /// entry behind the block is before it.
    pub fn block_bound(&self) -> Option<&[u8]> {
        if !self.at_block_start() || !self.reads_as_stored() {
            return None;
        }
        let index = self.index().filter(|index| self.number < index.len())?;
        let separator = index.separator(self.number);
        Some(match index.has_user_keys() {
            true => separator,
            false => user_key(separator),
        })
    }

    /// The block it stands in.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.block.block()
    }

    /// Shows `visit` the key and the value of each entry of the block until it breaks off, and stands on the first again. False if it
    /// broke off, or an entry was damaged, which a walk entry by entry will tell.
    pub fn walk_block(&mut self, mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> bool {
        self.block.seek_to_first();
        let mut whole = true;
        while self.block.valid() {
            if visit(self.block.key(), self.block.value()).is_break() {
                whole = false;
                break;
            }
            self.block.next();
        }
        whole &= self.block.take_error().is_none();
        self.block.seek_to_first();
        whole
    }

    /// To the entry after, and on through the block for as long as `visit` takes what it comes to, up to a user key whose prefix is not below
    /// `stop`. What it stands on then was not taken. True if that is behind the block. `visit` gets the key, how many bytes it has in common with
    /// the one before, and the value. Requires that keys are [read as they are stored](TableCursor::reads_as_stored).
    #[inline]
    pub fn run(&mut self, stop: u64, mut visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) -> bool {
        let mut prefix = KeyPrefix::of(self.block.key());
        loop {
            let (common, rest) = self.block.next_sharing();
            let next = prefix.next(common, rest);
            if !self.block.valid() {
                self.next_block();
                return true;
            }
            prefix = next.unwrap_or_else(|| KeyPrefix::of(self.block.key()));
            if prefix.value >= stop || visit(self.block.key(), common, self.block.value()).is_break() {
                return false;
            }
        }
    }

    /// True if blocks hold the keys that are read.
    #[inline]
    pub fn reads_as_stored(&self) -> bool {
        self.table.form.is_plain()
    }

    /// To the first entry behind the block.
    pub fn leave_block(&mut self) {
        self.next_block();
    }

    /// What `take` makes of the block as it is stored. Its checksum is verified, whatever the options say: nobody else will look at its bytes.
    pub(crate) fn with_stored_block<R>(&mut self, take: impl FnOnce(StoredBlock<'_>) -> R) -> Result<R> {
        let table = &*self.table;
        let index = match table.loaded_index() {
            Some(index) => Some(index),
            None => match self.part.as_deref() {
                Some(part) => Some(index_of(part)?),
                None => None,
            },
        };
        let Some(index) = index.filter(|index| self.number < index.len()) else {
            return Err(Error::invalid_argument("the cursor stands in no block"));
        };
        let handle = index.handle(self.number);
        let readahead = self.readahead.get_or_insert_default();
        // It may have come from the cache.
        if table.fetcher.file().mapped().is_none() && !readahead.span().holds(handle) {
            readahead.before_read(table, index, self.number, &self.options)?;
        }
        table
            .fetcher
            .with_stored(readahead.file(table), handle, readahead.span(), take)
    }
}
