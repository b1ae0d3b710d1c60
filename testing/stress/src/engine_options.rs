//! The options of the database that the flags ask for.

use std::sync::Arc;

use base::{Error, Result};
use esker::option_table::OptionValue;
use esker::{
    AdmissionPolicy, BlockBasedOptions, BlockCache, Cache, CacheEntryRole, CacheOptions, CacheUsageOptions,
    ChecksumType, CollectorContext, ColumnFamilyOptions, CompactOnDeletionCollectorFactory, CompactionStyle,
    CompressedSecondaryCacheOptions, EntryRole, EntryType, FileChecksumGenFactory, FilterPolicy,
    MetadataCacheOptions, Options, PinningTier, RateLimiter, RateLimiterMode, RateLimiterOptions, RowLimit,
    SeqNo, SstFileManager, SstFileManagerOptions, SstPartitionerFixedPrefixFactory, Statistics, SystemClock,
    TablePropertiesCollector, TablePropertiesCollectorFactory, TieredCacheOptions, WriteBufferManager,
};

use crate::flags::Flags;
use crate::outside::AppendsOutside;

/// Marks one in this number of tables for compaction, by a hash of their keys.
struct MarksSome(u64);

struct Mark {
    one_in: u64,
    hash: u64,
}

impl TablePropertiesCollectorFactory for MarksSome {
    fn name(&self) -> &str {
        "db_stress.MarksSome"
    }

    fn create(&self, _context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        Some(Box::new(Mark {
            one_in: self.0,
            hash: 0,
        }))
    }
}

impl TablePropertiesCollector for Mark {
    fn add_user_key(&mut self, _key: &[u8], _value: &[u8], _entry: EntryType, seqno: SeqNo, size: u64) {
        self.hash = (self.hash ^ seqno ^ size)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(7);
    }

    fn need_compact(&self) -> bool {
        self.hash.is_multiple_of(self.one_in)
    }
}

/// Options whose default in RocksDB's db_stress differs from RocksDB's default.
const STRESS_DEFAULTS: &[(&str, &str)] = &[
    ("allow_concurrent_memtable_write", "false"),
    ("compaction_readahead_size", "0"),
    ("initial_auto_readahead_size", "0"),
    ("max_auto_readahead_size", "0"),
    ("max_bytes_for_level_multiplier", "2"),
    ("max_manifest_file_size", "16384"),
    ("num_file_reads_for_auto_readahead", "0"),
    ("paranoid_file_checks", "true"),
    ("periodic_compaction_seconds", "1000"),
];

/// A cache of `capacity` bytes with the default settings.
fn lru_cache(capacity: usize) -> Arc<BlockCache> {
    Cache::lru(CacheOptions {
        capacity,
        ..CacheOptions::default()
    })
}

/// The tier that has this number in RocksDB's db_stress.
fn tier(flag: &str, number: u32) -> Result<PinningTier> {
    match number {
        0 => Ok(PinningTier::Fallback),
        1 => Ok(PinningTier::None),
        2 => Ok(PinningTier::FlushedAndSimilar),
        3 => Ok(PinningTier::All),
        _ => Err(Error::invalid_argument(format!(
            "--{flag}={number}: tiers are 0 to 3"
        ))),
    }
}

/// The most bytes of the database's own rows, such as those of `persist_stats_to_disk`.
const OTHER_ROWS: usize = 256;

impl Flags {
    fn rate_limiter(&self) -> Result<Option<Arc<RateLimiter>>> {
        if self.rate_limiter_bytes_per_sec == 0 {
            return Ok(None);
        }
        let options = RateLimiterOptions {
            rate_bytes_per_sec: self.rate_limiter_bytes_per_sec,
            // The period is so short that a waiting job does not keep threads from their work for long.
            refill_period_us: 1_000,
            mode: match self.rate_limit_bg_reads {
                true => RateLimiterMode::ReadsOnly,
                false => RateLimiterMode::WritesOnly,
            },
            ..RateLimiterOptions::default()
        };
        let limiter = RateLimiter::with_options(options, Arc::new(SystemClock::new()))?;
        Ok(Some(Arc::new(limiter)))
    }

    fn row_limit(&self) -> RowLimit {
        match self.large_row_one_in {
            0 => RowLimit::MAX,
            _ => {
                RowLimit::at_most(crate::keys::longest_entity(self.value_size_mult as usize).max(OTHER_ROWS))
            }
        }
    }

