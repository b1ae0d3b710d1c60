//! Tests of ranges: locked, validated and deleted by transactions.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use esker::{ManualClock, Options, ReadOptions, WriteBatch, WriteOptions};
use esker_txn::{
    KeyRange, OptimisticTransactionDB, OptimisticTransactionOptions, RangeLockInfo, Tracking, Transaction,
    TransactionDB, TransactionDBOptions, TransactionOptions,
};
use vfs::{MemFs, UnsyncedPolicy};

use super::common::*;

fn begin_optimistic(db: &OptimisticTransactionDB) -> Transaction {
    db.begin_transaction(&WriteOptions::default(), &OptimisticTransactionOptions::default())
}

/// The keys that an iterator of the transaction shows, forwards and backwards.
fn keys(transaction: &Transaction, family: &esker::ColumnFamily) -> String {
    let mut iter = transaction.iter_cf(family).unwrap();
    let mut forwards = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        forwards.push(iter.key().escape_ascii().to_string());
        iter.next();
    }
    let mut backwards = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        backwards.push(iter.key().escape_ascii().to_string());
        iter.prev();
    }
    iter.status().unwrap();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    forwards.join(" ")
}

#[test]
fn a_transaction_does_not_see_what_it_has_deleted_by_range() {
    let fs = MemFs::new();
    let db = open(&fs);
    let optimistic = open_optimistic(&MemFs::new());
    for (db, mut transaction) in [
        (db.db(), begin(&db)),
        (optimistic.db(), begin_optimistic(&optimistic)),
    ] {
        let family = family(db);
        for key in [b"a", b"b", b"c", b"d"] {
            db.put(key, b"0").unwrap();
        }
        flush(db);
        transaction.put_cf(&family, b"bb", b"1").unwrap();
        transaction.set_save_point();
        transaction.delete_range_cf(&family, b"b", b"d").unwrap();
        transaction.put_cf(&family, b"c", b"2").unwrap();
        assert_eq!(keys(&transaction, &family), "a c d");
        let read = |key: &[u8]| {
            let value = transaction.get_cf(&family, key).unwrap();
            shown(value.as_deref())
        };
        assert_eq!(
            (read(b"b"), read(b"bb"), read(b"c")),
            ("-".into(), "-".into(), "2".into())
        );
        assert_eq!((transaction.num_deletes(), transaction.num_ranges()), (1, 1));
        transaction.rollback_to_save_point().unwrap();
        assert_eq!(keys(&transaction, &family), "a b bb c d");
        assert_eq!((transaction.num_deletes(), transaction.num_ranges()), (0, 0));
        transaction.delete_range_cf(&family, b"a", b"c").unwrap();
        transaction.commit().unwrap();
        let after = [b"a", b"b", b"c", b"d"].map(|key| get(db, &family, key));
        assert_eq!(after.concat(), "--00");
    }
}

#[test]
fn a_range_and_the_keys_of_it_have_one_holder() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.lock_range(&family, Some(b"b"), Some(b"d"), true).unwrap();
    let mut second = begin(&db);
    for key in [&b"b"[..], b"bb", b"c\xff"] {
        assert_eq!(text(second.put_cf(&family, key, b"1")), TIMED_OUT);
        assert_eq!(read(&mut second, &family, key), TIMED_OUT);
    }
    assert_eq!(
        text(second.put_cf(&family, b"d", b"1")),
        "ok",
        "the end is no part of it"
    );
    let range = |second: &mut Transaction, begin: &[u8], end: &[u8], exclusive| {
        text(second.lock_range(&family, Some(begin), Some(end), exclusive))
    };
    assert_eq!(range(&mut second, b"a", b"b", true), "ok");
    assert_eq!(range(&mut second, b"a", b"bb", false), TIMED_OUT);
    assert_eq!(text(second.lock_range(&family, None, None, false)), TIMED_OUT);
    // The holder of the range can lock keys of it, and the holder of a key keeps others from locking the
    // range.
    first.put_cf(&family, b"c", b"1").unwrap();
    let write = WriteOptions::default();
    assert_eq!(
        text(db.delete_range_cf_opt(&family, b"c", b"e", &write)),
        TIMED_OUT
    );
    let mut batch = WriteBatch::new();
    batch.delete_range(b"d", b"e");
    assert_eq!(
        text(db.write_opt(batch.clone(), &write)),
        TIMED_OUT,
        "a key of it is locked"
    );
    let status = db.range_lock_status();
    let held = RangeLockInfo {
        range: KeyRange {
            begin: Some(b"b".to_vec()),
            end: Bound::Excluded(b"d".to_vec()),
        },
        id: first.id(),
        exclusive: true,
    };
    assert_eq!(status[0], (0, held));
    first.commit().unwrap();
    second.rollback().unwrap();
    assert!(db.range_lock_status().is_empty() && db.lock_status().is_empty());
    db.write_opt(batch, &write).unwrap();
    db.delete_range_cf_opt(&family, b"a", b"e", &write).unwrap();
    assert_eq!(get(db.db(), &family, b"c"), "-");
    assert_eq!(
        text(db.delete_range_cf_opt(&family, b"b", b"a", &write)),
        "Invalid argument: end key comes before start key"
    );
}

