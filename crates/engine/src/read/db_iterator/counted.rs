//! The data that an open iterator reports: its age, its super version, the memory it holds.

use super::DbIterator;
use crate::state::open_iterators::OpenIterator;

impl DbIterator {
    /// The memory that the iterator holds itself, in bytes: without blocks and memtables, and without buffers
    /// that grow as it moves.
    fn holds(&self) -> usize {
        size_of::<DbIterator>() + self.cursor.memory_usage()
    }

    /// Adds the iterator to the family's list of open iterators.
    pub(super) fn enter(&mut self) {
        self.listed = self.family.iterators.enter(OpenIterator {
            opened: self.family.clock.coarse_now(),
            super_version: self.super_version.number,
            bytes: self.holds(),
        });
    }

    /// Reports that the iterator reads another super version.
    pub(super) fn record_moved(&self) {
        let number = self.super_version.number;
        self.family.iterators.say(self.listed, number, self.holds());
    }
}
