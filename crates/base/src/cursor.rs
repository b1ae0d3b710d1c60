//! The contract of all iteration over sorted entries: blocks, tables, levels, memtables, merges.

use std::ops::ControlFlow;

use crate::error::Result;

/// Walks entries sorted by internal key, forwards and backwards.
///
/// * A new cursor is not valid; `seek*` positions it. Every method that moves it may leave it not
///   [`valid`](Cursor::valid): past either end, or after an error. [`status`](Cursor::status) distinguishes
///   the two cases; it is `Ok` at an end.
/// * `next`, `prev`, `key` and `value` may be called only while the cursor is valid. Direction changes
///   freely: `prev` after `next` returns to the entry before.
/// * A cursor that runs off an end loses its position: `next` does not undo a `prev` past the first entry.
///   Seek again.
/// * `key` and `value` are borrowed until the cursor moves.
/// * `seek` clears an earlier error.
pub trait Cursor {
    /// True while the cursor is positioned on an entry.
    fn valid(&self) -> bool;

    /// Moves to the first entry.
    fn seek_to_first(&mut self);

    /// Moves to the last entry.
    fn seek_to_last(&mut self);

    /// Moves to the first entry at or after the internal key `target`.
    fn seek(&mut self, target: &[u8]);

    /// Moves to the last entry at or before the internal key `target`.
    fn seek_for_prev(&mut self, target: &[u8]);

    /// Moves to the next entry. Requires [`valid`](Cursor::valid).
    fn next(&mut self);

    /// Moves to the previous entry. Requires [`valid`](Cursor::valid).
    fn prev(&mut self);

    /// The internal key. Requires [`valid`](Cursor::valid).
    fn key(&self) -> &[u8];

    /// The value. Requires [`valid`](Cursor::valid).
    fn value(&self) -> &[u8];

    /// The error that made the cursor invalid, if one did.
    fn status(&self) -> Result<()>;
}

/// A cursor over entries that may be in blocks which can be taken whole: the input of compactions.
///
/// A merge of several sources may say that it is positioned on the first entry of a block of one source. If
/// no entry of another source falls between that block's entries, the block can be copied as it is. A cursor
/// that knows of no blocks needs none of these methods.
pub trait BlockwiseCursor: Cursor {
    /// True on the first entry of a block of one source. It may return false there too. It must be cheap,
    /// because it is called at every entry.
    #[inline]
    fn at_block_start(&self) -> bool {
        false
    }

    /// Returns a user key that is at or after every key of the current block, and before every later key of
    /// the other sources. `None` unless the cursor is at the start of a block and no other source has an
    /// entry within the block or another version of its last key.
    fn lone_block_bound(&self) -> Option<&[u8]> {
        None
    }

    /// Calls `visit` with the internal key and the value of each entry of the block that the cursor is at the
    /// start of, until `visit` breaks, and then returns to the start of the block. False if `visit` broke, or
    /// on an error.
    fn walk_block(&mut self, visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> bool {
        let _ = visit;
        false
    }

    /// Moves to the first entry after the current block.
    fn leave_block(&mut self) {}

    /// Moves to the next entry, and on while `visit`, which is called with each entry reached, accepts it: up
    /// to the end of the block, up to the next entry of another source, or up to a user key whose
    /// [prefix](crate::internal_key::prefix) is not below `stop`. The entry that the cursor stops at was not
    /// accepted, and `visit` may not have seen it. A cursor may stop sooner: this default takes one step.
    ///
    /// `visit` gets the internal key, the exact number of leading bytes that it shares with the key of the
    /// entry before, and the value.
    #[inline]
    fn run(&mut self, stop: u64, visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) {
        let _ = (stop, visit);
        self.next();
    }
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
