//! RocksDB's tools over our tables.

use std::collections::BTreeMap;
use std::process::Command;

use super::*;

/// The output of `sst_dump` for a whole directory of tables.
pub(super) fn sst_dump(mut tool: Command, dir: &Path, arguments: &[&str]) -> String {
    let file = format!("--file={}", dir.display());
    let output = tool.arg(file).args(arguments).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}

/// The lines of the output, by table.
pub(super) fn by_table(output: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut lines = None;
    for line in output.lines() {
        if let Some(path) = line.strip_prefix("Process ") {
            let name = path.rsplit('/').next().unwrap_or(path);
            lines = Some(tables.entry(name).or_default());
        } else if let Some(lines) = &mut lines {
            lines.push(line);
        }
    }
    tables
}

#[test]
fn rocksdb_verifies_and_reads_every_table() {
    let (Some(verify), Some(scan)) = (testkit::oracle::sst_dump(), testkit::oracle::sst_dump()) else {
        return;
    };
    let entries: Vec<(String, u64, String)> = (0..400u64)
        .map(|i| (format!("key{i:05}"), i + 1, format!("value{i}").repeat(3)))
        .collect();
    let dir = TempDir::new().unwrap();
    let mut names = Vec::new();
    for format_version in 2..=5 {
        for checksum in ChecksumType::ALL {
            for compression in supported_compressions() {
                let name = format!(
                    "{format_version}-{}-{}.sst",
                    checksum.name(),
                    compression.property_name()
                );
                let mut writer = writer_at(
                    &dir.path().join(&name),
                    TableWriterOptions {
                        format_version,
                        checksum,
                        compression,
                        ..options(bytewise())
                    },
                );
                for (key, seqno, value) in &entries {
                    let key = internal_key::encode(key.as_bytes(), *seqno, Kind::Value);
                    writer.add(&key, value.as_bytes()).unwrap();
                }
                writer.finish().unwrap();
                names.push(name);
            }
        }
    }
    let output = sst_dump(verify, dir.path(), &["--command=verify", "--verify_checksum"]);
    let verified = by_table(&output);
    let output = sst_dump(scan, dir.path(), &["--command=scan", "--verify_checksum"]);
    let scanned = by_table(&output);
    let expected: Vec<String> = entries
        .iter()
        .map(|(key, seqno, value)| format!("'{key}' seq:{seqno}, type:1 => {value}"))
        .collect();
    for name in &names {
        assert!(
            verified[name.as_str()].contains(&"The file is ok"),
            "{name}: {:?}",
            verified[name.as_str()]
        );
        let rows: Vec<&str> = scanned[name.as_str()]
            .iter()
            .copied()
            .filter(|line| line.contains(" => "))
            .collect();
        assert_eq!(rows, expected, "{name}");
    }
    assert_eq!(verified.len(), names.len());
}

#[test]
fn rocksdb_finds_a_flipped_bit() {
    let Some(tool) = testkit::oracle::sst_dump() else {
        return;
    };
    let scratch = Scratch::new();
    scratch.write(options(bytewise()), &sample(&mut TestRng::with_seed(1), 100));
    let mut bytes = std::fs::read(scratch.path()).unwrap();
    bytes[100] ^= 1;
    std::fs::write(scratch.path(), bytes).unwrap();
    let output = sst_dump(
        tool,
        scratch.dir.path(),
        &["--command=verify", "--verify_checksum"],
    );
    assert!(output.contains("is corrupted"), "{output}");
}

#[test]
fn rocksdb_shows_the_properties_we_wrote() {
    let Some(tool) = testkit::oracle::sst_dump() else {
        return;
    };
    let scratch = Scratch::new();
    let mut writer = scratch.writer(TableWriterOptions {
        merge_operator: Some("StringAppendOperator".into()),
        prefix_extractor: base::prefix::builtin("fixed:4"),
        ..options(bytewise())
    });
    let kinds = [Kind::Value, Kind::Deletion, Kind::Merge, Kind::SingleDeletion];
    for i in 0..40usize {
        let key = internal_key::encode(format!("key{i:03}").as_bytes(), 100, kinds[i % 4]);
        writer.add(&key, if i % 2 == 0 { b"value" } else { b"" }).unwrap();
    }
    writer.add_range_tombstone(b"key", b"kez", 50).unwrap();
    let properties = writer.finish().unwrap().properties;
    let output = sst_dump(tool, scratch.dir.path(), &["--command=none", "--show_properties"]);
    let shown: BTreeMap<&str, &str> = output
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .collect();
    for (name, value) in [
        ("# data blocks", properties.num_data_blocks.to_string()),
        ("# entries", "41".into()),
        ("# deletions", "21".into()),
        ("# merge operands", "10".into()),
        ("# range deletions", "1".into()),
        ("raw key size", (40 * 14 + 11).to_string()),
        ("raw value size", (20 * 5 + 3).to_string()),
        ("data block size", properties.data_size.to_string()),
        (
            "index block size (user-key? 1, delta-value? 1)",
            properties.index_size.to_string(),
        ),
        ("filter block size", properties.filter_size.to_string()),
        // 40 keys and the prefix they share.
        ("# entries for filter", "41".into()),
        ("filter policy name", "bloomfilter".into()),
        ("prefix extractor name", "rocksdb.FixedPrefix.4".into()),
        ("column family ID", "0".into()),
        ("column family name", "default".into()),
        ("comparator name", "leveldb.BytewiseComparator".into()),
        ("merge operator name", "StringAppendOperator".into()),
        ("property collectors names", "[]".into()),
        ("SST file compression algo", "LZ4".into()),
        ("creation time", "1700000000".into()),
        ("file creation time", "1700000001".into()),
        ("DB identity", "a database".into()),
        ("DB session identity", "ABCDEFGHIJKLMNOPQRST".into()),
        ("original file number", "7".into()),
    ] {
        assert_eq!(shown.get(name), Some(&value.as_str()), "{name}");
    }
}
