//! `rocksdb_options_t`: the options of a database and of a column family in one object, as in RocksDB's
//! `Options`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use esker::{
    BlockBasedOptions, BottommostLevelCompaction, ColumnFamilyOptions, CompactOnDeletionCollectorFactory,
    CompactionFilterFactory, CompactionPri, CompactionService, CompactionStyle, DbPath, EventListener,
    InfoLogLevel, Options, PrefixExtractor, PrepopulateBlobCache, RateLimiter, RecoveryMode, Result,
    Statistics, StatsLevel, TablePropertiesCollectorFactory, Temperature, WalFilter, WriteBufferManager,
};

use crate::block_based::rocksdb_block_based_table_options_t;
use crate::comparator::{CallbackComparator, rocksdb_comparator_t};
use crate::compression::{CompressionFields, ZstdFields, compression_type};
use crate::env::{rocksdb_env_t, rocksdb_logger_t};
use crate::ffi::*;
use crate::generated::fields::{
    FifoCompactionOptionsFields, OptionsFields, UniversalCompactionOptionsFields,
};
use crate::generated::structs::{rocksdb_fifo_compaction_options_t, rocksdb_universal_compaction_options_t};
use crate::merge_operator::CallbackMergeOperator;
use crate::rate_limiter::rocksdb_ratelimiter_t;

/// The table factory.
#[derive(Clone, Default)]
pub enum TableFactory {
    /// Block-based tables with RocksDB's defaults.
    #[default]
    Default,
    /// Block-based tables.
    BlockBased(rocksdb_block_based_table_options_t),
    /// A format that the engine does not write: block-based tables are written instead, and OPTIONS names
    /// those.
    Other,
}

/// An event listener that passes the `rocksdb_t` of its database to C callbacks.
pub trait DatabaseListener: EventListener {
    /// Sets the `rocksdb_t` that later callbacks get; NULL: they get no database.
    fn attach(&self, db: *mut c_void);
}

/// The values that `rocksdb_options_t` stores besides its fields, and that the engine does not read.
#[derive(Clone)]
pub struct KeptOptions {
    pub write_lifetime_hint_styles: BTreeSet<c_int>,
    pub checksum_handoff_types: BTreeSet<c_int>,
    pub daily_offpeak_time_utc: Vec<u8>,
    pub db_host_id: Option<Vec<u8>>,
}

impl Default for KeptOptions {
    fn default() -> KeptOptions {
        KeptOptions {
            // RocksDB's default: hints for leveled compaction only.
            write_lifetime_hint_styles: BTreeSet::from([0]),
            checksum_handoff_types: BTreeSet::new(),
            daily_offpeak_time_utc: Vec::new(),
            db_host_id: None,
        }
    }
}

/// The C object `rocksdb_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_options_t {
    pub fields: OptionsFields,
    pub compression: CompressionFields,
    pub bottommost_compression: CompressionFields,
    pub bottommost_zstd: ZstdFields,
    /// True after the caller has enabled compression options of the last level.
    pub bottommost_enabled: bool,
    pub compression_per_level: Vec<c_int>,
    pub level_multiplier_additional: Vec<c_int>,
    pub comparator: Option<Arc<CallbackComparator>>,
    pub merge_operator: Option<Arc<dyn esker::MergeOperator>>,
    pub compaction_filter: Option<Arc<dyn CompactionFilterFactory>>,
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub table: TableFactory,
    pub memtable: Option<esker::MemtableFactory>,
    /// RocksDB's factories of tables and memtables that the engine replaces by its own, for the LOG.
    pub replaced: BTreeMap<&'static str, &'static str>,
    pub env: rocksdb_env_t,
    pub info_log: Option<rocksdb_logger_t>,
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub write_buffer_manager: Option<Arc<WriteBufferManager>>,
    pub statistics: Option<Arc<Statistics>>,
    pub collectors: Vec<Arc<dyn TablePropertiesCollectorFactory>>,
    pub checksum_generator: bool,
    pub universal: UniversalCompactionOptionsFields,
    pub fifo: FifoCompactionOptionsFields,
    pub db_log_dir: String,
    pub wal_dir: String,
    pub blob_cache: Option<crate::cache::rocksdb_cache_t>,
    pub row_cache: Option<crate::cache::rocksdb_cache_t>,
    pub sst_file_manager: Option<crate::sst_file_manager::rocksdb_sst_file_manager_t>,
    /// The built-in comparator that an OPTIONS file or an option string names.
    pub builtin_comparator: Option<esker::UserComparator>,
    pub partitioner: Option<Arc<dyn esker::SstPartitionerFactory>>,
    pub db_paths: Vec<DbPath>,
    pub cf_paths: Vec<DbPath>,
    pub listeners: Vec<Arc<dyn DatabaseListener>>,
    pub compaction_service: Option<Arc<dyn CompactionService>>,
    pub wal_filter: Option<Arc<dyn WalFilter>>,
    pub kept: KeptOptions,
}

