//! The sources of a tombstone cursor.

use std::sync::Arc;

use crate::fragments::FragmentedTombstones;
use crate::mem::{MemTombstones, MemView};
use crate::probe::Probe;

/// A source of a [`TombstoneCursor`](crate::TombstoneCursor).
#[derive(Clone, Debug)]
pub enum TombstoneSource {
    /// The tombstones of a table, or of anything else that does not change.
    Fragments(Arc<FragmentedTombstones>),
    /// The tombstones of a memtable at the time of [`MemTombstones::source`](crate::MemTombstones::source).
    Memtable(MemView),
}

impl TombstoneSource {
    /// True if there are no tombstones.
    pub fn is_empty(&self) -> bool {
        match self {
            TombstoneSource::Fragments(fragments) => fragments.is_empty(),
            TombstoneSource::Memtable(view) => view.is_empty(),
        }
    }

    /// Looks up `probe.key`. `hint` is where the last probe of this source ended.
    pub(crate) fn probe(&self, probe: &mut Probe<'_>, hint: &mut usize) {
        match self {
            TombstoneSource::Fragments(fragments) => fragments.probe(probe, hint),
            TombstoneSource::Memtable(view) => view.probe(probe),
        }
    }
}

impl From<Arc<FragmentedTombstones>> for TombstoneSource {
    fn from(fragments: Arc<FragmentedTombstones>) -> TombstoneSource {
        TombstoneSource::Fragments(fragments)
    }
}

impl MemTombstones {
    /// The tombstones added so far, for a [`TombstoneCursor`](crate::TombstoneCursor). Nothing is copied, and
    /// later additions are not included.
    pub fn source(&self) -> TombstoneSource {
        TombstoneSource::Memtable(self.view())
    }
}
