//! A shard of an LRU cache: the table and lists that describe its frames, under one lock.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::entry_info::EntryInfo;
use crate::evicted::Evicted;
use crate::frame::{Frame, FrameState, LAST_GENERATION, Slab};
use crate::lru::{Entry, Lru};
use crate::options::{CacheKey, Insertion, Standing};
use crate::secondary_cache::{Demoted, SecondaryCache};
use crate::sync::{Mutex, MutexGuard};

/// The number of second chances that one insertion grants. When every entry is touched, the bits carry no
/// information any more, and walking the whole list under the lock would only stall other threads.
const MAX_SECOND_CHANCES: u32 = 64;

/// A shard whose frames are managed by an [`Lru`] under one lock.
pub(crate) struct LruShard<'a, V> {
    pub(crate) frames: &'a Slab<Frame<V>>,
    pub(crate) lru: &'a Mutex<Lru>,
    /// The capacity that the usage leaves, for readers that need no exact value. Written under the lock.
    pub(crate) room: &'a AtomicUsize,
    /// The number of frames that this shard can name.
    pub(crate) max_frames: u64,
    /// The secondary cache, which takes evicted entries.
    pub(crate) secondary: Option<&'a dyn SecondaryCache<V>>,
}

/// The description of an evicted entry in state `seen`.
fn demoted(lru: &Lru, index: u32, seen: FrameState) -> Demoted {
    let entry = lru.entry(index);
    Demoted {
        key: entry.key,
        role: entry.role,
        hit: entry.hit || seen.is_touched(),
    }
}