impl rocksdb_options_t {
    /// Returns the engine's options for opening a database, with those of its family in `column_family`.
    pub fn database(&self) -> Result<Options> {
        let mut options = Options::default();
        let fields = &self.fields;
        fields.apply_db(&mut options)?;
        let kept = fields.kept().into_iter();
        options.kept_options = kept.map(|(name, value)| (name.to_owned(), value)).collect();
        for (name, factory) in &self.replaced {
            options
                .kept_options
                .insert((*name).to_owned(), (*factory).to_owned());
        }
        if fields.delayed_write_rate != 0 {
            options.delayed_write_rate = fields.delayed_write_rate;
        }
        options.wal_recovery_mode = match fields.wal_recovery_mode {
            0 => RecoveryMode::TolerateCorruptedTailRecords,
            1 => RecoveryMode::AbsoluteConsistency,
            3 => RecoveryMode::SkipAnyCorruptedRecords,
            _ => RecoveryMode::PointInTime,
        };
        options.wal_compression = compression_type(fields.wal_compression)?;
        options.info_log_level = match fields.info_log_level {
            ..=0 => InfoLogLevel::Debug,
            1 => InfoLogLevel::Info,
            2 => InfoLogLevel::Info,
            3 => InfoLogLevel::Error,
            4 => InfoLogLevel::Fatal,
            _ => InfoLogLevel::Header,
        };
        options.db_log_dir = self.db_log_dir.clone();
        options.wal_dir = self.wal_dir.clone();
        options.statistics = self.statistics.clone();
        if let Some(statistics) = &options.statistics {
            statistics.set_stats_level(
                StatsLevel::of_number(fields.statistics_level).unwrap_or(StatsLevel::ExceptDetailedTimers),
            );
        }
        options.rate_limiter = self.rate_limiter.clone();
        options.write_buffer_manager = self.write_buffer_manager.clone();
        options.row_cache = self.row_cache.as_ref().map(|cache| cache.cache.clone());
        options.sst_file_manager = self.sst_file_manager.as_ref().map(|manager| manager.0.clone());
        options.info_log = self.info_log.as_ref().map(|logger| logger.0.clone());
        if self.checksum_generator {
            options.file_checksum_gen_factory = esker::FileChecksumGenFactory::Crc32c;
        }
        options.compaction_service = self.compaction_service.clone();
        options.wal_filter = self.wal_filter.clone();
        let listeners = self.listeners.iter().cloned();
        options.listeners = listeners
            .map(|listener| listener as Arc<dyn EventListener>)
            .collect();
        self.env.apply(&mut options);
        options.column_family = self.family()?;
        options.db_paths.clone_from(&self.db_paths);
        // If one of RocksDB's older options `max_background_compactions` and `max_background_flushes` is set,
        // they determine the number of jobs.
        if fields.max_background_compactions > 0 || fields.max_background_flushes > 0 {
            let jobs = fields.max_background_compactions.max(1) + fields.max_background_flushes.max(1);
            options.max_background_jobs = jobs.clamp(1, 256);
        }
        Ok(options)
    }

