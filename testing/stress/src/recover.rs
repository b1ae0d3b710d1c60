//! Recovery of the expected state: after the database was opened, the state is set to what the database
//! contains, if that is allowed.

use base::SeqNo;
use esker::ReadOptions;

use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::outside;
use crate::restore::History;
use crate::stress::{Open, Stress};
use crate::trace::{Floor, Together};
use crate::verify;

/// The result of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The number of pending changes of keys, or of operations in progress.
    pub pending: u64,
    /// The number of operations that had returned and were lost, as they may be.
    pub lost: u64,
}

impl Stress {
    /// After the process died or power was lost: finds what survived, and checks that against the promises.
    pub fn recover(&self, open: &Open) -> Outcome<Recovered> {
        let mut recovered = Recovered::default();
        match self.expected.traced()? {
            None => recovered.pending = self.settle(open)?,
            Some((base, events)) => {
                // If this process holds writes back, its unflushed writes were lost when the database was
                // closed after a failure.
                let kept_back = self.has_recovered() && self.flags.holds_back();
                let history = History {
                    base,
                    keys: self.expected.keys(),
                    all_acknowledged: self.all_acknowledged && !kept_back,
                    events,
                };
                let survived = history.restore(&self.found(open)?).map_err(Failure::Mismatch)?;
                self.expected.restore(&survived.values)?;
                recovered.pending = survived.came_true as u64;
                recovered.lost = survived.lost as u64;
            }
        }
        let together = match self.flags.disable_wal && !self.options.atomic_flush {
            true => Together::EachFamily,
            false => Together::All,
        };
        self.expected.restart_trace(together)?;
        // The compaction filter may use the expected state from now on: before, it contained operations that
        // the crash took.
        for (index, family) in open.families.iter().enumerate() {
            self.families.know(family.read().id(), index);
        }
        *self.when_opened.write() = self.expected.values();
        self.set_recovered();
        Ok(recovered)
    }

    /// Finds, among the pending changes, those that were done.
    fn settle(&self, open: &Open) -> Outcome<u64> {
        let mut pending = 0;
        for (family, handle) in open.families.iter().enumerate() {
            let handle = handle.read();
            for key in 0..self.expected.keys() {
                let expected = self.expected.get(family, key);
                if !expected.is_pending() {
                    continue;
                }
                pending += 1;
                let found = open.db.get_cf(&handle, keys::key(key))?;
                // The deletion of an absent key counts as done: its entry may be in the files.
                let outcomes = [expected.settle(), expected.roll_back()];
                let came_true = outcomes.into_iter().find(|&outcome| {
                    self.check(family, key, outcome, found.as_deref(), "a Get")
                        .is_ok()
                });
                let Some(outcome) = came_true else {
                    self.check(family, key, expected.settle(), found.as_deref(), "recovery")?;
                    continue;
                };
                self.expected.set(family, key, outcome)?;
            }
        }
        Ok(pending)
    }

    /// The numbers of the writes found, by family and key.
    fn found(&self, open: &Open) -> Outcome<Vec<Option<u32>>> {
        let mut found = Vec::new();
        for (family, handle) in open.families.iter().enumerate() {
            let options = ReadOptions {
                iterate_upper_bound: Some(outside::key(0)),
                ..ReadOptions::default()
            };
            let rows = verify::forwards(open.db.iter_cf_opt(&handle.read(), &options))?;
            let start = found.len();
            found.resize(start + self.expected.keys() as usize, None);
            for (key, value) in rows {
                let key = keys::number(&key).filter(|&key| key < self.expected.keys());
                let key = key.ok_or_else(|| {
                    Failure::Mismatch(format!("column family {family} has a key that was never written"))
                })?;
                found[start + key as usize] = Some(self.write_of(family, key, &value)?);
            }
        }
        Ok(found)
    }

    /// Records that all rows up to `upto` are durable: the rows of one family, or of all families if there is
    /// a WAL.
    pub fn promised(&self, family: Option<usize>, upto: SeqNo) -> Outcome {
        match self.expected.trace() {
            Some(trace) => Ok(trace.floor(Floor { family, upto })?),
            None => Ok(()),
        }
    }
}
