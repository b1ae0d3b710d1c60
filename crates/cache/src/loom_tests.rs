//! Checks every interleaving of pin, evict, fill and erase on one frame or two.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p esker-cache --release loom`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::cell::UnsafeCell;
use loom::thread;

use crate::options::{Insertion, Standing};
use crate::{Cache, CacheKey, CacheOptions, CacheType, EntryRole, MetadataChargePolicy, Priority, Slot};

/// A value whose reads and whose drop loom checks.
struct Watched {
    word: UnsafeCell<u64>,
    live: Arc<AtomicUsize>,
}

impl Watched {
    fn read(&self) -> u64 {
        // SAFETY: the word is written in `drop` alone; loom panics if a drop can be concurrent.
        self.word.with(|word| unsafe { *word })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: no thread may read the word any more; loom panics if a thread can.
        self.word.with_mut(|word| unsafe { *word = u64::MAX });
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: the cell is written only when the value is owned.
unsafe impl Sync for Watched {}

struct Fixture {
    cache: Arc<Cache<Watched>>,
    slots: [Slot; 3],
    live: Arc<AtomicUsize>,
}

impl Fixture {
    fn new(cache_type: CacheType, capacity: usize) -> Arc<Fixture> {
        Arc::new(Fixture {
            cache: Cache::new(CacheOptions {
                cache_type,
                capacity,
                num_shard_bits: 0,
                high_pri_pool_ratio: 0.0,
                metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
                ..CacheOptions::default()
            }),
            slots: Default::default(),
            live: Arc::default(),
        })
    }

    fn key(offset: usize) -> CacheKey {
        CacheKey {
            id: 1,
            offset: offset as u64,
        }
    }

    fn insert(&self, offset: usize) -> crate::Handle<Watched> {
        self.live.fetch_add(1, Ordering::Relaxed);
        let value = Watched {
            word: UnsafeCell::new(offset as u64),
            live: self.live.clone(),
        };
        let inserted = self.cache.insert(Fixture::key(offset), value, 1, Priority::Low);
        let handle = inserted.ok().expect("the limit is not strict");
        self.slots[offset].store(&handle);
        handle
    }

    fn get(&self, offset: usize) -> bool {
        let guard = self.cache.get(&self.slots[offset]);
        if let Some(value) = &guard {
            assert_eq!(value.read(), offset as u64);
        }
        guard.is_some()
    }

    /// Checks the cache and the number of live values. Called after all threads have ended.
    fn check(self: Arc<Fixture>) {
        self.cache.check();
        assert_eq!(self.cache.pinned_usage(), 0);
        assert_eq!(self.cache.usage(), self.live.load(Ordering::Relaxed));
        assert!(self.cache.usage() <= self.cache.capacity());
        let live = self.live.clone();
        drop(self);
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }
}

fn spawn(fixture: &Arc<Fixture>, run: impl FnOnce(&Fixture) + 'static) -> thread::JoinHandle<()> {
    let fixture = fixture.clone();
    thread::spawn(move || run(&fixture))
}

/// Runs the model with both kinds of cache.
fn model(run: impl Fn(CacheType) + Sync + Send + Copy + 'static) {
    // A clock has many atomic words, and each access is a possible preemption, so its bound is lower.
    for (kind, preemptions) in [(CacheType::Lru, 6), (CacheType::HyperClock, 2)] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(move || run(kind));
    }
}

#[test]
fn pin_against_eviction() {
    model(|kind| {
        let fixture = Fixture::new(kind, 1);
        drop(fixture.insert(0));
        let reader = spawn(&fixture, |f| {
            f.get(0);
            f.get(0);
        });
        // If the reader's pin is in the way, this entry exceeds the capacity, and its own last unpin frees
        // it.
        drop(fixture.insert(1));
        fixture.get(1);
        reader.join().unwrap();
        assert_eq!(fixture.cache.occupancy(), 1);
        fixture.check();
    });
}

#[test]
fn late_reader_of_a_frame_filled_again() {
    model(|kind| {
        let fixture = Fixture::new(kind, 1);
        drop(fixture.insert(0));
        let reader = spawn(&fixture, |f| {
            f.get(0);
        });
        fixture.cache.erase(Fixture::key(0));
        let handle = fixture.insert(1);
        assert_eq!(handle.read(), 1);
        drop(handle);
        drop(fixture.insert(2));
        reader.join().unwrap();
        assert!(!fixture.get(0));
        fixture.check();
    });
}

/// A value that is in no table: its slot misses, and its last unpin frees it.
#[test]
fn reader_of_a_slot_of_a_value_in_no_table() {
    model(|cache_type| {
        let fixture = Fixture::new(cache_type, 1);
        let key = Fixture::key(0);
        fixture.live.fetch_add(1, Ordering::Relaxed);
        let alone = fixture.cache.add(Insertion {
            key,
            hash: key.hash(),
            value: Watched {
                word: UnsafeCell::new(0),
                live: fixture.live.clone(),
            },
            charge: 1,
            priority: Priority::Low,
            role: EntryRole::Misc,
            standing: Standing::Alone,
        });
        let alone = alone.ok().expect("the limit is not strict");
        fixture.slots[0].store(&alone);
        let reader = spawn(&fixture, |fixture| assert!(!fixture.get(0)));
        let inserter = spawn(&fixture, |fixture| drop(fixture.insert(1)));
        assert_eq!(alone.read(), 0);
        drop(alone);
        reader.join().unwrap();
        inserter.join().unwrap();
        fixture.check();
    });
}

#[test]
fn reader_of_a_slot_being_stored() {
    model(|kind| {
        let fixture = Fixture::new(kind, 1);
        let reader = spawn(&fixture, |f| {
            f.get(0);
        });
        drop(fixture.insert(0));
        reader.join().unwrap();
        assert!(fixture.get(0));
        fixture.check();
    });
}

#[test]
fn two_readers_against_erase() {
    model(|kind| {
        let fixture = Fixture::new(kind, 1);
        drop(fixture.insert(0));
        // The entry is touched first, so that a pin and its release leave the state word unchanged.
        assert!(fixture.get(0));
        let readers = [0, 1].map(|_| {
            spawn(&fixture, |f| {
                f.get(0);
            })
        });
        fixture.cache.erase(Fixture::key(0));
        assert!(!fixture.get(0));
        for reader in readers {
            reader.join().unwrap();
        }
        fixture.check();
    });
}

#[test]
fn last_pins_of_a_parked_entry() {
    model(|kind| {
        let fixture = Fixture::new(kind, 1);
        let pinned = fixture.insert(0);
        // This insertion finds entry 0 pinned and parks it; the new entry is over capacity, so it is parked
        // too.
        let over = fixture.insert(1);
        let reader = spawn(&fixture, |f| {
            f.get(0);
        });
        let owner = thread::spawn(move || drop(pinned));
        assert_eq!(over.read(), 1);
        drop(over);
        reader.join().unwrap();
        owner.join().unwrap();
        fixture.check();
    });
}

#[test]
fn lookup_and_replacement() {
    model(|kind| {
        let fixture = Fixture::new(kind, 2);
        drop(fixture.insert(0));
        let reader = spawn(&fixture, |f| {
            if let Some(handle) = f.cache.lookup(Fixture::key(0)) {
                f.slots[0].store(&handle);
                assert_eq!(handle.read(), 0);
                let again = handle.clone();
                drop(handle);
                assert_eq!(again.read(), 0);
            }
        });
        let new = fixture.insert(0);
        assert_eq!(new.read(), 0);
        fixture.cache.erase_unreferenced();
        drop(new);
        reader.join().unwrap();
        fixture.check();
    });
}

fn model_clock(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn two_insertions_and_a_table_that_grows() {
    model_clock(|| {
        let fixture = Fixture::new(CacheType::HyperClock, 8);
        // A table of two cells grows with the third entry.
        drop(fixture.insert(0));
        let other = spawn(&fixture, |f| drop(f.insert(1)));
        drop(fixture.insert(2));
        assert!(fixture.cache.lookup(Fixture::key(0)).is_some());
        assert!(fixture.cache.lookup(Fixture::key(2)).is_some());
        other.join().unwrap();
        for offset in 0..3 {
            assert!(fixture.cache.lookup(Fixture::key(offset)).is_some());
        }
        fixture.check();
    });
}

#[test]
fn erased_and_not_found_while_others_come() {
    model_clock(|| {
        let fixture = Fixture::new(CacheType::HyperClock, 8);
        drop(fixture.insert(0));
        let other = spawn(&fixture, |f| drop(f.insert(1)));
        assert!(fixture.cache.erase(Fixture::key(0)));
        assert!(fixture.cache.lookup(Fixture::key(0)).is_none());
        assert!(!fixture.get(0));
        other.join().unwrap();
        assert!(fixture.cache.lookup(Fixture::key(1)).is_some());
        fixture.check();
    });
}

#[test]
fn two_who_evict_and_erase_the_same_entry() {
    model_clock(|| {
        let fixture = Fixture::new(CacheType::HyperClock, 1);
        drop(fixture.insert(0));
        let other = spawn(&fixture, |f| {
            f.cache.erase(Fixture::key(0));
        });
        drop(fixture.insert(1));
        other.join().unwrap();
        assert!(fixture.cache.lookup(Fixture::key(0)).is_none());
        fixture.check();
    });
}

/// Two threads erase one key. The slower one has read the cell before the faster one cleared it, and then
/// sees the entry that is inserted next.
#[test]
fn erase_against_an_insertion_of_the_same_key() {
    model_clock(|| {
        let fixture = Fixture::new(CacheType::HyperClock, 8);
        drop(fixture.insert(0));
        let late = spawn(&fixture, |f| {
            f.cache.erase(Fixture::key(0));
        });
        fixture.cache.erase(Fixture::key(0));
        // The insertion goes into the frame that is free again.
        drop(fixture.insert(0));
        late.join().unwrap();
        fixture.cache.erase(Fixture::key(0));
        assert_eq!(fixture.cache.occupancy(), 0);
        fixture.check();
    });
}
