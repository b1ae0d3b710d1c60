//! `esker options`.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::common::*;

/// The OPTIONS file of a fixture with the given options replaced.
fn changed(dir: &TempDir, name: &str, options: &[(&str, &str)]) -> PathBuf {
    let text = fs::read_to_string(fixture(name).join("OPTIONS-000007")).unwrap();
    let lines = text.lines().map(|line| {
        let of = |name: &str| line.trim_start().strip_prefix(name)?.strip_prefix('=');
        match options.iter().find(|(name, _)| of(name).is_some()) {
            Some((name, value)) => format!("  {name}={value}\n"),
            None => format!("{line}\n"),
        }
    });
    let path = dir.path().join("OPTIONS-000009");
    fs::write(&path, lines.collect::<String>()).unwrap();
    path
}

fn said_of(path: &Path) -> String {
    look("options", path, &[]).good()
}

/// The first word of each line that reports `option`.
fn named(said: &str, option: &str) -> Vec<String> {
    said.lines()
        .filter(|line| line.contains(&format!("{option}=")))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|word| word != "LOST")
        .collect()
}

#[test]
fn each_danger_is_named_when_it_is_there_and_only_then() {
    let place = TempDir::new().unwrap();
    for (options, danger, word) in [
        (&[("paranoid_checks", "false")][..], "paranoid_checks", "DATA"),
        (&[("manual_wal_flush", "true")], "manual_wal_flush", "DATA"),
        (&[("checksum", "kNoChecksum")], "checksum", "DATA"),
        (&[("unordered_write", "true")], "unordered_write", "DATA"),
        (
            &[("wal_recovery_mode", "kSkipAnyCorruptedRecords")],
            "wal_recovery_mode",
            "DATA",
        ),
        (
            &[("compaction_style", "kCompactionStyleFIFO")],
            "compaction_style",
            "DATA",
        ),
        (&[("allow_mmap_reads", "true")], "allow_mmap_reads", "STALL"),
        (
            &[("level0_stop_writes_trigger", "10")],
            "level0_stop_writes_trigger",
            "STALL",
        ),
        (
            &[("level0_slowdown_writes_trigger", "3")],
            "level0_slowdown_writes_trigger",
            "STALL",
        ),
        (
            &[("disable_auto_compactions", "true")],
            "disable_auto_compactions",
            "STALL",
        ),
        (
            &[("max_write_buffer_number", "1")],
            "max_write_buffer_number",
            "STALL",
        ),
        (
            &[
                ("max_write_buffer_number", "1000"),
                ("write_buffer_size", "67108864"),
            ],
            "db_write_buffer_size",
            "ROOM",
        ),
        (&[("enable_blob_files", "true")], "enable_blob_files", "ROOM"),
        (&[("filter_policy", "nullptr")], "filter_policy", "SLOW"),
        (&[("whole_key_filtering", "false")], "whole_key_filtering", "SLOW"),
        (&[("format_version", "2")], "format_version", "SLOW"),
    ] {
        let before = said_of(&changed(&place, "fv5_zstd", &[]));
        assert!(named(&before, danger).is_empty(), "{danger}: {before}");
        let after = said_of(&changed(&place, "fv5_zstd", options));
        assert_eq!(named(&after, danger), [word], "{danger}: {after}");
    }
}

#[test]
fn several_families_without_a_limit_of_wals() {
    let said = look("options", &fixture("cfs_fv7_lz4"), &[]).good();
    assert_eq!(named(&said, "max_total_wal_size"), ["ROOM"], "{said}");
    assert!(said.contains("column families"), "{said}");
    let place = TempDir::new().unwrap();
    let path = changed(&place, "cfs_fv7_lz4", &[("max_total_wal_size", "1000000")]);
    assert!(named(&said_of(&path), "max_total_wal_size").is_empty());
}

#[test]
fn many_tables_beside_it_and_few_that_may_be_open() {
    let place = TempDir::new().unwrap();
    let path = changed(&place, "fv5_zstd", &[("max_open_files", "2")]);
    assert!(named(&said_of(&path), "max_open_files").is_empty());
    for number in 0..3 {
        fs::write(place.path().join(format!("{number:06}.sst")), "").unwrap();
    }
    assert_eq!(named(&said_of(&path), "max_open_files"), ["SLOW"]);
}

#[test]
fn what_changed_between_two() {
    let place = TempDir::new().unwrap();
    let old = fixture("fv5_zstd").join("OPTIONS-000007");
    let new = changed(
        &place,
        "fv5_zstd",
        &[("max_open_files", "77"), ("checksum", "kNoChecksum")],
    );
    let said = look("options", &old, &[new.to_str().unwrap()]).good();
    let changes: Vec<&str> = said
        .lines()
        .filter(|line| line.contains(": ") && line.contains(" -> "))
        .collect();
    assert_eq!(
        changes,
        [
            "[DBOptions] max_open_files: -1 -> 77",
            "[TableOptions/BlockBasedTable \"default\"] checksum: kXXH3 -> kNoChecksum",
        ],
        "{said}"
    );
    assert!(said.contains("2 changes\n"), "{said}");
    assert_eq!(named(&said, "checksum"), ["DATA"], "{said}");
    let same = look("options", &old, &[fixture("fv5_zstd").to_str().unwrap()]).good();
    assert!(same.contains("0 changes\n"), "{same}");
}

#[test]
fn what_is_no_options_file() {
    let place = TempDir::new().unwrap();
    let error = look("options", place.path(), &[]).bad();
    assert!(error.contains(place.path().to_str().unwrap()), "{error}");
    let path = place.path().join("OPTIONS-000001");
    fs::write(&path, "[DBOptions]\n  nonsense\n").unwrap();
    let error = look("options", &path, &[]).bad();
    assert!(error.contains("OPTIONS-000001"), "{error}");
    look("options", &place.path().join("none"), &[]).bad();
}

#[test]
fn each_option_without_effect_is_named_with_what_is_lost() {
    let place = TempDir::new().unwrap();
    let path = changed(&place, "range_deletes", &[]);
    assert!(!said_of(&path).contains("LOST"));
    let options = [
        ("use_fsync", "true"),
        ("two_write_queues", "1"),
        ("inplace_update_support", "true"),
    ];
    let said = said_of(&changed(&place, "range_deletes", &options));
    for line in [
        "LOST   [DBOptions] use_fsync=true (durability)\n       files are synced by fdatasync",
        "LOST   [DBOptions] two_write_queues=1 (cost)\n",
        "LOST   [CFOptions \"default\"] inplace_update_support=true (results)\n",
        "3 options without effect in Esker\n",
    ] {
        assert_eq!(said.matches(line).count(), 1, "{line} in {said}");
    }
}
