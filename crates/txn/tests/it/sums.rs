//! Threads that add the same number to a key of each of some sets, in one transaction: the sums of all sets
//! stay equal, whatever else happens.

use esker::{Db, ReadOptions, Result, Snapshot, WriteOptions};
use esker_txn::{
    OptimisticTransactionOptions, Transaction, TransactionDB, TransactionDBOptions, TransactionOptions,
};
use testkit::rng::TestRng;
use vfs::MemFs;

use super::common::*;

const SETS: u8 = 3;
const KEYS: u8 = 4;
const THREADS: u64 = 4;
const ROUNDS: u64 = 120;

fn number(value: Option<&[u8]>) -> u64 {
    value.map_or(0, |value| std::str::from_utf8(value).unwrap().parse().unwrap())
}

/// Adds to one key of each set, in a random order of sets.
fn add(transaction: &mut Transaction, db: &Db, rng: &mut TestRng) -> Result<()> {
    let family = family(db);
    let amount = rng.u64(1..100);
    let first = rng.u8(..SETS);
    for set in (0..SETS).map(|at| (first + at) % SETS) {
        let key = [b's', set, rng.u8(..KEYS)];
        let read = ReadOptions::default();
        let value = transaction.get_for_update_cf_opt(&family, &key, true, true, &read)?;
        let sum = number(value.as_deref()) + amount;
        transaction.put_cf(&family, &key, sum.to_string().as_bytes())?;
    }
    if !transaction.name().is_empty() {
        transaction.prepare()?;
        if rng.one_in(10) {
            db.flush()?;
        }
        if rng.one_in(8) {
            return transaction.rollback();
        }
    }
    transaction.commit()
}

/// The sum of each set, as of one moment.
fn sums(db: &Db, snapshot: Snapshot) -> Vec<u64> {
    let options = ReadOptions {
        snapshot: Some(snapshot),
        ..ReadOptions::default()
    };
    let of_set = |set| {
        let keys = (0..KEYS).map(|key| [b's', set, key]);
        keys.map(|key| number(db.get_cf_opt(&family(db), key, &options).unwrap().as_deref()))
            .sum()
    };
    (0..SETS).map(of_set).collect()
}

fn assert_alike(db: &Db) -> u64 {
    let sums = sums(db, db.snapshot());
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    sums[0]
}

/// Lets threads add by transactions that `begin` makes, each called with a unique number.
fn run(db: &Db, begin: &(dyn Fn(u64, &mut TestRng) -> Transaction + Sync)) {
    let seed = testkit::rng().u64(..);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut rng = TestRng::with_seed(seed ^ thread);
                for round in 0..ROUNDS {
                    let mut attempt = 0;
                    loop {
                        let name = thread << 32 | round << 16 | attempt;
                        attempt += 1;
                        match add(&mut begin(name, &mut rng), db, &mut rng) {
                            Ok(()) => break,
                            Err(error) => {
                                let text = error.to_string();
                                assert!(
                                    [BUSY, TIMED_OUT, "Resource busy: Deadlock"].contains(&&text[..]),
                                    "{text}"
                                );
                            }
                        }
                    }
                    if rng.one_in(10) {
                        assert_alike(db);
                    }
                    match rng.u32(..60) {
                        0 => flush(db),
                        1 => compact(db),
                        _ => {}
                    }
                }
            });
        }
    });
    assert!(assert_alike(db) > 0);
}

#[test]
fn with_locks_in_one_phase_and_in_two() {
    let fs = MemFs::new();
    let waiting = TransactionDBOptions::default();
    let db = TransactionDB::open(&options(&fs), &waiting, DIR).unwrap();
    run(db.db(), &|number, rng| {
        let how = TransactionOptions {
            // Deadlock detection is on: without it a transaction in a cycle would wait until its lock
            // timeout.
            deadlock_detect: true,
            lock_timeout: 60_000,
            set_snapshot: rng.bool(),
            ..TransactionOptions::default()
        };
        let mut transaction = db.begin_transaction(&WriteOptions::default(), &how);
        if rng.bool() {
            transaction.set_name(&number.to_be_bytes()).unwrap();
        }
        transaction
    });
    assert!(db.lock_status().is_empty());
    let sum = assert_alike(db.db());
    let again = open(&fs.process_death_clone());
    assert_eq!(assert_alike(again.db()), sum);
    assert!(again.get_all_prepared_transactions().is_empty());
}

#[test]
fn without_locks() {
    let fs = MemFs::new();
    let db = open_optimistic(&fs);
    run(db.db(), &|_, rng| {
        let how = OptimisticTransactionOptions {
            set_snapshot: rng.bool(),
            ..OptimisticTransactionOptions::default()
        };
        db.begin_transaction(&WriteOptions::default(), &how)
    });
    let sum = assert_alike(db.db());
    assert_eq!(assert_alike(open_optimistic(&fs.process_death_clone()).db()), sum);
}
