//! Opens that drop the newest part of a history.

use std::sync::Arc;

use dbtest::settings;
use esker::{Db, ErrorKind, Options, ReadOptions, UserComparator, WriteBatch};
use vfs::MemFs;

fn at(timestamp: u64) -> [u8; 8] {
    timestamp.to_le_bytes()
}

fn stamped() -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    let mut stamped = options.column_family.clone();
    stamped.comparator = UserComparator::BytewiseU64Ts;
    options.column_families.insert("stamped".to_owned(), stamped);
    options.create_missing_column_families = true;
    options
}

fn put(db: &Db, key: &[u8], timestamp: u64) {
    let family = db.column_family("stamped").unwrap();
    let mut batch = WriteBatch::new();
    batch.put_at(&family, key, &at(timestamp), &at(timestamp));
    db.write(batch).unwrap();
}

fn newest(db: &Db, key: &[u8]) -> Option<Vec<u8>> {
    let options = ReadOptions {
        timestamp: Some(at(u64::MAX).to_vec()),
        ..ReadOptions::default()
    };
    let family = db.column_family("stamped").unwrap();
    db.get_cf_opt(&family, key, &options).unwrap()
}

/// The numbers of the tables of the family with timestamps.
fn tables(db: &Db) -> Vec<u64> {
    let files = db.live_files().into_iter();
    let of_family = files.filter(|file| file.column_family == "stamped");
    of_family.map(|file| file.number).collect()
}

#[test]
fn only_tables_with_newer_rows_are_rewritten() {
    let options = stamped();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.column_family("stamped").unwrap();
    db.put(b"plain", b"stays").unwrap();
    put(&db, b"a", 1);
    db.flush_cf(std::slice::from_ref(&family)).unwrap();
    let old = tables(&db);
    put(&db, b"a", 5);
    put(&db, b"b", 3);
    let mut batch = WriteBatch::new();
    batch.delete_range_at(&family, b"b", b"z", &at(6));
    db.write(batch).unwrap();
    db.flush_cf(&[family]).unwrap();
    put(&db, b"c", 7);
    db.close().unwrap();
    let db = Db::open_and_trim_history(&options, "/db", &at(4)).unwrap();
    assert_eq!(newest(&db, b"a"), Some(at(1).to_vec()));
    assert_eq!(newest(&db, b"b"), Some(at(3).to_vec()));
    assert_eq!(newest(&db, b"c"), None, "the row was only in the WAL");
    assert_eq!(db.get(b"plain").unwrap().unwrap(), b"stays");
    let left = tables(&db);
    assert_eq!(left.len(), 2, "a table without rows is gone");
    assert!(left.contains(&old[0]), "the table that has no newer row stays");
    db.close().unwrap();
    // An empty timestamp trims nothing.
    let db = Db::open_and_trim_history(&options, "/db", b"").unwrap();
    assert_eq!(newest(&db, b"b"), Some(at(3).to_vec()));
}

/// FIFO never merges files of different ages, and a trimmed file keeps its place among them.
#[test]
fn a_family_of_fifo_is_trimmed_too() {
    let mut options = stamped();
    let family = options.column_families.get_mut("stamped").unwrap();
    settings::set_family(family, "compaction_style", "kCompactionStyleFIFO").unwrap();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.column_family("stamped").unwrap();
    for timestamp in 1..=6 {
        put(&db, b"k", timestamp);
        put(&db, &[b'0' + timestamp as u8], timestamp);
        put(&db, b"k", timestamp + 3);
        db.flush_cf(std::slice::from_ref(&family)).unwrap();
    }
    db.close().unwrap();
    let db = Db::open_and_trim_history(&options, "/db", &at(4)).unwrap();
    assert_eq!(tables(&db).len(), 4);
    assert_eq!(newest(&db, b"k"), Some(at(4).to_vec()));
    assert_eq!(newest(&db, b"4"), Some(at(4).to_vec()));
    assert_eq!(newest(&db, b"5"), None);
}

#[test]
fn what_cannot_be_trimmed_is_refused() {
    let options = stamped();
    let db = Db::open(&options, "/db").unwrap();
    put(&db, b"a", 5);
    db.close().unwrap();
    let short = Db::open_and_trim_history(&options, "/db", b"short").unwrap_err();
    assert_eq!(short.kind(), ErrorKind::InvalidArgument);
    let in_memory = Options {
        avoid_flush_during_recovery: true,
        ..options.clone()
    };
    let refused = Db::open_and_trim_history(&in_memory, "/db", &at(1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let db = Db::open(&options, "/db").unwrap();
    assert_eq!(newest(&db, b"a"), Some(at(5).to_vec()));
}
