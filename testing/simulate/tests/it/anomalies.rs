//! Histories of transactions of several threads in one simulated world, across losses of power and deaths of
//! the process at any operation of the disk, searched for anomalies: see `testkit::anomalies`.
//!
//! All commits are synced, and so is all that a transaction without writes has read. A commit that did not
//! return may be there after the crash, as a whole, or not. Prepared transactions that a crash leaves are
//! ended before others begin.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::simulation::{Settings, Strategy};
use esker::{ColumnFamily, Db, ErrorKind, ReadOptions, Result, WriteOptions};
use testkit::anomalies::{Accesses, Anomaly, History, anomalies, list, text_of};
use testkit::rng::{self, TestRng};
use txn::{
    IsolationLevel, OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB,
    TransactionDBOptions, TransactionOptions,
};
use vfs::{FaultFs, MemFs, UnsyncedPolicy};

use super::transactions::{disk, options};

const THREADS: usize = 3;
const KEYS: u8 = 5;

/// The time that a transaction waits for a lock, in milliseconds of the simulated clock.
const LOCK_TIMEOUT: i64 = 50;

/// The kind and the level of the transactions of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Locks(Level),
    Optimistic(Level),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    /// Reads of the latest committed state.
    Latest,
    /// Reads from the transaction's snapshot.
    Snapshot,
    Serializable,
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Locks(Level::Serializable),
        Kind::Optimistic(Level::Serializable),
        Kind::Locks(Level::Snapshot),
        Kind::Optimistic(Level::Snapshot),
        Kind::Locks(Level::Latest),
        Kind::Optimistic(Level::Latest),
    ];

    fn level(self) -> Level {
        match self {
            Kind::Locks(level) | Kind::Optimistic(level) => level,
        }
    }

    /// True if a history may show the anomaly.
    fn allows(self, anomaly: Anomaly) -> bool {
        match self.level() {
            Level::Serializable => false,
            Level::Snapshot => anomaly == Anomaly::G2,
            Level::Latest => anomaly != Anomaly::G0,
        }
    }
}

enum Transactions {
    Locks(TransactionDB),
    Optimistic(OptimisticTransactionDB),
}

/// A history that threads make together.
#[derive(Default)]
struct Shared {
    history: Mutex<History>,
    /// Transactions whose prepare was called, and that are not known to have ended.
    prepared: Mutex<BTreeMap<Vec<u8>, Accesses>>,
    last_number: AtomicU32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn next_number(&self) -> u32 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The open database in a life between two crashes.
struct Life {
    transactions: Transactions,
    kind: Kind,
    shared: Arc<Shared>,
}

fn key(at: u8) -> [u8; 1] {
    [b'a' + at]
}

/// True if the transaction lost against another: it is rolled back, and the thread continues.
fn is_conflict(error: &esker::Error) -> bool {
    matches!(error.kind(), ErrorKind::Busy | ErrorKind::TimedOut)
}

impl Life {
    fn open(fs: &FaultFs, kind: Kind, shared: Arc<Shared>) -> Result<Life> {
        let transactions = match kind {
            Kind::Locks(_) => {
                let how = TransactionDBOptions::default();
                Transactions::Locks(TransactionDB::open(&options(fs), &how, "/db")?)
            }
            Kind::Optimistic(_) => {
                Transactions::Optimistic(OptimisticTransactionDB::open(&options(fs), "/db")?)
            }
        };
        let life = Life {
            transactions,
            kind,
            shared,
        };
        Ok(life)
    }

    fn db(&self) -> &Db {
        match &self.transactions {
            Transactions::Locks(db) => db.db(),
            Transactions::Optimistic(db) => db.db(),
        }
    }

    fn begin(&self) -> Transaction {
        let synced = WriteOptions {
            sync: true,
            ..WriteOptions::default()
        };
        let set_snapshot = self.kind.level() == Level::Snapshot;
        let isolation_level = match self.kind.level() {
            Level::Serializable => IsolationLevel::Serializable,
            _ => IsolationLevel::ReadCommitted,
        };
        match &self.transactions {
            Transactions::Locks(db) => {
                let how = TransactionOptions {
                    set_snapshot,
                    isolation_level,
                    lock_timeout: LOCK_TIMEOUT,
                    deadlock_detect: true,
                    ..TransactionOptions::default()
                };
                db.begin_transaction(&synced, &how)
            }
            Transactions::Optimistic(db) => {
                let how = OptimisticTransactionOptions {
                    set_snapshot,
                    isolation_level,
                };
                db.begin_transaction(&synced, &how)
            }
        }
    }

