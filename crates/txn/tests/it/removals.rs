//! Rows that disappear without a tombstone: tables dropped by range, and ranges that ingested files replace.

use std::path::Path;
use std::sync::{Arc, Mutex};

use esker::{
    Db, IngestExternalFileArg, IngestExternalFileOptions, Options, RangeOpt, SstFileWriter, WriteOptions,
};
use esker_txn::{OptimisticTransactionDB, OptimisticTransactionOptions, TransactionOptions};
use vfs::{Action, FaultFs, MemFs, Op, Rule};

use super::common::*;

/// Removes the keys from `b` to `d`.
type Removal = fn(&Db, &MemFs);

fn delete_files(db: &Db, _: &MemFs) {
    db.delete_files_in_range(&family(db), Some(b"b"), Some(b"d"))
        .unwrap();
}

fn write_c(fs: &MemFs) {
    let mut writer = SstFileWriter::new(&options(fs));
    writer.open(Path::new("/replaces.sst")).unwrap();
    writer.put(b"c", b"2").unwrap();
    writer.finish().unwrap();
}

fn try_to_replace(db: &Db, fs: &MemFs) -> base::Result<u64> {
    write_c(fs);
    let file_options = IngestExternalFileOptions {
        snapshot_consistency: false,
        allow_blocking_flush: false,
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
        // The transaction's own write makes validation look at the queue of recent writes; without a write of
        // its own, validation looks only at the recorded removals of ranges.
        inside.put_cf(&family, b"x", b"1").unwrap();
        assert_eq!(text(inside.commit()), BUSY, "{name}");
        assert_eq!(
            text(absent.commit()),
            BUSY,
            "{name}: a key of the range that was not there"
        );
        outside.put_cf(&family, b"y", b"1").unwrap();
        assert_eq!(text(outside.commit()), "ok", "{name}");
        later.put_cf(&family, b"z", b"1").unwrap();
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
        assert_eq!(text(before.put_cf(&family, b"b", b"2")), BUSY, "{name}");
        assert_eq!(read(&mut before, &family, b"c"), BUSY, "{name}");
        assert_eq!(text(before.put_cf(&family, b"a", b"2")), "ok", "{name}");
        assert_eq!(text(after.put_cf(&family, b"b", b"2")), "ok", "{name}");
        after.commit().unwrap();
    }
}

#[test]
fn what_fails_to_replace_leaves_no_note() {
    let fs = MemFs::new();
    let db = open_optimistic(&fs);
    let family = family(db.db());
    // The memtable has a row in the range, which the ingestion must not flush.
    db.db().put(b"d", b"1").unwrap();
    let mut reads = db.begin_transaction(&WriteOptions::default(), &OptimisticTransactionOptions::default());
    assert_eq!(read(&mut reads, &family, b"d"), "1");
    let error = try_to_replace(db.db(), &fs).unwrap_err().to_string();
    assert!(error.contains("requires flush"), "{error}");
    delete_files(db.db(), &fs);
    reads.put_cf(&family, b"d", b"2").unwrap();
    assert_eq!(text(reads.commit()), "ok", "nothing went");
}

/// A transaction reads a key at a higher sequence number than that of a file, before the file is installed,
/// because rows are written meanwhile.
#[test]
fn a_transaction_that_reads_beside_an_ingestion_notices_the_file() {
    let fs = MemFs::new();
    let faults = FaultFs::new(Arc::new(fs.clone()));
    let over = Options {
        fs: Arc::new(faults.clone()),
        ..options(&fs)
    };
    let db = Arc::new(OptimisticTransactionDB::open(&over, DIR).unwrap());
    let family = family(db.db());
    db.db().put(b"c", b"1").unwrap();
    flush(db.db());
    write_c(&fs);
    let begun = Arc::new(Mutex::new(Vec::new()));
    let act = {
        let (db, begun, family) = (db.clone(), begun.clone(), family.clone());
        move |_: Op, _: &Path| {
            db.db().put(b"x", b"beside").unwrap();
            let options = OptimisticTransactionOptions::default();
            let mut transaction = db.begin_transaction(&WriteOptions::default(), &options);
            assert_eq!(read(&mut transaction, &family, b"c"), "1");
            transaction.put_cf(&family, b"y", b"1").unwrap();
            begun.lock().unwrap().push(transaction);
        }
    };
    faults.add(
        Rule::new(Action::Call(Arc::new(act)))
            .on([Op::Append])
            .path_contains("MANIFEST")
            .times(1),
    );
    // With `snapshot_consistency` the transaction would wait for the ingestion.
    let inconsistent = IngestExternalFileOptions {
        snapshot_consistency: false,
        ..IngestExternalFileOptions::default()
    };
    db.db()
        .ingest_external_file(&["/replaces.sst"], &inconsistent)
        .unwrap();
    faults.clear_rules();
    let transactions = std::mem::take(&mut *begun.lock().unwrap());
    assert_eq!(transactions.len(), 1);
    for mut transaction in transactions {
        assert_eq!(text(transaction.commit()), BUSY);
    }
    let mut later = db.begin_transaction(&WriteOptions::default(), &OptimisticTransactionOptions::default());
    assert_eq!(read(&mut later, &family, b"c"), "2");
    later.put_cf(&family, b"y", b"2").unwrap();
    assert_eq!(text(later.commit()), "ok");
}
