use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::{Cache, CacheKey, CacheOptions, CacheType, Guard, Handle, MetadataChargePolicy, Priority, Slot};

fn key(offset: u64) -> CacheKey {
    CacheKey { id: 1, offset }
}

fn options(capacity: usize) -> CacheOptions {
    CacheOptions {
        capacity,
        num_shard_bits: 0,
        high_pri_pool_ratio: 0.0,
        metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
        ..CacheOptions::default()
    }
}

fn cache(capacity: usize) -> Arc<Cache<u64>> {
    Cache::lru(options(capacity))
}

/// The kinds of cache that have the same contract.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Lru,
    GrowingClock,
    FixedClock,
}

const KINDS: [Kind; 3] = [Kind::Lru, Kind::GrowingClock, Kind::FixedClock];

fn options_of(kind: Kind, capacity: usize) -> CacheOptions {
    CacheOptions {
        cache_type: match kind {
            Kind::Lru => CacheType::Lru,
            Kind::GrowingClock | Kind::FixedClock => CacheType::HyperClock,
        },
        estimated_entry_charge: match kind {
            Kind::FixedClock => 1,
            Kind::Lru | Kind::GrowingClock => 0,
        },
        ..options(capacity)
    }
}

fn cache_of(kind: Kind, capacity: usize) -> Arc<Cache<u64>> {
    Cache::new(options_of(kind, capacity))
}

/// Inserts a value with a charge of 1 and releases its pin at once.
fn put(cache: &Arc<Cache<u64>>, offset: u64, priority: Priority) -> Slot {
    let slot = Slot::default();
    slot.store(&cache.insert(key(offset), offset, 1, priority).unwrap());
    slot
}

/// The offsets of all entries, ascending.
fn present(cache: &Cache<u64>) -> Vec<u64> {
    let mut offsets: Vec<u64> = cache.entries().iter().map(|entry| entry.key.offset).collect();
    offsets.sort();
    offsets
}

#[test]
fn the_least_recently_used_goes_first() {
    let cache = cache(3);
    for offset in [1, 2, 3] {
        put(&cache, offset, Priority::Low);
    }
    assert_eq!(*cache.lookup(key(1)).unwrap(), 1);
    put(&cache, 4, Priority::Low);
    assert_eq!(present(&cache), [1, 3, 4]);
    assert!(cache.lookup(key(2)).is_none());
    cache.record_absent(key(2));
    let stats = cache.stats();
    assert_eq!(
        (stats.hits, stats.misses, stats.inserts, stats.evictions),
        (1, 2, 4, 1)
    );
    cache.check();
}

#[test]
fn a_hit_through_a_slot_is_a_second_chance() {
    let cache = cache(3);
    let slots = [1, 2, 3].map(|offset| put(&cache, offset, Priority::Low));
    assert_eq!(cache.get(&slots[0]).as_deref(), Some(&1));
    put(&cache, 4, Priority::Low);
    assert_eq!(present(&cache), [1, 3, 4]);
    assert!(cache.get(&slots[1]).is_none());
    assert_eq!(cache.stats().second_chances, 1);
    // Entry 1 has used its second chance: entry 3, which is older now, is evicted first, and then entry 1.
    put(&cache, 5, Priority::Low);
    put(&cache, 6, Priority::Low);
    assert_eq!(present(&cache), [4, 5, 6]);
}

#[test]
fn eviction_ends_where_everything_is_touched() {
    let cache = cache(1000);
    let slots: Vec<Slot> = (0..1000)
        .map(|offset| put(&cache, offset, Priority::Low))
        .collect();
    for slot in &slots {
        assert!(cache.get(slot).is_some());
    }
    put(&cache, 1000, Priority::Low);
    assert_eq!(cache.occupancy(), 1000);
    assert!(cache.stats().second_chances <= 64);
    cache.check();
}

