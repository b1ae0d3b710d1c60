//! Transactions of several threads in one simulated world, with one-phase and two-phase commits, across
//! losses of power and deaths of the process at any operation of the disk: after each crash the database
//! contains every promised transaction completely, and nothing else.
//!
//! ```text
//! prepared         outstanding
//! committed        visible, not outstanding
//! rolled back      neither
//! a call that did not return leaves the state before it or the state after it, never a part
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base::merge;
use base::simulation::{Settings, Strategy};
use esker::{ColumnFamily, NullLogger, Options, WriteBatch, WriteOptions};
use testkit::rng::{self, TestRng};
use txn::{Transaction, TransactionDB, TransactionDBOptions, TransactionOptions};
use vfs::{Action, FaultFs, MemFs, Op, Rule, UnsyncedPolicy};

const THREADS: usize = 3;
const OTHER: &str = "other";

/// The state in which a transaction may be found after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionPlace {
    Absent,
    Outstanding,
    Committed,
}

/// The places where each transaction may be, by name.
type Promises = BTreeMap<String, Vec<SectionPlace>>;

/// The database of a life, which threads share.
struct Life {
    db: TransactionDB,
    promises: Arc<Mutex<Promises>>,
    number: usize,
}

fn lock(promises: &Mutex<Promises>) -> std::sync::MutexGuard<'_, Promises> {
    promises.lock().unwrap_or_else(PoisonError::into_inner)
}

fn synced() -> WriteOptions {
    WriteOptions {
        sync: true,
        ..WriteOptions::default()
    }
}

fn value(name: &str) -> Vec<u8> {
    name.repeat(30).into_bytes()
}

/// The two rows of a transaction: one of each family.
fn keys(name: &str) -> [Vec<u8>; 2] {
    [format!("{name}/a").into_bytes(), format!("{name}/b").into_bytes()]
}

impl Life {
    fn families(&self) -> [ColumnFamily; 2] {
        let db = self.db.db();
        [
            db.default_column_family(),
            db.column_family(OTHER).expect("it is created with the database"),
        ]
    }

    /// Records that the transaction may be in one of `places` from now on.
    fn may_be(&self, name: &str, places: &[SectionPlace]) {
        lock(&self.promises).insert(name.to_owned(), places.to_vec());
    }

    /// Calls `step`, which moves a transaction from one place to another.
    fn bring(
        &self,
        name: &str,
        (from, to): (SectionPlace, SectionPlace),
        step: impl FnOnce() -> esker::Result<()>,
    ) -> esker::Result<()> {
        self.may_be(name, &[from, to]);
        step()?;
        self.may_be(name, &[to]);
        Ok(())
    }

