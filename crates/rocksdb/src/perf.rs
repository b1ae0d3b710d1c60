//! Counters of a thread, and the memory of databases.

use std::marker::PhantomData;

use crate::db::{DBInner, ThreadMode};
use crate::{Cache, DB, DBCommon, Error, TransactionDB};

/// The levels of detail at which a thread counts and measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum PerfStatsLevel {
    /// A placeholder of RocksDB's enumeration, without effect.
    Uninitialized = 0,
    /// Nothing is measured.
    Disable,
    /// Only events are counted; no time is measured.
    EnableCount,
    /// Events are counted, and times are measured except those of waits for mutexes.
    EnableTimeExceptForMutex,
    /// CPU times are measured, too.
    EnableTimeAndCPUTimeExceptForMutex,
    /// The times of waits for mutexes are measured, too.
    EnableTime,
    /// A placeholder of RocksDB's enumeration, without effect.
    OutOfBound,
}

macro_rules! metrics {
    ($( $variant:ident = $number:literal => $name:literal, )+) => {
        /// The counters of a thread. Times are in nanoseconds. A counter that Esker does not have stays 0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum PerfMetric {
            $( #[doc = concat!("`", $name, "`.")] $variant = $number, )+
            /// The number of counters; not a counter itself.
            TotalMetricCount = 68,
        }

        impl PerfMetric {
            fn name(self) -> &'static str {
                match self {
                    $( PerfMetric::$variant => $name, )+
                    PerfMetric::TotalMetricCount => "",
                }
            }
        }
    };
}

metrics! {
    UserKeyComparisonCount = 0 => "user_key_comparison_count",
    BlockCacheHitCount = 1 => "block_cache_hit_count",
    BlockReadCount = 2 => "block_read_count",
    BlockReadByte = 3 => "block_read_byte",
    BlockReadTime = 4 => "block_read_time",
    BlockChecksumTime = 5 => "block_checksum_time",
    BlockDecompressTime = 6 => "block_decompress_time",
    GetReadBytes = 7 => "get_read_bytes",
    MultigetReadBytes = 8 => "multiget_read_bytes",
    IterReadBytes = 9 => "iter_read_bytes",
    InternalKeySkippedCount = 10 => "internal_key_skipped_count",
    InternalDeleteSkippedCount = 11 => "internal_delete_skipped_count",
    InternalRecentSkippedCount = 12 => "internal_recent_skipped_count",
    InternalMergeCount = 13 => "internal_merge_count",
    GetSnapshotTime = 14 => "get_snapshot_time",
    GetFromMemtableTime = 15 => "get_from_memtable_time",
    GetFromMemtableCount = 16 => "get_from_memtable_count",
    GetPostProcessTime = 17 => "get_post_process_time",
    GetFromOutputFilesTime = 18 => "get_from_output_files_time",
    SeekOnMemtableTime = 19 => "seek_on_memtable_time",
    SeekOnMemtableCount = 20 => "seek_on_memtable_count",
    NextOnMemtableCount = 21 => "next_on_memtable_count",
    PrevOnMemtableCount = 22 => "prev_on_memtable_count",
    SeekChildSeekTime = 23 => "seek_child_seek_time",
    SeekChildSeekCount = 24 => "seek_child_seek_count",
    SeekMinHeapTime = 25 => "seek_min_heap_time",
    SeekMaxHeapTime = 26 => "seek_max_heap_time",
    SeekInternalSeekTime = 27 => "seek_internal_seek_time",
    FindNextUserEntryTime = 28 => "find_next_user_entry_time",
    WriteWalTime = 29 => "write_wal_time",
    WriteMemtableTime = 30 => "write_memtable_time",
    WriteDelayTime = 31 => "write_delay_time",
    WritePreAndPostProcessTime = 32 => "write_pre_and_post_process_time",
    DbMutexLockNanos = 33 => "db_mutex_lock_nanos",
    DbConditionWaitNanos = 34 => "db_condition_wait_nanos",
    MergeOperatorTimeNanos = 35 => "merge_operator_time_nanos",
    ReadIndexBlockNanos = 36 => "read_index_block_nanos",
    ReadFilterBlockNanos = 37 => "read_filter_block_nanos",
    NewTableBlockIterNanos = 38 => "new_table_block_iter_nanos",
    NewTableIteratorNanos = 39 => "new_table_iterator_nanos",
    BlockSeekNanos = 40 => "block_seek_nanos",
    FindTableNanos = 41 => "find_table_nanos",
    BloomMemtableHitCount = 42 => "bloom_memtable_hit_count",
    BloomMemtableMissCount = 43 => "bloom_memtable_miss_count",
    BloomSstHitCount = 44 => "bloom_sst_hit_count",
    BloomSstMissCount = 45 => "bloom_sst_miss_count",
    KeyLockWaitTime = 46 => "key_lock_wait_time",
    KeyLockWaitCount = 47 => "key_lock_wait_count",
    EnvNewSequentialFileNanos = 48 => "env_new_sequential_file_nanos",
    EnvNewRandomAccessFileNanos = 49 => "env_new_random_access_file_nanos",
    EnvNewWritableFileNanos = 50 => "env_new_writable_file_nanos",
    EnvReuseWritableFileNanos = 51 => "env_reuse_writable_file_nanos",
    EnvNewRandomRwFileNanos = 52 => "env_new_random_rw_file_nanos",
    EnvNewDirectoryNanos = 53 => "env_new_directory_nanos",
    EnvFileExistsNanos = 54 => "env_file_exists_nanos",
    EnvGetChildrenNanos = 55 => "env_get_children_nanos",
    EnvGetChildrenFileAttributesNanos = 56 => "env_get_children_file_attributes_nanos",
    EnvDeleteFileNanos = 57 => "env_delete_file_nanos",
    EnvCreateDirNanos = 58 => "env_create_dir_nanos",
    EnvCreateDirIfMissingNanos = 59 => "env_create_dir_if_missing_nanos",
    EnvDeleteDirNanos = 60 => "env_delete_dir_nanos",
    EnvGetFileSizeNanos = 61 => "env_get_file_size_nanos",
    EnvGetFileModificationTimeNanos = 62 => "env_get_file_modification_time_nanos",
    EnvRenameFileNanos = 63 => "env_rename_file_nanos",
    EnvLinkFileNanos = 64 => "env_link_file_nanos",
    EnvLockFileNanos = 65 => "env_lock_file_nanos",
    EnvUnlockFileNanos = 66 => "env_unlock_file_nanos",
    EnvNewLoggerNanos = 67 => "env_new_logger_nanos",
}

