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
        // Before an open: that would remove them.
        assert_eq!(strays(&mem, &db), Vec::<String>::new(), "{op:?}");
        drop(db);
        let db = Db::open(&options(&faults), DIR).unwrap();
        assert_eq!(rows(&db), 200);
        db.verify_checksum().unwrap();
    }
}

#[test]
fn after_a_compaction_that_had_no_room() {
    for op in [Op::Create, Op::Append, Op::Sync, Op::Close] {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let mut options = options(&faults);
        options.column_family.disable_auto_compactions = true;
        let db = Db::open(&options, DIR).unwrap();
        for _ in 0..3 {
            put(&db, 0, 100);
            flush(&db);
        }
        faults.add(no_room(op, ".sst"));
        let family = db.default_column_family();
        let everything = esker::CompactRangeOptions::default();
        let error = db.compact_range(&family, &everything, None, None).unwrap_err();
        assert!(failed(&db), "{op:?}: {error}");
        assert_eq!(rows(&db), 100, "reads go on");
        faults.clear_rules();
        db.resume().unwrap();
        put(&db, 100, 200);
        db.compact_range(&family, &everything, None, None).unwrap();
        assert_eq!(db.live_files().len(), 1);
        assert_eq!(rows(&db), 200);
        db.close().unwrap();
        assert_eq!(strays(&mem, &db), Vec::<String>::new(), "{op:?}");
        drop(db);
        assert_eq!(rows(&Db::open(&options, DIR).unwrap()), 200);
    }
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
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let db = Db::open(&options(&faults), DIR).unwrap();
    put(&db, 0, 10);
    faults.add(no_room(Op::Sync, ".log"));
    db.sync_wal().unwrap_err();
    faults.clear_rules();
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(rows(&db), 10);
}

fn manifests(fs: &MemFs) -> Vec<String> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let of_manifests = |name: &String| name.starts_with("MANIFEST") || name.ends_with("dbtmp");
    names.into_iter().filter(of_manifests).collect()
}

/// A change of the MANIFEST, or its replacement by a fresh one, fails, done or not: another one is written.
#[test]
fn after_a_change_of_the_manifest_that_had_no_room() {
    let fail: fn(ErrorKind) -> Action = Action::Fail;
    let mut rng = testkit::rng();
    for action in [fail, Action::FailAfter] {
        for (op, ending, rotates) in [
            (Op::Append, "", false),
            (Op::Sync, "", false),
            (Op::Create, "", true),
            (Op::Append, "", true),
            (Op::Sync, "", true),
            (Op::Rename, "CURRENT", true),
            (Op::SyncDir, "", true),
        ] {
            for kind in [ErrorKind::NoSpace, ErrorKind::Io] {
                let context = format!("{op:?} {ending} {kind:?}");
                let mem = MemFs::new();
                let faults = FaultFs::new(Arc::new(mem.clone()));
                let mut options = options(&faults);
                options.column_family.disable_auto_compactions = true;
                options.max_manifest_file_size = if rotates { 0 } else { 1 << 30 };
                let db = Db::open(&options, DIR).unwrap();
                // With several families a flush syncs the WAL's directory, too.
                let families = if op == Op::SyncDir { 2 } else { 3 };
                if families > 2 {
                    db.create_column_family("other", &ColumnFamilyOptions::default())
                        .unwrap();
                }
                put(&db, 0, 100);
                flush(&db);
                put(&db, 100, 200);
                let rule = Rule::new(action(kind)).on([op]);
                faults.add(match (op, ending) {
                    (Op::SyncDir, _) => rule,
                    (_, "") => rule.path_contains("MANIFEST"),
                    _ => rule.path_ends_with(ending),
                });
                let flushed = db.flush(&FlushOptions::default());
                // A fresh MANIFEST is begun when the change is made, and the table in place.
                assert!(flushed.is_err() || rotates, "{context}");
                while !failed(&db) {
                    std::thread::yield_now();
                }
                assert_eq!(rows(&db), 200, "reads go on: {context}");
                db.put(b"x", b"y").unwrap_err();
                // Whichever MANIFEST there is, it can be opened.
                let again = |fs: MemFs| {
                    let again = Options {
                        fs: Arc::new(fs),
                        ..options.clone()
                    };
                    rows(&Db::open(&again, DIR).unwrap())
                };
                assert_eq!(again(mem.process_death_clone()), 200, "{context}");
                // Too early.
                db.resume().unwrap_err();
                assert!(failed(&db), "{context}");
                assert_eq!(again(mem.process_death_clone()), 200, "{context}");
                faults.clear_rules();
                db.resume().unwrap();
                assert!(!failed(&db));
                assert_eq!(db.live_files().len(), 2, "what was to be flushed is: {context}");
                put(&db, 200, 300);
                flush_and_settle(&db);
                db.create_column_family("third", &ColumnFamilyOptions::default())
                    .unwrap();
                // What was flushed stays, whatever is lost.
                let left = dbtest::crash::any_loss(&mem, &mut base::env::Rng::with_seed(rng.u64(..)));
                assert_eq!(again(left), 300, "{context}");
                assert_eq!(rows(&db), 300);
                db.close().unwrap();
                assert_eq!(strays(&mem, &db), Vec::<String>::new(), "{context}");
                assert_eq!(manifests(&mem).len(), 1, "{context}: {:?}", manifests(&mem));
                drop(db);
                let db = Db::open(&options, DIR).unwrap();
                assert_eq!((rows(&db), db.column_families().len()), (300, families));
                db.verify_checksum().unwrap();
            }
        }
    }
}

