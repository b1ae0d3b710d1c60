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
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use codec::{CompressionType, Compressor, Decompressor};

use crate::cache::Cache;
use crate::memory::Buffer;
use crate::options::{CacheKey, CacheOptions, CacheType, EntryRole, Priority};
use crate::secondary_cache::{
    AdmissionPolicy, CompressedSecondaryCacheOptions, Demote, Demoted, Restore, SecondaryCache,
    SecondaryTally, SecondaryUsage, TieredCacheOptions,
};
use crate::sync::Mutex;

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

/// The maximum size in bytes of the scratch buffer that a thread keeps.
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
}

impl<V> SecondaryCache<V> for Secondary<V> {
    fn take(&self, value: &V, demoted: &Demoted) {
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

    fn find(
        &self,
        key: CacheKey,
        role: EntryRole,
        takes: bool,
        tally: &SecondaryTally,
        restore: &mut Restore<'_, V>,
    ) -> Option<(V, usize)> {
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

    fn holds(&self, key: CacheKey) -> bool {
        self.capacity() > 0
            && self
                .entries
                .lookup(key)
                .is_some_and(|found| matches!(*found, Saved::Bytes { .. }))
    }

    fn erase(&self, key: CacheKey) -> bool {
        self.entries.erase(key)
    }

    fn placeholder(&self) -> V {
        (self.placeholder)()
    }

    fn found_placeholder(&self, value: &V) -> bool {
        let is_placeholder = (self.is_placeholder)(value);
        if is_placeholder {
            self.placeholders_found.fetch_add(1, Ordering::Relaxed);
        }
        is_placeholder
    }

    fn placeholders_found(&self) -> u64 {
        self.placeholders_found.load(Ordering::Relaxed)
    }

    fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    fn set_capacity(&self, capacity: usize) {
        self.capacity.store(capacity, Ordering::Relaxed);
        self.entries.set_capacity(capacity);
    }

    fn is_tiered(&self) -> bool {
        self.tier.is_some()
    }

    fn set_budget(&self, total: Option<usize>, ratio: Option<f64>, resize: &mut dyn FnMut(usize)) -> bool {
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

    fn set_policy(&self, policy: AdmissionPolicy) {
        *self.policy.lock() = policy;
    }

    fn usage(&self) -> SecondaryUsage {
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

impl<V> Cache<V> {
    /// An empty cache over a secondary cache. The secondary cache takes evicted values, compressed, and
    /// [`lookup_or_restore`](Self::lookup_or_restore) brings them back. Values are admitted to it by
    /// [`AdmissionPolicy::Placeholder`].
    pub fn with_secondary(options: CacheOptions, secondary: CompressedSecondaryCacheOptions) -> Arc<Cache<V>>
    where
        V: Demote,
    {
        let secondary = Secondary::new(secondary, AdmissionPolicy::default());
        Cache::over(options, Some(Arc::new(secondary)))
    }

    /// An empty cache that shares one budget with the secondary cache below it: RocksDB's `NewTieredCache`.
    /// [`set_capacity`](Self::set_capacity) changes the budget.
    pub fn tiered(options: CacheOptions, tiered: TieredCacheOptions) -> Arc<Cache<V>>
    where
        V: Demote,
    {
        let total = tiered.total_capacity;
        let secondary = Secondary::tiered(tiered);
        let capacity = total - secondary.capacity();
        Cache::over(CacheOptions { capacity, ..options }, Some(Arc::new(secondary)))
    }
}
