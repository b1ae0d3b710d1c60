//! Options of tables.

use crate::option_types::narrow;
use crate::options::default_table_options;
use crate::{BlockBasedIndexType, BlockBasedTablePinningTier, Cache, ChecksumType, DataBlockIndexType};

/// The options of block-based tables.
#[derive(Clone)]
pub struct BlockBasedOptions {
    pub(crate) inner: esker::BlockBasedOptions,
}

impl Default for BlockBasedOptions {
    /// RocksDB's defaults, of release 11.8.
    fn default() -> BlockBasedOptions {
        BlockBasedOptions {
            inner: default_table_options(),
        }
    }
}

macro_rules! setters {
    ($( $(#[doc = $doc:literal])+ $name:ident($type:ty) => $field:ident; )+) => {
        impl BlockBasedOptions { $(
            $(#[doc = $doc])+
            pub fn $name(&mut self, value: $type) {
                self.inner.$field = value;
            }
        )+ }
    };
}

setters! {
    /// Partitions filters like the index. Default: false.
    set_partition_filters(bool) => partition_filters;
    /// Keeps indexes and filters in the block cache. Default: false.
    set_cache_index_and_filter_blocks(bool) => cache_index_and_filter_blocks;
    /// Gives indexes and filters high priority in the block cache, so that data blocks are evicted first.
    /// Default: true.
    set_cache_index_and_filter_blocks_with_high_priority(bool) =>
        cache_index_and_filter_blocks_with_high_priority;
    /// Keeps indexes and filters of L0 tables in the block cache as long as the tables are open. Default:
    /// false.
    set_pin_l0_filter_and_index_blocks_in_cache(bool) => pin_l0_filter_and_index_blocks_in_cache;
    /// Keeps the top level of partitioned indexes and filters in the block cache as long as the table is
    /// open. Default: true.
    set_pin_top_level_index_and_filter(bool) => pin_top_level_index_and_filter;
    /// Sets the number of keys per bucket of a data block's hash index. Default: 0.75.
    set_data_block_hash_ratio(f64) => data_block_hash_table_util_ratio;
    /// Adds whole keys to filters. Default: true.
    set_whole_key_filtering(bool) => whole_key_filtering;
    /// Gives filters sizes that waste no memory of the allocator. Default: true.
    set_optimize_filters_for_memory(bool) => optimize_filters_for_memory;
}

impl BlockBasedOptions {
    /// Sets the size of a block before compression in bytes. Default: 4 KiB.
    pub fn set_block_size(&mut self, size: usize) {
        self.inner.block_size = narrow(size);
    }

    /// Sets the size of a partition of an index or filter in bytes. Default: 4 KiB.
    pub fn set_metadata_block_size(&mut self, size: usize) {
        self.inner.metadata_block_size = narrow(size);
    }

    /// Sets the block cache. Default: one of 32 MiB.
    pub fn set_block_cache(&mut self, cache: &Cache) {
        self.inner.block_cache = Some(cache.0.clone());
    }

    /// Disables the block cache.
    pub fn disable_cache(&mut self) {
        self.inner.no_block_cache = true;
        self.inner.block_cache = None;
    }

    /// Sets Bloom filters with the given bits per key. There are no filters of single blocks: the second
    /// argument has no effect, as in RocksDB.
    pub fn set_bloom_filter(&mut self, bits_per_key: f64, _block_based: bool) {
        self.inner.filter_policy = esker::FilterPolicy::Bloom(bits_per_key);
    }

    /// Sets Ribbon filters as accurate as Bloom filters with the given bits per key; flushes write Bloom
    /// filters.
    pub fn set_ribbon_filter(&mut self, bloom_equivalent_bits_per_key: f64) {
        self.set_hybrid_ribbon_filter(bloom_equivalent_bits_per_key, 0);
    }

    /// Sets Ribbon filters, and Bloom filters in levels above `bloom_before_level`; -1: Ribbon filters in all
    /// levels.
    pub fn set_hybrid_ribbon_filter(&mut self, bloom_equivalent_bits_per_key: f64, bloom_before_level: i32) {
        self.inner.filter_policy = esker::FilterPolicy::Ribbon {
            bits_per_key: bloom_equivalent_bits_per_key,
            bloom_before_level,
        };
    }

    /// Sets the search for the block of a key. Default: binary search.
    pub fn set_index_type(&mut self, index_type: BlockBasedIndexType) {
        self.inner.index_type = match index_type {
            BlockBasedIndexType::BinarySearch => esker::IndexType::BinarySearch,
            BlockBasedIndexType::HashSearch => esker::IndexType::HashSearch,
            BlockBasedIndexType::TwoLevelIndexSearch => esker::IndexType::TwoLevel,
        };
    }

    /// Sets the format version, 2 to 7. Default: 7.
    pub fn set_format_version(&mut self, version: i32) {
        self.inner.format_version = narrow(version);
    }

    /// Sets the number of keys between two restart points of a data block. Default: 16.
    pub fn set_block_restart_interval(&mut self, interval: i32) {
        self.inner.block_restart_interval = interval.max(1);
    }

    /// Sets the number of keys between two restart points of an index block. Default: 1.
    pub fn set_index_block_restart_interval(&mut self, interval: i32) {
        self.inner.index_block_restart_interval = interval.max(1);
    }

    /// Sets the search for a key in a block. Default: binary search.
    pub fn set_data_block_index_type(&mut self, index_type: DataBlockIndexType) {
        self.inner.data_block_index_type = match index_type {
            DataBlockIndexType::BinarySearch => esker::DataBlockIndexType::BinarySearch,
            DataBlockIndexType::BinaryAndHash => esker::DataBlockIndexType::BinaryAndHash,
        };
    }

    /// Sets the checksum of blocks. Default: XXH3.
    pub fn set_checksum_type(&mut self, checksum_type: ChecksumType) {
        self.inner.checksum = match checksum_type {
            ChecksumType::NoChecksum => esker::ChecksumType::None,
            ChecksumType::CRC32c => esker::ChecksumType::Crc32c,
            ChecksumType::XXHash => esker::ChecksumType::XxHash,
            ChecksumType::XXHash64 => esker::ChecksumType::XxHash64,
            ChecksumType::XXH3 => esker::ChecksumType::Xxh3,
        };
    }

    /// Sets the tables of which the top level of a partitioned index or filter stays in the cache.
    pub fn set_top_level_index_pinning_tier(&mut self, tier: BlockBasedTablePinningTier) {
        self.inner.metadata_cache_options.top_level_index_pinning = pinning(tier);
    }

    /// Sets the tables of which partitions stay in the cache.
    pub fn set_partition_pinning_tier(&mut self, tier: BlockBasedTablePinningTier) {
        self.inner.metadata_cache_options.partition_pinning = pinning(tier);
    }

    /// Sets the tables of which an unpartitioned index or filter stays in the cache.
    pub fn set_unpartitioned_pinning_tier(&mut self, tier: BlockBasedTablePinningTier) {
        self.inner.metadata_cache_options.unpartitioned_pinning = pinning(tier);
    }
}

fn pinning(tier: BlockBasedTablePinningTier) -> esker::PinningTier {
    match tier {
        BlockBasedTablePinningTier::Fallback => esker::PinningTier::Fallback,
        BlockBasedTablePinningTier::None => esker::PinningTier::None,
        BlockBasedTablePinningTier::FlushAndSimilar => esker::PinningTier::FlushedAndSimilar,
        BlockBasedTablePinningTier::All => esker::PinningTier::All,
    }
}

/// Cuckoo tables. Kept: see [`Options::set_cuckoo_table_factory`](crate::Options::set_cuckoo_table_factory).
#[derive(Clone, Debug, Default)]
pub struct CuckooTableOptions(());

impl CuckooTableOptions {
    /// Sets the used part of the hash table.
    pub fn set_hash_ratio(&mut self, _ratio: f64) {}

    /// Sets the number of buckets that are searched.
    pub fn set_max_search_depth(&mut self, _depth: u32) {}

    /// Sets the number of buckets of a block.
    pub fn set_cuckoo_block_size(&mut self, _size: u32) {}

    /// Uses keys as numbers, which serve as their own hashes.
    pub fn set_identity_as_first_hash(&mut self, _flag: bool) {}

    /// Computes the hash by division.
    pub fn set_use_module_hash(&mut self, _flag: bool) {}
}
