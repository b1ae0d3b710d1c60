//! The contract of everything that walks sorted entries: blocks, tables, levels, memtables, merges.

use std::ops::ControlFlow;

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

/// A cursor over entries that may lie in blocks, which can be taken whole: what compactions read.
///
/// A merge of several sources may say where it stands on the first entry of a block of one of them, so that a block between whose
/// entries nothing comes from elsewhere can be written as it is. A cursor that knows of no blocks needs none of the methods.
pub trait BlockwiseCursor: Cursor {
    /// True on the first entry of a block of one source, though not on all of them. Cheap: it is asked at every entry.
    #[inline]
    fn at_block_start(&self) -> bool {
        false
    }

    /// Where no other source has anything before the end of the block it stands at the beginning of, nor another version of its last
    /// key: a user key at or behind all of the block, and before all that comes from other sources.
    fn lone_block_bound(&self) -> Option<&[u8]> {
        None
    }

    /// Shows `visit` the internal key and the value of each entry of the block it stands at the beginning of, until it breaks off,
    /// and stands there again. False if it broke off, or something was wrong.
    fn walk_block(&mut self, visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> bool {
        let _ = visit;
        false
    }

    /// To the first entry behind the block it stands in.
    fn leave_block(&mut self) {}

    /// To the entry after, and on, for as long as `visit`, which is shown each entry it comes to, takes it: up to the end of the block, up to
    /// the next entry of another source, or up to a user key whose [prefix](crate::internal_key::prefix) is not below `stop`. What it stands on
    /// then was not taken, and may not have been shown. A cursor may stop sooner: this one takes one step.
    ///
    /// `visit` gets the internal key, how many bytes exactly it has in common with that of the entry before, and the value.
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
