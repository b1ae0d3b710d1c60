//! Tests that scripts cannot express: lifetimes of handles, use from several threads, and calls in the wrong
//! order.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{compact, flush, rewrite_family};
use esker::{
    CheckpointOptions, ColumnFamily, Db, DbIterator, ErrorKind, Options, PinnedValue, ReadOptions, Snapshot,
    WriteBatch, WriteOptions,
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
fn one_writer_at_a_time() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let error = Db::open(&options, "/db").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockHeld);
    assert!(error.to_string().contains("/db/LOCK"), "{error}");
    let error = Db::destroy(&options, "/db").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockHeld);
    drop(db);
    Db::destroy(&options, "/db").unwrap();
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

#[test]
fn files_stay_while_their_deletion_is_disabled() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    for value in [b"1", b"2"] {
        db.put(b"k", value).unwrap();
        flush(&db);
    }
    db.disable_file_deletions();
    db.disable_file_deletions();
    let before = db.live_files();
    assert_eq!(before.len(), 2);
    rewrite_family(&db, &family);
    let exist = |files: &[esker::LiveFile]| {
        let there = files.iter().filter(|file| options.fs.exists(&file.path).unwrap());
        there.count()
    };
    let after = db.live_files();
    assert_eq!(after.len(), 1);
    db.enable_file_deletions().unwrap();
    assert_eq!(
        (exist(&before), exist(&after)),
        (2, 1),
        "one of two is taken back"
    );
    db.enable_file_deletions().unwrap();
    assert_eq!(
        (exist(&before), exist(&after)),
        (0, 1),
        "they are gone with the second"
    );
    assert_eq!(
        db.enable_file_deletions().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    drop(family);
    db.close().unwrap();
}

#[test]
fn a_checkpoint_is_a_database_of_its_own() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    db.put(b"table", b"1").unwrap();
    flush(&db);
    db.put(b"log", b"1").unwrap();
    let copied_logs = CheckpointOptions {
        log_size_for_flush: u64::MAX,
    };
    for (dir, how, tables) in [
        ("/logs", copied_logs, 1),
        ("/tables", CheckpointOptions::default(), 2),
    ] {
        // A checkpoint or export interrupted by a crash may have left this directory.
        options.fs.create_dir_all(format!("{dir}.tmp").as_ref()).unwrap();
        options
            .fs
            .write_file(format!("{dir}.tmp/000009.sst").as_ref(), b"")
            .unwrap();
        db.create_checkpoint(dir, &how).unwrap();
        assert!(!options.fs.exists(format!("{dir}.tmp").as_ref()).unwrap());
        // A checkpoint has a WAL, because programs expect one. After a flush the WAL is empty, as in
        // RocksDB's checkpoints.
        let files = options.fs.list(dir.as_ref()).unwrap().into_iter();
        let wals = files.filter(|name| name.ends_with(".log"));
        let sizes: Vec<u64> = wals
            .map(|name| options.fs.size(&Path::new(dir).join(name)).unwrap())
            .collect();
        assert_eq!((sizes.len(), sizes[0] > 0), (1, dir == "/logs"));
        let error = db.create_checkpoint(dir, &how).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(dir), "{error}");
        let copy = Db::open_read_only(&options, dir).unwrap();
        assert_eq!(copy.live_files().len(), tables);
    }
    // Writes after the checkpoint do not change the copy, because the WALs of the two databases are
    // independent.
    db.put(b"table", b"2").unwrap();
    compact(&db);
    let copy = Db::open(&options, "/logs").unwrap();
    assert_eq!(copy.get(b"table").unwrap().unwrap(), b"1");
    assert_eq!(copy.get(b"log").unwrap().unwrap(), b"1");
    copy.delete(b"table").unwrap();
    copy.close().unwrap();
    assert_eq!(db.get(b"table").unwrap().unwrap(), b"2");
    for round in [b"1", b"2"] {
        let copy = Db::open(&options, "/tables").unwrap();
        assert_eq!(copy.get(b"log").unwrap().unwrap(), round);
        copy.put(b"log", b"2").unwrap();
        copy.close().unwrap();
    }
    let reader = Db::open_read_only(&options, "/db").unwrap();
    let error = reader
        .create_checkpoint("/third", &CheckpointOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
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
