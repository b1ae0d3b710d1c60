//! Wide-column entities in transactions of each kind.

use esker::{Columns, ErrorKind, ReadOptions, WriteBatch, WriteOptions};
use esker_txn::{IsolationLevel, OptimisticTransactionOptions, Transaction, TransactionOptions};
use vfs::MemFs;

use super::common::*;

fn columns(columns: &[(&str, &str)]) -> Columns {
    let owned = columns
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    owned.collect()
}

/// Writes an entity, a value and a merge over another entity, and reads them before anyone else can.
fn write(transaction: &mut Transaction) {
    let wide: [(&[u8], &[u8]); 2] = [(b"b", b"2"), (b"", b"1")];
    transaction.put_entity(b"wide", &wide).unwrap();
    transaction.put(b"plain", b"0").unwrap();
    transaction.merge(b"old", b"more").unwrap();
    assert_eq!(transaction.num_puts(), 2);
}

fn check(read: impl Fn(&str) -> Option<Columns>) {
    assert_eq!(read("wide"), Some(columns(&[("", "1"), ("b", "2")])));
    assert_eq!(read("plain"), Some(columns(&[("", "0")])));
    assert_eq!(read("old"), Some(columns(&[("", "first,more"), ("x", "y")])));
    assert_eq!(read("absent"), None);
}

#[test]
fn entities_are_read_by_their_transaction_and_after_its_commit_by_all() {
    let fs = MemFs::new();
    let old: [(&[u8], &[u8]); 2] = [(b"", b"first"), (b"x", b"y")];
    let locked = open(&fs);
    locked.db().put_entity(b"old", &old).unwrap();
    let mut transaction = begin(&locked);
    write(&mut transaction);
    check(|key| transaction.get_entity(key).unwrap());
    let family = locked.db().default_column_family();
    let read = ReadOptions::default();
    let many = transaction.multi_get_entity(&family, &["wide", "absent"], &read);
    let many: Vec<_> = many.into_iter().map(Result::unwrap).collect();
    assert_eq!(many, [Some(columns(&[("", "1"), ("b", "2")])), None]);
    // A plain read returns the column without a name.
    assert_eq!(transaction.get(b"wide").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(locked.db().get_entity(b"wide").unwrap(), None);
    // In two phases the entities are in the prepared section.
    transaction.set_name(b"wide").unwrap();
    transaction.prepare().unwrap();
    drop(transaction);
    let fs = {
        drop(locked);
        fs
    };
    let locked = open(&fs);
    let mut found = locked.get_all_prepared_transactions();
    found[0].commit().unwrap();
    check(|key| locked.db().get_entity(key).unwrap());

    let fs = MemFs::new();
    let optimistic = open_optimistic(&fs);
    optimistic.db().put_entity(b"old", &old).unwrap();
    let how = OptimisticTransactionOptions::default();
    let mut transaction = optimistic.begin_transaction(&WriteOptions::default(), &how);
    write(&mut transaction);
    check(|key| transaction.get_entity(key).unwrap());
    transaction.commit().unwrap();
    check(|key| optimistic.db().get_entity(key).unwrap());
}

#[test]
fn entities_are_locked_validated_and_taken_back() {
    let db = open(&MemFs::new());
    let family = db.db().default_column_family();
    let read = ReadOptions::default();
    let some: [(&[u8], &[u8]); 1] = [(b"n", b"1")];
    let (mut first, mut second) = (begin(&db), begin(&db));
    first.put_entity_cf(&family, b"k", &some).unwrap();
    let busy = second.put_entity_cf(&family, b"k", &some).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::TimedOut);
    let busy = second
        .get_entity_for_update(&family, b"k", true, true, &read)
        .unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::TimedOut);
    // The rows after a save point are taken back with their locks.
    first.set_save_point();
    first.put_entity_cf(&family, b"other", &some).unwrap();
    first.rollback_to_save_point().unwrap();
    assert_eq!(first.get_entity(b"other").unwrap(), None);
    assert_eq!(
        second
            .get_entity_for_update(&family, b"other", true, true, &read)
            .unwrap(),
        None
    );
    // Two columns of one name are refused, and nothing is written.
    let twice: [(&[u8], &[u8]); 2] = [(b"n", b"1"), (b"n", b"2")];
    assert_eq!(
        first.put_entity(b"twice", &twice).unwrap_err().kind(),
        ErrorKind::Corruption
    );
    first.commit().unwrap();
    assert_eq!(db.db().get_entity(b"twice").unwrap(), None);
    // A snapshot that is older than the entity is a conflict.
    let mut late = db.begin_transaction(
        &WriteOptions::default(),
        &TransactionOptions {
            set_snapshot: true,
            ..TransactionOptions::default()
        },
    );
    db.db().put_entity(b"k", &some).unwrap();
    assert_eq!(late.put_entity(b"k", &some).unwrap_err().kind(), ErrorKind::Busy);
    // A serializable transaction has read what another writes.
    let mut serializable = db.begin_transaction(
        &WriteOptions::default(),
        &TransactionOptions {
            isolation_level: IsolationLevel::Serializable,
            ..TransactionOptions::default()
        },
    );
    assert!(serializable.get_entity(b"k").unwrap().is_some());
    db.db().put_entity(b"k", &some).unwrap();
    serializable.put(b"depends", b"on k").unwrap();
    assert_eq!(serializable.commit().unwrap_err().kind(), ErrorKind::Busy);
}

#[test]
fn a_batch_with_entities_is_done_again() {
    let db = open(&MemFs::new());
    let mut batch = WriteBatch::new();
    batch.put_entity(b"k", &[(b"b", b"2"), (b"a", b"1")]).unwrap();
    let mut transaction = begin(&db);
    transaction.rebuild_from_write_batch(&batch).unwrap();
    assert_eq!(transaction.num_keys(), 1);
    transaction.commit().unwrap();
    assert_eq!(
        db.db().get_entity(b"k").unwrap(),
        Some(columns(&[("a", "1"), ("b", "2")]))
    );
}