#[test]
fn high_priority_entries_outlive_low_ones_within_their_pool() {
    let cache: Arc<Cache<u64>> = Cache::lru(CacheOptions {
        high_pri_pool_ratio: 0.5,
        ..options(4)
    });
    put(&cache, 1, Priority::High);
    put(&cache, 2, Priority::High);
    for offset in 3..10 {
        put(&cache, offset, Priority::Low);
    }
    assert_eq!(present(&cache), [1, 2, 8, 9]);
    // A third entry overflows the high pool: the oldest entry of that pool becomes the newest of the bottom
    // pool.
    put(&cache, 10, Priority::High);
    put(&cache, 11, Priority::Low);
    put(&cache, 12, Priority::Low);
    assert_eq!(present(&cache), [2, 10, 11, 12]);
    cache.check();
}

#[test]
fn a_hit_lifts_an_entry_into_the_high_pool() {
    let cache: Arc<Cache<u64>> = Cache::lru(CacheOptions {
        high_pri_pool_ratio: 0.5,
        ..options(4)
    });
    put(&cache, 1, Priority::Low);
    cache.lookup(key(1)).unwrap();
    for offset in 2..20 {
        put(&cache, offset, Priority::Low);
    }
    assert_eq!(present(&cache), [1, 17, 18, 19]);
}

#[test]
fn bottom_goes_before_low_before_high() {
    let cache: Arc<Cache<u64>> = Cache::lru(CacheOptions {
        high_pri_pool_ratio: 0.4,
        low_pri_pool_ratio: 0.4,
        ..options(10)
    });
    for offset in [1, 2, 3] {
        put(&cache, offset, Priority::High);
        put(&cache, offset + 10, Priority::Low);
        put(&cache, offset + 20, Priority::Bottom);
    }
    put(&cache, 30, Priority::Bottom);
    cache.set_capacity(8);
    assert_eq!(present(&cache), [1, 2, 3, 11, 12, 13, 23, 30]);
    // Pools shrink with the capacity: 0.4 of 5 is two entries each.
    cache.set_capacity(5);
    assert_eq!(present(&cache), [1, 2, 3, 12, 13]);
    cache.set_capacity(1);
    assert_eq!(present(&cache), [3]);
    cache.check();
}

#[test]
fn a_pinned_entry_stays_and_counts() {
    let cache = cache(2);
    let pinned = cache.insert(key(1), 1, 1, Priority::Low).unwrap();
    for offset in 2..6 {
        put(&cache, offset, Priority::Low);
    }
    assert_eq!(present(&cache), [1, 5]);
    assert_eq!((cache.usage(), cache.pinned_usage()), (2, 1));
    let again = pinned.clone();
    drop(pinned);
    assert_eq!((*again, cache.pinned_usage()), (1, 1));
    cache.check();
    drop(again);
    assert_eq!(cache.pinned_usage(), 0);
    // The hit has moved the entry back to the head of its list.
    cache.check();
    put(&cache, 6, Priority::Low);
    assert_eq!(present(&cache), [1, 6]);
}

#[test]
fn what_exceeds_the_capacity_goes_with_its_last_pin() {
    KINDS
        .into_iter()
        .for_each(what_exceeds_the_capacity_goes_with_its_last_pin_of);
}

fn what_exceeds_the_capacity_goes_with_its_last_pin_of(kind: Kind) {
    let cache = cache_of(kind, 10);
    let slot = Slot::default();
    let large = cache.insert(key(1), 1, 25, Priority::Low).unwrap();
    slot.store(&large);
    assert_eq!((cache.usage(), cache.pinned_usage()), (25, 25));
    let other = cache.insert(key(2), 2, 1, Priority::Low).unwrap();
    assert_eq!(cache.usage(), 26);
    drop(other);
    assert_eq!(cache.usage(), 25);
    cache.check();
    let guard = cache.get(&slot).unwrap();
    drop(large);
    assert_eq!((*guard, cache.usage()), (1, 25));
    drop(guard);
    assert_eq!((cache.usage(), cache.occupancy()), (0, 0));
    assert!(cache.get(&slot).is_none());
    cache.check();
}