    /// Returns the engine's options for opening a column family.
    pub fn family(&self) -> Result<ColumnFamilyOptions> {
        let mut options = ColumnFamilyOptions {
            // A flush writes one file to level 0, as programs written for RocksDB expect.
            streams_bypass_level0: false,
            ..ColumnFamilyOptions::default()
        };
        let fields = &self.fields;
        fields.apply_cf(&mut options)?;
        match (&self.comparator, &self.builtin_comparator) {
            (Some(comparator), _) => options.comparator = comparator.user(),
            (None, Some(comparator)) => options.comparator = comparator.clone(),
            (None, None) => {}
        }
        options.cf_paths.clone_from(&self.cf_paths);
        options.sst_partitioner_factory = self.partitioner.clone();
        options.merge_operator = self.merge_operator.clone();
        let factory = self.compaction_filter_factory.as_ref();
        options.compaction_filter_factory = self.compaction_filter.as_ref().or(factory).cloned();
        options.prefix_extractor = self.prefix_extractor.clone();
        options.compression = compression_type(fields.compression)?;
        options.bottommost_compression = match fields.bottommost_compression {
            255 => None,
            number => Some(compression_type(number)?),
        };
        let per_level = self
            .compression_per_level
            .iter()
            .map(|number| compression_type(*number));
        options.compression_per_level = per_level.collect::<Result<_>>()?;
        options.compression_opts = self.compression.options(fields);
        if self.bottommost_enabled {
            options.bottommost_compression_opts =
                self.bottommost_compression.bottommost(&self.bottommost_zstd);
        }
        options.blob_compression_type = compression_type(fields.blob_compression_type)?;
        options.prepopulate_blob_cache = match fields.prepopulate_blob_cache {
            1 => PrepopulateBlobCache::FlushOnly,
            _ => PrepopulateBlobCache::Disable,
        };
        options.compaction_style = match fields.compaction_style {
            1 => CompactionStyle::Universal,
            2 => CompactionStyle::Fifo,
            3 => CompactionStyle::None,
            _ => CompactionStyle::Level,
        };
        options.compaction_pri = usize::try_from(fields.compaction_pri)
            .ok()
            .and_then(|number| CompactionPri::ALL.get(number).copied())
            .unwrap_or(CompactionPri::MinOverlappingRatio);
        options.last_level_temperature = temperature(fields.last_level_temperature);
        options.default_write_temperature = temperature(fields.default_write_temperature);
        self.universal_and_fifo(&mut options);
        if !self.level_multiplier_additional.is_empty() {
            options.max_bytes_for_level_multiplier_additional = self
                .level_multiplier_additional
                .iter()
                .map(|factor| (*factor).max(0) as u32)
                .collect();
        }
        if let Some(memtable) = self.memtable {
            options.memtable_factory = memtable;
        }
        options.table_properties_collector_factories = self.collectors.clone();
        options.blob_cache = self.blob_cache.as_ref().map(|cache| cache.cache.clone());
        options.table = self.table()?;
        Ok(options)
    }

    fn universal_and_fifo(&self, options: &mut ColumnFamilyOptions) {
        let (from, to) = (&self.universal, &mut options.compaction_options_universal);
        to.size_ratio = from.size_ratio.max(0) as u32;
        to.min_merge_width = from.min_merge_width.max(2) as u32;
        to.max_merge_width = from.max_merge_width.max(2) as u32;
        to.max_size_amplification_percent = from.max_size_amplification_percent.max(0) as u32;
        to.compression_size_percent = from.compression_size_percent;
        to.max_read_amp = from.max_read_amp;
        to.allow_trivial_move = from.allow_trivial_move != 0;
        to.stop_style = match from.stop_style {
            0 => esker::CompactionStopStyle::SimilarSize,
            _ => esker::CompactionStopStyle::TotalSize,
        };
        let (from, to) = (&self.fifo, &mut options.compaction_options_fifo);
        to.max_table_files_size = from.max_table_files_size;
        to.max_data_files_size = from.max_data_files_size;
        to.allow_compaction = from.allow_compaction != 0;
    }

