//! Timestamps below which history is dropped.

use std::sync::Arc;

use esker::{
    BottommostLevelCompaction, CompactRangeOptions, Db, ErrorKind, Options, ReadOptions, UserComparator,
    WriteBatch,
};
use vfs::MemFs;

fn at(timestamp: u64) -> [u8; 8] {
    timestamp.to_le_bytes()
}

#[test]
fn it_only_rises_and_survives_a_close() {
    let fs = MemFs::new();
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(fs),
        ..Options::default()
    };
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    for timestamp in 1..=4 {
        let mut batch = WriteBatch::new();
        batch.put_at(
            &family,
            b"key",
            &at(timestamp),
            format!("as of {timestamp}").as_bytes(),
        );
        db.write(batch).unwrap();
    }
    let read = |db: &Db, timestamp| {
        let options = ReadOptions {
            timestamp: Some(at(timestamp).to_vec()),
            ..ReadOptions::default()
        };
        db.get_cf_opt(&db.default_column_family(), b"key", &options)
    };
    assert_eq!(db.full_history_ts_low(&family).unwrap(), b"");
    assert_eq!(read(&db, 1).unwrap().unwrap(), b"as of 1");
    db.increase_full_history_ts_low(&family, &at(2)).unwrap();
    let compact = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        full_history_ts_low: Some(at(3).to_vec()),
        ..CompactRangeOptions::default()
    };
    // The compaction of a part of the keys is refused: it would leave older versions outside its range, which
    // no read could see any more.
    let partly = db.compact_range_cf_opt(&family, Some(b"a"), None, &compact);
    assert_eq!(partly.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(db.full_history_ts_low(&family).unwrap(), at(2));
    db.compact_range_cf_opt(&family, None, None, &compact).unwrap();
    assert_eq!(db.full_history_ts_low(&family).unwrap(), at(3));
    db.increase_full_history_ts_low(&family, &at(3)).unwrap();
    let back = db.increase_full_history_ts_low(&family, &at(2)).unwrap_err();
    assert_eq!(back.kind(), ErrorKind::InvalidArgument);
    let short = db.increase_full_history_ts_low(&family, b"short").unwrap_err();
    assert_eq!(short.kind(), ErrorKind::InvalidArgument);
    assert_eq!(read(&db, 2).unwrap_err().kind(), ErrorKind::InvalidArgument);
    // The newest version older than 3, which is 2, stays besides 3 and 4.
    assert_eq!(db.live_files()[0].num_entries, 3);
    db.close().unwrap();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    assert_eq!(db.full_history_ts_low(&family).unwrap(), at(3));
    assert_eq!(read(&db, 3).unwrap().unwrap(), b"as of 3");
    assert_eq!(read(&db, 4).unwrap().unwrap(), b"as of 4");
    let plain = db
        .create_column_family("plain", &Options::default().column_family)
        .unwrap();
    let none = db.full_history_ts_low(&plain).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidArgument);
}
