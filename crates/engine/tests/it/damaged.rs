//! Opens of damaged databases, and of directories without a database.

use std::fs;
use std::path::Path;

use esker::{Db, ErrorKind, Options};

use crate::fixtures::{assert_same, copy, expected, read_options, rows};

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_directory_that_is_no_database_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for open in [Db::open, Db::open_read_only] {
        let error = open(&Options::default(), dir.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoDatabase);
        assert_eq!(error.file(), Some(&*dir.path().join("CURRENT")));
        assert!(names(dir.path()).is_empty());
    }
}

#[test]
fn with_a_file_missing_or_cut_nothing_is_written_or_deleted() {
    for (name, file) in [("fv5_zstd", "000042.sst"), ("blob_files", "000063.blob")] {
        let dir = copy(name);
        let path = dir.path().join(file);
        let good = fs::read(&path).unwrap();
        for damaged in [None, Some(&good[..good.len() - 1])] {
            match damaged {
                None => fs::remove_file(&path).unwrap(),
                Some(bytes) => fs::write(&path, bytes).unwrap(),
            }
            let before = names(dir.path());
            for open in [Db::open, Db::open_read_only] {
                let error = open(&Options::default(), dir.path()).unwrap_err();
                assert!(error.is_corruption() && error.file() == Some(&*path), "{error}");
            }
            // The info log, which is not part of the database, must have the reason.
            let log = dir.path().join("LOG");
            let text = fs::read_to_string(&log).unwrap();
            assert!(
                text.contains("[ERROR]") && text.contains("Open failed: Corruption"),
                "{text}"
            );
            fs::remove_file(&log).unwrap();
            let mut after = names(dir.path());
            after.retain(|name| name != "LOCK");
            assert_eq!(after, before);
            fs::write(&path, &good).unwrap();
            fs::remove_file(dir.path().join("LOCK")).unwrap();
        }
        let db = Db::open(&Options::default(), dir.path()).unwrap();
        assert_same(name, &rows(&db, &read_options(name), false), &expected(name));
    }
}

/// A record whose length reaches beyond the end of the file looks like one whose writer crashed. The edits
/// after it still exist, and the files that they name must not be deleted as orphans.
#[test]
fn a_damaged_length_in_the_manifest_is_no_torn_end() {
    let dir = copy("fv5_zstd");
    let path = dir.path().join("MANIFEST-000005");
    let good = fs::read(&path).unwrap();
    let mut at = 0;
    let mut records = 0;
    while at < good.len() {
        let mut bad = good.clone();
        bad[at + 5] ^= 0x40;
        fs::write(&path, bad).unwrap();
        let error = Db::open(&Options::default(), dir.path()).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert_eq!(
            (error.file(), error.offset()),
            (Some(&*path), Some(at as u64)),
            "{error}"
        );
        at += 7 + usize::from(u16::from_le_bytes([good[at + 4], good[at + 5]]));
        records += 1;
    }
    assert!(records > 10);
    // An incomplete record at the end is dropped: its writer crashed.
    fs::write(&path, [&good[..], &[1, 2, 3, 4, 9, 0, 1, 5, 5]].concat()).unwrap();
    let db = Db::open(&Options::default(), dir.path()).unwrap();
    assert_same(
        "torn end",
        &rows(&db, &read_options("fv5_zstd"), false),
        &expected("fv5_zstd"),
    );
}
