//! randomtransaction: each transaction adds one number to a key of each of `--transaction_sets` sets, so that
//! the sums of all sets are equal whichever transactions committed. A key is the number of its set in four
//! digits, then the number of the key.

use std::time::Duration;

use base::{Error, ErrorKind, Result};
use esker::{ReadOptions, WriteBatch};
use txn::{OptimisticTransactionOptions, Transaction, TransactionOptions};

use crate::bench::Bench;
use crate::flags::Flags;
use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;
use crate::transactions::Transactions;

/// Refuses values of the flags that make no sense.
pub fn check(flags: &Flags) -> Result<()> {
    let refuse = |message: &str| Err(Error::invalid_argument(message));
    if flags.transaction_db && flags.optimistic_transaction_db {
        return refuse("--transaction_db or --optimistic_transaction_db, not both");
    }
    if flags.transaction_db || flags.optimistic_transaction_db {
        if flags.readonly {
            return refuse("Cannot use readonly flag with transaction_db");
        }
        if flags.use_secondary_db || flags.open_as_follower {
            return refuse("Cannot use use_secondary_db flag with transaction_db");
        }
    }
    if !(1..=9999).contains(&flags.transaction_sets) {
        return refuse("--transaction_sets must be between 1 and 9999");
    }
    if !(0..=100).contains(&flags.transaction_prepare_percent) {
        return refuse("--transaction_prepare_percent must be between 0 and 100");
    }
    Ok(())
}

/// The end of a transaction.
#[derive(Clone, Copy, PartialEq)]
enum Ended {
    /// The transaction was committed, or rolled back on purpose.
    Done,
    /// The transaction was aborted because of a conflict.
    Aborted,
}

pub fn run(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let (mut done, mut aborts, mut bytes) = (0u64, 0u64, 0u64);
    let mut pace = thread.pace(params.flags.duration, params.readwrites());
    while !pace.done(1) {
        let ended = match params.transactions {
            Some(transactions) => {
                let mut transaction = begin(params, transactions, thread, done)?;
                let is_locked = matches!(transactions, Transactions::Locked(_));
                let ended = add_to_sets(params, thread, &mut transaction, is_locked, &mut bytes)?;
                if ended == Ended::Aborted {
                    // An optimistic transaction whose commit was refused keeps its state, and must be rolled
                    // back.
                    let _ = transaction.rollback();
                }
                ended
            }
            None => add_without(params, thread, &mut bytes)?,
        };
        aborts += u64::from(ended == Ended::Aborted);
        done += 1;
        thread.finished(1, Op::Other);
    }
    thread.add_bytes(bytes);
    thread.message = match params.transactions {
        Some(_) => format!("( transactions:{done} aborts:{aborts})"),
        None => format!("( batches:{done} )"),
    };
    Ok(())
}

fn begin(
    params: &Params<'_>,
    transactions: &Transactions,
    thread: &mut Thread<'_>,
    done: u64,
) -> Result<Transaction> {
    let flags = params.flags;
    Ok(match transactions {
        Transactions::Locked(db) => {
            let options = TransactionOptions {
                lock_timeout: i64::try_from(flags.transaction_lock_timeout).unwrap_or(i64::MAX),
                set_snapshot: flags.transaction_set_snapshot,
                ..TransactionOptions::default()
            };
            let mut transaction = db.begin_transaction(&params.write, &options);
            transaction.set_name(format!("txn{}-{done}", thread.id).as_bytes())?;
            if transaction.snapshot().is_none() || thread.rng.bool() {
                transaction.set_snapshot();
            }
            transaction
        }
        Transactions::Optimistic(db) => {
            let options = OptimisticTransactionOptions {
                set_snapshot: flags.transaction_set_snapshot,
                ..OptimisticTransactionOptions::default()
            };
            db.begin_transaction(&params.write, &options)
        }
    })
}

/// A random key of a set.
fn draw_key(params: &Params<'_>, thread: &mut Thread<'_>, set: u64) -> Vec<u8> {
    let number = thread.rng.u64(..params.num.max(1) as u64);
    format!("{:04}{number}", set + 1).into_bytes()
}

/// The sets in a random order.
fn draw_sets(params: &Params<'_>, thread: &mut Thread<'_>) -> Vec<u64> {
    let mut sets: Vec<u64> = (0..params.flags.transaction_sets).collect();
    thread.rng.shuffle(&mut sets);
    sets
}

/// A random number to add.
fn draw_number(thread: &mut Thread<'_>) -> u64 {
    thread.rng.u64(1..=100)
}

fn number_of(value: Option<&[u8]>) -> Result<u64> {
    let Some(value) = value else { return Ok(0) };
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    let number = number.filter(|&number| number != 0 && number != u64::MAX);
    number.ok_or_else(|| {
        Error::new(
            ErrorKind::Corruption,
            format!("Get returned unexpected value: {}", value.escape_ascii()),
        )
    })
}

