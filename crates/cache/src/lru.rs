//! The state that a shard's lock guards: the hash table, the LRU lists of the three pools, the free frames,
//! and the sums.
//!
//! All links are indices into one vector of entries, parallel to the frames, so that walking a chain or a
//! list touches no frame.

use crate::options::{CacheKey, EntryRole, Insertion, Priority};
use crate::prefetch::prefetch;

/// The index that stands for "no entry".
const NONE: u32 = u32::MAX;

/// The pools in the order of eviction: victims come from the tail of the first one that is not empty.
const BOTTOM: usize = 0;
const LOW: usize = 1;
const HIGH: usize = 2;
const POOLS: usize = 3;
/// The pool of an entry that is on no list.
const UNLISTED: u8 = POOLS as u8;

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) key: CacheKey,
    /// The bytes that the entry adds to the usage, metadata included.
    pub(crate) charge: usize,
    /// The next entry in the bucket, or the next free frame.
    chain: u32,
    /// The neighbour towards the head of the list, which is the most recently used.
    newer: u32,
    older: u32,
    pool: u8,
    pub(crate) priority: Priority,
    pub(crate) role: EntryRole,
    /// True if the entry was looked up, or touched, since its insertion.
    pub(crate) hit: bool,
}

impl Entry {
    pub(crate) fn new<V>(insertion: &Insertion<V>) -> Entry {
        Entry {
            key: insertion.key,
            charge: insertion.charge,
            chain: NONE,
            newer: NONE,
            older: NONE,
            pool: UNLISTED,
            priority: insertion.priority,
            role: insertion.role,
            hit: false,
        }
    }
}

#[derive(Clone, Copy)]
struct List {
    newest: u32,
    oldest: u32,
    usage: usize,
    /// Charges above this overflow into the pool below. The bottom pool does not use it.
    capacity: usize,
}

/// Counters since the cache was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of lookups that found their key. Hits through slots are not counted: a shared counter would
    /// cost more than the hit.
    pub hits: u64,
    /// Lookups that did not find their key.
    pub misses: u64,
    /// Entries inserted.
    pub inserts: u64,
    /// Insertions refused by the strict capacity limit.
    pub refused: u64,
    /// The number of entries that were evicted to make room.
    pub evictions: u64,
    /// The number of entries that eviction spared because they were hit through a slot.
    pub second_chances: u64,
}

impl Stats {
    pub(crate) fn add(&mut self, other: &Stats) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.inserts += other.inserts;
        self.refused += other.refused;
        self.evictions += other.evictions;
        self.second_chances += other.second_chances;
    }
}

pub(crate) struct Lru {
    entries: Vec<Entry>,
    free: u32,
    /// Heads of chains; their number is a power of two.
    buckets: Vec<u32>,
    /// The number of entries in the table.
    len: usize,
    lists: [List; POOLS],
    high_pri_pool_ratio: f64,
    low_pri_pool_ratio: f64,
    pub(crate) capacity: usize,
    pub(crate) strict_capacity_limit: bool,
    /// The sum of the charges of all filled frames.
    pub(crate) usage: usize,
    pub(crate) stats: Stats,
}

