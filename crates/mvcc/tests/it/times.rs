//! Times at or below zero, which no version has: reads as of them are refused, and collections up to them
//! remove nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use esker::{Db, ErrorKind, WriteOptions};
use mvcc::{
    BatchOptions, Error, ExportOptions, GcKey, GcResult, MvccReadOptions, MvccStore, Reader, Result, Span,
    Timestamp, Value,
};
use testkit::rng;
use vfs::MemFs;

use super::model::{NOW, dump, open};

const NO_TIMES: [Timestamp; 4] = [
    Timestamp::ZERO,
    Timestamp::from_nanos(-1),
    Timestamp::from_secs(-5),
    Timestamp { wall: 7, logical: -1 },
];

fn store(options: BatchOptions) -> (Db, MvccStore) {
    let db = open(Arc::new(MemFs::new()));
    let store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
    (db, store)
}

fn fill(store: &MvccStore, keys: &[&[u8]], versions: i64) {
    let mut batch = store.begin(NOW);
    for key in keys {
        for version in 1..=versions {
            let at = Timestamp::from_secs(version);
            batch.put(key, at, Value::Bytes(b"value")).unwrap();
        }
    }
    batch.commit(&WriteOptions::default()).unwrap();
}

/// Collects so often that the counter of steps goes both ways.
#[test]
fn a_collection_up_to_no_time_removes_nothing() {
    let mut rng = rng::rng();
    for statistics in [true, false] {
        for max_steps in [0, 1, 10] {
            let (db, store) = store(BatchOptions {
                statistics,
                max_steps,
                ..BatchOptions::default()
            });
            let keys: [&[u8]; 4] = [b"a", b"b", b"b\0", b"c"];
            fill(&store, &keys, 20);
            let before = dump(&db);
            let mut batch = store.begin(NOW);
            for _ in 0..50 {
                let timestamp = *rng.pick(&NO_TIMES);
                let mut chosen = keys.map(|key| GcKey {
                    user_key: key.to_vec(),
                    timestamp,
                });
                let result = batch.garbage_collect(&mut chosen);
                match timestamp {
                    Timestamp::ZERO => assert_eq!(result.unwrap(), GcResult::default()),
                    _ => {
                        let error = result.unwrap_err();
                        assert!(error.to_string().contains("a negative timestamp"), "{error}");
                    }
                }
                assert!(batch.is_empty() && batch.stats().is_zero());
            }
            batch.commit(&WriteOptions::default()).unwrap();
            assert_eq!(dump(&db), before);
        }
    }
}

/// A collection whose lifetime is longer than all times removes nothing.
#[test]
fn a_lifetime_longer_than_time_collects_nothing() {
    let (db, store) = store(BatchOptions::default());
    fill(&store, &[b"a"], 20);
    let before = dump(&db);
    for now in [i64::MIN, -NOW, 0, 1, NOW] {
        let long = Duration::from_nanos(NOW as u64);
        for ttl in [long, Duration::MAX] {
            let report = store.collect_garbage(ttl, now, &Default::default()).unwrap();
            assert_eq!((report.threshold, report.removed.versions), (Timestamp::ZERO, 0));
        }
    }
    for time in NO_TIMES {
        let report = store.collect_garbage_at(time, NOW, &Default::default());
        match time.wall > 0 {
            true => assert!(matches!(report, Err(Error::Engine(_)))),
            false => assert_eq!(report.unwrap().removed.versions, 0),
        }
    }
    // A collection that leaves no time to read at is refused.
    let last = store.collect_garbage_at(Timestamp::MAX, NOW, &Default::default());
    assert!(matches!(last, Err(Error::Engine(_))));
    assert_eq!(store.threshold(), Timestamp::ZERO);
    assert_eq!(dump(&db), before);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

#[track_caller]
fn refused<T>(result: Result<T>) {
    let Err(Error::Engine(error)) = result else {
        panic!("it is not refused, or not for its time");
    };
    assert!(error.kind() == ErrorKind::InvalidArgument, "{error}");
}

fn refuses(reader: &Reader<'_>, time: Timestamp) {
    let options = MvccReadOptions::default();
    refused(reader.get(b"a", time, &options));
    for reverse in [false, true] {
        let options = MvccReadOptions { reverse, ..options };
        refused(reader.scan(Span::ALL, time, &options));
    }
    let mut windows = vec![(Timestamp::ZERO, time), (Timestamp::from_secs(1), time)];
    if !time.is_zero() {
        windows.push((time, Timestamp::MAX));
    }
    for (after, until) in windows {
        // The iteration must end at the greatest time.
        let walked = reader
            .incremental(Span::ALL, after, until)
            .and_then(|mut iter| iter.next().map(drop));
        refused(walked);
        refused(reader.is_span_empty(Span::ALL, after, until));
        refused(reader.range_tombstones(Span::ALL, after, until));
        let path = Path::new("/export");
        refused(reader.export_to_sst(Span::ALL, after, until, None, path, &ExportOptions::default()));
    }
}

#[test]
fn nothing_is_read_as_of_no_time() {
    for max_steps in [0, 1, 10] {
        let (db, store) = store(BatchOptions {
            max_steps,
            ..BatchOptions::default()
        });
        let family = db.default_column_family();
        fill(&store, &[b"a", b"b"], 30);
        for time in NO_TIMES {
            let reader = Reader::new(&db, &family);
            refuses(&reader.clone().with_max_steps(max_steps), time);
            refuses(&reader.at(db.snapshot()), time);
            refuses(&store.reader(Timestamp::MAX).unwrap(), time);
            let batch = store.begin(NOW);
            refuses(&batch.reader(), time);
            refused(batch.get(b"a", time, &MvccReadOptions::default()));
            refused(batch.scan(Span::ALL, time, &MvccReadOptions::default()));
            drop(batch);
            assert!(store.reader(time).is_err());
        }
    }
}
