//! Nothing at or below the threshold is read or written by any path; readers that began before it rose
//! continue.

use std::path::Path;
use std::sync::Arc;

use esker::{Db, WriteOptions};
use mvcc::{
    BatchOptions, Error, ExportOptions, MvccReadOptions, MvccStore, Reader, Result, Span, Timestamp, Value,
};
use vfs::MemFs;

use super::model::{NOW, open};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

/// The keys a and b, written each second from 1 to 9, and deleted by a range tombstone at 10.
fn filled() -> (Db, MvccStore) {
    let db = open(Arc::new(MemFs::new()));
    let options = BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    };
    let store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
    let mut batch = store.begin(NOW);
    for key in [b"a", b"b"] {
        for seconds in 1..10 {
            batch.put(key, at(seconds), Value::Int(seconds)).unwrap();
        }
    }
    batch
        .delete_range_using_tombstone(Span::new(b"a", b"c"), at(10), &Default::default())
        .unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    (db, store)
}

#[track_caller]
fn refused<T>(result: Result<T>, time: Timestamp, threshold: Timestamp) {
    match result {
        Err(Error::BelowThreshold {
            timestamp,
            threshold: told,
        }) => assert_eq!((timestamp, told), (time, threshold)),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{time} was read, the threshold is {threshold}"),
    }
}

/// Checks that times at or below the threshold of 5 seconds are refused, and later ones are read.
fn keeps_to_it(reader: &Reader<'_>, threshold: Timestamp) {
    let options = MvccReadOptions::default();
    let path = Path::new("/export");
    let export = ExportOptions::default();
    for time in [at(1), threshold.prev(), threshold] {
        refused(reader.get(b"a", time, &options), time, threshold);
        refused(reader.scan(Span::ALL, time, &options), time, threshold);
        let backwards = MvccReadOptions {
            reverse: true,
            ..options
        };
        refused(reader.scan(Span::ALL, time, &backwards), time, threshold);
        let mut windows = vec![(Timestamp::ZERO, time), (at(1), time)];
        if time < threshold {
            windows.push((time, Timestamp::MAX));
        }
        for (after, until) in windows {
            let time = if until <= threshold { until } else { after };
            refused(reader.incremental(Span::ALL, after, until), time, threshold);
            refused(reader.is_span_empty(Span::ALL, after, until), time, threshold);
            refused(reader.range_tombstones(Span::ALL, after, until), time, threshold);
            let exported = reader.export_to_sst(Span::ALL, after, until, None, path, &export);
            refused(exported, time, threshold);
        }
    }
    for (after, until) in [(Timestamp::ZERO, threshold.next()), (threshold, at(9))] {
        assert!(!reader.is_span_empty(Span::ALL, after, until.max(at(9))).unwrap());
        assert_eq!(reader.range_tombstones(Span::ALL, after, until).unwrap(), []);
        reader
            .export_to_sst(Span::ALL, after, until, None, path, &export)
            .unwrap();
    }
    assert_eq!(seen(reader, threshold.next()), 5);
}

/// The value of key a.
fn seen(reader: &Reader<'_>, time: Timestamp) -> i64 {
    let found = reader.get(b"a", time, &MvccReadOptions::default());
    let found = found.unwrap().found.unwrap();
    match found.value(b"a").unwrap() {
        Some(Value::Int(number)) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_reader_reads_at_or_below_it() {
    let (db, store) = filled();
    let family = db.default_column_family();
    let (before, began_before) = (db.snapshot(), store.reader(at(2)).unwrap());
    let threshold = at(5);
    store
        .collect_garbage_at(threshold, NOW, &Default::default())
        .unwrap();
    keeps_to_it(&store.reader(Timestamp::MAX).unwrap(), threshold);
    keeps_to_it(&store.reader(at(9)).unwrap(), threshold);
    let batch = store.begin(NOW);
    keeps_to_it(&batch.reader(), threshold);
    let options = MvccReadOptions::default();
    refused(batch.get(b"a", threshold, &options), threshold, threshold);
    refused(batch.scan(Span::ALL, at(1), &options), at(1), threshold);
    drop(batch);
    refused(store.reader(threshold), threshold, threshold);
    refused(store.get(b"a", threshold, &options), threshold, threshold);
    refused(store.scan(Span::ALL, at(1), &options), at(1), threshold);
    // A reader that bypasses the store can ask for the threshold.
    keeps_to_it(&Reader::new(&db, &family).with_threshold().unwrap(), threshold);
    let after = Reader::new(&db, &family).at(db.snapshot());
    keeps_to_it(&after.with_threshold().unwrap(), threshold);
    // Readers whose state is older than the threshold keep the threshold of that state.
    let before = Reader::new(&db, &family).at(before).with_threshold().unwrap();
    for reader in [&began_before, &before] {
        for seconds in 1..10 {
            assert_eq!(seen(reader, at(seconds)), seconds);
        }
        let mut rows = reader.incremental(Span::ALL, Timestamp::ZERO, at(3)).unwrap();
        let mut count = 0;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 6);
    }
}

/// A batch prevents the threshold from rising until it is written: it reads the state of its beginning.
#[test]
fn a_batch_keeps_to_that_of_its_beginning() {
    let (_db, store) = filled();
    store.advance_threshold(at(3)).unwrap();
    let batch = store.begin(NOW);
    refused(batch.get(b"a", at(3), &MvccReadOptions::default()), at(3), at(3));
    assert_eq!(seen(&batch.reader(), at(4)), 4);
    std::thread::scope(|scope| {
        let raise = scope.spawn(|| store.advance_threshold(at(7)));
        assert_eq!(seen(&batch.reader(), at(4)), 4);
        drop(batch);
        raise.join().unwrap().unwrap();
    });
    refused(store.reader(at(7)), at(7), at(7));
}