#[test]
fn readers_share_a_range_and_keep_writers_out() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let (mut first, mut second) = (begin(&db), begin(&db));
    first.lock_range(&family, None, Some(b"m"), false).unwrap();
    second.lock_range(&family, Some(b"c"), None, false).unwrap();
    let shares = |transaction: &mut Transaction, key: &[u8]| {
        let read = ReadOptions::default();
        text(
            transaction
                .get_for_update_cf_opt(&family, key, false, true, &read)
                .map(drop),
        )
    };
    assert_eq!(shares(&mut first, b"d"), "ok");
    assert_eq!(shares(&mut second, b"d"), "ok");
    assert_eq!(text(first.put_cf(&family, b"d", b"1")), TIMED_OUT);
    assert_eq!(
        text(first.put_cf(&family, b"a", b"1")),
        "ok",
        "none but its own range is over it"
    );
    assert_eq!(
        text(first.lock_range(&family, Some(b"a"), Some(b"b"), true)),
        "ok"
    );
    assert_eq!(
        text(first.lock_range(&family, Some(b"a"), Some(b"d"), true)),
        TIMED_OUT
    );
    second.rollback().unwrap();
    assert_eq!(
        text(first.lock_range(&family, Some(b"a"), Some(b"d"), true)),
        "ok"
    );
    assert_eq!(first.num_ranges(), 3);
    // A range that other ranges cover needs no further lock.
    first.lock_range(&family, Some(b"b"), Some(b"c"), true).unwrap();
    assert_eq!(first.num_ranges(), 3);
}

#[test]
fn ranges_go_with_their_save_point() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.lock_range(&family, Some(b"a"), Some(b"b"), true).unwrap();
    first.set_save_point();
    first.lock_range(&family, Some(b"c"), Some(b"d"), true).unwrap();
    first.set_save_point();
    first.lock_range(&family, Some(b"e"), Some(b"f"), true).unwrap();
    first.pop_save_point().unwrap();
    let mut second = begin(&db);
    assert_eq!(text(second.put_cf(&family, b"c", b"1")), TIMED_OUT);
    first.rollback_to_save_point().unwrap();
    assert_eq!(text(second.put_cf(&family, b"a", b"1")), TIMED_OUT);
    assert_eq!(text(second.put_cf(&family, b"c", b"1")), "ok");
    assert_eq!(text(second.put_cf(&family, b"e", b"1")), "ok");
    drop(first);
    assert_eq!(text(second.put_cf(&family, b"a", b"1")), "ok");
}

