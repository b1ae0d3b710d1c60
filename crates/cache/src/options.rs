//! The options a cache is made with, and the keys of its entries.

/// The name of a block: the identity of its file within the cache, from
/// [`Cache::new_id`](crate::Cache::new_id), and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// The file's identity.
    pub id: u64,
    /// The offset of the block in the file, in bytes.
    pub offset: u64,
}

impl CacheKey {
    /// The number of the lowest bit of the owner in [`id`](CacheKey::id); all higher bits belong to it too.
    pub(crate) const OWNER_SHIFT: u32 = 40;

    /// The owner of the entry: 0, or a value of [`Cache::new_owner`](crate::Cache::new_owner).
    pub fn owner(self) -> u32 {
        (self.id >> CacheKey::OWNER_SHIFT) as u32
    }

    /// Folds a 128-bit product: every bit of the key affects the high bits, which choose the shard, and the
    /// low bits, which choose the bucket.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        let product =
            u128::from(self.id ^ 0x9e37_79b9_7f4a_7c15) * u128::from(self.offset ^ 0xd1b5_4a32_d192_ed03);
        let folded = u128::from((product >> 64) as u64 ^ product as u64) * 0xa076_1d64_78bd_642f;
        (folded >> 64) as u64 ^ folded as u64
    }
}

/// Whether lookups can find an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The entry is in the table, and replaces an earlier entry with the same key.
    Listed,
    /// The entry is in the table if the table had no entry with the same key. Otherwise the entry is refused.
    IfAbsent,
    /// The entry is in no table. It is charged, and freed with its last pin.
    Alone,
}

/// An entry to insert.
pub(crate) struct Insertion<V> {
    pub(crate) key: CacheKey,
    /// The hash of the key.
    pub(crate) hash: u64,
    pub(crate) value: V,
    /// Bytes, metadata included.
    pub(crate) charge: usize,
    pub(crate) priority: Priority,
    pub(crate) role: EntryRole,
    pub(crate) standing: Standing,
}

/// The pool that an entry starts in. A hit raises it to the high pool, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Entries of this priority are evicted first.
    Bottom,
    /// The priority of data blocks.
    Low,
    /// Index and filter blocks.
    High,
}

/// Whether the memory the cache itself spends on an entry counts against its capacity.
///
/// See the example of [`Cache`](crate::Cache).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MetadataChargePolicy {
    /// `kFullChargeCacheMetadata`: frame, list and table entry are added to the charge given at insertion.
    #[default]
    FullChargeCacheMetadata,
    /// `kDontChargeCacheMetadata`: only the charge given at insertion counts.
    DontChargeCacheMetadata,
}

/// The options of a cache. The names and defaults are those of RocksDB's `LRUCacheOptions`.
///
/// See the example of [`Cache`](crate::Cache).
#[derive(Clone, Debug, PartialEq)]
pub struct CacheOptions {
    /// The kind of cache that [`Cache::new`](crate::Cache::new) makes. Default: LRU.
    pub cache_type: CacheType,
    /// Bytes of an average entry, for a clock cache whose table has a fixed size, made for a full cache of
    /// such entries (`fixed_hyper_clock_cache`). Where entries are smaller, the table is full before the
    /// cache is. 0: the table grows with the cache (`auto_hyper_clock_cache`). Default: 0.
    pub estimated_entry_charge: usize,
    /// The sum of charges that the cache may hold, in bytes. Default: 32 MiB.
    pub capacity: usize,
    /// The cache has 2^this shards, each with a lock and an equal part of the capacity. -1, the default,
    /// takes as many as leave each 2 MiB or more (32 MiB in a clock cache), at most 64. Above 16 it counts
    /// as 16. RocksDB's LRU cache takes as many as leave each 512 KiB: a few indexes and filters of whole
    /// files that hash to one shard then evict each other.
    pub num_shard_bits: i32,
    /// Whether an insertion fails when everything else is pinned and the entry does not fit. Default: false,
    /// which exceeds the capacity.
    pub strict_capacity_limit: bool,
    /// Part of the capacity, 0 to 1, reserved for entries of high priority and those hit since insertion.
    /// Default: 0.5.
    pub high_pri_pool_ratio: f64,
    /// Part of the capacity, 0 to 1, reserved for entries of low priority and those that overflow the high
    /// pool. Default: 0. If the sum with `high_pri_pool_ratio` exceeds 1, the excess is ignored.
    pub low_pri_pool_ratio: f64,
    /// Whether the cache's own memory is charged. Default: in full.
    pub metadata_charge_policy: MetadataChargePolicy,
}

/// The role of a cached value: RocksDB's `CacheEntryRole`. The cache treats all roles the same; its reports
/// tell them apart.
///
/// See the example of [`Cache`](crate::Cache).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EntryRole {
    /// A data block.
    DataBlock,
    /// A filter, or a partition of a filter.
    FilterBlock,
    /// The top-level index over the partitions of a filter.
    FilterMetaBlock,
    /// An index, a partition of an index, or the top-level index over partitions.
    IndexBlock,
    /// A compression dictionary.
    CompressionDictionary,
    /// A value of a blob file.
    BlobValue,
    /// The memory of memtables, charged by entries without contents.
    WriteBuffer,
    /// The blocks that wait for a compression dictionary, charged by entries without contents.
    CompressionDictionaryBuildingBuffer,
    /// The memory of filters while they are built, charged by entries without contents.
    FilterConstruction,
    /// The memory of an open table, charged by an entry without contents.
    BlockBasedTableReader,
    /// The records of tables, charged by entries without contents.
    FileMetadata,
    /// The usage of another cache, for values of blob files, charged by entries without contents.
    BlobCache,
    /// An entry in any other role.
    #[default]
    Misc,
}

