//! Moves of iterators, drawn at random, and where they must lead.

use std::ops::Range;

use esker::DbIterator;

use crate::keys;
use crate::worker::Worker;

/// The number of moves of an iterator.
pub(super) const STEPS: usize = 40;

/// A move of an iterator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Next,
    Prev,
    /// Moves to this key, or to the next.
    Seek(u64),
    /// Moves to this key, or to the one before.
    SeekForPrev(u64),
    SeekToFirst,
    SeekToLast,
    /// Refreshes to the current state, or to a snapshot.
    Refresh(bool),
}

impl Move {
    /// True if the target does not depend on the position before.
    pub(super) fn is_seek(self) -> bool {
        !matches!(self, Move::Next | Move::Prev | Move::Refresh(_))
    }

    pub(super) fn make(self, iter: &mut DbIterator) {
        match self {
            Move::Next => iter.next(),
            Move::Prev => iter.prev(),
            Move::Seek(key) => iter.seek(&keys::key(key)),
            Move::SeekForPrev(key) => iter.seek_for_prev(&keys::key(key)),
            Move::SeekToFirst => iter.seek_to_first(),
            Move::SeekToLast => iter.seek_to_last(),
            Move::Refresh(_) => {}
        }
    }

    /// The index among `rows` after the move, if the index before it was `at`.
    pub(super) fn expected<T>(self, rows: &[(u64, T)], at: Option<usize>) -> Option<usize> {
        match self {
            Move::Next => at.map(|at| at + 1).filter(|&at| at < rows.len()),
            Move::Prev => at?.checked_sub(1),
            Move::Seek(key) => rows.iter().position(|row| row.0 >= key),
            Move::SeekForPrev(key) => rows.iter().rposition(|row| row.0 <= key),
            Move::SeekToFirst => (!rows.is_empty()).then_some(0),
            Move::SeekToLast => rows.len().checked_sub(1),
            Move::Refresh(_) => None,
        }
    }
}

impl Worker<'_> {
    /// Draws a move of an iterator over `keys`; `stands` if it has a position.
    pub(super) fn draw_move(&mut self, keys: &Range<u64>, stands: bool) -> Move {
        match self.rng.u32(..25) {
            0..8 if stands => Move::Next,
            8..16 if stands => Move::Prev,
            0..4 | 16 | 17 => Move::Seek(self.rng.u64(keys.clone())),
            4..8 | 18 | 19 => Move::SeekForPrev(self.rng.u64(keys.clone())),
            8..12 | 20 => Move::SeekToFirst,
            12..16 | 21 | 22 => Move::SeekToLast,
            _ => Move::Refresh(self.rng.bool()),
        }
    }
}