    fn sst_file_manager(&self) -> Result<Option<Arc<SstFileManager>>> {
        if self.sst_file_manager_bytes_per_sec == 0 {
            return Ok(None);
        }
        let manager = SstFileManager::new(SstFileManagerOptions {
            rate_bytes_per_sec: i64::try_from(self.sst_file_manager_bytes_per_sec).unwrap_or(i64::MAX),
            bytes_max_delete_chunk: self.sst_file_manager_bytes_per_truncate,
            ..SstFileManagerOptions::default()
        })?;
        Ok(Some(manager))
    }

    /// The options that the command line asks for.
    pub fn options(&self) -> Result<Options> {
        let mut options = Options {
            create_if_missing: true,
            max_open_files: self.open_files,
            max_subcompactions: self.subcompactions,
            max_background_jobs: self
                .max_background_compactions
                .max(1)
                .saturating_add(self.max_background_flushes.max(1))
                .min(256),
            allow_mmap_reads: self.mmap_read,
            manual_wal_flush: self.manual_wal_flush_one_in > 0,
            row_cache: (self.row_cache_size > 0).then(|| lru_cache(self.row_cache_size as usize)),
            statistics: self.statistics.then(Statistics::new),
            rate_limiter: self.rate_limiter()?,
            sst_file_manager: self.sst_file_manager()?,
            row_limit: self.row_limit(),
            ..Options::default()
        };
        for (name, value) in STRESS_DEFAULTS {
            flags::engine::set(&mut options, name, value)?;
        }
        options.file_checksum_gen_factory = match &*self.file_checksum_impl {
            "none" => FileChecksumGenFactory::None,
            "crc32c" => FileChecksumGenFactory::Crc32c,
            other => {
                return Err(Error::not_supported(format!(
                    "--file_checksum_impl={other}: use none or crc32c"
                )));
            }
        };
        let family = &mut options.column_family;
        self.compression(family)?;
        self.compaction_styles(family)?;
        family.table.cache_usage_options = self.cache_usage();
        flags::engine::set_memtablerep(family, &self.memtablerep)?;
        family.table.checksum = ChecksumType::parse(&self.checksum_type).ok_or_else(|| {
            Error::invalid_argument(format!(
                "--checksum_type={}: no checksum of that name",
                self.checksum_type
            ))
        })?;
        family.merge_operator = match self.large_row_one_in {
            0 => base::merge::builtin("put"),
            _ => Some(Arc::new(AppendsOutside)),
        };
        if self.prefix_size >= 0 {
            family.prefix_extractor = Some(Arc::new(base::prefix::Fixed::new(self.prefix_size as usize)));
        }
        self.filters(&mut family.table);
        self.caches(family)?;
        for (name, value) in &self.rest.engine {
            flags::engine::set(&mut options, name, value)?;
        }
        flags::engine::ThreadFlags {
            bottom: self.num_bottom_pri_threads as usize,
            ..Default::default()
        }
        .apply(&mut options)?;
        options.allow_2pc |= self.use_txn;
        // The two options exclude each other, and are drawn separately.
        options.allow_mmap_reads &= !options.use_direct_reads;
        if self.use_write_buffer_manager && options.db_write_buffer_size > 0 {
            let cache = options.column_family.table.block_cache.clone();
            let limit = options.db_write_buffer_size;
            options.write_buffer_manager = Some(WriteBufferManager::new(limit, cache, true));
        }
        Ok(options)
    }

    /// The memory besides blocks that is charged to the block cache.
    fn cache_usage(&self) -> CacheUsageOptions {
        CacheUsageOptions::of_roles([
            (
                CacheEntryRole::CompressionDictionaryBuildingBuffer,
                self.charge_compression_dictionary_building_buffer,
            ),
            (
                CacheEntryRole::FilterConstruction,
                self.charge_filter_construction,
            ),
            (CacheEntryRole::BlockBasedTableReader, self.charge_table_reader),
            (CacheEntryRole::FileMetadata, self.charge_file_metadata),
            (CacheEntryRole::BlobCache, self.charge_blob_cache),
        ])
    }

    /// Sets the compression of blocks, and its dictionaries.
    fn compression(&self, family: &mut ColumnFamilyOptions) -> Result<()> {
        family.compression = flags::engine::compression(&self.compression_type)?;
        let options = &mut family.compression_opts;
        options.parallel_threads = self.compression_parallel_threads;
        options.max_dict_bytes = self.compression_max_dict_bytes;
        options.zstd_max_train_bytes = self.compression_zstd_max_train_bytes;
        options.max_dict_buffer_bytes = self.compression_max_dict_buffer_bytes;
        options.checksum = self.compression_checksum;
        options.use_zstd_dict_trainer = self.compression_use_zstd_dict_trainer;
        if self.bottommost_compression_type != "disable" {
            family.bottommost_compression =
                Some(flags::engine::compression(&self.bottommost_compression_type)?);
        }
        Ok(())
    }