impl<'a, V> LruShard<'a, V> {
    fn lock(&self) -> MutexGuard<'a, Lru> {
        self.lru.lock()
    }

    fn known_frame(&self, index: u32) -> &'a Frame<V> {
        self.frames.get(index).expect("an index of the shard's own")
    }

    fn publish_room(&self, lru: &Lru) {
        let room = lru.capacity.saturating_sub(lru.usage);
        self.room.store(room, Ordering::Relaxed);
    }

    fn evicted(&self) -> Evicted<'a, V> {
        Evicted::new(self.secondary)
    }

    /// Inserts an entry and pins it. The value is returned if there is no room, or if [`Standing`] refuses
    /// it.
    pub(crate) fn insert(&self, insertion: Insertion<V>) -> Result<(u32, &'a Frame<V>), V> {
        let mut evicted = self.evicted();
        let mut lru = self.lock();
        let Insertion {
            key,
            hash,
            charge,
            standing,
            ..
        } = insertion;
        if standing == Standing::IfAbsent && lru.find(key, hash).is_some() {
            return Err(insertion.value);
        }
        self.make_room(&mut lru, charge, &mut evicted);
        let fits = lru
            .usage
            .checked_add(charge)
            .is_some_and(|usage| usage <= lru.capacity);
        if (!fits && lru.strict_capacity_limit) || charge > usize::MAX / 2 {
            lru.stats.refused += 1;
            return Err(insertion.value);
        }
        let Some(index) = self.free_frame(&mut lru, &mut evicted) else {
            lru.stats.refused += 1;
            return Err(insertion.value);
        };
        let visible = standing != Standing::Alone;
        if visible && let Some(old) = lru.find(key, hash) {
            self.erase_entry(&mut lru, old, &mut evicted);
        }
        lru.fill(index, Entry::new(&insertion));
        self.publish_room(&lru);
        let parked = lru.usage > lru.capacity;
        if visible {
            lru.add_to_table(index);
            lru.stats.inserts += 1;
            if !parked {
                lru.list(index);
            }
        }
        let frame = self.known_frame(index);
        // SAFETY: the lock is held, and the index was free or never used: the frame is empty and on no list
        // of filled ones.
        unsafe { frame.fill(insertion.value, visible, parked) };
        Ok((index, frame))
    }

    /// Pins the entry of `key` and counts the hit or miss.
    pub(crate) fn lookup(&self, key: CacheKey, hash: u64) -> Option<(u32, &'a Frame<V>)> {
        let mut lru = self.lock();
        let Some(index) = lru.find(key, hash) else {
            lru.stats.misses += 1;
            return None;
        };
        lru.stats.hits += 1;
        lru.promote(index);
        let frame = self.known_frame(index);
        // The pin is taken under the lock, so that eviction cannot come between.
        frame.pin_again();
        Some((index, frame))
    }

    /// Removes the entry of `key` from the table; true if there was one.
    pub(crate) fn erase(&self, key: CacheKey, hash: u64) -> bool {
        let mut evicted = self.evicted();
        let mut lru = self.lock();
        let found = lru.find(key, hash);
        if let Some(index) = found {
            self.erase_entry(&mut lru, index, &mut evicted);
        }
        found.is_some()
    }

    /// Frees every entry that is not pinned.
    pub(crate) fn erase_unreferenced(&self) {
        let mut evicted = self.evicted();
        let mut lru = self.lock();
        for index in 0..lru.frames() {
            let frame = self.known_frame(index);
            let state = frame.state();
            if state.is_visible() && state.pins() == 0 {
                self.erase_entry(&mut lru, index, &mut evicted);
            }
        }
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        let mut evicted = self.evicted();
        let mut lru = self.lock();
        lru.set_capacity(capacity);
        self.make_room(&mut lru, 0, &mut evicted);
        self.publish_room(&lru);
    }

    /// The number of frames that have ever been in use.
    pub(crate) fn frames_in_use(&self) -> u32 {
        self.lock().frames()
    }

    /// Settles a parked entry whose last pin was released while the frame was at `generation`: lists it again
    /// or frees it.
    pub(crate) fn settle(&self, index: u32, generation: u32) {
        let mut evicted = self.evicted();
        let mut lru = self.lock();
        let frame = self.known_frame(index);
        loop {
            let state = frame.state();
            if state.generation() != generation || state.pins() != 0 || !state.is_parked() {
                // Another thread pinned the entry again: it will settle the entry in turn, or has done so
                // already.
                break;
            }
            if state.is_visible() && lru.usage <= lru.capacity {
                frame.unpark();
                lru.list(index);
                break;
            }
            if let Some(value) = frame.take(state) {
                if state.is_visible() {
                    lru.remove_from_table(index);
                    lru.stats.evictions += 1;
                    evicted.push_demoted(value, demoted(&lru, index, state));
                } else {
                    evicted.push(value);
                }
                self.release_frame(&mut lru, index);
                break;
            }
        }
    }

    /// The sum of the charges of pinned entries. Looks at every frame.
    pub(crate) fn pinned_usage(&self) -> usize {
        let lru = self.lock();
        (0..lru.frames())
            .filter(|&index| {
                let state = self.known_frame(index).state();
                state.is_filled() && state.pins() > 0
            })
            .map(|index| lru.entry(index).charge)
            .sum()
    }

    pub(crate) fn describe(&self, out: &mut impl FnMut(EntryInfo)) {
        let lru = self.lock();
        for index in 0..lru.frames() {
            let state = self.known_frame(index).state();
            if state.is_filled() {
                let entry = lru.entry(index);
                out(EntryInfo {
                    key: entry.key,
                    charge: entry.charge,
                    priority: entry.priority,
                    role: entry.role,
                    pins: state.pins(),
                    erased: !state.is_visible(),
                });
            }
        }
    }

    /// Evicts until `charge` fits or no entry is left that can be evicted. Pinned entries are parked on the
    /// way, so afterwards either the charge fits or every entry is parked.
    fn make_room(&self, lru: &mut Lru, charge: usize, evicted: &mut Evicted<'_, V>) {
        let mut second_chances = MAX_SECOND_CHANCES;
        while lru.usage.saturating_add(charge) > lru.capacity
            && self.evict_one(lru, &mut second_chances, evicted)
        {}
    }

    /// Evicts one entry; false if all entries are pinned, and now parked.
    fn evict_one(&self, lru: &mut Lru, second_chances: &mut u32, evicted: &mut Evicted<'_, V>) -> bool {
        while let Some(index) = lru.victim() {
            // Neighbours in the list are not neighbours in memory: prefetching overlaps the cache misses of
            // several victims in a row.
            if let Some(next) = lru.approach_next_victim(index) {
                self.known_frame(next).prefetch();
            }
            let frame = self.known_frame(index);
            let state = frame.state();
            if state.pins() > 0 {
                if frame.park(state, false) {
                    lru.unlist(index);
                }
            } else if state.is_touched() && *second_chances > 0 {
                *second_chances -= 1;
                lru.stats.second_chances += 1;
                frame.clear_touched();
                lru.promote(index);
            } else if let Some(value) = frame.take(state) {
                lru.unlist(index);
                lru.remove_from_table(index);
                lru.stats.evictions += 1;
                evicted.push_demoted(value, demoted(lru, index, state));
                self.release_frame(lru, index);
                return true;
            }
        }
        false
    }

    /// Removes a visible entry from the table. It is freed now, or with its last pin.
    fn erase_entry(&self, lru: &mut Lru, index: u32, evicted: &mut Evicted<'_, V>) {
        lru.remove_from_table(index);
        if lru.is_listed(index) {
            lru.unlist(index);
        }
        let frame = self.known_frame(index);
        loop {
            let state = frame.state();
            if state.pins() > 0 {
                if frame.park(state, true) {
                    return;
                }
            } else if let Some(value) = frame.take(state) {
                self.release_frame(lru, index);
                evicted.push(value);
                return;
            }
        }
    }

    /// Discharges the emptied frame at `index` and puts it on the free list.
    fn release_frame(&self, lru: &mut Lru, index: u32) {
        lru.usage -= lru.entry(index).charge;
        self.publish_room(lru);
        if self.known_frame(index).state().generation() != LAST_GENERATION {
            lru.push_free(index);
        }
    }

    /// An empty frame; evicts an entry if no new frame can be named.
    fn free_frame(&self, lru: &mut Lru, evicted: &mut Evicted<'_, V>) -> Option<u32> {
        if let Some(index) = lru.pop_free() {
            return Some(index);
        }
        let index = lru.frames();
        if u64::from(index) < self.max_frames && self.frames.ensure(index) {
            return Some(index);
        }
        let mut second_chances = MAX_SECOND_CHANCES;
        self.evict_one(lru, &mut second_chances, evicted);
        lru.pop_free()
    }

    /// Checks the invariants that hold while no other thread uses the cache.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let lru = self.lock();
        lru.check();
        let mut usage = 0;
        for index in 0..lru.frames() {
            let state = self.known_frame(index).state();
            if state.is_filled() {
                usage += lru.entry(index).charge;
            }
            assert_eq!(lru.is_listed(index), state.is_visible() && !state.is_parked());
            assert!(!lru.is_listed(index) || lru.usage <= lru.capacity);
            assert!(
                !state.is_parked() || state.pins() > 0,
                "no unpin is left that settles this entry"
            );
        }
        assert_eq!(lru.usage, usage);
    }
}
