//! A shard: frames, and what rules them: an LRU under a lock, or a clock without.

use std::sync::Arc;
// `room` and `absent` are not loom's: nothing follows from what they say.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::cache::{EntryInfo, Stats};
use crate::clock::Clock;
use crate::clock_shard::ClockShard;
use crate::frame::{Frame, Slab};
use crate::lru::Lru;
use crate::lru_shard::LruShard;
use crate::options::{CacheKey, EntryRole, Insertion};
use crate::secondary::Secondary;
use crate::sync::Mutex;

/// The frames are read without a lock, so they do not share a line with what is written under one.
#[repr(align(64))]
struct Padded<T>(T);

pub(crate) struct Shard<V> {
    /// How many low bits of an entry's number name the shard; those above are the index of its frame.
    bits: u32,
    frames: Padded<Slab<Frame<V>>>,
    body: Padded<Body>,
    /// Lookups that were spared.
    absent: Padded<AtomicU64>,
    /// Where what is evicted goes down to.
    secondary: Option<Arc<Secondary<V>>>,
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

/// What is known of an entry that makes room for others.
#[derive(Clone, Copy)]
pub(crate) struct Demoted {
    pub(crate) key: CacheKey,
    pub(crate) role: EntryRole,
    /// It was found since it was inserted.
    pub(crate) hit: bool,
}

/// Values on their way out: dropped, after those that were evicted went down to the secondary cache, where there is one. Declared
/// before the guard of the lock, so that both happen after it is free. An insertion usually evicts one: that needs no allocation.
pub(crate) struct Evicted<'a, V> {
    secondary: Option<&'a Secondary<V>>,
    first: Option<(V, Option<Demoted>)>,
    more: Vec<(V, Option<Demoted>)>,
}

impl<'a, V> Evicted<'a, V> {
    pub(crate) fn new(secondary: Option<&'a Secondary<V>>) -> Evicted<'a, V> {
        Evicted {
            secondary,
            first: None,
            more: Vec::new(),
        }
    }

    /// A value that was erased, or replaced.
    pub(crate) fn push(&mut self, value: V) {
        self.add(value, None);
    }

    /// A value that makes room.
    pub(crate) fn push_demoted(&mut self, value: V, demoted: Demoted) {
        self.add(value, Some(demoted));
    }

    fn add(&mut self, value: V, demoted: Option<Demoted>) {
        match self.first {
            None => self.first = Some((value, demoted)),
            Some(_) => self.more.push((value, demoted)),
        }
    }
}

impl<V> Drop for Evicted<'_, V> {
    fn drop(&mut self) {
        let Some(secondary) = self.secondary else { return };
        for (value, demoted) in self.first.iter().chain(&self.more) {
            if let Some(demoted) = demoted {
                secondary.take(value, demoted);
            }
        }
    }
}

/// The same call, of whichever body it is.
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
        secondary: Option<Arc<Secondary<V>>>,
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

    pub(crate) fn clock(bits: u32, clock: Clock, secondary: Option<Arc<Secondary<V>>>) -> Shard<V> {
        Shard {
            bits,
            frames: Padded(Slab::new()),
            body: Padded(Body::Clock(clock)),
            absent: Padded(AtomicU64::new(0)),
            secondary,
        }
    }

    /// Takes back the pin of the entry of that number, which is in `frame`.
    #[inline]
    pub(crate) fn unpin(&self, frame: &Frame<V>, number: u32) {
        if let Some(generation) = frame.unpin() {
            self.settle(number >> self.bits, generation);
        }
    }

    /// The frame a slot names, if there is one.
    #[inline]
    pub(crate) fn frame(&self, index: u32) -> Option<&Frame<V>> {
        self.frames.0.get(index)
    }

    /// Adds an entry and pins it. The value comes back if there is no room, or where it must not be.
    pub(crate) fn insert(&self, insertion: Insertion<V>) -> Result<(u32, &Frame<V>), V> {
        of_body!(self, body => body.insert(insertion))
    }

    /// Pins the entry of `key` and counts the hit or miss.
    pub(crate) fn lookup(&self, key: CacheKey, hash: u64) -> Option<(u32, &Frame<V>)> {
        of_body!(self, body => body.lookup(key, hash))
    }

    /// Takes the entry of `key` out of the table; true if there was one.
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

    /// True if so much fits beside what is there. Takes no lock.
    pub(crate) fn has_room(&self, charge: usize) -> bool {
        match &self.body.0 {
            Body::Lru { room, .. } => charge <= room.load(Ordering::Relaxed),
            Body::Clock(clock) => clock.usage().saturating_add(charge) <= clock.capacity(),
        }
    }

    /// Entries in the table.
    pub(crate) fn occupancy(&self) -> usize {
        match &self.body.0 {
            Body::Lru { lru, .. } => lru.lock().len(),
            Body::Clock(clock) => clock.occupancy(),
        }
    }

    /// Counts a lookup that was spared.
    #[inline]
    pub(crate) fn note_absent(&self) {
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

    /// Sees to a parked entry whose last pin was taken back while it was at `generation`.
    #[cold]
    pub(crate) fn settle(&self, index: u32, generation: u32) {
        of_body!(self, body => body.settle(index, generation));
    }

    /// Sum of the charges of pinned entries. Looks at every frame.
    pub(crate) fn pinned_usage(&self) -> usize {
        of_body!(self, body => body.pinned_usage())
    }

    pub(crate) fn describe(&self, out: &mut impl FnMut(EntryInfo)) {
        of_body!(self, body => body.describe(out));
    }

    /// Checks what must hold while nobody else is at work.
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
                // A guard that was leaked may have left a pin: nobody can use it any more, for it borrowed the cache.
                for _ in 0..state.pins() {
                    frame.unpin();
                }
                drop(frame.take(frame.state()));
            }
        }
    }
}
