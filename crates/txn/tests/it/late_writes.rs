//! Tests of writes to a transaction after it was prepared: the commit writes them behind its marker.

use esker::{ColumnFamily, Db, Operation, Options, WriteBatch, WriteOptions};
use esker_txn::{Transaction, TransactionDB, TransactionState};
use vfs::{MemFs, UnsyncedPolicy};

use super::common::*;

const BEYOND: &str = "Invalid argument: Transaction is beyond state for rollback.";

/// The file systems after the death of the process, and after a loss of power that takes everything unsynced.
fn crashes(fs: &MemFs) -> [MemFs; 2] {
    let lost = fs.crash_clone(&mut fastrand::Rng::with_seed(1), UnsyncedPolicy::Lose);
    [fs.process_death_clone(), lost]
}

fn both(db: &TransactionDB) -> [ColumnFamily; 2] {
    [family(db.db()), db.db().column_family("second").unwrap()]
}

/// A database with two families.
fn open_two(fs: &MemFs) -> TransactionDB {
    let db = open(fs);
    db.create_column_family("second", &options(fs).column_family)
        .unwrap();
    db
}

/// A synced transaction that has put `a` and `b` into each family, and is prepared.
fn prepared(db: &TransactionDB, name: &[u8]) -> Transaction {
    let mut transaction = begin_synced(db, name);
    for family in both(db) {
        transaction.put_cf(&family, b"a", b"1").unwrap();
        transaction.put_cf(&family, b"b", b"1").unwrap();
    }
    transaction.prepare().unwrap();
    transaction
}

/// Writes to a prepared transaction: over its rows, and others.
fn write_late(db: &TransactionDB, transaction: &mut Transaction) {
    let [first, second] = both(db);
    transaction.delete_cf(&first, b"a").unwrap();
    transaction.put_cf(&first, b"c", b"late").unwrap();
    transaction.put_log_data(b"blob");
    transaction.put_cf(&second, b"b", b"late").unwrap();
    transaction.merge_cf(&second, b"a", b"late").unwrap();
    transaction.delete_range_cf(&second, b"d", b"e").unwrap();
    let own = transaction.get_cf(&first, b"c").unwrap();
    assert_eq!(shown(own.as_deref()), "late");
    assert_eq!(shown(transaction.get_cf(&first, b"a").unwrap().as_deref()), "-");
}

/// The rows of a database in which `prepared` and `write_late` were committed, in the two families.
fn rows(db: &TransactionDB) -> String {
    let mut rows = Vec::new();
    for family in both(db) {
        for key in [&b"a"[..], b"b", b"c", b"d"] {
            rows.push(get(db.db(), &family, key));
        }
    }
    rows.join(" ")
}

const ALL: &str = "- 1 late - 1,late late - -";

/// Flushes the families of which bit `flushed` is set.
fn flush_some(db: &TransactionDB, flushed: usize) {
    for (at, family) in both(db).into_iter().enumerate() {
        if flushed & 1 << at != 0 {
            db.db().flush_cf(&[family]).unwrap();
        }
    }
}

#[test]
fn rows_that_follow_the_prepare_are_as_durable_as_those_before_it() {
    let write = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    for (between, after) in (0..4).flat_map(|between| (0..4).map(move |after| (between, after))) {
        let fs = MemFs::new();
        let db = open_two(&fs);
        let second = both(&db)[1].clone();
        db.db()
            .put_cf_opt(&second, b"d", b"deleted later", &write)
            .unwrap();
        let mut transaction = prepared(&db, b"x");
        // The marker gets into another WAL than the section.
        flush_some(&db, between);
        write_late(&db, &mut transaction);
        transaction.commit_time_write_batch().put(b"own", b"1");
        transaction.commit().unwrap();
        assert_eq!(rows(&db), ALL);
        let number = db.db().latest_sequence_number();
        let what = format!("flushed between {between}, after {after}");
        for dead in crashes(&fs) {
            let db = open(&dead);
            assert_eq!(db.db().latest_sequence_number(), number, "{what}");
        }
        // If families are flushed now, the marker is the last record of its WAL. The next WAL repeats the
        // number at which it ended.
        flush_some(&db, after);
        db.db().put_cf_opt(&second, b"last", b"1", &write).unwrap();
        for dead in crashes(&fs) {
            let mut dead = dead;
            // The second crash comes upon the first recovery.
            for _ in 0..2 {
                let db = open(&dead);
                assert_eq!(rows(&db), ALL, "{what}");
                assert_eq!(get(db.db(), &family(db.db()), b"own"), "1", "{what}");
                assert_eq!(get(db.db(), &both(&db)[1], b"last"), "1", "{what}");
                assert!(db.get_all_prepared_transactions().is_empty(), "{what}");
                dead = dead.process_death_clone();
            }
        }
    }
}