#[test]
fn a_strict_limit_gives_the_value_back() {
    KINDS.into_iter().for_each(a_strict_limit_gives_the_value_back_of);
}

fn a_strict_limit_gives_the_value_back_of(kind: Kind) {
    let cache: Arc<Cache<u64>> = Cache::new(CacheOptions {
        strict_capacity_limit: true,
        ..options_of(kind, 10)
    });
    let pinned = cache.insert(key(1), 1, 6, Priority::Low).unwrap();
    assert_eq!(cache.insert(key(2), 22, 5, Priority::Low).unwrap_err(), 22);
    assert_eq!(cache.insert(key(3), 33, 11, Priority::Low).unwrap_err(), 33);
    assert_eq!(cache.stats().refused, 2);
    cache.insert(key(4), 4, 4, Priority::Low).unwrap();
    drop(pinned);
    cache.insert(key(2), 2, 5, Priority::Low).unwrap();
    assert_eq!(cache.insert(key(5), 5, usize::MAX, Priority::Low).unwrap_err(), 5);
    cache.set_strict_capacity_limit(false);
    assert_eq!(cache.insert(key(5), 5, usize::MAX, Priority::Low).unwrap_err(), 5);
    drop(cache.insert(key(6), 6, 11, Priority::Low).unwrap());
    cache.check();
}

#[test]
fn a_new_value_replaces_the_old_one_which_lives_while_pinned() {
    KINDS
        .into_iter()
        .for_each(a_new_value_replaces_the_old_one_which_lives_while_pinned_of);
}

fn a_new_value_replaces_the_old_one_which_lives_while_pinned_of(kind: Kind) {
    let cache = cache_of(kind, 10);
    let slot = Slot::default();
    let old = cache.insert(key(1), 10, 3, Priority::Low).unwrap();
    slot.store(&old);
    let new = cache.insert(key(1), 11, 4, Priority::Low).unwrap();
    assert_eq!((*old, *new), (10, 11));
    assert_eq!((cache.usage(), cache.occupancy()), (7, 1));
    assert!(
        cache.get(&slot).is_none(),
        "an erased entry is not found through its slot"
    );
    assert_eq!(cache.entries().iter().filter(|entry| entry.erased).count(), 1);
    assert_eq!(*cache.lookup(key(1)).unwrap(), 11);
    drop(old);
    assert_eq!((cache.usage(), cache.pinned_usage()), (4, 4));
    cache.check();
}

#[test]
fn erasing_frees_at_once_or_with_the_last_pin() {
    KINDS
        .into_iter()
        .for_each(erasing_frees_at_once_or_with_the_last_pin_of);
}

fn erasing_frees_at_once_or_with_the_last_pin_of(kind: Kind) {
    let cache = cache_of(kind, 10);
    let slot = put(&cache, 1, Priority::Low);
    let handle = cache.lookup(key(1)).unwrap();
    assert!(cache.erase(key(1)));
    assert!(!cache.erase(key(1)));
    assert!(cache.lookup(key(1)).is_none() && cache.get(&slot).is_none());
    assert_eq!((*handle, cache.usage(), cache.occupancy()), (1, 1, 0));
    drop(handle);
    assert_eq!(cache.usage(), 0);

    put(&cache, 2, Priority::Low);
    assert!(cache.erase(key(2)));
    assert_eq!(cache.usage(), 0);

    let kept = cache.insert(key(3), 3, 1, Priority::Low).unwrap();
    put(&cache, 4, Priority::Low);
    cache.erase_unreferenced();
    assert_eq!((present(&cache), *kept), (vec![3], 3));
    cache.check();
}

#[test]
fn slots_of_frames_filled_again_miss() {
    KINDS.into_iter().for_each(slots_of_frames_filled_again_miss_of);
}

