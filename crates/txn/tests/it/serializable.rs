//! Tests of serializable transactions: which reads are validated, and when that fails.

use esker::{ColumnFamily, ReadOptions, WriteOptions};
use esker_txn::{
    IsolationLevel, OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB,
    TransactionOptions, TransactionState,
};
use vfs::MemFs;

use super::common::*;

fn begin_with_locks(db: &TransactionDB) -> Transaction {
    let options = TransactionOptions {
        isolation_level: IsolationLevel::Serializable,
        ..TransactionOptions::default()
    };
    db.begin_transaction(&WriteOptions::default(), &options)
}

fn begin_optimistic(db: &OptimisticTransactionDB) -> Transaction {
    let options = OptimisticTransactionOptions {
        isolation_level: IsolationLevel::Serializable,
        ..OptimisticTransactionOptions::default()
    };
    db.begin_transaction(&WriteOptions::default(), &options)
}

/// Runs `test` with transactions of the two kinds.
fn of_both_kinds(test: impl Fn(&esker::Db, &dyn Fn() -> Transaction)) {
    let db = open(&MemFs::new());
    test(db.db(), &|| begin_with_locks(&db));
    let db = open_optimistic(&MemFs::new());
    test(db.db(), &|| begin_optimistic(&db));
}

fn see(transaction: &Transaction, family: &ColumnFamily, key: &[u8]) -> String {
    let value = transaction.get_cf(family, key).unwrap();
    shown(value.as_deref())
}

#[test]
fn write_skew_is_refused() {
    of_both_kinds(|db, begin| {
        let family = family(db);
        db.put(b"alice", b"on call").unwrap();
        db.put(b"bob", b"on call").unwrap();
        let (mut first, mut second) = (begin(), begin());
        assert_eq!(first.isolation_level(), IsolationLevel::Serializable);
        for transaction in [&first, &second] {
            assert_eq!(see(transaction, &family, b"alice"), "on call");
            assert_eq!(see(transaction, &family, b"bob"), "on call");
        }
        first.put_cf(&family, b"alice", b"off").unwrap();
        second.put_cf(&family, b"bob", b"off").unwrap();
        first.commit().unwrap();
        assert_eq!(text(second.commit()), BUSY);
        assert_eq!(second.state(), TransactionState::Started, "it stays as it is");
        assert_eq!(text(second.commit()), BUSY);
        second.rollback().unwrap();
        assert_eq!(see(&second, &family, b"alice"), "off", "it begins anew");
        second.put_cf(&family, b"carol", b"on call").unwrap();
        second.commit().unwrap();
        assert_eq!(get(db, &family, b"bob"), "on call");
    });
}

#[test]
fn it_reads_from_its_beginning_and_is_not_busy_if_it_only_reads() {
    of_both_kinds(|db, begin| {
        let family = family(db);
        db.put(b"a", b"1").unwrap();
        let mut reads = begin();
        let mut moves_on = begin();
        assert_eq!(see(&moves_on, &family, b"a"), "1");
        db.put(b"a", b"2").unwrap();
        db.put(b"b", b"2").unwrap();
        flush(db);
        compact(db);
        assert_eq!(see(&reads, &family, b"a"), "1");
        let values = reads.multi_get_cf_opt(&[(&family, b"a"), (&family, b"b")], &ReadOptions::default());
        let values: Vec<String> = values
            .into_iter()
            .map(|value| shown(value.unwrap().as_deref()))
            .collect();
        assert_eq!(values, ["1", "-"]);
        reads.commit().unwrap();
        // A transaction that reads as of two moments has no single place in the serial order.
        moves_on.set_snapshot();
        assert_eq!(see(&moves_on, &family, b"b"), "2");
        assert_eq!(text(moves_on.commit()), BUSY);
    });
}

/// Makes an iterator of a transaction pass some keys.
type Passing = fn(&Transaction, &ColumnFamily);

