//! The cost of one block cache access, in nanoseconds.
//! `cargo bench -p esker-cache --bench cache [-- FILTER]`.
//!
//! * `get`: a hit through a slot, as a table's index makes it: the hot path of every cached read
//! * `lookup`: a hit through the hash table, as the first access of a table to a block makes it
//! * `lookup_missing`: a lookup through the hash table of a block that is not cached
//! * `insert`: an insertion into a full cache, so that each insertion evicts
//!
//! Accesses are random over 65,536 blocks, with one thread and with two that share the cache. The results
//! show the cost that a hit adds to a Get, and whether threads contend. A value is one word: the memory of a
//! real block is not touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use divan::{Bencher, black_box};
use esker_cache::{Cache, CacheKey, CacheOptions, MetadataChargePolicy, Priority, Slot};
use testkit::bench::{Shuffled, end_on_panic, size};

/// The charge of one block, in bytes.
const CHARGE: usize = 4 << 10;
const THREADS: [usize; 2] = [1, 2];

fn main() {
    end_on_panic();
    divan::main();
}

fn blocks() -> usize {
    size(1 << 16, 1 << 8)
}

/// The cache has twice the capacity of all blocks together, because shards never fill evenly.
fn full_cache() -> (Arc<Cache<u64>>, Vec<Slot>) {
    let cache = cache_of(2 * blocks());
    let slots = (0..blocks()).map(|i| {
        let slot = Slot::default();
        let handle = cache.insert(key(i), i as u64, CHARGE, Priority::Low);
        slot.store(&handle.expect("a cache without strict limit"));
        slot
    });
    let slots = slots.collect();
    (cache, slots)
}

fn cache_of(blocks: usize) -> Arc<Cache<u64>> {
    Cache::lru(CacheOptions {
        capacity: blocks * CHARGE,
        metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
        ..CacheOptions::default()
    })
}

fn key(i: usize) -> CacheKey {
    CacheKey {
        id: 1,
        offset: (i * CHARGE) as u64,
    }
}

#[divan::bench(threads = THREADS, sample_size = 1000)]
fn get(bencher: Bencher) {
    let (cache, slots) = full_cache();
    let order = Shuffled::new(blocks());
    bencher
        .with_inputs(|| order.next())
        .bench_values(|i| *cache.get(&slots[i]).expect("a cached block"));
}

#[divan::bench(threads = THREADS, sample_size = 1000)]
fn lookup(bencher: Bencher) {
    let (cache, _) = full_cache();
    let order = Shuffled::new(blocks());
    bencher
        .with_inputs(|| key(order.next()))
        .bench_values(|key| *cache.lookup(key).expect("a cached block"));
}

#[divan::bench(threads = THREADS, sample_size = 1000)]
fn lookup_missing(bencher: Bencher) {
    let (cache, _) = full_cache();
    let order = Shuffled::new(blocks());
    bencher
        .with_inputs(|| key(blocks() + order.next()))
        .bench_values(|key| assert!(cache.lookup(black_box(key)).is_none()));
}

#[divan::bench(threads = THREADS, sample_size = 1000)]
fn insert(bencher: Bencher) {
    let cache = cache_of(blocks());
    let insert = |i| {
        let handle = cache.insert(key(i), i as u64, CHARGE, Priority::Low);
        assert!(handle.is_ok());
    };
    (0..2 * blocks()).for_each(insert);
    let fresh = AtomicUsize::new(2 * blocks());
    bencher
        .with_inputs(|| fresh.fetch_add(1, Ordering::Relaxed))
        .bench_values(insert);
    assert!(cache.usage() <= cache.capacity());
}
