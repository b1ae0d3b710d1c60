//! `track_and_verify_wals_in_manifest`: the MANIFEST names closed and synced WALs, and an open compares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename;
use base::filename::FileKind;
use esker::{CheckpointOptions, Db, ErrorKind, Options, RecoveryMode, WriteOptions};
use manifest::{ManifestState, Replay, builtin_comparator};
use testkit::oracle;
use vfs::{FileSystem, MemFs, OpenOptions, PosixFs};

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    let mut options = Options {
        create_if_missing: true,
        create_missing_column_families: true,
        fs: Arc::new(fs.clone()),
        track_and_verify_wals_in_manifest: true,
        ..Options::default()
    };
    let other = options.column_family.clone();
    options.column_families.insert("other".to_owned(), other);
    options
}

/// The state of the MANIFEST that CURRENT names in `dir`.
fn recorded(fs: &MemFs, dir: &str) -> ManifestState {
    let dir = Path::new(dir);
    let current = String::from_utf8(fs.read_file(&filename::current(dir)).unwrap()).unwrap();
    let file = fs.open_random(&dir.join(current.trim_end()), &OpenOptions::default());
    let mut reader = wal::Reader::for_manifest(file.unwrap());
    let mut replay = Replay::new();
    while let Some(record) = reader.read_record().unwrap() {
        replay.apply_record(record).unwrap();
    }
    replay.finish(&mut builtin_comparator).unwrap()
}

fn wal_path(number: u64) -> PathBuf {
    filename::wal(Path::new(DIR), number)
}

fn wals(fs: &MemFs) -> Vec<u64> {
    let names = fs.list(Path::new(DIR)).unwrap().into_iter();
    let wal = |name: String| match filename::parse(&name) {
        Some(FileKind::Wal(number)) => Some(number),
        _ => None,
    };
    names.filter_map(wal).collect()
}

/// The sizes of the WALs before the newest, as recorded for closed WALs.
fn closed(fs: &MemFs) -> BTreeMap<u64, Option<u64>> {
    let all = wals(fs);
    let closed = all[..all.len() - 1].iter();
    closed
        .map(|&number| (number, Some(fs.size(&wal_path(number)).unwrap())))
        .collect()
}

/// A row of "other" in the first WAL, which no table has, and the WAL after it.
fn with_closed_wal(fs: &MemFs) -> Db {
    let db = Db::open(&options(fs), DIR).unwrap();
    let other = db.column_family("other").unwrap();
    db.put_cf(&other, b"kept", b"by its WAL").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"2").unwrap();
    db
}

#[test]
fn closed_wals_are_recorded_by_a_sync_until_they_are_not_needed() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.max_manifest_file_size = 1;
    let db = with_closed_wal(&fs);
    db.sync_wal().unwrap();
    assert_eq!(wals(&fs).len(), 2);
    assert_eq!(recorded(&fs, DIR).wals, closed(&fs));
    // A write with `sync` finds nothing new to record.
    let synced = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&db.default_column_family(), b"c", b"3", &synced)
        .unwrap();
    assert_eq!(recorded(&fs, DIR).wals.len(), 1);
    // A checkpoint has the WALs that its MANIFEST names.
    let copy = Options {
        create_if_missing: false,
        ..self::options(&fs)
    };
    db.create_checkpoint("/copy", &CheckpointOptions::default())
        .unwrap();
    assert_eq!(
        recorded(&fs, "/copy").wals.keys().next(),
        recorded(&fs, DIR).wals.keys().next()
    );
    let copied = Db::open(&copy, "/copy").unwrap();
    assert_eq!(copied.get(b"c").unwrap().unwrap(), b"3");
    copied.close().unwrap();
    let other = db.column_family("other").unwrap();
    db.flush_cf(&[other]).unwrap();
    db.wait_for_purge().unwrap();
    let state = recorded(&fs, DIR);
    let named: Vec<u64> = state.wals.keys().copied().collect();
    assert!(
        named.iter().all(|number| *number >= state.oldest_needed_wal()),
        "{named:?}"
    );
    assert!(named.iter().all(|number| wals(&fs).contains(number)), "{named:?}");
    db.close().unwrap();
    // Each edit begins another MANIFEST, which has the records of the WALs too.
    let db = Db::open(&options, DIR).unwrap();
    let other = db.column_family("other").unwrap();
    db.put_cf(&other, b"kept", b"again").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.sync_wal().unwrap();
    db.wait_for_purge().unwrap();
    assert_eq!(recorded(&fs, DIR).wals, closed(&fs));
    db.put(b"a", b"2").unwrap();
    db.flush().unwrap();
    assert_eq!(recorded(&fs, DIR).wals.len(), 2, "the first WAL is needed still");
    db.close().unwrap();
}

