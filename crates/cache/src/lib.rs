//! The block cache: a sharded LRU, or a clock without locks; hits take no lock in either.
//!
//! # The problem
//!
//! A point read of a cached block must not hash, lock, walk a list or allocate: in RocksDB those cost more than half a
//! microsecond of cache misses. So whoever refers to a block over and over (an index entry) keeps a [`Slot`], one word
//! that remembers where the block sat in the cache. While it still sits there, [`Cache::get`] pins it with a single
//! `fetch_add`, and dropping the [`Guard`] is a single `fetch_sub`. The hash table, and in an LRU its lock and the lists, are for
//! misses, and for those without a slot.
//!
//! # Frames
//!
//! A value lives in a frame. Frames are never given back to the allocator while the cache lives, so a slot may look
//! at its frame at any time, however stale it is. Each frame has one state word (see `frame`): a generation, which
//! counts the values the frame has held, three flags, and the number of pins. A slot names frame and generation.
//! Pinning adds one and looks at what was there before: if the generation is the slot's and the value is in the
//! table, the value can no longer go away, for eviction succeeds only by a compare-and-swap from a word without
//! pins; otherwise the pin is taken back and the slot has missed. A frame whose generation is used up is never
//! filled again, so an old slot cannot come to name a newer value, however long it waits.
//!
//! # The states of an entry
//!
//! | RocksDB | here | `VISIBLE` | `PARKED` |
//! |---|---|---|---|
//! | not referenced, in the table and the LRU list | listed; may be pinned for a while without the list knowing | 1 | 0 |
//! | referenced, in the table | parked: eviction met it pinned and took it off the list | 1 | 1 |
//! | referenced, erased from the table | erased | 0 | 1 |
//!
//! Whoever takes back the last pin of a parked or erased entry sees `PARKED` in the same word, takes the shard's
//! lock and puts the entry back on its list, or frees it if it is erased or the shard is over its capacity. So the
//! lists hold at most as many pinned entries as were pinned since eviction last passed by, and eviction never walks
//! over the same pinned entry twice.
//!
//! # Two bodies
//!
//! What rules the frames of a shard is an LRU under a lock (`lru`), or a clock (`clock`), whose lookups, insertions and evictions
//! take none: see [`CacheType`]. Frames, slots and pins are the same, and so is what the table above says; who needs a lock in the
//! one needs, in the other, to have made the exchange of the state word that gives him the entry.
//!
//! # Order of eviction
//!
//! In an LRU as in RocksDB: three pools (high, low and bottom priority) in one order, insertion at the head of the pool that
//! the priority names, what overflows a pool moves to the head of the next lower one, victims come from the tail of
//! the lowest. A [`lookup`](Cache::lookup) moves its entry at once. A hit through a slot sets one bit, and eviction
//! gives an entry with that bit a second chance: clears it and moves the entry as a lookup would have.
//!
//! In a clock a hand goes round. It takes an entry off whose countdown is over, and otherwise counts down, or up (to three) where
//! the bit is set, which it clears. The countdown begins by priority, so that a block read once and never again goes first.
//!
//! # Who comes in
//!
//! An insertion evicts what it needs room for. Whoever reads more than fits, each block once, would have the whole cache go by for
//! nothing, at the cost of an insertion, an eviction and the memory of both for each block. Who can read cheaply again asks
//! [`Cache::admits`] first: into a full cache comes what was asked for before, not long ago (`asked`).
//!
//! # Memory
//!
//! What values are made of besides their frames comes, if whoever makes them wants it, from the cache's [`BlockMemory`].
//!
//! # The secondary cache
//!
//! What is evicted may go down to a compressed cache behind this one (`secondary`), and [`Cache::lookup_or_restore`] asks it on a miss.
//! Slots and pins know nothing of it: a value that came back lies in a frame like any other.
//!
//! # Accounting
//!
//! [`Cache::usage`] is the sum of the charges of all entries that hold memory, erased ones that are still pinned
//! among them; it exceeds the capacity only by what is pinned. Values are dropped outside the lock.

mod asked;
mod cache;
mod clock;
mod clock_shard;
mod frame;
mod lru;
mod lru_shard;
mod memory;
mod options;
mod prefetch;
mod secondary;
mod shard;
mod sync;

pub use cache::{Cache, EntryInfo, Guard, Handle, RoleUsage, Slot, Stats};
pub use memory::{BlockMemory, Buffer};
pub use options::{CacheKey, CacheOptions, CacheType, EntryRole, MetadataChargePolicy, Priority};
pub use prefetch::prefetch;
pub use secondary::{
    AdmissionPolicy, CompressedSecondaryCacheOptions, Demote, SecondaryTally, SecondaryUsage,
    TieredCacheOptions,
};

#[cfg(all(loom, test))]
mod loom_tests;
#[cfg(all(not(loom), test))]
mod tests;