/// True for an error that reports a conflict.
fn is_conflict(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Busy | ErrorKind::TimedOut | ErrorKind::TryAgain
    )
}

fn add_to_sets(
    params: &Params<'_>,
    thread: &mut Thread<'_>,
    transaction: &mut Transaction,
    is_locked: bool,
    bytes: &mut u64,
) -> Result<Ended> {
    let number = draw_number(thread);
    let sets = draw_sets(params, thread);
    for set in sets {
        match add(params, thread, transaction, (set, number), bytes) {
            Err(error) if is_conflict(&error) => return Ok(Ended::Aborted),
            added => added?,
        }
    }
    if is_locked && thread.rng.u64(..100) < params.flags.transaction_prepare_percent as u64 {
        transaction.prepare()?;
        if thread.rng.u64(..20) == 0 {
            transaction.commit_time_write_batch().put(b"cat", b"dog");
        }
    }
    if thread.rng.u64(..20) == 0 {
        return transaction.rollback().map(|()| Ended::Done);
    }
    match transaction.commit() {
        Err(error) if !is_locked && is_conflict(&error) => Ok(Ended::Aborted),
        committed => committed.map(|()| Ended::Done),
    }
}

/// Adds a number to a key of a set.
fn add(
    params: &Params<'_>,
    thread: &mut Thread<'_>,
    transaction: &mut Transaction,
    (set, number): (u64, u64),
    bytes: &mut u64,
) -> Result<()> {
    let family = &params.families[0];
    let key = draw_key(params, thread, set);
    let read = ReadOptions {
        snapshot: transaction.snapshot().cloned(),
        ..params.read.clone()
    };
    let value = match thread.rng.bool() {
        true => transaction.get_for_update_cf_opt(family, &key, true, true, &read)?,
        // The write that follows locks the key, and validates it against the snapshot.
        false if transaction.snapshot().is_some() => transaction.get_cf_opt(family, &key, &read)?,
        false => transaction.get_for_update_cf_opt(family, &key, false, true, &read)?,
    };
    sleep(params, thread);
    let sum = (number_of(value.as_deref())? + number).to_string();
    match set % 4 {
        0 => transaction.delete_cf(family, &key)?,
        _ => transaction.single_delete_cf(family, &key)?,
    }
    transaction.put_cf(family, &key, sum.as_bytes())?;
    *bytes += (key.len() + sum.len()) as u64;
    Ok(())
}

/// Sleeps up to `--transaction_sleep` between a read and a write.
fn sleep(params: &Params<'_>, thread: &mut Thread<'_>) {
    if let Ok(most @ 1..) = u64::try_from(params.flags.transaction_sleep) {
        std::thread::sleep(Duration::from_micros(thread.rng.u64(..=most)));
    }
}

/// Adds a number by a batch, between whose reads and writes other threads may write.
fn add_without(params: &Params<'_>, thread: &mut Thread<'_>, bytes: &mut u64) -> Result<Ended> {
    let number = draw_number(thread);
    let sets = draw_sets(params, thread);
    let mut batch = WriteBatch::new();
    for set in sets {
        let key = draw_key(params, thread, set);
        let value = params
            .db
            .get_pinned_cf_opt(&params.families[0], &key, &params.read)?;
        sleep(params, thread);
        let sum = (number_of(value.as_deref())? + number).to_string();
        batch.put(&key, sum.as_bytes());
        *bytes += (key.len() + sum.len()) as u64;
    }
    params.db.write_opt(batch, &params.write)?;
    Ok(Ended::Done)
}

/// Compares the sums of all sets, if transactions were used.
pub fn verify(bench: &mut Bench) -> Result<()> {
    if bench.handles().transactions.is_none() {
        return Ok(());
    }
    match sums_are_equal(bench) {
        Ok(()) => {
            println!("RandomTransactionVerify Success.");
            Ok(())
        }
        Err(error) => {
            println!("RandomTransactionVerify FAILED!!");
            Err(error)
        }
    }
}

fn sums_are_equal(bench: &Bench) -> Result<()> {
    let handles = bench.handles();
    let mut entries = handles.db.iter_cf(&handles.families[0]);
    let mut first = None;
    for set in 1..=bench.flags.transaction_sets {
        let prefix = format!("{set:04}").into_bytes();
        let mut total = 0u64;
        entries.seek(&prefix);
        while entries.valid() && entries.key().starts_with(&prefix) {
            total = total.wrapping_add(number_of(Some(entries.value()))?);
            entries.next();
        }
        entries.status()?;
        if *first.get_or_insert(total) != total {
            let message = format!(
                "RandomTransactionVerify found inconsistent totals: set 1: {first:?}, set {set}: {total}"
            );
            return Err(Error::new(ErrorKind::Corruption, message));
        }
    }
    Ok(())
}
