//! Transactions, with locks and without.

use esker_rocksdb as rocksdb;
use rocksdb::{
    ErrorKind, IteratorMode, MultiThreaded, OptimisticTransactionDB, Options, SingleThreaded, TransactionDB,
    TransactionDBOptions, TransactionOptions, WriteBatchWithTransaction, WriteOptions,
};

#[test]
fn a_transaction_locks_what_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let db = TransactionDB::<MultiThreaded>::open_default(dir.path().join("db")).unwrap();
    db.create_cf("other", &Options::default()).unwrap();
    let other = db.cf_handle("other").unwrap();
    db.put("key", "before").unwrap();
    let transaction = db.transaction();
    transaction.put("key", "after").unwrap();
    transaction.put_cf(&other, "key", "there").unwrap();
    assert_eq!(transaction.get("key").unwrap().unwrap(), b"after");
    assert_eq!(db.get("key").unwrap().unwrap(), b"before");
    let mut at_once = TransactionOptions::default();
    at_once.set_lock_timeout(0);
    let late = db.transaction_opt(&WriteOptions::default(), &at_once);
    assert_eq!(late.put("key", "late").unwrap_err().kind(), ErrorKind::TimedOut);
    let rows = transaction.iterator(IteratorMode::Start).map(Result::unwrap);
    assert_eq!(rows.count(), 1);
    transaction.set_savepoint();
    transaction.delete("key").unwrap();
    transaction.rollback_to_savepoint().unwrap();
    transaction.commit().unwrap();
    assert_eq!(db.get("key").unwrap().unwrap(), b"after");
    assert_eq!(db.get_cf(&other, "key").unwrap().unwrap(), b"there");
    assert_eq!(late.get_for_update("key", true).unwrap().unwrap(), b"after");
    late.put("key", "late").unwrap();
    late.rollback().unwrap();
    let mut batch = WriteBatchWithTransaction::<true>::default();
    batch.put("of a batch", "value");
    db.write(batch).unwrap();
    assert!(db.get("of a batch").unwrap().is_some());
}

#[test]
fn what_is_prepared_survives() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    {
        let db = TransactionDB::<SingleThreaded>::open_default(&path).unwrap();
        let transaction = db.transaction();
        transaction.set_name(b"one").unwrap();
        transaction.put("key", "value").unwrap();
        transaction.prepare().unwrap();
    }
    let db =
        TransactionDB::<SingleThreaded>::open(&Options::default(), &TransactionDBOptions::default(), &path)
            .unwrap();
    assert!(db.get("key").unwrap().is_none());
    let mut prepared = db.prepared_transactions();
    assert_eq!(prepared.len(), 1);
    let transaction = prepared.remove(0);
    assert_eq!(transaction.get_name().unwrap(), b"one");
    transaction.commit().unwrap();
    assert_eq!(db.get("key").unwrap().unwrap(), b"value");
}

#[test]
fn an_optimistic_transaction_fails_where_another_came_first() {
    let dir = tempfile::tempdir().unwrap();
    let db = OptimisticTransactionDB::<SingleThreaded>::open_default(dir.path().join("db")).unwrap();
    let (first, second) = (db.transaction(), db.transaction());
    first.put("key", "first").unwrap();
    second.put("key", "second").unwrap();
    first.commit().unwrap();
    assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(db.get("key").unwrap().unwrap(), b"first");
    let third = db.transaction();
    third.put("other", "value").unwrap();
    let batch = third.get_writebatch();
    assert_eq!(batch.len(), 1);
    let fourth = db.transaction();
    fourth.rebuild_from_writebatch(&batch).unwrap();
    fourth.commit().unwrap();
    assert_eq!(db.get("other").unwrap().unwrap(), b"value");
}
