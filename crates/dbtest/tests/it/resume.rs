//! The disk is full, or fails, and then it does not: the database goes on where it stopped.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{flush, flush_and_settle};
use esker::{ColumnFamilyOptions, Db, ErrorKind, FlushOptions, Options, ReadOptions, WriteOptions};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule, UnsyncedPolicy};

const DIR: &str = "db";

fn options(fs: &FaultFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            level0_file_num_compaction_trigger: 2,
            streams_bypass_level0: false,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

fn put(db: &Db, from: u32, to: u32) {
    for number in from..to {
        db.put(format!("k{number:05}").as_bytes(), &[b'v'; 100]).unwrap();
    }
}

fn rows(db: &Db) -> usize {
    let mut iter = db.iter(&ReadOptions::default());
    let mut rows = 0;
    iter.seek_to_first();
    while iter.valid() {
        rows += 1;
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn failed(db: &Db) -> bool {
    db.property_int(&db.default_column_family(), "rocksdb.background-errors") == Some(1)
}

/// Files of tables that no version has.
fn strays(fs: &MemFs, db: &Db) -> Vec<String> {
    let live: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
    let names = fs.list(Path::new(DIR)).unwrap();
    let is_stray = |name: &String| {
        let number = name.strip_suffix(".sst").and_then(|number| number.parse().ok());
        number.is_some_and(|number: u64| !live.contains(&number))
    };
    names.into_iter().filter(is_stray).collect()
}

fn no_room(op: Op, ending: &str) -> Rule {
    Rule::new(Action::Fail(ErrorKind::NoSpace))
        .on([op])
        .path_ends_with(ending)
}

#[test]
fn after_a_flush_that_had_no_room() {
    for op in [Op::Create, Op::Append, Op::Sync, Op::Close] {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let db = Db::open(&options(&faults), DIR).unwrap();
        put(&db, 0, 100);
        faults.add(no_room(op, ".sst"));
        let error = db.flush(&FlushOptions::default()).unwrap_err();
        assert!(failed(&db), "{op:?}: {error}");
        assert_eq!(rows(&db), 100, "reads go on");
        assert_eq!(db.put(b"x", b"y").unwrap_err().kind(), ErrorKind::ReadOnly);
        // Too early.
        assert!(db.resume().is_err());
        assert!(failed(&db));
        faults.clear_rules();
        db.resume().unwrap();
        assert!(!failed(&db));
        assert_eq!(db.live_files().len(), 1, "what was to be flushed is");
        put(&db, 100, 200);
        flush_and_settle(&db);
        assert_eq!(rows(&db), 200);
        db.close().unwrap();
        drop(db);
        let db = Db::open(&options(&faults), DIR).unwrap();
        assert_eq!(rows(&db), 200);
        db.verify_checksum().unwrap();
        db.close().unwrap();
        assert_eq!(strays(&mem, &db), Vec::<String>::new(), "{op:?}");
    }
}

#[test]
fn after_a_compaction_that_had_no_room() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(&faults);
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    for _ in 0..3 {
        put(&db, 0, 100);
        flush(&db);
    }
    faults.add(no_room(Op::Append, ".sst"));
    let family = db.default_column_family();
    let everything = esker::CompactRangeOptions::default();
    db.compact_range(&family, &everything, None, None).unwrap_err();
    assert!(failed(&db));
    faults.clear_rules();
    db.resume().unwrap();
    put(&db, 100, 200);
    db.compact_range(&family, &everything, None, None).unwrap();
    assert_eq!(db.live_files().len(), 1);
    assert_eq!(rows(&db), 200);
    db.close().unwrap();
    drop(db);
    assert_eq!(rows(&Db::open(&options, DIR).unwrap()), 200);
}

#[test]
fn after_a_write_the_wal_had_no_room_for() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let db = Db::open(&options(&faults), DIR).unwrap();
    put(&db, 0, 10);
    faults.add(no_room(Op::Append, ".log"));
    db.put(b"lost", b"v").unwrap_err();
    assert!(failed(&db));
    faults.clear_rules();
    db.resume().unwrap();
    let synced = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    let family = db.default_column_family();
    db.put_opt(&synced, &family, b"k00010", b"v").unwrap();
    // Death, and a WAL with what came before and after.
    let mut rng = base::env::Rng::with_seed(testkit::rng::seed());
    let image = mem.crash_clone(&mut rng, UnsyncedPolicy::Lose);
    let db = Db::open(&options(&FaultFs::new(Arc::new(image))), DIR).unwrap();
    assert_eq!(rows(&db), 11);
    assert_eq!(db.get(b"lost").unwrap(), None);
}

#[test]
fn what_nobody_knows_is_not_resumed_from() {
    for (op, ending) in [(Op::Sync, ".log"), (Op::Append, "MANIFEST-000001")] {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let db = Db::open(&options(&faults), DIR).unwrap();
        let manifest = mem.list(Path::new(DIR)).unwrap();
        let manifest = manifest.iter().filter(|name| name.starts_with("MANIFEST")).max();
        let ending = if ending == ".log" {
            ending
        } else {
            manifest.unwrap()
        };
        put(&db, 0, 10);
        faults.add(no_room(op, ending));
        match op {
            Op::Sync => db.sync_wal().unwrap_err(),
            _ => db.flush(&FlushOptions::default()).unwrap_err(),
        };
        faults.clear_rules();
        assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::ReadOnly, "{op:?}");
        assert_eq!(rows(&db), 10);
    }
}
