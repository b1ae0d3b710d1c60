//! The row cache: what a Get finds there is what the tables have.

use std::sync::Arc;

use dbtest::by_hand::{compact, flush};
use esker::{
    Cache, CacheOptions, Db, ErrorKind, Options, ReadOptions, ReadTier, Snapshot, Statistics, Ticker,
    WriteBatch,
};
use testkit::TestRng;
use vfs::MemFs;

fn options(capacity: usize) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        statistics: Some(Statistics::new()),
        row_cache: Some(Cache::lru(CacheOptions {
            capacity,
            num_shard_bits: 0,
            ..CacheOptions::default()
        })),
        ..Options::default()
    };
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    options
}

fn count(options: &Options, ticker: Ticker) -> u64 {
    options.statistics.as_ref().unwrap().get_ticker_count(ticker)
}

fn get(db: &Db, read: &ReadOptions, key: &str) -> Option<Vec<u8>> {
    db.get_cf_opt(&db.default_column_family(), key.as_bytes(), read)
        .unwrap()
}

/// The value of `key` by an iterator, which does not use the row cache.
fn by_iterator(db: &Db, read: &ReadOptions, key: &str) -> Option<Vec<u8>> {
    let mut iter = db.iter_opt(read);
    iter.seek(key.as_bytes());
    iter.status().unwrap();
    (iter.valid() && iter.key() == key.as_bytes()).then(|| iter.value().to_vec())
}

#[test]
fn a_second_get_reads_no_block() {
    let options = options(1 << 20);
    let db = Db::open(&options, "/db").unwrap();
    db.put(b"a", b"1").unwrap();
    db.merge(b"m", b"x").unwrap();
    flush(&db);
    let blocks = |options: &Options| {
        count(options, Ticker::BlockCacheDataHit) + count(options, Ticker::BlockCacheDataMiss)
    };
    let read = ReadOptions::default();
    let unfilled = ReadOptions {
        fill_cache: false,
        ..ReadOptions::default()
    };
    assert_eq!(get(&db, &unfilled, "a").unwrap(), b"1");
    assert_eq!(
        options.row_cache.as_ref().unwrap().usage(),
        0,
        "fill_cache is off"
    );
    for key in ["a", "m"] {
        let value = get(&db, &read, key);
        let (hits, before) = (count(&options, Ticker::RowCacheHit), blocks(&options));
        assert_eq!(get(&db, &read, key), value);
        let found = db
            .multi_get_cf_opt(&db.default_column_family(), &[key], &read)
            .remove(0);
        assert_eq!(found.unwrap(), value);
        assert_eq!(count(&options, Ticker::RowCacheHit), hits + 2);
        assert_eq!(blocks(&options), before);
    }
    let misses = count(&options, Ticker::RowCacheMiss);
    assert_eq!(get(&db, &read, "b"), None);
    assert_eq!(count(&options, Ticker::RowCacheMiss), misses + 1);

    // A row in the cache is found without a read of a file; a row that is not in the cache needs one.
    let in_memory = ReadOptions {
        read_tier: ReadTier::BlockCache,
        ..ReadOptions::default()
    };
    assert_eq!(get(&db, &in_memory, "a").unwrap(), b"1");
    let usage = db
        .memory()
        .block_caches
        .iter()
        .map(|cache| cache.capacity)
        .sum::<u64>();
    assert!(usage > 1 << 20, "the row cache is in the ledger of memory");
}

#[test]
fn rows_of_a_file_of_before_are_not_those_of_its_successor() {
    let options = options(1 << 20);
    let db = Db::open(&options, "/db").unwrap();
    let read = ReadOptions::default();
    db.put(b"a", b"1").unwrap();
    flush(&db);
    assert_eq!(get(&db, &read, "a").unwrap(), b"1");
    let old = ReadOptions {
        snapshot: Some(db.snapshot()),
        ..ReadOptions::default()
    };
    db.put(b"a", b"2").unwrap();
    flush(&db);
    compact(&db);
    for _ in 0..2 {
        // The compacted table has both versions of the key, and the row cache keeps a separate row for each
        // reader.
        assert_eq!(get(&db, &read, "a").unwrap(), b"2");
        assert_eq!(get(&db, &old, "a").unwrap(), b"1");
    }
    // Another database with the same file numbers shares the cache.
    let other = Options {
        fs: Arc::new(MemFs::new()),
        ..options.clone()
    };
    let other = Db::open(&other, "/db").unwrap();
    other.put(b"a", b"other").unwrap();
    flush(&other);
    for _ in 0..2 {
        assert_eq!(get(&other, &read, "a").unwrap(), b"other");
    }
}

fn write(rng: &mut TestRng, db: &Db, keys: u32, deletes_ranges: bool) {
    let mut batch = WriteBatch::new();
    let key = format!("key{:02}", rng.u32(..keys));
    match rng.u32(..12) {
        0..5 => batch.put(key.as_bytes(), &rng.bytes(20)),
        5..8 => batch.merge(key.as_bytes(), &rng.bytes(5)),
        8..11 => batch.delete(key.as_bytes()),
        _ if !deletes_ranges => batch.delete(key.as_bytes()),
        _ => batch.delete_range(key.as_bytes(), format!("{key}z").as_bytes()),
    }
    db.write(batch).unwrap();
}

#[test]
fn a_get_finds_what_an_iterator_finds() {
    const KEYS: u32 = 30;
    let mut rng = testkit::rng();
    for run in 0..6 {
        // In some histories the row cache has room for only a few rows.
        let deletes_ranges = run % 2 == 0;
        let mut options = options([2000, 8000, 1 << 20][run % 3]);
        options.column_family.disable_auto_compactions = rng.bool();
        let blocks = options.row_cache.clone();
        options.column_family.table.block_cache = blocks.filter(|_| rng.bool());
        let db = Db::open(&options, "/db").unwrap();
        let mut snapshots: Vec<Snapshot> = Vec::new();
        for _ in 0..400 {
            match rng.u32(..30) {
                0 => flush(&db),
                1 if rng.one_in(3) => compact(&db),
                2 if snapshots.len() < 3 => snapshots.push(db.snapshot()),
                3 if !snapshots.is_empty() => drop(snapshots.swap_remove(0)),
                4..16 => write(&mut rng, &db, KEYS, deletes_ranges),
                _ => {
                    let key = format!("key{:02}", rng.u32(..KEYS));
                    let some = (!snapshots.is_empty()).then(|| rng.pick(&snapshots).clone());
                    let read = ReadOptions {
                        snapshot: some.filter(|_| rng.bool()),
                        ignore_range_deletions: rng.one_in(4),
                        fill_cache: !rng.one_in(4),
                        ..ReadOptions::default()
                    };
                    let expected = by_iterator(&db, &read, &key);
                    assert_eq!(get(&db, &read, &key), expected, "{key}");
                    let in_memory = ReadOptions {
                        read_tier: ReadTier::BlockCache,
                        ..read
                    };
                    match db.get_cf_opt(&db.default_column_family(), key.as_bytes(), &in_memory) {
                        Ok(found) => assert_eq!(found, expected, "{key}"),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Incomplete),
                    }
                }
            }
        }
        let hits = count(&options, Ticker::RowCacheHit);
        assert!(deletes_ranges || hits > 10, "{hits} hits in run {run}");
    }
}