    /// Does the steps of a thread until the disk fails.
    fn work(&self, thread: usize, rng: &mut TestRng) -> esker::Result<()> {
        for number in 0..8 {
            let name = format!("t{}.{thread}.{number}", self.number);
            let mut transaction = self.begin(&name)?;
            match rng.u32(..4) {
                0 => self.bring(&name, (SectionPlace::Absent, SectionPlace::Committed), || {
                    transaction.commit()
                })?,
                _ => {
                    self.bring(&name, (SectionPlace::Absent, SectionPlace::Outstanding), || {
                        transaction.prepare()
                    })?;
                    self.do_something_else(rng, thread, number)?;
                    self.end(&mut transaction, &name, rng)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&self, name: &str) -> esker::Result<Transaction> {
        let mut transaction = self
            .db
            .begin_transaction(&synced(), &TransactionOptions::default());
        transaction.set_name(name.as_bytes())?;
        let families = self.families();
        for (family, key) in families.iter().zip(keys(name)) {
            // The put comes after the deletion in the batch and takes precedence.
            let end = [&key[..], b"~"].concat();
            transaction.delete_range_cf(family, &key, &end)?;
            transaction.put_cf(family, &key, &value(name))?;
        }
        Ok(transaction)
    }

    fn end(&self, transaction: &mut Transaction, name: &str, rng: &mut TestRng) -> esker::Result<()> {
        match rng.u32(..6) {
            // The drop of the `Transaction` object leaves the transaction prepared.
            0 => Ok(()),
            1 => self.bring(name, (SectionPlace::Outstanding, SectionPlace::Absent), || {
                transaction.rollback()
            }),
            _ => self.bring(name, (SectionPlace::Outstanding, SectionPlace::Committed), || {
                transaction.commit()
            }),
        }
    }

    /// Writes between the two phases: rows without promises, which switch WALs and memtables.
    fn do_something_else(&self, rng: &mut TestRng, thread: usize, number: u32) -> esker::Result<()> {
        let db = self.db.db();
        match rng.u32(..4) {
            0 => {
                let mut batch = WriteBatch::new();
                batch.put(format!("noise{thread}.{number}").as_bytes(), &[b'n'; 500]);
                db.write(batch)
            }
            1 => db.flush(),
            2 => db.flush_cf(&self.families()),
            _ => Ok(()),
        }
    }

    /// The rows of a transaction: for each, whether it exists and has its value.
    fn rows(&self, name: &str) -> esker::Result<Vec<Option<bool>>> {
        let families = self.families();
        let rows = families.iter().zip(keys(name)).map(|(family, key)| {
            let read = esker::ReadOptions::default();
            let found = self.db.db().get_cf_opt(family, &key, &read)?;
            Ok(found.map(|found| found == value(name)))
        });
        rows.collect()
    }

    /// Finds where each transaction is, checks that it may be there, and makes that the promise. An error is
    /// that of the failed disk.
    fn check(&self, seed: u64) -> esker::Result<()> {
        let outstanding: BTreeMap<String, Transaction> = self
            .db
            .get_all_prepared_transactions()
            .into_iter()
            .map(|found| (String::from_utf8_lossy(found.name()).into_owned(), found))
            .collect();
        let mut promises = lock(&self.promises);
        for name in outstanding.keys() {
            assert!(
                promises.contains_key(name),
                "{name} was never prepared, seed {seed}"
            );
        }
        for (name, places) in promises.iter_mut() {
            let place = match (&self.rows(name)?[..], outstanding.get(name)) {
                ([None, None], None) => SectionPlace::Absent,
                ([None, None], Some(found)) => {
                    assert_eq!(found.write_batch().count(), 4, "{name} is a half, seed {seed}");
                    SectionPlace::Outstanding
                }
                ([Some(true), Some(true)], None) => SectionPlace::Committed,
                (rows, found) => panic!("{name}: {rows:?}, outstanding: {}, seed {seed}", found.is_some()),
            };
            assert!(
                places.contains(&place),
                "{name} is {place:?}, may be {places:?}, seed {seed}"
            );
            *places = vec![place];
        }
        Ok(())
    }

    /// Ends some of the transactions that an earlier life left prepared.
    fn end_some(&self, rng: &mut TestRng) -> esker::Result<()> {
        for mut found in self.db.get_all_prepared_transactions() {
            let name = String::from_utf8_lossy(found.name()).into_owned();
            if rng.bool() {
                self.end(&mut found, &name, rng)?;
            }
        }
        Ok(())
    }
}

/// Options of a small database over `fs`, whose values are lists that a merge appends to.
pub fn options(fs: &FaultFs) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        info_log: Some(Arc::new(NullLogger)),
        stats_dump_period_sec: 0,
        ..Options::default()
    };
    options.column_family.write_buffer_size = 16_384;
    options.column_family.merge_operator = merge::builtin("StringAppendOperator");
    options
}

fn open(fs: &FaultFs) -> esker::Result<TransactionDB> {
    let mut options = Options {
        create_missing_column_families: true,
        ..options(fs)
    };
    options
        .column_families
        .insert(OTHER.to_owned(), options.column_family.clone());
    TransactionDB::open(&options, &TransactionDBOptions::default(), "/db")
}

/// A disk that fails after `crash_at` operations; another thread may run before each operation.
pub fn disk(mem: &MemFs, crash_at: Option<u64>) -> FaultFs {
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let hook = |_: Op, _: &Path| base::simulation::point("");
    fs.add(Rule::new(Action::Call(Arc::new(hook))));
    if let Some(at) = crash_at {
        fs.crash_at(at);
    }
    fs
}

/// Runs some lives of one database, each ended by a crash, and checks what they left.
fn live(seed: u64) {
    let mut rng = TestRng::with_seed(seed);
    let promises: Arc<Mutex<Promises>> = Arc::default();
    let mut mem = MemFs::new();
    for number in 0..4 {
        let is_last = number == 3;
        let fs = disk(&mem, (!is_last).then(|| rng.u64(20..220)));
        if let Ok(db) = open(&fs) {
            let life = Life {
                db,
                promises: promises.clone(),
                number,
            };
            let ended = life.check(seed).and_then(|()| life.end_some(&mut rng));
            assert!(ended.is_ok() || fs.is_crashed(), "{ended:?}, seed {seed}");
            let seeds: Vec<u64> = (0..THREADS).map(|_| rng.u64(..)).collect();
            base::simulation::thread::scope(|scope| {
                for (thread, seed) in seeds.into_iter().enumerate().filter(|_| ended.is_ok()) {
                    let life = &life;
                    let body = move || drop(life.work(thread, &mut TestRng::with_seed(seed)));
                    let named = base::simulation::thread::Builder::new().name(format!("w{thread}"));
                    named.spawn_scoped(scope, body).expect("a thread");
                }
            });
            if is_last {
                assert!(life.check(seed).is_ok(), "seed {seed}");
            }
            fs.crash();
        } else {
            assert!(fs.is_crashed(), "it does not open, seed {seed}");
        }
        mem = match rng.u32(..4) {
            0 => mem.process_death_clone(),
            1 => mem.crash_clone(&mut rng, UnsyncedPolicy::Lose),
            2 => mem.crash_clone(&mut rng, UnsyncedPolicy::Random),
            _ => mem.crash_clone(&mut rng, UnsyncedPolicy::RandomPages),
        };
    }
    let promises = lock(&promises);
    let at = |place| promises.values().filter(|places| places.contains(&place)).count();
    assert!(at(SectionPlace::Committed) > 5, "seed {seed}");
}

#[test]
fn prepared_and_committed_transactions_survive_losses_at_any_operation() {
    for seed in rng::seeds(rng::runs("ESKER_SIMULATED_TRANSACTIONS", 20)) {
        let settings = Settings {
            seed,
            strategy: Strategy::Random {
                one_in: [2, 6, 20][(seed % 3) as usize],
            },
            most_points: 3_000_000,
            keep_choices: false,
        };
        let outcome = base::simulation::run(settings, move || live(seed));
        assert_eq!(outcome.failure, None, "seed {seed}");
    }
}
