//! The writes of a thread: single rows, batches and deletions, and their effect on the expected state.

use std::ops::Range;

use base::ErrorKind;
use esker::{Db, WriteBatch, WriteOptions};

use crate::done::What;
use crate::entities;
use crate::expected_value::ExpectedValue;
use crate::failure::Outcome;
use crate::keys;
use crate::trace::Change;
use crate::worker::{AscendingKeys, BATCH, Worker};

impl Worker<'_> {
    pub(super) fn new_batch(&self) -> base::Result<WriteBatch> {
        WriteBatch::with_protection(self.stress.flags.batch_protection_bytes_per_key as usize)
    }

    /// The family and key of the next write: any, or the next of a run.
    fn place_to_write(&mut self) -> (usize, u64) {
        let keys = self.stress.flags.ascending_run;
        if keys == 0 {
            return (self.family(), self.key());
        }
        if self.run.left == 0 || self.run.next >= self.stress.expected.keys() {
            self.run = AscendingKeys {
                family: self.family(),
                next: self.key(),
                left: keys,
            };
        }
        let place = (self.run.family, self.run.next);
        self.run.next += 1;
        self.run.left -= 1;
        place
    }

    pub(super) fn write(&mut self) -> Outcome {
        let batch_one_in = self.stress.flags.batch_one_in;
        if self.one_in(batch_one_in) {
            return self.write_batch();
        }
        let (family, key) = self.place_to_write();
        let handle = self.open.families[family].read();
        let _lock = self.stress.lock(family, key);
        let expected = self.settled(family, key)?;
        if self.stress.is_single(key) && expected.exists() {
            return Ok(());
        }
        if self.stress.flags.verify_before_write {
            let found = self
                .open
                .db
                .get_cf_opt(&handle, keys::key(key), &self.read_options())?;
            self.stress
                .check(family, key, expected, found.as_deref(), "a Get before a write")?;
        }
        self.stress.expected.set(family, key, expected.begin_write())?;
        let done = expected.begin_write().settle();
        let value = self.stress.value(key, expected.next_write());
        let name = keys::key(key);
        let merges = self.stress.flags.use_merge && !self.stress.is_single(key) && self.rng.u32(..8) > 0;
        let change = [Change::Set {
            family,
            key,
            value: done,
        }];
        let written = if !merges && self.writes_entity() {
            let mut batch = self.new_batch()?;
            entities::put(&mut batch, &handle, &name, &value)?;
            self.commit_batch(&change, batch)?
        } else {
            self.commit(
                &change,
                |db, options| match merges {
                    true => db.merge_cf_opt(&handle, name, &value, options),
                    false => db.put_cf_opt(&handle, name, &value, options),
                },
                |batch| match merges {
                    true => batch.merge_cf(&handle, &name, &value),
                    false => batch.put_cf(&handle, &name, &value),
                },
            )?
        };
        if !written {
            return self.roll_back(family, key..key + 1);
        }
        self.stress.expected.set(family, key, done)?;
        self.done.count(What::Write);
        Ok(())
    }

    /// Does `changes`: by a call of its own or, if the operation is traced, as a batch, which returns its
    /// sequence number. False if it was refused instead of waiting: then no part of it was done.
    fn commit(
        &mut self,
        changes: &[Change],
        call: impl FnOnce(&Db, &WriteOptions) -> base::Result<()>,
        add_to: impl FnOnce(&mut WriteBatch),
    ) -> Outcome<bool> {
        if self.stress.expected.trace().is_none() {
            if let Some(transactions) = &self.open.transactions {
                let mut batch = self.new_batch()?;
                add_to(&mut batch);
                return self.commit_in_transaction(transactions, &batch);
            }
            let options = self.write_options();
            return was_done(&options, call(&self.open.db, &options)).map(|done| done.is_some());
        }
        let mut batch = self.new_batch()?;
        add_to(&mut batch);
        self.commit_batch(changes, batch)
    }

    /// Commits as [`commit`](Self::commit) does, with the batch made by the caller.
    fn commit_batch(&mut self, changes: &[Change], batch: WriteBatch) -> Outcome<bool> {
        let trace = self.stress.expected.trace();
        if trace.is_none()
            && let Some(transactions) = &self.open.transactions
        {
            return self.commit_in_transaction(transactions, &batch);
        }
        let (db, options) = (&self.open.db, self.write_options());
        let Some(trace) = trace else {
            return was_done(&options, db.write_opt(batch, &options)).map(|done| done.is_some());
        };
        let operation = trace.begin(db.latest_sequence_number(), changes)?;
        let Some(seqno) = was_done(&options, db.write_sequenced(batch, &options))? else {
            trace.refused(operation)?;
            return Ok(false);
        };
        trace.end(operation, seqno)?;
        if options.sync {
            self.stress.promised(None, seqno)?;
        }
        Ok(true)
    }

    /// Records that the pending changes of the given keys did not happen.
    fn roll_back(&mut self, family: usize, keys: Range<u64>) -> Outcome {
        for key in keys {
            let before = self.stress.expected.get(family, key).roll_back();
            self.stress.expected.set(family, key, before)?;
        }
        self.done.count(What::Refused);
        Ok(())
    }

    /// Writes several keys of several families, all or none of them.
    fn write_batch(&mut self) -> Outcome {
        let count = self.rng.usize(2..=BATCH);
        let mut places: Vec<(usize, u64)> = (0..count).map(|_| (self.family(), self.key())).collect();
        // The keys are sorted in the order of their locks, and of several keys with one lock only one is
        // locked.
        places.sort_unstable();
        places.dedup_by_key(|&mut (family, key)| (family, key >> self.stress.flags.log2_keys_per_lock));
        let handles: Vec<_> = self.open.families.iter().map(|family| family.read()).collect();
        let _locks: Vec<_> = places
            .iter()
            .map(|&(family, key)| self.stress.lock(family, key))
            .collect();
        let mut batch = self.new_batch()?;
        let mut changes = Vec::new();
        for (family, key) in places {
            let expected = self.settled(family, key)?;
            let (handle, name) = (&handles[family], keys::key(key));
            let pending = match (expected.exists(), self.rng.bool()) {
                (true, true) => {
                    if self.stress.is_single(key) {
                        batch.single_delete_cf(handle, &name);
                    } else {
                        batch.delete_cf(handle, &name);
                    }
                    expected.begin_delete()
                }
                (true, false) if self.stress.is_single(key) => continue,
                _ => {
                    let value = self.stress.value(key, expected.next_write());
                    match self.writes_entity() {
                        true => entities::put(&mut batch, handle, &name, &value)?,
                        false => batch.put_cf(handle, &name, &value),
                    }
                    expected.begin_write()
                }
            };
            self.stress.expected.set(family, key, pending)?;
            changes.push((family, key, pending));
        }
        let noted: Vec<Change> = changes
            .iter()
            .map(|&(family, key, pending)| Change::Set {
                family,
                key,
                value: pending.settle(),
            })
            .collect();
        if noted.is_empty() {
            return Ok(());
        }
        if !self.commit_batch(&noted, batch)? {
            return changes
                .into_iter()
                .try_for_each(|(family, key, _)| self.roll_back(family, key..key + 1));
        }
        for (family, key, pending) in changes {
            self.stress.expected.set(family, key, pending.settle())?;
        }
        self.done.count(What::Batch);
        Ok(())
    }

    pub(super) fn delete(&mut self) -> Outcome {
        let (family, key) = (self.family(), self.key());
        let handle = self.open.families[family].read();
        let _lock = self.stress.lock(family, key);
        let expected = self.settled(family, key)?;
        let single = self.stress.is_single(key);
        if single && !expected.exists() {
            return Ok(());
        }
        self.stress.expected.set(family, key, expected.begin_delete())?;
        let done = expected.begin_delete().settle();
        let name = keys::key(key);
        let deleted = self.commit(
            &[Change::Set {
                family,
                key,
                value: done,
            }],
            |db, options| match single {
                true => db.single_delete_cf_opt(&handle, name, options),
                false => db.delete_cf_opt(&handle, name, options),
            },
            |batch| match single {
                true => batch.single_delete_cf(&handle, &name),
                false => batch.delete_cf(&handle, &name),
            },
        )?;
        if !deleted {
            return self.roll_back(family, key..key + 1);
        }
        self.stress.expected.set(family, key, done)?;
        self.done.count(What::Delete);
        Ok(())
    }

    pub(super) fn delete_range(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let width = self.stress.flags.range_deletion_width.max(1) as u64;
        let keys = start..start.saturating_add(width).min(self.stress.expected.keys());
        let handle = self.open.families[family].read();
        let _locks = self.stress.lock_range(family, keys.start, keys.end);
        let all = self.begin_delete(family, keys.clone())?;
        let (start, end) = (keys::key(keys.start), keys::key(keys.end));
        let deleted = self.commit(
            &[Change::DeleteRange {
                family,
                start: keys.start,
                end: keys.end,
            }],
            |db, options| db.delete_range_cf_opt(&handle, start, end, options),
            |batch| batch.delete_range_cf(&handle, &start, &end),
        )?;
        if !deleted {
            return self.roll_back(family, keys);
        }
        self.finish_delete(family, keys.start, &all)?;
        self.done.count(What::DeleteRange);
        Ok(())
    }

    /// Marks deletions as pending.
    pub(super) fn begin_delete(&self, family: usize, keys: Range<u64>) -> Outcome<Vec<ExpectedValue>> {
        let mut all = Vec::new();
        for key in keys {
            let pending = self.settled(family, key)?.begin_delete();
            self.stress.expected.set(family, key, pending)?;
            all.push(pending);
        }
        Ok(all)
    }

    pub(super) fn finish_delete(&self, family: usize, start: u64, all: &[ExpectedValue]) -> Outcome {
        for (key, pending) in (start..).zip(all) {
            self.stress.expected.set(family, key, pending.settle())?;
        }
        Ok(())
    }
}

/// The result of a write; `None` if it was refused instead of waiting.
pub(super) fn was_done<T>(options: &WriteOptions, written: base::Result<T>) -> Outcome<Option<T>> {
    match written {
        Err(error) if options.no_slowdown && error.kind() == ErrorKind::Incomplete => Ok(None),
        written => Ok(Some(written?)),
    }
}
