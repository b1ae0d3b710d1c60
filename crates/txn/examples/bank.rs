//! A bank: threads that move money between accounts, with locks and without, and the sum of it all, which
//! never changes.
//!
//! `cargo run -p esker-txn --example bank`

use std::sync::atomic::{AtomicU64, Ordering};

use esker::{ColumnFamily, Db, ErrorKind, Options, Result, WriteOptions};
use esker_txn::{
    OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions,
};

const ACCOUNTS: u64 = 10;
const BEGINS_WITH: i64 = 100;
const THREADS: u64 = 4;
const TRANSFERS: u64 = 200;

fn account(number: u64) -> Vec<u8> {
    format!("account{number:03}").into_bytes()
}

/// The balance of an account; the transaction holds its lock until it ends.
fn balance(transaction: &mut Transaction, family: &ColumnFamily, number: u64) -> Result<i64> {
    let value = transaction.get_for_update_cf(family, account(number))?;
    let text = value.as_deref().map(String::from_utf8_lossy);
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

fn transfer(
    transaction: &mut Transaction,
    family: &ColumnFamily,
    from: u64,
    to: u64,
    amount: i64,
) -> Result<()> {
    // The accounts are locked in one order, so that two transfers between the same accounts cannot deadlock.
    let first = balance(transaction, family, from.min(to))?;
    let second = balance(transaction, family, from.max(to))?;
    let (has, gets) = if from < to {
        (first, second)
    } else {
        (second, first)
    };
    if has < amount {
        return transaction.rollback();
    }
    transaction.put_cf(family, &account(from), (has - amount).to_string().as_bytes())?;
    transaction.put_cf(family, &account(to), (gets + amount).to_string().as_bytes())?;
    transaction.commit()
}

/// Moves money until all transfers are done. Returns the number of repeated transfers.
fn run(db: &Db, begin: &(dyn Fn() -> Transaction + Sync)) -> Result<u64> {
    let family = db.default_column_family();
    for number in 0..ACCOUNTS {
        db.put(account(number), BEGINS_WITH.to_string().as_bytes())?;
    }
    let again = AtomicU64::new(0);
    let work = |thread: u64| -> Result<()> {
        for round in 0..TRANSFERS {
            let from = (thread + round * 7) % ACCOUNTS;
            let to = (from + 1 + round % (ACCOUNTS - 1)) % ACCOUNTS;
            loop {
                match transfer(&mut begin(), &family, from, to, (round % 20) as i64) {
                    Ok(()) => break,
                    // Another transaction has written or locked one of the accounts first.
                    Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::TimedOut) => {
                        again.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a thread panicked"))
    })?;
    let mut sum = 0;
    for number in 0..ACCOUNTS {
        let value = db.get(account(number))?.unwrap_or_default();
        sum += String::from_utf8_lossy(&value).parse::<i64>().unwrap_or(0);
    }
    assert_eq!(sum, ACCOUNTS as i64 * BEGINS_WITH, "money was made or lost");
    Ok(again.into_inner())
}

fn main() -> Result<()> {
    let place = std::env::temp_dir().join(format!("esker-bank-{}", std::process::id()));
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let write = WriteOptions::default();

    let locked = TransactionDB::open(&options, &TransactionDBOptions::default(), place.join("locked"))?;
    let detecting = TransactionOptions {
        deadlock_detect: true,
        ..TransactionOptions::default()
    };
    let again = run(locked.db(), &|| locked.begin_transaction(&write, &detecting))?;
    println!(
        "with locks: {} transfers, {again} of them done again, {} deadlocks remembered",
        THREADS * TRANSFERS,
        locked.deadlock_info().len()
    );

    let optimistic = OptimisticTransactionDB::open(&options, place.join("optimistic"))?;
    let again = run(optimistic.db(), &|| {
        optimistic.begin_transaction(&write, &OptimisticTransactionOptions::default())
    })?;
    println!(
        "optimistic: {} transfers, {again} of them done again",
        THREADS * TRANSFERS
    );

    locked.db().close()?;
    optimistic.db().close()?;
    std::fs::remove_dir_all(&place).map_err(|error| esker::Error::io("remove", &place, error))
}
