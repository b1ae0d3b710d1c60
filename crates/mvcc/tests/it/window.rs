//! Windows of time over files: blocks that are skipped, and blocks that must be read.

use std::path::Path;
use std::sync::Arc;

use esker::{PerfLevel, WriteOptions, perf};
use mvcc::{BatchOptions, Error, ExportOptions, MvccReadOptions, MvccStore, Span, Timestamp, Value};
use vfs::MemFs;

use super::model::{NOW, dump, open};

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

/// Ten flushes, each with all keys at one time.
fn filled() -> (esker::Db, MvccStore) {
    let db = open(Arc::new(MemFs::new()));
    let store = MvccStore::open(&db, &db.default_column_family(), BatchOptions::default(), NOW).unwrap();
    for second in 1..=10 {
        let mut batch = store.begin(NOW);
        for key in 0..200 {
            let value = [second as u8; 40];
            batch
                .put(
                    format!("key{key:04}").as_bytes(),
                    time(second),
                    Value::Bytes(&value),
                )
                .unwrap();
        }
        batch.commit(&WriteOptions::default()).unwrap();
        db.flush().unwrap();
    }
    (db, store)
}

fn count(store: &MvccStore, span: Span<'_>, after: i64, until: i64) -> (usize, u64) {
    let reader = store.reader(Timestamp::MAX).unwrap();
    let mut iter = reader.incremental(span, time(after), time(until)).unwrap();
    let mut rows = 0;
    while let Some(row) = iter.next().unwrap() {
        assert!(row.timestamp > time(after) && row.timestamp <= time(until));
        rows += 1;
    }
    (rows, iter.counters().steps)
}

#[test]
fn a_window_without_versions_reads_nothing() {
    let (_db, store) = filled();
    assert_eq!(count(&store, Span::ALL, 10, 99), (0, 0));
    assert_eq!(count(&store, Span::ALL, 9, 10).0, 200);
    assert_eq!(count(&store, Span::ALL, 0, 99).0, 2000);
    let all = Span::new(b"key0100", b"key0110");
    assert_eq!(count(&store, all, 3, 5).0, 20);
    // Blocks outside the window are not read: a window that only meets the last table reads that table's
    // blocks, and the keys it names.
    let blocks = |after, until| {
        let reader = store.reader(Timestamp::MAX).unwrap();
        perf::set_level(PerfLevel::EnableCount);
        perf::reset();
        let mut iter = reader.incremental(Span::ALL, time(after), time(until)).unwrap();
        while iter.next().unwrap().is_some() {}
        let seen = perf::context();
        perf::set_level(PerfLevel::Disable);
        seen.block_cache_hit_count + seen.block_read_count
    };
    assert_eq!(blocks(10, 20), 0);
    assert!(blocks(9, 10) > 0);
}

/// A version removed by garbage collection must not reappear because its removal is in a skipped table, and a
/// version written again must be seen.
#[test]
fn what_was_removed_does_not_come_back() {
    let db = open(Arc::new(MemFs::new()));
    let store = MvccStore::open(&db, &db.default_column_family(), BatchOptions::default(), NOW).unwrap();
    let put = |key: &[u8], second| {
        let mut batch = store.begin(NOW);
        batch.put(key, time(second), Value::Bytes(b"v")).unwrap();
        batch.commit(&WriteOptions::default()).unwrap();
    };
    put(b"a", 5);
    put(b"b", 5);
    put(b"b", 8);
    db.flush().unwrap();
    let mut batch = store.begin(NOW);
    batch.revert_to(Span::ALL, time(4), &Default::default()).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    put(b"c", 20);
    db.flush().unwrap();
    put(b"b", 5);
    assert_eq!(count(&store, Span::ALL, 4, 9).0, 1);
    assert_eq!(count(&store, Span::ALL, 6, 9).0, 0);
    assert_eq!(count(&store, Span::ALL, 6, 30).0, 1);
}

/// An inline value whose removal is skipped comes before versions that were written later.
#[test]
fn versions_behind_a_removed_inline_value_are_seen() {
    let db = open(Arc::new(MemFs::new()));
    let store = MvccStore::open(&db, &db.default_column_family(), BatchOptions::default(), NOW).unwrap();
    let write = |key: &[u8], second: i64, inline: Option<Option<Value<'_>>>| {
        let mut batch = store.begin(NOW);
        if let Some(value) = inline {
            batch.put_inline(b"k", value).unwrap();
        }
        batch.put(key, time(second), Value::Bytes(b"v")).unwrap();
        batch.commit(&WriteOptions::default()).unwrap();
        db.flush().unwrap();
    };
    write(b"a", 5, Some(Some(Value::Bytes(b"inline"))));
    write(b"z", 20, Some(None));
    write(b"k", 6, None);
    assert_eq!(count(&store, Span::ALL, 4, 9).0, 2);
}

#[test]
fn exports_are_ingested_elsewhere() {
    let (db, store) = filled();
    let fs = db.options().fs.clone();
    let options = ExportOptions {
        all_revisions: true,
        ..ExportOptions::default()
    };
    let path = Path::new("/export.sst").to_path_buf();
    let reader = store.reader(Timestamp::MAX).unwrap();
    let result = reader
        .export_to_sst(Span::ALL, time(7), time(9), None, &path, &options)
        .unwrap();
    assert_eq!((result.versions, result.resume), (400, None));
    assert_eq!(result.file.unwrap().num_entries, 400);
    let nothing = reader
        .export_to_sst(
            Span::ALL,
            time(30),
            time(40),
            None,
            Path::new("/none.sst"),
            &options,
        )
        .unwrap();
    assert!(nothing.file.is_none() && !fs.exists(Path::new("/none.sst")).unwrap());
    let tight = ExportOptions {
        max_bytes: Some(100),
        ..options
    };
    let refused = reader.export_to_sst(Span::ALL, time(7), time(9), None, Path::new("/tight.sst"), &tight);
    assert!(matches!(refused, Err(Error::Engine(error)) if error.kind() == base::ErrorKind::Incomplete));
    assert!(!fs.exists(Path::new("/tight.sst")).unwrap());

    let mut opened = db.options().clone();
    opened.create_if_missing = true;
    let copy = esker::Db::open(&opened, Path::new("/copy")).unwrap();
    let other = MvccStore::open(&copy, &copy.default_column_family(), BatchOptions::default(), NOW).unwrap();
    copy.ingest_external_file(&[path], &Default::default()).unwrap();
    assert_eq!(other.repair_stats(NOW).unwrap().val_count, 400);
    assert_eq!(other.stats(NOW).unwrap(), other.recount(NOW).unwrap());
    assert_eq!(dump(&copy).len(), 400);
    let found = other
        .get(b"key0007", time(8), &MvccReadOptions::default())
        .unwrap();
    assert_eq!(found.found.unwrap().timestamp, time(8));
}