fn slots_of_frames_filled_again_miss_of(kind: Kind) {
    let cache = cache_of(kind, 1);
    let old = put(&cache, 1, Priority::Low);
    let new = put(&cache, 2, Priority::Low);
    assert!(old.is_set() && cache.get(&old).is_none() && !old.is_set());
    assert_eq!(cache.get(&new).as_deref(), Some(&2));
    new.clear();
    assert!(!new.is_set() && cache.get(&new).is_none());
    // A slot of another cache names frames that this cache does not have.
    let large = cache_of(kind, 100_000);
    let slots: Vec<Slot> = (0..1000)
        .map(|offset| put(&large, offset, Priority::Low))
        .collect();
    assert!(slots[1..].iter().all(|slot| cache.get(slot).is_none()));
}

#[test]
fn a_frame_at_its_last_generation_is_not_filled_again() {
    KINDS
        .into_iter()
        .for_each(a_frame_at_its_last_generation_is_not_filled_again_of);
}

fn a_frame_at_its_last_generation_is_not_filled_again_of(kind: Kind) {
    let cache = cache_of(kind, 1);
    let handle = cache.insert(key(1), 1, 1, Priority::Low).unwrap();
    let frame = std::ptr::from_ref(cache.frame_of(&handle));
    drop(handle);
    cache.erase(key(1));
    // SAFETY: frames live as long as the cache.
    unsafe { &*frame }.set_generation(u32::MAX - 1);
    let last = put(&cache, 2, Priority::Low);
    assert_eq!(cache.get(&last).as_deref(), Some(&2));
    for offset in 3..6 {
        let handle = cache.insert(key(offset), offset, 1, Priority::Low).unwrap();
        assert!(!std::ptr::eq(cache.frame_of(&handle), frame));
    }
    assert!(cache.get(&last).is_none());
    assert_eq!(cache.usage(), 1);
    cache.check();
}

#[test]
fn handles_keep_the_cache_alive() {
    KINDS.into_iter().for_each(handles_keep_the_cache_alive_of);
}

