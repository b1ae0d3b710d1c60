//! Whole data blocks: their entries are examined and their bytes copied; or many entries of a block at once.

use std::ops::ControlFlow;

use base::internal_key::{TRAILER_LEN, prefix, user_key};
use base::{Error, Result};

use super::TableCursor;
use crate::block::Block;
use crate::fetch::StoredBlock;
use crate::reader::index_of;

/// The number of bytes of a [prefix].
const PREFIX_LEN: usize = 8;

/// The [prefix] of a user key, computed from the previous one.
#[derive(Clone, Copy)]
struct KeyPrefix {
    value: u64,
    /// True if the user key has at least the length of the prefix.
    whole: bool,
}

impl KeyPrefix {
    fn of(internal_key: &[u8]) -> KeyPrefix {
        KeyPrefix {
            value: prefix(user_key(internal_key)),
            whole: internal_key.len() >= PREFIX_LEN + TRAILER_LEN,
        }
    }

    /// Returns the prefix of the internal key that consists of the first `common` bytes of this key and of
    /// `rest`. `None` if one of the two keys is shorter than a prefix.
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
    /// True at the first entry of a block.
    #[inline(always)]
    pub fn at_block_start(&self) -> bool {
        self.block.at_first()
    }

    /// At the first entry of a block whose keys are read as stored: a user key at or after all keys of the
    /// block. No entry after the block is before it.
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

    /// The block in which the cursor is.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.block.block()
    }

    /// Calls `visit` with the key and the value of each entry of the block until it breaks, and moves to the
    /// first entry again. False if it broke, or an entry was corrupt, which a walk entry by entry will
    /// report.
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

    /// Moves to the next entry, and on through the block as long as `visit` accepts the entries, up to a user
    /// key whose prefix is not below `stop`. The entry at the final position was not accepted. True if that
    /// is after the block. `visit` gets the key, the number of bytes it shares with the previous one, and the
    /// value. Requires that keys are [read as stored](TableCursor::reads_as_stored).
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

    /// True if keys equal the stored bytes.
    #[inline]
    pub fn reads_as_stored(&self) -> bool {
        self.table.form.is_plain()
    }

    /// Moves to the first entry after the block.
    pub fn leave_block(&mut self) {
        self.next_block();
    }

    /// Calls `take` with the block in its stored form. Its checksum is verified, whatever the options say,
    /// because its bytes are not checked later.
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
            return Err(Error::invalid_argument("the cursor is in no block"));
        };
        let handle = index.handle(self.number);
        let readahead = &mut self.reads.get_or_insert_default().readahead;
        // The block may have come from the cache.
        if table.fetcher.file().mapped().is_none() && !readahead.span().holds(handle) {
            readahead.before_read(table, index, self.number, &self.options)?;
        }
        table
            .fetcher
            .with_stored(readahead.file(table), handle, readahead.span(), take)
    }
}