impl Lru {
    pub(crate) fn new(
        capacity: usize,
        strict_capacity_limit: bool,
        high_pri_pool_ratio: f64,
        low_pri_pool_ratio: f64,
    ) -> Lru {
        let high_pri_pool_ratio = high_pri_pool_ratio.clamp(0.0, 1.0);
        let mut lru = Lru {
            entries: Vec::new(),
            free: NONE,
            buckets: vec![NONE; 16],
            len: 0,
            lists: [List {
                newest: NONE,
                oldest: NONE,
                usage: 0,
                capacity: 0,
            }; POOLS],
            high_pri_pool_ratio,
            low_pri_pool_ratio: low_pri_pool_ratio.clamp(0.0, 1.0 - high_pri_pool_ratio),
            capacity: 0,
            strict_capacity_limit,
            usage: 0,
            stats: Stats::default(),
        };
        lru.set_capacity(capacity);
        lru
    }

    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.lists[HIGH].capacity = (capacity as f64 * self.high_pri_pool_ratio) as usize;
        self.lists[LOW].capacity = (capacity as f64 * self.low_pri_pool_ratio) as usize;
        self.overflow();
    }

    // ---- frames

    /// The number of frames that have ever been in use.
    pub(crate) fn frames(&self) -> u32 {
        self.entries.len() as u32
    }

    pub(crate) fn entry(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    fn entry_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.entries[index as usize]
    }

    /// Takes a frame from the free list.
    pub(crate) fn pop_free(&mut self) -> Option<u32> {
        let index = self.free;
        (index != NONE).then(|| {
            self.free = self.entry(index).chain;
            index
        })
    }

    pub(crate) fn push_free(&mut self, index: u32) {
        self.entry_mut(index).chain = self.free;
        self.free = index;
    }

    /// Stores `entry` as the content of the frame `index`, which came from [`pop_free`](Self::pop_free) or is
    /// the next one that was never used.
    pub(crate) fn fill(&mut self, index: u32, entry: Entry) {
        if index as usize == self.entries.len() {
            self.entries.push(entry);
        } else {
            *self.entry_mut(index) = entry;
        }
        self.usage += entry.charge;
    }

    // ---- hash table

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of buckets.
    pub(crate) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    pub(crate) fn find(&self, key: CacheKey, hash: u64) -> Option<u32> {
        let mut index = self.buckets[self.bucket(hash)];
        while index != NONE {
            let entry = self.entry(index);
            if entry.key == key {
                return Some(index);
            }
            index = entry.chain;
        }
        None
    }

    /// Adds the entry to the table, which must not have its key.
    pub(crate) fn add_to_table(&mut self, index: u32) {
        if self.len == self.buckets.len() {
            self.grow_table();
        }
        let bucket = self.bucket(self.entry(index).key.hash());
        self.entry_mut(index).chain = self.buckets[bucket];
        self.buckets[bucket] = index;
        self.len += 1;
    }

    pub(crate) fn remove_from_table(&mut self, index: u32) {
        let Entry { key, chain, .. } = *self.entry(index);
        let bucket = self.bucket(key.hash());
        if self.buckets[bucket] == index {
            self.buckets[bucket] = chain;
        } else {
            let mut before = self.buckets[bucket];
            while self.entry(before).chain != index {
                before = self.entry(before).chain;
            }
            self.entry_mut(before).chain = chain;
        }
        self.len -= 1;
    }

    fn grow_table(&mut self) {
        let old = std::mem::take(&mut self.buckets);
        self.buckets = vec![NONE; old.len() * 2];
        for mut index in old {
            while index != NONE {
                let Entry { key, chain, .. } = *self.entry(index);
                let bucket = self.bucket(key.hash());
                self.entry_mut(index).chain = self.buckets[bucket];
                self.buckets[bucket] = index;
                index = chain;
            }
        }
    }

    // ---- lists

    pub(crate) fn is_listed(&self, index: u32) -> bool {
        self.entry(index).pool != UNLISTED
    }

    /// Puts an unlisted entry at the head of the pool it has earned.
    pub(crate) fn list(&mut self, index: u32) {
        let Entry { priority, hit, .. } = *self.entry(index);
        let pool = if self.high_pri_pool_ratio > 0.0 && (priority == Priority::High || hit) {
            HIGH
        } else if self.low_pri_pool_ratio > 0.0 && (priority >= Priority::Low || hit) {
            LOW
        } else {
            BOTTOM
        };
        self.push_newest(pool, index);
        self.overflow();
    }

    /// Takes a listed entry off its list.
    pub(crate) fn unlist(&mut self, index: u32) {
        let Entry {
            charge,
            newer,
            older,
            pool,
            ..
        } = *self.entry(index);
        let list = &mut self.lists[usize::from(pool)];
        list.usage -= charge;
        match newer {
            NONE => list.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => list.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        self.entry_mut(index).pool = UNLISTED;
    }

    /// Notes a hit, and moves the entry to the head of the pool it has earned if it is listed.
    pub(crate) fn promote(&mut self, index: u32) {
        self.entry_mut(index).hit = true;
        if self.is_listed(index) {
            self.unlist(index);
            self.list(index);
        }
    }

    /// The entry to evict next.
    pub(crate) fn victim(&self) -> Option<u32> {
        self.lists
            .iter()
            .map(|list| list.oldest)
            .find(|&oldest| oldest != NONE)
    }

    /// Prefetches the entries that will be written to besides the victim, before the victim is unlisted or
    /// promoted. Returns the next victim.
    pub(crate) fn approach_next_victim(&self, victim: u32) -> Option<u32> {
        let newer_than = |index: u32| {
            (index != NONE)
                .then(|| self.entry(index).newer)
                .filter(|&newer| newer != NONE)
        };
        for oldest in [victim, self.lists[HIGH].oldest] {
            newer_than(oldest).inspect(|&newer| {
                let entry = self.entry(newer);
                prefetch(std::ptr::from_ref(entry).addr(), size_of_val(entry));
            });
        }
        newer_than(victim)
    }

    fn push_newest(&mut self, pool: usize, index: u32) {
        let list = &mut self.lists[pool];
        let second = list.newest;
        list.newest = index;
        match second {
            NONE => list.oldest = index,
            _ => self.entries[second as usize].newer = index,
        }
        let entry = &mut self.entries[index as usize];
        entry.pool = pool as u8;
        entry.newer = NONE;
        entry.older = second;
        list.usage += entry.charge;
    }

    /// Moves the entries that exceed a pool's capacity to the head of the pool below.
    fn overflow(&mut self) {
        for pool in [HIGH, LOW] {
            while self.lists[pool].usage > self.lists[pool].capacity {
                let oldest = self.lists[pool].oldest;
                self.unlist(oldest);
                self.push_newest(pool - 1, oldest);
            }
        }
    }

    /// Checks the invariants that hold between any two calls.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        for (pool, list) in self.lists.iter().enumerate() {
            let (mut usage, mut newer, mut index) = (0, NONE, list.newest);
            while index != NONE {
                let entry = self.entry(index);
                assert_eq!((usize::from(entry.pool), entry.newer), (pool, newer));
                usage += entry.charge;
                (newer, index) = (index, entry.older);
            }
            assert_eq!((list.oldest, list.usage), (newer, usage));
            assert!(pool == BOTTOM || usage <= list.capacity);
        }
        let mut len = 0;
        for (bucket, &head) in self.buckets.iter().enumerate() {
            let mut index = head;
            while index != NONE {
                assert_eq!(self.bucket(self.entry(index).key.hash()), bucket);
                index = self.entry(index).chain;
                len += 1;
            }
        }
        assert_eq!(len, self.len);
    }
}
