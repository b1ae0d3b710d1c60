//! The place of a file's open table, and the ways readers hold the table.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use sst::Table;

/// The place of a file's table, which may be open or not.
pub(crate) enum TablePlace {
    /// The place without a limit of open files: once opened, a table stays open as long as this place exists,
    /// and readers borrow it.
    Unlimited(OnceLock<Arc<Table>>),
    /// The place under a limit of open files: the table may be closed while it is read.
    Limited(ArcSwapOption<Table>),
}

impl TablePlace {
    /// A place whose table is not open.
    pub fn new(limited: bool) -> TablePlace {
        match limited {
            true => TablePlace::Limited(ArcSwapOption::empty()),
            false => TablePlace::Unlimited(OnceLock::new()),
        }
    }

    /// The table, if it is open. Takes no lock and counts no reference.
    #[inline]
    pub fn get(&self) -> Option<OpenTable<'_>> {
        match self {
            TablePlace::Unlimited(table) => table.get().map(OpenTable::Borrowed),
            TablePlace::Limited(table) => {
                let guard = table.load();
                guard.is_some().then_some(OpenTable::Guarded(guard))
            }
        }
    }

    /// Keeps `table` open, unless another thread has opened the table meanwhile. Returns the table that is
    /// used from now on.
    pub fn set(&self, table: Arc<Table>) -> OpenTable<'_> {
        match self {
            TablePlace::Unlimited(place) => OpenTable::Borrowed(place.get_or_init(|| table)),
            TablePlace::Limited(place) => {
                place.store(Some(table.clone()));
                OpenTable::Guarded(Guard::from_inner(Some(table)))
            }
        }
    }

    /// True if the table is open and a reader holds a reference to it.
    pub fn is_shared(&self) -> bool {
        match self.get() {
            Some(OpenTable::Borrowed(table)) => Arc::strong_count(table) > 1,
            Some(OpenTable::Guarded(guard)) => Arc::strong_count(guarded(&guard)) > 1,
            None => false,
        }
    }

    /// Closes the table when its last reader is done. Does nothing without a limit of open files.
    pub fn close(&self) {
        if let TablePlace::Limited(table) = self {
            table.store(None);
        }
    }

    /// Removes the table from this place and returns it.
    pub fn take(&mut self) -> Option<Arc<Table>> {
        match self {
            TablePlace::Unlimited(table) => table.take(),
            TablePlace::Limited(table) => table.swap(None),
        }
    }
}

/// A reader's hold on an open table: the table stays open while this exists.
pub(crate) enum OpenTable<'a> {
    Borrowed(&'a Arc<Table>),
    /// The guard of a table that was open when the guard was made, so that it is never `None`.
    Guarded(Guard<Option<Arc<Table>>>),
}

impl OpenTable<'_> {
    /// A counted reference to the table, for readers that keep it longer.
    pub fn share(&self) -> Arc<Table> {
        match self {
            OpenTable::Borrowed(table) => Arc::clone(table),
            OpenTable::Guarded(guard) => Arc::clone(guarded(guard)),
        }
    }
}

impl Deref for OpenTable<'_> {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        match self {
            OpenTable::Borrowed(table) => table,
            OpenTable::Guarded(guard) => guarded(guard),
        }
    }
}

#[inline]
fn guarded(guard: &Guard<Option<Arc<Table>>>) -> &Arc<Table> {
    guard.as_ref().expect("made of an open table alone")
}
