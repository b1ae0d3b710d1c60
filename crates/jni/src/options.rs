//! The engine's options of a database, a family, a read or a write, built from the settings of Java.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use esker::{
    BlockBasedOptions, BottommostLevelCompaction, ColumnFamilyOptions, CompactFilesOptions,
    CompactRangeOptions, CompactionPri, CompactionStyle, CompressionOptions, CompressionType, DbPath, Error,
    FlushOptions, InfoLogLevel, Options, PrepopulateBlobCache, ReadOptions, ReadTier, RecoveryMode, Result,
    UserComparator, WriteOptions,
};
use jni_sys::jlong;

use crate::generated::options::{CF, DB};
use crate::settings::{Inner, Memtable, Settings, Table};

impl Settings {
    /// Returns the engine's options of a read.
    #[inline]
    pub fn read_options(&self) -> crate::fail::Result<Arc<ReadOptions>> {
        if let Some(options) = &*self.read.load() {
            return Ok(Arc::clone(options));
        }
        let options = Arc::new(self.look(Inner::read_options)?);
        self.read.store(Some(Arc::clone(&options)));
        Ok(options)
    }

    /// Returns the engine's options of a write.
    #[inline]
    pub fn write_options(&self) -> Arc<WriteOptions> {
        if let Some(options) = &*self.write.load() {
            return Arc::clone(options);
        }
        let options = Arc::new(self.look(Inner::write_options));
        self.write.store(Some(Arc::clone(&options)));
        options
    }
}

