//! Every dump, over every file of its kind.

use std::path::Path;

use crate::common::*;

fn shown(verb: &str, path: &Path, args: &[&str]) -> String {
    look(verb, path, args).good()
}

#[test]
fn every_dump_runs_over_every_database_and_changes_nothing() {
    for name in fixtures() {
        let dir = fixture(&name);
        let before = listing(&dir);
        for (verb, args) in [
            ("verify", &[][..]),
            ("sst", &[]),
            ("sst", &["--all", "--hex"]),
            ("manifest", &[]),
            ("manifest", &["--summary", "--hex"]),
            ("wal", &["--physical"]),
            ("wal", &["--headers", "--hex"]),
            ("lsm", &[]),
            ("lsm", &["--files", "--hex", "--width=60"]),
            ("properties", &[]),
            ("properties", &["rocksdb.estimate-num-keys"]),
        ] {
            let printed = esker(verb, &dir, args).good();
            assert!(!printed.is_empty(), "{name} {verb}");
        }
        assert_eq!(listing(&dir), before, "{name}");
    }
}

#[test]
fn a_table_is_shown_from_footer_to_entries() {
    let path = fixture("ingested_global_seqno").join("000070.sst");
    let table = shown("sst", &path, &["--footer", "--properties"]);
    for line in [
        "footer at ",
        "checksum kXXH3",
        "rocksdb.external_sst_file.version                    2",
        "rocksdb.comparator",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    let path = fixture("fv5_zstd").join("000042.sst");
    let entries = shown("sst", &path, &["--entries"]);
    assert!(entries.ends_with("\n1029 entries\n"), "{entries}");
    let bounded = shown(
        "sst",
        &path,
        &[
            "--entries",
            "--from=key000000000100",
            "--to=key000000000200",
            "--limit=3",
        ],
    );
    let lines: Vec<&str> = bounded.lines().skip(2).collect();
    assert!(
        lines[0] >= "  key000000000100" && lines.len() == 4 && lines[3] == "3 entries",
        "{bounded}"
    );
    let blocks = shown("sst", &path, &["--blocks"]);
    assert_eq!(
        blocks.lines().filter(|line| line.starts_with("  at ")).count(),
        73
    );
    assert_eq!(
        shown("sst", &path, &["--index"])
            .lines()
            .filter(|line| line.starts_with("  at "))
            .count(),
        73
    );
}

#[test]
fn a_wal_is_shown_as_batches_and_as_records() {
    let wal = shown("wal", &fixture("cfs_fv7_lz4").join("000036.log"), &["--physical"]);
    assert!(wal.contains("record at 0  Full  7+"), "{}", &wal[..200]);
    assert!(wal.contains("  Put(1) key"), "{}", &wal[..200]);
    let recycled = shown(
        "wal",
        &fixture("wal_recycled_zstd").join("000057.log"),
        &["--headers"],
    );
    assert!(
        recycled.ends_with("before the file was recycled begin at 50497\n"),
        "{recycled}"
    );
    let timestamps = shown(
        "wal",
        &fixture("user_timestamps").join("000012.log"),
        &["--headers"],
    );
    assert!(
        timestamps.contains("column family 0 has timestamps of 8 bytes"),
        "{timestamps}"
    );
}

#[test]
fn the_picture_has_a_row_a_level() {
    let picture = esker("lsm", &fixture("cfs_fv7_lz4"), &["--width=80"]).good();
    assert!(
        picture.contains("default (id 0)  leveldb.BytewiseComparator"),
        "{picture}"
    );
    // The two files of L0 are drawn in separate rows.
    let l0 = picture
        .lines()
        .position(|line| line.starts_with("L0         2 "))
        .unwrap();
    assert!(
        picture.lines().nth(l0 + 1).unwrap().trim_start().starts_with('│'),
        "{picture}"
    );
    assert!(
        picture
            .lines()
            .all(|line| line.chars().count() <= 80 || line.contains("MANIFEST")),
        "{picture}"
    );
    let one = esker("lsm", &fixture("cfs_fv7_lz4"), &["--column_family=beta"]).good();
    assert!(one.contains("beta (id 2)") && !one.contains("alpha"), "{one}");
}

#[test]
fn properties_are_found_by_either_name() {
    let dir = fixture("cfs_fv7_lz4");
    let long = esker(
        "properties",
        &dir,
        &["--column_family=alpha", "rocksdb.total-sst-files-size"],
    )
    .good();
    assert_eq!(long, format!("{}\n", 103_911 + 44_119));
    assert_eq!(
        esker(
            "properties",
            &dir,
            &["total-sst-files-size", "--column_family=alpha"]
        )
        .good(),
        long
    );
    assert_eq!(
        esker("properties", &dir, &["num-files-at-level0"]).good(),
        "default\t2\nalpha\t1\nbeta\t1\n"
    );
    assert!(
        esker("properties", &dir, &["nonsense"])
            .bad()
            .contains("no property rocksdb.nonsense")
    );
}