fn handles_keep_the_cache_alive_of(kind: Kind) {
    let value = Arc::new(());
    let cache = Cache::new(options_of(kind, 10));
    let slot = Slot::default();
    let handle = cache.insert(key(1), value.clone(), 1, Priority::Low).unwrap();
    drop(cache.insert(key(2), value.clone(), 1, Priority::Low));
    slot.store(&handle);
    let owned: Handle<Arc<()>> = cache.get(&slot).unwrap().into_handle();
    drop((cache, handle));
    assert_eq!(Arc::strong_count(&value), 3);
    thread::spawn(move || drop(owned)).join().unwrap();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn leaked_guards_do_not_leak_values() {
    KINDS.into_iter().for_each(leaked_guards_do_not_leak_values_of);
}

fn leaked_guards_do_not_leak_values_of(kind: Kind) {
    let value = Arc::new(());
    let cache = Cache::new(options_of(kind, 10));
    let slot = Slot::default();
    slot.store(&cache.insert(key(1), value.clone(), 1, Priority::Low).unwrap());
    std::mem::forget(cache.get(&slot));
    drop(cache);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn metadata_is_charged_by_default() {
    let cache: Arc<Cache<[u8; 100]>> = Cache::lru(CacheOptions::default());
    let handle = cache.insert(key(1), [7; 100], 1000, Priority::Low).unwrap();
    let metadata = Cache::<[u8; 100]>::METADATA_CHARGE;
    assert!(metadata >= 100 + 40);
    assert_eq!(cache.usage(), 1000 + metadata);
    assert_eq!(*handle, [7; 100]);
    assert_eq!((cache.shards(), cache.capacity()), (16, 32 << 20));
}

/// A value that counts its charge in a sum as long as it lives, and knows its offset.
struct Counted {
    offset: u64,
    charge: usize,
    live: Arc<AtomicUsize>,
}

impl Counted {
    fn new(offset: u64, charge: usize, live: &Arc<AtomicUsize>) -> Counted {
        live.fetch_add(charge, Ordering::Relaxed);
        Counted {
            offset,
            charge,
            live: live.clone(),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.fetch_sub(self.charge, Ordering::Relaxed);
        self.offset = u64::MAX;
    }
}

#[test]
fn usage_is_the_sum_of_charges_whatever_happens() {
    KINDS
        .into_iter()
        .for_each(usage_is_the_sum_of_charges_whatever_happens_of);
}

fn usage_is_the_sum_of_charges_whatever_happens_of(kind: Kind) {
    enum Pin<'a> {
        Guard(Guard<'a, Counted>),
        Handle(Handle<Counted>),
    }
    let mut rng = testkit::rng();
    for _ in 0..20 {
        let live = Arc::new(AtomicUsize::new(0));
        let cache: Arc<Cache<Counted>> = Cache::new(CacheOptions {
            num_shard_bits: rng.i32(0..3),
            strict_capacity_limit: rng.bool(),
            high_pri_pool_ratio: *rng.pick(&[0.0, 0.3, 0.5, 1.0]),
            low_pri_pool_ratio: *rng.pick(&[0.0, 0.3]),
            ..options_of(kind, 200)
        });
        let slots: Vec<Slot> = (0..40).map(|_| Slot::default()).collect();
        let mut pins: Vec<(u64, Pin)> = Vec::new();
        for _ in 0..2000 {
            let offset = rng.u64(0..slots.len() as u64);
            let slot = &slots[offset as usize];
            match rng.u32(0..100) {
                0..30 => {
                    let charge = rng.usize(0..30);
                    let priority = *rng.pick(&[Priority::High, Priority::Low, Priority::Bottom]);
                    let value = Counted::new(offset, charge, &live);
                    match cache.insert(key(offset), value, charge, priority) {
                        Ok(handle) => {
                            slot.store(&handle);
                            if rng.one_in(4) {
                                pins.push((offset, Pin::Handle(handle)));
                            }
                        }
                        Err(value) => assert_eq!((value.offset, value.charge), (offset, charge)),
                    }
                }
                30..45 => {
                    if let Some(handle) = cache.lookup(key(offset)) {
                        slot.store(&handle);
                        if rng.one_in(4) {
                            pins.push((offset, Pin::Handle(handle.clone())));
                        }
                    }
                }
                45..70 => {
                    if let Some(guard) = cache.get(slot) {
                        assert_eq!(guard.offset, offset);
                        match rng.u32(0..8) {
                            0 => pins.push((offset, Pin::Guard(guard))),
                            1 => pins.push((offset, Pin::Handle(guard.into_handle()))),
                            _ => (),
                        }
                    }
                }
                70..75 => {
                    cache.erase(key(offset));
                    assert!(cache.get(slot).is_none() && cache.lookup(key(offset)).is_none());
                }
                75..95 => {
                    if !pins.is_empty() {
                        pins.swap_remove(rng.usize(0..pins.len()));
                    }
                }
                95 => cache.erase_unreferenced(),
                96..98 => cache.set_capacity(rng.usize(0..300)),
                _ => assert_eq!(
                    cache.entries().len(),
                    cache.entries().iter().filter(|e| !e.erased).count() + erased(&cache)
                ),
            }
            cache.check();
            assert_eq!(cache.usage(), live.load(Ordering::Relaxed));
            let mut pinned: HashMap<*const Counted, usize> = HashMap::new();
            for (offset, pin) in &pins {
                let value: &Counted = match pin {
                    Pin::Guard(guard) => guard,
                    Pin::Handle(handle) => handle,
                };
                assert_eq!(value.offset, *offset);
                pinned.insert(value, value.charge);
            }
            assert_eq!(cache.pinned_usage(), pinned.values().sum());
            assert!(cache.usage() <= cache.capacity() || cache.pinned_usage() > 0);
        }
        drop(pins);
        cache.check();
        assert!(cache.usage() <= cache.capacity());
        drop(cache);
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }
}

fn erased(cache: &Cache<Counted>) -> usize {
    cache.entries().iter().filter(|entry| entry.erased).count()
}

/// A value that shows if it is freed or changed under a reader: all words are equal until it is dropped.
struct Pattern {
    words: Box<[u64; 16]>,
    live: Arc<AtomicUsize>,
}

impl Pattern {
    fn check(&self, offset: u64) {
        assert!(self.words.iter().all(|&word| word == offset), "{:?}", self.words);
    }
}

impl Drop for Pattern {
    fn drop(&mut self) {
        self.words.fill(u64::MAX);
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn what_threads_pin_is_never_freed_or_changed() {
    KINDS
        .into_iter()
        .for_each(what_threads_pin_is_never_freed_or_changed_of);
}

fn what_threads_pin_is_never_freed_or_changed_of(kind: Kind) {
    const KEYS: u64 = 64;
    let seed = testkit::rng().seed();
    let live = Arc::new(AtomicUsize::new(0));
    let cache: Arc<Cache<Pattern>> = Cache::new(CacheOptions {
        num_shard_bits: 1,
        high_pri_pool_ratio: 0.5,
        ..options_of(kind, 24)
    });
    let slots: Vec<Slot> = (0..KEYS).map(|_| Slot::default()).collect();
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..4 {
            let (cache, slots, live, failed) = (&cache, &slots, &live, &failed);
            scope.spawn(move || {
                let _print_seed = testkit::TestRng::with_seed(seed);
                let mut rng = testkit::TestRng::with_seed(seed ^ number);
                let mut kept: Vec<(u64, Handle<Pattern>)> = Vec::new();
                for step in 0..40_000 {
                    if failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let offset = rng.u64(0..KEYS).min(rng.u64(0..KEYS));
                    let slot = &slots[offset as usize];
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        if let Some(guard) = cache.get(slot) {
                            guard.check(offset);
                            match rng.u32(0..16) {
                                0 => kept.push((offset, guard.into_handle())),
                                1 => thread::yield_now(),
                                _ => (),
                            }
                        } else if let Some(handle) = cache.lookup(key(offset)) {
                            handle.check(offset);
                            slot.store(&handle);
                        } else {
                            live.fetch_add(1, Ordering::Relaxed);
                            let value = Pattern {
                                words: Box::new([offset; 16]),
                                live: live.clone(),
                            };
                            let Ok(handle) = cache.insert(key(offset), value, 1, Priority::Low) else {
                                panic!("the limit is not strict");
                            };
                            slot.store(&handle);
                            handle.check(offset);
                        }
                        match step % 512 {
                            0 => drop(cache.erase(key(offset))),
                            1 => cache.set_capacity(rng.usize(1..32)),
                            2 => assert!(cache.pinned_usage() <= cache.occupancy() + 128),
                            _ => (),
                        }
                        if kept.len() > 8 {
                            let (offset, handle) = kept.swap_remove(rng.usize(0..kept.len()));
                            handle.check(offset);
                        }
                    }));
                    if let Err(panic) = outcome {
                        failed.store(true, Ordering::Relaxed);
                        std::panic::resume_unwind(panic);
                    }
                }
                kept.iter().for_each(|(offset, handle)| handle.check(*offset));
            });
        }
    });
    cache.check();
    assert_eq!(cache.pinned_usage(), 0);
    assert_eq!(cache.usage(), live.load(Ordering::Relaxed));
    assert!(cache.usage() <= cache.capacity());
    drop(cache);
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

#[test]
fn a_clock_goes_round_and_spares_what_is_touched_and_what_has_priority() {
    for kind in [Kind::GrowingClock, Kind::FixedClock] {
        let cache = cache_of(kind, 100);
        let hot: Vec<Slot> = (0..20).map(|offset| put(&cache, offset, Priority::Low)).collect();
        let high: Vec<Slot> = (100..110)
            .map(|offset| put(&cache, offset, Priority::High))
            .collect();
        for offset in 1000..3000 {
            if offset % 20 == 0 {
                assert!(hot.iter().all(|slot| cache.get(slot).is_some()), "{offset}");
            }
            put(&cache, offset, Priority::Bottom);
            if offset == 1100 {
                assert!(high.iter().all(|slot| cache.get(slot).is_some()));
            }
            cache.check();
        }
        assert!(
            high.iter().all(|slot| cache.get(slot).is_none()),
            "priority is a respite, not a pin"
        );
        let stats = cache.stats();
        assert!(stats.second_chances > 0);
        assert_eq!(stats.inserts, 2030);
        assert_eq!(stats.evictions, 2030 - cache.occupancy() as u64);
        assert_eq!(cache.usage(), 100);
    }
}

#[test]
fn a_clocks_table_grows_under_those_who_use_it() {
    let cache = cache_of(Kind::GrowingClock, 1 << 20);
    let slots: Vec<Slot> = (0..10_000)
        .map(|offset| put(&cache, offset, Priority::Low))
        .collect();
    assert_eq!(cache.occupancy(), 10_000);
    for (offset, slot) in slots.iter().enumerate() {
        assert_eq!(cache.get(slot).as_deref(), Some(&(offset as u64)));
        assert_eq!(*cache.lookup(key(offset as u64)).unwrap(), offset as u64);
        assert!(cache.lookup(key(offset as u64 + 10_000)).is_none());
    }
    cache.check();
    for offset in (0..10_000).step_by(2) {
        assert!(cache.erase(key(offset)));
    }
    cache.check();
    assert_eq!(cache.occupancy(), 5_000);
}

#[test]
fn a_fixed_table_that_is_full_evicts() {
    let cache: Arc<Cache<u64>> = Cache::new(CacheOptions {
        estimated_entry_charge: 1000,
        ..options_of(Kind::FixedClock, 10_000)
    });
    for offset in 0..1000 {
        put(&cache, offset, Priority::Low);
    }
    assert_eq!(cache.occupancy(), 64 - 64 / 8 - 1);
    cache.check();
    let pinned: Vec<Handle<u64>> = (2000..2100)
        .map_while(|offset| cache.insert(key(offset), offset, 1, Priority::Low).ok())
        .collect();
    assert_eq!(pinned.len(), 64 - 64 / 8 - 1);
    assert_eq!(cache.stats().refused, 1);
    drop(pinned);
    cache.check();
}

#[test]
fn an_erased_entry_is_never_found_again() {
    for kind in KINDS {
        let cache = cache_of(kind, 1000);
        let gone: Vec<AtomicBool> = (0..400).map(|_| AtomicBool::new(false)).collect();
        let slots: Vec<Slot> = (0..400)
            .map(|offset| put(&cache, offset, Priority::Low))
            .collect();
        thread::scope(|scope| {
            for number in 0..3u64 {
                let (cache, gone, slots) = (&cache, &gone, &slots);
                scope.spawn(move || {
                    for round in 0..20_000u64 {
                        let place = (round * 7 + number * 131) % 400;
                        if number == 0 && round % 3 == 0 {
                            cache.erase(key(place));
                            gone[place as usize].store(true, Ordering::Release);
                            // Other entries take the place of the removed entry, in the frame and in the
                            // table.
                            put(cache, 10_000 + round, Priority::Low);
                        }
                        let was_gone = gone[place as usize].load(Ordering::Acquire);
                        let found = cache.lookup(key(place));
                        assert!(!(was_gone && found.is_some()), "{kind:?} {place}");
                        assert!(found.is_none_or(|found| *found == place));
                        let found = cache.get(&slots[place as usize]);
                        assert!(!(was_gone && found.is_some()), "{kind:?} {place}");
                    }
                });
            }
        });
        cache.check();
    }
}
