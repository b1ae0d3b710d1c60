//! The option `recycle_log_file_num`: obsolete WALs are overwritten, and no row of their former contents
//! reappears.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use base::env::Rng;
use base::filename::{self, FileKind};
use dbtest::by_hand::flush;
use dbtest::crash::dump;
use dbtest::events::Recorder;
use esker::{ColumnFamilyOptions, CompressionType, Db, Event, Options, RecoveryMode, WriteOptions};
use tempfile::TempDir;
use testkit::{TestRng, oracle};
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, PosixFs, Rule, UnsyncedPolicy};

use crate::rocksdb::interop::{ldb, run};

const DIR: &str = "/db";

fn options(fs: Arc<dyn FileSystem>, recycle_log_file_num: usize) -> Options {
    Options {
        create_if_missing: true,
        recycle_log_file_num,
        fs,
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// Sets the same few keys to `round`, and flushes them.
fn write_and_flush(db: &Db, round: u32) {
    for key in 0..200 {
        db.put(format!("key{key}").as_bytes(), format!("{round}").as_bytes())
            .unwrap();
    }
    flush(db);
}

fn wals(fs: &dyn FileSystem) -> usize {
    let names = fs.list(Path::new(DIR)).unwrap();
    let is_wal = |name: &&String| matches!(filename::parse(name), Some(FileKind::Wal(_)));
    names.iter().filter(is_wal).count()
}

fn reused(log: &LogFs) -> usize {
    let operations = log.take();
    let reuses = operations.lines().filter(|line| line.starts_with("reuse"));
    reuses.count()
}

#[test]
fn as_many_wals_are_kept_and_written_over() {
    for recycled in [0, 1, 3] {
        let mem = MemFs::new();
        let log = LogFs::new(Arc::new(mem.clone()), DIR);
        let db = Db::open(&options(Arc::new(log.clone()), recycled), DIR).unwrap();
        // A family without rows keeps no WAL.
        db.create_column_family("idle", &ColumnFamilyOptions::default())
            .unwrap();
        for round in 0..8 {
            write_and_flush(&db, round);
            if recycled > 0 {
                assert!(wals(&mem) <= 1 + recycled, "{} WALs", wals(&mem));
            }
        }
        assert_eq!(reused(&log) > 3, recycled > 0);
        assert_eq!(db.get(b"key7").unwrap().unwrap(), b"7");
        db.put(b"key7", b"last").unwrap();
        db.close().unwrap();
        assert_eq!(wals(&mem), 1, "those that were kept go with the close");
        let db = Db::open(&options(Arc::new(mem), recycled), DIR).unwrap();
        assert_eq!(db.get(b"key7").unwrap().unwrap(), b"last");
        assert_eq!(db.get(b"key8").unwrap().unwrap(), b"7");
    }
}

/// Recovery modes that could not distinguish the end of a recycled WAL from damage do not recycle, as in
/// RocksDB.
#[test]
fn two_recovery_modes_go_without() {
    for (mode, recycles) in [
        (RecoveryMode::TolerateCorruptedTailRecords, false),
        (RecoveryMode::AbsoluteConsistency, false),
        (RecoveryMode::PointInTime, true),
        (RecoveryMode::SkipAnyCorruptedRecords, true),
    ] {
        let log = LogFs::new(Arc::new(MemFs::new()), DIR);
        let options = Options {
            wal_recovery_mode: mode,
            ..options(Arc::new(log.clone()), 2)
        };
        let db = Db::open(&options, DIR).unwrap();
        (0..5).for_each(|round| write_and_flush(&db, round));
        assert_eq!(reused(&log) > 0, recycles, "{mode:?}");
    }
}

/// While file deletions are disabled, a WAL may be being copied.
#[test]
fn nothing_is_written_over_while_deletions_are_disabled() {
    let log = LogFs::new(Arc::new(MemFs::new()), DIR);
    let db = Db::open(&options(Arc::new(log.clone()), 2), DIR).unwrap();
    write_and_flush(&db, 0);
    // A WAL that is kept for recycling is not in the list of live files.
    write_and_flush(&db, 1);
    log.take();
    db.disable_file_deletions();
    for round in 2..6 {
        write_and_flush(&db, round);
    }
    assert!(reused(&log) <= 2);
    write_and_flush(&db, 6);
    assert_eq!(reused(&log), 0);
    db.enable_file_deletions().unwrap();
    (7..10).for_each(|round| write_and_flush(&db, round));
    assert!(reused(&log) > 0);
}

/// Checks that every key has a value of one round or the next: rounds overwrite each other's keys in order.
fn check_prefix(db: &Db, context: &str) -> Option<u32> {
    let rows = dump(db).unwrap();
    let rounds: Vec<u32> = (0..200)
        .map_while(|key| rows["default"].get(format!("key{key}").as_bytes()))
        .map(|value| String::from_utf8_lossy(value).parse().unwrap())
        .collect();
    let first = *rounds.first()?;
    let later = rounds.iter().position(|round| *round != first);
    let later = later.unwrap_or(rounds.len());
    assert!(
        rounds[later..].iter().all(|round| round + 1 == first),
        "{context}: {rounds:?}"
    );
    assert!(rounds.len() == 200 || first == 0, "{context}: {rounds:?}");
    Some(first)
}

/// Power is lost repeatedly, with any part of the unsynced data; old bytes of WALs are found at every
/// position.
#[test]
fn no_old_row_comes_back_after_a_loss_of_power() {
    let mut rng = testkit::rng();
    for _ in 0..12 {
        let mem = MemFs::new();
        let compression = [CompressionType::None, CompressionType::Zstd][rng.usize(..2)];
        let with = |fs: &MemFs, mode: RecoveryMode, avoid: bool| Options {
            wal_compression: compression,
            wal_recovery_mode: mode,
            avoid_flush_during_recovery: avoid,
            ..options(Arc::new(fs.clone()), 2)
        };
        let db = Db::open(&with(&mem, RecoveryMode::PointInTime, false), DIR).unwrap();
        if rng.bool() {
            db.create_column_family("idle", &ColumnFamilyOptions::default())
                .unwrap();
        }
        let mut flushed = None;
        for round in 0..12u32 {
            for key in 0..200 {
                let synced = rng.u8(..50) == 0;
                let write = WriteOptions {
                    sync: synced,
                    ..WriteOptions::default()
                };
                db.put_cf_opt(
                    &db.default_column_family(),
                    format!("key{key}").as_bytes(),
                    format!("{round}").as_bytes(),
                    &write,
                )
                .unwrap();
                if rng.u8(..60) > 0 {
                    continue;
                }
                let policy = [UnsyncedPolicy::Random, UnsyncedPolicy::RandomPages][rng.usize(..2)];
                let left = match rng.u8(..4) {
                    0 => mem.process_death_clone(),
                    _ => mem.crash_clone(&mut Rng::with_seed(rng.u64(..)), policy),
                };
                let again = Db::open(&with(&left, RecoveryMode::PointInTime, rng.bool()), DIR).unwrap();
                let found = check_prefix(&again, "PointInTime");
                assert!(found >= flushed, "{found:?} after {flushed:?} was flushed");
                if synced {
                    assert_eq!(
                        again.get(format!("key{key}").as_bytes()).unwrap().unwrap(),
                        format!("{round}").as_bytes()
                    );
                }
                // The recovered database recycles WALs too.
                (100..104).for_each(|round| write_and_flush(&again, round));
                assert_eq!(check_prefix(&again, "later"), Some(103));
            }
            flush(&db);
            flushed = Some(round);
        }
    }
}

/// A copy of the directory of an open database: the state after a death of its process.
fn copy_of(dir: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "LOCK" {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

/// On a disk, the data of a WAL is followed by zeros up to the next old block, so that its end is not damage.
#[test]
fn a_killed_process_leaves_a_recycled_wal_that_ends_cleanly() {
    let mut rng = testkit::rng();
    for mapped in [true, false] {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let fs: Arc<dyn FileSystem> = match mapped {
            true => Arc::new(PosixFs::new()),
            false => Arc::new(PosixFs::without_mapped_logs()),
        };
        let db = Db::open(&options(fs.clone(), 1), dir.path().join("db")).unwrap();
        for round in 0..6 {
            for key in 0..rng.usize(200..3000) {
                let len = [100, 3000, 100_000][rng.usize(..3)];
                let value = vec![b'0' + round; rng.usize(..len)];
                db.put(format!("key{}", key % 100).as_bytes(), &value).unwrap();
            }
            let copy = copy_of(&dir.path().join("db"));
            let events = Recorder::events();
            let again = Options {
                listeners: vec![events.clone()],
                ..options(fs.clone(), 1)
            };
            let again = Db::open(&again, copy.path()).unwrap();
            assert_eq!(dump(&again).unwrap(), dump(&db).unwrap());
            let dropped = |event: &Event| matches!(event, Event::WalDropped { .. });
            assert!(!events.all().iter().any(dropped), "{:?}", events.all());
            flush(&db);
        }
    }
}

/// An open for reading whose WAL is overwritten meanwhile sees all rows that existed when it began.
#[test]
fn a_wal_written_over_while_it_is_read_is_noticed() {
    let mem = MemFs::new();
    let db = Db::open(&options(Arc::new(mem.clone()), 1), DIR).unwrap();
    // The MANIFEST names no WAL for a family without rows.
    db.create_column_family("idle", &ColumnFamilyOptions::default())
        .unwrap();
    (0..3).for_each(|round| write_and_flush(&db, round));
    for key in 0..200 {
        db.put(format!("key{key}").as_bytes(), b"3").unwrap();
    }
    let faults = FaultFs::new(Arc::new(mem));
    let written = Arc::new(AtomicBool::new(false));
    let round = Arc::new(AtomicU32::new(4));
    let hook = {
        let (db, written, round) = (db.clone(), written.clone(), round.clone());
        move |_: Op, _: &Path| {
            if !written.swap(true, Ordering::SeqCst) {
                for _ in 0..3 {
                    write_and_flush(&db, round.fetch_add(1, Ordering::SeqCst));
                }
            }
        }
    };
    faults.add(
        Rule::new(Action::Call(Arc::new(hook)))
            .on([Op::Read])
            .path_ends_with(".log"),
    );
    let reader = Db::open_read_only(&options(Arc::new(faults), 1), DIR).unwrap();
    assert!(written.load(Ordering::SeqCst));
    let found = check_prefix(&reader, "read only").unwrap();
    assert!(found >= 3, "{found}");
}

fn random_rows(rng: &mut TestRng, db: &Db, round: u32) {
    for _ in 0..rng.usize(300..600) {
        let len = [50, 500, 40_000][rng.usize(..3)];
        let value = format!("{round}-{}", "v".repeat(rng.usize(..len)));
        db.put(format!("key{:04}", rng.u32(..500)).as_bytes(), value.as_bytes())
            .unwrap();
    }
}

fn text_rows(db: &Db) -> String {
    let row = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        format!(
            "{} : {}\n",
            String::from_utf8_lossy(key),
            String::from_utf8_lossy(value)
        )
    };
    dump(db).unwrap()["default"].iter().map(row).collect()
}

#[test]
fn rocksdb_reads_our_recycled_wals() {
    if oracle::ldb().is_none() {
        return;
    }
    let mut rng = testkit::rng();
    for compression in [CompressionType::None, CompressionType::Zstd] {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().join("db");
        let log = LogFs::new(Arc::new(PosixFs::new()), &path);
        let options = Options {
            wal_compression: compression,
            ..options(Arc::new(log.clone()), 1)
        };
        let db = Db::open(&options, &path).unwrap();
        for round in 0..4 {
            random_rows(&mut rng, &db, round);
            flush(&db);
        }
        // Fewer rows are written than before, so that old rows follow them in the recycled WAL.
        db.put(b"key0001", b"last").unwrap();
        db.delete(b"key0002").unwrap();
        assert!(reused(&log) > 0);
        let copy = copy_of(&path);
        let expected = text_rows(&db);
        assert_eq!(ldb(copy.path(), &["scan"]), expected);
        if let Some(mut python) = oracle::rocksdict() {
            let copy = copy_of(&path);
            let script = "import sys, rocksdict\n\
                          db = rocksdict.Rdict(sys.argv[1], rocksdict.Options(raw_mode=True))\n\
                          sys.stdout.writelines(f'{k.decode()} : {v.decode()}\\n' for k, v in db.items())";
            assert_eq!(run(python.arg("-c").arg(script).arg(copy.path())), expected);
        }
    }
}

/// RocksDB recycles WALs if the recovery mode is to skip corrupt records.
#[test]
fn we_read_rocksdbs_recycled_wals() {
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let script = "import sys, os, shutil, rocksdict\n\
        o = rocksdict.Options(raw_mode=True)\n\
        o.create_if_missing(True)\n\
        o.set_recycle_log_file_num(2)\n\
        o.set_wal_recovery_mode(rocksdict.DBRecoveryMode.skip_any_corrupted_record())\n\
        o.set_disable_auto_compactions(True)\n\
        db = rocksdict.Rdict(sys.argv[1], o)\n\
        for round in range(5):\n\
        \x20   for key in range(300):\n\
        \x20       db[b'key%03d' % key] = b'%d-' % round + b'v' * (key * 7 % 900)\n\
        \x20   if round < 4:\n\
        \x20       db.flush()\n\
        \x20   elif True:\n\
        \x20       db[b'key000'] = b'last'\n\
        sys.stdout.writelines(f'{k.decode()} : {v.decode()}\\n' for k, v in db.items())\n\
        sys.stdout.flush()\n\
        os._exit(0)";
    let path = dir.path().join("db");
    let expected = run(python.arg("-c").arg(script).arg(&path));
    let recycled = std::fs::read_to_string(path.join("LOG")).unwrap();
    assert!(
        recycled.contains("from recycle list"),
        "RocksDB has recycled none"
    );
    for mode in [
        RecoveryMode::PointInTime,
        RecoveryMode::SkipAnyCorruptedRecords,
        RecoveryMode::TolerateCorruptedTailRecords,
    ] {
        let copy = copy_of(&path);
        let options = Options {
            wal_recovery_mode: mode,
            ..options(Arc::new(PosixFs::new()), 1)
        };
        let db = Db::open(&options, copy.path()).unwrap();
        assert_eq!(text_rows(&db), expected, "{mode:?}");
    }
}

/// A WAL that lost its new name in a loss of power, but kept new bytes, is not replayed: the MANIFEST has
/// recorded that it is not needed.
#[test]
fn a_wal_is_written_over_only_when_no_recovery_needs_it() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let images: Arc<Mutex<Vec<MemFs>>> = Arc::default();
    let hook = {
        let (mem, images) = (mem.clone(), images.clone());
        move |_: Op, _: &Path| images.lock().unwrap().push(mem.process_death_clone())
    };
    faults.add(Rule::new(Action::Call(Arc::new(hook))).on([Op::Reuse]));
    let db = Db::open(&options(Arc::new(faults), 2), DIR).unwrap();
    db.create_column_family("idle", &ColumnFamilyOptions::default())
        .unwrap();
    (0..5).for_each(|round| write_and_flush(&db, round));
    let images = std::mem::take(&mut *images.lock().unwrap());
    assert!(images.len() > 2);
    for image in images {
        let log = LogFs::new(Arc::new(image), DIR).with_queries();
        let before = wals(&log);
        let events = Recorder::events();
        let again = Options {
            listeners: vec![events.clone()],
            ..options(Arc::new(log.clone()), 2)
        };
        Db::open(&again, DIR).unwrap();
        let replayed = events.all().into_iter().find_map(|event| match event {
            Event::RecoveryBegun { wals, .. } => Some(wals.len()),
            _ => None,
        });
        assert!(
            replayed.unwrap() < before,
            "a WAL about to be written over is replayed"
        );
    }
}
