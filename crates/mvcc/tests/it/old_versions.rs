//! Versions after newer ones in blob files, where compactions leave them alone until they are garbage.

use std::sync::Arc;
use std::time::Duration;

use base::statistics::{Statistics, Ticker};
use esker::{CompactRangeOptions, CompressionType, Db, WriteOptions};
use mvcc::{BatchOptions, CompactionGc, MvccReadOptions, MvccStore, RevertOptions, Span, Timestamp, Value};
use vfs::{FileSystem, MemFs};

use super::model::{NOW, old_blobs, open_with};

const KEYS: usize = 40;
/// The length of each value.
const LEN: usize = 300;

struct Stage {
    db: Db,
    store: MvccStore,
    statistics: Arc<Statistics>,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_secs(second)
}

fn user_key(key: usize) -> Vec<u8> {
    format!("key{key:03}").into_bytes()
}

fn value(key: usize, second: i64) -> Vec<u8> {
    let mut rng = testkit::TestRng::with_seed(key as u64 * 1000 + second as u64);
    rng.bytes(LEN)
}

/// Older versions of at least `min` bytes go to blob files; 0: none do.
fn open(fs: Arc<dyn FileSystem>, min: u64) -> Stage {
    let statistics = Statistics::new();
    let gc = CompactionGc::new();
    let db = open_with(fs, "/db", |options| {
        options.statistics = Some(statistics.clone());
        if min > 0 {
            old_blobs(options, min, CompressionType::None);
        }
        let family = &mut options.column_family;
        family.target_file_size_base = 1 << 20;
        gc.configure(family);
    });
    let (family, options) = (db.default_column_family(), BatchOptions::default());
    let store = MvccStore::open_with_compactions(&db, &family, options, NOW, Some(gc)).unwrap();
    Stage {
        db,
        store,
        statistics,
    }
}

impl Stage {
    fn put_all(&self, second: i64) {
        let mut batch = self.store.begin(NOW);
        for key in 0..KEYS {
            let value = value(key, second);
            batch
                .put(&user_key(key), at(second), Value::Bytes(&value))
                .unwrap();
        }
        batch.commit(&WriteOptions::default()).unwrap();
    }

    fn flush(&self) {
        self.db.flush().unwrap();
    }

