//! The engine's options from the flags: RocksDB's names of flags, which are not always those of the options.

use std::sync::Arc;

use base::{Error, Result};
use esker::{
    AdmissionPolicy, BlockBasedOptions, BlockCache, Cache, CacheEntryRole, CacheOptions, CacheUsageOptions,
    ChecksumType, ColumnFamilyOptions, CompactionFilter, CompactionFilterFactory, CompactionStopStyle,
    CompressedSecondaryCacheOptions, CompressionType, DataBlockIndexType, Decision, FileChecksumGenFactory,
    FilterContext, FilterPolicy, IndexShortening, IndexType, Options, RateLimiter, RateLimiterMode,
    RateLimiterOptions, Statistics, StatsLevel, SystemClock, TieredCacheOptions, ValueType,
    WriteBufferManager,
};

use crate::flags::Flags;
use crate::stderr_logger::StderrLogger;

/// Options whose default in RocksDB's db_bench differs from RocksDB's default.
const BENCH_DEFAULTS: &[(&str, &str)] = &[
    ("level_compaction_dynamic_level_bytes", "false"),
    ("hard_pending_compaction_bytes_limit", "137438953472"),
    ("delayed_write_rate", "8388608"),
    ("pin_top_level_index_and_filter", "false"),
];

/// The options that a command line asks for.
pub fn from_flags(flags: &Flags) -> Result<Options> {
    let mut options = Options {
        create_if_missing: !flags.use_existing_db,
        max_open_files: flags.open_files,
        max_subcompactions: flags.subcompactions.max(1),
        allow_mmap_reads: flags.mmap_read,
        statistics: statistics(flags)?,
        rate_limiter: rate_limiter(flags)?,
        row_cache: row_cache(flags),
        info_log: flags.use_stderr_info_logger.then(|| Arc::new(StderrLogger) as _),
        ..Options::default()
    };
    for (name, value) in BENCH_DEFAULTS {
        ::flags::engine::set(&mut options, name, value)?;
    }
    if flags.file_checksum {
        options.file_checksum_gen_factory = FileChecksumGenFactory::Crc32c;
    }
    let family = &mut options.column_family;
    set_compression(flags, family)?;
    let compression = family.compression;
    compaction_styles(flags, family)?;
    set_memtable(flags, family)?;
    set_blocks(flags, &mut family.table)?;
    set_index(flags, &mut family.table)?;
    set_caches(flags, family)?;
    if flags.use_keep_filter {
        family.compaction_filter_factory = Some(Arc::new(KeepFilter));
    }
    for (name, value) in &flags.rest.engine {
        ::flags::engine::set(&mut options, name, value)?;
    }
    if flags.max_background_compactions >= 0 || flags.max_background_flushes >= 0 {
        let compactions = flags.max_background_compactions.max(1);
        let jobs = compactions.saturating_add(flags.max_background_flushes.max(1));
        ::flags::engine::set(&mut options, "max_background_jobs", &jobs.to_string())?;
    }
    if flags.cost_write_buffer_to_cache {
        let cache = options.column_family.table.block_cache.clone();
        let limit = options.db_write_buffer_size;
        options.write_buffer_manager = Some(WriteBufferManager::new(limit, cache, false));
    }
    if flags.min_level_to_compress >= 0 {
        let family = &mut options.column_family;
        let plain = flags.min_level_to_compress as usize;
        let levels = (family.num_levels as usize).max(plain + 1);
        family.compression_per_level = (0..levels)
            .map(|level| {
                if level < plain {
                    CompressionType::None
                } else {
                    compression
                }
            })
            .collect();
    }
    Ok(options)
}

/// Sets the compression of blocks, and its dictionaries.
fn set_compression(flags: &Flags, family: &mut ColumnFamilyOptions) -> Result<()> {
    family.compression = ::flags::engine::compression(&flags.compression_type)?;
    let options = &mut family.compression_opts;
    options.level = flags.compression_level;
    options.parallel_threads = flags.compression_parallel_threads;
    options.max_dict_bytes = flags.compression_max_dict_bytes;
    options.zstd_max_train_bytes = flags.compression_zstd_max_train_bytes;
    options.max_dict_buffer_bytes = flags.compression_max_dict_buffer_bytes;
    options.use_zstd_dict_trainer = flags.compression_use_zstd_dict_trainer;
    Ok(())
}

