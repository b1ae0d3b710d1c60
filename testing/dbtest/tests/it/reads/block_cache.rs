//! The block cache in an open database.

use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite};
use esker::{
    AdmissionPolicy, BlockBasedOptions, BlockCache, Cache, CacheOptions, CacheType, ColumnFamilyOptions,
    CompressedSecondaryCacheOptions, CompressionType, Db, EntryRole, FilterPolicy, MetadataChargePolicy,
    Options, PrepopulateBlockCache,
};
use vfs::MemFs;

/// Options with small tables and small index blocks.
fn options(fs: &Arc<MemFs>, table: BlockBasedOptions) -> Options {
    Options {
        create_if_missing: true,
        fs: fs.clone(),
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            table: BlockBasedOptions {
                block_size: 256,
                filter_policy: FilterPolicy::Bloom(10.0),
                ..table
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

fn new_cache(capacity: usize) -> Arc<BlockCache> {
    Cache::lru(CacheOptions {
        capacity,
        num_shard_bits: 0,
        ..CacheOptions::default()
    })
}

fn with_parts(cache: &Arc<BlockCache>) -> BlockBasedOptions {
    BlockBasedOptions {
        block_cache: Some(cache.clone()),
        cache_index_and_filter_blocks: true,
        ..BlockBasedOptions::default()
    }
}

fn key(table: u32, row: u32) -> Vec<u8> {
    format!("key{row:05}of{table:03}").into_bytes()
}

/// Creates `tables` tables over the same range of keys, so that each read opens all of them.
fn fill(db: &Db, tables: u32, rows: u32) {
    for table in 0..tables {
        for row in 0..rows {
            db.put(key(table, row), [b'v'; 60]).unwrap();
        }
        flush(db);
    }
}

fn read_all(db: &Db, tables: u32, rows: u32) {
    for table in 0..tables {
        for row in (0..rows).step_by(7) {
            assert_eq!(db.get(key(table, row)).unwrap().as_deref(), Some(&[b'v'; 60][..]));
        }
    }
    let mut iter = db.iter();
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(count, tables * rows);
}

fn readers(db: &Db) -> u64 {
    db.property_int(&db.default_column_family(), "rocksdb.estimate-table-readers-mem")
        .unwrap()
}

#[test]
fn the_cache_bounds_what_open_tables_take() {
    const TABLES: u32 = 30;
    const ROWS: u32 = 600;
    let taken = |parts: bool| {
        let fs = Arc::new(MemFs::new());
        let cache = new_cache(64 << 10);
        let table = BlockBasedOptions {
            cache_index_and_filter_blocks: parts,
            ..with_parts(&cache)
        };
        let db = Db::open(&options(&fs, table), "/db").unwrap();
        fill(&db, TABLES, ROWS);
        read_all(&db, TABLES, ROWS);
        assert!(
            cache.usage() <= cache.capacity(),
            "{} of {}",
            cache.usage(),
            cache.capacity()
        );
        let taken = readers(&db);
        db.close().unwrap();
        taken
    };
    let (owned, cached) = (taken(false), taken(true));
    // A filter has at least one byte for each row.
    assert!(owned > cached + u64::from(TABLES * ROWS), "{owned} {cached}");
}

#[test]
fn flushed_tables_keep_their_index_where_they_are_pinned() {
    for reopened in [false, true] {
        let fs = Arc::new(MemFs::new());
        let cache = new_cache(0);
        let table = BlockBasedOptions {
            pin_l0_filter_and_index_blocks_in_cache: true,
            ..with_parts(&cache)
        };
        let options = options(&fs, table);
        let mut db = Db::open(&options, "/db").unwrap();
        fill(&db, 3, 100);
        if reopened {
            db.close().unwrap();
            assert_eq!(cache.usage(), 0);
            db = Db::open(&options, "/db").unwrap();
        }
        read_all(&db, 3, 100);
        let pinned = |role| {
            let entries = cache.entries();
            entries
                .iter()
                .filter(|entry| entry.role == role && entry.pins == 1)
                .count()
        };
        assert_eq!(
            (pinned(EntryRole::IndexBlock), pinned(EntryRole::FilterBlock)),
            (3, 3)
        );
        assert_eq!(cache.occupancy(), 6, "a cache without room keeps nothing else");
        db.compact_range(None, None).unwrap();
        read_all(&db, 3, 100);
        // The test waits, because a compaction may pin its input tables a moment longer than its end.
        testkit::wait_until("they go", || {
            pinned(EntryRole::IndexBlock) + pinned(EntryRole::FilterBlock) == 0
        });
        db.close().unwrap();
        assert_eq!(cache.usage(), 0);
    }
}

#[test]
fn the_roles_of_entries_sum_up_to_the_usage() {
    let fs = Arc::new(MemFs::new());
    let cache: Arc<BlockCache> = Cache::lru(CacheOptions {
        metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
        ..CacheOptions::default()
    });
    let db = Db::open(&options(&fs, with_parts(&cache)), "/db").unwrap();
    fill(&db, 5, 200);
    read_all(&db, 5, 200);
    let roles = cache.usage_by_role(None);
    let of = |role: EntryRole| roles.iter().find(|of_role| of_role.role == role).unwrap();
    let (entries, usage) = roles
        .iter()
        .fold((0, 0), |sum, of| (sum.0 + of.entries, sum.1 + of.usage));
    assert_eq!((entries, usage), (cache.occupancy(), cache.usage()), "{roles:?}");
    assert_eq!(of(EntryRole::IndexBlock).entries, 5);
    assert_eq!(of(EntryRole::FilterBlock).entries, 5);
    assert!(of(EntryRole::DataBlock).entries > 100, "{roles:?}");
    let text = db.property(&db.default_column_family(), "rocksdb.block-cache-entry-stats");
    let text = text.unwrap();
    assert!(
        text.contains(" FilterBlock(5,") && text.contains(" IndexBlock(5,"),
        "{text}"
    );
}

#[test]
fn databases_share_a_cache_and_never_see_each_others_blocks() {
    let cache = new_cache(1 << 20);
    // Several databases share a cache. Their files have equal numbers and different values.
    let databases: Vec<Db> = (0..3u8)
        .map(|number| {
            let db = Db::open(&options(&Arc::new(MemFs::new()), with_parts(&cache)), "/db").unwrap();
            for row in 0..300 {
                db.put(key(0, row), [number; 40]).unwrap();
            }
            flush(&db);
            db
        })
        .collect();
    for _ in 0..2 {
        for row in 0..300 {
            for (number, db) in databases.iter().enumerate() {
                let value = db.get(key(0, row)).unwrap().unwrap();
                assert_eq!(&*value, &[number as u8; 40]);
            }
        }
    }
    let of_family = |db: &Db| {
        db.property_int(&db.default_column_family(), "esker.block-cache-usage-of-family")
            .unwrap()
    };
    let usages: Vec<u64> = databases.iter().map(of_family).collect();
    assert!(usages.iter().all(|usage| *usage > 10_000), "{usages:?}");
    assert_eq!(usages.iter().sum::<u64>(), cache.usage() as u64);
}

/// The number of cache misses while `read` runs.
fn misses(cache: &BlockCache, read: impl FnOnce()) -> u64 {
    let before = cache.stats().misses;
    read();
    cache.stats().misses - before
}

#[test]
fn compactions_put_the_successors_of_hot_blocks_into_the_cache() {
    for parts in [false, true] {
        let cache = new_cache(8 << 20);
        let table = BlockBasedOptions {
            cache_index_and_filter_blocks: parts,
            prepopulate_block_cache: PrepopulateBlockCache::FlushAndCompaction,
            ..with_parts(&cache)
        };
        let db = Db::open(&options(&Arc::new(MemFs::new()), table), "/db").unwrap();
        fill(&db, 2, 600);
        rewrite(&db);
        // After a compaction of files from level 0 all blocks of its output are in the cache.
        assert_eq!(misses(&cache, || read_all(&db, 2, 600)), 0);
        cache.erase_unreferenced();
        let read_some = || {
            for row in 200..300 {
                assert!(db.get(key(1, row)).unwrap().is_some());
            }
        };
        assert!(misses(&cache, read_some) > 10);
        let before = db.live_files();
        rewrite(&db);
        assert_ne!(before, db.live_files(), "it was rewritten");
        assert_eq!(misses(&cache, read_some), 0, "what was hot is");
        assert!(
            misses(&cache, || read_all(&db, 2, 600)) > 50,
            "what was cold is cold"
        );
    }
}

#[test]
fn blocks_of_files_that_were_replaced_leave_the_cache_if_they_are_told_to() {
    for (parts, uncache_aggressiveness) in [(false, 0), (false, 10_000), (true, 10_000)] {
        let fs = Arc::new(MemFs::new());
        let cache: Arc<BlockCache> = Cache::with_secondary(
            CacheOptions {
                capacity: 8 << 20,
                num_shard_bits: 0,
                ..CacheOptions::default()
            },
            CompressedSecondaryCacheOptions::default(),
        );
        cache.set_admission_policy(AdmissionPolicy::AllowAll);
        let table = BlockBasedOptions {
            cache_index_and_filter_blocks: parts,
            ..with_parts(&cache)
        };
        let mut options = options(&fs, table);
        options.column_family.uncache_aggressiveness = uncache_aggressiveness;
        let db = Db::open(&options, "/db").unwrap();
        fill(&db, 3, 400);
        read_all(&db, 3, 400);
        // Reducing the capacity of the cache demotes some blocks to the secondary cache; others stay, because
        // an iterator pins them.
        cache.set_capacity(40 << 10);
        cache.set_capacity(8 << 20);
        let below = || cache.secondary_usage().unwrap().usage;
        assert!(below() > 0);
        let blocks = || cache.occupancy();
        let before = blocks();
        assert!(before > 50);
        let family = db.default_column_family();
        let mut iter = db.iter();
        iter.seek_to_first();
        db.compact_range_cf(&family, None, None).unwrap();
        assert!(blocks() >= before, "an iterator reads the files");
        drop(iter);
        if uncache_aggressiveness == 0 {
            db.close().unwrap();
            assert!(blocks() > before / 2, "{} of {before}", blocks());
            continue;
        }
        testkit::wait_until("they go", || blocks() <= 10 && below() == 0);
        read_all(&db, 3, 400);
        db.close().unwrap();
    }
}

#[test]
fn what_nobody_asked_for_before_leaves_a_full_cache_alone() {
    // The test varies the capacity of the cache, so that the free space is sometimes enough for a compressed
    // block, but not for the uncompressed one.
    for capacity in (0..8).map(|n| (32 << 10) + n * 256) {
        for cache_type in [CacheType::Lru, CacheType::HyperClock] {
            for compression in [CompressionType::None, CompressionType::Lz4] {
                for reads in [(false, false), (true, false), (false, true)] {
                    leaves_a_full_cache_alone(capacity, cache_type, compression, reads);
                }
            }
        }
    }
}

fn leaves_a_full_cache_alone(
    capacity: usize,
    cache_type: CacheType,
    compression: CompressionType,
    (caches_first_reads, use_direct_reads): (bool, bool),
) {
    const ROWS: u32 = 4000;
    let case = format!("{capacity} {cache_type:?} {compression:?} {caches_first_reads} {use_direct_reads}");
    let hot = |db: &Db| (0..60).for_each(|row| assert!(db.get(key(0, row)).unwrap().is_some()));
    let all = |db: &Db| {
        (0..ROWS)
            .step_by(8)
            .for_each(|row| assert!(db.get(key(0, row)).unwrap().is_some()))
    };
    let cache: Arc<BlockCache> = Cache::new(CacheOptions {
        cache_type,
        capacity,
        num_shard_bits: 0,
        ..CacheOptions::default()
    });
    let table = BlockBasedOptions {
        block_cache: Some(cache.clone()),
        caches_first_reads,
        ..BlockBasedOptions::default()
    };
    let mut options = options(&Arc::new(MemFs::new()), table);
    options.column_family.compression = compression;
    options.use_direct_reads = use_direct_reads;
    let db = Db::open(&options, "/db").unwrap();
    fill(&db, 1, ROWS);
    // While the cache has space, every block is inserted.
    hot(&db);
    let before = cache.stats();
    assert!(before.inserts > 10, "{case}: {before:?}");
    assert_eq!(misses(&cache, || hot(&db)), 0, "{case}");

    // The scan reads more than ten times the capacity, each block once.
    all(&db);
    let after = cache.stats();
    if caches_first_reads || use_direct_reads {
        assert!(after.evictions > 300, "{case}: {after:?}");
        return;
    }
    // Blocks seen once are kept out of a full cache, except a few that the admission filter mistakes for
    // others.
    assert!(after.evictions < 10, "{case}: {after:?}");
    assert_eq!(misses(&cache, || hot(&db)), 0, "{case}");
    let inserts = || cache.stats().inserts;
    let before = inserts();
    let last = key(0, ROWS - 1);
    for expected in [0, 1, 1] {
        assert!(db.get(&last).unwrap().is_some());
        assert_eq!(inserts() - before, expected, "{case}");
    }
}
