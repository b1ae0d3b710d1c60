//! The disk is full, or fails, and then recovers: the database resumes where it stopped.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{flush, flush_and_settle};
use dbtest::events::NoAutoRecovery;
use esker::{ColumnFamilyOptions, Db, ErrorKind, Options, RecoveryMode, WriteOptions};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, PosixFs, Rule, UnsyncedPolicy};

const DIR: &str = "db";

fn options(fs: &FaultFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        listeners: vec![Arc::new(NoAutoRecovery)],
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
        db.put(format!("k{number:05}").as_bytes(), [b'v'; 100]).unwrap();
    }
}

fn rows(db: &Db) -> usize {
    let mut iter = db.iter();
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

/// Closes the database, which deletes obsolete files, and returns the tables that are in no version. An open
/// would remove them.
fn close_and_find_strays(fs: &MemFs, db: &Db) -> Vec<String> {
    db.wait_for_compact().unwrap();
    let live: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
    db.close().unwrap();
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
    db.put_cf_opt(&family, b"k00010", b"v", &synced).unwrap();
    // After a crash the WAL has rows from before and after the failure.
    let mut rng = base::env::Rng::with_seed(testkit::rng::seed());
    let image = mem.crash_clone(&mut rng, UnsyncedPolicy::Lose);
    let db = Db::open(&options(&FaultFs::new(Arc::new(image))), DIR).unwrap();
    assert_eq!(rows(&db), 11);
    assert_eq!(db.get(b"lost").unwrap(), None);
}

fn manifests(fs: &MemFs) -> Vec<String> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let of_manifests = |name: &String| name.starts_with("MANIFEST") || name.ends_with("dbtmp");
    names.into_iter().filter(of_manifests).collect()
}

/// A change of the MANIFEST, or its replacement by a new one, fails, with or without effect: another MANIFEST
/// is written.
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
                // With several families a flush also syncs the directory of the WALs, which would change the
                // number of the failing operation.
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
                let flushed = db.flush();
                // A new MANIFEST is begun after the change is made and the table is installed.
                assert!(flushed.is_err() || rotates, "{context}");
                while !failed(&db) {
                    std::thread::yield_now();
                }
                assert_eq!(rows(&db), 200, "reads go on: {context}");
                db.put(b"x", b"y").unwrap_err();
                // After a crash the database can be opened with the old or with the new MANIFEST.
                let again = |fs: MemFs| {
                    let again = Options {
                        fs: Arc::new(fs),
                        ..options.clone()
                    };
                    rows(&Db::open(&again, DIR).unwrap())
                };
                assert_eq!(again(mem.process_death_clone()), 200, "{context}");
                // A resume before the cause is removed fails.
                db.resume().unwrap_err();
                assert!(failed(&db), "{context}");
                assert_eq!(again(mem.process_death_clone()), 200, "{context}");
                faults.clear_rules();
                db.resume().unwrap();
                assert!(!failed(&db));
                assert_eq!(db.live_files().len(), 2, "the memtable is flushed: {context}");
                put(&db, 200, 300);
                flush_and_settle(&db);
                db.create_column_family("third", &ColumnFamilyOptions::default())
                    .unwrap();
                // Flushed rows survive any loss.
                let left = dbtest::crash::any_loss(&mem, &mut base::env::Rng::with_seed(rng.u64(..)));
                assert_eq!(again(left), 300, "{context}");
                assert_eq!(rows(&db), 300);
                assert_eq!(
                    close_and_find_strays(&mem, &db),
                    Vec::<String>::new(),
                    "{context}"
                );
                assert_eq!(manifests(&mem).len(), 1, "{context}: {:?}", manifests(&mem));
                drop(db);
                let db = Db::open(&options, DIR).unwrap();
                assert_eq!((rows(&db), db.column_families().len()), (300, families));
                db.verify_checksum().unwrap();
            }
        }
    }
}

