//! Databases written by RocksDB 11.9, and their rows in the form of `expected.tsv`.

use std::fs;
use std::path::{Path, PathBuf};

use esker::{Db, ReadOptions};
use tempfile::TempDir;

/// The names of the databases.
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb-11.9")
}

/// A writable copy of database `name`.
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

/// Hexadecimal digits in capitals.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// The bytes of hexadecimal digits in either case.
pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Every row of every family in the form of `expected.tsv`, read in the direction given.
pub fn rows(db: &Db, options: &ReadOptions, backwards: bool) -> String {
    let mut out = Vec::new();
    for family in db.column_families() {
        let mut iter = db.iter_cf_opt(&family, options);
        if backwards {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
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
            if backwards { iter.prev() } else { iter.next() }
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