    fn table(&self) -> Result<BlockBasedOptions> {
        match &self.table {
            TableFactory::BlockBased(table) => table.options(),
            TableFactory::Default | TableFactory::Other => {
                rocksdb_block_based_table_options_t::default().options()
            }
        }
    }
}

/// Returns the temperature of RocksDB's number.
pub fn temperature(number: c_int) -> Temperature {
    match number {
        0x04 => Temperature::HOT,
        0x08 => Temperature::WARM,
        0x0A => Temperature::COOL,
        0x0C => Temperature::COLD,
        0x10 => Temperature::ICE,
        _ => Temperature::UNKNOWN,
    }
}

/// Returns the treatment of the last level in a manual compaction that has the given number in RocksDB.
pub fn bottommost_level_compaction(number: u8) -> BottommostLevelCompaction {
    match number {
        0 => BottommostLevelCompaction::Skip,
        2 => BottommostLevelCompaction::Force,
        3 => BottommostLevelCompaction::ForceOptimized,
        _ => BottommostLevelCompaction::IfHaveCompactionFilter,
    }
}

api!(
    fn rocksdb_options_create() -> *mut rocksdb_options_t {
        boxed(rocksdb_options_t::default())
    }
);

api!(
    fn rocksdb_options_create_copy(options: *mut rocksdb_options_t) -> *mut rocksdb_options_t {
        boxed((*options).clone())
    }
);

api!(
    fn rocksdb_options_set_comparator(
        options: *mut rocksdb_options_t,
        comparator: *mut rocksdb_comparator_t,
    ) {
        (*options).comparator = comparator.as_ref().map(|comparator| comparator.0.clone());
    }
);

api!(
    fn rocksdb_options_set_merge_operator(
        options: *mut rocksdb_options_t,
        operator: *mut CallbackMergeOperator,
    ) {
        (*options).merge_operator =
            taken(operator).map(|operator| Arc::from(operator as Box<dyn esker::MergeOperator>));
    }
);

api!(
    fn rocksdb_options_set_uint64add_merge_operator(options: *mut rocksdb_options_t) {
        (*options).merge_operator = base::merge::builtin("uint64add");
    }
);

api!(
    fn rocksdb_options_set_env(options: *mut rocksdb_options_t, env: *mut rocksdb_env_t) {
        (*options).env = env.as_ref().cloned().unwrap_or_default();
    }
);

api!(
    fn rocksdb_options_set_info_log(options: *mut rocksdb_options_t, logger: *mut rocksdb_logger_t) {
        // NULL changes nothing.
        if let Some(logger) = logger.as_ref() {
            (*options).info_log = Some(logger.clone());
        }
    }
);

api!(
    fn rocksdb_options_get_info_log(options: *mut rocksdb_options_t) -> *mut rocksdb_logger_t {
        (*options).info_log.clone().map_or(std::ptr::null_mut(), boxed)
    }
);

api!(
    fn rocksdb_options_set_ratelimiter(options: *mut rocksdb_options_t, limiter: *mut rocksdb_ratelimiter_t) {
        if let Some(limiter) = limiter.as_ref() {
            (*options).rate_limiter = Some(limiter.0.clone());
        }
    }
);

api!(
    fn rocksdb_options_set_block_based_table_factory(
        options: *mut rocksdb_options_t,
        table: *mut rocksdb_block_based_table_options_t,
    ) {
        if let Some(table) = table.as_ref() {
            (*options).table = TableFactory::BlockBased(table.clone());
            (*options).replaced.remove("table_factory");
        }
    }
);

