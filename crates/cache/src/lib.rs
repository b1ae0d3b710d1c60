//! The block cache: a sharded LRU, or a lock-free clock. Hits take no lock in either.
//!
//! # The problem
//!
//! A point read of a cached block must not hash, lock, walk a list or allocate: in RocksDB those steps cost
//! more than half a microsecond of cache misses. Therefore code that refers to one block again and again (an
//! index entry) keeps a [`Slot`], one word that remembers where the block sat in the cache. While the block
//! still sits there, [`Cache::get`] pins it with a single `fetch_add`, and dropping the [`Guard`] is a single
//! `fetch_sub`. The hash table, and in an LRU its lock and the lists, are for misses, and for callers without
//! a slot.
//!
//! # Frames
//!
//! A value lives in a frame. Frames are never returned to the allocator while the cache lives, so a slot may
//! look at its frame at any time, however stale it is. Each frame has one state word (see `frame`): a
//! generation, which counts the values the frame has held, three flags, and the number of pins. A slot names
//! a frame and a generation. Pinning adds one to the word and looks at its previous value. If the generation
//! is the slot's and the value is in the table, the value can no longer be freed, because eviction succeeds
//! only by a compare-and-swap from a word without pins. Otherwise the pin is released and the slot has
//! missed. A frame whose generations are used up is never filled again, so an old slot can never name a newer
//! value.
//!
//! # The states of an entry
//!
//! | RocksDB | here | `VISIBLE` | `PARKED` |
//! |---|---|---|---|
//! | not referenced, in the table and the LRU list | listed; pins may come and go without any change to the list | 1 | 0 |
//! | referenced, in the table | parked: eviction met it pinned and took it off the list | 1 | 1 |
//! | referenced, erased from the table | erased | 0 | 1 |
//!
//! A thread that releases the last pin of a parked or erased entry sees `PARKED` in the same word. It takes
//! the shard's lock and puts the entry back on its list, or frees it if it is erased or the shard is over its
//! capacity. So the lists hold at most as many pinned entries as were pinned since eviction last passed, and
//! eviction never walks over the same pinned entry twice.
//!
//! # Two bodies
//!
//! The frames of a shard are managed by an LRU under a lock (`lru`), or by a clock (`clock`), whose lookups,
//! insertions and evictions take no lock: see [`CacheType`]. Frames, slots, pins and the table above are the
//! same in both. Where the LRU requires the shard's lock, the clock requires that the thread has made the
//! exchange of the state word that gives it the entry.
//!
//! # Order of eviction
//!
//! An LRU has RocksDB's order: three pools (high, low and bottom priority); insertion at the head of the pool
//! that the priority names; entries that overflow a pool move to the head of the next lower one; victims come
//! from the tail of the lowest. A [`lookup`](Cache::lookup) moves its entry at once. A hit through a slot
//! sets one bit, and eviction gives an entry with that bit a second chance: it clears the bit and moves the
//! entry as a lookup would have.
//!
//! In a clock a hand goes round the frames. It evicts an entry whose countdown is over. Otherwise it
//! decrements the countdown, or increments it (to at most three) and clears the bit where the bit is set. The
//! countdown begins by priority, so that a block that is read only once is evicted first.
//!
//! # Admission
//!
//! An insertion evicts the entries whose room it needs. A scan of more blocks than fit, each read once, would
//! replace the whole cache for nothing, and pay an insertion, an eviction and the memory of both for each
//! block. A reader that can cheaply read a block again asks [`Cache::admits`] first: a full cache admits only
//! blocks that were requested before, not long ago (`asked`).
//!
//! # Memory
//!
//! The memory of values, besides their frames, can be allocated from the cache's [`BlockMemory`].
//!
//! # The secondary cache
//!
//! Evicted entries may go to a compressed cache behind this one (`secondary`), and
//! [`Cache::lookup_or_restore`] asks it on a miss. Slots and pins know nothing of it: a value that came back
//! sits in a frame like any other.
//!
//! # Accounting
//!
//! [`Cache::usage`] is the sum of the charges of all entries that hold memory, including erased ones that are
//! still pinned. It exceeds the capacity only by pinned entries. Values are dropped outside the lock.

mod asked;
mod cache;
mod clock;
mod clock_shard;
mod entry_info;
mod evicted;
mod frame;
mod lru;
mod lru_shard;
mod memory;
mod options;
mod prefetch;
mod secondary;
mod secondary_cache;
mod shard;
mod sync;

pub use cache::{Cache, Guard, Handle, Slot};
pub use entry_info::{EntryInfo, RoleUsage};
pub use lru::Stats;
pub use memory::{BlockMemory, Buffer};
pub use options::{CacheKey, CacheOptions, CacheType, EntryRole, MetadataChargePolicy, Priority};
pub use prefetch::prefetch;
pub use secondary_cache::{
    AdmissionPolicy, CompressedSecondaryCacheOptions, Demote, SecondaryTally, SecondaryUsage,
    TieredCacheOptions,
};

#[cfg(all(loom, test))]
mod loom_tests;
#[cfg(all(not(loom), test))]
mod tests;