    /// Sets the filters of tables.
    fn filters(&self, table: &mut BlockBasedOptions) {
        if self.bloom_bits >= 0.0 {
            table.filter_policy = match self.bloom_before_level {
                i32::MAX => FilterPolicy::Bloom(self.bloom_bits),
                bloom_before_level => FilterPolicy::Ribbon {
                    bits_per_key: self.bloom_bits,
                    bloom_before_level,
                },
            };
        }
    }

    /// Sets the caches of blocks and of values in blob files, and the blocks that stay in them.
    fn caches(&self, family: &mut ColumnFamilyOptions) -> Result<()> {
        if self.cache_size > 0 {
            let cache = CacheOptions {
                capacity: self.cache_size as usize,
                num_shard_bits: self.cache_numshardbits,
                high_pri_pool_ratio: self.high_pri_pool_ratio,
                low_pri_pool_ratio: self.low_pri_pool_ratio,
                ..CacheOptions::default()
            };
            family.table.block_cache = Some(self.block_cache(cache, family.table.block_size as usize)?);
        } else {
            family.table.no_block_cache = true;
        }
        if self.use_blob_cache {
            family.blob_cache = self.blob_cache(family.table.block_cache.as_ref())?;
        }
        family.table.metadata_cache_options = MetadataCacheOptions {
            top_level_index_pinning: tier("top_level_index_pinning", self.top_level_index_pinning)?,
            partition_pinning: tier("partition_pinning", self.partition_pinning)?,
            unpartitioned_pinning: tier("unpartitioned_pinning", self.unpartitioned_pinning)?,
        };
        Ok(())
    }

    /// Sets the compaction style. FIFO compaction drops nothing unless a flag asks for it: the verification
    /// would miss dropped data.
    fn compaction_styles(&self, family: &mut ColumnFamilyOptions) -> Result<()> {
        family.compaction_style = flags::engine::compaction_style(self.compaction_style)?;
        let takes_paths = matches!(
            family.compaction_style,
            CompactionStyle::Level | CompactionStyle::Universal
        );
        if self.table_paths > 0 && !takes_paths {
            family.compaction_style = CompactionStyle::Level;
        }
        family.compaction_pri = flags::engine::compaction_pri(self.compaction_pri)?;
        flags::engine::UniversalFlags {
            size_ratio: self.universal_size_ratio,
            min_merge_width: self.universal_min_merge_width,
            max_merge_width: self.universal_max_merge_width,
            max_size_amplification_percent: self.universal_max_size_amplification_percent,
            max_read_amp: self.universal_max_read_amp,
            reduce_file_locking: self.universal_reduce_file_locking,
        }
        .apply(&mut family.compaction_options_universal);
        if self.enable_sst_partitioner_factory {
            family.sst_partitioner_factory = Some(Arc::new(SstPartitionerFixedPrefixFactory::new(4)));
        }
        let collectors = &mut family.table_properties_collector_factories;
        if self.enable_compaction_on_deletion_trigger {
            collectors.push(Arc::new(CompactOnDeletionCollectorFactory {
                sliding_window_size: self.compaction_on_deletion_window_size as usize,
                deletion_trigger: self.compaction_on_deletion_trigger_count as usize,
                deletion_ratio: self.compaction_on_deletion_ratio,
                min_file_size: self.compaction_on_deletion_min_file_size,
            }));
        }
        if self.mark_for_compaction_one_file_in > 0 {
            collectors.push(Arc::new(MarksSome(self.mark_for_compaction_one_file_in)));
        }
        let fifo = &mut family.compaction_options_fifo;
        fifo.allow_compaction = self.fifo_allow_compaction;
        fifo.max_table_files_size = match self.fifo_compaction_max_table_files_size_mb {
            0 => u64::MAX,
            mib => mib << 20,
        };
        fifo.max_data_files_size = self.fifo_compaction_max_data_files_size_mb << 20;
        if !self.file_temperature_age_thresholds.is_empty() {
            let ages = &self.file_temperature_age_thresholds;
            *fifo = fifo
                .parse_onto(&format!("{{file_temperature_age_thresholds={ages};}}"))
                .ok_or_else(|| {
                    Error::invalid_argument(format!(
                        "--file_temperature_age_thresholds={ages}: not of the form \
                         {{{{temperature=kWarm;age=10;}}:{{temperature=kCold;age=20;}}}}"
                    ))
                })?;
        }
        family.ttl = match family.compaction_style {
            CompactionStyle::Fifo => 0,
            _ => self.compaction_ttl,
        };
        Ok(())
    }

