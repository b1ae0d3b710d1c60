//! What an open iterator says of itself: since when it is open, what it reads, what it holds.

use super::DbIterator;
use crate::read::open_iterators::OpenIterator;

impl DbIterator {
    /// What it holds for itself, beside blocks and memtables, and but for what grows while it is moved.
    fn holds(&self) -> usize {
        size_of::<DbIterator>() + self.cursor.memory_usage()
    }

    /// Has the family list it.
    pub(super) fn enter(&mut self) {
        self.listed = self.family.iterators.enter(OpenIterator {
            opened: self.family.clock.coarse_now(),
            super_version: self.super_version.number,
            bytes: self.holds(),
        });
    }

    /// It reads another super version.
    pub(super) fn note_moved(&self) {
        let number = self.super_version.number;
        self.family.iterators.say(self.listed, number, self.holds());
    }
}
