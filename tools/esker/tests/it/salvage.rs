//! `esker salvage`: all intact data is copied, and the rest is named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::common::*;

fn salvage(dir: &Path, to: &Path) -> Ran {
    esker("salvage", dir, &["--hex", "--to", to.to_str().unwrap()])
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The ranges of keys that were named, both ends included.
fn ranges(said: &str) -> Vec<(String, String)> {
    let words = |line: &str| -> Vec<String> {
        line.split_whitespace()
            .map(|word| word.replace(',', ""))
            .collect()
    };
    said.lines()
        .filter(|line| line.contains("lost: "))
        .filter_map(|line| {
            let words = words(line);
            let at = |name: &str| words.iter().position(|word| word == name);
            match at("key") {
                Some(key) => Some((words[key + 1].clone(), words[key + 1].clone())),
                None => {
                    let from = at("after").or(at("from"))?;
                    let to = at("to")?;
                    Some((words[from + 1].clone(), words[to + 1].clone()))
                }
            }
        })
        .collect()
}

/// The rows of a dump whose keys are in none of the ranges.
fn outside(rows: &str, ranges: &[(String, String)]) -> BTreeSet<String> {
    rows.lines()
        .filter(|row| {
            let key = row.split('\t').nth(1).unwrap();
            ranges
                .iter()
                .all(|(from, to)| key < from.as_str() || key > to.as_str())
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_good_database_comes_along_whole() {
    for name in fixtures() {
        let place = TempDir::new().unwrap();
        let to = place.path().join("to");
        let before = listing(&fixture(&name));
        let said = salvage(&fixture(&name), &to).good();
        assert!(!said.contains("BAD"), "{name}: {said}");
        assert_same(&name, &scan(&name, &to).good(), &expected(&name));
        assert_eq!(listing(&fixture(&name)), before, "{name}");
    }
}

#[test]
fn a_bad_block_costs_its_keys_and_no_other() {
    for (name, table) in [
        ("fv5_zstd", "000042.sst"),
        ("fv5_zstd", "000028.sst"),
        ("cfs_fv7_lz4", "000025.sst"),
        ("range_deletes", "000114.sst"),
    ] {
        for at in [10, 3000] {
            let dir = copy(name);
            flip(&dir.path().join(table), at);
            let before = listing(dir.path());
            let place = TempDir::new().unwrap();
            let to = place.path().join("to");
            let ran = salvage(dir.path(), &to);
            let said = ran.stdout.clone();
            let what = format!("{name} {table} {at}: {said}");
            assert!(ran.bad().contains(table), "{what}");
            assert!(said.contains(&format!("{table}, offset ")), "{what}");
            let ranges = ranges(&said);
            assert_eq!(ranges.len(), 1, "{what}");
            let (expected, got) = (expected(name), scan(name, &to).good());
            let within = expected.lines().count() - outside(&expected, &ranges).len();
            // The salvage has lost only a block, not the whole table.
            assert!(within < expected.lines().count() / 4, "{within} keys, {what}");
            assert!(outside(&got, &ranges) == outside(&expected, &ranges), "{what}");
            esker("verify", &to, &["--quiet"]).good();
            assert_eq!(listing(dir.path()), before);
        }
    }
}

#[test]
fn a_table_that_does_not_open_is_named_with_its_bounds() {
    let dir = copy("fv5_zstd");
    let table = dir.path().join("000043.sst");
    let len = fs::metadata(&table).unwrap().len() as usize;
    flip(&table, len - 1);
    let place = TempDir::new().unwrap();
    let to = place.path().join("to");
    let ran = salvage(dir.path(), &to);
    let ranges = ranges(&ran.stdout);
    assert_eq!(ranges.len(), 1, "{}", ran.stdout);
    let (expected, got) = (expected("fv5_zstd"), scan("fv5_zstd", &to).good());
    assert!(
        outside(&got, &ranges) == outside(&expected, &ranges),
        "{}",
        ran.stdout
    );
    assert!(!outside(&got, &ranges).is_empty());
    ran.bad();
}

#[test]
fn a_bad_value_in_a_blob_file_is_named_by_its_key() {
    let dir = copy("blob_files");
    let blob: PathBuf = dir.path().join("000054.blob");
    let len = fs::metadata(&blob).unwrap().len() as usize;
    flip(&blob, len - 40);
    let place = TempDir::new().unwrap();
    let to = place.path().join("to");
    let ran = salvage(dir.path(), &to);
    assert!(ran.stdout.contains("000054.blob, offset"), "{}", ran.stdout);
    let ranges = ranges(&ran.stdout);
    let (expected, got) = (expected("blob_files"), scan("blob_files", &to).good());
    assert!(
        outside(&got, &ranges) == outside(&expected, &ranges),
        "{}",
        ran.stdout
    );
    assert_eq!(ranges.len(), 1, "{ranges:?}");
    ran.bad();
}

#[test]
fn without_a_manifest_all_tables_are_taken() {
    let dir = copy("fv5_zstd");
    fs::remove_file(dir.path().join("CURRENT")).unwrap();
    let place = TempDir::new().unwrap();
    let to = place.path().join("to");
    salvage(dir.path(), &to).bad();
    assert_same("rows", &scan("fv5_zstd", &to).good(), &expected("fv5_zstd"));
    let error = salvage(dir.path(), &to).bad();
    assert!(error.contains("exists"), "{error}");
}
