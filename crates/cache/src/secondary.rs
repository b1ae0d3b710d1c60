//! The compressed secondary cache: it takes the bytes of evicted entries, compressed, and gives them back on
//! a lookup.
//!
//! It is RocksDB's `CompressedSecondaryCache`, used as RocksDB's cache adapter uses it:
//!
//! | event | in the primary cache | in the secondary cache |
//! |---|---|---|
//! | an entry is evicted the first time | it is removed | a placeholder is inserted for it |
//! | it is evicted while the placeholder is there | it is removed | its bytes are inserted, compressed |
//! | it is looked up, and the secondary cache has it | a placeholder; the caller has the value alone, charged while the caller pins it | it stays |
//! | the same while the placeholder above is there | it is inserted | replaced by a placeholder |
//! | it is erased | it is removed | it is removed |
//!
//! So a value enters each cache only when it is wanted more than once, and is in one of the two at a time.
//!
//! A secondary cache belongs to one primary cache: the identities in its keys are that cache's. No shard lock
//! is held while a value is compressed or uncompressed. The two caches are not synchronised: an entry that is
//! erased while another thread is handing it down may stay in the secondary cache until it is evicted there.
//! A key's value never changes, so this only wastes room.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use codec::{CompressionOptions, CompressionType, Compressor, Decompressor};

use crate::cache::{Cache, RoleUsage, Stats};
use crate::memory::Buffer;
use crate::options::{CacheKey, CacheOptions, CacheType, EntryRole, MetadataChargePolicy, Priority};
use crate::shard::Demoted;
use crate::sync::Mutex;

/// A value that can go to a secondary cache.
pub trait Demote: Sized {
    /// The bytes the value can be rebuilt from; `None` for a value that is not worth keeping in the secondary
    /// cache.
    fn saved(&self) -> Option<Cow<'_, [u8]>>;

    /// The value that stands in the primary cache for one that came back from the secondary cache once. It
    /// has next to no memory of its own.
    fn placeholder() -> Self;

    /// True only of a [`placeholder`](Demote::placeholder).
    fn is_placeholder(&self) -> bool;
}

/// When evicted entries are admitted to the secondary cache: RocksDB's `TieredAdmissionPolicy`. There is no
/// `three_queue`, which is for a third tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionPolicy {
    /// At the second eviction: the first one leaves a placeholder. RocksDB's `placeholder`, and its `auto`.
    /// Default.
    #[default]
    Placeholder,
    /// At the first eviction, if the entry was hit since its insertion: `allow_cache_hits`.
    AllowCacheHits,
    /// At the first eviction: `allow_all`.
    AllowAll,
}

impl AdmissionPolicy {
    /// The policy of RocksDB's name: auto, placeholder, allow_cache_hits or allow_all.
    pub fn of_name(name: &str) -> Option<AdmissionPolicy> {
        match name {
            "auto" | "placeholder" => Some(AdmissionPolicy::Placeholder),
            "allow_cache_hits" => Some(AdmissionPolicy::AllowCacheHits),
            "allow_all" => Some(AdmissionPolicy::AllowAll),
            _ => None,
        }
    }
}

/// The options of a secondary cache. Names and defaults are those of RocksDB's
/// `CompressedSecondaryCacheOptions`. There is no `enable_custom_split_merge` (chunks that fit jemalloc's
/// sizes).
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedSecondaryCacheOptions {
    /// The capacity in compressed bytes; with 0, nothing is admitted. Default: 32 MiB.
    pub capacity: usize,
    /// As [`CacheOptions::num_shard_bits`]. Default: -1.
    pub num_shard_bits: i32,
    /// Whether an entry that does not fit besides pinned entries is discarded. Default: false.
    pub strict_capacity_limit: bool,
    /// As [`CacheOptions::high_pri_pool_ratio`]. Default: 0.5.
    pub high_pri_pool_ratio: f64,
    /// As [`CacheOptions::low_pri_pool_ratio`]. Default: 0.
    pub low_pri_pool_ratio: f64,
    /// As [`CacheOptions::metadata_charge_policy`]. Default: in full.
    pub metadata_charge_policy: MetadataChargePolicy,
    /// The compression of entries; an entry that compression does not shrink is kept uncompressed. Default:
    /// LZ4.
    pub compression_type: CompressionType,
    /// The compression level and its parameters.
    pub compression_opts: CompressionOptions,
    /// Roles whose entries are kept uncompressed. Default: filters, which hardly shrink.
    pub do_not_compress_roles: Vec<EntryRole>,
}

