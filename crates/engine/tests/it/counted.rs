//! Tests of counters that cannot be disabled.

use esker::{ColumnFamilyOptions, Db, Options, Ticker, WriteBatch, WriteOptions};

#[test]
fn written_bytes_and_levels() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(&options, dir.path().join("db")).unwrap();
    let count = |ticker| db.statistics().get(ticker);
    assert_eq!((count(Ticker::BytesWritten), count(Ticker::WalBytes)), (0, 0));

    let family = db.default_column_family();
    let write = WriteOptions::default();
    db.put_cf_opt(&family, b"key", [1; 100], &write).unwrap();
    let one = count(Ticker::BytesWritten);
    // A batch has a header of 12 bytes, the kind of the operation, and two lengths.
    assert_eq!(one, 12 + 1 + 1 + 3 + 1 + 100);
    assert_eq!(
        count(Ticker::WalBytes),
        one + 7,
        "one record with a header of 7 bytes"
    );

    let mut batch = WriteBatch::new();
    batch.put_cf(&family, b"one", &[2; 50]);
    batch.delete_cf(&family, b"two");
    let size = batch.data_size() as u64;
    db.write_opt(batch, &write).unwrap();
    assert_eq!(count(Ticker::BytesWritten), one + size);
    assert_eq!(count(Ticker::WalBytes), one + size + 2 * 7);

    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&family, b"key", [1; 100], &unlogged).unwrap();
    assert_eq!(count(Ticker::BytesWritten), 2 * one + size);
    assert_eq!(count(Ticker::WalBytes), one + size + 2 * 7, "nothing was logged");

    assert!(
        db.levels(&family)
            .iter()
            .all(|level| level.files == 0 && level.size == 0)
    );
    db.flush_cf(std::slice::from_ref(&family)).unwrap();
    let levels = db.levels(&family);
    let files = db.live_files();
    assert_eq!(
        (levels[0].level, levels[0].files, levels[0].size),
        (0, 1, files[0].size)
    );
    assert!(levels[1..].iter().all(|level| level.files == 0));
    db.close().unwrap();
}
