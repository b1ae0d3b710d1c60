//! Options of a database and of a column family in one type, as in the `rocksdb` crate.

use std::collections::BTreeMap;

use crate::Error;
use crate::option_types::narrow;

/// Options of a database, a column family, or both.
///
/// They begin with RocksDB's defaults, not Esker's, if the two differ in results or in the contents of files.
/// An option of RocksDB without effect in Esker is *kept*: it is remembered, and the info log names it. An
/// option that promises something about the data which Esker does not do fails the open with `Not
/// implemented` and its name.
#[derive(Clone)]
pub struct Options {
    pub(crate) inner: esker::Options,
    /// The options without effect, by RocksDB's names.
    pub(crate) kept: BTreeMap<&'static str, String>,
    /// The reasons to refuse an open, by the name of the option.
    pub(crate) wrong: BTreeMap<&'static str, Error>,
}

/// Options of RocksDB without effect, which may also be set by
/// [`get_options_from_string`](Options::get_options_from_string).
pub(crate) const KEPT: &[&str] = &[
    "allow_mmap_writes",
    "arena_block_size",
    "avoid_unnecessary_blocking_io",
    "bloom_locality",
    "delete_obsolete_files_period_micros",
    "dump_malloc_stats",
    "enable_pipelined_write",
    "enable_write_thread_adaptive_yield",
    "experimental_mempurge_threshold",
    "inplace_update_num_locks",
    "inplace_update_support",
    "is_fd_close_on_exec",
    "manifest_preallocation_size",
    "max_background_compactions",
    "max_background_flushes",
    "max_file_opening_threads",
    "max_successive_merges",
    "max_write_buffer_size_to_maintain",
    "memtable_huge_page_size",
    "paranoid_checks",
    "report_bg_io_stats",
    "skip_stats_update_on_db_open",
    "table_cache_numshardbits",
    "table_factory",
    "unordered_write",
    "use_adaptive_mutex",
    "use_fsync",
    "writable_file_max_buffer_size",
];

impl Default for Options {
    /// RocksDB's defaults, of release 11.8.
    fn default() -> Options {
        let mut inner = esker::Options::default();
        let family = &mut inner.column_family;
        family.compression = match esker::CompressionType::Snappy {
            built_in if built_in.is_supported() => built_in,
            _ => esker::CompressionType::None,
        };
        family.streams_bypass_level0 = false;
        family.copy_untouched_blocks = false;
        family.table = default_table_options();
        Options {
            inner,
            kept: BTreeMap::new(),
            wrong: BTreeMap::new(),
        }
    }
}

/// RocksDB's defaults for tables, of release 11.8.
pub(crate) fn default_table_options() -> esker::BlockBasedOptions {
    esker::BlockBasedOptions {
        format_version: 7,
        decouple_partitioned_filters: false,
        ..esker::BlockBasedOptions::default()
    }
}

impl Options {
    /// Keeps an option without effect.
    pub(crate) fn keep(&mut self, name: &'static str, value: impl ToString) {
        self.kept.insert(name, value.to_string());
    }

    /// The kept value of a boolean option.
    fn kept_flag(&self, name: &str, default: bool) -> bool {
        self.kept.get(name).map_or(default, |value| value == "true")
    }

