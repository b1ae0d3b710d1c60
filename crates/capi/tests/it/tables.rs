//! A comparison of the tables with the built library.

use std::collections::BTreeSet;

use super::c_program::library;

#[test]
fn the_library_exports_every_function_of_the_header_and_no_other() {
    let table = include_str!("../../functions.tsv");
    let legacy = include_str!("../../legacy.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').nth(1));
    let wanted: BTreeSet<&str> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').next())
        .chain(legacy)
        .collect();
    let listed = std::process::Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library())
        .output();
    let Ok(listed) = listed else {
        return testkit::skip("nm is not installed");
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let found: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .filter(|name| name.starts_with("rocksdb_"))
        .collect();
    let missing: Vec<_> = wanted.difference(&found).collect();
    let more: Vec<_> = found.difference(&wanted).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "missing {missing:?}, more {more:?}"
    );
}
