//! The unique ids of tables, as in RocksDB: recorded in the MANIFEST, and compared when a table is opened.

use std::fs;
use std::path::{Path, PathBuf};

use esker::{Db, Options, Result};
use manifest::VersionEdit;
use sst::Table;
use tempfile::TempDir;
use testkit::oracle;
use vfs::{FileSystem, PosixFs};

use crate::fixtures;

/// The existing tables that the MANIFEST of the database in `dir` names: paths and recorded ids.
fn recorded(dir: &Path) -> Vec<(PathBuf, Option<[u8; 16]>)> {
    let current = fs::read_to_string(dir.join("CURRENT")).unwrap();
    let file = PosixFs::new().open_random(&dir.join(current.trim_end()), &Default::default());
    let mut reader = wal::Reader::for_manifest(file.unwrap());
    let mut tables = Vec::new();
    while let Some(record) = reader.read_record().unwrap() {
        for (_, file) in VersionEdit::decode(record).unwrap().new_files {
            let path = dir.join(format!("{:06}.sst", file.number));
            if path.exists() {
                tables.push((path, file.unique_id));
            }
        }
    }
    tables
}

fn made_of_properties(path: &Path) -> Option<[u8; 16]> {
    let file = PosixFs::new().open_random(path, &Default::default()).unwrap();
    Table::read_properties(file).unwrap().unique_id()
}

#[test]
fn rocksdbs_ids_are_what_we_make_of_its_tables() {
    let mut compared = 0;
    for name in fixtures::names() {
        for (path, id) in recorded(&fixtures::root().join(name)) {
            assert!(id.is_some(), "{}", path.display());
            assert_eq!(made_of_properties(&path), id, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

fn options(verify: bool) -> Options {
    Options {
        create_if_missing: true,
        verify_sst_unique_id_in_manifest: verify,
        ..Options::default()
    }
}

fn database() -> TempDir {
    let dir = TempDir::new().unwrap();
    let db = Db::open(&options(true), dir.path()).unwrap();
    for i in 0..100 {
        db.put(format!("key{i:03}").as_bytes(), b"value").unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    dir
}

fn rows(dir: &Path, verify: bool) -> Result<usize> {
    let db = Db::open(&options(verify), dir)?;
    let mut iter = db.iter();
    let mut rows = 0;
    iter.seek_to_first();
    while iter.valid() {
        rows += 1;
        iter.next();
    }
    iter.status()?;
    let verified = db.verify_checksum();
    assert!(!verify || verified.is_ok());
    Ok(rows)
}

#[test]
fn a_table_in_anothers_place_is_not_read() {
    let (one, other) = (database(), database());
    let table = |dir: &TempDir| recorded(dir.path()).pop().unwrap();
    let (path, id) = table(&one);
    assert_eq!(made_of_properties(&path), id);
    assert!(id.is_some());
    assert_ne!(table(&other).1, id);
    assert_eq!(rows(one.path(), true).unwrap(), 100);
    // The table of the other database has the same rows, number and length.
    let (swapped, _) = table(&other);
    assert_eq!(
        fs::metadata(&swapped).unwrap().len(),
        fs::metadata(&path).unwrap().len()
    );
    fs::copy(&swapped, &path).unwrap();
    let error = rows(one.path(), true).unwrap_err();
    assert!(
        error.is_corruption() && error.to_string().contains("unique ID"),
        "{error}"
    );
    assert_eq!(error.file(), Some(&*path));
    if let Some(mut ldb) = oracle::ldb() {
        let told = ldb
            .arg(format!("--db={}", one.path().display()))
            .arg("scan")
            .output()
            .unwrap();
        let told =
            String::from_utf8_lossy(&told.stderr).into_owned() + &String::from_utf8_lossy(&told.stdout);
        assert!(told.contains("unique ID"), "{told}");
    }
    // If the option is off, the table of the other database is opened.
    assert_eq!(rows(one.path(), false).unwrap(), 100);
    let db = Db::open(&options(false), one.path()).unwrap();
    assert!(
        db.verify_checksum()
            .unwrap_err()
            .to_string()
            .contains("unique ID")
    );
}

#[test]
fn rocksdb_reads_the_ids_we_write() {
    let Some(mut ldb) = oracle::ldb() else {
        return;
    };
    let dir = database();
    let (_, id) = recorded(dir.path()).pop().unwrap();
    let id = id.expect("Esker wrote it");
    let number = |at: usize| u64::from_le_bytes(id[at..at + 8].try_into().unwrap());
    let current = fs::read_to_string(dir.path().join("CURRENT")).unwrap();
    let manifest = dir.path().join(current.trim_end());
    let told = ldb
        .args(["manifest_dump", "--verbose"])
        .arg(format!("--path={}", manifest.display()));
    let told = String::from_utf8_lossy(&told.output().unwrap().stdout).into_owned();
    let expected = format!("unique_id(internal): {{{},{}}}", number(0), number(8));
    assert!(told.contains(&expected), "{expected} in {told}");
    let read = oracle::ldb()
        .unwrap()
        .arg(format!("--db={}", dir.path().display()))
        .arg("scan")
        .output();
    let read = String::from_utf8_lossy(&read.unwrap().stdout).into_owned();
    assert_eq!(
        read.lines().filter(|line| line.starts_with("key")).count(),
        100,
        "{read}"
    );
}