    /// The first reason why a database cannot be opened with these options.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.wrong.values().next().cloned().map_or(Ok(()), Err)
    }

    /// The kept value of `use_fsync`. Esker syncs files by fdatasync, which makes the same bytes durable.
    pub fn get_use_fsync(&self) -> bool {
        self.kept_flag("use_fsync", false)
    }

    /// The option `track_and_verify_wals_in_manifest`.
    pub fn get_track_and_verify_wals_in_manifest(&self) -> bool {
        self.inner.track_and_verify_wals_in_manifest
    }

    /// The option `write_dbid_to_manifest`.
    pub fn get_write_dbid_to_manifest(&self) -> bool {
        self.inner.write_dbid_to_manifest
    }

    /// These options with the changes of `text`, in the form `name=value;name=value`. Options of tables may
    /// be in `block_based_table_factory={...}`.
    ///
    /// # Errors
    /// `Invalid argument` for a name that RocksDB does not have, or a value of another type.
    pub fn get_options_from_string<S: AsRef<str>>(&mut self, text: S) -> Result<Options, Error> {
        let text = text.as_ref();
        if text.contains('\0') {
            return Err(Error::invalid_argument("options must not contain NUL"));
        }
        let mut options = self.clone();
        for entry in entries(text) {
            let (name, value) = pair(entry)?;
            options.set_by_name(name, value)?;
        }
        Ok(options)
    }

    fn set_by_name(&mut self, name: &str, value: &str) -> Result<(), Error> {
        use esker::option_table::OptionTable;
        if name == "block_based_table_factory" {
            let value = value
                .strip_prefix('{')
                .and_then(|value| value.strip_suffix('}'))
                .unwrap_or(value);
            return entries(value).try_for_each(|entry| {
                let (name, value) = pair(entry)?;
                Ok(self.inner.column_family.table.set(name, value)?)
            });
        }
        if let Some(kept) = KEPT.iter().find(|kept| **kept == name) {
            self.keep(kept, value);
            return Ok(());
        }
        if esker::Options::row(name).is_some() {
            return Ok(self.inner.set(name, value)?);
        }
        Ok(self.inner.column_family.set(name, value)?)
    }
}

/// The entries of an option string; text inside of braces stays together.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let outside = move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ';' && depth == 0
    };
    text.split(outside)
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

fn pair(entry: &str) -> Result<(&str, &str), Error> {
    let (name, value) = entry.split_once('=').ok_or_else(|| {
        Error::invalid_argument(format!("Mismatched key value pair, '=' expected: {entry}"))
    })?;
    Ok((name.trim(), value.trim()))
}