impl Default for CompressedSecondaryCacheOptions {
    fn default() -> CompressedSecondaryCacheOptions {
        let lru = CacheOptions::default();
        CompressedSecondaryCacheOptions {
            capacity: lru.capacity,
            num_shard_bits: lru.num_shard_bits,
            strict_capacity_limit: lru.strict_capacity_limit,
            high_pri_pool_ratio: lru.high_pri_pool_ratio,
            low_pri_pool_ratio: lru.low_pri_pool_ratio,
            metadata_charge_policy: lru.metadata_charge_policy,
            compression_type: CompressionType::Lz4,
            compression_opts: CompressionOptions::default(),
            do_not_compress_roles: vec![EntryRole::FilterBlock],
        }
    }
}

/// The options of a primary and a secondary cache that share one budget: RocksDB's `TieredCacheOptions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TieredCacheOptions {
    /// The budget of both caches together, in bytes. The capacities in the options of either are ignored.
    pub total_capacity: usize,
    /// The secondary cache's part of the budget, 0 to 1. Default: 0.
    pub compressed_secondary_ratio: f64,
    /// When evicted entries are admitted to the secondary cache.
    pub adm_policy: AdmissionPolicy,
    /// The options of the secondary cache.
    pub comp_cache_opts: CompressedSecondaryCacheOptions,
}

/// The number of values that came back from secondary caches for one user, as RocksDB's tickers count them.
#[derive(Default)]
pub struct SecondaryTally {
    tell: Option<Box<dyn Fn(Option<EntryRole>) + Send + Sync>>,
    hits: AtomicU64,
    filter_hits: AtomicU64,
    index_hits: AtomicU64,
    data_hits: AtomicU64,
    dummy_hits: AtomicU64,
}

impl fmt::Debug for SecondaryTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SecondaryTally({} hits, {} dummy hits)",
            self.hits(),
            self.dummy_hits()
        )
    }
}

impl SecondaryTally {
    /// A tally that also calls `tell` for each lookup: with the role of the value that came back, or `None`
    /// for a lookup that found a placeholder. The call holds no lock except those of the caller of the
    /// lookup.
    pub fn telling(tell: impl Fn(Option<EntryRole>) + Send + Sync + 'static) -> SecondaryTally {
        SecondaryTally {
            tell: Some(Box::new(tell)),
            ..SecondaryTally::default()
        }
    }

    /// Values that came back: `secondary.cache.hits`, and `compressed.secondary.cache.hits`.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// The filters and partitions of filters among the hits: `secondary.cache.filter.hits`.
    pub fn filter_hits(&self) -> u64 {
        self.filter_hits.load(Ordering::Relaxed)
    }

    /// The indexes among the hits: `secondary.cache.index.hits`.
    pub fn index_hits(&self) -> u64 {
        self.index_hits.load(Ordering::Relaxed)
    }

    /// The data blocks among the hits: `secondary.cache.data.hits`.
    pub fn data_hits(&self) -> u64 {
        self.data_hits.load(Ordering::Relaxed)
    }

    /// Lookups that found a placeholder: `compressed.secondary.cache.dummy.hits`.
    pub fn dummy_hits(&self) -> u64 {
        self.dummy_hits.load(Ordering::Relaxed)
    }

    fn count_dummy(&self) {
        self.dummy_hits.fetch_add(1, Ordering::Relaxed);
        if let Some(tell) = &self.tell {
            tell(None);
        }
    }

    fn count(&self, role: EntryRole) {
        if let Some(tell) = &self.tell {
            tell(Some(role));
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        let of_role = match role {
            EntryRole::FilterBlock => &self.filter_hits,
            EntryRole::IndexBlock => &self.index_hits,
            EntryRole::DataBlock => &self.data_hits,
            _ => return,
        };
        of_role.fetch_add(1, Ordering::Relaxed);
    }
}

/// The contents of a secondary cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondaryUsage {
    /// The capacity, in bytes.
    pub capacity: usize,
    /// The usage in bytes, compressed.
    pub usage: usize,
    /// The entries by role; placeholders count under the role of their value.
    pub roles: Vec<RoleUsage>,
    /// Lookups, insertions, insertions of placeholders, and evictions.
    pub stats: Stats,
}

/// An entry of the secondary cache.
enum Saved {
    /// A value that was evicted once, or moved to the primary cache.
    Placeholder,
    Bytes {
        compression: CompressionType,
        bytes: Buffer,
        /// The length of the uncompressed bytes.
        len: usize,
    },
}

/// The budget of two caches that share one.
struct Tier {
    total: usize,
    ratio: f64,
}