/// Changes the level of this thread.
pub fn set_perf_stats(level: PerfStatsLevel) {
    let level = match level {
        PerfStatsLevel::Uninitialized | PerfStatsLevel::OutOfBound => return,
        PerfStatsLevel::Disable => esker::PerfLevel::Disable,
        PerfStatsLevel::EnableCount => esker::PerfLevel::EnableCount,
        PerfStatsLevel::EnableTimeExceptForMutex => esker::PerfLevel::EnableTimeExceptForMutex,
        PerfStatsLevel::EnableTimeAndCPUTimeExceptForMutex => {
            esker::PerfLevel::EnableTimeAndCpuTimeExceptForMutex
        }
        PerfStatsLevel::EnableTime => esker::PerfLevel::EnableTime,
    };
    esker::perf::set_level(level);
}

/// The counters of this thread. They stay 0 until [`set_perf_stats`] is called; RocksDB counts from the
/// beginning.
#[derive(Default)]
pub struct PerfContext {
    /// The counts belong to one thread.
    _thread: PhantomData<*const ()>,
}

impl PerfContext {
    /// Resets all counters.
    pub fn reset(&mut self) {
        esker::perf::reset();
    }

    /// All counts as text, without those of 0 if requested.
    pub fn report(&self, exclude_zero_counters: bool) -> String {
        let counted = esker::perf::context();
        let shown = counted
            .fields()
            .filter(|(_, value)| *value > 0 || !exclude_zero_counters);
        let text: Vec<String> = shown.map(|(name, value)| format!("{name} = {value}")).collect();
        text.join(", ")
    }