impl Inner {
    /// Returns the engine's options for opening a database. The options of families that are not named are in
    /// its `column_family`.
    pub fn database(&self) -> Result<Options> {
        let mut options = Options::default();
        let mut kept = BTreeMap::new();
        self.apply(&DB, &mut options, &mut kept)?;
        let parts = &self.parts;
        let rate = self.int("delayed_write_rate", 0);
        if rate > 0 {
            options.delayed_write_rate = rate as u64;
        }
        options.wal_recovery_mode = match self.int("wal_recovery_mode", 2) {
            0 => RecoveryMode::TolerateCorruptedTailRecords,
            1 => RecoveryMode::AbsoluteConsistency,
            3 => RecoveryMode::SkipAnyCorruptedRecords,
            _ => RecoveryMode::PointInTime,
        };
        options.info_log_level = info_log_level(self.int("info_log_level", 1) as i8);
        options.statistics = parts
            .statistics
            .as_ref()
            .map(|(statistics, _)| Arc::clone(statistics));
        options.rate_limiter = parts.rate_limiter.clone();
        options.write_buffer_manager = parts.write_buffer_manager.clone();
        options.sst_file_manager = parts.sst_file_manager.clone();
        options.row_cache = parts.row_cache.clone();
        options.info_log = parts.info_log.clone();
        if options.info_log.is_some() {
            // A logger has its own level, which may change while the database is open.
            options.info_log_level = InfoLogLevel::Debug;
        }
        options.wal_filter = parts.wal_filter.clone();
        if let Some(factory) = parts.file_checksum {
            options.file_checksum_gen_factory = factory;
        }
        if let Some(env) = &parts.env {
            env.apply(&mut options);
        }
        options.db_paths = directories(&parts.db_paths);
        options.column_family = self.family_with(&mut kept)?;
        // If one of RocksDB's older options `max_background_compactions` and `max_background_flushes` is set,
        // they determine the number of jobs.
        let (compactions, flushes) = (
            self.int("max_background_compactions", -1),
            self.int("max_background_flushes", -1),
        );
        if compactions > 0 || flushes > 0 {
            options.max_background_jobs = (compactions.max(1) + flushes.max(1)).clamp(1, 256) as i32;
        }
        kept.extend(
            parts
                .kept
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        options.kept_options = kept;
        Ok(options)
    }

    /// Returns the engine's options for opening a column family.
    pub fn family(&self) -> Result<ColumnFamilyOptions> {
        self.family_with(&mut BTreeMap::new())
    }

    fn family_with(&self, kept: &mut BTreeMap<String, String>) -> Result<ColumnFamilyOptions> {
        let mut options = ColumnFamilyOptions {
            // A flush writes one file in level 0, as programs written for RocksDB expect.
            streams_bypass_level0: false,
            ..ColumnFamilyOptions::default()
        };
        self.apply(&CF, &mut options, kept)?;
        let parts = &self.parts;
        options.comparator = parts.comparator.clone().unwrap_or(UserComparator::Bytewise);
        options.merge_operator = parts.merge_operator.clone();
        options.compaction_filter_factory = parts
            .compaction_filter
            .clone()
            .or_else(|| parts.compaction_filter_factory.clone());
        options.prefix_extractor = parts.prefix_extractor.clone();
        options.sst_partitioner_factory = parts.partitioner.clone();
        options.table_properties_collector_factories = parts.collectors.clone();
        options.cf_paths = directories(&parts.cf_paths);
        self.compressions(&mut options)?;
        options.prepopulate_blob_cache = match self.int("prepopulate_blob_cache", 0) {
            1 => PrepopulateBlobCache::FlushOnly,
            _ => PrepopulateBlobCache::Disable,
        };
        options.compaction_style = match self.int("compaction_style", 0) {
            1 => CompactionStyle::Universal,
            2 => CompactionStyle::Fifo,
            3 => CompactionStyle::None,
            _ => CompactionStyle::Level,
        };
        options.compaction_pri = usize::try_from(self.int("compaction_pri", 3))
            .ok()
            .and_then(|number| CompactionPri::ALL.get(number).copied())
            .unwrap_or(CompactionPri::MinOverlappingRatio);
        self.universal_and_fifo(&mut options);
        if !parts.level_multipliers.is_empty() {
            options.max_bytes_for_level_multiplier_additional = parts
                .level_multipliers
                .iter()
                .map(|factor| (*factor).max(0) as u32)
                .collect();
        }
        if let Some(Memtable {
            factory: Some(factory),
            ..
        }) = parts.memtable
        {
            options.memtable_factory = factory;
        }
        options.table = match &parts.table {
            Some(Table {
                options: Some(table), ..
            }) => table.clone(),
            Some(Table {
                name, options: None, ..
            }) => {
                return Err(Error::not_supported(format!("table format {name}")));
            }
            None => BlockBasedOptions {
                format_version: crate::release::format_version(),
                ..BlockBasedOptions::default()
            },
        };
        check_format_version(&options.table)?;
        Ok(options)
    }

    fn compressions(&self, options: &mut ColumnFamilyOptions) -> Result<()> {
        let parts = &self.parts;
        options.compression = compression_type(self.int("compression", 1))?;
        options.bottommost_compression = match self.int("bottommost_compression", NO_COMPRESSION_OPTION) {
            NO_COMPRESSION_OPTION => None,
            number => Some(compression_type(number)?),
        };
        options.blob_compression_type = compression_type(self.int("blob_compression_type", 0))?;
        options.compression_per_level = parts
            .compression_per_level
            .iter()
            .map(|number| compression_type(i64::from(*number)))
            .collect::<Result<_>>()?;
        if let Some(given) = &parts.compression {
            options.compression_opts = given.compression_options();
        }
        if let Some(given) = &parts.bottommost_compression {
            options.bottommost_compression_opts = given.compression_options();
        }
        Ok(())
    }

    fn compression_options(&self) -> CompressionOptions {
        CompressionOptions {
            level: self.int("level", i64::from(CompressionOptions::DEFAULT_LEVEL)) as i32,
            window_bits: self.int("window_bits", -14) as i32,
            strategy: self.int("strategy", 0) as i32,
            max_dict_bytes: self.int("max_dict_bytes", 0).max(0) as u32,
            zstd_max_train_bytes: self.int("zstd_max_train_bytes", 0).max(0) as u32,
            enabled: self.flag("enabled", false),
            ..CompressionOptions::default()
        }
    }

    fn universal_and_fifo(&self, options: &mut ColumnFamilyOptions) {
        if let Some(from) = &self.parts.universal {
            let to = &mut options.compaction_options_universal;
            to.size_ratio = from.int("size_ratio", 1).max(0) as u32;
            to.min_merge_width = from.int("min_merge_width", 2).max(2) as u32;
            to.max_merge_width = from.int("max_merge_width", i64::from(i32::MAX)).max(2) as u32;
            to.max_size_amplification_percent = from.int("max_size_amplification_percent", 200).max(0) as u32;
            to.compression_size_percent = from.int("compression_size_percent", -1) as i32;
            to.allow_trivial_move = from.flag("allow_trivial_move", false);
            to.stop_style = match from.int("stop_style", 1) {
                0 => esker::CompactionStopStyle::SimilarSize,
                _ => esker::CompactionStopStyle::TotalSize,
            };
        }
        if let Some(from) = &self.parts.fifo {
            let to = &mut options.compaction_options_fifo;
            to.max_table_files_size = from.int("max_table_files_size", 1 << 30) as u64;
            to.max_data_files_size = from.int("max_data_files_size", 0) as u64;
            to.allow_compaction = from.flag("allow_compaction", false);
        }
    }

    /// Returns the engine's options of a read.
    pub fn read_options(&self) -> Result<ReadOptions> {
        if self.parts.iter_start_ts.is_some() {
            return Err(Error::not_supported("ReadOptions::iter_start_ts"));
        }
        let total_order = self.flag("total_order_seek", false);
        let parts = &self.parts;
        let bytes = |part: &Option<(Vec<u8>, jlong)>| part.as_ref().map(|(bytes, _)| bytes.clone());
        Ok(ReadOptions {
            snapshot: parts.snapshot.as_ref().map(|(snapshot, _)| snapshot.clone()),
            iterate_lower_bound: bytes(&parts.lower_bound),
            iterate_upper_bound: bytes(&parts.upper_bound),
            timestamp: bytes(&parts.timestamp),
            verify_checksums: self.flag("verify_checksums", true),
            fill_cache: self.flag("fill_cache", true),
            prefix_same_as_start: self.flag("prefix_same_as_start", false) && !total_order,
            auto_prefix_mode: self.flag("auto_prefix_mode", false) && !total_order,
            read_tier: match self.int("read_tier", 0) {
                1 => ReadTier::BlockCache,
                3 => ReadTier::Memtable,
                _ => ReadTier::All,
            },
            tailing: self.flag("tailing", false),
            max_skippable_internal_keys: self.int("max_skippable_internal_keys", 0).max(0) as u64,
            readahead_size: self.int("readahead_size", 0).max(0) as usize,
            async_io: self.flag("async_io", false),
            table_filter: parts.table_filter.clone(),
            ignore_range_deletions: self.flag("ignore_range_deletions", false),
            deadline: self.microseconds("deadline"),
            io_timeout: self.microseconds("io_timeout"),
            pin_data: self.flag("pin_data", false),
            value_size_soft_limit: self.int("value_size_soft_limit", -1) as u64,
            ..read_defaults()
        })
    }

    /// Returns the time of a setting in microseconds; `None` unless above 0.
    fn microseconds(&self, name: &str) -> Option<Duration> {
        let given = u64::try_from(self.int(name, 0)).ok();
        given.filter(|&given| given > 0).map(Duration::from_micros)
    }

    /// Returns the engine's options of a write.
    pub fn write_options(&self) -> WriteOptions {
        WriteOptions {
            sync: self.flag("sync", false),
            disable_wal: self.flag("disable_wal", false),
            no_slowdown: self.flag("no_slowdown", false),
            low_pri: self.flag("low_pri", false),
            ignore_missing_column_families: self.flag("ignore_missing_column_families", false),
            ..WriteOptions::default()
        }
    }

    /// Returns the engine's options of a flush.
    pub fn flush_options(&self) -> FlushOptions {
        FlushOptions {
            wait: self.flag("wait_for_flush", true),
            allow_write_stall: self.flag("allow_write_stall", false),
            listener_wait: self.flag("listener_wait", false),
            ..FlushOptions::default()
        }
    }

    /// Returns the engine's options of a manual compaction.
    pub fn compact_range_options(&self) -> CompactRangeOptions {
        CompactRangeOptions {
            exclusive_manual_compaction: self.flag("exclusive_manual_compaction", false),
            change_level: self.flag("change_level", false),
            allow_write_stall: self.flag("allow_write_stall", false),
            canceled: Some(Arc::clone(&self.parts.canceled)),
            target_level: usize::try_from(self.int("target_level", -1)).ok(),
            bottommost_level_compaction: match self.int("bottommost_level_compaction", 1) {
                0 => BottommostLevelCompaction::Skip,
                2 => BottommostLevelCompaction::Force,
                3 => BottommostLevelCompaction::ForceOptimized,
                _ => BottommostLevelCompaction::IfHaveCompactionFilter,
            },
            max_subcompactions: self.int("max_subcompactions", 0).max(0) as u32,
            full_history_ts_low: self
                .parts
                .full_history_ts_low
                .map(|(start, range)| [start.to_le_bytes(), range.to_le_bytes()].concat()),
            ..CompactRangeOptions::default()
        }
    }

    /// Returns the engine's options of a compaction of named files.
    pub fn compact_files_options(&self) -> Result<CompactFilesOptions> {
        let compression = match self.int("compression", NO_COMPRESSION_OPTION) {
            NO_COMPRESSION_OPTION => None,
            number => Some(compression_type(number)?),
        };
        Ok(CompactFilesOptions {
            compression,
            output_file_size_limit: u64::try_from(self.int("output_file_size_limit", -1)).ok(),
            max_subcompactions: self.int("max_subcompactions", 0).max(0) as u32,
            ..CompactFilesOptions::default()
        })
    }
}

/// RocksJava's number of `DISABLE_COMPRESSION_OPTION`: the option is not set.
const NO_COMPRESSION_OPTION: i64 = 0x7F;

/// Returns the compression type of RocksDB's number. `InvalidArgument` if the number has none.
pub fn compression_type(number: i64) -> Result<CompressionType> {
    u8::try_from(number)
        .ok()
        .and_then(CompressionType::from_byte)
        .ok_or_else(|| Error::invalid_argument(format!("compression type {number}")))
}

/// Returns the level of the info log of RocksDB's number.
pub fn info_log_level(number: i8) -> InfoLogLevel {
    match number {
        ..=0 => InfoLogLevel::Debug,
        1 => InfoLogLevel::Info,
        2 => InfoLogLevel::Warn,
        3 => InfoLogLevel::Error,
        4 => InfoLogLevel::Fatal,
        _ => InfoLogLevel::Header,
    }
}

/// Returns the directories of tables. A negative size counts as 0.
fn directories(paths: &[(String, jlong)]) -> Vec<DbPath> {
    let directory = |(path, size): &(String, jlong)| DbPath::new(path, u64::try_from(*size).unwrap_or(0));
    paths.iter().map(directory).collect()
}

/// Refuses a format version of tables that does not exist, with RocksDB's error text, which programs parse.
fn check_format_version(table: &BlockBasedOptions) -> Result<()> {
    const VERSIONS: std::ops::RangeInclusive<u32> = 2..=7;
    match VERSIONS.contains(&table.format_version) {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "Unsupported BlockBasedTable format_version: {} is outside {VERSIONS:?}",
            table.format_version
        ))),
    }
}

