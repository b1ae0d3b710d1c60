use std::collections::HashMap;
use std::thread;

use super::*;
use crate::{Handle, MetadataChargePolicy, Slot};

/// A value of bytes that name its key.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Bytes(Vec<u8>),
    /// A value that is never admitted to the secondary cache.
    Elsewhere,
    Placeholder,
}

impl Demote for Value {
    fn saved(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            Value::Elsewhere => None,
            Value::Placeholder => panic!("a placeholder goes down"),
        }
    }

    fn placeholder() -> Value {
        Value::Placeholder
    }

    fn is_placeholder(&self) -> bool {
        *self == Value::Placeholder
    }
}

fn key(id: u64, offset: u64) -> CacheKey {
    CacheKey { id, offset }
}

/// Compressible bytes that name their key.
fn bytes_of(key: CacheKey) -> Vec<u8> {
    let word = format!("{}/{};", key.id, key.offset);
    word.bytes().cycle().take(1000 + key.offset as usize).collect()
}

const TYPES: [CacheType; 2] = [CacheType::Lru, CacheType::HyperClock];

/// A primary cache of `capacity` values of charge 1, and a secondary cache with the given options.
struct Fixture {
    cache: Arc<Cache<Value>>,
    tally: SecondaryTally,
}

fn options(cache_type: CacheType, capacity: usize) -> CacheOptions {
    CacheOptions {
        cache_type,
        capacity,
        num_shard_bits: 0,
        high_pri_pool_ratio: 0.0,
        metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
        ..CacheOptions::default()
    }
}

fn below() -> CompressedSecondaryCacheOptions {
    CompressedSecondaryCacheOptions {
        capacity: 1 << 20,
        num_shard_bits: 0,
        metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
        ..CompressedSecondaryCacheOptions::default()
    }
}

impl Fixture {
    fn new(
        cache_type: CacheType,
        capacity: usize,
        policy: AdmissionPolicy,
        below: CompressedSecondaryCacheOptions,
    ) -> Fixture {
        let cache = Cache::with_secondary(options(cache_type, capacity), below);
        cache.set_admission_policy(policy);
        Fixture {
            cache,
            tally: SecondaryTally::default(),
        }
    }

    fn insert_as(&self, key: CacheKey, role: EntryRole) {
        let value = Value::Bytes(bytes_of(key));
        drop(self.cache.insert_as(key, value, 1, Priority::Low, role).unwrap());
    }

    fn insert(&self, key: CacheKey) {
        self.insert_as(key, EntryRole::DataBlock);
    }

    fn lookup(&self, key: CacheKey) -> Option<Result<Handle<Value>, Value>> {
        let restore = |bytes: &[u8]| Some((Value::Bytes(bytes.to_vec()), 1));
        let role = EntryRole::DataBlock;
        self.cache
            .lookup_or_restore(key, Priority::Low, role, &self.tally, restore)
    }

    /// True if either cache has `key`. Checks that the value is that key's.
    fn finds(&self, key: CacheKey) -> bool {
        match self.lookup(key) {
            Some(Ok(found)) => {
                assert_eq!(*found, Value::Bytes(bytes_of(key)));
                true
            }
            Some(Err(value)) => {
                assert_eq!(value, Value::Bytes(bytes_of(key)));
                true
            }
            None => false,
        }
    }

    /// Evicts every entry of the primary cache.
    fn evict(&self) {
        let capacity = self.cache.capacity();
        self.cache.set_capacity(0);
        self.cache.set_capacity(capacity);
    }

    fn below(&self) -> SecondaryUsage {
        self.cache.secondary_usage().unwrap()
    }

    /// The number of `keys` whose bytes, not only a placeholder, are in the secondary cache.
    fn held_below(&self, keys: impl Iterator<Item = CacheKey>) -> usize {
        keys.filter(|&key| self.cache.secondary_holds(key)).count()
    }
}