    /// Returns the value of a counter of the calling thread.
    pub fn metric(&self, id: PerfMetric) -> u64 {
        let counted = esker::perf::context();
        let found = counted.fields().find(|(name, _)| *name == id.name());
        found.map_or(0, |(_, value)| value)
    }
}

/// The bytes of memory of databases and caches.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryUsageStats {
    /// The memory of memtables in bytes.
    pub mem_table_total: u64,
    /// Memtables that are not flushed.
    pub mem_table_unflushed: u64,
    /// Indexes and filters of open tables, outside of caches.
    pub mem_table_readers_total: u64,
    /// The memory of caches in bytes.
    pub cache_total: u64,
}

/// The same figures, as [`MemoryUsageBuilder`] returns them.
pub struct MemoryUsage(MemoryUsageStats);

impl MemoryUsage {
    /// The memory of memtables in bytes.
    pub fn approximate_mem_table_total(&self) -> u64 {
        self.0.mem_table_total
    }

    /// Memtables that are not flushed.
    pub fn approximate_mem_table_unflushed(&self) -> u64 {
        self.0.mem_table_unflushed
    }

    /// Indexes and filters of open tables, outside of caches.
    pub fn approximate_mem_table_readers_total(&self) -> u64 {
        self.0.mem_table_readers_total
    }

    /// The memory of caches in bytes.
    pub fn approximate_cache_total(&self) -> u64 {
        self.0.cache_total
    }
}

/// Adds up the memory of databases and caches.
pub struct MemoryUsageBuilder<'a> {
    databases: Vec<esker::Db>,
    caches: Vec<Cache>,
    _databases: PhantomData<&'a ()>,
}

impl<'a> MemoryUsageBuilder<'a> {
    /// Creates an empty set.
    ///
    /// # Errors
    /// Never fails.
    pub fn new() -> Result<MemoryUsageBuilder<'a>, Error> {
        Ok(MemoryUsageBuilder {
            databases: Vec::new(),
            caches: Vec::new(),
            _databases: PhantomData,
        })
    }

    /// Adds a transaction database.
    pub fn add_tx_db<T: ThreadMode>(&mut self, db: &'a TransactionDB<T>) {
        self.databases.push(db.engine().clone());
    }

    /// Adds a database.
    pub fn add_db<T: ThreadMode, D: DBInner>(&mut self, db: &'a DBCommon<T, D>) {
        self.databases.push(db.engine().clone());
    }

    /// Adds a cache. A cache that is added twice counts once.
    pub fn add_cache(&mut self, cache: &'a Cache) {
        self.caches.push(cache.clone());
    }

    /// The present memory.
    ///
    /// # Errors
    /// Never fails.
    pub fn build(&self) -> Result<MemoryUsage, Error> {
        let mut stats = MemoryUsageStats::default();
        for db in &self.databases {
            for family in db.column_families() {
                let bytes = |name| db.property_int(&family, name).unwrap_or(0);
                stats.mem_table_total += bytes("rocksdb.size-all-mem-tables");
                stats.mem_table_unflushed += bytes("rocksdb.cur-size-all-mem-tables");
                stats.mem_table_readers_total += bytes("rocksdb.estimate-table-readers-mem");
            }
        }
        for (at, cache) in self.caches.iter().enumerate() {
            let seen = &self.caches[..at];
            if !seen
                .iter()
                .any(|other| std::sync::Arc::ptr_eq(&other.0, &cache.0))
            {
                stats.cache_total += cache.get_usage() as u64;
            }
        }
        Ok(MemoryUsage(stats))
    }
}

/// The memory of these databases and caches.
///
/// # Errors
/// Never fails.
pub fn get_memory_usage_stats(
    dbs: Option<&[&DB]>,
    caches: Option<&[&Cache]>,
) -> Result<MemoryUsageStats, Error> {
    let mut builder = MemoryUsageBuilder::new()?;
    dbs.unwrap_or_default().iter().for_each(|db| builder.add_db(db));
    caches
        .unwrap_or_default()
        .iter()
        .for_each(|cache| builder.add_cache(cache));
    Ok(builder.build()?.0)
}