#[test]
fn a_recorded_wal_that_is_missing_or_short_is_corruption() {
    let whole = MemFs::new();
    let db = with_closed_wal(&whole);
    db.sync_wal().unwrap();
    let dead = whole.process_death_clone();
    drop(db);
    let number = wals(&dead)[0];
    let size = dead.size(&wal_path(number)).unwrap();
    let open = |fs: &MemFs| Db::open(&options(fs), DIR);

    let fs = dead.process_death_clone();
    fs.remove(&wal_path(number)).unwrap();
    let error = open(&fs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(
        error
            .to_string()
            .contains(&format!("Missing WAL with log number: {number}.")),
        "{error}"
    );

    let fs = dead.process_death_clone();
    fs.truncate(&wal_path(number), size - 1).unwrap();
    let error = open(&fs).unwrap_err().to_string();
    let expected = format!(
        "Size mismatch: WAL (log number: {number}) in MANIFEST is {size} bytes , but actually is {} bytes on disk.",
        size - 1
    );
    assert!(error.contains(&expected), "{error}");
    // Without the option the WAL counts as torn, and the next MANIFEST names no WAL.
    let without = Options {
        track_and_verify_wals_in_manifest: false,
        wal_recovery_mode: RecoveryMode::SkipAnyCorruptedRecords,
        ..options(&fs)
    };
    Db::open(&without, DIR).unwrap().close().unwrap();
    assert!(recorded(&fs, DIR).wals.is_empty());

    let db = open(&dead).unwrap();
    let other = db.column_family("other").unwrap();
    assert_eq!(db.get_cf(&other, b"kept").unwrap().unwrap(), b"by its WAL");
    assert_eq!(db.get(b"b").unwrap().unwrap(), b"2");
}

#[test]
fn wals_that_recovery_keeps_are_recorded_again() {
    let fs = MemFs::new();
    let db = with_closed_wal(&fs);
    db.sync_wal().unwrap();
    let fs = fs.process_death_clone();
    drop(db);
    let before = wals(&fs);
    let keeps = Options {
        avoid_flush_during_recovery: true,
        ..options(&fs)
    };
    let db = Db::open(&keeps, DIR).unwrap();
    assert_eq!(
        recorded(&fs, DIR).wals.keys().copied().collect::<Vec<_>>(),
        before
    );
    assert_eq!(recorded(&fs, DIR).wals, closed(&fs));
    let all: Vec<_> = ["default", "other"]
        .iter()
        .map(|name| db.column_family(name).unwrap())
        .collect();
    db.put_cf(&all[1], b"later", b"row").unwrap();
    db.flush_cf(&all).unwrap();
    assert!(recorded(&fs, DIR).wals.is_empty());
    // The drop of a family ends the need for its WALs as well.
    db.put_cf(&all[1], b"kept", b"once more").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.sync_wal().unwrap();
    assert_eq!(recorded(&fs, DIR).wals.len(), 1);
    db.drop_column_family(&all[1]).unwrap();
    assert!(recorded(&fs, DIR).wals.is_empty());
    db.close().unwrap();
}

#[test]
fn rocksdb_compares_what_we_record() {
    if oracle::ldb().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        fs: Arc::new(PosixFs::new()),
        ..options(&MemFs::new())
    };
    let db = Db::open(&options, dir.path()).unwrap();
    let other = db.column_family("other").unwrap();
    db.put_cf(&other, b"kept", b"by its WAL").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"2").unwrap();
    db.sync_wal().unwrap();
    // ldb refuses a directory with two MANIFESTs.
    db.wait_for_purge().unwrap();
    let names = options.fs.list(dir.path()).unwrap();
    let number = names
        .iter()
        .find_map(|name| name.strip_suffix(".log")?.parse::<u64>().ok());
    let oldest = filename::wal(dir.path(), number.unwrap());
    let size = options.fs.size(&oldest).unwrap();
    let ldb = |args: &[&str]| {
        let db = format!("--db={}", dir.path().display());
        let told = oracle::ldb().unwrap().arg(db).args(args).output().unwrap();
        String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr)
    };
    let dump = ldb(&["manifest_dump", "--verbose"]);
    let expected = format!("log_number: {} synced_size_in_bytes: {size}", number.unwrap());
    assert!(dump.contains(&expected), "{expected} in {dump}");
    let read = ["--try_load_options", "--column_family=other", "get", "kept"];
    assert!(ldb(&read).contains("by its WAL"));
    options.fs.truncate(&oldest, size - 1).unwrap();
    let refused = ldb(&read);
    assert!(refused.contains("Size mismatch: WAL"), "{refused}");
    drop(db);
}