#[test]
fn what_is_evicted_twice_goes_down_compressed_and_comes_back() {
    for cache_type in TYPES {
        let fixture = Fixture::new(cache_type, 10, AdmissionPolicy::Placeholder, below());
        let key = key(1, 7);
        fixture.insert(key);
        assert!(fixture.finds(key));
        fixture.evict();
        // The secondary cache has a placeholder, and nothing more.
        assert_eq!(
            (fixture.below().usage, fixture.held_below([key].into_iter())),
            (0, 0)
        );
        assert!(!fixture.finds(key));
        assert_eq!((fixture.tally.hits(), fixture.tally.dummy_hits()), (0, 1));
        fixture.insert(key);
        fixture.evict();
        let usage = fixture.below().usage;
        assert!(usage > 0 && usage < bytes_of(key).len() / 4, "{usage} bytes");
        // The first lookup returns the value to its caller alone, and the value stays in the secondary cache.
        let alone = fixture.lookup(key).unwrap().unwrap();
        assert_eq!(*alone, Value::Bytes(bytes_of(key)));
        assert_eq!((fixture.cache.usage(), fixture.below().usage), (1, usage));
        let slot = Slot::default();
        slot.store(&alone);
        assert!(fixture.cache.get(&slot).is_none(), "it is in no table");
        fixture.cache.check();
        drop(alone);
        assert_eq!(fixture.cache.usage(), 0);
        // The second lookup inserts the value into the primary cache again.
        assert!(fixture.finds(key));
        assert_eq!((fixture.cache.usage(), fixture.below().usage), (1, 0));
        assert!(fixture.cache.lookup(key).is_some());
        assert_eq!((fixture.tally.hits(), fixture.tally.data_hits()), (2, 2));
        // The first eviction of the value then moves it to the secondary cache.
        fixture.evict();
        assert_eq!(fixture.below().usage, usage);
        fixture.cache.check();
    }
}

#[test]
fn policies_say_what_goes_down_at_once() {
    for cache_type in TYPES {
        for (policy, held) in [
            (AdmissionPolicy::Placeholder, [false, false]),
            (AdmissionPolicy::AllowCacheHits, [false, true]),
            (AdmissionPolicy::AllowAll, [true, true]),
        ] {
            let fixture = Fixture::new(cache_type, 10, policy, below());
            let keys = [key(1, 1), key(1, 2)];
            keys.iter().for_each(|key| fixture.insert(*key));
            assert!(fixture.finds(keys[1]));
            fixture.evict();
            let found = keys.map(|key| fixture.cache.secondary_holds(key));
            assert_eq!(found, held, "{policy:?}");
        }
    }
    let names = [
        "auto",
        "placeholder",
        "allow_cache_hits",
        "allow_all",
        "three_queue",
    ];
    assert_eq!(
        names.map(AdmissionPolicy::of_name),
        [
            Some(AdmissionPolicy::Placeholder),
            Some(AdmissionPolicy::Placeholder),
            Some(AdmissionPolicy::AllowCacheHits),
            Some(AdmissionPolicy::AllowAll),
            None
        ]
    );
}

#[test]
fn roles_decide_what_is_compressed_and_how_it_is_counted() {
    let fixture = Fixture::new(CacheType::Lru, 10, AdmissionPolicy::AllowAll, below());
    let roles = [
        EntryRole::DataBlock,
        EntryRole::FilterBlock,
        EntryRole::IndexBlock,
    ];
    for (offset, role) in roles.into_iter().enumerate() {
        fixture.insert_as(key(1, offset as u64), role);
    }
    fixture.evict();
    for of_role in fixture.below().roles {
        let len = 1000;
        match of_role.role {
            EntryRole::FilterBlock => assert!(of_role.usage >= len, "{of_role:?}"),
            EntryRole::DataBlock | EntryRole::IndexBlock => {
                assert!((1..len / 4).contains(&of_role.usage), "{of_role:?}");
            }
            _ => assert_eq!(of_role.entries, 0),
        }
    }
    for (offset, role) in roles.into_iter().enumerate() {
        let key = key(1, offset as u64);
        let restore = |bytes: &[u8]| Some((Value::Bytes(bytes.to_vec()), 1));
        let found = fixture
            .cache
            .lookup_or_restore(key, Priority::Low, role, &fixture.tally, restore);
        assert_eq!(*found.unwrap().unwrap(), Value::Bytes(bytes_of(key)));
    }
    let tally = &fixture.tally;
    let counted = [
        tally.hits(),
        tally.data_hits(),
        tally.filter_hits(),
        tally.index_hits(),
    ];
    assert_eq!(counted, [3, 1, 1, 1]);
}

