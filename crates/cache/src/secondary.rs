//! The compressed secondary cache: what a cache evicts goes down to it as bytes, compressed, and comes back when it is asked for.
//!
//! RocksDB's `CompressedSecondaryCache`, and the manner in which its cache adapter uses one:
//!
//! | what happens | in the cache | down here |
//! |---|---|---|
//! | an entry is evicted the first time | it goes | a placeholder for it |
//! | it is evicted while that is here | it goes | its bytes, compressed |
//! | it is looked up, and is here | a placeholder; who asked has the value alone, charged while he holds it | it stays |
//! | the same while the placeholder above is there | it is inserted | a placeholder |
//! | it is erased | it goes | it goes |
//!
//! So a value takes part in both only if it is wanted more than once, and is in one of them at a time.
//!
//! It belongs to one cache: the identities in its keys are that cache's. No lock of a shard is held while something is compressed
//! or uncompressed. There is no order between the two: what is erased while it goes down on another thread may be left behind, and
//! waits to be evicted; a key's value never changes, so that is room lost and nothing else.

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

/// A value that can go down to a secondary cache.
pub trait Demote: Sized {
    /// The bytes it can be made of again; `None` for one that is not worth keeping twice.
    fn saved(&self) -> Option<Cow<'_, [u8]>>;

    /// Stands in the cache for a value that came back from below once. Costs next to no memory of its own.
    fn placeholder() -> Self;

    /// True of [`placeholder`](Demote::placeholder)s alone.
    fn is_placeholder(&self) -> bool;
}

/// When what is evicted goes down: RocksDB's `TieredAdmissionPolicy`. `three_queue`, which is for a third tier, there is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionPolicy {
    /// At the second eviction: at the first it leaves a placeholder. RocksDB's `placeholder`, and its `auto`. Default.
    #[default]
    Placeholder,
    /// At the first, if it was found since it was inserted: `allow_cache_hits`.
    AllowCacheHits,
    /// At the first: `allow_all`.
    AllowAll,
}

impl AdmissionPolicy {
    /// That of RocksDB's name: auto, placeholder, allow_cache_hits or allow_all.
    pub fn of_name(name: &str) -> Option<AdmissionPolicy> {
        match name {
            "auto" | "placeholder" => Some(AdmissionPolicy::Placeholder),
            "allow_cache_hits" => Some(AdmissionPolicy::AllowCacheHits),
            "allow_all" => Some(AdmissionPolicy::AllowAll),
            _ => None,
        }
    }
}

/// How a secondary cache is laid out. Names and defaults are those of RocksDB's `CompressedSecondaryCacheOptions`, whose
/// `enable_custom_split_merge` (chunks that fit jemalloc's sizes) there is not.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedSecondaryCacheOptions {
    /// Bytes it may hold, compressed; 0: nothing goes down. Default 32 MiB.
    pub capacity: usize,
    /// As [`CacheOptions::num_shard_bits`]. Default -1.
    pub num_shard_bits: i32,
    /// What does not fit beside what is being read is not kept. Default false.
    pub strict_capacity_limit: bool,
    /// As [`CacheOptions::high_pri_pool_ratio`]. Default 0.5.
    pub high_pri_pool_ratio: f64,
    /// As [`CacheOptions::low_pri_pool_ratio`]. Default 0.
    pub low_pri_pool_ratio: f64,
    /// As [`CacheOptions::metadata_charge_policy`]. Default: in full.
    pub metadata_charge_policy: MetadataChargePolicy,
    /// How entries are compressed; those that get no smaller are kept as they are. Default LZ4.
    pub compression_type: CompressionType,
    /// How hard.
    pub compression_opts: CompressionOptions,
    /// What is kept as it is. Default: filters, which hardly get smaller.
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

/// How a cache and the secondary cache below it share one budget: RocksDB's `TieredCacheOptions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TieredCacheOptions {
    /// Bytes both may hold together. The capacities in the options of either mean nothing.
    pub total_capacity: usize,
    /// The secondary cache's part of it, 0 to 1. Default 0.
    pub compressed_secondary_ratio: f64,
    /// When what is evicted goes down.
    pub adm_policy: AdmissionPolicy,
    /// The secondary cache.
    pub comp_cache_opts: CompressedSecondaryCacheOptions,
}

/// What came back from secondary caches for one who asked, as RocksDB's tickers count it.
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
    /// One that also tells of each: the role of what came back, or `None` for a lookup that found a placeholder. Called with no lock
    /// held but that of whoever looks the value up.
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

    /// Filters among them, and partitions of filters: `secondary.cache.filter.hits`.
    pub fn filter_hits(&self) -> u64 {
        self.filter_hits.load(Ordering::Relaxed)
    }

    /// Indexes among them: `secondary.cache.index.hits`.
    pub fn index_hits(&self) -> u64 {
        self.index_hits.load(Ordering::Relaxed)
    }

    /// Data blocks among them: `secondary.cache.data.hits`.
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

/// What a secondary cache holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondaryUsage {
    /// Bytes it may hold.
    pub capacity: usize,
    /// Bytes it holds, compressed.
    pub usage: usize,
    /// Its entries by role; placeholders count as what they stand for.
    pub roles: Vec<RoleUsage>,
    /// Lookups in it, entries added, placeholders among them, and evicted.
    pub stats: Stats,
}

/// An entry down here.
enum Saved {
    /// Something was evicted once, or went up.
    Placeholder,
    Bytes {
        compression: CompressionType,
        bytes: Buffer,
        /// Their number when they are uncompressed.
        len: usize,
    },
}

/// The two capacities of one budget.
struct Tier {
    total: usize,
    ratio: f64,
}

/// See the module.
pub(crate) struct Secondary<V> {
    entries: Arc<Cache<Saved>>,
    capacity: AtomicUsize,
    options: CompressedSecondaryCacheOptions,
    policy: Mutex<AdmissionPolicy>,
    tier: Option<Mutex<Tier>>,
    /// Those that nobody uses at the moment.
    compressors: Mutex<Vec<Compressor>>,
    decompressor: Decompressor,
    saved: fn(&V) -> Option<Cow<'_, [u8]>>,
    placeholder: fn() -> V,
    is_placeholder: fn(&V) -> bool,
    /// Lookups that found a placeholder in the cache above.
    placeholders_found: AtomicU64,
}

thread_local! {
    /// Something compressed, or uncompressed, on its way to memory of its size.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A thread keeps no more than this for what is to come.
const SCRATCH_LIMIT: usize = 1 << 20;

fn put_back(scratch: Vec<u8>) {
    if scratch.capacity() <= SCRATCH_LIMIT {
        SCRATCH.set(scratch);
    }
}

/// No more of them are kept ready.
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

    /// One that shares the budget of `options` with the cache above.
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
    /// Takes what the cache above evicted, if it is to be had.
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
        // What does not fit is not kept.
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

    /// The bytes compressed, if that makes them fewer.
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

    /// What `restore` makes of the bytes of `key`, if they are here. With `takes` they are here no longer, but a placeholder.
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

    /// True if the bytes of `key` are here.
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

    /// True of a placeholder that a lookup in the cache above found.
    pub(crate) fn found_placeholder(&self, value: &V) -> bool {
        let is_placeholder = (self.is_placeholder)(value);
        if is_placeholder {
            self.placeholders_found.fetch_add(1, Ordering::Relaxed);
        }
        is_placeholder
    }

    /// How often that was so.
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

    /// Changes the budget shared with the cache above: its bytes, the secondary cache's part. `resize` is told what is left for the
    /// cache above. Does nothing, and says so, where there is no such budget.
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
        // Whichever shrinks does so first.
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
