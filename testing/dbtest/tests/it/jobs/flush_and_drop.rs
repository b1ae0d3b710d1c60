//! A column family that is dropped during its flush.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use dbtest::gate::{Gate, GatedTables};
use esker::{CheckpointOptions, ColumnFamilyOptions, Db, ErrorKind, Options, WriteOptions};
use vfs::MemFs;

/// Creates a database with rows without a WAL in two families, and runs `flush` on another thread; `during`
/// is called when the flush is about to create its first table.
fn while_it_flushes<T: Send>(flush: impl Fn(&Db) -> T + Sync, during: impl FnOnce(&Db)) -> (T, MemFs) {
    let fs = MemFs::new();
    let gate = Arc::new(Gate::default());
    let gated = GatedTables {
        fs: fs.clone(),
        gate: gate.clone(),
    };
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(gated),
        max_background_jobs: 1,
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    let other = db
        .create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    for family in [&db.default_column_family(), &other] {
        db.put_cf_opt(family, b"key", b"value", &unlogged).unwrap();
    }
    gate.close();
    let flushed = thread::scope(|scope| {
        let flushing = scope.spawn(|| flush(&db));
        gate.wait_for(1);
        during(&db);
        gate.open();
        flushing.join().unwrap()
    });
    (flushed, fs)
}

fn drop_other(db: &Db) {
    let other = db.column_family("other").unwrap();
    db.drop_column_family(&other).unwrap();
}

#[test]
fn a_flush_that_a_drop_calls_off_does_not_succeed() {
    let flush = |db: &Db| db.flush_cf(&[db.column_family("other").unwrap()]);
    let (flushed, _) = while_it_flushes(flush, drop_other);
    assert_eq!(flushed.unwrap_err().kind(), ErrorKind::ColumnFamilyDropped);
}

#[test]
fn a_checkpoint_has_the_rows_of_the_others() {
    let checkpoint = |db: &Db| db.create_checkpoint("/checkpoint", &CheckpointOptions::default());
    let (made, fs) = while_it_flushes(checkpoint, drop_other);
    made.unwrap();
    let options = Options {
        fs: Arc::new(fs),
        ..Options::default()
    };
    let db = Db::open(&options, Path::new("/checkpoint")).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert!(db.column_family("other").is_none());
}
