//! Tests of snapshots that are found by timestamp.

use base::ErrorKind;
use base::sync::Mutex;
use esker::{ReadOptions, Snapshot};
use esker_txn::{TimestampedSnapshot, TransactionDB, TransactionNotifier};
use std::sync::Arc;
use vfs::MemFs;

use crate::common::{begin, open, open_optimistic};

fn seen(db: &TransactionDB, at: &TimestampedSnapshot) -> Option<Vec<u8>> {
    let options = ReadOptions {
        snapshot: Some(at.snapshot.clone()),
        ..ReadOptions::default()
    };
    let family = db.db().default_column_family();
    db.db().get_cf_opt(&family, b"key", &options).unwrap()
}

fn timestamps(found: &[TimestampedSnapshot]) -> Vec<u64> {
    found.iter().map(|found| found.timestamp).collect()
}

#[derive(Default)]
struct Notes(Mutex<Vec<u64>>);

impl TransactionNotifier for Notes {
    fn snapshot_created(&self, snapshot: &Snapshot) {
        self.0.lock().push(snapshot.sequence_number());
    }
}

#[test]
fn snapshots_are_found_by_their_timestamps_until_they_are_released() {
    let db = open(&MemFs::new());
    assert!(db.latest_timestamped_snapshot().is_none());
    for timestamp in [10, 20, 30] {
        db.put(b"key", timestamp.to_string()).unwrap();
        db.create_timestamped_snapshot(timestamp).unwrap();
    }
    db.put(b"key", "now").unwrap();
    db.db().flush().unwrap();
    db.db().compact_range(None, None).unwrap();
    for timestamp in [10, 20, 30] {
        let found = db.timestamped_snapshot(timestamp).unwrap();
        assert_eq!(seen(&db, &found).unwrap(), timestamp.to_string().as_bytes());
    }
    assert!(db.timestamped_snapshot(15).is_none());
    assert_eq!(db.latest_timestamped_snapshot().unwrap().timestamp, 30);
    assert_eq!(timestamps(&db.timestamped_snapshots(10, 30).unwrap()), [10, 20]);
    assert_eq!(
        timestamps(&db.timestamped_snapshots(0, u64::MAX).unwrap()),
        [10, 20, 30]
    );
    let empty = db.timestamped_snapshots(5, 5).unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::InvalidArgument);
    let held = db.timestamped_snapshot(10).unwrap();
    db.release_timestamped_snapshots_older_than(20);
    assert_eq!(
        timestamps(&db.timestamped_snapshots(0, u64::MAX).unwrap()),
        [20, 30]
    );
    db.db().compact_range(None, None).unwrap();
    assert_eq!(seen(&db, &held).unwrap(), b"10");
    drop(held);
    db.release_timestamped_snapshots_older_than(u64::MAX);
    assert!(db.latest_timestamped_snapshot().is_none());
    let family = db.db().default_column_family();
    assert_eq!(db.db().property_int(&family, "rocksdb.num-snapshots"), Some(0));
}

#[test]
fn timestamps_rise_with_the_writes() {
    let db = open(&MemFs::new());
    let kind = |timestamp| db.create_timestamped_snapshot(timestamp).unwrap_err().to_string();
    assert_eq!(kind(u64::MAX), "Invalid argument: invalid ts");
    let first = db.create_timestamped_snapshot(20).unwrap();
    let again = db.create_timestamped_snapshot(20).unwrap();
    assert_eq!(first.snapshot.sequence_number(), again.snapshot.sequence_number());
    assert_eq!(
        kind(19),
        "Invalid argument: snapshot exists with larger timestamp 20 > 19"
    );
    db.put(b"key", "1").unwrap();
    assert_eq!(
        kind(20),
        "Invalid argument: Allocated seq is 1, while snapshot exists with smaller seq 0 but same timestamp 20"
    );
}

#[test]
fn a_commit_creates_a_snapshot_that_shows_it() {
    let db = open(&MemFs::new());
    let notes = Arc::new(Notes::default());
    let mut transaction = begin(&db);
    transaction.put(b"key", "1").unwrap();
    let unset = transaction.commit_and_try_create_snapshot(None, u64::MAX);
    assert_eq!(unset.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let made = transaction
        .commit_and_try_create_snapshot(Some(notes.clone()), 7)
        .unwrap()
        .unwrap();
    assert_eq!(*notes.0.lock(), [made.snapshot.sequence_number()]);
    assert_eq!(seen(&db, &made).unwrap(), b"1");
    // The commit of a prepared transaction creates a snapshot, too.
    let mut prepared = begin(&db);
    prepared.set_name(b"two").unwrap();
    prepared.put(b"key", "2").unwrap();
    prepared.prepare().unwrap();
    prepared.commit_and_try_create_snapshot(None, 8).unwrap().unwrap();
    assert_eq!(seen(&db, &db.timestamped_snapshot(8).unwrap()).unwrap(), b"2");
    assert_eq!(seen(&db, &db.timestamped_snapshot(7).unwrap()).unwrap(), b"1");
    // If the timestamp is used already, the transaction is committed and no snapshot is created.
    let mut late = begin(&db);
    late.put(b"key", "3").unwrap();
    assert!(late.commit_and_try_create_snapshot(None, 8).unwrap().is_none());
    assert_eq!(db.db().get(b"key").unwrap().unwrap(), b"3");
    assert_eq!(seen(&db, &db.timestamped_snapshot(8).unwrap()).unwrap(), b"2");
}

#[test]
fn optimistic_transactions_create_none() {
    let db = open_optimistic(&MemFs::new());
    let mut transaction = db.begin_transaction(&Default::default(), &Default::default());
    transaction.put(b"key", "1").unwrap();
    let error = transaction.commit_and_try_create_snapshot(None, 7).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    transaction.commit().unwrap();
}