#[test]
fn a_prepared_transaction_is_not_rolled_back_to_a_save_point() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let first = family(db.db());
    let mut transaction = begin_synced(&db, b"x");
    transaction.set_save_point();
    transaction.put_cf(&first, b"a", b"1").unwrap();
    transaction.prepare().unwrap();
    let section = transaction.write_batch().data().to_vec();
    assert_eq!(text(transaction.rollback_to_save_point()), BEYOND);
    let batch = transaction.indexed_batch();
    assert_eq!(
        text(batch.rollback_to_save_point()),
        "Invalid argument: the save point is older than rows that were prepared"
    );
    assert_eq!(transaction.write_batch().data(), section);
    // The row cannot be taken back, so it stays locked.
    assert_eq!(text(db.put_cf(&first, b"a", b"2")), TIMED_OUT);
    transaction.set_save_point();
    transaction.put_cf(&first, b"b", b"late").unwrap();
    assert_eq!(text(transaction.rollback_to_save_point()), BEYOND);
    transaction.pop_save_point().unwrap();
    // The batch itself gives up no more than the rows since the prepare.
    let batch = transaction.indexed_batch();
    batch.set_save_point();
    batch.put(b"gone", b"late");
    batch.rollback_to_save_point().unwrap();
    batch.put(b"gone", b"late");
    batch.clear();
    assert_eq!(transaction.write_batch().data(), section);
    transaction.put_cf(&first, b"c", b"late").unwrap();
    transaction.commit().unwrap();
    assert_eq!(text(transaction.rollback_to_save_point()), BEYOND);
    for dead in crashes(&fs) {
        let db = open(&dead);
        db.put(b"later", b"1").unwrap();
        let db = open(&dead.process_death_clone());
        let seen = |key: &[u8]| get(db.db(), &family(db.db()), key);
        let rows = [&b"a"[..], b"b", b"c", b"gone", b"later"].map(seen);
        assert_eq!(rows, ["1", "-", "late", "-", "1"]);
    }
}

#[test]
fn a_recovered_transaction_is_written_to_before_it_is_committed() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let mut transaction = prepared(&db, b"x");
    write_late(&db, &mut transaction);
    let mut fs = fs.process_death_clone();
    for round in 0..2 {
        let db = open(&fs);
        let mut found = db.get_all_prepared_transactions();
        assert_eq!(found.len(), 1);
        found[0].indexed_batch().clear();
        assert_eq!(found[0].write_batch().count(), 4, "a crash takes the late rows");
        write_late(&db, &mut found[0]);
        if round == 1 {
            found[0].commit().unwrap();
            assert_eq!(rows(&db), ALL);
        }
        flush_some(&db, round);
        fs = crashes(&fs)[round].process_death_clone();
    }
    for dead in crashes(&fs) {
        let db = open(&dead);
        assert_eq!(rows(&db), ALL);
        assert!(db.get_all_prepared_transactions().is_empty());
        db.put(b"later", b"1").unwrap();
        assert_eq!(rows(&open(&dead.process_death_clone())), ALL);
    }
}

