//! Writes by transactions: pessimistic ones, with and without two-phase commit, and optimistic ones.

use base::{Error, ErrorKind};
use esker::{Operation, ReadOptions, WriteBatch, WriteOptions};
use txn::{IsolationLevel, OptimisticTransactionOptions, Transaction, TransactionDB, TransactionOptions};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::transaction_db::Transactions;
use crate::worker::Worker;

/// The time that a transaction waits for a lock that no other should have, in milliseconds.
const LOCK_TIMEOUT: i64 = 600_000;

impl Worker<'_> {
    /// Writes a batch by a transaction. False if no part of it was done: it was rolled back, or it was
    /// refused instead of waiting. No other thread writes its keys meanwhile, so a conflict is a failure.
    pub(super) fn commit_in_transaction(
        &mut self,
        transactions: &Transactions,
        batch: &WriteBatch,
    ) -> Outcome<bool> {
        let mut options = self.write_options();
        let isolation_level = match self.one_in(4) {
            true => IsolationLevel::Serializable,
            false => IsolationLevel::ReadCommitted,
        };
        let mut transaction = match transactions {
            Transactions::Locked(db) => {
                let how = TransactionOptions {
                    set_snapshot: self.rng.bool(),
                    deadlock_detect: self.rng.bool(),
                    lock_timeout: LOCK_TIMEOUT,
                    isolation_level,
                    ..TransactionOptions::default()
                };
                db.begin_transaction(&options, &how)
            }
            Transactions::Optimistic(db) => {
                let set_snapshot = self.rng.bool();
                let how = OptimisticTransactionOptions {
                    set_snapshot,
                    isolation_level,
                };
                db.begin_transaction(&options, &how)
            }
        };
        let prepares = matches!(transactions, Transactions::Locked(_)) && self.one_in(3);
        // The rows of some transactions are all written after the prepare: the commit must keep them too.
        let is_late = prepares && self.one_in(4);
        if !is_late {
            transaction.rebuild_from_write_batch(batch)?;
        }
        if self.one_in(8) {
            transaction.set_save_point();
            transaction.rebuild_from_write_batch(batch)?;
            transaction.rollback_to_save_point()?;
        }
        if prepares {
            // A prepared transaction must be ended, however long that takes.
            options.no_slowdown = false;
            transaction.set_write_options(options.clone());
            transaction.set_name(&[self.seed.to_be_bytes(), self.rng.u64(..).to_be_bytes()].concat())?;
            transaction.prepare()?;
            if self.one_in(10) {
                // After this flush the second phase of the commit goes to another WAL and another memtable.
                // If the flush fails, the commit fails too or is not affected. A flush of all families also
                // lets go of WALs, but syncs a table for each.
                let all = self.one_in(4);
                let written = match all {
                    true => Vec::new(),
                    false => families_of(batch)?,
                };
                let families: Vec<_> = self
                    .open
                    .families
                    .iter()
                    .filter_map(|family| family.try_read())
                    .collect();
                let families: Vec<_> = families
                    .iter()
                    .map(|family| (**family).clone())
                    .filter(|family| all || written.contains(&family.id()))
                    .collect();
                let _ = self.open.db.flush_cf(&families);
            }
        }
        if is_late {
            transaction.rebuild_from_write_batch(batch)?;
        }
        if self.one_in(8) {
            transaction.rollback()?;
            return Ok(false);
        }
        match transactions {
            Transactions::Locked(db) if self.one_in(self.stress.flags.create_timestamped_snapshot_one_in) => {
                self.commit_with_snapshot(db, batch, &options, &mut transaction)
            }
            _ => was_committed(&options, transaction.commit()),
        }
    }

    /// Commits and takes a snapshot, which must show the rows of the batch as they are now: no other thread
    /// writes these keys until the caller returns.
    fn commit_with_snapshot(
        &mut self,
        db: &TransactionDB,
        batch: &WriteBatch,
        options: &WriteOptions,
        transaction: &mut Transaction,
    ) -> Outcome<bool> {
        let timestamp = db.db().latest_sequence_number() + 1;
        let mut created = None;
        let committed = transaction
            .commit_and_try_create_snapshot(None, timestamp)
            .map(|snapshot| created = snapshot);
        let committed = was_committed(options, committed)?;
        // If another thread has created a snapshot with a larger timestamp meanwhile, this commit creates
        // none.
        let Some(created) = created else {
            return Ok(committed);
        };
        db.release_timestamped_snapshots_older_than(timestamp);
        self.done.count(What::TimestampedSnapshot);
        let then = ReadOptions {
            snapshot: Some(created.snapshot),
            ..ReadOptions::default()
        };
        for operation in batch.operations() {
            let Some((family, key)) = row_of(&operation?) else {
                continue;
            };
            let Some(family) = db.db().column_family_by_id(family) else {
                continue;
            };
            let seen = db.db().get_cf_opt(&family, key, &then);
            // A read that failed by injection does not show whether the row is there.
            if let (Ok(seen), Ok(now)) = (seen, db.db().get_cf(&family, key))
                && seen != now
            {
                return Err(Failure::Mismatch(format!(
                    "the snapshot of timestamp {timestamp} does not show the commit that created it: key {} has {seen:?}, not {now:?}",
                    key.escape_ascii()
                )));
            }
        }
        Ok(committed)
    }
}

/// The ids of the families that a batch writes keys of.
fn families_of(batch: &WriteBatch) -> Outcome<Vec<u32>> {
    let mut families = Vec::new();
    for operation in batch.operations() {
        families.extend(row_of(&operation?).map(|(family, _)| family));
    }
    Ok(families)
}

/// The family and the key of an operation on one key.
fn row_of<'a>(operation: &Operation<'a>) -> Option<(u32, &'a [u8])> {
    match *operation {
        Operation::Put { family, key, .. }
        | Operation::Entity { family, key, .. }
        | Operation::Merge { family, key, .. }
        | Operation::Delete { family, key }
        | Operation::SingleDelete { family, key } => Some((family, key)),
        _ => None,
    }
}

fn was_committed(options: &WriteOptions, committed: esker::Result<()>) -> Outcome<bool> {
    let refused = |error: &Error| options.no_slowdown && error.kind() == ErrorKind::Incomplete;
    match committed {
        Err(error) if refused(&error) => Ok(false),
        committed => Ok(committed.map(|()| true)?),
    }
}
