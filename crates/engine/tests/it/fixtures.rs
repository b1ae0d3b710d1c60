//! Databases written by RocksDB 11.9: every row is read, also after Esker has written to them.

use std::fs;
use std::path::{Path, PathBuf};

use esker::{Db, Options, ReadOptions};
use tempfile::TempDir;

/// The names of the fixture databases.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 20);
    names
}

/// The directory of the fixtures, which must not be changed.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb-11.9")
}

/// A writable copy of fixture `name`.
pub fn copy(name: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    for entry in fs::read_dir(root().join(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    dir
}

/// The contents of `NAME.expected.tsv`.
pub fn expected(name: &str) -> String {
    fs::read_to_string(root().join(format!("{name}.expected.tsv"))).unwrap()
}

/// The options for reading fixture `name`: `user_timestamps` is read at timestamp 400.
pub fn read_options(name: &str) -> ReadOptions {
    ReadOptions {
        timestamp: (name == "user_timestamps").then(|| 400u64.to_le_bytes().to_vec()),
        ..Default::default()
    }
}

/// The bytes in the form of `expected.tsv`.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Every row of every family in the form of `expected.tsv`.
pub fn rows(db: &Db, options: &ReadOptions, backwards: bool) -> String {
    let mut out = Vec::new();
    for family in db.column_families() {
        let mut iter = db.iter_cf_opt(&family, options);
        if backwards {
            iter.seek_to_last();
        } else {
            iter.seek_to_first();
        }
        let mut of_family = Vec::new();
        while iter.valid() {
            let mut row = format!("{}\t{}\t{}", family.name(), hex(iter.key()), hex(iter.value()));
            if let Some(columns) = iter.columns().unwrap() {
                row.push_str("\tcolumns");
                for (name, value) in columns {
                    row.push_str(&format!("\t{}={}", hex(&name), hex(&value)));
                }
            }
            of_family.push(row);
            if backwards {
                iter.prev();
            } else {
                iter.next();
            }
        }
        iter.status().unwrap();
        if backwards {
            of_family.reverse();
        }
        out.extend(of_family);
    }
    out.iter().map(|row| format!("{row}\n")).collect()
}

/// Panics with the first difference of two dumps, without printing megabytes.
pub fn assert_same(what: &str, got: &str, expected: &str) {
    if got == expected {
        return;
    }
    for (at, (got, expected)) in got.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "{what}: line {}", at + 1);
    }
    panic!(
        "{what}: {} lines, {} expected",
        got.lines().count(),
        expected.lines().count()
    );
}

#[test]
fn every_row_comes_back_read_only() {
    for name in names() {
        let dir = copy(&name);
        let before = listing(dir.path());
        let db = Db::open_read_only(&Options::default(), dir.path())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let options = read_options(&name);
        assert_same(&name, &rows(&db, &options, false), &expected(&name));
        assert_same(
            &format!("{name} backwards"),
            &rows(&db, &options, true),
            &expected(&name),
        );
        drop(db);
        assert_eq!(
            listing(dir.path()),
            before,
            "{name}: reading changed the directory"
        );
    }
}

fn listing(dir: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (
                entry.file_name().into_string().unwrap(),
                entry.metadata().unwrap().len(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_row_is_found_by_get() {
    for name in names() {
        let dir = copy(&name);
        let db = Db::open_read_only(&Options::default(), dir.path()).unwrap();
        let options = read_options(&name);
        for family in db.column_families() {
            let mut iter = db.iter_cf_opt(&family, &options);
            iter.seek_to_first();
            while iter.valid() {
                let got = db.get_cf_opt(&family, iter.key(), &options).unwrap();
                assert_eq!(got.as_deref(), Some(iter.value()), "{name} {}", hex(iter.key()));
                iter.next();
            }
        }
    }
}

#[test]
fn every_row_comes_back_after_recovery_and_compaction() {
    for name in names() {
        let dir = copy(&name);
        let options = read_options(&name);
        {
            let db =
                Db::open(&Options::default(), dir.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_same(&name, &rows(&db, &options, false), &expected(&name));
            for family in db.column_families() {
                let compact = esker::CompactRangeOptions {
                    bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
                    ..Default::default()
                };
                db.compact_range_cf_opt(&family, None, None, &compact).unwrap();
            }
            assert_same(
                &format!("{name} compacted"),
                &rows(&db, &options, false),
                &expected(&name),
            );
            db.close().unwrap();
        }
        let db = Db::open(&Options::default(), dir.path()).unwrap();
        assert_same(
            &format!("{name} reopened"),
            &rows(&db, &options, false),
            &expected(&name),
        );
        assert_same(
            &format!("{name} reopened, backwards"),
            &rows(&db, &options, true),
            &expected(&name),
        );
    }
}
