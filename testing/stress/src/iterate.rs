//! Moves of an iterator: plain, tailing, refreshed, with a limit of skipped entries, or reading memory alone.

use base::{Error, ErrorKind};
use esker::{ReadOptions, ReadTier};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::moves::{Move, STEPS};
use crate::verify;
use crate::worker::{SCAN_WIDTH, Worker};

/// The most entries that an iterator with a limit may skip in a move.
const FEW: u64 = 30;

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

    /// Moves an iterator, changing direction at random, and compares its positions with the expected ones.
    pub(super) fn iterate(&mut self) -> Outcome {
        if self.stress.flags.use_multiscan && self.rng.bool() {
            return self.scan_ranges();
        }
        if self.stress.flags.use_multi_cf_iterator && self.rng.bool() {
            return self.iterate_families();
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
