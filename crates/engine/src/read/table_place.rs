//! Where a file's open table hangs, and how readers hold it.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use sst::Table;

/// The place of a file's table, open or not.
pub(super) enum TablePlace {
    /// Nobody limits how many are open: once opened, a table stays as long as this does, and readers borrow it.
    Unlimited(OnceLock<Arc<Table>>),
    /// It may be closed while it is read.
    Limited(ArcSwapOption<Table>),
}

impl TablePlace {
    /// Of a table that is not open.
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

    /// Keeps `table` open, unless another was opened meanwhile and stays: the one that is used from now on.
    pub fn set(&self, table: Arc<Table>) -> OpenTable<'_> {
        match self {
            TablePlace::Unlimited(place) => OpenTable::Borrowed(place.get_or_init(|| table)),
            TablePlace::Limited(place) => {
                place.store(Some(table.clone()));
                OpenTable::Guarded(Guard::from_inner(Some(table)))
            }
        }
    }

    /// True if the table is open and somebody has a share of it.
    pub fn is_shared(&self) -> bool {
        match self.get() {
            Some(OpenTable::Borrowed(table)) => Arc::strong_count(table) > 1,
            Some(OpenTable::Guarded(guard)) => Arc::strong_count(guarded(&guard)) > 1,
            None => false,
        }
    }

    /// Closes the table when its last reader is done, where the number of open tables is limited.
    pub fn close(&self) {
        if let TablePlace::Limited(table) = self {
            table.store(None);
        }
    }

    /// The table, which hangs here no more.
    pub fn take(&mut self) -> Option<Arc<Table>> {
        match self {
            TablePlace::Unlimited(table) => table.take(),
            TablePlace::Limited(table) => table.swap(None),
        }
    }
}

/// A table that stays open while this exists.
pub(crate) enum OpenTable<'a> {
    Borrowed(&'a Arc<Table>),
    /// Of an open table alone.
    Guarded(Guard<Option<Arc<Table>>>),
}

impl OpenTable<'_> {
    /// A share of it, for whoever keeps it longer.
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