    fn compact(&self) {
        let family = self.db.default_column_family();
        let all = CompactRangeOptions {
            bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.db.compact_range_cf_opt(&family, None, None, &all).unwrap();
    }

    /// The number of live blobs.
    fn blobs(&self) -> u64 {
        let files = self.db.blob_files(&self.db.default_column_family());
        let live = files
            .iter()
            .map(|file| file.total_blob_count - file.garbage_blob_count);
        live.sum()
    }

    fn blob_bytes_read(&self) -> u64 {
        self.statistics.get_ticker_count(Ticker::BlobDbBlobFileBytesRead)
    }

    /// Checks that a reader at `second` finds the value of `written` for every key; and that the statistics
    /// are correct.
    fn check(&self, second: i64, written: i64) {
        self.check_at(at(second), written);
    }

    /// Checks as `check` does, at any time and not only at a full second.
    fn check_at(&self, time: Timestamp, written: i64) {
        for reverse in [false, true] {
            let options = MvccReadOptions {
                reverse,
                ..MvccReadOptions::default()
            };
            let found = self.store.scan(Span::ALL, time, &options).unwrap();
            assert_eq!(found.rows.len() as usize, KEYS);
            for row in found.rows.iter() {
                let key: usize = String::from_utf8_lossy(&row.user_key[3..]).parse().unwrap();
                assert_eq!(row.timestamp, at(written));
                assert_eq!(row.value().unwrap(), Some(Value::Bytes(&value(key, written))));
            }
        }
        assert_eq!(self.store.stats(NOW).unwrap(), self.store.recount(NOW).unwrap());
    }
}

/// Versions that a flush writes, and versions that meet in a compaction.
#[test]
fn the_newest_stay_and_cost_no_access() {
    let stage = open(Arc::new(MemFs::new()), 100);
    (1..=3).for_each(|second| stage.put_all(second));
    stage.flush();
    assert_eq!(stage.blobs(), 2 * KEYS as u64);
    stage.put_all(4);
    stage.flush();
    assert_eq!(stage.blobs(), 2 * KEYS as u64, "3 is not known to be older yet");
    stage.compact();
    assert_eq!(stage.blobs(), 3 * KEYS as u64);
    let before = stage.blob_bytes_read();
    stage.check(9, 4);
    let mut batch = stage.store.begin(NOW);
    batch.put(b"key000", at(8), Value::Bytes(&value(0, 8))).unwrap();
    drop(batch);
    assert_eq!(
        stage.blob_bytes_read(),
        before,
        "the newest versions are in the tables"
    );
    for second in 1..4 {
        stage.check(second, second);
    }
    assert!(stage.blob_bytes_read() > before);
}

/// Small values stay in the tables, and so do deletions.
#[test]
fn small_values_and_deletions_stay() {
    let stage = open(Arc::new(MemFs::new()), LEN as u64 * 2);
    (1..=3).for_each(|second| stage.put_all(second));
    stage.flush();
    assert_eq!(stage.blobs(), 0);
    let stage = open(Arc::new(MemFs::new()), 1);
    stage.put_all(1);
    let mut batch = stage.store.begin(NOW);
    for key in 0..KEYS {
        batch.delete(&user_key(key), at(2)).unwrap();
    }
    batch.commit(&WriteOptions::default()).unwrap();
    stage.put_all(3);
    stage.flush();
    assert_eq!(stage.blobs(), KEYS as u64, "a deletion has no value");
    stage.check(1, 1);
    stage.check(3, 3);
}

/// A version that becomes the newest again is read from its blob file.
#[test]
fn what_a_revert_brings_back_is_read() {
    let stage = open(Arc::new(MemFs::new()), 100);
    (1..=3).for_each(|second| stage.put_all(second));
    stage.flush();
    let mut batch = stage.store.begin(NOW);
    batch
        .revert_to(Span::ALL, at(2), &RevertOptions::default())
        .unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    stage.check(9, 2);
    stage.flush();
    stage.compact();
    stage.check(9, 2);
    assert_eq!(stage.blobs(), 2 * KEYS as u64);
}

/// The bytes that compactions have written, in tables and blob files, after a history has come in level by
/// level.
fn written(min: u64) -> u64 {
    let stage = open(Arc::new(MemFs::new()), min);
    for second in 1..=10 {
        stage.put_all(second);
        stage.flush();
        stage.compact();
    }
    stage.check(9, 9);
    stage.statistics.get_ticker_count(Ticker::CompactWriteBytes)
}

#[test]
fn compactions_do_not_write_them_again() {
    let (with, without) = (written(100), written(0));
    // A version is written once to a table and once to a blob file, instead of once for each later version.
    assert!(with * 2 < without, "{with} and {without} bytes");
}

/// Compactions collect garbage in blob files without a request: most data is in the values of blob files, and
/// the row in the table that replaces one is larger than its blob index.
#[test]
fn garbage_in_blob_files_leaves_by_itself() {
    let stage = open(Arc::new(MemFs::new()), 100);
    (1..=2).for_each(|second| stage.put_all(second));
    stage.flush();
    stage.compact();
    assert_eq!(stage.blobs(), KEYS as u64);
    let table_bytes: u64 = stage.db.live_files().iter().map(|file| file.size).sum();
    let before = stage.store.stats(NOW).unwrap();
    let ttl = Duration::from_nanos((NOW - at(2).wall) as u64);
    let garbage = stage.store.collect_in_compactions(ttl, NOW).unwrap();
    assert_eq!(garbage.val_count, KEYS as i64);
    stage.db.wait_for_compact().unwrap();
    assert_eq!(stage.blobs(), 0);
    assert!(stage.db.blob_files(&stage.db.default_column_family()).is_empty());
    let mut left = before;
    left -= garbage;
    assert_eq!(stage.store.stats(NOW).unwrap(), left);
    stage.check(9, 2);
    let now: u64 = stage.db.live_files().iter().map(|file| file.size).sum();
    assert!(
        now < table_bytes && now * 10 > table_bytes * 6,
        "{now} of {table_bytes}"
    );
}

/// A collection that deletes also frees blob files, once compactions have met the deletions.
#[test]
fn what_is_deleted_leaves_the_blob_files() {
    let stage = open(Arc::new(MemFs::new()), 100);
    (1..=6).for_each(|second| stage.put_all(second));
    stage.flush();
    let read = stage.blob_bytes_read();
    let ttl = Duration::from_nanos((NOW - at(5).wall) as u64);
    let report = stage
        .store
        .collect_garbage(ttl, NOW, &Default::default())
        .unwrap();
    assert_eq!(report.removed.versions, 4 * KEYS as u64);
    assert_eq!(stage.blob_bytes_read(), read);
    stage.flush();
    stage.compact();
    assert_eq!(stage.blobs(), KEYS as u64);
    stage.check_at(at(5).next(), 5);
    stage.check(9, 6);
}