/// Families that could not be created or dropped, and files that could not be ingested, are unchanged, and no
/// file is left over.
#[test]
fn what_the_manifest_had_no_room_for_did_not_happen() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let options = options(&faults);
    let db = Db::open(&options, DIR).unwrap();
    let kept = db
        .create_column_family("kept", &ColumnFamilyOptions::default())
        .unwrap();
    db.put_cf(&kept, b"a", b"1").unwrap();
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
            assert_eq!(db.get_cf(&kept, b"a").unwrap().unwrap(), b"1");
            assert_eq!(db.get(b"z").unwrap(), None);
            db.put(b"k00000", name.as_bytes()).unwrap();
            assert_eq!(rows(&db), 10);
        }
    }
    assert_eq!(close_and_find_strays(&mem, &db), Vec::<String>::new());
    assert_eq!(manifests(&mem).len(), 1);
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!((rows(&db), db.column_families().len()), (10, 2));
    assert_eq!(db.get(b"k00000").unwrap().unwrap(), b"ingest");
}

/// A step without disk space fails again at each attempt, and the database resumes as soon as there is space.
#[test]
fn each_step_that_has_no_room_is_resumed_from_whenever_there_is_some() {
    type Cause = fn(&Db);
    fn flushes(db: &Db) {
        // The result is ignored: the flush may succeed, because the new MANIFEST is begun after the table is
        // installed.
        let _ = db.flush();
    }
    fn writes(db: &Db) {
        db.put(b"lost", b"v").unwrap_err();
    }
    fn compacts(db: &Db) {
        let family = db.default_column_family();
        db.compact_range_cf_opt(&family, None, None, &dbtest::by_hand::everything())
            .unwrap_err();
    }
    fn copies(db: &Db) {
        let without_flush = esker::CheckpointOptions {
            log_size_for_flush: u64::MAX,
        };
        db.create_checkpoint("checkpoint", &without_flush).unwrap_err();
    }
    let steps: [(&str, Op, &str, Cause); 14] = [
        ("append to the WAL", Op::Append, ".log", writes),
        ("create a WAL", Op::Create, ".log", flushes),
        ("write over a WAL", Op::Reuse, ".log", flushes),
        ("begin a WAL", Op::Append, ".log", flushes),
        ("close a WAL", Op::Close, ".log", flushes),
        ("begin a WAL for a checkpoint", Op::Create, ".log", copies),
        ("create a table", Op::Create, ".sst", flushes),
        ("write a table", Op::Append, ".sst", flushes),
        ("sync a table", Op::Sync, ".sst", flushes),
        ("compact", Op::Append, ".sst", compacts),
        ("write a blob file", Op::Append, ".blob", flushes),
        ("write the MANIFEST", Op::Append, "MANIFEST", flushes),
        ("begin a MANIFEST", Op::Create, "MANIFEST", flushes),
        ("name a MANIFEST", Op::Rename, "CURRENT", flushes),
    ];
    for (step, op, place, cause) in steps {
        for fail in [Action::Fail as fn(ErrorKind) -> Action, Action::FailAfter] {
            let mem = MemFs::new();
            let faults = FaultFs::new(Arc::new(mem.clone()));
            let mut options = options(&faults);
            options.column_family.disable_auto_compactions = true;
            options.column_family.enable_blob_files = place == ".blob";
            options.recycle_log_file_num = usize::from(op == Op::Reuse);
            if step.ends_with("a MANIFEST") {
                options.max_manifest_file_size = 0;
            }
            let db = Db::open(&options, DIR).unwrap();
            for round in 0..3 {
                put(&db, 100 * round, 100 * (round + 1));
                flush(&db);
            }
            put(&db, 300, 400);
            // A WAL that could not be truncated at its close is truncated later.
            let ops = match op {
                Op::Close => vec![op, Op::Truncate],
                Op::Reuse => vec![op, Op::Create],
                _ => vec![op],
            };
            let rule = Rule::new(fail(ErrorKind::NoSpace)).on(ops);
            let id = faults.add(match place {
                "MANIFEST" => rule.path_contains(place),
                _ => rule.path_ends_with(place),
            });
            cause(&db);
            while !failed(&db) {
                std::thread::yield_now();
            }
            for _ in 0..4 {
                let error = db.resume().expect_err(step);
                assert_ne!(error.kind(), ErrorKind::ReadOnly, "{step}: {error}");
                assert!(failed(&db), "{step}");
                assert_eq!(
                    db.put(b"x", b"y").unwrap_err().kind(),
                    ErrorKind::ReadOnly,
                    "{step}"
                );
                assert_eq!(rows(&db), 400, "{step}");
            }
            assert!(faults.fired(id) > 1, "{step}: the fault is met again");
            let again = |fs: MemFs| {
                let again = Options {
                    fs: Arc::new(fs),
                    ..options.clone()
                };
                rows(&Db::open(&again, DIR).unwrap())
            };
            assert_eq!(again(mem.process_death_clone()), 400, "{step}");
            faults.clear_rules();
            db.resume().unwrap();
            assert!(!failed(&db), "{step}");
            put(&db, 400, 500);
            assert_eq!(again(mem.process_death_clone()), 500, "{step}");
            flush_and_settle(&db);
            put(&db, 500, 600);
            assert_eq!(rows(&db), 600, "{step}");
            assert_eq!(close_and_find_strays(&mem, &db), Vec::<String>::new(), "{step}");
            assert_eq!(manifests(&mem).len(), 1, "{step}: {:?}", manifests(&mem));
            drop(db);
            assert_eq!(rows(&Db::open(&options, DIR).unwrap()), 600, "{step}");
        }
    }
}

