//! Tables over a block cache that holds next to nothing and a compressed secondary cache that holds
//! everything.

use std::sync::Arc;

use cache::{
    AdmissionPolicy, Cache, CacheOptions, CacheType, CompressedSecondaryCacheOptions, SecondaryTally,
};
use sst::{BlockCache, BlockReadOptions, MetadataCaching, Table, TableReadOptions};

use crate::common::{backwards, file, fixtures, forwards, new_cache};
use crate::fixtures::check_lookups;

fn small_cache(cache_type: CacheType) -> Arc<BlockCache> {
    let cache: Arc<BlockCache> = Cache::with_secondary(
        CacheOptions {
            cache_type,
            capacity: 3_000,
            num_shard_bits: 0,
            ..CacheOptions::default()
        },
        CompressedSecondaryCacheOptions::default(),
    );
    cache.set_admission_policy(AdmissionPolicy::AllowAll);
    cache
}

/// Every table of every format reads the same from the file and from the secondary cache: data, index and
/// filter.
#[test]
fn tables_of_which_everything_comes_back_read_the_same() {
    for (part, cache_type, caching, protection) in [
        (0, CacheType::Lru, Some(MetadataCaching::default()), 0),
        (1, CacheType::HyperClock, Some(MetadataCaching::default()), 8),
        (2, CacheType::Lru, None, 1),
    ] {
        let cache = small_cache(cache_type);
        let tally = Arc::new(SecondaryTally::default());
        let mut tables = Vec::new();
        for fixture in fixtures().into_iter().skip(part).step_by(2) {
            let plain = fixture.open(Some(new_cache(1 << 20)));
            let options = TableReadOptions {
                metadata_caching: caching,
                secondary_tally: tally.clone(),
                block_protection_bytes_per_key: protection,
                ..fixture.options(Some(cache.clone()))
            };
            let table = Table::open(file(&fixture.name, fixture.bytes.clone()), options).unwrap();
            let read = BlockReadOptions::default();
            let entries = forwards(&plain, read).unwrap();
            // The number of rounds that a part takes to be evicted to the secondary cache, to come back
            // without being inserted, and to be inserted again.
            for _ in 0..3 {
                assert_eq!(forwards(&table, read).unwrap(), entries, "{}", fixture.name);
                let back = backwards(&table, read).unwrap();
                assert!(back.iter().rev().eq(&entries), "{}", fixture.name);
            }
            check_lookups(&fixture, &table, &entries, &read);
            tables.push((fixture.name, table, entries));
        }
        assert!(tally.data_hits() > 1_000, "{tally:?}");
        if caching.is_some() {
            assert!(
                tally.index_hits() > 1_000 && tally.filter_hits() > 100,
                "{tally:?}"
            );
        }
        // The test reads all tables over the same cache: no table gets the blocks of another.
        for (name, table, entries) in &tables {
            assert_eq!(
                forwards(table, BlockReadOptions::default()).unwrap(),
                *entries,
                "{name}"
            );
        }
    }
}

/// A read that may not read the file still reads the secondary cache, which is in memory.
#[test]
fn what_is_below_is_in_memory() {
    let cache = small_cache(CacheType::Lru);
    let fixture = fixtures()
        .into_iter()
        .max_by_key(|fixture| fixture.bytes.len())
        .unwrap();
    let table = fixture.open(Some(cache.clone()));
    let read = BlockReadOptions::default();
    let entries = forwards(&table, read).unwrap();
    cache.set_capacity(0);
    let in_memory = BlockReadOptions {
        cache_only: true,
        ..read
    };
    assert_eq!(forwards(&table, in_memory).unwrap(), entries);
    cache.set_secondary_capacity(0);
    let mut cursor = table.cursor(in_memory);
    cursor.seek_to_first();
    assert!(cursor.status().is_err());
}