/// Sets the memtable, and how keys and operands are interpreted.
fn set_memtable(flags: &Flags, family: &mut ColumnFamilyOptions) -> Result<()> {
    ::flags::engine::set_memtablerep(family, &flags.memtablerep)?;
    if !flags.merge_operator.is_empty() {
        let operator = base::merge::builtin(&flags.merge_operator).ok_or_else(|| {
            Error::invalid_argument(format!(
                "--merge_operator={}: no operator of that name",
                flags.merge_operator
            ))
        })?;
        family.merge_operator = Some(operator);
    }
    if flags.prefix_size > 0 {
        family.prefix_extractor = Some(Arc::new(base::prefix::Fixed::new(flags.prefix_size as usize)));
    }
    family.memtable_prefix_bloom_size_ratio = flags.memtable_bloom_size_ratio.clamp(0.0, 0.25);
    Ok(())
}

/// Sets the blocks of tables, and their filters.
fn set_blocks(flags: &Flags, table: &mut BlockBasedOptions) -> Result<()> {
    table.block_size = flags.block_size;
    table.checksum = u8::try_from(flags.checksum_type)
        .ok()
        .and_then(ChecksumType::from_byte)
        .ok_or_else(|| Error::invalid_argument("--checksum_type must be between 0 and 4"))?;
    if flags.bloom_bits >= 0.0 {
        table.filter_policy = match flags.use_ribbon_filter {
            true => FilterPolicy::Ribbon {
                bits_per_key: flags.bloom_bits,
                bloom_before_level: 0,
            },
            false => FilterPolicy::Bloom(flags.bloom_bits),
        };
    }
    table.partition_filters = flags.partition_index_and_filters;
    Ok(())
}

/// Sets the index of tables, and that of their data blocks.
fn set_index(flags: &Flags, table: &mut BlockBasedOptions) -> Result<()> {
    let index_types = [
        (
            flags.partition_index || flags.partition_index_and_filters,
            IndexType::TwoLevel,
        ),
        (flags.index_with_first_key, IndexType::BinarySearchWithFirstKey),
        (flags.use_hash_search, IndexType::HashSearch),
    ];
    let mut asked = index_types.iter().filter(|(asked, _)| *asked);
    table.index_type = asked
        .next()
        .map_or(IndexType::BinarySearch, |(_, index_type)| *index_type);
    if asked.next().is_some() {
        return Err(Error::invalid_argument(
            "of --partition_index, --index_with_first_key and --use_hash_search only one is possible",
        ));
    }
    if flags.use_hash_search && flags.prefix_size <= 0 {
        return Err(Error::invalid_argument(
            "prefix_size not assigned when enable use_hash_search",
        ));
    }
    if flags.use_data_block_hash_index {
        table.data_block_index_type = DataBlockIndexType::BinaryAndHash;
    }
    table.index_shortening = match flags.index_shortening_mode {
        0 => IndexShortening::None,
        1 => IndexShortening::Separators,
        2 => IndexShortening::SeparatorsAndSuccessor,
        _ => {
            return Err(Error::invalid_argument(
                "--index_shortening_mode must be between 0 and 2",
            ));
        }
    };
    Ok(())
}

/// Sets the caches of blocks and of values in blob files.
fn set_caches(flags: &Flags, family: &mut ColumnFamilyOptions) -> Result<()> {
    let table = &mut family.table;
    let cache = CacheOptions {
        capacity: flags.cache_size.max(0) as usize,
        num_shard_bits: flags.cache_numshardbits,
        high_pri_pool_ratio: flags.cache_high_pri_pool_ratio,
        low_pri_pool_ratio: flags.cache_low_pri_pool_ratio,
        ..CacheOptions::default()
    };
    let block_size = table.block_size as usize;
    let Some(cache) = cache.of_type(&flags.cache_type, block_size) else {
        return Err(Error::invalid_argument(format!(
            "--cache_type={}: use lru_cache, hyper_clock_cache, fixed_hyper_clock_cache or auto_hyper_clock_cache",
            flags.cache_type
        )));
    };
    table.cache_usage_options = cache_usage(flags);
    if flags.cache_size > 0 {
        table.block_cache = Some(block_cache(flags, cache)?);
    } else {
        table.no_block_cache = true;
    }
    if flags.use_blob_cache {
        family.blob_cache = blob_cache(flags, family.table.block_cache.as_ref())?;
    }
    Ok(())
}