/// Families that could not be created or dropped, and files that could not be ingested, are not, and leave nothing.
#[test]
fn what_the_manifest_had_no_room_for_did_not_happen() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let options = options(&faults);
    let db = Db::open(&options, DIR).unwrap();
    let kept = db
        .create_column_family("kept", &ColumnFamilyOptions::default())
        .unwrap();
    db.put_opt(&WriteOptions::default(), &kept, b"a", b"1").unwrap();
    put(&db, 0, 10);
    let outside = Path::new("outside.sst");
    let mut writer = esker::SstFileWriter::new(&options);
    writer.open(outside).unwrap();
    writer.put(b"z", b"1").unwrap();
    writer.finish().unwrap();
    let change: [(&str, &dyn Fn() -> esker::Result<()>); 3] = [
        ("create", &|| {
            db.create_column_family("new", &ColumnFamilyOptions::default())
                .map(drop)
        }),
        ("drop", &|| db.drop_column_family(&kept)),
        ("ingest", &|| {
            db.ingest_external_file(&[outside], &Default::default()).map(drop)
        }),
    ];
    for (name, change) in change {
        for op in [Op::Append, Op::Sync] {
            let rule = Rule::new(Action::FailAfter(ErrorKind::NoSpace));
            faults.add(rule.on([op]).path_contains("MANIFEST"));
            change().unwrap_err();
            faults.clear_rules();
            assert!(failed(&db), "{name}");
            db.resume().unwrap();
            assert_eq!(db.column_families().len(), 2, "{name}");
            assert_eq!(
                db.get_opt(&ReadOptions::default(), &kept, b"a").unwrap().unwrap(),
                b"1"
            );
            assert_eq!(db.get(b"z").unwrap(), None);
            db.put(b"k00000", name.as_bytes()).unwrap();
            assert_eq!(rows(&db), 10);
        }
    }
    db.close().unwrap();
    assert_eq!(strays(&mem, &db), Vec::<String>::new());
    assert_eq!(manifests(&mem).len(), 1);
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!((rows(&db), db.column_families().len()), (10, 2));
    assert_eq!(db.get(b"k00000").unwrap().unwrap(), b"ingest");
}
