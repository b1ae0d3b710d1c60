//! `persist_user_defined_timestamps=false`: memtables and WALs have timestamps, tables have none. The random
//! histories of `timestamps` are run with it too.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite};
use dbtest::files;
use esker::{Db, Options, ReadOptions, Result, UserComparator};
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    let mut options = Options {
        create_if_missing: true,
        allow_concurrent_memtable_write: false,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    };
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    options.column_family.persist_user_defined_timestamps = false;
    options.column_family.disable_auto_compactions = true;
    options
}

fn put(db: &Db, key: &str, timestamp: u64, value: &str) {
    let key = [key.as_bytes(), &timestamp.to_le_bytes()].concat();
    db.put(&key, value).unwrap();
}

fn get(db: &Db, key: &str, timestamp: u64) -> Result<Option<String>> {
    let options = ReadOptions {
        timestamp: Some(timestamp.to_le_bytes().to_vec()),
        ..ReadOptions::default()
    };
    let found = db.get_cf_opt(&db.default_column_family(), key.as_bytes(), &options)?;
    Ok(found.map(|value| String::from_utf8(value).unwrap()))
}

fn low(db: &Db) -> Option<u64> {
    let low = db.full_history_ts_low(&db.default_column_family()).unwrap();
    low.try_into().ok().map(u64::from_le_bytes)
}

/// RocksDB 10.1 wrote this database: two tables, and a WAL whose rows have timestamps.
#[test]
fn a_database_of_rocksdb_goes_on() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb-10.1");
    let fs = MemFs::new();
    fs.create_dir_all(Path::new(DIR)).unwrap();
    for entry in std::fs::read_dir(root.join("memory_timestamps")).unwrap() {
        let entry = entry.unwrap();
        let path = Path::new(DIR).join(entry.file_name());
        let mut file = fs.create(&path, &Default::default()).unwrap();
        file.append(&std::fs::read(entry.path()).unwrap()).unwrap();
        file.close().unwrap();
    }
    let expected = std::fs::read_to_string(root.join("memory_timestamps.expected.tsv")).unwrap();
    let rows = |db: &Db| -> String {
        let at = ReadOptions {
            timestamp: Some(442u64.to_le_bytes().to_vec()),
            ..ReadOptions::default()
        };
        let mut iter = db.iter_opt(&at);
        let mut rows = String::new();
        iter.seek_to_first();
        while iter.valid() {
            let [key, value] = [iter.key(), iter.value()]
                .map(|bytes| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>());
            rows.push_str(&format!("default\t{key}\t{value}\n"));
            iter.next();
        }
        iter.status().unwrap();
        rows
    };
    let mut options = options(&fs);
    options.avoid_flush_during_recovery = true;
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(rows(&db), expected);
    let flushed = low(&db).unwrap();
    assert!((300..442).contains(&flushed), "{flushed}");
    flush(&db);
    assert_eq!(low(&db), Some(443));
    rewrite(&db);
    assert_eq!(files::check(&db).unwrap(), "");
    put(&db, "zzz", 500, "ours");
    db.close().unwrap();
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert!(get(&db, "zzz", 500).unwrap().is_some());
    assert!(get(&db, "key0000", 442).is_err());
}