/// The memory besides blocks that is charged to the block cache.
fn cache_usage(flags: &Flags) -> CacheUsageOptions {
    let roles = [
        (
            CacheEntryRole::CompressionDictionaryBuildingBuffer,
            flags.charge_compression_dictionary_building_buffer,
        ),
        (
            CacheEntryRole::FilterConstruction,
            flags.charge_filter_construction,
        ),
        (CacheEntryRole::BlockBasedTableReader, flags.charge_table_reader),
        (CacheEntryRole::FileMetadata, flags.charge_file_metadata),
        (CacheEntryRole::BlobCache, flags.charge_blob_cache),
    ];
    CacheUsageOptions::of_roles(roles)
}

/// The cache of values in blob files, which may be the block cache.
fn blob_cache(flags: &Flags, block_cache: Option<&Arc<BlockCache>>) -> Result<Option<Arc<BlockCache>>> {
    match flags.use_shared_block_and_blob_cache {
        true => Ok(block_cache.cloned()),
        false if flags.blob_cache_size == 0 => Err(Error::invalid_argument(
            "Unable to create a standalone blob cache if blob_cache_size <= 0.",
        )),
        false => Ok(Some(Cache::lru(CacheOptions {
            capacity: flags.blob_cache_size as usize,
            num_shard_bits: flags.blob_cache_numshardbits,
            ..CacheOptions::default()
        }))),
    }
}

/// The flags about threads in the background.
pub fn threads(flags: &Flags) -> ::flags::engine::ThreadFlags {
    ::flags::engine::ThreadFlags {
        high: flags.num_high_pri_threads as usize,
        low: flags.num_low_pri_threads as usize,
        bottom: flags.num_bottom_pri_threads as usize,
        lower_cpu: flags.enable_cpu_prio,
    }
}

/// The cache of rows, if the flags ask for one.
fn row_cache(flags: &Flags) -> Option<Arc<BlockCache>> {
    let options = CacheOptions {
        capacity: flags.row_cache_size as usize,
        num_shard_bits: flags.cache_numshardbits,
        ..CacheOptions::default()
    };
    (flags.row_cache_size > 0).then(|| Cache::lru(options))
}

/// A filter that is called for every row and removes none.
struct KeepFilter;

impl CompactionFilterFactory for KeepFilter {
    fn name(&self) -> &str {
        "KeepFilter"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(KeepFilter))
    }
}

impl CompactionFilter for KeepFilter {
    fn filter(&mut self, _: usize, _: &[u8], _: ValueType, _: &[u8]) -> Decision {
        Decision::Keep
    }
}

fn rate_limiter(flags: &Flags) -> Result<Option<Arc<RateLimiter>>> {
    if flags.rate_limiter_bytes_per_sec == 0 {
        return Ok(None);
    }
    let options = RateLimiterOptions {
        rate_bytes_per_sec: flags.rate_limiter_bytes_per_sec,
        refill_period_us: flags.rate_limiter_refill_period_us,
        mode: match flags.rate_limit_bg_reads {
            true => RateLimiterMode::ReadsOnly,
            false => RateLimiterMode::WritesOnly,
        },
        single_burst_bytes: flags.rate_limiter_single_burst_bytes,
        auto_tuned: flags.rate_limiter_auto_tuned,
        ..RateLimiterOptions::default()
    };
    RateLimiter::with_options(options, Arc::new(SystemClock::new())).map(|limiter| Some(Arc::new(limiter)))
}

fn statistics(flags: &Flags) -> Result<Option<Arc<Statistics>>> {
    let level = StatsLevel::of_number(flags.stats_level)
        .ok_or_else(|| Error::invalid_argument("--stats_level must be between 0 and 5"))?;
    Ok(flags.statistics.then(|| Statistics::of_level(level)))
}