/// Setters of options that the engine has under the same name, or a similar one.
macro_rules! setters {
    ($( $(#[doc = $doc:literal])+ $name:ident($type:ty) => $($field:ident).+; )+) => {
        impl Options { $(
            $(#[doc = $doc])+
            pub fn $name(&mut self, value: $type) {
                self.inner.$($field).+ = value;
            }
        )+ }
    };
}

/// Setters of numbers that have another type in the engine.
macro_rules! number_setters {
    ($( $(#[doc = $doc:literal])+ $name:ident($type:ty) => $($field:ident).+; )+) => {
        impl Options { $(
            $(#[doc = $doc])+
            pub fn $name(&mut self, value: $type) {
                self.inner.$($field).+ = narrow(value);
            }
        )+ }
    };
}

/// Setters of options that are kept.
macro_rules! kept_setters {
    ($( $(#[doc = $doc:literal])* $name:ident($type:ty) => $option:literal; )+) => {
        impl Options { $(
            #[doc = concat!("Kept: Esker has nothing behind `", $option, "`.")]
            $(#[doc = $doc])*
            pub fn $name(&mut self, value: $type) {
                self.keep($option, value);
            }
        )+ }
    };
}

setters! {
    /// Creates the database if it does not exist. Default: false.
    create_if_missing(bool) => create_if_missing;
    /// Records the id of the database in the MANIFEST, so that copies keep it. Default: true.
    set_write_dbid_to_manifest(bool) => write_dbid_to_manifest;
    /// Records closed and synced WALs in the MANIFEST, and verifies at open that they exist with their size.
    /// Default: false.
    set_track_and_verify_wals_in_manifest(bool) => track_and_verify_wals_in_manifest;
    /// Creates the named column families that do not exist. Default: false.
    create_missing_column_families(bool) => create_missing_column_families;
    /// Fails if the database exists. Default: false.
    set_error_if_exists(bool) => error_if_exists;
    /// The number of tables kept open; -1: all. Default: -1.
    set_max_open_files(i32) => max_open_files;
    /// Asks the kernel to write tables out each time so many bytes were appended; 0: never. Default: 0.
    set_bytes_per_sync(u64) => bytes_per_sync;
    /// Asks the kernel to write WALs out each time so many bytes were appended; 0: never. Default: 0.
    set_wal_bytes_per_sync(u64) => wal_bytes_per_sync;
    /// Several threads may insert into a memtable at the same time. Default: true.
    set_allow_concurrent_memtable_write(bool) => allow_concurrent_memtable_write;
    /// Reads bypass the page cache. Default: false.
    set_use_direct_reads(bool) => use_direct_reads;
    /// Flushes and compactions bypass the page cache when they write. Default: false.
    set_use_direct_io_for_flush_and_compaction(bool) => use_direct_io_for_flush_and_compaction;
    /// Reads tables through a memory map. Default: false.
    set_allow_mmap_reads(bool) => allow_mmap_reads;
    /// WAL records stay in memory until they are flushed. Default: false.
    set_manual_wal_flush(bool) => manual_wal_flush;
    /// Reserves the last level of families with universal compaction for files that are ingested behind.
    /// Default: false.
    set_allow_ingest_behind(bool) => allow_ingest_behind;
    /// Tells the kernel that tables are read at random. Default: true.
    set_advise_random_on_open(bool) => advise_random_on_open;
    /// The bytes of WAL beyond which memtables are flushed; 0: four times all memtables. Default: 0.
    set_max_total_wal_size(u64) => max_total_wal_size;
    /// The number of WALs kept for reuse. Default: 0.
    set_recycle_log_file_num(usize) => recycle_log_file_num;
    /// The seconds for which WALs that no recovery needs are kept in `archive`. Default: 0.
    set_wal_ttl_seconds(u64) => wal_ttl_seconds;
    /// The maximum size in MiB of the WALs that are kept in `archive`. Default: 0.
    set_wal_size_limit_mb(u64) => wal_size_limit_mb;
    /// The bytes of a read of a compaction. Default: 2 MiB.
    set_compaction_readahead_size(usize) => compaction_readahead_size;
    /// Levels are sized from the last one up. Default: true.
    set_level_compaction_dynamic_level_bytes(bool) => column_family.level_compaction_dynamic_level_bytes;
    /// The age in seconds at which a table is compacted again. Default: that of the style.
    set_periodic_compaction_seconds(u64) => column_family.periodic_compaction_seconds;
    /// The age in seconds at which a table is compacted, or dropped by FIFO compaction. Default: that of the
    /// style.
    set_ttl(u64) => column_family.ttl;
    /// Tables of the last level have no filters. Default: false.
    set_optimize_filters_for_hits(bool) => column_family.optimize_filters_for_hits;
    /// The number of versions that an iterator passes over before it seeks. Default: 8.
    set_max_sequential_skip_in_iterations(u64) => column_family.max_sequential_skip_in_iterations;
    /// Disables automatic compactions. Default: false.
    set_disable_auto_compactions(bool) => column_family.disable_auto_compactions;
    /// The target size of L1 in bytes. Default: 256 MiB.
    set_max_bytes_for_level_base(u64) => column_family.max_bytes_for_level_base;
    /// The factor between the sizes of two levels. Default: 10.
    set_max_bytes_for_level_multiplier(f64) => column_family.max_bytes_for_level_multiplier;
    /// The target size of a table of L1 in bytes. Default: 64 MiB.
    set_target_file_size_base(u64) => column_family.target_file_size_base;
    /// The factor between the table sizes of two levels. Default: 1.
    set_target_file_size_multiplier(i32) => column_family.target_file_size_multiplier;
    /// The number of L0 files that starts a compaction. Default: 4.
    set_level_zero_file_num_compaction_trigger(i32) => column_family.level0_file_num_compaction_trigger;
    /// The number of L0 files that delays writes. Default: 20.
    set_level_zero_slowdown_writes_trigger(i32) => column_family.level0_slowdown_writes_trigger;
    /// The number of L0 files that stops writes. Default: 36.
    set_level_zero_stop_writes_trigger(i32) => column_family.level0_stop_writes_trigger;
    /// The maximum bytes of one compaction; 0: 25 tables. Default: 0.
    set_max_compaction_bytes(u64) => column_family.max_compaction_bytes;
    /// The memtable's filter has whole keys. Default: false.
    set_memtable_whole_key_filtering(bool) => column_family.memtable_whole_key_filtering;
    /// Large values go into blob files. Default: false.
    set_enable_blob_files(bool) => column_family.enable_blob_files;
    /// The minimum size in bytes of a value in blob files. Default: 0.
    set_min_blob_size(u64) => column_family.min_blob_size;
    /// The size of a blob file in bytes. Default: 256 MiB.
    set_blob_file_size(u64) => column_family.blob_file_size;
    /// Compactions collect garbage of blob files. Default: false.
    set_enable_blob_gc(bool) => column_family.enable_blob_garbage_collection;
    /// The oldest part of blob files that is collected. Default: 0.25.
    set_blob_gc_age_cutoff(f64) => column_family.blob_garbage_collection_age_cutoff;
    /// The part of garbage at which old blob files are collected. Default: 1.
    set_blob_gc_force_threshold(f64) => column_family.blob_garbage_collection_force_threshold;
}

number_setters! {
    /// The memory limit of all memtables in bytes; 0: no limit. Default: 0.
    set_db_write_buffer_size(usize) => db_write_buffer_size;
    /// The size of the MANIFEST in bytes at which a new one is begun. Default: 1 GiB.
    set_max_manifest_file_size(usize) => max_manifest_file_size;
    /// The size of the info log in bytes at which a new one is begun; 0: no limit. Default: 0.
    set_max_log_file_size(usize) => max_log_file_size;
    /// The age in seconds at which a new info log is begun; 0: none. Default: 0.
    set_log_file_time_to_roll(usize) => log_file_time_to_roll;
    /// The number of info logs kept. Default: 1000.
    set_keep_log_file_num(usize) => keep_log_file_num;
    /// The period in seconds of statistics in the info log; 0: never. Default: 600.
    set_stats_dump_period_sec(u32) => stats_dump_period_sec;
    /// The period in seconds of the history of statistics; 0: none. Default: 600.
    set_stats_persist_period_sec(u32) => stats_persist_period_sec;
    /// The bytes due for compaction that delay writes. Default: 64 GiB.
    set_soft_pending_compaction_bytes_limit(usize) => column_family.soft_pending_compaction_bytes_limit;
    /// The bytes due for compaction that stop writes. Default: 256 GiB.
    set_hard_pending_compaction_bytes_limit(usize) => column_family.hard_pending_compaction_bytes_limit;
    /// The bytes that compactions read ahead from blob files. Default: 0.
    set_blob_compaction_readahead_size(u64) => column_family.blob_compaction_readahead_size;
}

kept_setters! {
    set_paranoid_checks(bool) => "paranoid_checks";
    set_delete_obsolete_files_period_micros(u64) => "delete_obsolete_files_period_micros";
    set_max_file_opening_threads(i32) => "max_file_opening_threads";
    /// Files are synced by fdatasync.
    set_use_fsync(bool) => "use_fsync";
    set_writable_file_max_buffer_size(u64) => "writable_file_max_buffer_size";
    set_enable_write_thread_adaptive_yield(bool) => "enable_write_thread_adaptive_yield";
    /// Descriptors are closed on exec.
    set_is_fd_close_on_exec(bool) => "is_fd_close_on_exec";
    set_table_cache_num_shard_bits(i32) => "table_cache_numshardbits";
    set_unordered_write(bool) => "unordered_write";
    /// [`set_max_background_jobs`](Self::set_max_background_jobs) sets the number of threads.
    set_max_background_compactions(i32) => "max_background_compactions";
    /// [`set_max_background_jobs`](Self::set_max_background_jobs) sets the number of threads.
    set_max_background_flushes(i32) => "max_background_flushes";
    set_memtable_huge_page_size(usize) => "memtable_huge_page_size";
    set_max_successive_merges(usize) => "max_successive_merges";
    set_bloom_locality(u32) => "bloom_locality";
    /// Rows are never changed in place: snapshots read their state.
    set_inplace_update_support(bool) => "inplace_update_support";
    set_inplace_update_locks(usize) => "inplace_update_num_locks";
    set_max_write_buffer_size_to_maintain(i64) => "max_write_buffer_size_to_maintain";
    set_enable_pipelined_write(bool) => "enable_pipelined_write";
    set_report_bg_io_stats(bool) => "report_bg_io_stats";
    set_use_adaptive_mutex(bool) => "use_adaptive_mutex";
    set_manifest_preallocation_size(usize) => "manifest_preallocation_size";
    set_skip_stats_update_on_db_open(bool) => "skip_stats_update_on_db_open";
    set_allow_mmap_writes(bool) => "allow_mmap_writes";
    set_arena_block_size(usize) => "arena_block_size";
    set_dump_malloc_stats(bool) => "dump_malloc_stats";
    /// Files are closed and deleted in the background.
    set_avoid_unnecessary_blocking_io(bool) => "avoid_unnecessary_blocking_io";
}

impl Options {
    /// Stored without effect: memtables are never purged instead of a flush.
    pub fn set_experimental_mempurge_threshold(&mut self, threshold: f64) {
        self.keep("experimental_mempurge_threshold", format_args!("{threshold:.6}"));
    }

    /// Sets the number of background threads; as in RocksDB, at least one flushes and one compacts. Default:
    /// 2.
    pub fn set_max_background_jobs(&mut self, jobs: i32) {
        self.inner.max_background_jobs = jobs.clamp(1, 256);
    }

    /// Sets the maximum number of threads of one compaction. Default: 1.
    pub fn set_max_subcompactions(&mut self, number: u32) {
        self.inner.max_subcompactions = number.clamp(1, 256);
    }

    /// Sets the size of a memtable in bytes; smaller values than RocksDB's minimum of 64 KiB become that.
    /// Default: 64 MiB.
    pub fn set_write_buffer_size(&mut self, size: usize) {
        self.inner.column_family.write_buffer_size = narrow::<usize, u64>(size).max(64 << 10);
    }

    /// Sets the maximum number of memtables in memory; at least 2. Default: 2.
    pub fn set_max_write_buffer_number(&mut self, number: i32) {
        self.inner.column_family.max_write_buffer_number = number.max(2);
    }

    /// Sets the minimum number of memtables that are flushed together; at least 1. Default: 1.
    pub fn set_min_write_buffer_number_to_merge(&mut self, number: i32) {
        self.inner.column_family.min_write_buffer_number_to_merge = number.max(1);
    }

    /// The older name of
    /// [`set_min_write_buffer_number_to_merge`](Self::set_min_write_buffer_number_to_merge).
    pub fn set_min_write_buffer_number(&mut self, number: i32) {
        self.set_min_write_buffer_number_to_merge(number);
    }

    /// Sets the number of levels; at least 1. Default: 7.
    pub fn set_num_levels(&mut self, number: i32) {
        self.inner.column_family.num_levels = number.max(1);
    }

    /// Sets the part of a memtable that its filter takes, up to 0.25; 0: none. Default: 0.
    pub fn set_memtable_prefix_bloom_ratio(&mut self, ratio: f64) {
        self.inner.column_family.memtable_prefix_bloom_size_ratio = ratio.clamp(0.0, 0.25);
    }

    /// Sets a factor for each level in addition to the multiplier. Default: 1 for each.
    pub fn set_max_bytes_for_level_multiplier_additional(&mut self, values: &[i32]) {
        let values = values.iter().copied().map(narrow);
        self.inner.column_family.max_bytes_for_level_multiplier_additional = values.collect();
    }

    /// Makes reads and writes bypass the page cache if false. Default: true.
    pub fn set_allow_os_buffer(&mut self, is_allow: bool) {
        self.inner.use_direct_reads = !is_allow;
        self.inner.use_direct_io_for_flush_and_compaction = !is_allow;
    }

    /// Flushes all families together, and installs the tables in one step.
    pub fn set_atomic_flush(&mut self, atomic_flush: bool) {
        self.inner.atomic_flush = atomic_flush;
    }
}
