//! Tests of transactions without locks.

use std::path::Path;

use esker::{IngestExternalFileOptions, ReadOptions, SstFileWriter, WriteOptions};
use esker_txn::{
    OptimisticTransactionDB, OptimisticTransactionOptions, Tracking, Transaction, TransactionState,
};
use vfs::MemFs;

use super::common::*;

fn begin(db: &OptimisticTransactionDB) -> Transaction {
    db.begin_transaction(&WriteOptions::default(), &OptimisticTransactionOptions::default())
}

#[test]
fn who_comes_second_is_busy_and_may_do_it_again() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    let (mut first, mut second) = (begin(&db), begin(&db));
    first.put_cf(&family, b"a", b"1").unwrap();
    second.put_cf(&family, b"a", b"2").unwrap();
    assert_eq!(read(&mut second, &family, b"b"), "-");
    first.commit().unwrap();
    assert_eq!(first.state(), TransactionState::Committed);
    assert_eq!(text(second.commit()), BUSY);
    assert_eq!(text(second.commit()), BUSY, "it stays as it is");
    assert_eq!(get(db.db(), &family, b"a"), "1");
    second.rollback().unwrap();
    second.put_cf(&family, b"a", b"3").unwrap();
    second.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"a"), "3");
    assert_eq!(
        text(second.commit()),
        "Invalid argument: Transaction has already been committed."
    );
}

/// A change of the key `a` during a transaction that has read it.
type Meanwhile<'a> = &'a dyn Fn(&OptimisticTransactionDB, &MemFs);

#[test]
fn every_kind_of_write_is_noticed_wherever_it_has_gone() {
    let write = WriteOptions::default();
    let writes: [(&str, Meanwhile<'_>); 5] = [
        ("put", &|db, _| db.db().put(b"a", b"2").unwrap()),
        ("delete", &|db, _| db.db().delete(b"a").unwrap()),
        ("merge", &|db, _| {
            db.db()
                .merge_cf_opt(&family(db.db()), b"a", b"2", &write)
                .unwrap();
        }),
        ("range", &|db, _| {
            db.db()
                .delete_range_cf_opt(&family(db.db()), b"0", b"b", &write)
                .unwrap();
        }),
        ("ingestion", &|db, fs| {
            let mut writer = SstFileWriter::new(&options(fs));
            writer.open(Path::new("/file.sst")).unwrap();
            writer.put(b"a", b"2").unwrap();
            writer.finish().unwrap();
            db.db()
                .ingest_external_file(&["/file.sst"], &IngestExternalFileOptions::default())
                .unwrap();
        }),
    ];
    let moves: [(&str, Meanwhile<'_>); 4] = [
        ("memtable", &|_, _| {}),
        ("L0", &|db, _| flush(db.db())),
        ("last level", &|db, _| {
            flush(db.db());
            compact(db.db());
        }),
        ("last level, twice", &|db, _| {
            flush(db.db());
            compact(db.db());
            db.db().put(b"zz", b"1").unwrap();
            flush(db.db());
            compact(db.db());
        }),
    ];
    for was_there in [false, true] {
        for (kind, write) in writes {
            for (place, moves) in moves {
                let fs = MemFs::new();
                let db = open_optimistic(&fs);
                let family = family(db.db());
                db.db().put(b"0", b"1").unwrap();
                if was_there {
                    db.db().put(b"a", b"1").unwrap();
                }
                let mut reads = begin(&db);
                read(&mut reads, &family, b"a");
                reads.put_cf(&family, b"b", b"1").unwrap();
                let mut other = begin(&db);
                other.put_cf(&family, b"c", b"1").unwrap();
                write(&db, &fs);
                moves(&db, &fs);
                assert_eq!(text(reads.commit()), BUSY, "{kind} in {place}, {was_there}");
                // A flush between a read and its commit does not make the transaction fail if there is no
                // conflict.
                assert_eq!(text(other.commit()), "ok", "{kind} in {place}, {was_there}");
            }
        }
    }
}

#[test]
fn a_key_is_validated_from_its_first_use_on() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    db.db().put(b"b", b"0").unwrap();
    // This write is no conflict, because the key was written before the transaction used it.
    first.put_cf(&family, b"b", b"1").unwrap();
    first.commit().unwrap();
    let mut second = begin(&db);
    second.set_snapshot();
    db.db().put(b"b", b"0").unwrap();
    second.put_cf(&family, b"b", b"2").unwrap();
    assert_eq!(text(second.commit()), BUSY, "since the snapshot");
    let mut third = begin(&db);
    third.set_snapshot();
    db.db().put(b"b", b"0").unwrap();
    third
        .put_cf_opt(&family, b"b", b"3", Tracking::Untracked)
        .unwrap();
    assert_eq!(third.num_keys(), 0);
    third.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"b"), "3");
}

