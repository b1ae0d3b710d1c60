//! Statistics that are wrong are detected when they are used, and then recounted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use esker::{Db, WriteOptions};
use mvcc::{BatchOptions, ExportOptions, MvccStore, Span, Timestamp, Value};
use vfs::MemFs;

use super::model::{NOW, open, open_at};

/// The engine key of a store's record.
const RECORD: &[u8] = &[0];
/// The offset of the statistics in the record.
const FIELDS_AT: usize = 1 + 3 * 12 + 1;

fn store(db: &Db) -> MvccStore {
    MvccStore::open(db, &db.default_column_family(), BatchOptions::default(), NOW).unwrap()
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

/// Writes some keys with a live version and a garbage one.
fn fill(store: &MvccStore) {
    let mut batch = store.begin(NOW);
    for key in [&b"a"[..], b"b", b"c"] {
        batch.put(key, time(10), Value::Bytes(b"old")).unwrap();
        batch.put(key, time(90), Value::Bytes(b"new")).unwrap();
    }
    batch.commit(&WriteOptions::default()).unwrap();
}

/// Sets a field of the record to `value`.
fn plant(db: &Db, field: usize, value: i64) {
    let mut record = db.get(RECORD).unwrap().unwrap();
    let at = FIELDS_AT + 8 * field;
    record[at..at + 8].copy_from_slice(&value.to_le_bytes());
    db.put(RECORD, &record).unwrap();
}

fn told(db: &Db, field: usize) -> i64 {
    let record = db.get(RECORD).unwrap().unwrap();
    let at = FIELDS_AT + 8 * field;
    i64::from_le_bytes(record[at..at + 8].try_into().unwrap())
}

#[test]
fn a_record_that_cannot_be_is_not_believed() {
    let db = open(Arc::new(MemFs::new()));
    fill(&store(&db));
    // The fields 1 to 7 are the bytes and counts of live data, of keys and of values, and the age of garbage.
    for field in 1..8 {
        // A version written with a future time has a negative age once it is garbage.
        let less = if field == 7 { -1 << 40 } else { -1 };
        for value in [i64::MIN, less, 1 << 60, i64::MAX] {
            let good = told(&db, field);
            plant(&db, field, value);
            let store = store(&db);
            let counted = store.recount(NOW).unwrap();
            assert_eq!(store.stats(NOW), Some(counted), "field {field} is {value}");
            assert_eq!(counted.val_count, 6);
            plant(&db, field, good);
        }
    }
    // With any last update time nothing overflows, and the next write repairs the statistics.
    for value in [i64::MIN, i64::MAX] {
        let good = told(&db, 0);
        plant(&db, 0, value);
        let store = store(&db);
        store.stats(NOW).unwrap();
        store.gc_score(Duration::from_secs(1), NOW).unwrap().unwrap();
        plant(&db, 0, good);
    }
    // The record claims more live data than data, which is found without a check of each field.
    let good = told(&db, 1);
    plant(&db, 1, told(&db, 3) + told(&db, 5) + 1);
    let store = store(&db);
    assert_eq!(store.stats(NOW), Some(store.recount(NOW).unwrap()));
    let mut batch = store.begin(NOW);
    batch.delete(b"a", time(95)).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    assert!(told(&db, 1) < good, "the record is that of what there is");
}

/// Statistics are plausible in themselves, but impossible after a collection, which leaves no garbage of that
/// age.
#[test]
fn a_collection_notices_garbage_that_cannot_have_been_left() {
    let db = open(Arc::new(MemFs::new()));
    fill(&store(&db));
    let (age, bytes) = (7, 3);
    plant(&db, age, told(&db, age) + 300);
    plant(&db, bytes, told(&db, bytes) + 30);
    let store = store(&db);
    let wrong = store.stats(NOW).unwrap();
    assert!(wrong.is_plausible() && wrong != store.recount(NOW).unwrap());
    let report = store
        .collect_garbage(Duration::from_secs(5), NOW, &Default::default())
        .unwrap();
    assert_eq!(report.removed.versions, 3);
    assert!(report.recounted);
    assert_eq!(store.stats(NOW), Some(store.recount(NOW).unwrap()));
    let again = store
        .collect_garbage(Duration::from_secs(5), NOW, &Default::default())
        .unwrap();
    assert!(!again.recounted);
}

/// A file was ingested without a recount: versions are removed that were never counted.
#[test]
fn a_score_is_not_made_of_what_cannot_be() {
    let fs = Arc::new(MemFs::new());
    let db = open(fs.clone());
    let from = store(&db);
    fill(&from);
    let path = Path::new("/export.sst");
    let options = ExportOptions {
        all_revisions: true,
        ..ExportOptions::default()
    };
    let reader = from.reader(Timestamp::MAX).unwrap();
    reader
        .export_to_sst(Span::ALL, Timestamp::ZERO, Timestamp::MAX, None, path, &options)
        .unwrap();
    let copy = open_at(fs, "/copy");
    let store = store(&copy);
    copy.ingest_external_file(&[path.to_path_buf()], &Default::default())
        .unwrap();
    let mut batch = store.begin(NOW);
    batch.clear_range(Span::new(b"a", b"b")).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    assert!(store.stats(NOW).unwrap().val_count < 0);
    let score = store.gc_score(Duration::from_secs(5), NOW).unwrap().unwrap();
    assert!(score.dead_fraction > 0.0 && score.lifetimes > 1.0, "{score:?}");
    let stats = store.stats(NOW).unwrap();
    assert_eq!(stats, store.recount(NOW).unwrap());
    assert_eq!(stats.val_count, 4);
}
