//! A cursor over a memtable.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use base::{Cursor, Result};

use crate::entry::{Entry, Target};
use crate::memtable::{Memtable, PinnedValue};
use crate::tree::{Place, found};

/// Entries ahead that a walk asks for.
const AHEAD: usize = 4;

/// Walks the entries of a memtable, which it keeps alive. Entries added while it lives may appear where they
/// belong, or not.
pub struct MemtableCursor {
    table: Arc<Memtable>,
    /// Of `table`.
    place: Place,
    /// The entry at the place; none while not valid.
    entry: Option<NonNull<Entry>>,
}

// SAFETY: the pointers lead to nodes and entries of `table`, which may be sent between threads.
unsafe impl Send for MemtableCursor {}
// SAFETY: shared access only reads the entry.
unsafe impl Sync for MemtableCursor {}

impl MemtableCursor {
    pub(crate) fn new(table: Arc<Memtable>) -> MemtableCursor {
        MemtableCursor {
            table,
            place: Place::NONE,
            entry: None,
        }
    }

    /// The memtable it walks.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }

    /// The value together with the memtable, independent of the cursor. Requires [`valid`](Cursor::valid).
    pub fn pin_value(&self) -> PinnedValue {
        PinnedValue::new(self.table.clone(), self.current())
    }

    #[inline]
    fn current(&self) -> NonNull<Entry> {
        self.entry.expect("a valid cursor")
    }

    /// To a place of the cursor's table.
    #[inline]
    fn go(&mut self, place: Place) {
        self.place = place;
        // SAFETY: the callers got it from this tree.
        self.entry = found(unsafe { self.table.tree().entry(&place) });
    }
}

impl Cursor for MemtableCursor {
    #[inline]
    fn valid(&self) -> bool {
        self.entry.is_some()
    }

    fn seek_to_first(&mut self) {
        self.go(self.table.tree().first());
    }

    fn seek_to_last(&mut self) {
        self.go(self.table.tree().last());
    }

    fn seek(&mut self, target: &[u8]) {
        self.go(self.table.tree().first_at_or_after(&Target::of(target)));
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.go(self.table.tree().last_up_to(&Target::of(target)));
    }

    #[inline]
    fn next(&mut self) {
        self.current();
        // SAFETY: the place is of the cursor's own tree, and at an entry.
        unsafe {
            let place = self.table.tree().next(&self.place);
            self.table.tree().prefetch_ahead(&self.place, &place, AHEAD);
            self.go(place);
        }
    }

    #[inline]
    fn prev(&mut self) {
        self.current();
        // SAFETY: as in `next`.
        unsafe {
            let place = self.table.tree().prev(&self.place);
            self.table.tree().prefetch_behind(&self.place, &place, AHEAD);
            self.go(place);
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: the entry is of `table`, which lives as long as the borrow of `self`.
        unsafe { Entry::key(self.current().as_ptr()) }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        // SAFETY: as in `key`.
        unsafe { Entry::value(self.current().as_ptr()) }
    }

    #[inline]
    fn status(&self) -> Result<()> {
        Ok(())
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
