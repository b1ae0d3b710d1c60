//! Tables whose newest timestamp is in no MANIFEST, as older releases of RocksDB leave them.

use std::sync::Arc;

use esker::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Options, ReadOptions, UserComparator, WriteBatch,
};
use vfs::MemFs;

use crate::numbers::{recorded, replace_manifest};

const DIR: &str = "/db";

fn at(timestamp: u64) -> [u8; 8] {
    timestamp.to_le_bytes()
}

fn put(db: &Db, key: &[u8], timestamp: u64) {
    let mut batch = WriteBatch::new();
    let value = format!("as of {timestamp}");
    batch.put_at(&db.default_column_family(), key, at(timestamp), value);
    db.write(batch).unwrap();
}

/// Writes a table, after which compactions are looked for, and waits for them. Returns the numbers of the
/// tables of the last level.
fn come_to_rest(db: &Db, key: &[u8]) -> Vec<u64> {
    put(db, key, 9);
    // Files of the last level are looked at once a snapshot was released.
    drop(db.snapshot());
    db.flush().unwrap();
    db.wait_for_compact().unwrap();
    let last = db.live_files().into_iter().filter(|file| file.level == 6);
    last.map(|file| file.number).collect()
}

/// A table is rewritten once its history has ended, by the timestamp in its properties, and only once.
#[test]
fn a_table_whose_newest_timestamp_is_unknown_comes_to_rest() {
    let fs = MemFs::new();
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    };
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    options.column_family.level0_file_num_compaction_trigger = 100;
    let db = Db::open(&options, DIR).unwrap();
    for timestamp in 1..=4 {
        put(&db, b"key", timestamp);
    }
    // With the snapshot the rows of the last level keep their sequence numbers.
    let snapshot = db.snapshot();
    let everything = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    let family = db.default_column_family();
    db.compact_range_cf_opt(&family, None, None, &everything).unwrap();
    drop((snapshot, family));
    db.close().unwrap();
    drop(db);
    let newest = || -> Vec<Vec<u8>> {
        let edits = manifest::snapshot_edits(&recorded(&fs)).into_iter();
        let files = edits.flat_map(|edit| edit.new_files);
        files.map(|(_, file)| file.max_timestamp.to_vec()).collect()
    };
    assert_eq!(newest(), [at(4)]);
    replace_manifest(&fs, recorded(&fs), |edit| {
        for (_, file) in &mut edit.new_files {
            Arc::make_mut(file).max_timestamp = Box::default();
        }
    });
    assert_eq!(newest(), [b""]);

    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    // The timestamps of a table are known once it is open.
    let read = ReadOptions {
        timestamp: Some(at(5).to_vec()),
        ..ReadOptions::default()
    };
    let found = || db.get_cf_opt(&family, b"key", &read).unwrap();
    assert_eq!(found().unwrap(), b"as of 4");
    let written = come_to_rest(&db, b"a");
    assert_eq!(written.len(), 1);
    // The newest row is newer than the end of the history, which therefore ends no version of it.
    db.increase_full_history_ts_low(&family, &at(4)).unwrap();
    assert_eq!(come_to_rest(&db, b"b"), written);
    db.increase_full_history_ts_low(&family, &at(5)).unwrap();
    let rewritten = come_to_rest(&db, b"c");
    assert_ne!(rewritten, written);
    let mut files = db.live_files().into_iter();
    let file = files.find(|file| file.number == rewritten[0]).unwrap();
    assert_eq!(file.num_entries, 1);
    assert_eq!(come_to_rest(&db, b"d"), rewritten);
    assert_eq!(found().unwrap(), b"as of 4");
}
