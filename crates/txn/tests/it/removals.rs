//! Rows that disappear without a tombstone: tables dropped by range, and ranges that ingested files replace.

use std::path::Path;

use esker::{Db, IngestExternalFileArg, IngestExternalFileOptions, RangeOpt, SstFileWriter, WriteOptions};
use esker_txn::{OptimisticTransactionOptions, TransactionOptions};
use vfs::MemFs;

use super::common::*;

/// Removes the keys from `b` to `d`.
type Removal = fn(&Db, &MemFs);

fn delete_files(db: &Db, _: &MemFs) {
    db.delete_files_in_range(&family(db), Some(b"b"), Some(b"d"))
        .unwrap();
}

fn try_to_replace(db: &Db, fs: &MemFs) -> base::Result<u64> {
    let mut writer = SstFileWriter::new(&options(fs));
    writer.open(Path::new("/replaces.sst")).unwrap();
    writer.put(b"c", b"2").unwrap();
    writer.finish().unwrap();
    let file_options = IngestExternalFileOptions {
        snapshot_consistency: false,
        ..IngestExternalFileOptions::default()
    };
    let mut arg = IngestExternalFileArg::new(&family(db), ["/replaces.sst"], file_options);
    arg.atomic_replace_range = Some(RangeOpt {
        start: Some(b"b".to_vec()),
        limit: Some(b"e".to_vec()),
    });
    db.ingest_external_files(&[arg])
}

fn replace(db: &Db, fs: &MemFs) {
    try_to_replace(db, fs).unwrap();
}

const REMOVALS: [(&str, Removal); 2] = [
    ("delete_files_in_range", delete_files),
    ("atomic_replace_range", replace),
];

/// Fills a table in the last level with `b` and `d`.
fn fill(db: &Db) {
    db.put(b"b", b"1").unwrap();
    db.put(b"d", b"1").unwrap();
    flush(db);
    compact(db);
}

#[test]
fn an_optimistic_transaction_notices_tables_that_go() {
    for (name, remove) in REMOVALS {
        let fs = MemFs::new();
        let db = open_optimistic(&fs);
        let family = family(db.db());
        fill(db.db());
        let begin =
            || db.begin_transaction(&WriteOptions::default(), &OptimisticTransactionOptions::default());
        let (mut inside, mut absent, mut outside) = (begin(), begin(), begin());
        assert_eq!(read(&mut inside, &family, b"d"), "1");
        assert_eq!(read(&mut absent, &family, b"c"), "-");
        assert_eq!(read(&mut outside, &family, b"e"), "-");
        remove(db.db(), &fs);
        let mut later = begin();
        assert_eq!(read(&mut later, &family, b"d"), "-", "{name}");
        // The transaction's own write makes validation look at the queue of recent writes; without it, it
        // looks only at the recorded removals.
        inside.put(&family, b"x", b"1").unwrap();
        assert_eq!(text(inside.commit()), BUSY, "{name}");
        assert_eq!(
            text(absent.commit()),
            BUSY,
            "{name}: a key of the range that was not there"
        );
        outside.put(&family, b"y", b"1").unwrap();
        assert_eq!(text(outside.commit()), "ok", "{name}");
        later.put(&family, b"z", b"1").unwrap();
        assert_eq!(text(later.commit()), "ok", "{name}: it began afterwards");
    }
}

#[test]
fn a_transaction_with_locks_and_a_snapshot_notices_tables_that_go() {
    for (name, remove) in REMOVALS {
        let fs = MemFs::new();
        let db = open(&fs);
        let family = family(db.db());
        fill(db.db());
        let with_snapshot = TransactionOptions {
            set_snapshot: true,
            ..TransactionOptions::default()
        };
        let begin = || db.begin_transaction(&WriteOptions::default(), &with_snapshot);
        let mut before = begin();
        remove(db.db(), &fs);
        let mut after = begin();
        assert_eq!(text(before.put(&family, b"b", b"2")), BUSY, "{name}");
        assert_eq!(read(&mut before, &family, b"c"), BUSY, "{name}");
        assert_eq!(text(before.put(&family, b"a", b"2")), "ok", "{name}");
        assert_eq!(text(after.put(&family, b"b", b"2")), "ok", "{name}");
        after.commit().unwrap();
    }
}

#[test]
fn what_fails_to_replace_leaves_no_note() {
    let fs = MemFs::new();
    let db = open_optimistic(&fs);
    let family = family(db.db());
    // A table that has keys of the range and others.
    db.db().put(b"a", b"1").unwrap();
    db.db().put(b"d", b"1").unwrap();
    flush(db.db());
    let mut reads = db.begin_transaction(&WriteOptions::default(), &OptimisticTransactionOptions::default());
    assert_eq!(read(&mut reads, &family, b"d"), "1");
    let error = try_to_replace(db.db(), &fs).unwrap_err().to_string();
    assert!(error.contains("partially overlaps"), "{error}");
    delete_files(db.db(), &fs);
    reads.put(&family, b"d", b"2").unwrap();
    assert_eq!(text(reads.commit()), "ok", "nothing went");
}
