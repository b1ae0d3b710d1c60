//! Range deletions count with the bytes they delete: the more a file of tombstones frees below it, the sooner
//! it is compacted.

use std::sync::Arc;

use dbtest::by_hand::{compact, flush, rewrite};
use dbtest::files;
use esker::{CompressionType, Db, DbIterator, Options, ReadOptions, WriteBatch};
use vfs::MemFs;

const KEYS: usize = 2000;
const VALUE: usize = 500;

fn key(at: usize) -> Vec<u8> {
    format!("key{at:05}").into_bytes()
}

/// Opens a database for one megabyte in one file of the last level; the upper levels are limited to a tenth
/// of that.
fn open(dynamic: bool) -> Db {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.compression = CompressionType::None;
    family.max_bytes_for_level_base = 100_000;
    family.level_compaction_dynamic_level_bytes = dynamic;
    family.max_bytes_for_level_multiplier = 1.0;
    let db = Db::open(&options, "/db").unwrap();
    for at in 0..KEYS {
        db.put(key(at), [7; VALUE]).unwrap();
    }
    compact(&db);
    let files = db.live_files();
    assert!(files.len() == 1 && files[0].level > 0);
    db
}

fn delete_range(db: &Db, from: usize, to: usize) {
    let mut batch = WriteBatch::new();
    batch.delete_range(&key(from), &key(to));
    db.write(batch).unwrap();
}

fn bytes(db: &Db) -> u64 {
    db.live_files().iter().map(|file| file.size).sum()
}

fn count(iter: &mut DbIterator) -> usize {
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    iter.status().unwrap();
    count
}

#[test]
fn what_deletes_much_is_compacted_by_itself() {
    for dynamic in [true, false] {
        let db = open(dynamic);
        let before = bytes(&db);
        // The range deletion covers only part of the file: a fully covered file would be dropped without a
        // compaction.
        delete_range(&db, 100, 1900);
        flush(&db);
        db.wait_for_compact().unwrap();
        assert!(
            bytes(&db) < before / 4,
            "{} of {before}, dynamic {dynamic}: {:?}",
            bytes(&db),
            db.live_files()
        );
        assert_eq!(count(&mut db.iter()), 200);
        files::check(&db).unwrap();
    }
}

#[test]
fn what_deletes_little_waits() {
    let db = open(true);
    delete_range(&db, 100, 200);
    flush(&db);
    db.wait_for_compact().unwrap();
    assert_eq!(db.live_files().iter().filter(|file| file.level == 0).count(), 1);
    // Many tombstones that delete little each count with their sum.
    for at in 0..19 {
        delete_range(&db, at * 100 + 10, at * 100 + 90);
    }
    flush(&db);
    db.wait_for_compact().unwrap();
    assert!(db.live_files().iter().all(|file| file.level > 0));
    assert!(bytes(&db) < (KEYS * VALUE / 2) as u64);
    files::check(&db).unwrap();
}

/// The tombstone moves to the last level although a snapshot keeps the deleted rows, and then no compaction
/// is due.
#[test]
fn a_snapshot_keeps_what_is_deleted() {
    for dynamic in [true, false] {
        let db = open(dynamic);
        let read = ReadOptions {
            snapshot: Some(db.snapshot()),
            ..ReadOptions::default()
        };
        delete_range(&db, 100, 1900);
        flush(&db);
        db.wait_for_compact().unwrap();
        assert_eq!(count(&mut db.iter_opt(&read)), KEYS);
        assert_eq!(count(&mut db.iter()), 200);
        drop(read);
        rewrite(&db);
        assert!(bytes(&db) < (KEYS * VALUE / 4) as u64);
    }
}
