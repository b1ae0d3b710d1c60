//! Tests that scripts cannot express: lifetimes of handles, use from several threads, and calls in the wrong
//! order.

use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{
    ColumnFamily, Db, DbIterator, ErrorKind, Options, PinnedValue, ReadOptions, Snapshot, WriteBatch,
    WriteOptions,
};
use vfs::MemFs;

fn options() -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    }
}

#[test]
fn handles_go_to_other_threads() {
    fn send<T: Send + 'static>() {}
    fn sync<T: Sync>() {}
    send::<Db>();
    sync::<Db>();
    send::<ColumnFamily>();
    sync::<ColumnFamily>();
    send::<Snapshot>();
    sync::<Snapshot>();
    send::<WriteBatch>();
    send::<DbIterator>();
    send::<PinnedValue>();
}

#[test]
fn handles_outlive_the_database() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    db.put(b"table", b"1").unwrap();
    flush(&db);
    db.put(b"memory", b"2").unwrap();
    let snapshot = db.snapshot();
    db.delete(b"table").unwrap();
    let read = ReadOptions {
        snapshot: Some(snapshot.clone()),
        ..ReadOptions::default()
    };
    let in_table = db.get_pinned_cf_opt(&family, b"table", &read).unwrap().unwrap();
    let in_memory = db.get_pinned_cf_opt(&family, b"memory", &read).unwrap().unwrap();
    let mut iter = db.iter_opt(&read);
    iter.seek_to_first();
    drop(db);
    assert_eq!((&in_table[..], &in_memory[..]), (&b"1"[..], &b"2"[..]));
    assert_eq!(iter.key(), b"memory");
    iter.next();
    assert_eq!((iter.key(), iter.value()), (&b"table"[..], &b"1"[..]));
    let value = iter.value_pinned();
    iter.next();
    assert!(!iter.valid());
    iter.status().unwrap();
    drop(iter);
    assert_eq!(&value[..], b"1");
    assert_eq!(family.name(), "default");
    drop((snapshot, read, in_table, in_memory, value, family));
    // The drop of the last reading handle has closed the database.
    let db = Db::open(&options, "/db").unwrap();
    assert_eq!(db.get(b"table").unwrap(), None);
}

#[test]
fn a_closed_database_takes_no_more_writes() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    db.put(b"k", b"v").unwrap();
    let other = db.clone();
    db.close().unwrap();
    db.close().unwrap();
    assert_eq!(
        other.put(b"k", b"w").unwrap_err().kind(),
        ErrorKind::ShutdownInProgress
    );
    assert_eq!(other.flush().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    assert_eq!(other.get(b"k").unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    // The close has released the lock of the directory, although a handle of the database remains.
    let again = Db::open(&options, "/db").unwrap();
    assert_eq!(again.get(b"k").unwrap().unwrap(), b"v");
}

#[test]
fn batches_carry_rocksdbs_bytes() {
    let db = Db::open(&options(), "/db").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.delete(b"b");
    let copy = WriteBatch::from_data(batch.data()).unwrap();
    db.write(copy).unwrap();
    assert_eq!(db.get(b"a").unwrap().unwrap(), b"1");
    assert_eq!(db.latest_sequence_number(), 2);
    let cut = &batch.data()[..batch.data().len() - 1];
    assert!(WriteBatch::from_data(cut).unwrap_err().is_corruption());
    // A batch with an operation on a family that does not exist is refused as a whole.
    let two = db.create_column_family("two", &Default::default()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"first", b"1");
    batch.put_cf(&two, b"k", b"v");
    db.drop_column_family(&two).unwrap();
    assert!(db.write(batch.clone()).is_err());
    assert_eq!(db.get(b"first").unwrap(), None);
    let ignoring = WriteOptions {
        ignore_missing_column_families: true,
        ..WriteOptions::default()
    };
    db.write_opt(batch, &ignoring).unwrap();
    assert_eq!(db.get(b"first").unwrap().unwrap(), b"1");
}

#[test]
fn many_writers_share_syncs() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for number in 0..100 {
                    let key = format!("{thread}/{number}");
                    let write = WriteOptions {
                        sync: true,
                        ..WriteOptions::default()
                    };
                    db.put_cf_opt(&db.default_column_family(), key.as_bytes(), b"v", &write)
                        .unwrap();
                    assert!(db.get(key.as_bytes()).unwrap().is_some());
                }
            });
        }
    });
    assert_eq!(db.latest_sequence_number(), 400);
    drop(db);
    let db = Db::open(&options, "/db").unwrap();
    let mut iter = db.iter();
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    assert_eq!(count, 400);
}

#[test]
fn a_handle_is_good_for_its_own_database_only() {
    let here = Db::open(&options(), "/here").unwrap();
    let there = Db::open(&options(), "/there").unwrap();
    here.put(b"k", b"here").unwrap();
    there.put(b"k", b"there").unwrap();
    let (foreign, read) = (there.default_column_family(), ReadOptions::default());
    let refused = |error: esker::Error| {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("another database"), "{error}");
    };
    refused(here.get_cf_opt(&foreign, b"k", &read).unwrap_err());
    refused(here.get_pinned_cf_opt(&foreign, b"k", &read).unwrap_err());
    refused(
        here.multi_get_cf_opt(&foreign, &[b"k"], &read)
            .remove(0)
            .unwrap_err(),
    );
    let mut iter = here.iter_cf_opt(&foreign, &read);
    iter.seek_to_first();
    assert!(!iter.valid());
    refused(iter.status().unwrap_err());
    refused(here.put_cf(&foreign, b"k", b"v").unwrap_err());
    refused(here.flush_cf(&[foreign]).unwrap_err());
}

/// A concurrent reader sees all of a batch or nothing of it, and a snapshot always sees the same rows.
#[test]
fn batches_are_seen_whole() {
    const KEYS: u64 = 40;
    let db = Db::open(
        &Options {
            create_missing_column_families: true,
            ..options()
        },
        "/db",
    )
    .unwrap();
    let other = db
        .create_column_family("other", &db.options().column_family)
        .unwrap();
    let families = [db.default_column_family(), other];
    let write = |number: u64| {
        let mut batch = WriteBatch::new();
        for key in 0..KEYS {
            let family = &families[(key % 2) as usize];
            batch.put_cf(family, &key.to_be_bytes(), &number.to_be_bytes());
        }
        db.write(batch).unwrap();
    };
    write(0);
    let read = |snapshot: &Snapshot, key: u64| {
        let options = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..ReadOptions::default()
        };
        let family = &families[(key % 2) as usize];
        db.get_cf_opt(family, key.to_be_bytes(), &options)
            .unwrap()
            .unwrap()
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..=4000).for_each(write));
        while !writer.is_finished() {
            let snapshot = db.snapshot();
            // The keys are read in reverse order: the last key is written last.
            let found: Vec<Vec<u8>> = (0..KEYS).rev().map(|key| read(&snapshot, key)).collect();
            assert!(
                found.windows(2).all(|pair| pair[0] == pair[1]),
                "half of a batch: {found:?}"
            );
            assert!((0..KEYS).all(|key| read(&snapshot, key) == found[0]));
        }
    });
}