/// Returns the read options of a Java program that sets none: RocksDB's defaults.
pub fn read_defaults() -> ReadOptions {
    ReadOptions {
        auto_refresh_iterator_with_snapshot: false,
        ..ReadOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use esker::option_table::OptionTable;

    use super::*;
    use crate::settings::{Field, Use, Value};

    #[test]
    fn every_row_is_the_engines() {
        let missing = |fields: &[Field], has: fn(&str) -> bool| -> Vec<&str> {
            let rows = fields.iter().filter(|field| field.used == Use::Row);
            rows.map(|field| field.name).filter(|name| !has(name)).collect()
        };
        let none: [&str; 0] = [];
        assert_eq!(missing(&DB, |name| Options::row(name).is_some()), none);
        assert_eq!(
            missing(&CF, |name| ColumnFamilyOptions::row(name).is_some()),
            none
        );
    }

    #[test]
    fn defaults_reach_the_engine_and_what_is_kept_is_named() {
        let mut inner = Inner::default();
        let options = inner.database().unwrap();
        assert_eq!(options.max_open_files, -1);
        assert_eq!(options.column_family.ttl, u64::MAX - 1);
        assert_eq!(options.kept_options, BTreeMap::new());
        inner.set("max_background_jobs", Value::Int(-5));
        inner.set("ttl", Value::Int(7));
        inner.set("arena_block_size", Value::Int(4096));
        let options = inner.database().unwrap();
        assert_eq!(options.max_background_jobs, 1, "brought into its range");
        assert_eq!(options.column_family.ttl, 7);
        assert_eq!(options.kept_options["arena_block_size"], "4096");
    }

    #[test]
    fn objects_and_limits_of_reads_reach_the_engine() {
        let cache = esker::Cache::new(Default::default());
        let (mut given, mut inner) = (Inner::default(), Inner::default());
        given.parts.row_cache = Some(cache.clone());
        given.parts.sst_file_manager = esker::SstFileManager::new(Default::default()).ok();
        inner.join(given);
        let options = inner.database().unwrap();
        assert!(options.row_cache.is_some_and(|given| Arc::ptr_eq(&given, &cache)));
        assert!(options.sst_file_manager.is_some() && options.kept_options.is_empty());
        for (set, wanted) in [(0, None), (-1, None), (7, Some(Duration::from_micros(7)))] {
            inner.set("io_timeout", Value::Int(set));
            assert_eq!(inner.read_options().unwrap().io_timeout, wanted);
        }
        assert!(!inner.read_options().unwrap().pin_data);
        inner.set("pin_data", Value::Int(1));
        assert!(inner.read_options().unwrap().pin_data);
    }

    #[test]
    fn iterators_with_snapshots_hold_what_they_read_by_default() {
        let of_an_object = Inner::default().read_options().unwrap();
        let without_one = crate::objects::read_options(0).ok().unwrap();
        for options in [&of_an_object, &*without_one] {
            assert!(!options.auto_refresh_iterator_with_snapshot);
        }
    }

    #[test]
    fn options_the_engine_is_to_get_are_refused_until_it_has_them() {
        for field in DB.iter().chain(&CF).filter(|field| field.used == Use::Later) {
            let mut inner = Inner::default();
            inner.set(field.name, Value::Int(1));
            let has = Options::row(field.name).is_some() || ColumnFamilyOptions::row(field.name).is_some();
            match inner.database() {
                Ok(_) => assert!(has, "{}", field.name),
                Err(error) => assert!(!has && error.message().contains(field.name), "{error}"),
            }
        }
    }
}