    /// Ends the transactions that the last life left prepared, and settles those that it left unknown.
    fn end_prepared(&self, rng: &mut TestRng) -> Result<()> {
        let found = match &self.transactions {
            Transactions::Locks(db) => db.get_all_prepared_transactions(),
            Transactions::Optimistic(_) => Vec::new(),
        };
        let mut found: BTreeMap<Vec<u8>, Transaction> =
            found.into_iter().map(|own| (own.name().to_vec(), own)).collect();
        // A transaction that is not outstanding has been committed or rolled back, or was never prepared.
        lock(&self.shared.prepared).retain(|name, accesses| {
            let is_outstanding = found.contains_key(name);
            if !is_outstanding {
                lock(&self.shared.history).uncertain.push(accesses.clone());
            }
            is_outstanding
        });
        for (name, transaction) in &mut found {
            match rng.bool() {
                true => {
                    transaction.commit()?;
                    let accesses = lock(&self.shared.prepared).remove(name);
                    let accesses = accesses.expect("it was prepared by a thread");
                    lock(&self.shared.history).committed.push(accesses);
                }
                false => {
                    transaction.rollback()?;
                    lock(&self.shared.prepared).remove(name);
                }
            }
        }
        Ok(())
    }

    /// Runs transactions of one thread until the disk fails.
    fn work(&self, rng: &mut TestRng) -> Result<()> {
        for _ in 0..12 {
            let mut own = Own {
                transaction: self.begin(),
                accesses: Accesses::default(),
                level: self.kind.level(),
                family: self.db().default_column_family(),
            };
            let mut steps = || (0..rng.u32(1..6)).try_for_each(|_| own.step(rng, self.shared.next_number()));
            match steps() {
                Ok(()) => self.end(own, rng)?,
                Err(error) if is_conflict(&error) => own.transaction.rollback()?,
                Err(error) => return Err(error),
            }
            if rng.u32(..8) == 0 {
                self.db().flush()?;
            }
        }
        Ok(())
    }

    /// Commits, in one phase or in two, or rolls back.
    fn end(&self, mut own: Own, rng: &mut TestRng) -> Result<()> {
        if rng.u32(..8) == 0 {
            return own.transaction.rollback();
        }
        if matches!(self.kind, Kind::Locks(_)) && rng.u32(..3) == 0 {
            return self.end_in_two_phases(own, rng);
        }
        match own.transaction.commit() {
            Ok(()) => self.record(own.accesses),
            Err(error) if is_conflict(&error) => own.transaction.rollback(),
            Err(error) => {
                lock(&self.shared.history).uncertain.push(own.accesses);
                Err(error)
            }
        }
    }

    fn end_in_two_phases(&self, mut own: Own, rng: &mut TestRng) -> Result<()> {
        let name = self.shared.next_number().to_be_bytes();
        own.transaction.set_name(&name)?;
        lock(&self.shared.prepared).insert(name.to_vec(), own.accesses.clone());
        let forget = || drop(lock(&self.shared.prepared).remove(&name[..]));
        match own.transaction.prepare() {
            Err(error) if is_conflict(&error) => {
                forget();
                return own.transaction.rollback();
            }
            prepared => prepared?,
        }
        if rng.u32(..4) == 0 {
            self.db().flush()?;
        }
        if rng.u32(..6) == 0 {
            own.transaction.rollback()?;
            forget();
            return Ok(());
        }
        own.transaction.commit()?;
        forget();
        self.record(own.accesses)
    }

    /// Records a committed transaction. Rows are visible before their sync has ended, and a transaction
    /// without writes syncs nothing. So that a loss of power takes nothing it has read, that is synced first.
    fn record(&self, accesses: Accesses) -> Result<()> {
        if accesses.appends.is_empty() {
            self.db().sync_wal()?;
        }
        lock(&self.shared.history).committed.push(accesses);
        Ok(())
    }

    fn lists(&self) -> Result<Vec<Vec<u32>>> {
        let value = |at| {
            self.db()
                .get(key(at))
                .map(|value| value.map_or(Vec::new(), |value| list(&value)))
        };
        (0..KEYS).map(value).collect()
    }
}

/// A transaction of a thread, with its history.
struct Own {
    transaction: Transaction,
    accesses: Accesses,
    level: Level,
    family: ColumnFamily,
}

impl Own {
    fn step(&mut self, rng: &mut TestRng, number: u32) -> Result<()> {
        let at = rng.u8(..KEYS);
        match rng.u32(..10) {
            0..=2 => drop(self.read(at)?),
            3..=4 => self.scan(rng)?,
            5..=7 => {
                let mut list = self.read(at)?;
                list.push(number);
                self.transaction.put_cf(&self.family, &key(at), &text_of(&list))?;
                self.accesses.appends.push((at, number));
            }
            _ => {
                let number_text = number.to_string();
                self.transaction
                    .merge_cf(&self.family, &key(at), number_text.as_bytes())?;
                self.accesses.appends.push((at, number));
            }
        }
        Ok(())
    }