#[test]
fn every_compression_gives_the_same_bytes_back() {
    for compression_type in [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
    ] {
        let below = CompressedSecondaryCacheOptions {
            compression_type,
            ..below()
        };
        let fixture = Fixture::new(CacheType::Lru, 100, AdmissionPolicy::AllowAll, below);
        let keys = || (0..50).map(|offset| key(1, offset));
        keys().for_each(|key| fixture.insert(key));
        // Bytes that compression does not shrink are kept uncompressed.
        let noise: Vec<u8> = (0..200u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let odd = key(2, 0);
        let value = Value::Bytes(noise.clone());
        drop(fixture.cache.insert(odd, value, 1, Priority::Low).unwrap());
        fixture.evict();
        assert!(keys().all(|key| fixture.finds(key)), "{compression_type:?}");
        assert_eq!(*fixture.lookup(odd).unwrap().unwrap(), Value::Bytes(noise));
    }
}

#[test]
fn what_is_erased_is_below_no_more_and_nobody_elses_comes_back() {
    for cache_type in TYPES {
        let fixture = Fixture::new(cache_type, 100, AdmissionPolicy::AllowAll, below());
        let keys = || (1..4).flat_map(|id| (0..10).map(move |offset| key(id, offset)));
        keys().for_each(|key| fixture.insert(key));
        fixture.evict();
        assert_eq!(fixture.held_below(keys()), 30);
        for offset in 0..10 {
            assert!(fixture.cache.erase(key(2, offset)));
            assert!(!fixture.cache.erase(key(2, offset)));
        }
        // The entries of a deleted table are gone; the other tables have their own, at the same offsets.
        for key in keys() {
            assert_eq!(fixture.finds(key), key.id != 2, "{key:?}");
            assert_eq!(fixture.finds(key), key.id != 2, "{key:?}");
        }
        fixture.cache.check();
    }
}

#[test]
fn the_capacity_below_is_counted_and_changed() {
    let small = CompressedSecondaryCacheOptions {
        capacity: 5_000,
        compression_type: CompressionType::None,
        ..below()
    };
    let fixture = Fixture::new(CacheType::Lru, 100, AdmissionPolicy::AllowAll, small);
    let keys = || (0..20).map(|offset| key(1, offset));
    keys().for_each(|key| fixture.insert(key));
    fixture.evict();
    assert_eq!(fixture.held_below(keys()), 4);
    assert!((4_000..=5_000).contains(&fixture.below().usage));
    assert_eq!(fixture.below().stats.evictions, 16);
    fixture.cache.set_secondary_capacity(2_500);
    assert_eq!((fixture.held_below(keys()), fixture.below().capacity), (2, 2_500));
    // With capacity 0 the secondary cache is empty, and admits nothing.
    fixture.cache.set_secondary_capacity(0);
    keys().for_each(|key| fixture.insert(key));
    fixture.evict();
    assert_eq!((fixture.below().usage, fixture.below().stats.inserts), (0, 20));
    assert!(!keys().any(|key| fixture.finds(key)));
    fixture.cache.set_secondary_capacity(1 << 20);
    keys().for_each(|key| fixture.insert(key));
    fixture.evict();
    assert_eq!(fixture.held_below(keys()), 20);
}

#[test]
fn with_a_strict_limit_what_comes_back_has_no_place_and_is_given_all_the_same() {
    for cache_type in TYPES {
        let fixture = Fixture::new(cache_type, 1, AdmissionPolicy::AllowAll, below());
        let (held, other) = (key(1, 1), key(1, 2));
        fixture.insert(other);
        fixture.evict();
        let value = Value::Bytes(bytes_of(held));
        let _pin = fixture.cache.insert(held, value, 1, Priority::Low).unwrap();
        fixture.cache.set_strict_capacity_limit(true);
        for _ in 0..3 {
            let found = fixture
                .lookup(other)
                .expect("the value is in the secondary cache");
            let value = found.expect_err("there is no room to charge it");
            assert_eq!(value, Value::Bytes(bytes_of(other)));
            // A value that a lookup has returned is no longer in the secondary cache. The test moves it there
            // again.
            fixture.cache.set_strict_capacity_limit(false);
            fixture.insert(other);
            assert!(fixture.cache.lookup(other).is_none(), "evicted as its pin went");
            fixture.cache.set_strict_capacity_limit(true);
        }
        assert_eq!(fixture.cache.usage(), 1);
        fixture.cache.check();
    }
}

#[test]
fn bytes_that_cannot_be_used_are_a_miss_and_forgotten() {
    let fixture = Fixture::new(CacheType::Lru, 10, AdmissionPolicy::AllowAll, below());
    let key = key(1, 1);
    fixture.insert(key);
    fixture.evict();
    let role = EntryRole::DataBlock;
    let found = fixture
        .cache
        .lookup_or_restore(key, Priority::Low, role, &fixture.tally, |_| None);
    assert!(found.is_none());
    assert!(!fixture.cache.secondary_holds(key));
    assert_eq!(fixture.tally.hits(), 0);
}

#[test]
fn placeholders_are_misses_and_what_never_goes_down_does_not() {
    let fixture = Fixture::new(CacheType::Lru, 10, AdmissionPolicy::AllowAll, below());
    let (kept, elsewhere) = (key(1, 1), key(1, 2));
    fixture.insert(kept);
    let inserted = fixture
        .cache
        .insert(elsewhere, Value::Elsewhere, 1, Priority::Low);
    drop(inserted.unwrap());
    fixture.evict();
    assert!(!fixture.cache.secondary_holds(elsewhere));
    assert!(fixture.finds(kept));
    // The placeholder of the entry is in the table now: a plain lookup does not find it, and it is not
    // evicted into the secondary cache.
    assert_eq!(fixture.cache.occupancy(), 1);
    assert!(fixture.cache.lookup(kept).is_none());
    let stats = fixture.cache.stats();
    assert_eq!((stats.hits, stats.misses), (0, 2));
    fixture.evict();
    assert!(
        fixture.cache.secondary_holds(kept),
        "the placeholder did not take its place"
    );
    // A value that another thread inserts meanwhile is not replaced by the slower thread's placeholder.
    let restore = |bytes: &[u8]| {
        fixture.insert(kept);
        Some((Value::Bytes(bytes.to_vec()), 1))
    };
    let role = EntryRole::DataBlock;
    let found = fixture
        .cache
        .lookup_or_restore(kept, Priority::Low, role, &fixture.tally, restore);
    assert!(found.is_some());
    assert!(fixture.cache.lookup(kept).is_some());
}

#[test]
fn one_budget_is_shared_by_ratio() {
    for cache_type in TYPES {
        let cache: Arc<Cache<Value>> = Cache::tiered(
            options(cache_type, 0),
            TieredCacheOptions {
                total_capacity: 100_000,
                compressed_secondary_ratio: 0.3,
                adm_policy: AdmissionPolicy::AllowAll,
                comp_cache_opts: below(),
            },
        );
        let own = |cache: &Cache<Value>| cache.capacity() - cache.secondary_usage().unwrap().capacity;
        assert_eq!(
            (cache.capacity(), own(&cache), cache.name()),
            (100_000, 70_000, "TieredCache")
        );
        cache.set_capacity(50_000);
        assert_eq!((cache.capacity(), own(&cache)), (50_000, 35_000));
        assert!(cache.set_compressed_secondary_ratio(0.5));
        assert_eq!((cache.capacity(), own(&cache)), (50_000, 25_000));
        assert!(cache.set_compressed_secondary_ratio(0.0));
        assert_eq!((cache.capacity(), own(&cache)), (50_000, 50_000));
        assert!(cache.set_compressed_secondary_ratio(0.2));
        assert_eq!((cache.capacity(), own(&cache)), (50_000, 40_000));
    }
    let plain: Arc<Cache<Value>> = Cache::with_secondary(options(CacheType::Lru, 10), below());
    assert!(!plain.set_compressed_secondary_ratio(0.5));
    plain.set_capacity(20);
    assert_eq!(plain.capacity(), 20);
}

/// Random insertions, lookups, erasures and changes of capacity: every value found was inserted under its
/// key, erased keys are not found, and the sums are right.
#[test]
fn whatever_happens_a_key_gives_its_own_value() {
    let mut rng = testkit::rng();
    for round in 0..24 {
        let policies = [
            AdmissionPolicy::Placeholder,
            AdmissionPolicy::AllowCacheHits,
            AdmissionPolicy::AllowAll,
        ];
        let below = CompressedSecondaryCacheOptions {
            capacity: [500, 3_000, 1 << 20][round % 3],
            ..below()
        };
        let cache_type = TYPES[round % 2];
        let fixture = Fixture::new(cache_type, 8, policies[round / 2 % 3], below);
        let mut inserted: HashMap<CacheKey, bool> = HashMap::new();
        let mut pins = Vec::new();
        for _ in 0..600 {
            let key = key(rng.u64(..3), rng.u64(..10));
            match rng.u32(..20) {
                0..8 => {
                    let found = fixture.lookup(key);
                    if let Some(found) = &found {
                        assert_eq!(
                            inserted.get(&key),
                            Some(&true),
                            "{key:?} was found, but it was erased or never inserted"
                        );
                        let value = match found {
                            Ok(handle) => &**handle,
                            Err(value) => value,
                        };
                        assert_eq!(*value, Value::Bytes(bytes_of(key)));
                    }
                    pins.extend(found.and_then(Result::ok));
                }
                8..15 => {
                    fixture.insert(key);
                    inserted.insert(key, true);
                }
                15 => {
                    fixture.cache.erase(key);
                    inserted.insert(key, false);
                }
                16 => fixture.cache.set_capacity([0, 4, 8, 20][rng.usize(..4)]),
                17 => fixture
                    .cache
                    .set_secondary_capacity([0, 800, 1 << 20][rng.usize(..3)]),
                _ => pins.clear(),
            }
        }
        pins.clear();
        fixture.cache.check();
        assert!(fixture.cache.usage() <= fixture.cache.capacity());
        assert!(fixture.below().usage <= fixture.below().capacity);
    }
}

/// Threads insert, look up and erase at once.
#[test]
fn threads_find_their_own_values() {
    for cache_type in TYPES {
        let fixture = Fixture::new(cache_type, 5, AdmissionPolicy::Placeholder, below());
        thread::scope(|scope| {
            for thread in 0..3 {
                let fixture = &fixture;
                scope.spawn(move || {
                    for i in 0..2_000u64 {
                        let key = key(1, i.wrapping_mul(7 + thread) % 13);
                        if !fixture.finds(key) {
                            fixture.insert(key);
                        }
                        if i % 50 == 0 {
                            fixture.cache.erase(key);
                        }
                    }
                });
            }
        });
        fixture.cache.check();
        assert!(fixture.tally.hits() > 0);
        assert!(fixture.cache.usage() <= 5);
    }
}
