//! Reads at timestamps below `full_history_ts_low` are refused, because compactions may have dropped versions
//! there.

use std::path::Path;
use std::sync::Arc;

use esker::{ColumnFamilyOptions, Db, ErrorKind, Options, ReadOptions, UserComparator};
use manifest::VersionEdit;
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

fn at(timestamp: u64) -> ReadOptions {
    ReadOptions {
        timestamp: Some(timestamp.to_le_bytes().to_vec()),
        ..ReadOptions::default()
    }
}

/// Adds an edit to the MANIFEST of a closed database, as a compaction with that option would.
fn collapse_history(fs: &MemFs, low: u64) {
    let dir = Path::new(DIR);
    let current = String::from_utf8(fs.read_file(&dir.join("CURRENT")).unwrap()).unwrap();
    let path = dir.join(current.trim_end());
    let mut records = Vec::new();
    let file = fs.open_random(&path, &Default::default()).unwrap();
    let mut reader = wal::Reader::new(file, wal::ReaderOptions::default());
    while let Some(record) = reader.read_record().unwrap() {
        records.push(record.to_vec());
    }
    let edit = VersionEdit {
        full_history_ts_low: Some(low.to_le_bytes().into()),
        ..VersionEdit::default()
    };
    let mut record = Vec::new();
    edit.encode(&mut record);
    records.push(record);
    let file = fs.create(&path, &Default::default()).unwrap();
    let mut log = wal::Writer::new(file, Default::default()).unwrap();
    records.iter().for_each(|record| log.add_record(record).unwrap());
    log.sync().unwrap();
    log.close().unwrap();
}

#[test]
fn what_may_be_incomplete_is_not_read() {
    let fs = MemFs::new();
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        column_family: ColumnFamilyOptions {
            comparator: UserComparator::BytewiseU64Ts,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(&options, DIR).unwrap();
    for timestamp in [5u64, 10, 15] {
        let key = [&b"key"[..], &timestamp.to_le_bytes()].concat();
        db.put(&key, timestamp.to_le_bytes()).unwrap();
    }
    let family = db.default_column_family();
    assert!(db.get_cf_opt(&family, b"key", &at(5)).unwrap().is_some());
    db.close().unwrap();
    drop(db);
    collapse_history(&fs, 10);
    let open: [fn(&Options) -> esker::Result<Db>; 3] = [
        |options| Db::open_read_only(options, DIR),
        |options| Db::open_as_secondary(options, DIR, "/second"),
        |options| Db::open(options, DIR),
    ];
    for open in open {
        let db = open(&options).unwrap();
        let family = db.default_column_family();
        let refused = |result: esker::Result<()>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert_eq!(
                error.message(),
                "Read timestamp: 9 is smaller than full_history_ts_low: 10"
            );
        };
        let reads = |timestamp: u64| {
            let read = at(timestamp);
            let mut iter = db.iter_opt(&read);
            iter.seek(b"key");
            let snapshot = ReadOptions {
                snapshot: Some(db.snapshot()),
                ..at(timestamp)
            };
            [
                db.get_cf_opt(&family, b"key", &read).map(drop),
                db.get_cf_opt(&family, b"key", &snapshot).map(drop),
                db.multi_get_cf_opt(&family, &[b"key"], &read).remove(0).map(drop),
                iter.status(),
            ]
        };
        reads(9).into_iter().for_each(refused);
        reads(10).into_iter().for_each(|read| read.unwrap());
        let found = db.get_cf_opt(&family, b"key", &at(12)).unwrap();
        assert_eq!(found.as_deref(), Some(&10u64.to_le_bytes()[..]));
    }
}