    fn read_options(&self) -> ReadOptions {
        let snapshot = self.transaction.snapshot();
        ReadOptions {
            snapshot: snapshot.filter(|_| self.level == Level::Snapshot).cloned(),
            ..ReadOptions::default()
        }
    }

    fn read(&mut self, at: u8) -> Result<Vec<u32>> {
        let value = self
            .transaction
            .get_cf_opt(&self.family, &key(at), &self.read_options())?;
        self.accesses.note(at, value.as_deref());
        Ok(value.map_or(Vec::new(), |value| list(&value)))
    }

    /// Reads the lists of a range of keys, including empty ones.
    fn scan(&mut self, rng: &mut TestRng) -> Result<()> {
        let (a, b) = (rng.u8(..KEYS), rng.u8(..KEYS));
        let (first, last) = (a.min(b), a.max(b));
        let mut found = BTreeMap::new();
        let mut iter = self.transaction.scan(&self.family, &self.read_options())?;
        iter.seek(&key(first));
        while iter.valid() && iter.key() <= &key(last)[..] {
            found.insert(iter.key()[0] - b'a', iter.value().to_vec());
            iter.next();
        }
        iter.status()?;
        drop(iter);
        for at in first..=last {
            self.accesses.note(at, found.get(&at).map(|value| &value[..]));
        }
        Ok(())
    }
}

/// Runs some lives of one database, each but the last ended by a crash, and searches the whole history.
fn live(seed: u64, kind: Kind) {
    let mut rng = TestRng::with_seed(seed);
    let shared = Arc::new(Shared::default());
    let mut mem = MemFs::new();
    for number in 0..4 {
        let is_last = number == 3;
        let fs = disk(&mem, (!is_last).then(|| rng.u64(20..260)));
        match Life::open(&fs, kind, shared.clone()) {
            Ok(life) => {
                let ended = life.end_prepared(&mut rng);
                assert!(
                    ended.is_ok() || fs.is_crashed(),
                    "{ended:?}, {kind:?}, seed {seed}"
                );
                let seeds: Vec<u64> = (0..THREADS).map(|_| rng.u64(..)).collect();
                base::simulation::thread::scope(|scope| {
                    for (thread, seed) in seeds.into_iter().enumerate().filter(|_| ended.is_ok()) {
                        let (life, fs) = (&life, &fs);
                        let body = move || {
                            let worked = life.work(&mut TestRng::with_seed(seed));
                            assert!(worked.is_ok() || fs.is_crashed(), "{worked:?}, seed {seed}");
                        };
                        let named = base::simulation::thread::Builder::new().name(format!("w{thread}"));
                        named.spawn_scoped(scope, body).expect("a thread");
                    }
                });
                if is_last {
                    check(&life, seed);
                }
                fs.crash();
            }
            Err(error) => assert!(fs.is_crashed(), "it does not open: {error}, seed {seed}"),
        }
        mem = match rng.u32(..4) {
            0 => mem.process_death_clone(),
            1 => mem.crash_clone(&mut rng, UnsyncedPolicy::Lose),
            2 => mem.crash_clone(&mut rng, UnsyncedPolicy::Random),
            _ => mem.crash_clone(&mut rng, UnsyncedPolicy::RandomPages),
        };
    }
}

fn check(life: &Life, seed: u64) {
    let lists = life.lists().expect("the disk does not fail");
    let mut history = lock(&life.shared.history);
    history.settle(&lists);
    assert!(history.committed.len() > 5, "seed {seed}");
    let found = anomalies(&history.committed, &lists);
    let wrong: BTreeSet<_> = found
        .into_iter()
        .filter(|&found| !life.kind.allows(found))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}, {:?}, seed {seed}", life.kind);
}

#[test]
fn concurrent_histories_across_crashes_show_no_anomaly_above_their_level() {
    for seed in rng::seeds(rng::runs("ESKER_SIMULATED_ANOMALIES", 48)) {
        let settings = Settings {
            seed,
            strategy: Strategy::Random {
                one_in: [2, 6, 20][(seed % 3) as usize],
            },
            most_points: 3_000_000,
            keep_choices: false,
        };
        let kind = Kind::ALL[(seed / 3 % 6) as usize];
        let outcome = base::simulation::run(settings, move || live(seed, kind));
        assert_eq!(outcome.failure, None, "{kind:?}, seed {seed}");
    }
}
