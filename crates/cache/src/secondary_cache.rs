//! The interface of a secondary cache, its options and its counters.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use codec::{CompressionOptions, CompressionType};

use crate::entry_info::RoleUsage;
use crate::lru::Stats;
use crate::options::{CacheKey, CacheOptions, EntryRole, MetadataChargePolicy};

/// A value that can go to a secondary cache.
pub trait Demote: Sized + 'static {
    /// The bytes the value can be rebuilt from; `None` for a value that is not worth keeping in the secondary
    /// cache.
    fn saved(&self) -> Option<Cow<'_, [u8]>>;

    /// The value that stands in the primary cache for one that came back from the secondary cache once. It
    /// has next to no memory of its own.
    fn placeholder() -> Self;

    /// True if this value is a [`placeholder`](Demote::placeholder).
    fn is_placeholder(&self) -> bool;
}

/// When evicted entries are admitted to the secondary cache: RocksDB's `TieredAdmissionPolicy`. There is no
/// `three_queue`, which is for a third tier.
///
/// See the example of [`TieredCacheOptions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionPolicy {
    /// An entry is admitted at its second eviction; the first eviction leaves a placeholder. RocksDB's
    /// `placeholder`, which its `auto` chooses. Default.
    #[default]
    Placeholder,
    /// At the first eviction, if the entry was hit since its insertion: `allow_cache_hits`.
    AllowCacheHits,
    /// An entry is admitted at its first eviction: `allow_all`.
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
///
/// ```
/// # use esker_cache as esker;
///
/// use esker::{CompressedSecondaryCacheOptions, EntryRole};
///
/// let below = CompressedSecondaryCacheOptions {
///     capacity: 256 << 20,
///     do_not_compress_roles: vec![EntryRole::FilterBlock],
///     ..Default::default()
/// };
/// // The cache over it: `BlockCache::with_secondary(CacheOptions::default(), below)`.
/// assert_eq!(below.num_shard_bits, -1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedSecondaryCacheOptions {
    /// The capacity in compressed bytes; with 0, nothing is admitted. Default: 32 MiB.
    pub capacity: usize,
    /// The number of shards, as a power of two; see [`CacheOptions::num_shard_bits`]. Default: -1.
    pub num_shard_bits: i32,
    /// Whether an entry that does not fit besides pinned entries is discarded. Default: false.
    pub strict_capacity_limit: bool,
    /// The share of the capacity for high-priority entries; see [`CacheOptions::high_pri_pool_ratio`].
    /// Default: 0.5.
    pub high_pri_pool_ratio: f64,
    /// The share of the capacity for low-priority entries; see [`CacheOptions::low_pri_pool_ratio`].
    /// Default: 0.
    pub low_pri_pool_ratio: f64,
    /// Whether the memory of the cache's own records is charged; see
    /// [`CacheOptions::metadata_charge_policy`]. Default: in full.
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
///
/// ```
/// # use esker_cache as esker;
///
/// use esker::{AdmissionPolicy, TieredCacheOptions};
///
/// let tiers = TieredCacheOptions {
///     total_capacity: 256 << 20,
///     compressed_secondary_ratio: 0.3,
///     adm_policy: AdmissionPolicy::AllowCacheHits,
///     ..Default::default()
/// };
/// // Both caches: `BlockCache::tiered(CacheOptions::default(), tiers)`; `secondary_usage` of it has the rest.
/// assert_eq!(tiers.comp_cache_opts, Default::default());
/// ```
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

    pub(crate) fn count_dummy(&self) {
        self.dummy_hits.fetch_add(1, Ordering::Relaxed);
        if let Some(tell) = &self.tell {
            tell(None);
        }
    }

    pub(crate) fn count(&self, role: EntryRole) {
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
///
/// See the example of [`TieredCacheOptions`].
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

/// The description of an entry that was evicted.
#[derive(Clone, Copy)]
pub(crate) struct Demoted {
    pub(crate) key: CacheKey,
    pub(crate) role: EntryRole,
    /// True if the entry was hit since its insertion.
    pub(crate) hit: bool,
}

/// A function that makes a value and its charge of the bytes that were found.
pub(crate) type Restore<'a, V> = dyn FnMut(&[u8]) -> Option<(V, usize)> + 'a;

/// A secondary cache below a primary cache of values of type `V`.
pub(crate) trait SecondaryCache<V>: Send + Sync {
    /// Takes a value that the primary cache evicted, if the policy admits it.
    fn take(&self, value: &V, demoted: &Demoted);

    /// The value and charge that `restore` makes of the bytes of `key`, if they are in this cache. With
    /// `takes`, a placeholder replaces the bytes.
    fn find(
        &self,
        key: CacheKey,
        role: EntryRole,
        takes: bool,
        tally: &SecondaryTally,
        restore: &mut Restore<'_, V>,
    ) -> Option<(V, usize)>;

    /// True if this cache has the bytes of `key`.
    fn holds(&self, key: CacheKey) -> bool;

    /// Forgets `key`. True if this cache had it.
    fn erase(&self, key: CacheKey) -> bool;

    /// The value that stands in the primary cache for one that came back once.
    fn placeholder(&self) -> V;

    /// Whether `value`, which a lookup in the primary cache found, is a placeholder. Counts it if so.
    fn found_placeholder(&self, value: &V) -> bool;

    /// The number of lookups that found a placeholder.
    fn placeholders_found(&self) -> u64;

    /// The capacity in bytes.
    fn capacity(&self) -> usize;

    /// Changes the capacity. Entries that no longer fit are evicted.
    fn set_capacity(&self, capacity: usize);

    /// True if this cache shares its budget with the primary cache.
    fn is_tiered(&self) -> bool;

    /// Changes the budget shared with the primary cache: its bytes, and the secondary cache's part. `resize`
    /// gets the capacity that is left for the primary cache. Returns false and does nothing if there is no
    /// shared budget.
    fn set_budget(&self, total: Option<usize>, ratio: Option<f64>, resize: &mut dyn FnMut(usize)) -> bool;

    /// Changes the policy that admits evicted entries.
    fn set_policy(&self, policy: AdmissionPolicy);

    /// The contents of the cache by key.
    fn usage(&self) -> SecondaryUsage;
}