    /// The cache of values in blob files, which may be the block cache.
    fn blob_cache(&self, block_cache: Option<&Arc<BlockCache>>) -> Result<Option<Arc<BlockCache>>> {
        match self.use_shared_block_and_blob_cache {
            true => Ok(block_cache.cloned()),
            false if self.blob_cache_size == 0 => Err(Error::invalid_argument(
                "Unable to create a standalone blob cache if blob_cache_size <= 0.",
            )),
            false => Ok(Some(Cache::lru(CacheOptions {
                capacity: self.blob_cache_size as usize,
                num_shard_bits: self.blob_cache_numshardbits,
                ..CacheOptions::default()
            }))),
        }
    }

    /// The block cache, and the secondary cache behind it.
    fn block_cache(&self, cache: CacheOptions, block_size: usize) -> Result<Arc<BlockCache>> {
        let (tiered, kind) = match self.cache_type.strip_prefix("tiered_") {
            Some(kind) => (true, kind),
            None => (false, &*self.cache_type),
        };
        let cache = cache.of_type(kind, block_size).ok_or_else(|| {
            Error::invalid_argument(format!(
                "--cache_type={}: no block cache of that kind",
                self.cache_type
            ))
        })?;
        let mut secondary = CompressedSecondaryCacheOptions {
            capacity: self.compressed_secondary_cache_size as usize,
            num_shard_bits: self.compressed_secondary_cache_numshardbits,
            ..CompressedSecondaryCacheOptions::default()
        };
        if self.enable_do_not_compress_roles {
            secondary.do_not_compress_roles = EntryRole::ALL.to_vec();
        }
        if tiered && secondary.capacity > 0 {
            return Err(Error::invalid_argument(format!(
                "--compressed_secondary_cache_size and --cache_type={}: only one is possible",
                self.cache_type
            )));
        }
        let adm_policy = match self.adm_policy {
            0 | 1 => AdmissionPolicy::Placeholder,
            2 => AdmissionPolicy::AllowCacheHits,
            4 => AdmissionPolicy::AllowAll,
            _ => {
                return Err(Error::invalid_argument(format!(
                    "--adm_policy={}: use 0, 1, 2 or 4; 3 needs a third tier",
                    self.adm_policy
                )));
            }
        };
        Ok(match (tiered, secondary.capacity) {
            (false, 0) => Cache::new(cache),
            (false, _) => Cache::with_secondary(cache, secondary),
            (true, _) => {
                let ratio = match self.compressed_secondary_cache_ratio {
                    0.0 => 0.5,
                    ratio => ratio,
                };
                let tiered = TieredCacheOptions {
                    total_capacity: cache.capacity,
                    compressed_secondary_ratio: ratio,
                    adm_policy,
                    comp_cache_opts: secondary,
                };
                Cache::tiered(cache, tiered)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use esker::ThreadPriority;

    use super::*;
    use esker::Charged;

    #[test]
    fn charges_threads_and_ages_reach_the_engine() {
        let mut flags = Flags {
            charge_table_reader: true,
            charge_file_metadata: true,
            num_bottom_pri_threads: 2,
            file_temperature_age_thresholds: "{{temperature=kWarm;age=10}:{temperature=kCold;age=20}}".into(),
            fifo_allow_compaction: true,
            ..Flags::default()
        };
        let options = flags.options().unwrap();
        let usage = &options.column_family.table.cache_usage_options;
        let charged = usage.options_overrides.iter();
        let charged = charged.filter(|(_, charged)| **charged == Charged::Enabled);
        let charged: Vec<_> = charged.map(|(role, _)| *role).collect();
        assert_eq!(
            charged,
            [
                CacheEntryRole::BlockBasedTableReader,
                CacheEntryRole::FileMetadata
            ]
        );
        let pool = options.thread_pool.unwrap();
        assert_eq!(pool.background_threads(ThreadPriority::Bottom), 2);
        let fifo = options.column_family.compaction_options_fifo;
        let ages: Vec<_> = fifo
            .file_temperature_age_thresholds
            .iter()
            .map(|age| age.age)
            .collect();
        assert!(ages == [10, 20] && fifo.allow_compaction, "{fifo:?}");
        flags.file_temperature_age_thresholds = "kWarm".to_owned();
        let error = flags.options().err().expect("no ages").to_string();
        assert!(
            error.contains("--file_temperature_age_thresholds=kWarm"),
            "{error}"
        );
        assert!(Flags::default().options().unwrap().thread_pool.is_none());
    }
}