#[test]
fn rows_that_follow_the_prepare_end_with_the_transaction() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let mut dropped = prepared(&db, b"x");
    write_late(&db, &mut dropped);
    drop(dropped);
    let mut found = db.get_transaction_by_name(b"x").unwrap();
    assert_eq!(found.write_batch().count(), 4);
    found.commit().unwrap();
    assert_eq!(rows(&db), "1 1 - - 1 1 - -");
    let mut rolled_back = begin(&db);
    rolled_back.set_name(b"y").unwrap();
    rolled_back.put_cf(&family(db.db()), b"c", b"1").unwrap();
    rolled_back.prepare().unwrap();
    write_late(&db, &mut rolled_back);
    rolled_back.rollback().unwrap();
    assert_eq!(rolled_back.state(), TransactionState::RolledBack);
    assert!(rolled_back.write_batch().is_empty() && db.lock_status().is_empty());
    for dead in crashes(&fs) {
        // The transaction that was dropped was committed without sync.
        let db = open(&dead);
        let rest = db.get_all_prepared_transactions();
        let is_committed = rest.is_empty();
        rest.into_iter()
            .for_each(|mut transaction| transaction.commit().unwrap());
        assert_eq!(rows(&db), "1 1 - - 1 1 - -", "{is_committed}");
    }
}

#[test]
fn a_commit_that_lacks_prepared_rows_is_refused() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let low = db.db();
    let write = WriteOptions::default();
    let mut section = WriteBatch::new();
    section.put(b"a", b"1");
    section.put(b"b", b"1");
    low.prepare(b"x", &section, &write).unwrap();
    let before = low.latest_sequence_number();
    let mut shorter = WriteBatch::new();
    shorter.put(b"a", b"1");
    let mut other = shorter.clone();
    other.put(b"b", b"2");
    other.put(b"c", b"2");
    for rows in [&WriteBatch::new(), &shorter, &other] {
        let refused = low.commit_prepared(b"x", &WriteBatch::new(), rows, &write);
        assert_eq!(
            text(refused.map(drop)),
            "Invalid argument: the batch does not begin with the rows that were prepared under the name x"
        );
    }
    assert_eq!(low.latest_sequence_number(), before);
    let mut longer = section.clone();
    longer.put(b"c", b"1");
    low.commit_prepared(b"x", &shorter, &longer, &write).unwrap();
    assert_eq!(low.latest_sequence_number(), before + 4);
    let db = open(&fs.process_death_clone());
    assert_eq!(db.db().latest_sequence_number(), before + 4);
    assert_eq!(rows(&db), "1 1 1 - - - - -");
}

/// A change feed and readers that follow the WAL see the rows where the commit put them.
#[test]
fn readers_of_the_wal_see_the_rows_with_the_commit() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let two_phase = Options {
        allow_2pc: true,
        ..options(&fs)
    };
    let secondary = Db::open_as_secondary(&two_phase, DIR, "/secondary").unwrap();
    let mut transaction = prepared(&db, b"x");
    write_late(&db, &mut transaction);
    let first = db.db().latest_sequence_number() + 1;
    transaction.commit().unwrap();
    let expected = db.db().latest_sequence_number();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.latest_sequence_number(), expected);
    for (family, key) in [("default", b"c"), ("second", b"b")] {
        let family = secondary.column_family(family).unwrap();
        assert_eq!(get(&secondary, &family, key), "late");
    }
    let updates = db.db().get_updates_since(first).unwrap();
    let (sequence, batch) = updates.batch().unwrap();
    let last = sequence + u64::from(batch.count()) - 1;
    assert_eq!((sequence, last), (first, expected));
    let keys: Vec<u8> = batch
        .operations()
        .filter_map(|operation| match operation.unwrap() {
            Operation::Put { key, .. } | Operation::Delete { key, .. } | Operation::Merge { key, .. } => {
                Some(key[0])
            }
            _ => None,
        })
        .collect();
    assert_eq!(keys, b"ababacba");
    let repaired = fs.process_death_clone();
    Db::repair(&options(&repaired), DIR).unwrap();
    assert_eq!(rows(&open(&repaired)), ALL);
}
