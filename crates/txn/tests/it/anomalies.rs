//! Random concurrent transactions whose histories are searched for anomalies, in the way of Elle: which
//! levels may show which.
//!
//! The search is in `testkit::anomalies`.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use esker::{ColumnFamily, Db, ReadOptions, WriteOptions};
use esker_txn::{
    IsolationLevel, OptimisticTransactionOptions, Transaction, TransactionOptions, TransactionState,
};
use testkit::anomalies::{Accesses, Anomaly, anomalies, list, text_of};
use testkit::rng::{self, TestRng};
use vfs::{MemFs, UnsyncedPolicy};

use super::common::*;

const KEYS: u8 = 5;

/// A transaction in progress.
struct Running {
    transaction: Transaction,
    history: Accesses,
    /// The history at the prepare: what a crash leaves of the transaction.
    prepared: Option<Accesses>,
}

/// The way in which a transaction reads.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// The transaction reads the newest committed state.
    Latest,
    /// The transaction reads from its snapshot, although its isolation level does not require that.
    Snapshot,
    /// The transaction reads as a serializable transaction does.
    Serializable,
}

fn key(at: u8) -> [u8; 1] {
    [b'a' + at]
}

impl Running {
    fn options(&self, reads: Reads) -> ReadOptions {
        ReadOptions {
            snapshot: self
                .transaction
                .snapshot()
                .filter(|_| reads == Reads::Snapshot)
                .cloned(),
            ..ReadOptions::default()
        }
    }

    fn read(&mut self, family: &ColumnFamily, at: u8, reads: Reads) -> base::Result<Vec<u8>> {
        let value = self
            .transaction
            .get_cf_opt(family, &key(at), &self.options(reads))?;
        self.history.note(at, value.as_deref());
        Ok(value.map(|value| value.to_vec()).unwrap_or_default())
    }

    /// Reads a range by an iterator, upwards or downwards.
    fn scan(&mut self, rng: &mut TestRng, family: &ColumnFamily, reads: Reads) -> base::Result<()> {
        let (a, b) = (rng.u8(..KEYS), rng.u8(..KEYS));
        let (first, last) = (a.min(b), a.max(b));
        let mut found: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut options = self.options(reads);
        let mut add = |key: &[u8], value: &[u8]| drop(found.insert(key[0] - b'a', value.to_vec()));
        match rng.u32(..3) {
            0 => {
                options.iterate_lower_bound = Some(key(first).to_vec());
                options.iterate_upper_bound = Some(key(last + 1).to_vec());
                let mut iter = self.transaction.iter_cf_opt(family, &options)?;
                iter.seek_to_first();
                while iter.valid() {
                    add(iter.key(), iter.value());
                    iter.next();
                }
                iter.status()?;
            }
            1 => {
                let mut iter = self.transaction.scan(family, &options)?;
                iter.seek(&key(first));
                while iter.valid() && iter.key() <= &key(last)[..] {
                    add(iter.key(), iter.value());
                    iter.next();
                }
                iter.status()?;
            }
            _ => {
                let mut iter = self.transaction.scan(family, &options)?;
                iter.seek_for_prev(&key(last));
                while iter.valid() && iter.key() >= &key(first)[..] {
                    add(iter.key(), iter.value());
                    iter.prev();
                }
                iter.status()?;
            }
        }
        for at in first..=last {
            self.history.note(at, found.get(&at).map(|value| &value[..]));
        }
        Ok(())
    }

    fn step(
        &mut self,
        rng: &mut TestRng,
        family: &ColumnFamily,
        number: u32,
        reads: Reads,
    ) -> base::Result<()> {
        let at = rng.u8(..KEYS);
        match rng.u32(..10) {
            0..=3 => drop(self.read(family, at, reads)?),
            4..=5 => self.scan(rng, family, reads)?,
            6..=7 => {
                // The value that the transaction read earlier, unless it has written the key since, or else
                // the value that it reads now.
                let known = self.history.reads.iter().rev().find(|(key, _)| *key == at);
                let known = known.filter(|_| rng.bool() && !self.history.has_written(at));
                let mut value = match known {
                    Some((_, read)) => text_of(read),
                    None => self.read(family, at, reads)?,
                };
                if !value.is_empty() {
                    value.push(b',');
                }
                value.extend_from_slice(number.to_string().as_bytes());
                self.transaction.put_cf(family, &key(at), &value)?;
                self.history.appends.push((at, number));
            }
            _ => {
                // This is a write without a read: the merge operator adds the comma.
                self.transaction
                    .merge_cf(family, &key(at), number.to_string().as_bytes())?;
                self.history.appends.push((at, number));
            }
        }
        Ok(())
    }
}

