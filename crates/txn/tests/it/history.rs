//! Random concurrent transactions, whose histories are checked against the guarantees of their level.
//!
//! One thread does a step of one transaction at a time, chosen by a seed; no transaction waits for a lock, so
//! that a history is the same each time. The reads for update and the writes of a transaction are recorded,
//! and checked when it commits: in a history that is serializable in the order of commits, it has read the
//! state that the commits before it left.

use std::collections::BTreeMap;

use esker::{ReadOptions, WriteOptions};
use esker_txn::{OptimisticTransactionOptions, Transaction, TransactionOptions};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

use super::common::*;

/// The committed state of the database.
type Rows = BTreeMap<Vec<u8>, String>;

/// Rows that a transaction writes; `None` deletes.
type Written = BTreeMap<Vec<u8>, Option<String>>;

/// A transaction in progress.
struct Running {
    transaction: Transaction,
    /// Values that the transaction has read for update before it wrote the key.
    read: Vec<(Vec<u8>, String)>,
    written: Written,
    /// The rows at the snapshot of the transaction, if it has a snapshot.
    snapshot: Option<Rows>,
    /// The writes and reads of the transaction at its save point.
    save_point: Option<(usize, Written)>,
}

/// Counts of events.
#[derive(Default)]
struct Seen {
    commits: u64,
    conflicts: u64,
}

impl Running {
    fn sees(&self, rows: &Rows, key: &[u8]) -> String {
        let base = || rows.get(key).cloned().unwrap_or_else(|| "-".to_owned());
        match self.written.get(key) {
            Some(Some(value)) => value.clone(),
            Some(None) => "-".to_owned(),
            None => base(),
        }
    }

    /// Does one step. An error is a conflict that ends the transaction.
    fn step(
        &mut self,
        rng: &mut TestRng,
        family: &esker::ColumnFamily,
        rows: &Rows,
        value: u64,
    ) -> base::Result<()> {
        let key = vec![b'a' + rng.u8(..6)];
        match rng.u32(..10) {
            0..=2 => {
                let exclusive = rng.bool();
                let read = ReadOptions::default();
                let found = self
                    .transaction
                    .get_for_update_cf_opt(family, &key, exclusive, true, &read)?;
                let found = shown(found.as_deref());
                if !self.written.contains_key(&key) {
                    self.read.push((key, found));
                } else {
                    assert_eq!(found, self.sees(rows, &key));
                }
            }
            3..=5 => {
                let value = value.to_string();
                self.transaction.put_cf(family, &key, value.as_bytes())?;
                self.written.insert(key, Some(value));
            }
            6 => {
                self.transaction.delete_cf(family, &key)?;
                self.written.insert(key, None);
            }
            7 => {
                // A plain read sees the current state, or that of a snapshot, with the transaction's own
                // writes over it.
                let options = ReadOptions {
                    snapshot: self.transaction.snapshot().cloned(),
                    ..ReadOptions::default()
                };
                let found = self.transaction.get_cf_opt(family, &key, &options)?;
                let base = self.snapshot.as_ref().unwrap_or(rows);
                assert_eq!(shown(found.as_deref()), self.sees(base, &key));
            }
            8 => match self.save_point.take() {
                None => {
                    self.transaction.set_save_point();
                    self.save_point = Some((self.read.len(), self.written.clone()));
                }
                Some((read, written)) => {
                    self.transaction.rollback_to_save_point()?;
                    self.read.truncate(read);
                    self.written = written;
                }
            },
            _ => {
                let options = ReadOptions {
                    snapshot: self.transaction.snapshot().cloned(),
                    ..ReadOptions::default()
                };
                let base = self.snapshot.as_ref().unwrap_or(rows);
                let mut expected = base.clone();
                for (key, value) in &self.written {
                    match value {
                        Some(value) => expected.insert(key.clone(), value.clone()),
                        None => expected.remove(key),
                    };
                }
                let mut iter = self.transaction.iter_cf_opt(family, &options)?;
                let mut found = Rows::new();
                iter.seek_to_last();
                while iter.valid() {
                    found.insert(iter.key().to_vec(), shown(Some(iter.value())));
                    iter.prev();
                }
                iter.status()?;
                assert_eq!(found, expected);
            }
        }
        Ok(())
    }