api!(
    fn rocksdb_options_set_write_buffer_manager(
        options: *mut rocksdb_options_t,
        manager: *mut crate::cache::rocksdb_write_buffer_manager_t,
    ) {
        (*options).write_buffer_manager = manager.as_ref().map(|manager| manager.0.clone());
    }
);

api!(
    fn rocksdb_options_set_universal_compaction_options(
        options: *mut rocksdb_options_t,
        universal: *mut rocksdb_universal_compaction_options_t,
    ) {
        if let Some(universal) = universal.as_ref() {
            (*options).universal = universal.fields.clone();
        }
    }
);

api!(
    fn rocksdb_options_set_fifo_compaction_options(
        options: *mut rocksdb_options_t,
        fifo: *mut rocksdb_fifo_compaction_options_t,
    ) {
        if let Some(fifo) = fifo.as_ref() {
            (*options).fifo = fifo.fields.clone();
        }
    }
);

api!(
    fn rocksdb_options_add_compact_on_deletion_collector_factory(
        options: *mut rocksdb_options_t,
        window: usize,
        deletions: usize,
    ) {
        (&mut (*options).collectors).push(CompactOnDeletionCollectorFactory::new(window, deletions));
    }
);

api!(
    fn rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(
        options: *mut rocksdb_options_t,
        window: usize,
        deletions: usize,
        ratio: f64,
    ) {
        (&mut (*options).collectors).push(Arc::new(CompactOnDeletionCollectorFactory {
            sliding_window_size: window,
            deletion_trigger: deletions,
            deletion_ratio: ratio,
            min_file_size: 0,
        }));
    }
);

api!(
    fn rocksdb_options_set_compression_per_level(
        options: *mut rocksdb_options_t,
        levels: *const c_int,
        count: usize,
    ) {
        (*options).compression_per_level = array(levels, count).to_vec();
    }
);

api!(
    fn rocksdb_options_set_max_bytes_for_level_multiplier_additional(
        options: *mut rocksdb_options_t,
        factors: *mut c_int,
        count: usize,
    ) {
        (*options).level_multiplier_additional = array(factors, count).to_vec();
    }
);

api!(
    fn rocksdb_options_set_db_log_dir(options: *mut rocksdb_options_t, dir: *const c_char) {
        (*options).db_log_dir = string(dir);
    }
);

api!(
    fn rocksdb_options_set_wal_dir(options: *mut rocksdb_options_t, dir: *const c_char) {
        (*options).wal_dir = string(dir);
    }
);

api!(
    fn rocksdb_options_set_memtable_vector_rep(options: *mut rocksdb_options_t) {
        (*options).memtable = Some(esker::MemtableFactory::Vector { count: 0 });
        (*options).replaced.remove("memtable_factory");
    }
);

api!(
    fn rocksdb_options_enable_statistics(options: *mut rocksdb_options_t) {
        (*options).statistics = Some(Statistics::new());
        (*options).fields.statistics_level = StatsLevel::ExceptDetailedTimers as c_int;
    }
);

/// Replaces a memtable type that the engine does not have by the skip list: rows and reads are the same.
fn memtable_in_place_of(options: &mut rocksdb_options_t, factory: &'static str) {
    options.memtable = Some(esker::MemtableFactory::SkipList { lookahead: 0 });
    options.replaced.insert("memtable_factory", factory);
}

/// Replaces a table format that the engine does not write by the block-based one, which OPTIONS names too.
fn table_in_place_of(options: &mut rocksdb_options_t, factory: &'static str) {
    options.table = TableFactory::Other;
    options.replaced.insert("table_factory", factory);
}

