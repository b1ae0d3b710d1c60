//! The C object `rocksdb_block_based_table_options_t`.

use std::sync::Arc;

use esker::{
    BlockBasedOptions, ChecksumType, DataBlockIndexType, FilterPolicy, IndexShortening, IndexType,
    MetadataCacheOptions, PinningTier, PrepopulateBlockCache, Result,
};

use crate::cache::rocksdb_cache_t;
use crate::ffi::*;
use crate::filter_policy::rocksdb_filterpolicy_t;
use crate::generated::fields::BlockBasedTableOptionsFields;

/// The C object `rocksdb_block_based_table_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_block_based_table_options_t {
    pub fields: BlockBasedTableOptionsFields,
    pub block_cache: Option<rocksdb_cache_t>,
    pub filter_policy: FilterPolicy,
    /// The name of a user-defined index. It is only stored: tables have the index of `index_type`.
    pub user_defined_index: Option<Vec<u8>>,
}

impl rocksdb_block_based_table_options_t {
    /// Returns the engine's options for writing tables.
    pub fn options(&self) -> Result<BlockBasedOptions> {
        let mut options = BlockBasedOptions::default();
        let fields = &self.fields;
        fields.apply_table(&mut options)?;
        options.checksum = match fields.checksum as i32 {
            0 => ChecksumType::None,
            1 => ChecksumType::Crc32c,
            2 => ChecksumType::XxHash,
            3 => ChecksumType::XxHash64,
            _ => ChecksumType::Xxh3,
        };
        options.index_type = match fields.index_type as i32 {
            1 => IndexType::HashSearch,
            2 => IndexType::TwoLevel,
            3 => IndexType::BinarySearchWithFirstKey,
            _ => IndexType::BinarySearch,
        };
        options.data_block_index_type = match fields.data_block_index_type as i32 {
            1 => DataBlockIndexType::BinaryAndHash,
            _ => DataBlockIndexType::BinarySearch,
        };
        options.index_shortening = match fields.index_shortening as i32 {
            0 => IndexShortening::None,
            2 => IndexShortening::SeparatorsAndSuccessor,
            _ => IndexShortening::Separators,
        };
        options.prepopulate_block_cache = match fields.prepopulate_block_cache as i32 {
            1 => PrepopulateBlockCache::FlushOnly,
            2 => PrepopulateBlockCache::FlushAndCompaction,
            _ => PrepopulateBlockCache::Disable,
        };
        options.metadata_cache_options = MetadataCacheOptions {
            top_level_index_pinning: tier(fields.top_level_index_pinning_tier),
            partition_pinning: tier(fields.partition_pinning_tier),
            unpartitioned_pinning: tier(fields.unpartitioned_pinning_tier),
        };
        options.filter_policy = self.filter_policy;
        options.block_cache = self.block_cache.as_ref().map(|cache| Arc::clone(&cache.cache));
        Ok(options)
    }
}

fn tier(number: std::ffi::c_int) -> PinningTier {
    match number {
        1 => PinningTier::None,
        2 => PinningTier::FlushedAndSimilar,
        3 => PinningTier::All,
        _ => PinningTier::Fallback,
    }
}

api!(
    fn rocksdb_block_based_options_create() -> *mut rocksdb_block_based_table_options_t {
        boxed(rocksdb_block_based_table_options_t::default())
    }
);

api!(
    fn rocksdb_block_based_options_set_block_cache(
        options: *mut rocksdb_block_based_table_options_t,
        cache: *mut rocksdb_cache_t,
    ) {
        if let Some(cache) = cache.as_ref() {
            (*options).block_cache = Some(cache.clone());
        }
    }
);

api!(
    fn rocksdb_block_based_options_set_filter_policy(
        options: *mut rocksdb_block_based_table_options_t,
        policy: *mut rocksdb_filterpolicy_t,
    ) {
        (*options).filter_policy = taken(policy).map_or(FilterPolicy::None, |policy| policy.0);
    }
);

// The older name of data_block_hash_table_util_ratio.
api!(
    fn rocksdb_block_based_options_set_data_block_hash_ratio(
        options: *mut rocksdb_block_based_table_options_t,
        ratio: f64,
    ) {
        (*options).fields.data_block_hash_table_util_ratio = ratio;
    }
);
