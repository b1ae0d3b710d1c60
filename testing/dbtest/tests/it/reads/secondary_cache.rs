//! A block cache smaller than the data, with a compressed secondary cache, in an open database.

use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{
    AdmissionPolicy, BlockBasedOptions, BlockCache, Cache, CacheOptions, CacheType, ColumnFamilyOptions,
    CompressedSecondaryCacheOptions, Db, FilterPolicy, IndexType, Options, ReadOptions, ReadTier, Ticker,
    TieredCacheOptions,
};
use vfs::MemFs;

const TABLES: u32 = 4;
const ROWS: u32 = 1_500;

fn key(row: u32) -> Vec<u8> {
    format!("key{row:05}").into_bytes()
}

fn value(row: u32, round: u32) -> Vec<u8> {
    format!("value {row} of round {round};").repeat(5).into_bytes()
}

fn small(cache_type: CacheType, capacity: usize) -> CacheOptions {
    CacheOptions {
        cache_type,
        capacity,
        num_shard_bits: 0,
        ..CacheOptions::default()
    }
}

fn open(cache: &Arc<BlockCache>, protection: u32) -> Db {
    let options = Options {
        create_if_missing: true,
        statistics: Some(esker::Statistics::new()),
        fs: Arc::new(MemFs::new()),
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            block_protection_bytes_per_key: protection,
            table: BlockBasedOptions {
                block_size: 512,
                metadata_block_size: 256,
                filter_policy: FilterPolicy::Bloom(10.0),
                index_type: IndexType::TwoLevel,
                partition_filters: true,
                cache_index_and_filter_blocks: true,
                pin_top_level_index_and_filter: false,
                block_cache: Some(cache.clone()),
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    Db::open(&options, "/db").unwrap()
}

fn fill(db: &Db, round: u32) {
    for table in 0..TABLES {
        for row in (table..ROWS).step_by(TABLES as usize) {
            db.put(key(row), value(row, round)).unwrap();
        }
        flush(db);
    }
}

fn read_all(db: &Db, round: u32) {
    for row in 0..ROWS {
        assert_eq!(db.get(key(row)).unwrap(), Some(value(row, round)), "row {row}");
    }
    let keys: Vec<Vec<u8>> = (0..ROWS).step_by(9).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let family = db.default_column_family();
    let read = ReadOptions::default();
    let found = db.multi_get_cf_opt(&family, &keys, &read);
    for (found, row) in found.into_iter().zip((0..ROWS).step_by(9)) {
        assert_eq!(found.unwrap().as_deref(), Some(&value(row, round)[..]));
    }
    let mut iter = db.iter_opt(&read);
    iter.seek_to_first();
    for row in 0..ROWS {
        assert_eq!(
            (iter.key(), iter.value()),
            (&key(row)[..], &value(row, round)[..])
        );
        iter.next();
    }
    assert!(!iter.valid());
    iter.status().unwrap();
}

#[test]
fn rows_read_the_same_and_what_comes_back_is_counted() {
    for (cache_type, policy, protection) in [
        (CacheType::Lru, AdmissionPolicy::Placeholder, 0),
        (CacheType::Lru, AdmissionPolicy::AllowAll, 8),
        (CacheType::HyperClock, AdmissionPolicy::AllowCacheHits, 0),
        (CacheType::HyperClock, AdmissionPolicy::Placeholder, 1),
    ] {
        let cache = Cache::with_secondary(
            small(cache_type, 16 << 10),
            CompressedSecondaryCacheOptions::default(),
        );
        cache.set_admission_policy(policy);
        let db = open(&cache, protection);
        for round in 0..2 {
            fill(&db, round);
            (0..3).for_each(|_| read_all(&db, round));
        }
        let stats = db.statistics();
        let shared = |ticker| {
            let statistics = db.options().statistics.as_ref();
            statistics
                .map(|statistics| statistics.get_ticker_count(ticker))
                .unwrap()
        };
        for ticker in [
            Ticker::SecondaryCacheHits,
            Ticker::SecondaryCacheDataHits,
            Ticker::SecondaryCacheIndexHits,
            Ticker::SecondaryCacheFilterHits,
            Ticker::CompressedSecondaryCacheHits,
        ] {
            assert!(stats.get(ticker) > 50, "{} {policy:?}", ticker.name());
            assert_eq!(shared(ticker), stats.get(ticker), "{}", ticker.name());
        }
        let dummies = Ticker::CompressedSecondaryCacheDummyHits;
        assert_eq!(shared(dummies), stats.get(dummies));
        assert!(cache.usage() <= cache.capacity());
        // The memory ledger has a line for each role of entries in the secondary cache.
        let ledger = db.memory();
        let secondary = ledger.block_caches[0].secondary.clone().unwrap();
        let line = |name: &str| ledger.lines().into_iter().find(|line| line.0 == name).unwrap().1;
        assert!(secondary.usage > 10_000 && secondary.usage <= secondary.capacity);
        let by_role: usize = secondary.roles.iter().map(|of_role| of_role.usage).sum();
        assert_eq!(by_role, secondary.usage);
        assert!(line("secondary cache DataBlock") > line("secondary cache FilterBlock"));
        let stats = db.property(&db.default_column_family(), "rocksdb.block-cache-entry-stats");
        assert!(
            stats
                .unwrap()
                .contains("Block cache secondary, compressed, capacity: ")
        );
        // After all files were rewritten, no block of the old files is used.
        let family = db.default_column_family();
        db.compact_range_cf(&family, None, None).unwrap();
        (0..3).for_each(|_| read_all(&db, 1));
        db.close().unwrap();
    }
}

/// The secondary cache is in memory: reads that must not use the disk find its blocks.
#[test]
fn reads_of_what_is_in_memory_find_what_is_below() {
    let cache = Cache::with_secondary(
        small(CacheType::Lru, 16 << 10),
        CompressedSecondaryCacheOptions::default(),
    );
    cache.set_admission_policy(AdmissionPolicy::AllowAll);
    let db = open(&cache, 0);
    fill(&db, 0);
    (0..2).for_each(|_| read_all(&db, 0));
    let family = db.default_column_family();
    let in_memory = ReadOptions {
        read_tier: ReadTier::BlockCache,
        ..ReadOptions::default()
    };
    let found = |db: &Db| {
        let rows = (0..ROWS).filter(|row| {
            let found = db.get_cf_opt(&family, key(*row), &in_memory);
            matches!(found, Ok(Some(found)) if found == value(*row, 0))
        });
        rows.count()
    };
    assert_eq!(found(&db), ROWS as usize);
    cache.set_secondary_capacity(0);
    cache.set_capacity(0);
    assert_eq!(found(&db), 0);
}

#[test]
fn a_shared_budget_is_kept_while_it_changes() {
    let cache = Cache::tiered(
        small(CacheType::Lru, 0),
        TieredCacheOptions {
            total_capacity: 60 << 10,
            compressed_secondary_ratio: 0.5,
            ..TieredCacheOptions::default()
        },
    );
    let db = open(&cache, 0);
    fill(&db, 0);
    for (total, ratio) in [(60 << 10, 0.5), (60 << 10, 0.9), (20 << 10, 0.1), (40 << 10, 0.0)] {
        cache.set_capacity(total);
        assert!(cache.set_compressed_secondary_ratio(ratio));
        read_all(&db, 0);
        let below = cache.secondary_usage().unwrap();
        assert_eq!(
            (cache.capacity(), below.capacity),
            (total, (total as f64 * ratio) as usize)
        );
        assert!(cache.usage() + below.usage <= total);
        let capacity = db.property_int(&db.default_column_family(), "rocksdb.block-cache-capacity");
        assert_eq!(capacity.unwrap(), total as u64);
    }
    assert!(db.statistics().get(Ticker::SecondaryCacheHits) > 50);
}
