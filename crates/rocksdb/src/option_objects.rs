//! Options that are objects, lists and enums: codecs, operators, filters, orders, tables, caches, loggers.

use std::path::Path;
use std::sync::Arc;

use crate::compaction_filter::{CompactionFilterFn, FunctionFilter};
use crate::compaction_filter_factory::{CompactionFilterFactory, Factory};
use crate::comparator::{CompareFn, CompareTsFn, CompareWithoutTsFn, Order, OrderWithTs};
use crate::logger::InfoLogger;
use crate::merge_operator::{FunctionMerge, MergeFn};
use crate::name::text;
use crate::option_types::narrow;
use crate::{
    BlockBasedOptions, CStrLike, Cache, CompactionPri, CuckooTableOptions, DBCompactionStyle,
    DBCompressionType, DBPath, DBRecoveryMode, Env, Error, FifoCompactOptions, LogLevel, MemtableFactory,
    Options, PlainTableFactoryOptions, SliceTransform, UniversalCompactOptions, WriteBufferManager,
};

impl Options {
    /// Sets the directories of tables, those of upper levels first. Default: the database's own.
    pub fn set_db_paths(&mut self, paths: &[DBPath]) {
        self.inner.db_paths = paths.iter().map(|path| path.0.clone()).collect();
    }

    /// Sets the directories of a family's tables. Default: those of the database.
    pub fn set_cf_paths(&mut self, paths: &[DBPath]) {
        self.inner.column_family.cf_paths = paths.iter().map(|path| path.0.clone()).collect();
    }

    /// Sets the environment. Default: the machine's.
    pub fn set_env(&mut self, env: &Env) {
        self.inner.fs = env.fs();
    }

    /// Sets the compression of tables. Default: Snappy.
    pub fn set_compression_type(&mut self, compression: DBCompressionType) {
        self.inner.column_family.compression = compression.engine();
    }

    /// Sets the number of threads that compress the blocks of a table. Default: 1.
    pub fn set_compression_options_parallel_threads(&mut self, number: i32) {
        self.inner.column_family.compression_opts.parallel_threads = narrow(number);
    }

    /// Sets the compression of the WAL: none, or Zstandard. Default: none.
    ///
    /// # Panics
    /// Another codec, as in the `rocksdb` crate.
    pub fn set_wal_compression_type(&mut self, compression: DBCompressionType) {
        match compression {
            DBCompressionType::None | DBCompressionType::Zstd => {
                self.inner.wal_compression = compression.engine();
            }
            other => panic!("{other:?} is not supported for WAL compression"),
        }
    }

    /// Sets the compression of the last level. Default: that of all tables.
    pub fn set_bottommost_compression_type(&mut self, compression: DBCompressionType) {
        self.inner.column_family.bottommost_compression = Some(compression.engine());
    }

    /// Sets the compression of each level. Default: that of all tables.
    pub fn set_compression_per_level(&mut self, levels: &[DBCompressionType]) {
        let levels = levels.iter().map(|level| level.engine());
        self.inner.column_family.compression_per_level = levels.collect();
    }

    /// Sets the parameters of compression, and the size of dictionaries.
    pub fn set_compression_options(
        &mut self,
        window_bits: i32,
        level: i32,
        strategy: i32,
        max_dict_bytes: i32,
    ) {
        let options = &mut self.inner.column_family.compression_opts;
        set_compression(options, window_bits, level, strategy, max_dict_bytes);
    }

    /// Sets the parameters for the last level.
    pub fn set_bottommost_compression_options(
        &mut self,
        window_bits: i32,
        level: i32,
        strategy: i32,
        max_dict_bytes: i32,
        enabled: bool,
    ) {
        let options = &mut self.inner.column_family.bottommost_compression_opts;
        set_compression(options, window_bits, level, strategy, max_dict_bytes);
        options.enabled = enabled;
    }

    /// Sets the bytes of samples that dictionaries are trained from. Default: 0.
    pub fn set_zstd_max_train_bytes(&mut self, value: i32) {
        self.inner.column_family.compression_opts.zstd_max_train_bytes = narrow(value);
    }