#[test]
fn a_range_is_validated_by_the_snapshot_wherever_its_rows_have_gone() {
    type Write = fn(&TransactionDB);
    let writes: [(&str, Write); 3] = [
        ("put", |db| db.db().put(b"bb", b"1").unwrap()),
        ("delete", |db| db.db().delete(b"b").unwrap()),
        ("range", |db| {
            let write = WriteOptions::default();
            db.db()
                .delete_range_cf_opt(&family(db.db()), b"0", b"bb", &write)
                .unwrap();
        }),
    ];
    let moves: [(&str, Write); 3] = [
        ("memtable", |_| {}),
        ("L0", |db| flush(db.db())),
        ("last level", |db| {
            flush(db.db());
            compact(db.db());
        }),
    ];
    let with_snapshot = TransactionOptions {
        set_snapshot: true,
        ..TransactionOptions::default()
    };
    for (kind, write) in writes {
        for (place, moves) in moves {
            let db = open(&MemFs::new());
            let family = family(db.db());
            for key in [b"a", b"b", b"z"] {
                db.db().put(key, b"0").unwrap();
            }
            flush(db.db());
            let mut first = db.begin_transaction(&WriteOptions::default(), &with_snapshot);
            write(&db);
            moves(&db);
            let mut lock =
                |begin: &[u8], end: &[u8]| text(first.lock_range(&family, Some(begin), Some(end), true));
            assert_eq!(lock(b"b", b"c"), BUSY, "{kind} in {place}");
            assert_eq!(
                lock(b"bb", b"z"),
                if kind == "put" { BUSY } else { "ok" },
                "{kind} in {place}"
            );
            assert_eq!(lock(b"c", b"z"), "ok", "{kind} in {place}");
            let mut second = begin(&db);
            let free = text(second.lock_range(&family, Some(b"b"), Some(b"bb"), true));
            assert_eq!(free, "ok", "what was not got is free");
            let deleted = first.delete_range_cf_opt(&family, b"a", b"b", Tracking::Untracked);
            assert_eq!(text(deleted), "ok", "untracked");
            let assumed = first.delete_range_cf_opt(&family, b"0", b"a", Tracking::AssumeTracked);
            assert!(text(assumed).contains("not tracked yet"));
        }
    }
}

#[test]
fn an_optimistic_transaction_notices_what_appears_in_a_range() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    db.db().put(b"b", b"0").unwrap();
    for (flushed, compacted) in [(false, false), (true, false), (true, true)] {
        let mut deletes = begin_optimistic(&db);
        deletes.delete_range_cf(&family, b"b", b"d").unwrap();
        let mut reads = begin_optimistic(&db);
        reads.lock_range(&family, Some(b"d"), None, false).unwrap();
        reads.put_cf(&family, b"a", b"1").unwrap();
        let mut undoes = begin_optimistic(&db);
        undoes.set_save_point();
        undoes.lock_range(&family, None, None, true).unwrap();
        undoes.rollback_to_save_point().unwrap();
        undoes.put_cf(&family, b"u", b"1").unwrap();
        db.db().put(b"c", b"1").unwrap();
        if flushed {
            flush(db.db());
        }
        if compacted {
            compact(db.db());
        }
        assert_eq!(text(deletes.commit()), BUSY);
        assert_eq!(text(reads.commit()), "ok");
        assert_eq!(text(undoes.commit()), "ok");
        deletes.rollback().unwrap();
        deletes.delete_range_cf(&family, b"b", b"d").unwrap();
        assert_eq!(text(deletes.commit()), "ok");
        assert_eq!(get(db.db(), &family, b"c"), "-");
        db.db().put(b"b", b"0").unwrap();
    }
}

#[test]
fn a_range_of_a_transaction_that_has_expired_is_free() {
    let clock = Arc::new(ManualClock::default());
    let options = Options {
        clock: clock.clone(),
        ..options(&MemFs::new())
    };
    let db = TransactionDB::open(&options, &no_wait(), DIR).unwrap();
    let family = family(db.db());
    let expiring = TransactionOptions {
        expiration: 100,
        ..TransactionOptions::default()
    };
    let mut expires = db.begin_transaction(&WriteOptions::default(), &expiring);
    expires.lock_range(&family, Some(b"a"), Some(b"c"), true).unwrap();
    expires.put_cf(&family, b"x", b"1").unwrap();
    let mut other = begin(&db);
    assert_eq!(text(other.put_cf(&family, b"a", b"1")), TIMED_OUT);
    assert_eq!(text(other.lock_range(&family, Some(b"w"), None, true)), TIMED_OUT);
    clock.advance(Duration::from_millis(100));
    assert_eq!(
        text(other.lock_range(&family, Some(b"w"), None, true)),
        "ok",
        "its key is free"
    );
    assert_eq!(text(other.put_cf(&family, b"a", b"1")), "ok");
    assert_eq!(text(other.lock_range(&family, None, None, true)), "ok");
    assert_eq!(text(expires.commit()), "Operation expired: ");
    drop(expires);
    other.commit().unwrap();
    assert!(db.range_lock_status().is_empty());
}