/// The secondary cache: see the module.
pub(crate) struct Secondary<V> {
    entries: Arc<Cache<Saved>>,
    capacity: AtomicUsize,
    options: CompressedSecondaryCacheOptions,
    policy: Mutex<AdmissionPolicy>,
    tier: Option<Mutex<Tier>>,
    /// Compressors that are not in use.
    compressors: Mutex<Vec<Compressor>>,
    decompressor: Decompressor,
    saved: fn(&V) -> Option<Cow<'_, [u8]>>,
    placeholder: fn() -> V,
    is_placeholder: fn(&V) -> bool,
    /// Lookups that found a placeholder in the primary cache.
    placeholders_found: AtomicU64,
}

thread_local! {
    /// A scratch buffer for compressed or uncompressed bytes, before they are copied to memory of their exact
    /// size.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A thread keeps a scratch buffer of at most this many bytes.
const SCRATCH_LIMIT: usize = 1 << 20;

fn put_back(scratch: Vec<u8>) {
    if scratch.capacity() <= SCRATCH_LIMIT {
        SCRATCH.set(scratch);
    }
}

/// The number of compressors that are kept ready.
const MOST_COMPRESSORS: usize = 16;

impl<V: Demote> Secondary<V> {
    pub(crate) fn new(options: CompressedSecondaryCacheOptions, policy: AdmissionPolicy) -> Secondary<V> {
        let entries = Cache::lru(CacheOptions {
            cache_type: CacheType::Lru,
            estimated_entry_charge: 0,
            capacity: options.capacity,
            num_shard_bits: options.num_shard_bits,
            strict_capacity_limit: options.strict_capacity_limit,
            high_pri_pool_ratio: options.high_pri_pool_ratio,
            low_pri_pool_ratio: options.low_pri_pool_ratio,
            metadata_charge_policy: options.metadata_charge_policy,
        });
        Secondary {
            entries,
            capacity: AtomicUsize::new(options.capacity),
            options,
            policy: Mutex::new(policy),
            tier: None,
            compressors: Mutex::new(Vec::new()),
            decompressor: Decompressor::new(None),
            saved: V::saved,
            placeholder: V::placeholder,
            is_placeholder: V::is_placeholder,
            placeholders_found: AtomicU64::new(0),
        }
    }

    /// A secondary cache that shares the budget of `options` with the primary cache.
    pub(crate) fn tiered(options: TieredCacheOptions) -> Secondary<V> {
        let tier = Tier {
            total: options.total_capacity,
            ratio: options.compressed_secondary_ratio.clamp(0.0, 1.0),
        };
        let compressed = CompressedSecondaryCacheOptions {
            capacity: tier.secondary(),
            ..options.comp_cache_opts
        };
        Secondary {
            tier: Some(Mutex::new(tier)),
            ..Secondary::new(compressed, options.adm_policy)
        }
    }
}

impl Tier {
    fn secondary(&self) -> usize {
        (self.total as f64 * self.ratio) as usize
    }
}

impl<V> Secondary<V> {
    /// Takes a value that the primary cache evicted, if the policy admits it.
    pub(crate) fn take(&self, value: &V, demoted: &Demoted) {
        if self.capacity() == 0 || (self.is_placeholder)(value) {
            return;
        }
        let Some(bytes) = (self.saved)(value) else { return };
        let policy = *self.policy.lock();
        let at_once = match policy {
            AdmissionPolicy::Placeholder => false,
            AdmissionPolicy::AllowCacheHits => demoted.hit,
            AdmissionPolicy::AllowAll => true,
        };
        if !at_once && self.entries.lookup(demoted.key).is_none() {
            self.put(demoted.key, demoted.role, Saved::Placeholder);
            return;
        }
        if let Some(saved) = self.save(&bytes, demoted.role) {
            self.put(demoted.key, demoted.role, saved);
        }
    }

    fn put(&self, key: CacheKey, role: EntryRole, saved: Saved) {
        let charge = match &saved {
            Saved::Placeholder => 0,
            Saved::Bytes { bytes, .. } => bytes.len() + Buffer::OVERHEAD,
        };
        // An entry that does not fit is discarded.
        drop(
            self.entries
                .insert_as(key, saved, charge, Priority::Low, role)
                .ok(),
        );
    }

    fn save(&self, bytes: &[u8], role: EntryRole) -> Option<Saved> {
        let len = bytes.len();
        if self.options.compression_type != CompressionType::None
            && !self.options.do_not_compress_roles.contains(&role)
            && let Some(compressed) = self.compress(bytes)
        {
            return Some(Saved::Bytes {
                compression: self.options.compression_type,
                bytes: compressed,
                len,
            });
        }
        Some(Saved::Bytes {
            compression: CompressionType::None,
            bytes: self.keep(bytes),
            len,
        })
    }

    fn keep(&self, bytes: &[u8]) -> Buffer {
        Buffer::copy_of(Some(self.entries.memory()), bytes)
    }

    /// The compressed bytes, if they are fewer.
    fn compress(&self, bytes: &[u8]) -> Option<Buffer> {
        let ready = self.compressors.lock().pop();
        let mut compressor = match ready {
            Some(compressor) => compressor,
            None => {
                let options = &self.options;
                Compressor::new(options.compression_type, &options.compression_opts, None).ok()?
            }
        };
        let mut out = SCRATCH.take();
        let done = compressor.compress(bytes, &mut out);
        let mut ready = self.compressors.lock();
        if ready.len() < MOST_COMPRESSORS {
            ready.push(compressor);
        }
        drop(ready);
        let fewer = done.is_ok() && out.len() < bytes.len();
        let kept = fewer.then(|| self.keep(&out));
        put_back(out);
        kept
    }

    /// The result of `restore` for the bytes of `key`, if they are in this cache. With `takes`, a placeholder
    /// replaces the bytes.
    pub(crate) fn find<T>(
        &self,
        key: CacheKey,
        role: EntryRole,
        takes: bool,
        tally: &SecondaryTally,
        restore: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        if self.capacity() == 0 {
            return None;
        }
        let found = self.entries.lookup(key)?;
        let restored = match &*found {
            Saved::Placeholder => {
                tally.count_dummy();
                return None;
            }
            Saved::Bytes {
                compression: CompressionType::None,
                bytes,
                ..
            } => restore(bytes),
            Saved::Bytes {
                compression,
                bytes,
                len,
            } => {
                let mut out = SCRATCH.take();
                let done = self.decompressor.decompress(*compression, bytes, &mut out);
                let whole = done.is_ok() && out.len() == *len;
                let restored = whole.then(|| restore(&out)).flatten();
                put_back(out);
                restored
            }
        };
        drop(found);
        if restored.is_none() {
            self.entries.erase(key);
        } else {
            tally.count(role);
            if takes {
                self.put(key, role, Saved::Placeholder);
            }
        }
        restored
    }

    /// True if this cache has the bytes of `key`.
    pub(crate) fn holds(&self, key: CacheKey) -> bool {
        self.capacity() > 0
            && self
                .entries
                .lookup(key)
                .is_some_and(|found| matches!(*found, Saved::Bytes { .. }))
    }

    pub(crate) fn erase(&self, key: CacheKey) -> bool {
        self.entries.erase(key)
    }

    pub(crate) fn placeholder(&self) -> V {
        (self.placeholder)()
    }

    /// Whether `value`, which a lookup in the primary cache found, is a placeholder. Counts it if so.
    pub(crate) fn found_placeholder(&self, value: &V) -> bool {
        let is_placeholder = (self.is_placeholder)(value);
        if is_placeholder {
            self.placeholders_found.fetch_add(1, Ordering::Relaxed);
        }
        is_placeholder
    }

    /// The number of lookups that found a placeholder.
    pub(crate) fn placeholders_found(&self) -> u64 {
        self.placeholders_found.load(Ordering::Relaxed)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        self.capacity.store(capacity, Ordering::Relaxed);
        self.entries.set_capacity(capacity);
    }

    pub(crate) fn is_tiered(&self) -> bool {
        self.tier.is_some()
    }

    /// Changes the budget shared with the primary cache: its bytes, and the secondary cache's part. `resize`
    /// gets the capacity that is left for the primary cache. Returns false and does nothing if there is no
    /// shared budget.
    pub(crate) fn set_budget(
        &self,
        total: Option<usize>,
        ratio: Option<f64>,
        resize: impl FnOnce(usize),
    ) -> bool {
        let Some(tier) = &self.tier else { return false };
        let mut tier = tier.lock();
        tier.total = total.unwrap_or(tier.total);
        tier.ratio = ratio.unwrap_or(tier.ratio).clamp(0.0, 1.0);
        let secondary = tier.secondary();
        let above = tier.total - secondary;
        // The cache that shrinks does so first.
        if secondary < self.capacity() {
            self.set_capacity(secondary);
            resize(above);
        } else {
            resize(above);
            self.set_capacity(secondary);
        }
        true
    }

    pub(crate) fn set_policy(&self, policy: AdmissionPolicy) {
        *self.policy.lock() = policy;
    }

    pub(crate) fn usage(&self) -> SecondaryUsage {
        SecondaryUsage {
            capacity: self.capacity(),
            usage: self.entries.usage(),
            roles: self.entries.usage_by_role(None).to_vec(),
            stats: self.entries.stats(),
        }
    }
}

#[cfg(all(not(loom), test))]
mod tests;
