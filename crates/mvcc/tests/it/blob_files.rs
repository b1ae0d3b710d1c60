//! Values in blob files: versions that are stepped over are not read from there.

use std::sync::Arc;
use std::time::Duration;

use base::statistics::{Statistics, Ticker};
use esker::{CompressionType, Db, WriteOptions};
use mvcc::{
    BatchOptions, Error, GcKey, MvccReadOptions, MvccStore, RangeTombstoneOptions, Span, Timestamp, Value,
};
use vfs::{FileSystem, MemFs};

use super::model::{NOW, blobs, open_with};

const KEYS: usize = 30;
const VERSIONS: i64 = 12;
/// The length of each value in bytes. Values differ by key and version.
const LEN: usize = 300;

struct Stage {
    fs: Arc<MemFs>,
    db: Db,
    store: MvccStore,
    statistics: Arc<Statistics>,
}

fn user_key(key: usize) -> Vec<u8> {
    format!("key{key:03}").into_bytes()
}

fn value(key: usize, second: i64) -> Vec<u8> {
    let mut rng = testkit::TestRng::with_seed(key as u64 * 1000 + second as u64);
    rng.bytes(LEN)
}

/// Keys with a version in each second, and every third key deleted after the last.
fn stage(compression: CompressionType, statistics_of_versions: bool) -> Stage {
    let fs = Arc::new(MemFs::new());
    let statistics = Statistics::new();
    let db = open_with(fs.clone(), "/db", |options| {
        blobs(options, 100, compression);
        options.statistics = Some(statistics.clone());
        options.column_family.table.block_size = 4096;
        options.column_family.target_file_size_base = 1 << 20;
    });
    let options = BatchOptions {
        statistics: statistics_of_versions,
        range_tombstones: true,
        ..BatchOptions::default()
    };
    let store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
    let mut batch = store.begin(NOW);
    for key in 0..KEYS {
        for second in 1..=VERSIONS {
            let value = value(key, second);
            let time = Timestamp::from_secs(second);
            batch.put(&user_key(key), time, Value::Bytes(&value)).unwrap();
        }
        if key % 3 == 0 {
            let time = Timestamp::from_secs(VERSIONS + 1);
            batch.delete(&user_key(key), time).unwrap();
        }
    }
    batch.commit(&WriteOptions::default()).unwrap();
    db.flush().unwrap();
    Stage {
        fs,
        db,
        store,
        statistics,
    }
}

impl Stage {
    /// The number of blobs that were read during `run`.
    fn blobs<T>(&self, run: impl FnOnce(&MvccStore) -> T) -> (u64, T) {
        let bytes = || self.statistics.get_ticker_count(Ticker::BlobDbBlobFileBytesRead);
        let before = bytes();
        let outcome = run(&self.store);
        // Lengths are those of the stored form. Random bytes do not compress, and grow only a little.
        ((bytes() - before) / (LEN as u64 + 5), outcome)
    }
}

#[test]
fn a_scan_reads_no_more_blobs_than_it_returns_rows() {
    for compression in [CompressionType::None, CompressionType::Lz4] {
        let stage = stage(compression, true);
        for reverse in [false, true] {
            for second in [1, 4, VERSIONS, VERSIONS + 5] {
                for max_keys in [None, Some(7)] {
                    let options = MvccReadOptions {
                        reverse,
                        max_keys,
                        ..MvccReadOptions::default()
                    };
                    let at = Timestamp::from_secs(second);
                    let (blobs, found) = stage.blobs(|store| store.scan(Span::ALL, at, &options).unwrap());
                    assert_eq!(blobs, found.rows.len(), "at {second}, reverse {reverse}");
                    let written = second.min(VERSIONS);
                    for row in found.rows.iter() {
                        let key: usize = String::from_utf8_lossy(&row.user_key[3..]).parse().unwrap();
                        assert_eq!(row.timestamp, Timestamp::from_secs(written));
                        assert_eq!(row.value().unwrap(), Some(Value::Bytes(&value(key, written))));
                    }
                    if max_keys.is_none() {
                        let deleted = if second > VERSIONS { KEYS / 3 } else { 0 };
                        assert_eq!(found.rows.len() as usize, KEYS - deleted);
                    }
                }
            }
        }
    }
}

/// A row that is too large to be returned is not read either, where its size is known.
#[test]
fn a_row_that_is_too_large_is_not_read() {
    let stage = stage(CompressionType::None, true);
    for reverse in [false, true] {
        let options = MvccReadOptions {
            reverse,
            target_bytes: Some(1000),
            ..MvccReadOptions::default()
        };
        let at = Timestamp::from_secs(5);
        let (blobs, found) = stage.blobs(|store| store.scan(Span::ALL, at, &options).unwrap());
        assert_eq!((blobs, found.rows.len()), (3, 3));
        assert!(found.resume.unwrap().next_bytes > LEN as u64);
    }
}

