//! A cursor over a memtable.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use base::prefix::PrefixExtractor;
use base::{Cursor, Error, Result};

use crate::checks;
use crate::entry::{Entry, Target};
use crate::memtable::{Memtable, PinnedValue};
use crate::tree::{LeafPosition, found};

/// The number of entries that a walk prefetches.
const AHEAD: usize = 4;

/// A cursor over the entries of a memtable, which it keeps alive. Entries added during its life may or may
/// not appear.
pub struct MemtableCursor {
    table: Arc<Memtable>,
    /// A place in `table`.
    place: LeafPosition,
    /// The entry at the place; `None` while not valid.
    entry: Option<NonNull<Entry>>,
    /// The error of a check, which made the cursor invalid.
    error: Option<Error>,
}

// SAFETY: the pointers lead to nodes and entries of `table`, which may be sent between threads.
unsafe impl Send for MemtableCursor {}
// SAFETY: shared access only reads the entry.
unsafe impl Sync for MemtableCursor {}

impl MemtableCursor {
    pub(crate) fn new(table: Arc<Memtable>) -> MemtableCursor {
        MemtableCursor {
            table,
            place: LeafPosition::NONE,
            entry: None,
            error: None,
        }
    }

    /// The memtable.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }

    /// The value as a pin that keeps the memtable alive, independent of the cursor. Requires
    /// [`valid`](Cursor::valid).
    pub fn pin_value(&self) -> PinnedValue {
        PinnedValue::new(self.table.clone(), self.current())
    }

    /// Moves as [`seek`](Cursor::seek) does, for a caller that needs only keys with `target`'s prefix by
    /// `extractor`: the cursor is not valid if the memtable's filter excludes that prefix.
    pub fn seek_within_prefix(&mut self, target: &[u8], extractor: &dyn PrefixExtractor) {
        match self.table.may_contain_prefix(extractor, target) {
            Some(false) => self.leave(),
            _ => self.seek(target),
        }
    }

    /// Moves as [`seek_for_prev`](Cursor::seek_for_prev) does, with the same restriction to a prefix.
    pub fn seek_for_prev_within_prefix(&mut self, target: &[u8], extractor: &dyn PrefixExtractor) {
        match self.table.may_contain_prefix(extractor, target) {
            Some(false) => self.leave(),
            _ => self.seek_for_prev(target),
        }
    }

    fn leave(&mut self) {
        self.place = LeafPosition::NONE;
        self.entry = None;
        self.error = None;
    }

    #[inline]
    fn current(&self) -> NonNull<Entry> {
        self.entry.expect("a valid cursor")
    }

    /// Moves to a place of the cursor's table.
    #[inline]
    fn go(&mut self, place: LeafPosition) {
        self.place = place;
        self.entry = found(self.table.tree().entry(&place));
    }

    /// Runs `go`, a step or a search, in a memtable with checks, and then verifies the entries it met and its
    /// result. `order` is the target to compare with where neighbours are compared.
    #[cold]
    #[inline(never)]
    fn checked(
        &mut self,
        go: impl FnOnce(&mut MemtableCursor),
        order: impl FnOnce(&MemtableCursor) -> Result<()>,
    ) {
        let checks = self.table.tree().checks;
        self.error = None;
        checks::begin();
        go(self);
        // SAFETY: the search was in this tree, and the entry is one of the tree's entries.
        let checked = unsafe {
            checks::end(checks)
                .and_then(|()| self.entry.map_or(Ok(()), |entry| checks.verify(entry.as_ptr())))
                .and_then(|()| if checks.order { order(self) } else { Ok(()) })
                .and_then(|()| checks::end(checks))
        };
        if let Err(error) = checked {
            self.entry = None;
            self.error = Some(error);
        }
    }

    /// Makes a checked step from the current entry.
    #[cold]
    #[inline(never)]
    fn checked_step(&mut self, forward: bool) {
        let from = self.current();
        let go = |cursor: &mut MemtableCursor| match forward {
            true => cursor.step_forward(),
            false => cursor.step_back(),
        };
        self.checked(go, |cursor| {
            // SAFETY: the entry is of this tree, and was verified when it was reached.
            let from = unsafe { Entry::key(from.as_ptr()) };
            match (cursor.entry.is_some(), forward) {
                (true, true) => cursor.table.tree().check_order(from, cursor.key()),
                (true, false) => cursor.table.tree().check_order(cursor.key(), from),
                (false, _) => Ok(()),
            }
        });
    }

    #[inline(always)]
    fn step_forward(&mut self) {
        // SAFETY: the place is of the cursor's own tree, and at an entry.
        unsafe {
            let tree = self.table.tree();
            let stayed = tree.advance(&mut self.place);
            tree.prefetch_ahead(&self.place, stayed, AHEAD);
            self.entry = found(tree.entry(&self.place));
        }
    }

    #[inline(always)]
    fn step_back(&mut self) {
        // SAFETY: the place is of the cursor's own tree, and at an entry.
        unsafe {
            let tree = self.table.tree();
            let stayed = tree.retreat(&mut self.place);
            tree.prefetch_behind(&self.place, stayed, AHEAD);
            self.entry = found(tree.entry(&self.place));
        }
    }

    /// Runs a search, for `target` if it has one.
    #[inline(always)]
    fn search(&mut self, target: Option<&[u8]>, go: impl FnOnce(&mut MemtableCursor)) {
        self.table.sort();
        if !self.table.tree().checks.any {
            return go(self);
        }
        self.checked(go, |cursor| match target {
            Some(target) => cursor.table.tree().check_order_around(&Target::of(target)),
            None => Ok(()),
        });
    }
}

impl Cursor for MemtableCursor {
    #[inline]
    fn valid(&self) -> bool {
        self.entry.is_some()
    }

    fn seek_to_first(&mut self) {
        self.search(None, |cursor| cursor.go(cursor.table.tree().first()));
    }

    fn seek_to_last(&mut self) {
        self.search(None, |cursor| cursor.go(cursor.table.tree().last()));
    }

    fn seek(&mut self, target: &[u8]) {
        self.search(Some(target), |cursor| {
            cursor.go(cursor.table.tree().first_at_or_after(&Target::of(target)));
        });
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.search(Some(target), |cursor| {
            cursor.go(cursor.table.tree().last_up_to(&Target::of(target)));
        });
    }

    #[inline]
    fn next(&mut self) {
        self.current();
        if self.table.tree().checks.any {
            return self.checked_step(true);
        }
        self.step_forward();
    }

    #[inline]
    fn prev(&mut self) {
        self.current();
        if self.table.tree().checks.any {
            return self.checked_step(false);
        }
        self.step_back();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: the entry is of `table`, which lives as long as the borrow of `self`.
        unsafe { Entry::key(self.current().as_ptr()) }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        // SAFETY: the entry is of `table`, which lives as long as the borrow of `self`.
        unsafe { Entry::value(self.current().as_ptr()) }
    }

    #[inline]
    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

impl fmt::Debug for MemtableCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemtableCursor")
            .field("table", &self.table)
            .field("valid", &self.valid())
            .finish()
    }
}

impl Memtable {
    /// A cursor over the entries, without the range tombstones. It sees entries that are added during its
    /// life.
    pub fn cursor(self: &Arc<Self>) -> MemtableCursor {
        MemtableCursor::new(self.clone())
    }
}
