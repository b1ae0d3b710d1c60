//! A shard: its frames, and an LRU under a lock or a lock-free clock that manages them.

use std::sync::Arc;
// `room` and `absent` are not loom's atomics: no decision depends on their exact values.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::clock::Clock;
use crate::clock_shard::ClockShard;
use crate::entry_info::EntryInfo;
use crate::frame::{Frame, Slab};
use crate::lru::Lru;
use crate::lru::Stats;
use crate::lru_shard::LruShard;
use crate::options::{CacheKey, Insertion};
use crate::secondary_cache::SecondaryCache;
use crate::sync::Mutex;

/// The frames are read without a lock, so they do not share a cache line with data that is written under one.
#[repr(align(64))]
struct Padded<T>(T);

pub(crate) struct Shard<V> {
    /// The number of low bits of an entry's number that name the shard; the bits above are the index of its
    /// frame.
    bits: u32,
    frames: Padded<Slab<Frame<V>>>,
    body: Padded<Body>,
    /// The number of misses that callers have counted without a lookup.
    absent: Padded<AtomicU64>,
    /// The secondary cache, which takes evicted entries.
    secondary: Option<Arc<dyn SecondaryCache<V>>>,
}

enum Body {
    Lru {
        lru: Mutex<Lru>,
        /// See [`LruShard::room`].
        room: AtomicUsize,
        max_frames: u64,
    },
    Clock(Clock),
}

/// Calls one method of the shard, of whichever kind it is.
macro_rules! of_body {
    ($shard:expr, $body:ident => $call:expr) => {
        match &$shard.body.0 {
            Body::Lru {
                lru,
                room,
                max_frames,
            } => {
                let $body = LruShard {
                    frames: &$shard.frames.0,
                    lru,
                    room,
                    max_frames: *max_frames,
                    secondary: $shard.secondary.as_deref(),
                };
                $call
            }
            Body::Clock(clock) => {
                let $body = ClockShard {
                    frames: &$shard.frames.0,
                    clock,
                    secondary: $shard.secondary.as_deref(),
                };
                $call
            }
        }
    };
}

impl<V> Shard<V> {
    /// A shard that names at most `max_frames` frames.
    pub(crate) fn lru(
        bits: u32,
        lru: Lru,
        max_frames: u64,
        secondary: Option<Arc<dyn SecondaryCache<V>>>,
    ) -> Shard<V> {
        Shard {
            bits,
            frames: Padded(Slab::new()),
            body: Padded(Body::Lru {
                room: AtomicUsize::new(lru.capacity),
                lru: Mutex::new(lru),
                max_frames,
            }),
            absent: Padded(AtomicU64::new(0)),
            secondary,
        }
    }

    pub(crate) fn clock(bits: u32, clock: Clock, secondary: Option<Arc<dyn SecondaryCache<V>>>) -> Shard<V> {
        Shard {
            bits,
            frames: Padded(Slab::new()),
            body: Padded(Body::Clock(clock)),
            absent: Padded(AtomicU64::new(0)),
            secondary,
        }
    }

    /// Releases a pin of the entry of that number, which is in `frame`.
    #[inline]
    pub(crate) fn unpin(&self, frame: &Frame<V>, number: u32) {
        if let Some(generation) = frame.unpin() {
            self.settle(number >> self.bits, generation);
        }
    }

    /// The frame at `index`, if there is one.
    #[inline]
    pub(crate) fn frame(&self, index: u32) -> Option<&Frame<V>> {
        self.frames.0.get(index)
    }

    /// Inserts an entry and pins it. The value is returned if there is no room, or if
    /// [`Standing`](crate::options::Standing) refuses it.
    pub(crate) fn insert(&self, insertion: Insertion<V>) -> Result<(u32, &Frame<V>), V> {
        of_body!(self, body => body.insert(insertion))
    }

    /// Pins the entry of `key` and counts the hit or miss.
    pub(crate) fn lookup(&self, key: CacheKey, hash: u64) -> Option<(u32, &Frame<V>)> {
        of_body!(self, body => body.lookup(key, hash))
    }

    /// Removes the entry of `key` from the table; true if there was one.
    pub(crate) fn erase(&self, key: CacheKey, hash: u64) -> bool {
        of_body!(self, body => body.erase(key, hash))
    }

    /// Frees every entry that is not pinned.
    pub(crate) fn erase_unreferenced(&self) {
        of_body!(self, body => body.erase_unreferenced());
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        of_body!(self, body => body.set_capacity(capacity));
    }

    pub(crate) fn set_strict_capacity_limit(&self, strict: bool) {
        match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().strict_capacity_limit = strict,
            Body::Clock(clock) => clock.set_strict(strict),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().capacity,
            Body::Clock(clock) => clock.capacity(),
        }
    }

    pub(crate) fn usage(&self) -> usize {
        match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().usage,
            Body::Clock(clock) => clock.usage(),
        }
    }

    /// True if `charge` bytes fit without an eviction. Takes no lock.
    pub(crate) fn has_room(&self, charge: usize) -> bool {
        match &self.body.0 {
            Body::Lru { room, .. } => charge <= room.load(Ordering::Relaxed),
            Body::Clock(clock) => clock.usage().saturating_add(charge) <= clock.capacity(),
        }
    }

    /// The number of entries in the table.
    pub(crate) fn occupancy(&self) -> usize {
        match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().len(),
            Body::Clock(clock) => clock.occupancy(),
        }
    }

    /// The number of cells of the table.
    pub(crate) fn table_address_count(&self) -> usize {
        match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().buckets(),
            Body::Clock(clock) => clock.table().len(),
        }
    }

    /// Counts a miss without a lookup.
    #[inline]
    pub(crate) fn record_absent(&self) {
        self.absent.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().stats,
            Body::Clock(clock) => clock.stats(),
        };
        stats.misses += self.absent.0.load(Ordering::Relaxed);
        stats
    }

    /// Settles a parked entry whose last pin was released while the frame was at `generation`.
    #[cold]
    pub(crate) fn settle(&self, index: u32, generation: u32) {
        of_body!(self, body => body.settle(index, generation));
    }

    /// The sum of the charges of pinned entries. Looks at every frame.
    pub(crate) fn pinned_usage(&self) -> usize {
        of_body!(self, body => body.pinned_usage())
    }

    pub(crate) fn describe(&self, out: &mut impl FnMut(EntryInfo)) {
        of_body!(self, body => body.describe(out));
    }

    /// Checks the invariants that hold while no other thread uses the cache.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        of_body!(self, body => body.check());
    }
}

impl<V> Drop for Shard<V> {
    fn drop(&mut self) {
        let frames = of_body!(self, body => body.frames_in_use());
        for index in 0..frames {
            let Some(frame) = self.frame(index) else { continue };
            let state = frame.state();
            if state.is_filled() {
                // A leaked guard may have left a pin. No code can use the guard any more, because it borrowed
                // the cache.
                for _ in 0..state.pins() {
                    frame.unpin();
                }
                drop(frame.take(frame.state()));
            }
        }
    }
}