#[test]
fn what_is_hidden_is_not_read() {
    let stage = stage(CompressionType::None, true);
    let mut batch = stage.store.begin(NOW);
    let (start, end) = (user_key(5), user_key(25));
    let (blobs, _) = stage.blobs(|_| {
        batch
            .delete_range_using_tombstone(
                Span::new(&start, &end),
                Timestamp::from_secs(20),
                &RangeTombstoneOptions::default(),
            )
            .unwrap()
    });
    assert_eq!(blobs, 0, "what was live is counted by its size");
    batch.commit(&WriteOptions::default()).unwrap();
    for reverse in [false, true] {
        let options = MvccReadOptions {
            reverse,
            ..MvccReadOptions::default()
        };
        let at = Timestamp::from_secs(30);
        let (blobs, found) = stage.blobs(|store| store.scan(Span::ALL, at, &options).unwrap());
        assert_eq!(blobs, found.rows.len());
    }
    let get = |key: usize, second| {
        let at = Timestamp::from_secs(second);
        stage.blobs(|store| {
            store
                .get(&user_key(key), at, &MvccReadOptions::default())
                .unwrap()
        })
    };
    assert!(matches!(get(7, 30), (0, found) if found.found.is_none()));
    assert!(matches!(get(7, 19), (1, found) if found.found.is_some()));
    assert!(matches!(get(27, 30), (0, found) if found.found.is_none()));
}

#[test]
fn garbage_and_counts_read_none() {
    let stage = stage(CompressionType::None, true);
    let (blobs, _) = stage.blobs(|store| {
        let counted = store.recount(NOW).unwrap();
        assert_eq!(store.stats(NOW), Some(counted));
        let reader = store.reader(Timestamp::MAX).unwrap();
        reader.find_split_key(Span::ALL, 20_000).unwrap().unwrap();
        let mut batch = store.begin(NOW);
        let time = Timestamp::from_secs(50);
        batch.put(b"key003", time, Value::Bytes(b"new")).unwrap();
        batch.delete(b"key004", time).unwrap();
        let (start, end) = (user_key(10), user_key(20));
        let deleted = batch.delete_range(Span::new(&start, &end), time, None, false);
        assert_eq!(deleted.unwrap().count, 7);
        batch
            .revert_to(Span::ALL, Timestamp::from_secs(49), &Default::default())
            .unwrap();
        let mut keys = [GcKey {
            user_key: user_key(1),
            timestamp: Timestamp::from_secs(3),
        }];
        assert_eq!(batch.garbage_collect(&mut keys).unwrap().versions, 3);
        batch.commit(&WriteOptions::default()).unwrap();
        let report = store
            .collect_garbage(Duration::from_secs(80), NOW, &Default::default())
            .unwrap();
        assert!(report.removed.versions > 300, "{report:?}");
        assert_eq!(store.stats(NOW), Some(store.recount(NOW).unwrap()));
    });
    assert_eq!(blobs, 0);
}

/// A compressed value must be read to be weighed, but not if nothing weighs it.
#[test]
fn a_collection_without_statistics_reads_none_whatever_they_are_compressed_by() {
    let stage = stage(CompressionType::Lz4, false);
    let (blobs, report) = stage.blobs(|store| {
        store
            .collect_garbage(Duration::from_secs(80), NOW, &Default::default())
            .unwrap()
    });
    assert!(report.removed.versions > 300, "{report:?}");
    assert_eq!(blobs, 0);
}

/// A blob that cannot be read only fails the reads that return it.
#[test]
fn damage_is_told_by_whoever_returns_the_value() {
    let Stage { fs, db, store, .. } = stage(CompressionType::None, true);
    let files = db.blob_files(&db.default_column_family());
    let path = files[0].path.clone();
    db.close().unwrap();
    drop((store, db));
    let mut bytes = fs.read_file(&path).unwrap();
    let value = value(4, 6);
    let at = bytes.windows(LEN).position(|window| window == value).unwrap();
    bytes[at + 7] ^= 1;
    fs.write_file(&path, &bytes).unwrap();
    let db = open_with(fs, "/db", |options| blobs(options, 100, CompressionType::None));
    let store = MvccStore::open(&db, &db.default_column_family(), BatchOptions::default(), NOW).unwrap();
    for reverse in [false, true] {
        let options = MvccReadOptions {
            reverse,
            ..MvccReadOptions::default()
        };
        let scan = |second| store.scan(Span::ALL, Timestamp::from_secs(second), &options);
        for second in [5, 7, 30] {
            scan(second).unwrap();
        }
        assert!(matches!(scan(6), Err(Error::Engine(error)) if error.is_corruption()));
    }
}

#[test]
fn blob_files_go_with_their_garbage() {
    let stage = stage(CompressionType::None, true);
    let size = |db: &Db| {
        let files = db.blob_files(&db.default_column_family());
        files.iter().map(|file| file.size).sum::<u64>()
    };
    let before = size(&stage.db);
    stage
        .store
        .collect_garbage(Duration::from_secs(80), NOW, &Default::default())
        .unwrap();
    let family = stage.db.default_column_family();
    let all = esker::CompactRangeOptions {
        blob_garbage_collection_policy: esker::BlobGarbageCollectionPolicy::Force,
        blob_garbage_collection_age_cutoff: Some(1.0),
        bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
        ..Default::default()
    };
    stage.db.flush().unwrap();
    stage.db.compact_range_cf_opt(&family, None, None, &all).unwrap();
    assert!(size(&stage.db) * 10 < before, "{} of {before}", size(&stage.db));
}