#[test]
fn what_was_undone_is_not_validated() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    read(&mut first, &family, b"a");
    first.set_save_point();
    first.put_cf(&family, b"b", b"1").unwrap();
    db.db().put(b"a", b"0").unwrap();
    db.db().put(b"b", b"0").unwrap();
    first.put_cf(&family, b"c", b"1").unwrap();
    first.rollback_to_save_point().unwrap();
    assert_eq!(text(first.commit()), BUSY);
    first.undo_get_for_update(&family, b"a");
    first.put_cf(&family, b"d", b"1").unwrap();
    first.commit().unwrap();
}

#[test]
fn only_writes_are_not_enough_to_be_validated() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    read(&mut first, &family, b"a");
    db.db().put(b"a", b"0").unwrap();
    assert_eq!(text(first.commit()), BUSY, "a transaction that only reads");
    assert_eq!(
        text(first.set_name(b"x")),
        "Invalid argument: Optimistic transactions cannot be named."
    );
    assert_eq!(
        text(first.prepare()),
        "Invalid argument: Two phase commit not supported for optimistic transactions."
    );
}

/// Flushes and compactions during a transaction must not make its keys look older.
#[test]
fn the_beginning_of_a_transaction_is_a_boundary_of_compactions() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    // This flush makes a table that the compaction merges with the next: a single table would be moved as it
    // is.
    db.db().put(b"a", b"0").unwrap();
    db.db().put(b"z", b"0").unwrap();
    flush(db.db());
    let mut waits = begin(&db);
    read(&mut waits, &family, b"a");
    db.db().delete(b"a").unwrap();
    flush(db.db());
    compact(db.db());
    assert_eq!(get(db.db(), &family, b"a"), "-");
    waits.put_cf(&family, b"a", b"1").unwrap();
    assert_eq!(text(waits.commit()), BUSY);
    // A snapshot that a rollback to a save point restored counts as a snapshot that is set.
    let mut back = begin(&db);
    back.set_snapshot();
    back.set_save_point();
    back.clear_snapshot();
    db.db().put(b"b", b"0").unwrap();
    read(&mut back, &family, b"c");
    back.rollback_to_save_point().unwrap();
    back.put_cf(&family, b"b", b"1").unwrap();
    flush(db.db());
    compact(db.db());
    assert_eq!(text(back.commit()), BUSY);
}

#[test]
fn threads_that_count_lose_nothing() {
    let db = open_optimistic(&MemFs::new());
    let family = family(db.db());
    let (threads, rounds) = (4u64, 200u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (db, family) = (&db, &family);
            scope.spawn(move || {
                for round in 0..rounds {
                    loop {
                        let mut adds = begin(db);
                        let before = adds
                            .get_for_update_cf_opt(family, b"count", true, true, &ReadOptions::default())
                            .unwrap();
                        let before: u64 =
                            before.map_or(0, |value| std::str::from_utf8(&value).unwrap().parse().unwrap());
                        adds.put_cf(family, b"count", (before + 1).to_string().as_bytes())
                            .unwrap();
                        match adds.commit() {
                            Ok(()) => break,
                            Err(error) => assert_eq!(error.to_string(), BUSY),
                        }
                    }
                    if thread == 0 && round % 20 == 0 {
                        flush(db.db());
                    }
                    if thread == 1 && round % 50 == 0 {
                        compact(db.db());
                    }
                }
            });
        }
    });
    assert_eq!(get(db.db(), &family, b"count"), (threads * rounds).to_string());
}
