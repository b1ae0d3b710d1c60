//! `persist_user_defined_timestamps=false`: memtables and WALs have timestamps, tables have none. The random
//! histories of `timestamps` are run with it too.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite};
use dbtest::files;
use esker::{
    Db, ErrorKind, ExportImportFilesMetaData, IngestExternalFileOptions, Options, ReadOptions, Result,
    SstFileWriter, UserComparator,
};
use sst::{Table, TableProperties, TableReadOptions};
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

/// The stored form of the table at `path`: its properties, and its user keys as they are in the file.
fn stored(fs: &dyn FileSystem, path: &Path) -> (TableProperties, Vec<Vec<u8>>) {
    let cmp = base::InternalComparator::new(UserComparator::BytewiseU64Ts);
    let open = || fs.open_random(path, &Default::default()).unwrap();
    let properties = Table::open(open(), TableReadOptions::new(cmp))
        .unwrap()
        .properties()
        .clone();
    let bare = base::InternalComparator::new(UserComparator::Bytewise);
    let table = Table::open(open(), TableReadOptions::new(bare)).unwrap();
    let mut cursor = table.cursor(Default::default());
    let mut keys = Vec::new();
    base::Cursor::seek_to_first(&mut cursor);
    while base::Cursor::valid(&cursor) {
        keys.push(base::internal_key::user_key(base::Cursor::key(&cursor)).to_vec());
        base::Cursor::next(&mut cursor);
    }
    (properties, keys)
}

#[test]
fn the_newest_one_is_known() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    let mut db = Db::open(&options, DIR).unwrap();
    let newest = |db: &Db| {
        db.newest_user_defined_timestamp(&db.default_column_family())
            .unwrap()
    };
    assert_eq!(newest(&db), None);
    put(&db, "a", 7, "new");
    put(&db, "b", 6, "older");
    assert_eq!(newest(&db), Some(7));
    flush(&db);
    assert_eq!(newest(&db), Some(7));
    // The newest timestamp is that of the newest memtable with rows, even if an older memtable has a newer
    // one.
    put(&db, "c", 3, "later");
    assert_eq!(newest(&db), Some(3));
    flush(&db);
    db.close().unwrap();
    db = Db::open(&options, DIR).unwrap();
    assert_eq!(newest(&db), Some(7));
    db.close().unwrap();
    options.column_family.persist_user_defined_timestamps = true;
    let with_all = Db::open(&options, "/other").unwrap();
    let refused = with_all
        .newest_user_defined_timestamp(&with_all.default_column_family())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported);
}

#[test]
fn a_flush_cuts_them_off_and_raises_the_lowest_that_is_read() {
    let fs = MemFs::new();
    let options = options(&fs);
    let mut db = Db::open(&options, DIR).unwrap();
    put(&db, "a", 5, "old");
    put(&db, "a", 7, "new");
    put(&db, "b", 6, "kept");
    assert_eq!(low(&db), None);
    assert_eq!(get(&db, "a", 5).unwrap().as_deref(), Some("old"));
    flush(&db);
    assert_eq!(low(&db), Some(8));
    assert_eq!(
        get(&db, "a", 7).unwrap_err().message(),
        "Read timestamp: 7 is smaller than full_history_ts_low: 8"
    );
    let file = db.live_files().remove(0);
    let (properties, keys) = stored(&fs, &file.path);
    assert!(!properties.user_defined_timestamps_persisted);
    assert_eq!(properties.comparator_name(), "leveldb.BytewiseComparator.u64ts");
    assert_eq!(keys, [b"a", b"b"]);
    // Rows in memory still have their history.
    put(&db, "a", 10, "newer");
    put(&db, "a", 12, "newest");
    let seen = |db: &Db| [8, 10, 11, 12].map(|timestamp| get(db, "a", timestamp).unwrap().unwrap());
    assert_eq!(seen(&db), ["new", "newer", "newer", "newest"]);
    // The WAL has the timestamps of the rows, too.
    drop(db);
    let mut keeps = options.clone();
    keeps.avoid_flush_during_recovery = true;
    db = Db::open(&keeps, DIR).unwrap();
    assert_eq!(
        (low(&db), seen(&db)),
        (Some(8), ["new", "newer", "newer", "newest"].map(String::from))
    );
    let others: [fn(&Options) -> Result<Db>; 2] = [
        |options| Db::open_read_only(options, DIR),
        |options| Db::open_as_secondary(options, DIR, "/second"),
    ];
    for open in others {
        assert_eq!(seen(&open(&options).unwrap()), seen(&db));
    }
    drop(db);
    // A recovery that flushes is a flush.
    db = Db::open(&options, DIR).unwrap();
    assert_eq!(low(&db), Some(13));
    assert_eq!(get(&db, "a", 13).unwrap().as_deref(), Some("newest"));
    rewrite(&db);
    assert_eq!(files::check(&db).unwrap(), "");
    let file = db.live_files().remove(0);
    assert_eq!(stored(&fs, &file.path).1, [b"a", b"b"]);
    assert_eq!(get(&db, "a", 13).unwrap().as_deref(), Some("newest"));
    db.close().unwrap();
}

#[test]
fn a_row_that_is_older_than_one_written_before_it_stays_hidden() {
    let fs = MemFs::new();
    let db = Db::open(&options(&fs), DIR).unwrap();
    put(&db, "a", 9, "newest");
    let snapshot = db.snapshot();
    put(&db, "a", 4, "late");
    put(&db, "b", 4, "other");
    assert_eq!(get(&db, "a", 9).unwrap().as_deref(), Some("newest"));
    flush(&db);
    assert_eq!(get(&db, "a", 10).unwrap().as_deref(), Some("newest"));
    assert_eq!(get(&db, "b", 10).unwrap().as_deref(), Some("other"));
    drop(snapshot);
    assert_eq!(files::check(&db).unwrap(), "");
}