/// The properties of a history.
#[derive(Clone, Copy)]
struct Kind {
    reads: Reads,
    /// Some transactions have two phases.
    prepares: bool,
    /// Processes die, and the power is lost, between two calls.
    crashes: bool,
}

impl Kind {
    fn new(reads: Reads) -> Kind {
        Kind {
            reads,
            prepares: false,
            crashes: false,
        }
    }

    fn in_two_phases(self) -> Kind {
        Kind {
            prepares: true,
            ..self
        }
    }

    fn with_crashes(self) -> Kind {
        Kind {
            crashes: true,
            ..self
        }
    }

    fn write_options(self) -> WriteOptions {
        WriteOptions {
            sync: self.crashes,
            ..WriteOptions::default()
        }
    }
}

/// An open database, in a life between two crashes.
struct Life {
    db: Db,
    begin: Box<dyn Fn() -> Transaction>,
    prepared: Box<dyn Fn() -> Vec<Transaction>>,
}

/// A history that is being made.
struct Run<'a> {
    kind: Kind,
    open: &'a dyn Fn(&MemFs) -> Life,
    rng: TestRng,
    fs: MemFs,
    life: Life,
    running: Vec<Running>,
    committed: Vec<Accesses>,
}

impl Run<'_> {
    /// Ends the life. Each committed transaction must be there in the next one, and each prepared one is
    /// found and ended, before others begin.
    fn crash(&mut self) {
        let prepared = self.running.drain(..).filter_map(|own| {
            let name = own.transaction.name().to_vec();
            own.prepared.map(|history| (name, history))
        });
        let mut prepared: BTreeMap<Vec<u8>, Accesses> = prepared.collect();
        self.fs = match self.rng.u32(..3) {
            0 => self.fs.process_death_clone(),
            1 => self.fs.crash_clone(&mut self.rng, UnsyncedPolicy::Lose),
            _ => self.fs.crash_clone(&mut self.rng, UnsyncedPolicy::RandomPages),
        };
        self.life = (self.open)(&self.fs);
        for mut found in (self.life.prepared)() {
            let history = prepared.remove(found.name()).expect("it was prepared");
            match self.rng.bool() {
                true => {
                    found.commit().unwrap();
                    self.committed.push(history);
                }
                false => found.rollback().unwrap(),
            }
        }
        assert!(prepared.is_empty(), "a prepared transaction is lost");
    }

    /// Ends the first or the second phase of a transaction. True if it is committed.
    fn end(&mut self, at: usize, number: u32) -> base::Result<bool> {
        let own = &mut self.running[at];
        if self.kind.prepares && self.rng.bool() && own.prepared.is_none() {
            own.transaction.set_name(&number.to_be_bytes())?;
            own.transaction.prepare()?;
            own.prepared = Some(own.history.clone());
        } else {
            own.transaction.commit()?;
        }
        Ok(own.transaction.state() == TransactionState::Committed)
    }

    fn step(&mut self, number: u32) -> base::Result<()> {
        if self.running.len() < 4 {
            self.running.push(Running {
                transaction: (self.life.begin)(),
                history: Accesses::default(),
                prepared: None,
            });
        }
        let at = self.rng.usize(..self.running.len());
        let outcome = match self.rng.u32(..12) {
            0..=1 => self.end(at, number),
            2 if self.rng.u32(..3) == 0 => {
                flush(&self.life.db);
                if self.rng.bool() {
                    compact(&self.life.db);
                }
                Ok(false)
            }
            // A prepared transaction reads and writes on.
            _ => {
                let family = family(&self.life.db);
                self.running[at]
                    .step(&mut self.rng, &family, number, self.kind.reads)
                    .map(|()| false)
            }
        };
        match outcome {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.committed.push(self.running.swap_remove(at).history);
                Ok(())
            }
            Err(error) => {
                self.running.swap_remove(at).transaction.rollback()?;
                Err(error)
            }
        }
    }
}

/// Runs transactions, and returns the committed ones and the values of all keys at the end.
fn run(seed: u64, kind: Kind, open: &dyn Fn(&MemFs) -> Life) -> (Vec<Accesses>, Vec<Vec<u32>>) {
    let fs = MemFs::new();
    let mut run = Run {
        kind,
        open,
        rng: TestRng::with_seed(seed),
        life: open(&fs),
        fs,
        running: Vec::new(),
        committed: Vec::new(),
    };
    for number in 1..500u32 {
        if kind.crashes && run.rng.u32(..120) == 0 {
            run.crash();
        }
        if let Err(error) = run.step(number) {
            let text = error.to_string();
            assert!(
                [BUSY, TIMED_OUT].contains(&&text[..]),
                "{text}, ESKER_SEED={seed}"
            );
        }
    }
    run.running.clear();
    let value = |at| run.life.db.get(key(at)).unwrap();
    let lists = (0..KEYS).map(|at| value(at).map_or(Vec::new(), |value| list(&value)));
    (run.committed, lists.collect())
}