#[test]
fn an_iterator_reads_what_it_passes_and_the_gaps_between() {
    let scan = |transaction: &Transaction, family: &ColumnFamily, bounds: (Option<&[u8]>, Option<&[u8]>)| {
        let options = ReadOptions {
            iterate_lower_bound: bounds.0.map(<[u8]>::to_vec),
            iterate_upper_bound: bounds.1.map(<[u8]>::to_vec),
            ..ReadOptions::default()
        };
        transaction.scan(family, &options).unwrap()
    };
    let cases: [(&str, Passing, &str, &str); 9] = [
        (
            "up to a key",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek(b"c");
                assert_eq!(iter.key(), b"d");
            },
            "c cc d",
            "b bb dd",
        ),
        (
            "on",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek(b"d");
                iter.next();
                assert_eq!(iter.key(), b"f");
            },
            "d e f",
            "c cc ff",
        ),
        (
            "up to the end",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek(b"g");
                while iter.valid() {
                    iter.next();
                }
            },
            "g h i z",
            "f ff",
        ),
        (
            "from the first key",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek_to_first();
            },
            "a b",
            "bb c",
        ),
        (
            "down from the last",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek_to_last();
                iter.prev();
                iter.prev();
                assert_eq!(iter.key(), b"f");
            },
            "f g h z",
            "e ee",
        ),
        (
            "down to a key",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek_for_prev(b"e");
                assert_eq!(iter.key(), b"d");
            },
            "d dd e",
            "c ee f",
        ),
        (
            "down to the beginning, and up from there",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek_for_prev(b"d");
                iter.prev();
                iter.next();
                iter.next();
                assert_eq!(iter.key(), b"f");
                iter.seek(b"x");
            },
            "b c e f x z",
            "a ff h w",
        ),
        (
            "keys of its own",
            |own, family| {
                let mut iter = own.scan(family, &ReadOptions::default()).unwrap();
                iter.seek(b"m");
                assert_eq!(iter.key(), b"mine");
            },
            "m me",
            "l n",
        ),
        (
            "a plain iterator, whatever it passes",
            |own, family| {
                let options = ReadOptions {
                    iterate_lower_bound: Some(b"c".to_vec()),
                    iterate_upper_bound: Some(b"g".to_vec()),
                    ..ReadOptions::default()
                };
                own.iter_cf_opt(family, &options).unwrap();
            },
            "c d f",
            "b g",
        ),
    ];
    of_both_kinds(|db, begin| {
        let family = family(db);
        for (name, pass, conflicts, free) in &cases {
            let all = conflicts.split(' ').map(|key| (key, BUSY));
            for (key, expected) in all.chain(free.split(' ').map(|key| (key, "ok"))) {
                db.delete_range_cf(&family, b"", b"~").unwrap();
                for key in [b"b", b"d", b"f", b"h"] {
                    db.put(key, b"0").unwrap();
                }
                let mut own = begin();
                own.put_cf(&family, b"mine", b"1").unwrap();
                pass(&own, &family);
                db.put(key.as_bytes(), b"1").unwrap();
                assert_eq!(text(own.commit()), expected, "{name}: {key} written");
            }
        }
        // Bounds limit the range that is read.
        let mut own = begin();
        let mut iter = scan(&own, &family, (Some(b"c"), Some(b"g")));
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        iter.seek_to_last();
        while iter.valid() {
            iter.prev();
        }
        own.put_cf(&family, b"x", b"1").unwrap();
        db.put(b"g", b"1").unwrap();
        db.put(b"b", b"1").unwrap();
        assert_eq!(text(own.commit()), "ok");
    });
}