impl EntryRole {
    /// Every role, in the order of reports.
    pub const ALL: [EntryRole; 13] = [
        EntryRole::DataBlock,
        EntryRole::FilterBlock,
        EntryRole::FilterMetaBlock,
        EntryRole::IndexBlock,
        EntryRole::CompressionDictionary,
        EntryRole::BlobValue,
        EntryRole::WriteBuffer,
        EntryRole::CompressionDictionaryBuildingBuffer,
        EntryRole::FilterConstruction,
        EntryRole::BlockBasedTableReader,
        EntryRole::FileMetadata,
        EntryRole::BlobCache,
        EntryRole::Misc,
    ];

    /// RocksDB's name of the role in reports.
    pub fn name(self) -> &'static str {
        match self {
            EntryRole::DataBlock => "DataBlock",
            EntryRole::FilterBlock => "FilterBlock",
            EntryRole::FilterMetaBlock => "FilterMetaBlock",
            EntryRole::IndexBlock => "IndexBlock",
            EntryRole::CompressionDictionary => "CompressionDictionary",
            EntryRole::BlobValue => "BlobValue",
            EntryRole::WriteBuffer => "WriteBuffer",
            EntryRole::CompressionDictionaryBuildingBuffer => "CompressionDictionaryBuildingBuffer",
            EntryRole::FilterConstruction => "FilterConstruction",
            EntryRole::BlockBasedTableReader => "BlockBasedTableReader",
            EntryRole::FileMetadata => "FileMetadata",
            EntryRole::BlobCache => "BlobCache",
            EntryRole::Misc => "Misc",
        }
    }
}

/// The algorithm of a cache: its order of eviction and its synchronisation.
///
/// See the example of [`Cache`](crate::Cache).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// `lru_cache`: evicts the least recently used entry first, in pools by priority. Lookups by key,
    /// insertions and evictions take the lock of a shard.
    #[default]
    Lru,
    /// `hyper_clock_cache`: a hand goes round the entries, and evicts those that stay untouched for as many
    /// rounds as their priority and earlier hits have earned. Takes no lock, except a short one while the
    /// table grows. It ignores `high_pri_pool_ratio` and `low_pri_pool_ratio`.
    HyperClock,
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions {
            cache_type: CacheType::Lru,
            estimated_entry_charge: 0,
            capacity: 32 << 20,
            num_shard_bits: -1,
            strict_capacity_limit: false,
            high_pri_pool_ratio: 0.5,
            low_pri_pool_ratio: 0.0,
            metadata_charge_policy: MetadataChargePolicy::FullChargeCacheMetadata,
        }
    }
}

/// The smallest automatic shard size, in bytes: smaller shards would evict blocks while other shards have
/// room.
const MIN_SHARD_SIZE: usize = 2 << 20;
/// The smallest automatic shard size of a clock cache, in bytes: its threads contend for no lock, so it needs
/// fewer shards.
const MIN_CLOCK_SHARD_SIZE: usize = 32 << 20;
const MAX_AUTO_SHARD_BITS: u32 = 6;
/// A frame has a number of 32 bits, which includes the shard's number: this leaves each shard 65,536 frames.
const MAX_SHARD_BITS: u32 = 16;

impl CacheOptions {
    /// These options with the kind of cache that RocksDB's tools call `name`: `lru_cache`,
    /// `auto_hyper_clock_cache` (its table grows), `fixed_hyper_clock_cache` or `hyper_clock_cache` (its
    /// table is made for entries of `entry_charge` bytes). `None` for any other name.
    pub fn of_type(self, name: &str, entry_charge: usize) -> Option<CacheOptions> {
        let (cache_type, estimated_entry_charge) = match name {
            "lru_cache" => (CacheType::Lru, 0),
            "auto_hyper_clock_cache" => (CacheType::HyperClock, 0),
            "fixed_hyper_clock_cache" | "hyper_clock_cache" => (CacheType::HyperClock, entry_charge),
            _ => return None,
        };
        Some(CacheOptions {
            cache_type,
            estimated_entry_charge,
            ..self
        })
    }

    fn min_shard_size(&self) -> usize {
        match self.cache_type {
            CacheType::Lru => MIN_SHARD_SIZE,
            CacheType::HyperClock => MIN_CLOCK_SHARD_SIZE,
        }
    }

    pub(crate) fn shard_bits(&self) -> u32 {
        match u32::try_from(self.num_shard_bits) {
            Ok(bits) => bits.min(MAX_SHARD_BITS),
            Err(_) => (self.capacity / self.min_shard_size())
                .checked_ilog2()
                .unwrap_or(0)
                .min(MAX_AUTO_SHARD_BITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_hold_two_mebibytes_or_more_and_are_at_most_64() {
        let bits = |capacity| {
            CacheOptions {
                capacity,
                ..CacheOptions::default()
            }
            .shard_bits()
        };
        assert_eq!(
            [0, 1, MIN_SHARD_SIZE - 1, MIN_SHARD_SIZE, 2 * MIN_SHARD_SIZE - 1].map(bits),
            [0; 5]
        );
        assert_eq!(bits(2 * MIN_SHARD_SIZE), 1);
        assert_eq!(bits(8 << 20), 2);
        assert_eq!(bits(32 << 20), 4);
        assert_eq!(bits(128 << 20), 6);
        assert_eq!(bits(64 << 30), 6);
        let explicit = |num_shard_bits| {
            CacheOptions {
                num_shard_bits,
                ..CacheOptions::default()
            }
            .shard_bits()
        };
        assert_eq!([0, 3, 99].map(explicit), [0, 3, 16]);
    }
}
