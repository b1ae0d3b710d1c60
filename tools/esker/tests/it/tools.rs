//! The dumps compared with those of RocksDB 7.8, where it can read the file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use testkit::oracle;

use crate::common::*;

/// The numbers and sizes of files by family and level, and the counters in the last line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    /// (family id, file number) to size.
    files: BTreeMap<(u32, u64), u64>,
    last_sequence: u64,
    max_column_family: u64,
    min_log_number_to_keep: u64,
}

/// The data of `ldb manifest_dump`; `None` if this release cannot read the MANIFEST.
fn ldb(path: &Path) -> Option<Said> {
    let mut ldb = oracle::ldb()?;
    let output = ldb
        .arg("manifest_dump")
        .arg(format!("--path={}", path.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut said = Said::default();
    let mut family = 0;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("(ID ") {
            family = rest.split(')').next()?.parse().ok()?;
        } else if let Some((number, rest)) = line.strip_prefix(' ').and_then(|line| line.split_once(':')) {
            let size = rest.split('[').next()?.parse().ok()?;
            said.files.insert((family, number.parse().ok()?), size);
        } else if line.starts_with("next_file_number") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let after = |name: &str| {
                words[words.iter().position(|word| *word == name).unwrap() + 1]
                    .parse()
                    .unwrap()
            };
            said.last_sequence = after("last_sequence");
            said.max_column_family = after("max_column_family");
            said.min_log_number_to_keep = after("min_log_number_to_keep");
            return Some(said);
        }
    }
    None
}

/// The data of `esker manifest` and `esker lsm --files`.
fn ours(dir: &Path) -> Said {
    let mut said = Said::default();
    for line in esker("manifest", dir, &["--summary"]).good().lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else {
            continue;
        };
        match name {
            "last_sequence" => said.last_sequence = value.parse().unwrap(),
            "max_column_family" => said.max_column_family = value.parse().unwrap(),
            "min_log_number_to_keep" => said.min_log_number_to_keep = value.parse().unwrap(),
            _ => {}
        }
    }
    // The sizes of files in bytes are in the edits that added the files.
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for line in esker("manifest", dir, &[]).good().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"new_file") {
            sizes.insert(words[2].parse().unwrap(), words[3].parse().unwrap());
        }
    }
    let mut family = 0;
    for line in esker("lsm", dir, &["--files"]).good().lines() {
        if let Some((_, rest)) = line.split_once("(id ") {
            family = rest.split(')').next().unwrap().parse().unwrap();
        }
        let number = line
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.strip_suffix(".sst"));
        if let Some(number) = number.filter(|_| line.starts_with("  L")) {
            let number = number.parse().unwrap();
            said.files.insert((family, number), sizes[&number]);
        }
    }
    said
}

#[test]
fn manifests_say_what_ldb_says_they_say() {
    let mut compared = 0;
    for name in fixtures() {
        let dir = fixture(&name);
        let Some(theirs) = ldb(&dir.join("MANIFEST-000005")) else {
            eprintln!("{name}: not compared, ldb does not read this MANIFEST");
            continue;
        };
        assert_eq!(ours(&dir), theirs, "{name}");
        compared += 1;
    }
    assert!(compared == 0 || compared >= 15, "{compared}");
}

/// On request RocksDB records the checksums of whole files in its MANIFEST.
#[test]
fn checksums_of_whole_files_are_verified() {
    let dir = tempfile::TempDir::new().unwrap();
    let db = dir.path().join("db");
    let ldb = |args: &[&str]| -> Option<()> {
        let mut ldb = oracle::ldb()?;
        let status = ldb
            .arg(format!("--db={}", db.display()))
            .args(args)
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{args:?}");
        Some(())
    };
    if ldb(&["--create_if_missing", "put", "a", "1"]).is_none() {
        return;
    }
    let options = listing(&db)
        .into_keys()
        .find(|file| file.starts_with("OPTIONS-"))
        .unwrap();
    let text = std::fs::read_to_string(db.join(&options)).unwrap();
    let none = "file_checksum_gen_factory=nullptr";
    assert!(text.contains(none), "{text}");
    let crc32c = "file_checksum_gen_factory=FileChecksumGenCrc32cFactory";
    std::fs::write(db.join(&options), text.replace(none, crc32c)).unwrap();
    ldb(&["put", "b", "2"]);
    ldb(&["compact"]);
    let said = esker("manifest", &db, &[]).good();
    assert!(said.contains("file_checksum=FileChecksumCrc32c:"), "{said}");
    esker("verify", &db, &[]).good();
    // The flip is in the last bytes of the footer's padding, which no checksum but that of the whole file
    // covers.
    let table = tables(&db).remove(0);
    let mut bytes = std::fs::read(db.join(&table)).unwrap();
    let padding = bytes.len() - 13;
    assert_eq!(bytes[padding], 0);
    bytes[padding] = 1;
    std::fs::write(db.join(&table), bytes).unwrap();
    let error = esker("verify", &db, &[]).bad();
    assert!(
        error.contains("checksum of the whole file mismatch") && error.contains(&table),
        "{error}"
    );
}

/// The names of properties in the output of `sst_dump --show_properties`, and in the table file.
const PROPERTIES: &[(&str, &str)] = &[
    ("# data blocks", "rocksdb.num.data.blocks"),
    ("# entries", "rocksdb.num.entries"),
    ("# deletions", "rocksdb.deleted.keys"),
    ("# merge operands", "rocksdb.merge.operands"),
    ("# range deletions", "rocksdb.num.range-deletions"),
    ("raw key size", "rocksdb.raw.key.size"),
    ("raw value size", "rocksdb.raw.value.size"),
    ("data block size", "rocksdb.data.size"),
    ("filter block size", "rocksdb.filter.size"),
    ("column family name", "rocksdb.column.family.name"),
    ("comparator name", "rocksdb.comparator"),
    ("SST file compression algo", "rocksdb.compression"),
    ("DB identity", "rocksdb.creating.db.identity"),
    ("DB session identity", "rocksdb.creating.session.identity"),
    ("original file number", "rocksdb.original.file.number"),
];

#[test]
fn tables_say_what_sst_dump_says_they_say() {
    let mut compared = 0;
    for name in fixtures() {
        let dir = fixture(&name);
        for file in tables(&dir).into_iter().take(3) {
            let path = dir.join(&file);
            let Some(mut dump) = oracle::sst_dump() else {
                return;
            };
            dump.arg(format!("--file={}", path.display()))
                .args(["--show_properties", "--command=none"]);
            let output = dump.output().unwrap();
            let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
            if !theirs.contains("# entries: ") {
                eprintln!("{name}/{file}: not compared, sst_dump does not read this table");
                continue;
            }
            let mut look = command();
            look.arg("sst").arg(&path).arg("--properties");
            let shown = run(look).good();
            let ours: BTreeMap<&str, &str> = shown
                .lines()
                .filter_map(|line| line.trim_start().split_once(' '))
                .collect();
            for (label, property) in PROPERTIES {
                let prefix = format!("  {label}: ");
                let theirs = theirs.lines().find_map(|line| line.strip_prefix(&prefix));
                let theirs = theirs.unwrap_or_else(|| panic!("no {label} of {name}/{file}"));
                assert_eq!(
                    ours.get(property).map_or("", |value| value.trim()),
                    theirs,
                    "{name}/{file} {property}"
                );
            }
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}