/// The block cache, and the secondary cache behind it.
fn block_cache(flags: &Flags, cache: CacheOptions) -> Result<Arc<BlockCache>> {
    if !flags.use_compressed_secondary_cache {
        return Ok(Cache::new(cache));
    }
    let mut secondary = CompressedSecondaryCacheOptions {
        capacity: flags.compressed_secondary_cache_size.max(0) as usize,
        num_shard_bits: flags.compressed_secondary_cache_numshardbits,
        high_pri_pool_ratio: flags.compressed_secondary_cache_high_pri_pool_ratio,
        low_pri_pool_ratio: flags.compressed_secondary_cache_low_pri_pool_ratio,
        compression_type: ::flags::engine::compression(&flags.compressed_secondary_cache_compression_type)?,
        ..CompressedSecondaryCacheOptions::default()
    };
    secondary.compression_opts.level = flags.compressed_secondary_cache_compression_level;
    let policy = AdmissionPolicy::of_name(&flags.tiered_adm_policy).ok_or_else(|| {
        Error::invalid_argument(format!(
            "--tiered_adm_policy={}: use auto, placeholder, allow_cache_hits or allow_all",
            flags.tiered_adm_policy
        ))
    })?;
    if !flags.use_tiered_cache {
        return Ok(Cache::with_secondary(cache, secondary));
    }
    let total_capacity = cache.capacity + secondary.capacity;
    let tiered = TieredCacheOptions {
        total_capacity,
        compressed_secondary_ratio: secondary.capacity as f64 / total_capacity as f64,
        adm_policy: policy,
        comp_cache_opts: secondary,
    };
    Ok(Cache::tiered(cache, tiered))
}