    /// Checks, after its commit, that the transaction could have run alone between the commits before and
    /// after it, and applies its writes.
    fn committed(self, rows: &mut Rows, seed: u64) {
        for (key, value) in &self.read {
            let now = rows.get(key).map_or("-", |value| value);
            assert_eq!(value, now, "read {}, ESKER_SEED={seed}", key.escape_ascii());
        }
        for (key, value) in self.written {
            match value {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
    }
}

/// Random histories of transactions that `begin` makes over a database in which `meanwhile` happens now and
/// then. Returns the number of commits.
fn check(
    seed: u64,
    begin: &dyn Fn(bool) -> Transaction,
    db: &esker::Db,
    meanwhile: &dyn Fn(&mut TestRng),
) -> Seen {
    let mut rng = TestRng::with_seed(seed);
    let family = family(db);
    let (mut rows, mut running) = (Rows::new(), Vec::<Running>::new());
    let mut seen = Seen::default();
    for value in 0..400 {
        if running.len() < 4 {
            let with_snapshot = rng.bool();
            running.push(Running {
                transaction: begin(with_snapshot),
                read: Vec::new(),
                written: BTreeMap::new(),
                snapshot: with_snapshot.then(|| rows.clone()),
                save_point: None,
            });
        }
        let at = rng.usize(..running.len());
        match rng.u32(..8) {
            0 => {
                let mut ended = running.swap_remove(at);
                match ended.transaction.commit() {
                    Ok(()) => {
                        seen.commits += 1;
                        ended.committed(&mut rows, seed);
                    }
                    Err(error) => {
                        assert_eq!(error.to_string(), BUSY);
                        seen.conflicts += 1;
                    }
                }
            }
            1 => meanwhile(&mut rng),
            _ => {
                let stepped = running[at].step(&mut rng, &family, &rows, value);
                if let Err(error) = stepped {
                    let text = error.to_string();
                    assert!(
                        [BUSY, TIMED_OUT].contains(&&text[..]),
                        "{text}, ESKER_SEED={seed}"
                    );
                    seen.conflicts += 1;
                    running.swap_remove(at).transaction.rollback().unwrap();
                }
            }
        }
    }
    seen
}

fn flush_or_compact(db: &esker::Db, rng: &mut TestRng) {
    match rng.u32(..3) {
        0 => flush(db),
        1 => {
            flush(db);
            compact(db);
        }
        _ => {}
    }
}

fn assert_busy(all: &[Seen]) {
    let commits: u64 = all.iter().map(|seen| seen.commits).sum();
    let conflicts: u64 = all.iter().map(|seen| seen.conflicts).sum();
    assert!(
        commits > 100 && conflicts > 20,
        "{commits} commits, {conflicts} conflicts"
    );
}

#[test]
fn transactions_with_locks_are_serializable_as_far_as_they_read_for_update() {
    let all: Vec<Seen> = rng::seeds(rng::runs("ESKER_TXN_HISTORIES", 12))
        .map(|seed| {
            let db = open(&MemFs::new());
            let begin = |set_snapshot| {
                let options = TransactionOptions {
                    set_snapshot,
                    ..TransactionOptions::default()
                };
                db.begin_transaction(&WriteOptions::default(), &options)
            };
            let meanwhile = |rng: &mut TestRng| flush_or_compact(db.db(), rng);
            check(seed, &begin, db.db(), &meanwhile)
        })
        .collect();
    assert_busy(&all);
}

#[test]
fn optimistic_transactions_are_serializable_as_far_as_they_read_for_update() {
    let all: Vec<Seen> = rng::seeds(rng::runs("ESKER_TXN_HISTORIES", 12))
        .map(|seed| {
            let db = open_optimistic(&MemFs::new());
            let begin = |set_snapshot| {
                let options = OptimisticTransactionOptions {
                    set_snapshot,
                    ..OptimisticTransactionOptions::default()
                };
                db.begin_transaction(&WriteOptions::default(), &options)
            };
            let meanwhile = |rng: &mut TestRng| flush_or_compact(db.db(), rng);
            check(seed, &begin, db.db(), &meanwhile)
        })
        .collect();
    assert_busy(&all);
}
