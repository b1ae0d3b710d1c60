//! The contract of everything that walks sorted entries: blocks, tables, levels, memtables, merges.

use crate::error::Result;

/// Walks entries sorted by internal key, forwards and backwards.
///
/// * A new cursor is not valid; `seek*` places it. Every method that moves it may leave it not [`valid`](Cursor::valid):
///   beyond either end, or after an error. Then [`status`](Cursor::status) tells the two apart; an end is `Ok`.
/// * `next`, `prev`, `key` and `value` may be called only while valid. Direction changes freely: after `next` a `prev`
///   returns to the entry before.
/// * Running off an end loses the place: `prev` past the first entry is not undone by `next`. Seek again.
/// * `key` and `value` are borrowed until the cursor moves.
/// * `seek` clears an earlier error.
pub trait Cursor {
    /// True while it stands on an entry.
    fn valid(&self) -> bool;

    /// To the first entry.
    fn seek_to_first(&mut self);

    /// To the last entry.
    fn seek_to_last(&mut self);

    /// To the first entry at or after the internal key `target`.
    fn seek(&mut self, target: &[u8]);

    /// To the last entry at or before the internal key `target`.
    fn seek_for_prev(&mut self, target: &[u8]);

    /// To the entry after. Requires [`valid`](Cursor::valid).
    fn next(&mut self);

    /// To the entry before. Requires [`valid`](Cursor::valid).
    fn prev(&mut self);

    /// The internal key. Requires [`valid`](Cursor::valid).
    fn key(&self) -> &[u8];

    /// The value. Requires [`valid`](Cursor::valid).
    fn value(&self) -> &[u8];

    /// The error that made it invalid, if one did.
    fn status(&self) -> Result<()>;
}

impl<C: Cursor + ?Sized> Cursor for Box<C> {
    fn valid(&self) -> bool {
        (**self).valid()
    }
    fn seek_to_first(&mut self) {
        (**self).seek_to_first();
    }
    fn seek_to_last(&mut self) {
        (**self).seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        (**self).seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        (**self).seek_for_prev(target);
    }
    fn next(&mut self) {
        (**self).next();
    }
    fn prev(&mut self) {
        (**self).prev();
    }
    fn key(&self) -> &[u8] {
        (**self).key()
    }
    fn value(&self) -> &[u8] {
        (**self).value()
    }
    fn status(&self) -> Result<()> {
        (**self).status()
    }
}
