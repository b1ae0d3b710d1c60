//! Databases without MANIFEST and CURRENT are repaired with all their rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::ErrorKind;
use esker::{Db, Options, RepairReport, WriteBatch};
use tempfile::TempDir;
use vfs::{FaultFs, FileSystem, MemFs, UnsyncedPolicy};

use crate::fixtures::{assert_same, copy, expected, names, read_options, rows};

fn is_manifest(name: &str) -> bool {
    name == "CURRENT" || name.starts_with("MANIFEST-")
}

/// Deletes the MANIFEST and CURRENT.
fn forget(dir: &Path) {
    for name in list(dir).into_iter().filter(|name| is_manifest(name)) {
        fs::remove_file(dir.join(name)).unwrap();
    }
}

fn list(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn repair(what: &str, options: &Options, dir: &Path) -> RepairReport {
    Db::repair(options, dir).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// The rows of a database in the file system of `options`, which is opened for writing and closed.
fn rows_of(name: &str, options: &Options, dir: &Path) -> String {
    let db = Db::open(options, dir).unwrap_or_else(|error| panic!("{name}: {error}"));
    let rows = rows(&db, &read_options(name), false);
    db.close().unwrap();
    rows
}

#[test]
fn every_row_comes_back_without_a_manifest() {
    for name in names() {
        let dir = copy(&name);
        forget(dir.path());
        let before = list(dir.path());
        let options = Options::default();
        for round in 1..=2 {
            let what = format!("{name}, repair {round}");
            let report = repair(&what, &options, dir.path());
            assert!(report.lost.is_empty(), "{what}: {report:?}");
            let db =
                Db::open_read_only(&options, dir.path()).unwrap_or_else(|error| panic!("{what}: {error}"));
            let read = read_options(&name);
            assert_same(&what, &rows(&db, &read, false), &expected(&name));
            assert_same(&what, &rows(&db, &read, true), &expected(&name));
            // The repair has lost no file.
            let (after, lost) = (list(dir.path()), list(&dir.path().join("lost")));
            for file in &before {
                assert!(after.contains(file) || lost.contains(file), "{what}: {file}");
            }
        }
        let db = Db::open(&options, dir.path()).unwrap();
        for family in db.column_families() {
            let compact = esker::CompactRangeOptions {
                bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
                ..Default::default()
            };
            db.compact_range_cf_opt(&family, None, None, &compact).unwrap();
        }
        let read = read_options(&name);
        assert_same(
            &format!("{name} compacted"),
            &rows(&db, &read, false),
            &expected(&name),
        );
    }
}

#[test]
fn a_damaged_table_lies_in_lost_and_only_its_rows_are_gone() {
    let dir = copy("fv5_zstd");
    forget(dir.path());
    let path = dir.path().join("000042.sst");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let options = Options::default();
    let report = repair("damaged", &options, dir.path());
    let lost: Vec<&PathBuf> = report.lost.iter().map(|lost| &lost.path).collect();
    assert_eq!(lost, [&dir.path().join("lost/000042.sst")]);
    assert!(report.lost[0].error.is_corruption(), "{:?}", report.lost);
    assert_eq!(fs::read(lost[0]).unwrap(), bytes);
    // Deletions in the table are lost too, so older rows of its keys may reappear; other keys do not change.
    let had = keys_of(&crate::fixtures::root().join("fv5_zstd/000042.sst"));
    let others = |text: &str| -> BTreeSet<String> {
        text.lines()
            .filter(|row| !had.contains(row.split('\t').nth(1).unwrap()))
            .map(str::to_owned)
            .collect()
    };
    let got = others(&rows_of("fv5_zstd", &options, dir.path()));
    assert!(!got.is_empty() && !had.is_empty());
    assert_eq!(got, others(&expected("fv5_zstd")));
    // After the repair the database is complete: a second repair finds nothing.
    assert!(repair("again", &options, dir.path()).lost.is_empty());
    assert_eq!(others(&rows_of("fv5_zstd", &options, dir.path())), got);
}

/// The user keys in a table, in hexadecimal.
fn keys_of(path: &Path) -> BTreeSet<String> {
    let file = vfs::PosixFs::new()
        .open_random(path, &Default::default())
        .unwrap();
    let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
    let table = sst::Table::open(file, sst::TableReadOptions::new(cmp)).unwrap();
    let mut cursor = table.cursor(Default::default());
    let mut keys = BTreeSet::new();
    cursor.seek_to_first();
    while cursor.valid() {
        keys.insert(crate::fixtures::hex(base::internal_key::user_key(cursor.key())));
        cursor.next();
    }
    keys
}

#[test]
fn damage_in_a_wal_costs_the_rows_it_hits() {
    let dir = TempDir::new().unwrap();
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    for i in 0..200 {
        db.put(format!("key{i:03}").as_bytes(), [b'v'; 1000]).unwrap();
    }
    drop(db);
    let wal = list(dir.path())
        .into_iter()
        .find(|name| name.ends_with(".log"))
        .unwrap();
    let path = dir.path().join(&wal);
    let mut bytes = fs::read(&path).unwrap();
    bytes[40_000] ^= 1;
    fs::write(&path, bytes).unwrap();
    forget(dir.path());
    let report = repair("wal", &options, dir.path());
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert_eq!(report.lost[0].path, dir.path().join("lost").join(&wal));
    assert!(report.lost[0].path.exists());
    let db = Db::open(&options, dir.path()).unwrap();
    let found = |i: u64| db.get(format!("key{i:03}").as_bytes()).unwrap().is_some();
    // Rows after the damaged block are recovered.
    assert!(found(0) && found(199) && !found(39));
    assert!((0..200).filter(|&i| found(i)).count() > 150);
}

/// A file system with fixture `name`, without its MANIFEST, in `/db`.
fn in_memory(name: &str) -> MemFs {
    let (fs, dir) = (MemFs::new(), copy(name));
    let to = Path::new("/db");
    fs.create_dir_all(to).unwrap();
    for file in list(dir.path()).into_iter().filter(|name| !is_manifest(name)) {
        fs.write_file(&to.join(&file), &std::fs::read(dir.path().join(&file)).unwrap())
            .unwrap();
    }
    fs.sync_dir(to).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    fs
}

#[test]
fn a_crash_at_any_change_and_another_repair_give_the_same_rows() {
    let dir = Path::new("/db");
    let mut rng = testkit::rng::rng();
    // Merge operands of a WAL must not be applied twice.
    for name in ["merge_stringappend", "cfs_fv7_lz4"] {
        let expected = expected(name);
        let mut crashed = true;
        let mut at = 0;
        while crashed {
            let mem = in_memory(name);
            let fault = Arc::new(FaultFs::new(Arc::new(mem.clone())));
            let options = |fs: Arc<dyn FileSystem>| Options {
                fs,
                ..Options::default()
            };
            fault.crash_at(at);
            let result = Db::repair(&options(fault.clone()), dir);
            crashed = fault.is_crashed();
            assert_eq!(result.is_err(), crashed, "{name} at {at}");
            for policy in [None, Some(UnsyncedPolicy::Lose), Some(UnsyncedPolicy::Random)] {
                let after: MemFs = match policy {
                    None => mem.process_death_clone(),
                    Some(policy) => mem.crash_clone(&mut rng, policy),
                };
                let options = options(Arc::new(after));
                let what = format!("{name}, crash at change {at}, {policy:?}");
                repair(&what, &options, dir);
                assert_same(&what, &rows_of(name, &options, dir), &expected);
            }
            at += 1;
        }
        assert!(at > 20, "{name}: {at} changes");
    }
}

#[test]
fn families_no_table_tells_of() {
    for with_options in [true, false] {
        let dir = TempDir::new().unwrap();
        let options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let db = Db::open(&options, dir.path()).unwrap();
        let of = |name: &str| db.create_column_family(name, &Default::default()).unwrap();
        let (flushed, logged) = (of("flushed"), of("logged"));
        let put = |family, value: &[u8]| {
            let mut batch = WriteBatch::new();
            batch.put_cf(family, b"key", value);
            db.write(batch).unwrap();
        };
        put(&flushed, b"1");
        db.flush_cf(std::slice::from_ref(&flushed)).unwrap();
        put(&flushed, b"2");
        put(&logged, b"3");
        db.put(b"key", b"4").unwrap();
        db.close().unwrap();
        drop(db);
        forget(dir.path());
        if !with_options {
            for name in list(dir.path()).iter().filter(|name| name.starts_with("OPTIONS")) {
                fs::remove_file(dir.path().join(name)).unwrap();
            }
        }
        let report = repair("families", &options, dir.path());
        let name = if with_options { "logged" } else { "recovered_2" };
        // With and without OPTIONS, the names of families with rows in WALs are uncertain.
        assert_eq!(report.warnings.len(), 1, "{report:?}");
        let db = Db::open(&options, dir.path()).unwrap();
        for (family, value) in [("flushed", "2"), (name, "3"), ("default", "4")] {
            let handle = db.column_family(family).unwrap();
            let got = db.get_cf(&handle, b"key").unwrap();
            assert_eq!(got.as_deref(), Some(value.as_bytes()), "{family}");
        }
    }
}

/// The names and ids of families, and the value of "key" in each.
fn families(db: &Db) -> Vec<(String, u32, Option<Vec<u8>>)> {
    let of = |family: esker::ColumnFamily| {
        let row = db.get_cf(&family, b"key").unwrap();
        (family.name().to_owned(), family.id(), row.map(|row| row.to_vec()))
    };
    db.column_families().into_iter().map(of).collect()
}

#[test]
fn families_are_those_of_a_manifest_that_can_be_read() {
    // The test damages either CURRENT or the end of the MANIFEST.
    for (current, cut) in [(true, 0), (false, 0), (true, 1)] {
        let dir = TempDir::new().unwrap();
        let options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let db = Db::open(&options, dir.path()).unwrap();
        let of = |name: &str| db.create_column_family(name, &Default::default()).unwrap();
        let put = |family: &esker::ColumnFamily, value: &[u8]| {
            db.put_cf(family, b"key", value).unwrap();
        };
        // One family is dropped with rows in the WAL, and another family gets its name; a third family never
        // has a row.
        let old = of("old");
        put(&old, b"dropped");
        db.drop_column_family(&old).unwrap();
        let (again, named, empty) = (of("old"), of("named"), of("empty"));
        put(&named, b"1");
        let last = of("last");
        put(&last, b"dropped too");
        db.drop_column_family(&last).unwrap();
        // The edit of this flush may be cut off.
        db.flush().unwrap();
        db.put(b"key", b"0").unwrap();
        db.flush().unwrap();
        let mut expected = families(&db);
        expected.sort();
        let highest = last.id();
        assert_eq!(again.id(), old.id() + 1);
        drop((old, again, named, empty, last));
        db.close().unwrap();
        drop(db);
        let manifest = list(dir.path())
            .into_iter()
            .find(|name| name.starts_with("MANIFEST-"));
        let manifest = dir.path().join(manifest.unwrap());
        let bytes = fs::read(&manifest).unwrap();
        fs::write(&manifest, &bytes[..bytes.len() - cut]).unwrap();
        if !current {
            fs::remove_file(dir.path().join("CURRENT")).unwrap();
        }
        for round in 1..=2 {
            let what = format!("CURRENT {current}, {cut} bytes cut, repair {round}");
            let report = repair(&what, &options, dir.path());
            assert!(report.lost.is_empty(), "{what}: {report:?}");
            let db = Db::open(&options, dir.path()).unwrap();
            let mut found = families(&db);
            found.sort();
            assert_eq!(found, expected, "{what}");
            db.close().unwrap();
        }
        // No id is reused, including that of the family dropped last.
        let db = Db::open(&options, dir.path()).unwrap();
        let next = db.create_column_family("next", &Default::default()).unwrap();
        assert!(next.id() > highest, "{} after {highest}", next.id());
    }
}

#[test]
fn a_table_of_a_dropped_family_lies_in_lost_and_one_from_elsewhere_stays_in_its_family() {
    let place = TempDir::new().unwrap();
    let (dir, other) = (place.path().join("db"), place.path().join("other"));
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    // The exported family has another id in its source database than in the database that imports it.
    let source = Db::open(&options, &other).unwrap();
    let before = source
        .create_column_family("before", &Default::default())
        .unwrap();
    let exported = source
        .create_column_family("exported", &Default::default())
        .unwrap();
    source.put_cf(&exported, b"key", b"imported").unwrap();
    let export = place.path().join("export");
    let files = source.export_column_family(&exported, &export).unwrap();
    drop((before, exported));
    source.close().unwrap();

    let db = Db::open(&options, &dir).unwrap();
    db.create_column_family_with_import("imported", &Default::default(), &[&files], &Default::default())
        .unwrap();
    let gone = db.create_column_family("gone", &Default::default()).unwrap();
    db.put_cf(&gone, b"key", b"gone").unwrap();
    db.flush_cf(std::slice::from_ref(&gone)).unwrap();
    let table = db
        .live_files()
        .into_iter()
        .find(|file| file.column_family == "gone")
        .unwrap();
    let table = dir.join(format!("{:06}.sst", table.number));
    let bytes = fs::read(&table).unwrap();
    db.drop_column_family(&gone).unwrap();
    let gone_again = db.create_column_family("gone", &Default::default()).unwrap();
    let mut expected = families(&db);
    expected.sort();
    drop((gone, gone_again));
    db.close().unwrap();
    drop(db);
    // The deleted table is restored, as if its deletion had not been executed.
    fs::write(&table, &bytes).unwrap();
    let report = repair("imported and dropped", &options, &dir);
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert!(report.lost[0].error.to_string().contains("dropped"), "{report:?}");
    assert_eq!(fs::read(&report.lost[0].path).unwrap(), bytes);
    let mut found = families(&Db::open(&options, &dir).unwrap());
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn wals_in_a_directory_of_their_own_that_may_be_gone() {
    for gone in [false, true] {
        let place = TempDir::new().unwrap();
        let (dir, wal_dir) = (place.path().join("db"), place.path().join("wals"));
        let options = Options {
            create_if_missing: true,
            wal_dir: wal_dir.to_str().unwrap().to_owned(),
            ..Options::default()
        };
        let db = Db::open(&options, &dir).unwrap();
        db.put(b"flushed", b"1").unwrap();
        db.flush().unwrap();
        db.put(b"logged", b"2").unwrap();
        db.close().unwrap();
        drop(db);
        forget(&dir);
        if gone {
            fs::remove_dir_all(&wal_dir).unwrap();
        }
        assert!(repair("wal_dir", &options, &dir).lost.is_empty());
        let db = Db::open(&options, &dir).unwrap();
        assert!(db.get(b"flushed").unwrap().is_some());
        assert_eq!(db.get(b"logged").unwrap().is_some(), !gone);
    }
}

#[test]
fn what_cannot_be_repaired_is_left_as_it_is() {
    let dir = TempDir::new().unwrap();
    let options = Options::default();
    fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let error = Db::repair(&options, dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(list(dir.path()).len(), 1);
    let nothing = dir.path().join("nothing");
    assert!(Db::repair(&options, &nothing).is_err());
    assert!(!nothing.exists());

    let dir = copy("fv5_zstd");
    let db = Db::open(&options, dir.path()).unwrap();
    let error = Db::repair(&options, dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockHeld, "{error}");
    drop(db);
}
