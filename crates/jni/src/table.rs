//! Table formats, filters and memtables.

use std::sync::Arc;

use esker::{
    BlockBasedOptions, Cache, CacheOptions, ChecksumType, DataBlockIndexType, Error, FilterPolicy,
    IndexShortening, IndexType, MemtableFactory,
};

use jni_sys::{jobject, jvalue};

use crate::cache::CacheObject;
use crate::env::{Env, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::settings::{Memtable, Table};

/// `org.rocksdb.Filter`.
struct FilterObject(FilterPolicy);

native!("BloomFilter_createNewBloomFilter" "D" fn(env, bits_per_key: f64) -> i64 {
    Ok(handles::insert(FilterObject(FilterPolicy::Bloom(bits_per_key))))
});

/// `org.rocksdb.PersistentCache`. The engine has no cache of blocks on another disk: the object is only held.
struct PersistentCacheObject;

native!("PersistentCache_newPersistentCache" "JLjava_lang_String_2JJZ" fn(
    env, environment: i64, dir: JString, size: i64, logger: i64, nvm: bool
) -> i64 {
    env.string(dir)?;
    Ok(handles::insert(PersistentCacheObject))
});

/// The settings that `BlockBasedTableConfig` has in all releases.
struct Given {
    cache_index_and_filter_blocks: bool,
    with_high_priority: bool,
    pin_l0: bool,
    pin_top_level: bool,
    index_type: i8,
    data_block_index_type: i8,
    hash_ratio: f64,
    checksum: i8,
    no_block_cache: bool,
    block_cache: i64,
    persistent_cache: i64,
    block_size: i64,
    block_size_deviation: i32,
    block_restart_interval: i32,
    index_block_restart_interval: i32,
    metadata_block_size: i64,
    partition_filters: bool,
    optimize_filters_for_memory: bool,
    use_delta_encoding: bool,
    filter: i64,
    whole_key_filtering: bool,
    format_version: i32,
    separate_keys: bool,
    enable_index_compression: bool,
    block_align: bool,
    index_shortening: i8,
    block_cache_size: i64,
    block_cache_shard_bits: i32,
}

impl Given {
    fn options(&self) -> Result<BlockBasedOptions> {
        let mut options = BlockBasedOptions {
            cache_index_and_filter_blocks: self.cache_index_and_filter_blocks,
            cache_index_and_filter_blocks_with_high_priority: self.with_high_priority,
            pin_l0_filter_and_index_blocks_in_cache: self.pin_l0,
            pin_top_level_index_and_filter: self.pin_top_level,
            index_type: match self.index_type {
                1 => IndexType::HashSearch,
                2 => IndexType::TwoLevel,
                3 => IndexType::BinarySearchWithFirstKey,
                _ => IndexType::BinarySearch,
            },
            data_block_index_type: match self.data_block_index_type {
                1 => DataBlockIndexType::BinaryAndHash,
                _ => DataBlockIndexType::BinarySearch,
            },
            data_block_hash_table_util_ratio: self.hash_ratio,
            checksum: match self.checksum {
                0 => ChecksumType::None,
                1 => ChecksumType::Crc32c,
                2 => ChecksumType::XxHash,
                3 => ChecksumType::XxHash64,
                _ => ChecksumType::Xxh3,
            },
            no_block_cache: self.no_block_cache,
            block_size: self.block_size as u64,
            block_size_deviation: self.block_size_deviation.clamp(0, 100),
            block_restart_interval: self.block_restart_interval.max(1),
            index_block_restart_interval: self.index_block_restart_interval.max(1),
            metadata_block_size: self.metadata_block_size as u64,
            partition_filters: self.partition_filters,
            optimize_filters_for_memory: self.optimize_filters_for_memory,
            use_delta_encoding: self.use_delta_encoding,
            whole_key_filtering: self.whole_key_filtering,
            separate_key_value_in_data_block: self.separate_keys,
            enable_index_compression: self.enable_index_compression,
            block_align: self.block_align,
            index_shortening: match self.index_shortening {
                0 => IndexShortening::None,
                2 => IndexShortening::SeparatorsAndSuccessor,
                _ => IndexShortening::Separators,
            },
            ..BlockBasedOptions::default()
        };
        options.format_version = u32::try_from(self.format_version)
            .map_err(|_| Error::invalid_argument(format!("format_version {}", self.format_version)))?;
        if let Some(filter) = handles::optional::<FilterObject>(self.filter)? {
            options.filter_policy = filter.0;
        }
        if !self.no_block_cache {
            match handles::optional::<CacheObject>(self.block_cache)? {
                Some(cache) => options.block_cache = Some(Arc::clone(&cache.0)),
                None => match usize::try_from(self.block_cache_size) {
                    Ok(capacity) => {
                        options.block_cache = Some(Cache::new(CacheOptions {
                            capacity,
                            num_shard_bits: if self.block_cache_shard_bits > 0 {
                                self.block_cache_shard_bits
                            } else {
                                -1
                            },
                            ..CacheOptions::default()
                        }));
                    }
                    Err(_) => options.no_block_cache = true,
                },
            }
        }
        Ok(options)
    }

    fn table(&self) -> Result<i64> {
        Ok(handles::insert(Table {
            persistent_cache: handles::optional::<PersistentCacheObject>(self.persistent_cache)?.is_some(),
            ..Table::block_based(self.options()?)
        }))
    }
}

/// The signatures of the factory's function: up to 10.4, in 10.10, and from 11.1 on.
macro_rules! table_factory {
    ($signature:literal $($after_version:ident: $av:ty),*; $($after_align:ident: $aa:ty),*; $($after_shortening:ident: $as:ty),*; $separate:expr) => {
        native!("BlockBasedTableConfig_newTableFactoryHandle" $signature fn(
            env, cache_index_and_filter_blocks: bool, with_high_priority: bool, pin_l0: bool, pin_top_level: bool,
            index_type: i8, data_block_index_type: i8, hash_ratio: f64, checksum: i8, no_block_cache: bool,
            block_cache: i64, persistent_cache: i64, block_size: i64, block_size_deviation: i32,
            block_restart_interval: i32, index_block_restart_interval: i32, metadata_block_size: i64,
            partition_filters: bool, optimize_filters_for_memory: bool, use_delta_encoding: bool, filter: i64,
            whole_key_filtering: bool, verify_compression: bool, read_amp_bytes_per_bit: i32, format_version: i32,
            $($after_version: $av,)* enable_index_compression: bool, block_align: bool, $($after_align: $aa,)*
            index_shortening: i8, $($after_shortening: $as,)* block_cache_size: i64, block_cache_shard_bits: i32
        ) -> i64 {
            Given {
                cache_index_and_filter_blocks, with_high_priority, pin_l0, pin_top_level, index_type,
                data_block_index_type, hash_ratio, checksum, no_block_cache, block_cache, persistent_cache,
                block_size,
                block_size_deviation, block_restart_interval, index_block_restart_interval, metadata_block_size,
                partition_filters, optimize_filters_for_memory, use_delta_encoding, filter, whole_key_filtering,
                format_version, separate_keys: $separate, enable_index_compression, block_align, index_shortening,
                block_cache_size, block_cache_shard_bits,
            }
            .table()
        });
    };
}
table_factory!("ZZZZBBDBZJJJIIIJZZZJZZIIZZBJI" ; ; ; false);
table_factory!("ZZZZBBDBZJJJIIIJZZZJZZIIZZJJBJI" ; alignment: i64, overhead: i64; ; false);

// Only this signature, of the newest classes, has `uniform_cv_threshold`.
native!("BlockBasedTableConfig_newTableFactoryHandle" "ZZZZBBDBZJJJIIIJZZZJZZIIZDZZJJBBJI" fn(
    env, cache_index_and_filter_blocks: bool, with_high_priority: bool, pin_l0: bool, pin_top_level: bool,
    index_type: i8, data_block_index_type: i8, hash_ratio: f64, checksum: i8, no_block_cache: bool,
    block_cache: i64, persistent_cache: i64, block_size: i64, block_size_deviation: i32,
    block_restart_interval: i32, index_block_restart_interval: i32, metadata_block_size: i64,
    partition_filters: bool, optimize_filters_for_memory: bool, use_delta_encoding: bool, filter: i64,
    whole_key_filtering: bool, verify_compression: bool, read_amp_bytes_per_bit: i32, format_version: i32,
    separate_keys: bool, uniform_cv_threshold: f64, enable_index_compression: bool, block_align: bool,
    alignment: i64, overhead: i64, index_shortening: i8, index_search: i8, block_cache_size: i64,
    block_cache_shard_bits: i32
) -> i64 {
    Given {
        cache_index_and_filter_blocks, with_high_priority, pin_l0, pin_top_level, index_type,
        data_block_index_type, hash_ratio, checksum, no_block_cache, block_cache, persistent_cache,
                block_size,
        block_size_deviation, block_restart_interval, index_block_restart_interval, metadata_block_size,
        partition_filters, optimize_filters_for_memory, use_delta_encoding, filter, whole_key_filtering,
        format_version, separate_keys, enable_index_compression, block_align, index_shortening,
        block_cache_size, block_cache_shard_bits,
    }
    .table()
});

/// RocksJava's numbers of a filter policy: unknown, and Bloom.
const UNKNOWN_FILTER: i8 = 0;
const BLOOM_FILTER: i8 = 1;

/// Creates an `org.rocksdb.BlockBasedTableConfig` from the engine's options, by the constructor of the loaded
/// release.
pub fn config(env: &Env<'_>, options: &BlockBasedOptions) -> Result<jobject> {
    let flag = |z: bool| jvalue { z };
    let (filter, handle, bits) = match options.filter_policy {
        FilterPolicy::Bloom(bits) => (
            BLOOM_FILTER,
            handles::insert(FilterObject(options.filter_policy)),
            bits,
        ),
        _ => (UNKNOWN_FILTER, 0, 0.0),
    };
    let mut arguments = vec![
        flag(options.cache_index_and_filter_blocks),
        flag(options.cache_index_and_filter_blocks_with_high_priority),
        flag(options.pin_l0_filter_and_index_blocks_in_cache),
        flag(options.pin_top_level_index_and_filter),
        jvalue {
            b: options.index_type as i8,
        },
        jvalue {
            b: options.data_block_index_type as i8,
        },
        jvalue {
            d: options.data_block_hash_table_util_ratio,
        },
        jvalue {
            b: options.checksum as i8,
        },
        flag(options.no_block_cache),
        jvalue {
            j: options.block_size as i64,
        },
        jvalue {
            i: options.block_size_deviation,
        },
        jvalue {
            i: options.block_restart_interval,
        },
        jvalue {
            i: options.index_block_restart_interval,
        },
        jvalue {
            j: options.metadata_block_size as i64,
        },
        flag(options.partition_filters),
        flag(options.optimize_filters_for_memory),
        flag(options.use_delta_encoding),
        flag(options.whole_key_filtering),
        // The engine has no options for verification at the write or for statistics of reads.
        flag(false),
        jvalue { i: 0 },
        jvalue {
            i: options.format_version as i32,
        },
    ];
    let shortening = [
        jvalue {
            b: options.index_shortening as i8,
        },
        jvalue { b: filter },
        jvalue { j: handle },
        jvalue { d: bits },
    ];
    let compression = [flag(options.enable_index_compression), flag(options.block_align)];
    let class = env.class("org/rocksdb/BlockBasedTableConfig")?;
    let signature = "(ZZZZBBDBZJIIIJZZZZZIIZZBBJD)V";
    if let Ok(constructor) = env.method(class, "<init>", signature) {
        arguments.extend(compression.into_iter().chain(shortening));
        return env.construct(class, constructor, &arguments);
    }
    env.clear();
    // Arguments from 11.1 on.
    arguments.extend([flag(options.separate_key_value_in_data_block), jvalue { d: -1.0 }]);
    arguments.extend(compression);
    arguments.extend([jvalue { j: 0 }, jvalue { j: 128 }, shortening[0], jvalue { b: 0 }]);
    arguments.extend_from_slice(&shortening[1..]);
    let constructor = env.method(class, "<init>", "(ZZZZBBDBZJIIIJZZZZZIIZDZZJJBBBJD)V")?;
    env.construct(class, constructor, &arguments)
}

native!("PlainTableConfig_newTableFactoryHandle" "IIDIIBZZ" fn(
    env, key_size: i32, bloom_bits: i32, hash_ratio: f64, sparseness: i32, huge_page: i32, encoding: i8,
    full_scan: bool, store_index: bool
) -> i64 {
    Ok(handles::insert(Table { name: "PlainTable", options: None, persistent_cache: false }))
});

native!("SkipListMemTableConfig_newMemTableFactoryHandle0" "J" fn(env, lookahead: i64) -> i64 {
    let lookahead = usize::try_from(lookahead).map_err(|_| Fail::argument("lookahead is below 0"))?;
    Ok(handles::insert(Memtable {
        name: "SkipListFactory",
        factory: Some(MemtableFactory::SkipList { lookahead: lookahead as _ }),
    }))
});

native!("VectorMemTableConfig_newMemTableFactoryHandle" "J" fn(env, reserved: i64) -> i64 {
    let count = usize::try_from(reserved).map_err(|_| Fail::argument("the reserved size is below 0"))?;
    Ok(handles::insert(Memtable {
        name: "VectorRepFactory",
        factory: Some(MemtableFactory::Vector { count: count as _ }),
    }))
});

// Esker's memtable replaces RocksDB's memtables by prefix: it serves reads of every prefix.
native!("HashSkipListMemTableConfig_newMemTableFactoryHandle" "JII" fn(env, buckets: i64, height: i32, branching: i32) -> i64 {
    Ok(handles::insert(Memtable { name: "HashSkipListRepFactory", factory: None }))
});

native!("HashLinkedListMemTableConfig_newMemTableFactoryHandle" "JJIZI" fn(
    env, buckets: i64, huge_page: i64, logging: i32, log: bool, threshold: i32
) -> i64 {
    Ok(handles::insert(Memtable { name: "HashLinkedListRepFactory", factory: None }))
});