/// An OPTIONS file that could not be written is written by the next resume.
#[test]
fn an_options_file_that_had_no_room_is_written_later() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let options = options(&faults);
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    for op in [Op::Create, Op::Append, Op::Sync, Op::Rename] {
        faults.add(
            Rule::new(Action::Fail(ErrorKind::NoSpace))
                .on([op])
                .path_contains("OPTIONS"),
        );
        let size = format!("{}", (1 << 20) + op as u64);
        db.set_options(&family, &[("write_buffer_size", &size)])
            .unwrap_err();
        assert!(!failed(&db), "{op:?}: writes go on");
        db.resume().unwrap_err();
        faults.clear_rules();
        db.resume().unwrap();
        let names = mem.list(Path::new(DIR)).unwrap();
        assert!(
            !names.iter().any(|name| name.ends_with("dbtmp")),
            "{op:?}: {names:?}"
        );
        let (_, stored) = esker::OptionsFile::newest(&mem, Path::new(DIR)).unwrap().unwrap();
        assert!(
            stored.text().contains(&format!("write_buffer_size={size}")),
            "{op:?}"
        );
    }
}

/// Histories over a disk that is full repeatedly, and stays full during attempts to resume.
#[test]
fn a_disk_that_stays_full_loses_nothing_however_often_it_is_resumed() {
    for seed in 0..8 {
        full_disk(seed);
    }
}

fn full_disk(seed: u64) {
    let mut rng = base::env::Rng::with_seed(seed);
    let mem = MemFs::new();
    let manual_wal_flush = rng.u32(..4) == 0;
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(mem.clone()),
        listeners: vec![Arc::new(NoAutoRecovery)],
        manual_wal_flush,
        recycle_log_file_num: *rng.choice(&[0, 0, 1, 4]).unwrap(),
        max_manifest_file_size: *rng.choice(&[0, 1000, 1 << 30]).unwrap(),
        wal_compression: *rng
            .choice(&[esker::CompressionType::None, esker::CompressionType::Zstd])
            .unwrap(),
        ..Options::default()
    };
    options.column_family.write_buffer_size = rng.u64(4 << 10..64 << 10);
    options.column_family.max_write_buffer_number = rng.i32(2..5);
    options.column_family.level0_file_num_compaction_trigger = 2;
    options.column_family.level0_slowdown_writes_trigger = 4;
    options.column_family.level0_stop_writes_trigger = 6;
    options.column_family.target_file_size_base = 8 << 10;
    options.column_family.enable_blob_files = rng.u32(..3) == 0;
    let db = Db::open(&options, DIR).unwrap();
    let mut families = vec![db.default_column_family()];
    for name in 0..rng.u32(..3) {
        let family = db.create_column_family(&name.to_string(), &options.column_family);
        families.push(family.unwrap());
    }
    let mut model = std::collections::BTreeMap::new();
    let check = |db: &Db, model: &std::collections::BTreeMap<(usize, u32), Vec<u8>>, when: &str| {
        for (&(family, key), value) in model {
            let name = if family == 0 {
                "default".to_owned()
            } else {
                (family - 1).to_string()
            };
            let family = db.column_family(&name).unwrap();
            let found = db.get_cf(&family, key.to_be_bytes());
            assert_eq!(
                found.unwrap().as_deref(),
                Some(&value[..]),
                "seed {seed}, {when}: {key}"
            );
        }
    };
    for round in 0..4 {
        mem.set_budget(mem.used() + rng.u64(..60_000));
        for _ in 0..rng.u32(50..400) {
            let (family, key) = (rng.usize(..families.len()), rng.u32(..300));
            let value = vec![rng.u8(..); rng.usize(..1500)];
            let done = db.put_cf(&families[family], key.to_be_bytes(), &value);
            match done {
                Ok(()) => drop(model.insert((family, key), value)),
                Err(_) => {
                    let _ = match rng.u32(..6) {
                        0 => db.flush(),
                        1 => db.compact_range_cf(&families[0], None, None),
                        2 => db.set_options(&families[0], &[("max_write_buffer_number", "3")]),
                        _ => db.resume(),
                    };
                }
            }
            if rng.u32(..100) == 0 {
                let image = mem.process_death_clone();
                image.set_budget(u64::MAX);
                let again = Options {
                    fs: Arc::new(image),
                    ..options.clone()
                };
                let again = Db::open(&again, DIR).unwrap();
                if !manual_wal_flush {
                    check(&again, &model, "after death");
                }
            }
        }
        mem.set_budget(u64::MAX);
        // A job that found no space before may still be about to fail.
        loop {
            let resumed = db.resume();
            resumed.unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
            if db.wait_for_compact().is_ok() {
                break;
            }
        }
        assert!(!failed(&db));
        check(&db, &model, "resumed");
        db.put(b"goes on", b"").unwrap();
    }
    assert_eq!(
        close_and_find_strays(&mem, &db),
        Vec::<String>::new(),
        "seed {seed}"
    );
    assert_eq!(manifests(&mem).len(), 1, "seed {seed}: {:?}", manifests(&mem));
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    check(&db, &model, "opened again");
    db.verify_checksum().unwrap();
}