#[test]
fn impossible_combinations_are_refused_as_rocksdb_refuses_them() {
    let fs = MemFs::new();
    let refused = |change: fn(&mut Options)| {
        let mut options = options(&MemFs::new());
        change(&mut options);
        Db::open(&options, DIR).unwrap_err()
    };
    let concurrent = refused(|options| options.allow_concurrent_memtable_write = true);
    assert_eq!(concurrent.kind(), ErrorKind::NotSupported);
    assert!(
        concurrent.message().contains(
            "Not persisting user-defined timestamps feature is not supported in combination with concurrent memtable write."
        ),
        "{concurrent}"
    );
    let atomic = refused(|options| options.atomic_flush = true);
    assert!(
        atomic
            .message()
            .contains("is not supportedin combination with atomic flush."),
        "{atomic}"
    );
    // The option cannot change while the family has timestamps.
    let kept = options(&fs);
    let db = Db::open(&kept, DIR).unwrap();
    put(&db, "a", 3, "1");
    flush(&db);
    drop(db);
    let toggle = "Cannot toggle the persist_user_defined_timestamps flag for a column family with user-defined timestamps feature enabled.";
    let mut persists = kept.clone();
    persists.column_family.persist_user_defined_timestamps = true;
    assert_eq!(Db::open(&persists, DIR).unwrap_err().message(), toggle);
    assert_eq!(Db::open_read_only(&persists, DIR).unwrap_err().message(), toggle);
    let trimmed = Db::open_and_trim_history(&kept, DIR, &3u64.to_le_bytes()).unwrap_err();
    assert_eq!(trimmed.kind(), ErrorKind::NotSupported);
    let db = Db::open(&kept, DIR).unwrap();
    assert_eq!(get(&db, "a", 9).unwrap().as_deref(), Some("1"));
    drop(db);
    // If the options name no comparator, the comparator in the MANIFEST is used.
    let mut plain = kept.clone();
    plain.column_family.comparator = UserComparator::Bytewise;
    let db = Db::open(&plain, DIR).unwrap();
    put(&db, "a", 12, "2");
    flush(&db);
    assert_eq!(low(&db), Some(13));
    drop(db);
    plain.allow_concurrent_memtable_write = true;
    let refused = Db::open(&plain, DIR).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported);
}

#[test]
fn files_of_outside_have_none_either() {
    let fs = MemFs::new();
    let options = options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    let mut writer = SstFileWriter::new(&options);
    writer.open("/outside.sst").unwrap();
    let error = writer.put_at(b"a", &1u64.to_le_bytes(), b"1").unwrap_err();
    assert_eq!(
        error.message(),
        "persist_user_defined_timestamps flag is set to false, only minimum timestamp is accepted."
    );
    writer.put_at(b"a", &[0; 8], b"1").unwrap();
    writer.delete_range_at(b"c", b"d", &[0; 8]).unwrap();
    writer.finish().unwrap();
    db.ingest_external_file(&["/outside.sst"], &IngestExternalFileOptions::default())
        .unwrap();
    put(&db, "b", 3, "inside");
    assert_eq!(get(&db, "a", 3).unwrap().as_deref(), Some("1"));
    assert_eq!(files::check(&db).unwrap(), "");
    // A file with timestamps is refused.
    let mut with = options.clone();
    with.column_family.persist_user_defined_timestamps = true;
    let mut writer = SstFileWriter::new(&with);
    writer.open("/stamped.sst").unwrap();
    writer.put_at(b"x", &1u64.to_le_bytes(), b"1").unwrap();
    writer.finish().unwrap();
    let error = db
        .ingest_external_file(&["/stamped.sst"], &IngestExternalFileOptions::default())
        .unwrap_err();
    assert!(error.message().contains("does not persist them"), "{error}");
    // An export of the family can be imported as another one.
    flush(&db);
    let exported: ExportImportFilesMetaData = db
        .export_column_family(&db.default_column_family(), "/export")
        .unwrap();
    let copy = db
        .create_column_family_with_import("copy", &options.column_family, &[&exported], &Default::default())
        .unwrap();
    let at = ReadOptions {
        timestamp: Some(9u64.to_le_bytes().to_vec()),
        ..ReadOptions::default()
    };
    assert_eq!(
        db.get_cf_opt(&copy, b"b", &at).unwrap().as_deref(),
        Some(&b"inside"[..])
    );
    drop(copy);
    db.close().unwrap();
    drop(db);
    let mut both = options.clone();
    both.column_families = vec![("copy".to_owned(), options.column_family.clone())]
        .into_iter()
        .collect();
    let db = Db::open(&both, DIR).unwrap();
    assert_eq!(get(&db, "b", 9).unwrap().as_deref(), Some("inside"));
}

#[test]
fn a_repair_keeps_the_tables_as_they_are() {
    let fs = MemFs::new();
    let options = options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    put(&db, "a", 3, "1");
    flush(&db);
    put(&db, "b", 4, "2");
    drop(db);
    for name in fs.list(Path::new(DIR)).unwrap() {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            fs.remove(&Path::new(DIR).join(name)).unwrap();
        }
    }
    Db::repair(&options, DIR).unwrap();
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(
        ["a", "b"].map(|key| get(&db, key, 9).unwrap().unwrap()),
        ["1", "2"]
    );
    rewrite(&db);
    assert_eq!(files::check(&db).unwrap(), "");
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