/// The anomalies that the histories of all seeds show together.
fn search(kind: Kind, open: &dyn Fn(&MemFs) -> Life) -> BTreeSet<Anomaly> {
    let mut found = BTreeSet::new();
    let mut commits = 0;
    for seed in rng::seeds(rng::runs("ESKER_TXN_HISTORIES", 8)) {
        let (committed, lists) = run(seed, kind, open);
        commits += committed.len();
        let own = anomalies(&committed, &lists);
        if kind.reads == Reads::Serializable {
            assert!(
                own.is_empty(),
                "{own:?}, prepares {}, ESKER_SEED={seed}",
                kind.prepares
            );
        }
        found.extend(own);
    }
    assert!(commits > 120, "{commits} commits");
    found
}

fn level(reads: Reads) -> IsolationLevel {
    match reads {
        Reads::Serializable => IsolationLevel::Serializable,
        _ => IsolationLevel::ReadCommitted,
    }
}

fn with_locks(kind: Kind) -> BTreeSet<Anomaly> {
    let how = TransactionOptions {
        set_snapshot: kind.reads == Reads::Snapshot,
        isolation_level: level(kind.reads),
        ..TransactionOptions::default()
    };
    search(kind, &|fs| {
        let db = Arc::new(open(fs));
        let (beginner, finder, how) = (db.clone(), db.clone(), how.clone());
        Life {
            db: db.db().clone(),
            begin: Box::new(move || beginner.begin_transaction(&kind.write_options(), &how)),
            prepared: Box::new(move || finder.get_all_prepared_transactions()),
        }
    })
}

fn optimistic(kind: Kind) -> BTreeSet<Anomaly> {
    let how = OptimisticTransactionOptions {
        set_snapshot: kind.reads == Reads::Snapshot,
        isolation_level: level(kind.reads),
    };
    search(kind, &|fs| {
        let db = open_optimistic(fs);
        let how = how.clone();
        Life {
            db: db.db().clone(),
            begin: Box::new(move || db.begin_transaction(&kind.write_options(), &how)),
            prepared: Box::new(Vec::new),
        }
    })
}

/// The weakest level: no read of uncommitted data, and no part of a transaction's writes over another's.
#[test]
fn reads_of_what_is_committed_show_no_writes_that_are_not() {
    let latest = Kind::new(Reads::Latest);
    for found in [
        with_locks(latest.in_two_phases()),
        with_locks(latest.in_two_phases().with_crashes()),
        optimistic(latest),
        optimistic(latest.with_crashes()),
    ] {
        assert!(!found.contains(&Anomaly::G0), "{found:?}");
        // The search finds anomalies that exist.
        assert!(found.contains(&Anomaly::GSingle), "{found:?}");
    }
    assert!(with_locks(latest).contains(&Anomaly::LostUpdate));
}

#[test]
fn snapshots_leave_write_skew_and_nothing_worse() {
    let snapshot = Kind::new(Reads::Snapshot);
    for found in [
        with_locks(snapshot.in_two_phases()),
        with_locks(snapshot.in_two_phases().with_crashes()),
        optimistic(snapshot),
        optimistic(snapshot.with_crashes()),
    ] {
        assert_eq!(found, BTreeSet::from([Anomaly::G2]));
    }
}

#[test]
fn serializable_transactions_with_locks_show_no_anomaly() {
    assert_eq!(with_locks(Kind::new(Reads::Serializable)), BTreeSet::new());
}

#[test]
fn serializable_transactions_in_two_phases_show_no_anomaly() {
    let kind = Kind::new(Reads::Serializable).in_two_phases();
    assert_eq!(with_locks(kind), BTreeSet::new());
}

#[test]
fn serializable_optimistic_transactions_show_no_anomaly() {
    assert_eq!(optimistic(Kind::new(Reads::Serializable)), BTreeSet::new());
}

#[test]
fn serializable_transactions_show_no_anomaly_across_crashes() {
    let kind = Kind::new(Reads::Serializable).with_crashes();
    for found in [
        with_locks(kind),
        with_locks(kind.in_two_phases()),
        optimistic(kind),
    ] {
        assert_eq!(found, BTreeSet::new());
    }
}