/// A process that dies after its disk was full leaves WALs that end with a complete record: no recovery mode
/// reports them as damaged.
#[test]
fn after_a_write_that_had_no_room_every_recovery_mode_opens_what_a_process_left() {
    let dir = tempfile::tempdir().unwrap();
    let disks: [(&str, Arc<dyn FileSystem>); 3] = [
        ("mem", Arc::new(MemFs::new())),
        ("mapped", Arc::new(PosixFs::new())),
        ("unmapped", Arc::new(PosixFs::without_mapped_logs())),
    ];
    for (name, disk) in disks {
        for (len, seed) in [(100, 1), (40_000, 2), (200_000, 3)] {
            let faults = FaultFs::new(disk.clone());
            let path = dir.path().join(format!("{name}-{len}"));
            disk.create_dir_all(&path).unwrap();
            let db = Db::open(&options(&faults), &path).unwrap();
            put(&db, 0, 10);
            // The wait is necessary: the first MANIFEST must be deleted before the directory is copied.
            db.wait_for_purge().unwrap();
            let rule = Rule::new(Action::FailAfter(ErrorKind::NoSpace)).with_seed(seed);
            faults.add(rule.on([Op::Append]).path_ends_with(".log"));
            let error = db.put(b"refused", vec![b'r'; len]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSpace);
            // The copy has the files as another process would find them now.
            let left = MemFs::new();
            for file in disk.list(&path).unwrap() {
                let bytes = disk.read_file(&path.join(&file)).unwrap();
                left.create_dir_all(Path::new(DIR)).unwrap();
                left.write_file(&Path::new(DIR).join(&file), &bytes).unwrap();
            }
            for mode in [
                RecoveryMode::TolerateCorruptedTailRecords,
                RecoveryMode::AbsoluteConsistency,
                RecoveryMode::PointInTime,
                RecoveryMode::SkipAnyCorruptedRecords,
            ] {
                let mut options = options(&faults);
                options.fs = Arc::new(left.process_death_clone());
                options.wal_recovery_mode = mode;
                let db = Db::open(&options, DIR)
                    .unwrap_or_else(|error| panic!("{name}, {len}, {mode:?}: {error}"));
                assert_eq!(rows(&db), 10);
            }
            // The open database, too, continues with all acknowledged rows.
            faults.clear_rules();
            db.resume().unwrap();
            put(&db, 10, 20);
            db.close().unwrap();
            let db = Db::open(&options(&faults), &path).unwrap();
            assert_eq!(rows(&db), 20);
        }
    }
}
