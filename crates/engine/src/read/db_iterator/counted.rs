//! What open iterators hold, for the memory ledger.

use std::sync::atomic::Ordering;

use super::DbIterator;

impl DbIterator {
    /// Has the family count what it holds for itself, beside blocks and memtables, and but for what grows while it is moved.
    pub(super) fn count(&mut self) {
        let holds = size_of::<DbIterator>() + self.cursor.memory_usage();
        if holds != self.counted {
            let memory = &self.family.iterator_memory;
            memory.fetch_add(holds.wrapping_sub(self.counted), Ordering::Relaxed);
            self.counted = holds;
        }
    }

    /// Takes it back, at the end.
    pub(super) fn uncount(&mut self) {
        let memory = &self.family.iterator_memory;
        memory.fetch_sub(std::mem::take(&mut self.counted), Ordering::Relaxed);
    }
}
