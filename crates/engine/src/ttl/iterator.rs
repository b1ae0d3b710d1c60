//! Iterators over values with a suffix.

use std::sync::Arc;

use base::{Error, Result};

use super::rules::Rules;
use crate::read::db_iterator::DbIterator;

/// Iterates over the rows of a family of a [`DbWithTtl`](super::DbWithTtl) as a [`DbIterator`] does; values
/// have no suffix, and in a family with a time to live per key expired rows are skipped. A value without a
/// suffix ends the iteration with `Corruption`.
///
/// See the example of [`DbWithTtl`](super::DbWithTtl).
pub struct TtlIterator {
    iter: DbIterator,
    rules: Arc<Rules>,
    /// The length of the current value in bytes, without its suffix.
    len: usize,
    /// The time in the suffix of the current value.
    stamp: u64,
    error: Option<Error>,
}

impl TtlIterator {
    pub(super) fn new(iter: DbIterator, rules: Arc<Rules>) -> TtlIterator {
        TtlIterator {
            iter,
            rules,
            len: 0,
            stamp: 0,
            error: None,
        }
    }

    /// True while the iterator is at a row.
    pub fn valid(&self) -> bool {
        self.error.is_none() && self.iter.valid()
    }

    /// The error that ended the iteration, if one did.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or_else(|| self.iter.status(), Err)
    }

    /// The current key. Panics unless [`valid`](TtlIterator::valid).
    pub fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// The current value. Panics unless [`valid`](TtlIterator::valid).
    pub fn value(&self) -> &[u8] {
        &self.iter.value()[..self.len]
    }

    /// The time in the suffix of the current value: the Unix seconds of its write; with a time to live per
    /// key, the Unix microseconds of its expiry, or 0.
    pub fn ttl_timestamp(&self) -> u64 {
        self.stamp
    }

    /// Moves to the first row.
    pub fn seek_to_first(&mut self) {
        self.moved(true, DbIterator::seek_to_first);
    }

    /// Moves to the last row.
    pub fn seek_to_last(&mut self) {
        self.moved(false, DbIterator::seek_to_last);
    }

    /// Moves to the first row at or after `key`.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.moved(true, |iter| iter.seek(key.as_ref()));
    }

    /// Moves to the last row at or before `key`.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        self.moved(false, |iter| iter.seek_for_prev(key.as_ref()));
    }

    /// Moves to the next row. Panics unless [`valid`](TtlIterator::valid).
    pub fn next(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        self.moved(true, DbIterator::next);
    }

    /// Moves to the previous row. Panics unless [`valid`](TtlIterator::valid).
    pub fn prev(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        self.moved(false, DbIterator::prev);
    }

    /// Moves, and then continues in the same direction past hidden rows.
    fn moved(&mut self, forwards: bool, first: impl FnOnce(&mut DbIterator)) {
        self.error = None;
        first(&mut self.iter);
        while self.iter.valid() {
            match self.rules.split(self.iter.value()) {
                Ok((bare, stamp)) if !self.rules.is_hidden(stamp, self.rules.now()) => {
                    (self.len, self.stamp) = (bare.len(), stamp);
                    return;
                }
                Ok(_) if forwards => self.iter.next(),
                Ok(_) => self.iter.prev(),
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            }
        }
    }
}