#[test]
fn ranges_count_as_locks() {
    let limited = TransactionDBOptions {
        max_num_locks: 2,
        ..no_wait()
    };
    let db = TransactionDB::open(&options(&MemFs::new()), &limited, DIR).unwrap();
    let family = family(db.db());
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    first.lock_range(&family, Some(b"b"), Some(b"c"), true).unwrap();
    let over = "Operation aborted: Failed to acquire lock due to max_num_locks limit";
    assert_eq!(text(first.lock_range(&family, Some(b"d"), None, true)), over);
    assert_eq!(text(first.put_cf(&family, b"d", b"1")), over);
    first.rollback().unwrap();
    first.lock_range(&family, Some(b"d"), None, true).unwrap();
    first.lock_range(&family, Some(b"b"), Some(b"c"), true).unwrap();
}

#[test]
fn what_is_prepared_with_a_deleted_range_is_committed_after_a_crash() {
    let fs = MemFs::new();
    let db = open(&fs);
    for key in [b"a", b"b", b"c"] {
        db.db().put(key, b"0").unwrap();
    }
    let mut first = begin_synced(&db, b"x");
    first.delete_range_cf(&family(db.db()), b"a", b"c").unwrap();
    first.put_cf(&family(db.db()), b"b", b"1").unwrap();
    first.prepare().unwrap();
    let crashed = fs.crash_clone(&mut fastrand::Rng::with_seed(1), UnsyncedPolicy::Lose);
    let db = open(&crashed);
    let mut again = db.get_transaction_by_name(b"x").unwrap();
    assert_eq!(keys(&again, &family(db.db())), "b c");
    assert_eq!(get(db.db(), &family(db.db()), b"a"), "0");
    again.commit().unwrap();
    let db = {
        drop((again, db));
        open(&crashed)
    };
    let family = family(db.db());
    let values = [b"a", b"b", b"c"].map(|key| get(db.db(), &family, key));
    assert_eq!(values.concat(), "-10");
}

/// Each transaction gives its row the number of rows that it counts. The keys that two transactions write do
/// not show that they have counted the same number.
#[test]
fn threads_that_number_rows_give_no_number_twice() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    let (threads, rounds) = (4u8, 60u8);
    let number_one = |thread: u8, round: u8| {
        let mut numbers = begin_optimistic(&db);
        numbers.lock_range(&family, None, None, false)?;
        let mut rows = numbers.iter_cf(&family)?;
        let mut count = 0u32;
        rows.seek_to_first();
        while rows.valid() {
            count += 1;
            rows.next();
        }
        rows.status()?;
        numbers.put_cf_opt(
            &family,
            &[thread, round],
            &count.to_be_bytes(),
            Tracking::Untracked,
        )?;
        numbers.commit()
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (db, number_one) = (&db, &number_one);
            scope.spawn(move || {
                for round in 0..rounds {
                    while let Err(error) = number_one(thread, round) {
                        assert_eq!(error.to_string(), BUSY);
                    }
                    if thread == 0 && round % 10 == 0 {
                        flush(db.db());
                    }
                }
            });
        }
    });
    let mut rows = db.db().iter();
    let mut numbers = Vec::new();
    rows.seek_to_first();
    while rows.valid() {
        numbers.push(u32::from_be_bytes(rows.value().try_into().unwrap()));
        rows.next();
    }
    numbers.sort_unstable();
    let all: Vec<u32> = (0..u32::from(threads) * u32::from(rounds)).collect();
    assert_eq!(numbers, all);
}
