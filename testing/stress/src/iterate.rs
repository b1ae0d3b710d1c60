//! Moves of an iterator: plain, tailing, refreshed, with a limit of skipped entries, or reading memory alone.

use base::{Error, ErrorKind};
use esker::{DbIterator, ReadOptions, ReadTier};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::verify;
use crate::worker::{SCAN_WIDTH, Worker};

/// The number of moves of an iterator.
const STEPS: usize = 40;

/// The most entries that an iterator with a limit may skip in a move.
const FEW: u64 = 30;

/// A move of an iterator.
#[derive(Clone, Copy, Debug)]
enum Move {
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
    fn is_seek(self) -> bool {
        !matches!(self, Move::Next | Move::Prev | Move::Refresh(_))
    }

    fn make(self, iter: &mut DbIterator) {
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
    fn expected<T>(self, rows: &[(u64, T)], at: Option<usize>) -> Option<usize> {
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
    /// Sets unusual options now and then.
    fn unusual(&mut self, options: ReadOptions) -> ReadOptions {
        ReadOptions {
            tailing: self.rng.u32(..5) == 0,
            max_skippable_internal_keys: match self.rng.u32(..8) {
                0 => self.rng.u64(1..FEW),
                _ => 0,
            },
            read_tier: match self.rng.u32(..12) {
                0 => ReadTier::BlockCache,
                _ => options.read_tier,
            },
            ..options
        }
    }

    fn draw_move(&mut self, keys: &std::ops::Range<u64>, stands: bool) -> Move {
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

    /// Moves an iterator, changing direction at random, and compares its positions with the expected ones.
    pub(super) fn iterate(&mut self) -> Outcome {
        if self.stress.flags.use_multiscan && self.rng.bool() {
            return self.scan_ranges();
        }
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let bounded = self.bounded(&keys);
        let options = self.unusual(bounded);
        let may_give_up =
            options.max_skippable_internal_keys > 0 || options.read_tier == ReadTier::BlockCache;
        let gave_up = |error: &Error| may_give_up && error.kind() == ErrorKind::Incomplete;
        let ((mut iter, opened), seen) = self.see(family, keys.clone(), |handle| {
            (self.open.db.iter_cf_opt(handle, &options), handle.id())
        })?;
        self.done.count(What::Iterate);
        let mut rows = seen.rows();
        let mut at: Option<usize> = None;
        for _ in 0..self.rng.usize(1..STEPS) {
            let step = self.draw_move(&keys, at.is_some());
            match step {
                Move::Refresh(at_snapshot) => {
                    let db = &self.open.db;
                    // A tailing iterator refuses a snapshot. A refresh to another snapshot would release the
                    // files that it reads, and its snapshot does not keep rows that the filter removes.
                    let may = !options.tailing && !self.stress.flags.changes_snapshots();
                    let (refreshed, seen) = self.see(family, keys.clone(), |handle| {
                        let snapshot = (at_snapshot && may).then(|| db.snapshot());
                        (handle.id() == opened).then(|| iter.refresh(snapshot.as_ref()))
                    })?;
                    match refreshed {
                        Some(Ok(())) => rows = seen.rows(),
                        Some(Err(error)) if !gave_up(&error) => return Err(error.into()),
                        // The snapshot's reads of this family fail: the family was dropped, and another one
                        // has its name.
                        _ => return Ok(()),
                    }
                    self.done.count(What::Refresh);
                }
                // A tailing iterator sees the current state.
                _ if options.tailing && step.is_seek() => {
                    let (same, seen) = self.see(family, keys.clone(), |handle| {
                        step.make(&mut iter);
                        handle.id() == opened
                    })?;
                    if !same {
                        return Ok(());
                    }
                    rows = seen.rows();
                }
                _ => step.make(&mut iter),
            }
            match iter.status() {
                Ok(()) => at = step.expected(&rows, at),
                Err(error) if gave_up(&error) => at = None,
                Err(error) => return Err(error.into()),
            }
            let expected = at.map(|at| (keys::key(rows[at].0), self.stress.value(rows[at].0, rows[at].1)));
            let found = verify::row(&mut iter);
            if found != expected.as_ref().map(|row| (&row.0[..], &row.1[..])) {
                let found = format!("{found:02x?}");
                // An error is allowed if an injected failure has hit the read of the value.
                match iter.status() {
                    Err(error) if gave_up(&error) => at = None,
                    Err(error) => return Err(error.into()),
                    Ok(()) => {
                        return Err(Failure::Mismatch(format!(
                            "column family {family}, keys {keys:?}, {options:?}: after {step:?} an iterator stands on {found}, expected is {expected:02x?}"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}