#[test]
fn what_goes_by_range_or_with_tables_is_a_write_to_what_was_read() {
    type Removal = fn(&esker::Db, &ColumnFamily);
    let removals: [Removal; 2] = [
        |db, family| {
            db.delete_range_cf(family, b"b", b"d").unwrap();
        },
        |db, family| db.delete_files_in_range(family, Some(b"b"), Some(b"d")).unwrap(),
    ];
    for removes in removals {
        of_both_kinds(|db, begin| {
            let family = family(db);
            db.put(b"b", b"0").unwrap();
            db.put(b"d", b"0").unwrap();
            flush(db);
            compact(db);
            let (mut key, mut range, mut beside) = (begin(), begin(), begin());
            see(&key, &family, b"c");
            let passes = |own: &Transaction, key: &[u8]| {
                let mut iter = own.scan(&family, &ReadOptions::default()).unwrap();
                iter.seek_for_prev(key);
            };
            passes(&range, b"c");
            passes(&beside, b"a");
            for (own, to) in [(&mut key, b"x"), (&mut range, b"y"), (&mut beside, b"z")] {
                own.put_cf(&family, to, b"1").unwrap();
            }
            removes(db, &family);
            assert_eq!(text(key.commit()), BUSY);
            assert_eq!(text(range.commit()), BUSY);
            assert_eq!(text(beside.commit()), "ok");
        });
    }
}

#[test]
fn what_was_read_stays_from_the_first_phase_on() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    db.db().put(b"a", b"0").unwrap();
    let mut first = begin_with_locks(&db);
    first.set_name(b"first").unwrap();
    assert_eq!(see(&first, &family, b"a"), "0");
    first.scan(&family, &ReadOptions::default()).unwrap().seek(b"m");
    first.put_cf(&family, b"b", b"1").unwrap();
    let write = WriteOptions::default();
    assert_eq!(
        text(db.put_cf_opt(&family, b"z", b"0", &write)),
        "ok",
        "nothing is locked yet"
    );
    assert_eq!(text(first.prepare()), BUSY);
    first.rollback().unwrap();
    assert_eq!(see(&first, &family, b"a"), "0");
    first.scan(&family, &ReadOptions::default()).unwrap().seek(b"m");
    first.put_cf(&family, b"b", b"1").unwrap();
    first.prepare().unwrap();
    assert_eq!(text(db.put_cf_opt(&family, b"a", b"1", &write)), TIMED_OUT);
    assert_eq!(
        text(db.put_cf_opt(&family, b"n", b"1", &write)),
        TIMED_OUT,
        "the gap"
    );
    assert_eq!(text(db.put_cf_opt(&family, b"c", b"1", &write)), "ok");
    let mut other = begin(&db);
    let shares = other.get_for_update_cf_opt(&family, b"a", false, true, &ReadOptions::default());
    assert!(shares.is_ok(), "others may read it");
    drop(other);
    first.commit().unwrap();
    db.put_cf_opt(&family, b"a", b"1", &write).unwrap();
    assert!(db.range_lock_status().is_empty());
    // Reads after the prepare are locked and validated by the commit. Here each of two transactions has read
    // what the other writes: a skew.
    let mut first = begin_with_locks(&db);
    first.set_name(b"first").unwrap();
    first.put_cf(&family, b"x", b"1").unwrap();
    first.prepare().unwrap();
    let mut other = begin_with_locks(&db);
    assert_eq!(see(&other, &family, b"x"), "-");
    other.put_cf(&family, b"y", b"1").unwrap();
    assert_eq!(see(&first, &family, b"w"), "-");
    assert_eq!(see(&first, &family, b"y"), "-");
    assert_eq!(text(first.commit()), TIMED_OUT, "the other has locked it");
    other.commit().unwrap();
    assert_eq!(text(first.commit()), BUSY);
    assert_eq!(first.state(), TransactionState::Prepared);
    first.rollback().unwrap();
    let mut first = begin_with_locks(&db);
    first.set_name(b"first").unwrap();
    first.prepare().unwrap();
    first.scan(&family, &ReadOptions::default()).unwrap().seek(b"m");
    first.put_cf(&family, b"late", b"1").unwrap();
    first.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"late"), "1");
    let without_locks = TransactionOptions {
        isolation_level: IsolationLevel::Serializable,
        skip_concurrency_control: true,
        ..TransactionOptions::default()
    };
    let mut second = db.begin_transaction(&write, &without_locks);
    second.set_name(b"second").unwrap();
    assert!(text(second.prepare()).starts_with("Not implemented"));
}
