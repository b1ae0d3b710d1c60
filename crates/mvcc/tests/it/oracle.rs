//! Tables of versions read by RocksDB's own program, which does not know their comparator.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use esker::{Db, Options, WriteOptions};
use esker_mvcc::{BatchOptions, MvccComparator, MvccStore, Timestamp, Value};

/// The output of `sst_dump` for a table; `None` where it is not installed.
fn sst_dump(table: &Path, arguments: &[&str]) -> Option<String> {
    let output = testkit::oracle::sst_dump()?
        .arg(format!("--file={}", table.display()))
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some(text.into_owned())
}

/// The tables of a database with versions, some collected.
fn tables(dir: &Path) -> Vec<PathBuf> {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    esker_mvcc::configure(&mut options.column_family);
    let db = Db::open(&options, dir).unwrap();
    let family = db.default_column_family();
    let store = MvccStore::open(&db, &family, BatchOptions::default(), 0).unwrap();
    for second in 1..5 {
        let at = Timestamp::from_secs(second);
        let mut batch = store.begin(at.wall);
        for key in 0..200 {
            let key = format!("key{key:05}");
            batch.put(key.as_bytes(), at, Value::Int(second)).unwrap();
        }
        batch.commit(&WriteOptions::default()).unwrap();
        db.flush().unwrap();
    }
    let now = Timestamp::from_secs(5).wall;
    store
        .collect_garbage(Duration::from_secs(3), now, &Default::default())
        .unwrap();
    db.flush().unwrap();
    db.compact_range_cf(&family, None, None).unwrap();
    drop(store);
    db.close().unwrap();
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .collect()
}

#[test]
fn sst_dump_verifies_and_shows_versions() {
    let dir = tempfile::tempdir().unwrap();
    let tables = tables(dir.path());
    assert!(!tables.is_empty());
    for table in tables {
        let Some(verified) = sst_dump(&table, &["--command=verify", "--verify_checksum"]) else {
            return;
        };
        assert!(verified.contains("The file is ok"), "{verified}");
        let shown = sst_dump(&table, &["--command=scan"]).unwrap();
        assert!(shown.matches("key00007").count() >= 2, "{shown}");
        // The table's property still names its comparator.
        let properties = sst_dump(&table, &["--command=none", "--show_properties"]).unwrap();
        let name: String = MvccComparator::NAME
            .bytes()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        assert!(
            properties.contains(&format!("esker.comparator: 0x{name}")),
            "{properties}"
        );
        let mut bytes = fs::read(&table).unwrap();
        bytes[20] ^= 1;
        fs::write(&table, bytes).unwrap();
        let damaged = sst_dump(&table, &["--command=verify", "--verify_checksum"]).unwrap();
        assert!(damaged.contains("Corruption"), "{damaged}");
    }
}