api!(
    fn rocksdb_options_set_hash_skip_list_rep(
        options: *mut rocksdb_options_t,
        _buckets: usize,
        _height: i32,
        _branching: i32,
    ) {
        memtable_in_place_of(&mut *options, "HashSkipListRepFactory")
    }
);

api!(
    fn rocksdb_options_set_hash_link_list_rep(options: *mut rocksdb_options_t, _buckets: usize) {
        memtable_in_place_of(&mut *options, "HashLinkListRepFactory")
    }
);

api!(
    fn rocksdb_options_set_plain_table_factory(
        options: *mut rocksdb_options_t,
        _key_length: u32,
        _bloom_bits_per_key: c_int,
        _hash_table_ratio: f64,
        _index_sparseness: usize,
        _huge_page_tlb_size: usize,
        _encoding: std::ffi::c_char,
        _full_scan: u8,
        _store_index_in_file: u8,
    ) {
        table_in_place_of(&mut *options, "PlainTable")
    }
);

api!(
    fn rocksdb_options_set_cuckoo_table_factory(
        options: *mut rocksdb_options_t,
        _cuckoo: *mut crate::generated::structs::rocksdb_cuckoo_table_options_t,
    ) {
        table_in_place_of(&mut *options, "CuckooTable")
    }
);

/// The C object `rocksdb_dbpath_t`.
#[derive(Clone)]
pub struct rocksdb_dbpath_t(DbPath);

api!(
    fn rocksdb_dbpath_create(name: *const c_char, target_size: u64) -> *mut rocksdb_dbpath_t {
        boxed(rocksdb_dbpath_t(DbPath::new(path(name), target_size)))
    }
);

unsafe fn paths(list: *const *const rocksdb_dbpath_t, count: usize) -> Vec<DbPath> {
    array(list, count)
        .iter()
        .map(|path| (&(**path).0).clone())
        .collect()
}

api!(
    fn rocksdb_options_set_db_paths(
        options: *mut rocksdb_options_t,
        list: *mut *const rocksdb_dbpath_t,
        count: usize,
    ) {
        (*options).db_paths = paths(list, count);
    }
);

api!(
    fn rocksdb_options_set_cf_paths(
        options: *mut rocksdb_options_t,
        list: *mut *const rocksdb_dbpath_t,
        count: usize,
    ) {
        (*options).cf_paths = paths(list, count);
    }
);

api!(
    fn rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(
        options: *mut rocksdb_options_t,
        window: usize,
        deletions: usize,
        ratio: f64,
        min_file_size: u64,
    ) {
        (&mut (*options).collectors).push(Arc::new(CompactOnDeletionCollectorFactory {
            sliding_window_size: window,
            deletion_trigger: deletions,
            deletion_ratio: ratio,
            min_file_size,
        }));
    }
);

/// `rocksdb_file_checksum_gen_factory_t`: only CRC-32C.
pub struct rocksdb_file_checksum_gen_factory_t(());

api!(
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut rocksdb_file_checksum_gen_factory_t {
        boxed(rocksdb_file_checksum_gen_factory_t(()))
    }
);

api!(
    fn rocksdb_options_set_file_checksum_gen_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_file_checksum_gen_factory_t,
    ) {
        (*options).checksum_generator = !factory.is_null();
    }
);

/// The C object `rocksdb_sst_partitioner_factory_t`.
pub struct rocksdb_sst_partitioner_factory_t(Arc<dyn esker::SstPartitionerFactory>);

api!(
    fn rocksdb_sst_partitioner_fixed_prefix_factory_create(
        length: usize,
    ) -> *mut rocksdb_sst_partitioner_factory_t {
        boxed(rocksdb_sst_partitioner_factory_t(Arc::new(
            esker::SstPartitionerFixedPrefixFactory::new(length),
        )))
    }
);

api!(
    fn rocksdb_options_set_sst_partitioner_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_sst_partitioner_factory_t,
    ) {
        (*options).partitioner = factory.as_ref().map(|factory| factory.0.clone());
    }
);