/// Sets the compaction style and the options of the styles.
fn compaction_styles(flags: &Flags, family: &mut ColumnFamilyOptions) -> Result<()> {
    family.compaction_style = ::flags::engine::compaction_style(flags.compaction_style)?;
    family.compaction_pri = ::flags::engine::compaction_pri(flags.compaction_pri)?;
    let universal = &mut family.compaction_options_universal;
    ::flags::engine::UniversalFlags {
        size_ratio: flags.universal_size_ratio,
        min_merge_width: flags.universal_min_merge_width,
        max_merge_width: flags.universal_max_merge_width,
        max_size_amplification_percent: flags.universal_max_size_amplification_percent,
        max_read_amp: flags.universal_max_read_amp,
        reduce_file_locking: flags.universal_reduce_file_locking,
    }
    .apply(universal);
    universal.compression_size_percent = flags.universal_compression_size_percent;
    universal.allow_trivial_move = flags.universal_allow_trivial_move;
    universal.stop_style = match flags.universal_stop_style {
        0 => CompactionStopStyle::SimilarSize,
        1 => CompactionStopStyle::TotalSize,
        _ => return Err(Error::invalid_argument("--universal_stop_style must be 0 or 1")),
    };
    let fifo = &mut family.compaction_options_fifo;
    if flags.fifo_compaction_max_table_files_size_mb > 0 {
        fifo.max_table_files_size = flags.fifo_compaction_max_table_files_size_mb << 20;
    }
    fifo.max_data_files_size = flags.fifo_compaction_max_data_files_size_mb << 20;
    fifo.allow_compaction = flags.fifo_compaction_allow_compaction;
    family.ttl = match flags.fifo_compaction_ttl {
        0 => flags.ttl_seconds,
        seconds => seconds,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ::flags::engine::rows;
    use ::flags::{FlagSet, Parsed, parse, rocksdb};

    use super::*;
    use esker::Charged;

    fn options(line: &str) -> Result<Options> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&args).unwrap() {
            Parsed::Run(flags) => from_flags(&flags),
            Parsed::Help => panic!("help"),
        }
    }

    #[test]
    fn memory_is_charged_if_asked() {
        let charged = |line: &str| {
            let usage = options(line).unwrap().column_family.table.cache_usage_options;
            assert_eq!(usage.options_overrides.len(), 5);
            let charged = usage.options_overrides.into_iter();
            let charged = charged.filter(|(_, charged)| *charged == Charged::Enabled);
            charged.map(|(role, _)| role.name()).collect::<Vec<_>>()
        };
        assert_eq!(charged(""), [""; 0]);
        assert_eq!(charged("--charge_table_reader"), ["BlockBasedTableReader"]);
        assert_eq!(
            charged("--charge_file_metadata --charge_filter_construction"),
            ["FilterConstruction", "FileMetadata"]
        );
        let line = "--charge_compression_dictionary_building_buffer --charge_blob_cache";
        assert_eq!(
            charged(line),
            ["CompressionDictionaryBuildingBuffer", "BlobCache"]
        );
    }

    #[test]
    fn threads_are_those_of_the_flags() {
        let line =
            "--num_high_pri_threads=5 --num_low_pri_threads=6 --num_bottom_pri_threads=7 --enable_cpu_prio";
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Parsed::Run(flags) = parse::<Flags>(&args).unwrap() else {
            panic!("help")
        };
        let threads = threads(&flags);
        assert_eq!((threads.high, threads.low, threads.bottom), (5, 6, 7));
        assert!(threads.lower_cpu);
    }

    #[test]
    fn values_have_the_names_and_numbers_of_rocksdbs_flags() {
        let by_number = options(
            "--prepopulate_block_cache=1 --prepopulate_blob_cache=1 --wal_compression=zstd --blob_compression_type=lz4",
        )
        .unwrap();
        let by_name = options(
            "--prepopulate_block_cache=kFlushOnly --prepopulate_blob_cache=kFlushOnly --wal_compression=kZSTD \
             --blob_compression_type=kLZ4Compression",
        )
        .unwrap();
        let names = [
            "prepopulate_block_cache",
            "prepopulate_blob_cache",
            "wal_compression",
            "blob_compression_type",
        ];
        for name in names {
            let value = |options| ::flags::engine::get(options, name).unwrap();
            assert_eq!(value(&by_number), value(&by_name));
            assert_ne!(value(&by_number), value(&Options::default()), "{name}");
        }
        assert!(options("--prepopulate_block_cache=3").is_err());
        let fanouts = |value: &str| {
            let options = options(&format!("--max_bytes_for_level_multiplier_additional={value}")).unwrap();
            options.column_family.max_bytes_for_level_multiplier_additional
        };
        assert_eq!(fanouts("1,2,3"), [1, 2, 3]);
        assert_eq!(fanouts("1:2:3"), [1, 2, 3]);
        assert_eq!(
            fanouts(""),
            ColumnFamilyOptions::default().max_bytes_for_level_multiplier_additional
        );
    }

    #[test]
    fn flags_become_options() {
        let options = options(
            "--write_buffer_size=1m --compression_type=zstd --compression_level=3 --bloom_bits=10 --checksum_type=1 \
             --partition_index_and_filters --index_shortening_mode=0 --metadata_block_size=100 \
             --open_files=16 --nolevel_compaction_dynamic_level_bytes --format_version=4 --min_level_to_compress=2",
        )
        .unwrap();
        let family = &options.column_family;
        assert_eq!((options.max_open_files, family.write_buffer_size), (16, 1 << 20));
        assert_eq!(
            (family.compression, family.compression_opts.level),
            (CompressionType::Zstd, 3)
        );
        assert_eq!(
            (family.table.checksum, family.table.format_version),
            (ChecksumType::Crc32c, 4)
        );
        assert_eq!(family.table.filter_policy, FilterPolicy::Bloom(10.0));
        assert_eq!(
            (
                family.table.index_type,
                family.table.partition_filters,
                family.table.metadata_block_size
            ),
            (IndexType::TwoLevel, true, 100)
        );
        assert_eq!(family.table.index_shortening, IndexShortening::None);
        assert_eq!(
            family.compression_per_level[..3],
            [
                CompressionType::None,
                CompressionType::None,
                CompressionType::Zstd
            ]
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--compression_type=rar",
            "--checksum_type=9",
            "--compaction_style=4",
            "--universal_stop_style=2",
            "--merge_operator=divide",
            "--num_levels=1000",
            "--partition_index --index_with_first_key",
            "--index_shortening_mode=3",
            "--cache_type=clock_cache",
            "--use_compressed_secondary_cache --compressed_secondary_cache_compression_type=rar",
            "--use_compressed_secondary_cache --use_tiered_cache --tiered_adm_policy=three_queue",
            "--use_hash_search",
            "--write_buffer_size=abc",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
    }

    /// Compares `docs/options.md` with the options; `REWRITE=1` writes it.
    #[test]
    fn options_are_documented() {
        let mut text = String::from(
            "# Options\n\nNames, units and defaults are RocksDB's where the text does not say otherwise. Each can stand in an OPTIONS file, \
             and as a flag\nof `db_bench`, under its name. Options that are objects (comparators, caches, listeners) are documented in the \
             code alone. Those marked * can be changed while the\ndatabase is open, by `Db::set_options` and `Db::set_db_options`.\n\n| option | type | default | what it does |\n|---|---|---|---|\n",
        );
        for row in rows() {
            let (name, kind, default) = (row.name, row.type_name, row.default);
            let doc: Vec<&str> = row
                .doc
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect();
            let default = if default.is_empty() {
                String::new()
            } else {
                format!("`{default}`")
            };
            let mark = if row.mutable { " *" } else { "" };
            text.push_str(&format!(
                "| `{name}`{mark} | {kind} | {default} | {} |\n",
                doc.join(" ").replace('|', "\\|")
            ));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
        if std::env::var_os("REWRITE").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == text,
            "docs/options.md is not up to date: REWRITE=1 cargo test -p db_bench options_are_documented"
        );
    }

    const ROCKSDB_DEFAULTS: &str = include_str!("rocksdb_defaults.txt");

    /// Flags that RocksDB does not have.
    const OURS: &[&str] = &[
        "undefok",
        "transaction_prepare_percent",
        "mixgraph_preset",
        "mixgraph_like_rocksdb",
        "streams",
        "streams_descending",
        "streams_concurrent",
        "streams_order",
        "flamegraph",
        "json",
        "peer",
        "peer_rounds",
    ];

    /// Flags whose default differs from RocksDB's, RocksDB's default, and the reason.
    const OTHERS: &[(&str, &str, &str)] = &[
        (
            "benchmarks",
            "",
            "without the flag there is a tour of a minute, not every workload",
        ),
        (
            "cache_type",
            "lru_cache",
            "the option's default, as in db_bench 7.8, with which the published numbers are measured",
        ),
        (
            "format_version",
            "5",
            "RocksDB 7.8 reads what is written by default",
        ),
    ];

    #[test]
    fn defaults_are_those_of_rocksdb_but_for_those_with_a_reason() {
        let options = options("").unwrap();
        let found = rocksdb::other_defaults::<Flags>(ROCKSDB_DEFAULTS, &options);
        let found: Vec<_> = found
            .iter()
            .map(|other| (other.name, other.here.as_deref().unwrap_or("none")))
            .collect();
        let known: Vec<_> = OTHERS.iter().map(|(name, here, _)| (*name, *here)).collect();
        assert_eq!(found, known);
        let theirs: BTreeSet<_> = rocksdb::defaults(ROCKSDB_DEFAULTS)
            .map(|(name, _)| name)
            .collect();
        let ours: Vec<_> = Flags::FLAGS
            .iter()
            .map(|flag| flag.name)
            .filter(|name| !theirs.contains(name))
            .collect();
        assert_eq!(ours, OURS);
    }

    #[test]
    fn no_option_is_a_flag_of_another_meaning() {
        // These flags set the options of the same names, and have further effects.
        let shared = ["block_size", "compaction_pri", "compaction_style"];
        for name in rows().into_iter().map(|row| row.name) {
            let is_flag = Flags::FLAGS.iter().any(|flag| flag.name == name);
            assert!(!is_flag || shared.contains(&name), "{name}");
            let listed = rocksdb::rows::<Flags>().any(|row| row.name == name);
            assert!(
                !listed,
                "{name} is an option of the engine now: take it out of rocksdb_flags.txt"
            );
        }
    }
}
