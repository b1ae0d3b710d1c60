//! Interrupted collections: reads above the threshold are correct, and the statistics match the data.

use std::sync::Arc;

use esker::{Db, ErrorKind, WriteOptions};
use mvcc::{BatchOptions, GcOptions, MvccReadOptions, MvccStore, Span, Timestamp, Value};
use testkit::rng;
use vfs::{FaultFs, MemFs, UnsyncedPolicy};

use super::model::{NOW, dump, open, range_tombstones};

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn fill(store: &MvccStore, keys: u32, versions: i64) {
    let mut batch = store.begin(NOW);
    for key in 0..keys {
        let name = format!("key{key}").into_bytes();
        for version in 1..=versions {
            let at = time(version);
            match (version + i64::from(key)) % 5 {
                0 => drop(batch.delete(&name, at).unwrap()),
                _ => batch.put(&name, at, Value::Bytes(b"value")).unwrap(),
            }
        }
    }
    // Keys that range tombstones delete: one range tombstone can be removed together with the versions it
    // hides, and one cannot be removed yet.
    for name in [b"key7", b"key8"] {
        for version in 1..=5 {
            batch.put(name, time(version), Value::Bytes(b"value")).unwrap();
        }
    }
    let mut delete = |end, at| {
        let span = Span::new(b"key7", end);
        batch
            .delete_range_using_tombstone(span, time(at), &Default::default())
            .unwrap();
    };
    delete(b"key9", 6);
    delete(b"key8", 10);
    batch.put(b"key8", time(11), Value::Bytes(b"value")).unwrap();
    let durable = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    batch.commit(&durable).unwrap();
}

fn open_store(db: &Db) -> MvccStore {
    let options = BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    };
    MvccStore::open(db, &db.default_column_family(), options, NOW).unwrap()
}

type Seen = Vec<Vec<(Vec<u8>, Timestamp)>>;

/// The results of reads at every time above the threshold.
fn seen(store: &MvccStore, from: i64, until: i64) -> Seen {
    let at = |seconds| {
        let found = store
            .scan(Span::ALL, time(seconds), &MvccReadOptions::default())
            .unwrap();
        let rows = found
            .rows
            .iter()
            .map(|row| (row.user_key.to_vec(), row.timestamp));
        rows.collect()
    };
    (from..=until).map(at).collect()
}

#[test]
fn a_collection_cut_off_anywhere_does_no_harm() {
    let mut rng = rng::rng();
    for min_run_versions in [0, 4] {
        let options = GcOptions {
            page_versions: 3,
            page_bytes: 40,
            min_run_versions,
            max_run_versions: 6,
            write: WriteOptions {
                sync: true,
                ..WriteOptions::default()
            },
        };
        let mut cut = 1;
        loop {
            let disk = MemFs::new();
            let fs = FaultFs::new(Arc::new(disk.clone()));
            let db = open(Arc::new(fs.clone()));
            let store = open_store(&db);
            fill(&store, 6, 12);
            let before = seen(&store, 9, 12);
            let versions = dump(&db).len();
            // The disk crashes after this number of changes.
            fs.crash_at(fs.changes() + cut);
            let result = store.collect_garbage_at(time(8), NOW, &options);
            let finished = result.is_ok();
            let left = disk.crash_clone(&mut fastrand::Rng::with_seed(rng.u64(..)), UnsyncedPolicy::Random);
            drop(store);
            drop(db);
            let db = open(Arc::new(left));
            let store = open_store(&db);
            let left = dump(&db).len();
            assert_eq!(seen(&store, 9, 12), before, "cut {cut}");
            assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
            assert!(
                left == versions || store.threshold() == time(8),
                "deleted before the threshold was durable"
            );
            // The next collection completes the work.
            store.collect_garbage_at(time(8), NOW, &options).unwrap();
            assert_eq!(seen(&store, 9, 12), before);
            assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
            let again = store.collect_garbage_at(time(8), NOW, &options).unwrap();
            assert_eq!((again.removed.versions, again.range_tombstones), (0, 0));
            let [last] = &range_tombstones(&db)[..] else {
                panic!("one is above the threshold");
            };
            assert_eq!(
                (&last.start[..], &last.timestamps[..]),
                (&b"key7"[..], &[time(10)][..])
            );
            if finished {
                break;
            }
            cut += 1;
        }
        assert!(cut > 2, "some were cut off");
    }
}

/// The WAL has all writes that statistics count: a write without it is refused. After a crash the writes
/// before the threshold's record remain, because the record was synced, although nothing else was.
#[test]
fn statistics_do_not_outlive_what_they_count() {
    let disk = MemFs::new();
    let db = open(Arc::new(disk.clone()));
    let store = open_store(&db);
    let without_wal = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    let not_supported = |result: mvcc::Result<()>| {
        let Err(mvcc::Error::Engine(error)) = result else {
            panic!("it is not refused");
        };
        assert_eq!(error.kind(), ErrorKind::NotSupported);
    };
    for second in 1..5 {
        let mut batch = store.begin(NOW);
        batch.put(b"lost", time(second), Value::Bytes(b"value")).unwrap();
        not_supported(batch.commit(&without_wal));
        let mut batch = store.begin(NOW);
        batch.put(b"kept", time(second), Value::Bytes(b"value")).unwrap();
        batch.commit(&WriteOptions::default()).unwrap();
    }
    let options = GcOptions {
        write: without_wal,
        ..GcOptions::default()
    };
    not_supported(store.collect_garbage_at(time(3), NOW, &options).map(drop));
    assert_eq!(store.threshold(), Timestamp::ZERO);
    store.advance_threshold(time(3)).unwrap();
    let left = disk.crash_clone(&mut fastrand::Rng::with_seed(1), UnsyncedPolicy::Lose);
    drop(store);
    drop(db);
    let db = open(Arc::new(left));
    let store = open_store(&db);
    assert_eq!(store.threshold(), time(3));
    assert_eq!(dump(&db).len(), 4);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}