    /// Sets the bytes of samples for the last level.
    pub fn set_bottommost_zstd_max_train_bytes(&mut self, value: i32, enabled: bool) {
        let options = &mut self.inner.column_family.bottommost_compression_opts;
        options.zstd_max_train_bytes = narrow(value);
        options.enabled = enabled;
    }

    /// Sets the first level whose tables are compressed.
    pub fn set_min_level_to_compress(&mut self, level: i32) {
        let family = &mut self.inner.column_family;
        let compressed = |of: i32| match of < level {
            true => esker::CompressionType::None,
            false => family.compression,
        };
        if level >= 0 {
            family.compression_per_level = (0..family.num_levels).map(compressed).collect();
        }
    }

    /// Sets the compression of blob files. Default: none.
    pub fn set_blob_compression_type(&mut self, compression: DBCompressionType) {
        self.inner.column_family.blob_compression_type = compression.engine();
    }

    /// Sets a merge operator from one function, which also merges operands alone.
    pub fn set_merge_operator_associative<F: MergeFn + Clone>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
    ) {
        let partial_merge_fn = full_merge_fn.clone();
        self.set_merge_operator(name, full_merge_fn, partial_merge_fn);
    }

    /// Sets a merge operator from two functions: one for a value and operands, and one for operands alone,
    /// which gets two at a time.
    pub fn set_merge_operator<F: MergeFn, PF: MergeFn>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
        partial_merge_fn: PF,
    ) {
        self.inner.column_family.merge_operator = Some(Arc::new(FunctionMerge {
            name: text(name),
            full: full_merge_fn,
            partial: partial_merge_fn,
        }));
    }

    /// The same as [`set_merge_operator_associative`](Self::set_merge_operator_associative).
    #[deprecated(note = "add_merge_operator has been renamed to set_merge_operator_associative")]
    pub fn add_merge_operator<F: MergeFn + Clone>(&mut self, name: &str, merge_fn: F) {
        self.set_merge_operator_associative(name, merge_fn);
    }

    /// Sets a function that decides about rows during their compaction. One compaction at a time calls it.
    pub fn set_compaction_filter<F>(&mut self, name: impl CStrLike, filter_fn: F)
    where
        F: CompactionFilterFn + Send + 'static,
    {
        let filter = FunctionFilter::new(text(name), filter_fn);
        self.inner.column_family.compaction_filter_factory = Some(Arc::new(filter));
    }

    /// Sets the factory that creates a filter for each compaction.
    pub fn set_compaction_filter_factory<F>(&mut self, factory: F)
    where
        F: CompactionFilterFactory + Send + 'static,
        F::Filter: Send + 'static,
    {
        self.inner.column_family.compaction_filter_factory = Some(Arc::new(Factory::new(factory)));
    }

    /// Sets the order of keys. Any thread calls the function: it must be `Send + Sync`, which the `rocksdb`
    /// crate does not require.
    pub fn set_comparator(&mut self, name: impl CStrLike, compare_fn: Box<CompareFn>) {
        let order = Order {
            name: text(name),
            compare: compare_fn,
        };
        self.inner.column_family.comparator = esker::UserComparator::Custom(Arc::new(order));
    }

    /// Sets the order of keys that end with a timestamp. Timestamps are compared as in the whole order; the
    /// function for timestamps alone is not called.
    pub fn set_comparator_with_ts(
        &mut self,
        name: impl CStrLike,
        timestamp_size: usize,
        compare_fn: Box<CompareFn>,
        _compare_ts_fn: Box<CompareTsFn>,
        compare_without_ts_fn: Box<CompareWithoutTsFn>,
    ) {
        let order = OrderWithTs {
            name: text(name),
            timestamp_size,
            compare: compare_fn,
            compare_without_ts: compare_without_ts_fn,
        };
        self.inner.column_family.comparator = esker::UserComparator::Custom(Arc::new(order));
    }

    /// Sets the prefix of keys that filters index.
    pub fn set_prefix_extractor(&mut self, prefix_extractor: SliceTransform) {
        self.inner.column_family.prefix_extractor = Some(prefix_extractor.inner);
    }

    /// Sets the directory of info logs. Default: the database's.
    pub fn set_db_log_dir<P: AsRef<Path>>(&mut self, path: P) {
        self.inner.db_log_dir = path.as_ref().to_string_lossy().into_owned();
    }

    /// Sets the directory of WALs. Default: the database's.
    pub fn set_wal_dir<P: AsRef<Path>>(&mut self, path: P) {
        self.inner.wal_dir = path.as_ref().to_string_lossy().into_owned();
    }

    /// Sets the lowest level of lines in the info log. Default: [`LogLevel::Info`].
    pub fn set_log_level(&mut self, level: LogLevel) {
        self.inner.info_log_level = level.engine();
    }

    /// Sets the logger that receives the lines of the info log instead of a file.
    pub fn set_info_logger(&mut self, logger: InfoLogger) {
        self.inner.info_log = Some(logger.inner);
    }

    /// The logger; if there is none, a logger that discards lines.
    pub fn get_info_logger(&self) -> InfoLogger {
        let none: Arc<dyn esker::Logger> = Arc::new(esker::NullLogger);
        InfoLogger {
            inner: self.inner.info_log.clone().unwrap_or(none),
        }
    }

    /// Sets the file that is compacted first. Default: [`CompactionPri::MinOverlappingRatio`].
    pub fn set_compaction_pri(&mut self, pri: CompactionPri) {
        self.inner.column_family.compaction_pri = match pri {
            CompactionPri::ByCompensatedSize => esker::CompactionPri::ByCompensatedSize,
            CompactionPri::OldestLargestSeqFirst => esker::CompactionPri::OldestLargestSeqFirst,
            CompactionPri::OldestSmallestSeqFirst => esker::CompactionPri::OldestSmallestSeqFirst,
            CompactionPri::MinOverlappingRatio => esker::CompactionPri::MinOverlappingRatio,
            CompactionPri::RoundRobin => esker::CompactionPri::RoundRobin,
        };
    }

    /// Sets the compaction style. Default: leveled.
    pub fn set_compaction_style(&mut self, style: DBCompactionStyle) {
        self.inner.column_family.compaction_style = match style {
            DBCompactionStyle::Level => esker::CompactionStyle::Level,
            DBCompactionStyle::Universal => esker::CompactionStyle::Universal,
            DBCompactionStyle::Fifo => esker::CompactionStyle::Fifo,
        };
    }

    /// Sets the options of universal compaction.
    pub fn set_universal_compaction_options(&mut self, options: &UniversalCompactOptions) {
        self.inner.column_family.compaction_options_universal = options.inner.clone();
    }

    /// Sets the options of FIFO compaction.
    pub fn set_fifo_compaction_options(&mut self, options: &FifoCompactOptions) {
        self.inner.column_family.compaction_options_fifo = options.inner.clone();
    }

    /// Sets the type of memtables. Types with hashes are stored without effect: memtables then have the
    /// default type, with the same results.
    pub fn set_memtable_factory(&mut self, factory: MemtableFactory) {
        let family = &mut self.inner.column_family;
        family.memtable_factory = match factory {
            MemtableFactory::Vector => esker::MemtableFactory::Vector { count: 0 },
            MemtableFactory::HashSkipList { .. } | MemtableFactory::HashLinkList { .. } => {
                esker::MemtableFactory::SkipList { lookahead: 0 }
            }
        };
    }

    /// Sets the options of block-based tables.
    pub fn set_block_based_table_factory(&mut self, factory: &BlockBasedOptions) {
        self.inner.column_family.table = factory.inner.clone();
    }

    /// Stored without effect: tables are block-based, which RocksDB reads without this option.
    pub fn set_cuckoo_table_factory(&mut self, _factory: &CuckooTableOptions) {
        self.keep("table_factory", "CuckooTable");
    }

    /// Stored without effect: tables are block-based, which RocksDB reads without this option.
    pub fn set_plain_table_factory(&mut self, _options: &PlainTableFactoryOptions) {
        self.keep("table_factory", "PlainTable");
    }

    /// Sets the treatment of damaged WAL records at recovery. Default: [`DBRecoveryMode::PointInTime`].
    pub fn set_wal_recovery_mode(&mut self, mode: DBRecoveryMode) {
        self.inner.wal_recovery_mode = match mode {
            DBRecoveryMode::TolerateCorruptedTailRecords => esker::RecoveryMode::TolerateCorruptedTailRecords,
            DBRecoveryMode::AbsoluteConsistency => esker::RecoveryMode::AbsoluteConsistency,
            DBRecoveryMode::PointInTime => esker::RecoveryMode::PointInTime,
            DBRecoveryMode::SkipAnyCorruptedRecord => esker::RecoveryMode::SkipAnyCorruptedRecords,
        };
    }

    /// Sets the cache of rows of tables that Gets have found. Default: none.
    pub fn set_row_cache(&mut self, cache: &Cache) {
        self.inner.row_cache = Some(cache.0.clone());
    }

    /// Sets the cache of values of blob files. Default: none.
    pub fn set_blob_cache(&mut self, cache: &Cache) {
        self.inner.column_family.blob_cache = Some(cache.0.clone());
    }

    /// Limits the writes of flushes and compactions in bytes per second.
    pub fn set_ratelimiter(&mut self, rate_bytes_per_sec: i64, refill_period_us: i64, fairness: i32) {
        self.limit_rate(rate_bytes_per_sec, refill_period_us, fairness, false);
    }

    /// Limits the writes of flushes and compactions with an automatic rate, between a twentieth of this rate
    /// and the whole rate.
    pub fn set_auto_tuned_ratelimiter(
        &mut self,
        rate_bytes_per_sec: i64,
        refill_period_us: i64,
        fairness: i32,
    ) {
        self.limit_rate(rate_bytes_per_sec, refill_period_us, fairness, true);
    }

    fn limit_rate(&mut self, rate: i64, refill_period_us: i64, fairness: i32, auto_tuned: bool) {
        let options = esker::RateLimiterOptions {
            rate_bytes_per_sec: narrow(rate),
            refill_period_us: narrow(refill_period_us),
            fairness: narrow(fairness),
            auto_tuned,
            ..esker::RateLimiterOptions::default()
        };
        match esker::RateLimiter::with_options(options, Arc::new(esker::SystemClock::new())) {
            Ok(limiter) => {
                self.inner.rate_limiter = Some(Arc::new(limiter));
                self.wrong.remove("rate_limiter");
            }
            Err(error) => {
                self.wrong.insert("rate_limiter", Error::from(error));
            }
        }
    }

    /// Marks tables for compaction that have dense deletions.
    pub fn add_compact_on_deletion_collector_factory(
        &mut self,
        window_size: usize,
        num_dels_trigger: usize,
        deletion_ratio: f64,
    ) {
        let factory = esker::CompactOnDeletionCollectorFactory {
            sliding_window_size: window_size,
            deletion_trigger: num_dels_trigger,
            deletion_ratio,
            min_file_size: 0,
        };
        let factories = &mut self.inner.column_family.table_properties_collector_factories;
        factories.push(Arc::new(factory));
    }

    /// Sets the manager that limits the memory of memtables of all its databases.
    pub fn set_write_buffer_manager(&mut self, write_buffer_manager: &WriteBufferManager) {
        self.inner.write_buffer_manager = Some(write_buffer_manager.engine());
    }
}

fn set_compression(
    options: &mut esker::CompressionOptions,
    window_bits: i32,
    level: i32,
    strategy: i32,
    max_dict_bytes: i32,
) {
    options.window_bits = window_bits;
    options.level = level;
    options.strategy = strategy;
    options.max_dict_bytes = narrow(max_dict_bytes);
}
