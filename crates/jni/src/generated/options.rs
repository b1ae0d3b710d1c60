//! Settings of RocksJava's option classes.

// Written by `cargo xtask gen` from crates/jni/natives.tsv and crates/jni/options.tsv; do not edit.

use crate::env::JString;
use crate::settings::{Field, Use, setting};

/// Fields of `BackupEngineOptions`.
pub static BACKUP: [Field; 10] = [
    Field { name: "backup_log_files", default: "1", used: Use::Hand },
    Field { name: "backup_rate_limit", default: "0", used: Use::Hand },
    Field { name: "callback_trigger_interval_size", default: "4194304", used: Use::Hand },
    Field { name: "destroy_old_data", default: "0", used: Use::Hand },
    Field { name: "max_background_operations", default: "1", used: Use::Hand },
    Field { name: "restore_rate_limit", default: "0", used: Use::Hand },
    Field { name: "share_files_with_checksum", default: "1", used: Use::Hand },
    Field { name: "share_table_files", default: "1", used: Use::Hand },
    Field { name: "sync", default: "1", used: Use::Hand },
    Field { name: "backup_dir", default: "", used: Use::Hand },
];

/// Fields of `ColumnFamilyOptions`.
pub static CF: [Field; 50] = [
    Field { name: "arena_block_size", default: "0", used: Use::Kept },
    Field { name: "blob_compaction_readahead_size", default: "0", used: Use::Row },
    Field { name: "blob_compression_type", default: "0", used: Use::Hand },
    Field { name: "blob_file_size", default: "268435456", used: Use::Row },
    Field { name: "blob_file_starting_level", default: "0", used: Use::Row },
    Field { name: "blob_garbage_collection_age_cutoff", default: "0.25", used: Use::Row },
    Field { name: "blob_garbage_collection_force_threshold", default: "1.0", used: Use::Row },
    Field { name: "bloom_locality", default: "0", used: Use::Kept },
    Field { name: "bottommost_compression", default: "127", used: Use::Hand },
    Field { name: "compaction_pri", default: "3", used: Use::Hand },
    Field { name: "compaction_style", default: "0", used: Use::Hand },
    Field { name: "compression", default: "1", used: Use::Hand },
    Field { name: "disable_auto_compactions", default: "0", used: Use::Row },
    Field { name: "enable_blob_files", default: "0", used: Use::Row },
    Field { name: "enable_blob_garbage_collection", default: "0", used: Use::Row },
    Field { name: "experimental_mempurge_threshold", default: "0.0", used: Use::Kept },
    Field { name: "force_consistency_checks", default: "1", used: Use::Kept },
    Field { name: "hard_pending_compaction_bytes_limit", default: "274877906944", used: Use::Row },
    Field { name: "inplace_update_num_locks", default: "10000", used: Use::Kept },
    Field { name: "inplace_update_support", default: "0", used: Use::Kept },
    Field { name: "level0_file_num_compaction_trigger", default: "4", used: Use::Row },
    Field { name: "level0_slowdown_writes_trigger", default: "20", used: Use::Row },
    Field { name: "level0_stop_writes_trigger", default: "36", used: Use::Row },
    Field { name: "level_compaction_dynamic_level_bytes", default: "1", used: Use::Row },
    Field { name: "max_bytes_for_level_base", default: "268435456", used: Use::Row },
    Field { name: "max_bytes_for_level_multiplier", default: "10.0", used: Use::Row },
    Field { name: "max_compaction_bytes", default: "0", used: Use::Row },
    Field { name: "max_sequential_skip_in_iterations", default: "8", used: Use::Row },
    Field { name: "max_successive_merges", default: "0", used: Use::Kept },
    Field { name: "max_write_buffer_number", default: "2", used: Use::Row },
    Field { name: "max_write_buffer_number_to_maintain", default: "0", used: Use::Kept },
    Field { name: "memtable_huge_page_size", default: "0", used: Use::Kept },
    Field { name: "memtable_max_range_deletions", default: "0", used: Use::Kept },
    Field { name: "memtable_prefix_bloom_size_ratio", default: "0.0", used: Use::Row },
    Field { name: "memtable_whole_key_filtering", default: "0", used: Use::Row },
    Field { name: "min_blob_size", default: "0", used: Use::Row },
    Field { name: "min_tombstones_for_range_conversion", default: "0", used: Use::Kept },
    Field { name: "min_write_buffer_number_to_merge", default: "1", used: Use::Row },
    Field { name: "num_levels", default: "7", used: Use::Row },
    Field { name: "optimize_filters_for_hits", default: "0", used: Use::Row },
    Field { name: "paranoid_file_checks", default: "0", used: Use::Row },
    Field { name: "periodic_compaction_seconds", default: "18446744073709551614", used: Use::Row },
    Field { name: "prepopulate_blob_cache", default: "0", used: Use::Hand },
    Field { name: "read_triggered_compaction_threshold", default: "0.0", used: Use::Kept },
    Field { name: "report_bg_io_stats", default: "0", used: Use::Kept },
    Field { name: "soft_pending_compaction_bytes_limit", default: "68719476736", used: Use::Row },
    Field { name: "target_file_size_base", default: "67108864", used: Use::Row },
    Field { name: "target_file_size_multiplier", default: "1", used: Use::Row },
    Field { name: "ttl", default: "18446744073709551614", used: Use::Row },
    Field { name: "write_buffer_size", default: "67108864", used: Use::Row },
];

/// Fields of `CompactionOptions`.
pub static COMPACT_FILES: [Field; 3] = [
    Field { name: "compression", default: "127", used: Use::Hand },
    Field { name: "max_subcompactions", default: "0", used: Use::Hand },
    Field { name: "output_file_size_limit", default: "18446744073709551615", used: Use::Hand },
];

/// Fields of `CompactRangeOptions`.
pub static COMPACT_RANGE: [Field; 7] = [
    Field { name: "allow_write_stall", default: "0", used: Use::Hand },
    Field { name: "bottommost_level_compaction", default: "1", used: Use::Hand },
    Field { name: "change_level", default: "0", used: Use::Hand },
    Field { name: "exclusive_manual_compaction", default: "0", used: Use::Hand },
    Field { name: "max_subcompactions", default: "0", used: Use::Hand },
    Field { name: "target_level", default: "-1", used: Use::Hand },
    Field { name: "target_path_id", default: "0", used: Use::Kept },
];

/// Fields of `ComparatorOptions`.
pub static COMPARATOR: [Field; 3] = [
    Field { name: "max_reused_buffer_size", default: "64", used: Use::Hand },
    Field { name: "reused_synchronisation_type", default: "1", used: Use::Hand },
    Field { name: "use_direct_buffer", default: "1", used: Use::Hand },
];

/// Fields of `CompressionOptions`.
pub static COMPRESSION: [Field; 6] = [
    Field { name: "enabled", default: "0", used: Use::Hand },
    Field { name: "level", default: "32767", used: Use::Hand },
    Field { name: "max_dict_bytes", default: "0", used: Use::Hand },
    Field { name: "strategy", default: "0", used: Use::Hand },
    Field { name: "window_bits", default: "-14", used: Use::Hand },
    Field { name: "zstd_max_train_bytes", default: "0", used: Use::Kept },
];

/// Fields of `ConfigOptions`.
pub static CONFIG: [Field; 4] = [
    Field { name: "delimiter", default: ";", used: Use::Hand },
    Field { name: "ignore_unknown_options", default: "0", used: Use::Hand },
    Field { name: "input_strings_escaped", default: "1", used: Use::Kept },
    Field { name: "sanity_level", default: "1", used: Use::Kept },
];

/// Fields of `DBOptions`.
pub static DB: [Field; 75] = [
    Field { name: "access_hint_on_compaction_start", default: "1", used: Use::Kept },
    Field { name: "advise_random_on_open", default: "1", used: Use::Row },
    Field { name: "allow_2pc", default: "0", used: Use::Row },
    Field { name: "allow_concurrent_memtable_write", default: "1", used: Use::Row },
    Field { name: "allow_fallocate", default: "1", used: Use::Kept },
    Field { name: "allow_ingest_behind", default: "0", used: Use::Row },
    Field { name: "allow_mmap_reads", default: "0", used: Use::Row },
    Field { name: "allow_mmap_writes", default: "0", used: Use::Kept },
    Field { name: "atomic_flush", default: "0", used: Use::Later },
    Field { name: "avoid_flush_during_recovery", default: "0", used: Use::Row },
    Field { name: "avoid_flush_during_shutdown", default: "0", used: Use::Row },
    Field { name: "avoid_unnecessary_blocking_io", default: "0", used: Use::Kept },
    Field { name: "best_efforts_recovery", default: "0", used: Use::Later },
    Field { name: "bgerror_resume_retry_interval", default: "1000000", used: Use::Row },
    Field { name: "bytes_per_sync", default: "0", used: Use::Row },
    Field { name: "compaction_readahead_size", default: "2097152", used: Use::Row },
    Field { name: "create_if_missing", default: "0", used: Use::Row },
    Field { name: "create_missing_column_families", default: "0", used: Use::Row },
    Field { name: "daily_offpeak_time_utc", default: "", used: Use::Kept },
    Field { name: "db_log_dir", default: "", used: Use::Row },
    Field { name: "db_write_buffer_size", default: "0", used: Use::Row },
    Field { name: "delayed_write_rate", default: "0", used: Use::Hand },
    Field { name: "delete_obsolete_files_period_micros", default: "21600000000", used: Use::Kept },
    Field { name: "dump_malloc_stats", default: "0", used: Use::Kept },
    Field { name: "enable_pipelined_write", default: "0", used: Use::Kept },
    Field { name: "enable_thread_tracking", default: "0", used: Use::Kept },
    Field { name: "enable_write_thread_adaptive_yield", default: "1", used: Use::Kept },
    Field { name: "error_if_exists", default: "0", used: Use::Row },
    Field { name: "fail_if_options_file_error", default: "1", used: Use::Kept },
    Field { name: "info_log_level", default: "1", used: Use::Hand },
    Field { name: "is_fd_close_on_exec", default: "1", used: Use::Kept },
    Field { name: "keep_log_file_num", default: "1000", used: Use::Row },
    Field { name: "log_file_time_to_roll", default: "0", used: Use::Row },
    Field { name: "log_readahead_size", default: "0", used: Use::Row },
    Field { name: "manifest_preallocation_size", default: "4194304", used: Use::Kept },
    Field { name: "manual_wal_flush", default: "0", used: Use::Row },
    Field { name: "max_background_compactions", default: "-1", used: Use::Kept },
    Field { name: "max_background_flushes", default: "-1", used: Use::Kept },
    Field { name: "max_background_jobs", default: "2", used: Use::Row },
    Field { name: "max_bgerror_resume_count", default: "2147483647", used: Use::Row },
    Field { name: "max_compaction_trigger_wakeup_seconds", default: "43200", used: Use::Kept },
    Field { name: "max_file_opening_threads", default: "16", used: Use::Kept },
    Field { name: "max_log_file_size", default: "0", used: Use::Row },
    Field { name: "max_manifest_file_size", default: "1073741824", used: Use::Row },
    Field { name: "max_open_files", default: "-1", used: Use::Row },
    Field { name: "max_subcompactions", default: "1", used: Use::Row },
    Field { name: "max_total_wal_size", default: "0", used: Use::Row },
    Field { name: "max_write_batch_group_size_bytes", default: "1048576", used: Use::Kept },
    Field { name: "open_files_async", default: "0", used: Use::Kept },
    Field { name: "paranoid_checks", default: "1", used: Use::Kept },
    Field { name: "persist_stats_to_disk", default: "0", used: Use::Row },
    Field { name: "random_access_max_buffer_size", default: "1048576", used: Use::Kept },
    Field { name: "recycle_log_file_num", default: "0", used: Use::Row },
    Field { name: "skip_checking_sst_file_sizes_on_db_open", default: "0", used: Use::Kept },
    Field { name: "skip_stats_update_on_db_open", default: "0", used: Use::Kept },
    Field { name: "stats_dump_period_sec", default: "600", used: Use::Row },
    Field { name: "stats_history_buffer_size", default: "1048576", used: Use::Row },
    Field { name: "stats_persist_period_sec", default: "600", used: Use::Row },
    Field { name: "strict_bytes_per_sync", default: "0", used: Use::Row },
    Field { name: "table_cache_numshardbits", default: "6", used: Use::Kept },
    Field { name: "two_write_queues", default: "0", used: Use::Kept },
    Field { name: "unordered_write", default: "0", used: Use::Kept },
    Field { name: "use_adaptive_mutex", default: "0", used: Use::Kept },
    Field { name: "use_direct_io_for_flush_and_compaction", default: "0", used: Use::Row },
    Field { name: "use_direct_reads", default: "0", used: Use::Row },
    Field { name: "use_fsync", default: "0", used: Use::Kept },
    Field { name: "wal_bytes_per_sync", default: "0", used: Use::Row },
    Field { name: "wal_dir", default: "", used: Use::Row },
    Field { name: "wal_recovery_mode", default: "2", used: Use::Hand },
    Field { name: "wal_size_limit_mb", default: "0", used: Use::Row },
    Field { name: "wal_ttl_seconds", default: "0", used: Use::Row },
    Field { name: "writable_file_max_buffer_size", default: "1048576", used: Use::Kept },
    Field { name: "write_dbid_to_manifest", default: "1", used: Use::Row },
    Field { name: "write_thread_max_yield_usec", default: "100", used: Use::Kept },
    Field { name: "write_thread_slow_yield_usec", default: "3", used: Use::Kept },
];

/// Fields of `EnvOptions`.
pub static ENV: [Field; 11] = [
    Field { name: "allow_fallocate", default: "1", used: Use::Kept },
    Field { name: "bytes_per_sync", default: "0", used: Use::Kept },
    Field { name: "compaction_readahead_size", default: "0", used: Use::Kept },
    Field { name: "fallocate_with_keep_size", default: "1", used: Use::Kept },
    Field { name: "random_access_max_buffer_size", default: "0", used: Use::Kept },
    Field { name: "set_fd_cloexec", default: "1", used: Use::Kept },
    Field { name: "use_direct_reads", default: "0", used: Use::Kept },
    Field { name: "use_direct_writes", default: "0", used: Use::Kept },
    Field { name: "use_mmap_reads", default: "0", used: Use::Kept },
    Field { name: "use_mmap_writes", default: "0", used: Use::Kept },
    Field { name: "writable_file_max_buffer_size", default: "1048576", used: Use::Kept },
];

/// Fields of `CompactionOptionsFIFO`.
pub static FIFO: [Field; 4] = [
    Field { name: "allow_compaction", default: "0", used: Use::Hand },
    Field { name: "max_data_files_size", default: "0", used: Use::Hand },
    Field { name: "max_table_files_size", default: "1073741824", used: Use::Hand },
    Field { name: "use_kv_ratio_compaction", default: "0", used: Use::Kept },
];

/// Fields of `FlushOptions`.
pub static FLUSH: [Field; 3] = [
    Field { name: "allow_write_stall", default: "0", used: Use::Hand },
    Field { name: "listener_wait", default: "0", used: Use::Hand },
    Field { name: "wait_for_flush", default: "1", used: Use::Hand },
];

/// Fields of `ImportColumnFamilyOptions`.
pub static IMPORT: [Field; 1] = [
    Field { name: "move_files", default: "0", used: Use::Hand },
];

/// Fields of `IngestExternalFileOptions`.
pub static INGEST: [Field; 6] = [
    Field { name: "allow_blocking_flush", default: "1", used: Use::Hand },
    Field { name: "allow_global_seq_no", default: "1", used: Use::Hand },
    Field { name: "ingest_behind", default: "0", used: Use::Hand },
    Field { name: "move_files", default: "0", used: Use::Hand },
    Field { name: "snapshot_consistency", default: "1", used: Use::Hand },
    Field { name: "write_global_seqno", default: "0", used: Use::Hand },
];

/// Fields of `OptimisticTransactionOptions`.
pub static OPTIMISTIC: [Field; 1] = [
    Field { name: "set_snapshot", default: "0", used: Use::Hand },
];

/// Fields of `ReadOptions`.
pub static READ: [Field; 17] = [
    Field { name: "async_io", default: "0", used: Use::Hand },
    Field { name: "auto_prefix_mode", default: "0", used: Use::Hand },
    Field { name: "background_purge_on_iterator_cleanup", default: "0", used: Use::Kept },
    Field { name: "deadline", default: "0", used: Use::Hand },
    Field { name: "fill_cache", default: "1", used: Use::Hand },
    Field { name: "ignore_range_deletions", default: "0", used: Use::Hand },
    Field { name: "io_timeout", default: "0", used: Use::Hand },
    Field { name: "managed", default: "0", used: Use::Kept },
    Field { name: "max_skippable_internal_keys", default: "0", used: Use::Hand },
    Field { name: "pin_data", default: "0", used: Use::Hand },
    Field { name: "prefix_same_as_start", default: "0", used: Use::Hand },
    Field { name: "read_tier", default: "0", used: Use::Hand },
    Field { name: "readahead_size", default: "0", used: Use::Hand },
    Field { name: "tailing", default: "0", used: Use::Hand },
    Field { name: "total_order_seek", default: "0", used: Use::Hand },
    Field { name: "value_size_soft_limit", default: "18446744073709551615", used: Use::Hand },
    Field { name: "verify_checksums", default: "1", used: Use::Hand },
];

/// Fields of `TransactionOptions`.
pub static TXN: [Field; 6] = [
    Field { name: "deadlock_detect", default: "0", used: Use::Hand },
    Field { name: "deadlock_detect_depth", default: "50", used: Use::Hand },
    Field { name: "expiration", default: "-1", used: Use::Hand },
    Field { name: "lock_timeout", default: "-1", used: Use::Hand },
    Field { name: "max_write_batch_size", default: "0", used: Use::Hand },
    Field { name: "set_snapshot", default: "0", used: Use::Hand },
];

/// Fields of `TransactionDBOptions`.
pub static TXN_DB: [Field; 5] = [
    Field { name: "default_lock_timeout", default: "1000", used: Use::Hand },
    Field { name: "max_num_locks", default: "-1", used: Use::Hand },
    Field { name: "num_stripes", default: "16", used: Use::Hand },
    Field { name: "transaction_lock_timeout", default: "1000", used: Use::Hand },
    Field { name: "write_policy", default: "0", used: Use::Hand },
];

/// Fields of `CompactionOptionsUniversal`.
pub static UNIVERSAL: [Field; 7] = [
    Field { name: "allow_trivial_move", default: "0", used: Use::Hand },
    Field { name: "compression_size_percent", default: "-1", used: Use::Hand },
    Field { name: "max_merge_width", default: "2147483647", used: Use::Hand },
    Field { name: "max_size_amplification_percent", default: "200", used: Use::Hand },
    Field { name: "min_merge_width", default: "2", used: Use::Hand },
    Field { name: "size_ratio", default: "1", used: Use::Hand },
    Field { name: "stop_style", default: "1", used: Use::Hand },
];

/// Fields of `WriteOptions`.
pub static WRITE: [Field; 6] = [
    Field { name: "disable_wal", default: "0", used: Use::Hand },
    Field { name: "ignore_missing_column_families", default: "0", used: Use::Hand },
    Field { name: "low_pri", default: "0", used: Use::Hand },
    Field { name: "memtable_insert_hint_per_batch", default: "0", used: Use::Kept },
    Field { name: "no_slowdown", default: "0", used: Use::Hand },
    Field { name: "sync", default: "0", used: Use::Hand },
];

setting!(get "BackupEngineOptions_backupLogFiles__J" bool, &BACKUP[0]);
setting!(set "BackupEngineOptions_setBackupLogFiles__JZ" bool, &BACKUP[0]);
setting!(get "BackupEngineOptions_backupRateLimit__J" i64, &BACKUP[1]);
setting!(set "BackupEngineOptions_setBackupRateLimit__JJ" i64, &BACKUP[1]);
setting!(get "BackupEngineOptions_callbackTriggerIntervalSize__J" i64, &BACKUP[2]);
setting!(set "BackupEngineOptions_setCallbackTriggerIntervalSize__JJ" i64, &BACKUP[2]);
setting!(get "BackupEngineOptions_destroyOldData__J" bool, &BACKUP[3]);
setting!(set "BackupEngineOptions_setDestroyOldData__JZ" bool, &BACKUP[3]);
setting!(get "BackupEngineOptions_maxBackgroundOperations__J" i32, &BACKUP[4]);
setting!(set "BackupEngineOptions_setMaxBackgroundOperations__JI" i32, &BACKUP[4]);
setting!(get "BackupEngineOptions_restoreRateLimit__J" i64, &BACKUP[5]);
setting!(set "BackupEngineOptions_setRestoreRateLimit__JJ" i64, &BACKUP[5]);
setting!(set "BackupEngineOptions_setShareFilesWithChecksum__JZ" bool, &BACKUP[6]);
setting!(get "BackupEngineOptions_shareFilesWithChecksum__J" bool, &BACKUP[6]);
setting!(set "BackupEngineOptions_setShareTableFiles__JZ" bool, &BACKUP[7]);
setting!(get "BackupEngineOptions_shareTableFiles__J" bool, &BACKUP[7]);
setting!(set "BackupEngineOptions_setSync__JZ" bool, &BACKUP[8]);
setting!(get "BackupEngineOptions_sync__J" bool, &BACKUP[8]);
setting!(get "BackupEngineOptions_backupDir__J" JString, &BACKUP[9]);
setting!(get "ColumnFamilyOptions_arenaBlockSize__J" i64, &CF[0]);
setting!(set "ColumnFamilyOptions_setArenaBlockSize__JJ" i64, &CF[0]);
setting!(get "Options_arenaBlockSize__J" i64, &CF[0]);
setting!(set "Options_setArenaBlockSize__JJ" i64, &CF[0]);
setting!(get "ColumnFamilyOptions_blobCompactionReadaheadSize__J" i64, &CF[1]);
setting!(set "ColumnFamilyOptions_setBlobCompactionReadaheadSize__JJ" i64, &CF[1]);
setting!(get "Options_blobCompactionReadaheadSize__J" i64, &CF[1]);
setting!(set "Options_setBlobCompactionReadaheadSize__JJ" i64, &CF[1]);
setting!(get "ColumnFamilyOptions_blobCompressionType__J" i8, &CF[2]);
setting!(set "ColumnFamilyOptions_setBlobCompressionType__JB" i8, &CF[2]);
setting!(get "Options_blobCompressionType__J" i8, &CF[2]);
setting!(set "Options_setBlobCompressionType__JB" i8, &CF[2]);
setting!(get "ColumnFamilyOptions_blobFileSize__J" i64, &CF[3]);
setting!(set "ColumnFamilyOptions_setBlobFileSize__JJ" i64, &CF[3]);
setting!(get "Options_blobFileSize__J" i64, &CF[3]);
setting!(set "Options_setBlobFileSize__JJ" i64, &CF[3]);
setting!(get "ColumnFamilyOptions_blobFileStartingLevel__J" i32, &CF[4]);
setting!(set "ColumnFamilyOptions_setBlobFileStartingLevel__JI" i32, &CF[4]);
setting!(get "Options_blobFileStartingLevel__J" i32, &CF[4]);
setting!(set "Options_setBlobFileStartingLevel__JI" i32, &CF[4]);
setting!(get "ColumnFamilyOptions_blobGarbageCollectionAgeCutoff__J" f64, &CF[5]);
setting!(set "ColumnFamilyOptions_setBlobGarbageCollectionAgeCutoff__JD" f64, &CF[5]);
setting!(get "Options_blobGarbageCollectionAgeCutoff__J" f64, &CF[5]);
setting!(set "Options_setBlobGarbageCollectionAgeCutoff__JD" f64, &CF[5]);
setting!(get "ColumnFamilyOptions_blobGarbageCollectionForceThreshold__J" f64, &CF[6]);
setting!(set "ColumnFamilyOptions_setBlobGarbageCollectionForceThreshold__JD" f64, &CF[6]);
setting!(get "Options_blobGarbageCollectionForceThreshold__J" f64, &CF[6]);
setting!(set "Options_setBlobGarbageCollectionForceThreshold__JD" f64, &CF[6]);
setting!(get "ColumnFamilyOptions_bloomLocality__J" i32, &CF[7]);
setting!(set "ColumnFamilyOptions_setBloomLocality__JI" i32, &CF[7]);
setting!(get "Options_bloomLocality__J" i32, &CF[7]);
setting!(set "Options_setBloomLocality__JI" i32, &CF[7]);
setting!(get "ColumnFamilyOptions_bottommostCompressionType__J" i8, &CF[8]);
setting!(set "ColumnFamilyOptions_setBottommostCompressionType__JB" i8, &CF[8]);
setting!(get "Options_bottommostCompressionType__J" i8, &CF[8]);
setting!(set "Options_setBottommostCompressionType__JB" i8, &CF[8]);
setting!(get "ColumnFamilyOptions_compactionPriority__J" i8, &CF[9]);
setting!(set "ColumnFamilyOptions_setCompactionPriority__JB" i8, &CF[9]);
setting!(get "Options_compactionPriority__J" i8, &CF[9]);
setting!(set "Options_setCompactionPriority__JB" i8, &CF[9]);
setting!(get "ColumnFamilyOptions_compactionStyle__J" i8, &CF[10]);
setting!(set "ColumnFamilyOptions_setCompactionStyle__JB" i8, &CF[10]);
setting!(get "Options_compactionStyle__J" i8, &CF[10]);
setting!(set "Options_setCompactionStyle__JB" i8, &CF[10]);
setting!(get "ColumnFamilyOptions_compressionType__J" i8, &CF[11]);
setting!(set "ColumnFamilyOptions_setCompressionType__JB" i8, &CF[11]);
setting!(get "Options_compressionType__J" i8, &CF[11]);
setting!(set "Options_setCompressionType__JB" i8, &CF[11]);
setting!(get "ColumnFamilyOptions_disableAutoCompactions__J" bool, &CF[12]);
setting!(set "ColumnFamilyOptions_setDisableAutoCompactions__JZ" bool, &CF[12]);
setting!(get "Options_disableAutoCompactions__J" bool, &CF[12]);
setting!(set "Options_setDisableAutoCompactions__JZ" bool, &CF[12]);
setting!(get "ColumnFamilyOptions_enableBlobFiles__J" bool, &CF[13]);
setting!(set "ColumnFamilyOptions_setEnableBlobFiles__JZ" bool, &CF[13]);
setting!(get "Options_enableBlobFiles__J" bool, &CF[13]);
setting!(set "Options_setEnableBlobFiles__JZ" bool, &CF[13]);
setting!(get "ColumnFamilyOptions_enableBlobGarbageCollection__J" bool, &CF[14]);
setting!(set "ColumnFamilyOptions_setEnableBlobGarbageCollection__JZ" bool, &CF[14]);
setting!(get "Options_enableBlobGarbageCollection__J" bool, &CF[14]);
setting!(set "Options_setEnableBlobGarbageCollection__JZ" bool, &CF[14]);
setting!(get "ColumnFamilyOptions_experimentalMempurgeThreshold__J" f64, &CF[15]);
setting!(set "ColumnFamilyOptions_setExperimentalMempurgeThreshold__JD" f64, &CF[15]);
setting!(get "Options_experimentalMempurgeThreshold__J" f64, &CF[15]);
setting!(set "Options_setExperimentalMempurgeThreshold__JD" f64, &CF[15]);
setting!(get "ColumnFamilyOptions_forceConsistencyChecks__J" bool, &CF[16]);
setting!(set "ColumnFamilyOptions_setForceConsistencyChecks__JZ" bool, &CF[16]);
setting!(get "Options_forceConsistencyChecks__J" bool, &CF[16]);
setting!(set "Options_setForceConsistencyChecks__JZ" bool, &CF[16]);
setting!(get "ColumnFamilyOptions_hardPendingCompactionBytesLimit__J" i64, &CF[17]);
setting!(set "ColumnFamilyOptions_setHardPendingCompactionBytesLimit__JJ" i64, &CF[17]);
setting!(get "Options_hardPendingCompactionBytesLimit__J" i64, &CF[17]);
setting!(set "Options_setHardPendingCompactionBytesLimit__JJ" i64, &CF[17]);
setting!(get "ColumnFamilyOptions_inplaceUpdateNumLocks__J" i64, &CF[18]);
setting!(set "ColumnFamilyOptions_setInplaceUpdateNumLocks__JJ" i64, &CF[18]);
setting!(get "Options_inplaceUpdateNumLocks__J" i64, &CF[18]);
setting!(set "Options_setInplaceUpdateNumLocks__JJ" i64, &CF[18]);
setting!(get "ColumnFamilyOptions_inplaceUpdateSupport__J" bool, &CF[19]);
setting!(set "ColumnFamilyOptions_setInplaceUpdateSupport__JZ" bool, &CF[19]);
setting!(get "Options_inplaceUpdateSupport__J" bool, &CF[19]);
setting!(set "Options_setInplaceUpdateSupport__JZ" bool, &CF[19]);
setting!(get "ColumnFamilyOptions_level0FileNumCompactionTrigger__J" i32, &CF[20]);
setting!(get "ColumnFamilyOptions_levelZeroFileNumCompactionTrigger__J" i32, &CF[20]);
setting!(set "ColumnFamilyOptions_setLevel0FileNumCompactionTrigger__JI" i32, &CF[20]);
setting!(set "ColumnFamilyOptions_setLevelZeroFileNumCompactionTrigger__JI" i32, &CF[20]);
setting!(get "Options_level0FileNumCompactionTrigger__J" i32, &CF[20]);
setting!(get "Options_levelZeroFileNumCompactionTrigger__J" i32, &CF[20]);
setting!(set "Options_setLevel0FileNumCompactionTrigger__JI" i32, &CF[20]);
setting!(set "Options_setLevelZeroFileNumCompactionTrigger__JI" i32, &CF[20]);
setting!(get "ColumnFamilyOptions_level0SlowdownWritesTrigger__J" i32, &CF[21]);
setting!(get "ColumnFamilyOptions_levelZeroSlowdownWritesTrigger__J" i32, &CF[21]);
setting!(set "ColumnFamilyOptions_setLevel0SlowdownWritesTrigger__JI" i32, &CF[21]);
setting!(set "ColumnFamilyOptions_setLevelZeroSlowdownWritesTrigger__JI" i32, &CF[21]);
setting!(get "Options_level0SlowdownWritesTrigger__J" i32, &CF[21]);
setting!(get "Options_levelZeroSlowdownWritesTrigger__J" i32, &CF[21]);
setting!(set "Options_setLevel0SlowdownWritesTrigger__JI" i32, &CF[21]);
setting!(set "Options_setLevelZeroSlowdownWritesTrigger__JI" i32, &CF[21]);
setting!(get "ColumnFamilyOptions_level0StopWritesTrigger__J" i32, &CF[22]);
setting!(get "ColumnFamilyOptions_levelZeroStopWritesTrigger__J" i32, &CF[22]);
setting!(set "ColumnFamilyOptions_setLevel0StopWritesTrigger__JI" i32, &CF[22]);
setting!(set "ColumnFamilyOptions_setLevelZeroStopWritesTrigger__JI" i32, &CF[22]);
setting!(get "Options_level0StopWritesTrigger__J" i32, &CF[22]);
setting!(get "Options_levelZeroStopWritesTrigger__J" i32, &CF[22]);
setting!(set "Options_setLevel0StopWritesTrigger__JI" i32, &CF[22]);
setting!(set "Options_setLevelZeroStopWritesTrigger__JI" i32, &CF[22]);
setting!(get "ColumnFamilyOptions_levelCompactionDynamicLevelBytes__J" bool, &CF[23]);
setting!(set "ColumnFamilyOptions_setLevelCompactionDynamicLevelBytes__JZ" bool, &CF[23]);
setting!(get "Options_levelCompactionDynamicLevelBytes__J" bool, &CF[23]);
setting!(set "Options_setLevelCompactionDynamicLevelBytes__JZ" bool, &CF[23]);
setting!(get "ColumnFamilyOptions_maxBytesForLevelBase__J" i64, &CF[24]);
setting!(set "ColumnFamilyOptions_setMaxBytesForLevelBase__JJ" i64, &CF[24]);
setting!(get "Options_maxBytesForLevelBase__J" i64, &CF[24]);
setting!(set "Options_setMaxBytesForLevelBase__JJ" i64, &CF[24]);
setting!(get "ColumnFamilyOptions_maxBytesForLevelMultiplier__J" f64, &CF[25]);
setting!(set "ColumnFamilyOptions_setMaxBytesForLevelMultiplier__JD" f64, &CF[25]);
setting!(get "Options_maxBytesForLevelMultiplier__J" f64, &CF[25]);
setting!(set "Options_setMaxBytesForLevelMultiplier__JD" f64, &CF[25]);
setting!(get "ColumnFamilyOptions_maxCompactionBytes__J" i64, &CF[26]);
setting!(set "ColumnFamilyOptions_setMaxCompactionBytes__JJ" i64, &CF[26]);
setting!(get "Options_maxCompactionBytes__J" i64, &CF[26]);
setting!(set "Options_setMaxCompactionBytes__JJ" i64, &CF[26]);
setting!(get "ColumnFamilyOptions_maxSequentialSkipInIterations__J" i64, &CF[27]);
setting!(set "ColumnFamilyOptions_setMaxSequentialSkipInIterations__JJ" i64, &CF[27]);
setting!(get "Options_maxSequentialSkipInIterations__J" i64, &CF[27]);
setting!(set "Options_setMaxSequentialSkipInIterations__JJ" i64, &CF[27]);
setting!(get "ColumnFamilyOptions_maxSuccessiveMerges__J" i64, &CF[28]);
setting!(set "ColumnFamilyOptions_setMaxSuccessiveMerges__JJ" i64, &CF[28]);
setting!(get "Options_maxSuccessiveMerges__J" i64, &CF[28]);
setting!(set "Options_setMaxSuccessiveMerges__JJ" i64, &CF[28]);
setting!(get "ColumnFamilyOptions_maxWriteBufferNumber__J" i32, &CF[29]);
setting!(set "ColumnFamilyOptions_setMaxWriteBufferNumber__JI" i32, &CF[29]);
setting!(get "Options_maxWriteBufferNumber__J" i32, &CF[29]);
setting!(set "Options_setMaxWriteBufferNumber__JI" i32, &CF[29]);
setting!(get "ColumnFamilyOptions_maxWriteBufferNumberToMaintain__J" i32, &CF[30]);
setting!(set "ColumnFamilyOptions_setMaxWriteBufferNumberToMaintain__JI" i32, &CF[30]);
setting!(get "Options_maxWriteBufferNumberToMaintain__J" i32, &CF[30]);
setting!(set "Options_setMaxWriteBufferNumberToMaintain__JI" i32, &CF[30]);
setting!(get "ColumnFamilyOptions_memtableHugePageSize__J" i64, &CF[31]);
setting!(set "ColumnFamilyOptions_setMemtableHugePageSize__JJ" i64, &CF[31]);
setting!(get "Options_memtableHugePageSize__J" i64, &CF[31]);
setting!(set "Options_setMemtableHugePageSize__JJ" i64, &CF[31]);
setting!(get "ColumnFamilyOptions_memtableMaxRangeDeletions__J" i32, &CF[32]);
setting!(set "ColumnFamilyOptions_setMemtableMaxRangeDeletions__JI" i32, &CF[32]);
setting!(get "Options_memtableMaxRangeDeletions__J" i32, &CF[32]);
setting!(set "Options_setMemtableMaxRangeDeletions__JI" i32, &CF[32]);
setting!(get "ColumnFamilyOptions_memtablePrefixBloomSizeRatio__J" f64, &CF[33]);
setting!(set "ColumnFamilyOptions_setMemtablePrefixBloomSizeRatio__JD" f64, &CF[33]);
setting!(get "Options_memtablePrefixBloomSizeRatio__J" f64, &CF[33]);
setting!(set "Options_setMemtablePrefixBloomSizeRatio__JD" f64, &CF[33]);
setting!(get "ColumnFamilyOptions_memtableWholeKeyFiltering__J" bool, &CF[34]);
setting!(set "ColumnFamilyOptions_setMemtableWholeKeyFiltering__JZ" bool, &CF[34]);
setting!(get "Options_memtableWholeKeyFiltering__J" bool, &CF[34]);
setting!(set "Options_setMemtableWholeKeyFiltering__JZ" bool, &CF[34]);
setting!(get "ColumnFamilyOptions_minBlobSize__J" i64, &CF[35]);
setting!(set "ColumnFamilyOptions_setMinBlobSize__JJ" i64, &CF[35]);
setting!(get "Options_minBlobSize__J" i64, &CF[35]);
setting!(set "Options_setMinBlobSize__JJ" i64, &CF[35]);
setting!(get "ColumnFamilyOptions_minTombstonesForRangeConversion__J" i32, &CF[36]);
setting!(set "ColumnFamilyOptions_setMinTombstonesForRangeConversion__JI" i32, &CF[36]);
setting!(get "Options_minTombstonesForRangeConversion__J" i32, &CF[36]);
setting!(set "Options_setMinTombstonesForRangeConversion__JI" i32, &CF[36]);
setting!(get "ColumnFamilyOptions_minWriteBufferNumberToMerge__J" i32, &CF[37]);
setting!(set "ColumnFamilyOptions_setMinWriteBufferNumberToMerge__JI" i32, &CF[37]);
setting!(get "Options_minWriteBufferNumberToMerge__J" i32, &CF[37]);
setting!(set "Options_setMinWriteBufferNumberToMerge__JI" i32, &CF[37]);
setting!(get "ColumnFamilyOptions_numLevels__J" i32, &CF[38]);
setting!(set "ColumnFamilyOptions_setNumLevels__JI" i32, &CF[38]);
setting!(get "Options_numLevels__J" i32, &CF[38]);
setting!(set "Options_setNumLevels__JI" i32, &CF[38]);
setting!(get "ColumnFamilyOptions_optimizeFiltersForHits__J" bool, &CF[39]);
setting!(set "ColumnFamilyOptions_setOptimizeFiltersForHits__JZ" bool, &CF[39]);
setting!(get "Options_optimizeFiltersForHits__J" bool, &CF[39]);
setting!(set "Options_setOptimizeFiltersForHits__JZ" bool, &CF[39]);
setting!(get "ColumnFamilyOptions_paranoidFileChecks__J" bool, &CF[40]);
setting!(set "ColumnFamilyOptions_setParanoidFileChecks__JZ" bool, &CF[40]);
setting!(get "Options_paranoidFileChecks__J" bool, &CF[40]);
setting!(set "Options_setParanoidFileChecks__JZ" bool, &CF[40]);
setting!(get "ColumnFamilyOptions_periodicCompactionSeconds__J" i64, &CF[41]);
setting!(set "ColumnFamilyOptions_setPeriodicCompactionSeconds__JJ" i64, &CF[41]);
setting!(get "Options_periodicCompactionSeconds__J" i64, &CF[41]);
setting!(set "Options_setPeriodicCompactionSeconds__JJ" i64, &CF[41]);
setting!(get "ColumnFamilyOptions_prepopulateBlobCache__J" i8, &CF[42]);
setting!(set "ColumnFamilyOptions_setPrepopulateBlobCache__JB" i8, &CF[42]);
setting!(get "Options_prepopulateBlobCache__J" i8, &CF[42]);
setting!(set "Options_setPrepopulateBlobCache__JB" i8, &CF[42]);
setting!(get "ColumnFamilyOptions_readTriggeredCompactionThreshold__J" f64, &CF[43]);
setting!(set "ColumnFamilyOptions_setReadTriggeredCompactionThreshold__JD" f64, &CF[43]);
setting!(get "Options_readTriggeredCompactionThreshold__J" f64, &CF[43]);
setting!(set "Options_setReadTriggeredCompactionThreshold__JD" f64, &CF[43]);
setting!(get "ColumnFamilyOptions_reportBgIoStats__J" bool, &CF[44]);
setting!(set "ColumnFamilyOptions_setReportBgIoStats__JZ" bool, &CF[44]);
setting!(get "Options_reportBgIoStats__J" bool, &CF[44]);
setting!(set "Options_setReportBgIoStats__JZ" bool, &CF[44]);
setting!(set "ColumnFamilyOptions_setSoftPendingCompactionBytesLimit__JJ" i64, &CF[45]);
setting!(get "ColumnFamilyOptions_softPendingCompactionBytesLimit__J" i64, &CF[45]);
setting!(set "Options_setSoftPendingCompactionBytesLimit__JJ" i64, &CF[45]);
setting!(get "Options_softPendingCompactionBytesLimit__J" i64, &CF[45]);
setting!(set "ColumnFamilyOptions_setTargetFileSizeBase__JJ" i64, &CF[46]);
setting!(get "ColumnFamilyOptions_targetFileSizeBase__J" i64, &CF[46]);
setting!(set "Options_setTargetFileSizeBase__JJ" i64, &CF[46]);
setting!(get "Options_targetFileSizeBase__J" i64, &CF[46]);
setting!(set "ColumnFamilyOptions_setTargetFileSizeMultiplier__JI" i32, &CF[47]);
setting!(get "ColumnFamilyOptions_targetFileSizeMultiplier__J" i32, &CF[47]);
setting!(set "Options_setTargetFileSizeMultiplier__JI" i32, &CF[47]);
setting!(get "Options_targetFileSizeMultiplier__J" i32, &CF[47]);
setting!(set "ColumnFamilyOptions_setTtl__JJ" i64, &CF[48]);
setting!(get "ColumnFamilyOptions_ttl__J" i64, &CF[48]);
setting!(set "Options_setTtl__JJ" i64, &CF[48]);
setting!(get "Options_ttl__J" i64, &CF[48]);
setting!(set "ColumnFamilyOptions_setWriteBufferSize__JJ" i64, &CF[49]);
setting!(get "ColumnFamilyOptions_writeBufferSize__J" i64, &CF[49]);
setting!(set "Options_setWriteBufferSize__JJ" i64, &CF[49]);
setting!(get "Options_writeBufferSize__J" i64, &CF[49]);
setting!(get "CompactionOptions_compression__J" i8, &COMPACT_FILES[0]);
setting!(set "CompactionOptions_setCompression__JB" i8, &COMPACT_FILES[0]);
setting!(get "CompactionOptions_maxSubcompactions__J" i32, &COMPACT_FILES[1]);
setting!(set "CompactionOptions_setMaxSubcompactions__JI" i32, &COMPACT_FILES[1]);
setting!(get "CompactionOptions_outputFileSizeLimit__J" i64, &COMPACT_FILES[2]);
setting!(set "CompactionOptions_setOutputFileSizeLimit__JJ" i64, &COMPACT_FILES[2]);
setting!(get "CompactRangeOptions_allowWriteStall__J" bool, &COMPACT_RANGE[0]);
setting!(set "CompactRangeOptions_setAllowWriteStall__JZ" bool, &COMPACT_RANGE[0]);
setting!(get "CompactRangeOptions_bottommostLevelCompaction__J" i32, &COMPACT_RANGE[1]);
setting!(set "CompactRangeOptions_setBottommostLevelCompaction__JI" i32, &COMPACT_RANGE[1]);
setting!(get "CompactRangeOptions_changeLevel__J" bool, &COMPACT_RANGE[2]);
setting!(set "CompactRangeOptions_setChangeLevel__JZ" bool, &COMPACT_RANGE[2]);
setting!(get "CompactRangeOptions_exclusiveManualCompaction__J" bool, &COMPACT_RANGE[3]);
setting!(set "CompactRangeOptions_setExclusiveManualCompaction__JZ" bool, &COMPACT_RANGE[3]);
setting!(get "CompactRangeOptions_maxSubcompactions__J" i32, &COMPACT_RANGE[4]);
setting!(set "CompactRangeOptions_setMaxSubcompactions__JI" i32, &COMPACT_RANGE[4]);
setting!(set "CompactRangeOptions_setTargetLevel__JI" i32, &COMPACT_RANGE[5]);
setting!(get "CompactRangeOptions_targetLevel__J" i32, &COMPACT_RANGE[5]);
setting!(set "CompactRangeOptions_setTargetPathId__JI" i32, &COMPACT_RANGE[6]);
setting!(get "CompactRangeOptions_targetPathId__J" i32, &COMPACT_RANGE[6]);
setting!(get "ComparatorOptions_maxReusedBufferSize__J" i32, &COMPARATOR[0]);
setting!(set "ComparatorOptions_setMaxReusedBufferSize__JI" i32, &COMPARATOR[0]);
setting!(get "ComparatorOptions_reusedSynchronisationType__J" i8, &COMPARATOR[1]);
setting!(set "ComparatorOptions_setReusedSynchronisationType__JB" i8, &COMPARATOR[1]);
setting!(set "ComparatorOptions_setUseDirectBuffer__JZ" bool, &COMPARATOR[2]);
setting!(get "ComparatorOptions_useDirectBuffer__J" bool, &COMPARATOR[2]);
setting!(get "CompressionOptions_enabled__J" bool, &COMPRESSION[0]);
setting!(set "CompressionOptions_setEnabled__JZ" bool, &COMPRESSION[0]);
setting!(get "CompressionOptions_level__J" i32, &COMPRESSION[1]);
setting!(set "CompressionOptions_setLevel__JI" i32, &COMPRESSION[1]);
setting!(get "CompressionOptions_maxDictBytes__J" i32, &COMPRESSION[2]);
setting!(set "CompressionOptions_setMaxDictBytes__JI" i32, &COMPRESSION[2]);
setting!(set "CompressionOptions_setStrategy__JI" i32, &COMPRESSION[3]);
setting!(get "CompressionOptions_strategy__J" i32, &COMPRESSION[3]);
setting!(set "CompressionOptions_setWindowBits__JI" i32, &COMPRESSION[4]);
setting!(get "CompressionOptions_windowBits__J" i32, &COMPRESSION[4]);
setting!(set "CompressionOptions_setZstdMaxTrainBytes__JI" i32, &COMPRESSION[5]);
setting!(get "CompressionOptions_zstdMaxTrainBytes__J" i32, &COMPRESSION[5]);
setting!(set "ConfigOptions_setDelimiter__JLjava_lang_String_2" JString, &CONFIG[0]);
setting!(set "ConfigOptions_setIgnoreUnknownOptions__JZ" bool, &CONFIG[1]);
setting!(set "ConfigOptions_setInputStringsEscaped__JZ" bool, &CONFIG[2]);
setting!(set "ConfigOptions_setSanityLevel__JB" i8, &CONFIG[3]);
setting!(get "DBOptions_accessHintOnCompactionStart__J" i8, &DB[0]);
setting!(set "DBOptions_setAccessHintOnCompactionStart__JB" i8, &DB[0]);
setting!(get "Options_accessHintOnCompactionStart__J" i8, &DB[0]);
setting!(set "Options_setAccessHintOnCompactionStart__JB" i8, &DB[0]);
setting!(get "DBOptions_adviseRandomOnOpen__J" bool, &DB[1]);
setting!(set "DBOptions_setAdviseRandomOnOpen__JZ" bool, &DB[1]);
setting!(get "Options_adviseRandomOnOpen__J" bool, &DB[1]);
setting!(set "Options_setAdviseRandomOnOpen__JZ" bool, &DB[1]);
setting!(get "DBOptions_allow2pc__J" bool, &DB[2]);
setting!(set "DBOptions_setAllow2pc__JZ" bool, &DB[2]);
setting!(get "Options_allow2pc__J" bool, &DB[2]);
setting!(set "Options_setAllow2pc__JZ" bool, &DB[2]);
setting!(get "DBOptions_allowConcurrentMemtableWrite__J" bool, &DB[3]);
setting!(set "DBOptions_setAllowConcurrentMemtableWrite__JZ" bool, &DB[3]);
setting!(get "Options_allowConcurrentMemtableWrite__J" bool, &DB[3]);
setting!(set "Options_setAllowConcurrentMemtableWrite__JZ" bool, &DB[3]);
setting!(get "DBOptions_allowFAllocate__J" bool, &DB[4]);
setting!(set "DBOptions_setAllowFAllocate__JZ" bool, &DB[4]);
setting!(get "Options_allowFAllocate__J" bool, &DB[4]);
setting!(set "Options_setAllowFAllocate__JZ" bool, &DB[4]);
setting!(get "DBOptions_allowIngestBehind__J" bool, &DB[5]);
setting!(set "DBOptions_setAllowIngestBehind__JZ" bool, &DB[5]);
setting!(get "Options_allowIngestBehind__J" bool, &DB[5]);
setting!(set "Options_setAllowIngestBehind__JZ" bool, &DB[5]);
setting!(get "DBOptions_allowMmapReads__J" bool, &DB[6]);
setting!(set "DBOptions_setAllowMmapReads__JZ" bool, &DB[6]);
setting!(get "Options_allowMmapReads__J" bool, &DB[6]);
setting!(set "Options_setAllowMmapReads__JZ" bool, &DB[6]);
setting!(get "DBOptions_allowMmapWrites__J" bool, &DB[7]);
setting!(set "DBOptions_setAllowMmapWrites__JZ" bool, &DB[7]);
setting!(get "Options_allowMmapWrites__J" bool, &DB[7]);
setting!(set "Options_setAllowMmapWrites__JZ" bool, &DB[7]);
setting!(get "DBOptions_atomicFlush__J" bool, &DB[8]);
setting!(set "DBOptions_setAtomicFlush__JZ" bool, &DB[8]);
setting!(get "Options_atomicFlush__J" bool, &DB[8]);
setting!(set "Options_setAtomicFlush__JZ" bool, &DB[8]);
setting!(get "DBOptions_avoidFlushDuringRecovery__J" bool, &DB[9]);
setting!(set "DBOptions_setAvoidFlushDuringRecovery__JZ" bool, &DB[9]);
setting!(get "Options_avoidFlushDuringRecovery__J" bool, &DB[9]);
setting!(set "Options_setAvoidFlushDuringRecovery__JZ" bool, &DB[9]);
setting!(get "DBOptions_avoidFlushDuringShutdown__J" bool, &DB[10]);
setting!(set "DBOptions_setAvoidFlushDuringShutdown__JZ" bool, &DB[10]);
setting!(get "Options_avoidFlushDuringShutdown__J" bool, &DB[10]);
setting!(set "Options_setAvoidFlushDuringShutdown__JZ" bool, &DB[10]);
setting!(get "DBOptions_avoidUnnecessaryBlockingIO__J" bool, &DB[11]);
setting!(set "DBOptions_setAvoidUnnecessaryBlockingIO__JZ" bool, &DB[11]);
setting!(get "Options_avoidUnnecessaryBlockingIO__J" bool, &DB[11]);
setting!(set "Options_setAvoidUnnecessaryBlockingIO__JZ" bool, &DB[11]);
setting!(get "DBOptions_bestEffortsRecovery__J" bool, &DB[12]);
setting!(set "DBOptions_setBestEffortsRecovery__JZ" bool, &DB[12]);
setting!(get "Options_bestEffortsRecovery__J" bool, &DB[12]);
setting!(set "Options_setBestEffortsRecovery__JZ" bool, &DB[12]);
setting!(get "DBOptions_bgerrorResumeRetryInterval__J" i64, &DB[13]);
setting!(set "DBOptions_setBgerrorResumeRetryInterval__JJ" i64, &DB[13]);
setting!(get "Options_bgerrorResumeRetryInterval__J" i64, &DB[13]);
setting!(set "Options_setBgerrorResumeRetryInterval__JJ" i64, &DB[13]);
setting!(get "DBOptions_bytesPerSync__J" i64, &DB[14]);
setting!(set "DBOptions_setBytesPerSync__JJ" i64, &DB[14]);
setting!(get "Options_bytesPerSync__J" i64, &DB[14]);
setting!(set "Options_setBytesPerSync__JJ" i64, &DB[14]);
setting!(get "DBOptions_compactionReadaheadSize__J" i64, &DB[15]);
setting!(set "DBOptions_setCompactionReadaheadSize__JJ" i64, &DB[15]);
setting!(get "Options_compactionReadaheadSize__J" i64, &DB[15]);
setting!(set "Options_setCompactionReadaheadSize__JJ" i64, &DB[15]);
setting!(get "DBOptions_createIfMissing__J" bool, &DB[16]);
setting!(set "DBOptions_setCreateIfMissing__JZ" bool, &DB[16]);
setting!(get "Options_createIfMissing__J" bool, &DB[16]);
setting!(set "Options_setCreateIfMissing__JZ" bool, &DB[16]);
setting!(get "DBOptions_createMissingColumnFamilies__J" bool, &DB[17]);
setting!(set "DBOptions_setCreateMissingColumnFamilies__JZ" bool, &DB[17]);
setting!(get "Options_createMissingColumnFamilies__J" bool, &DB[17]);
setting!(set "Options_setCreateMissingColumnFamilies__JZ" bool, &DB[17]);
setting!(get "DBOptions_dailyOffpeakTimeUTC__J" JString, &DB[18]);
setting!(set "DBOptions_setDailyOffpeakTimeUTC__JLjava_lang_String_2" JString, &DB[18]);
setting!(get "Options_dailyOffpeakTimeUTC__J" JString, &DB[18]);
setting!(set "Options_setDailyOffpeakTimeUTC__JLjava_lang_String_2" JString, &DB[18]);
setting!(get "DBOptions_dbLogDir__J" JString, &DB[19]);
setting!(set "DBOptions_setDbLogDir__JLjava_lang_String_2" JString, &DB[19]);
setting!(get "Options_dbLogDir__J" JString, &DB[19]);
setting!(set "Options_setDbLogDir__JLjava_lang_String_2" JString, &DB[19]);
setting!(get "DBOptions_dbWriteBufferSize__J" i64, &DB[20]);
setting!(set "DBOptions_setDbWriteBufferSize__JJ" i64, &DB[20]);
setting!(get "Options_dbWriteBufferSize__J" i64, &DB[20]);
setting!(set "Options_setDbWriteBufferSize__JJ" i64, &DB[20]);
setting!(get "DBOptions_delayedWriteRate__J" i64, &DB[21]);
setting!(set "DBOptions_setDelayedWriteRate__JJ" i64, &DB[21]);
setting!(get "Options_delayedWriteRate__J" i64, &DB[21]);
setting!(set "Options_setDelayedWriteRate__JJ" i64, &DB[21]);
setting!(get "DBOptions_deleteObsoleteFilesPeriodMicros__J" i64, &DB[22]);
setting!(set "DBOptions_setDeleteObsoleteFilesPeriodMicros__JJ" i64, &DB[22]);
setting!(get "Options_deleteObsoleteFilesPeriodMicros__J" i64, &DB[22]);
setting!(set "Options_setDeleteObsoleteFilesPeriodMicros__JJ" i64, &DB[22]);
setting!(get "DBOptions_dumpMallocStats__J" bool, &DB[23]);
setting!(set "DBOptions_setDumpMallocStats__JZ" bool, &DB[23]);
setting!(get "Options_dumpMallocStats__J" bool, &DB[23]);
setting!(set "Options_setDumpMallocStats__JZ" bool, &DB[23]);
setting!(get "DBOptions_enablePipelinedWrite__J" bool, &DB[24]);
setting!(set "DBOptions_setEnablePipelinedWrite__JZ" bool, &DB[24]);
setting!(get "Options_enablePipelinedWrite__J" bool, &DB[24]);
setting!(set "Options_setEnablePipelinedWrite__JZ" bool, &DB[24]);
setting!(get "DBOptions_enableThreadTracking__J" bool, &DB[25]);
setting!(set "DBOptions_setEnableThreadTracking__JZ" bool, &DB[25]);
setting!(get "Options_enableThreadTracking__J" bool, &DB[25]);
setting!(set "Options_setEnableThreadTracking__JZ" bool, &DB[25]);
setting!(get "DBOptions_enableWriteThreadAdaptiveYield__J" bool, &DB[26]);
setting!(set "DBOptions_setEnableWriteThreadAdaptiveYield__JZ" bool, &DB[26]);
setting!(get "Options_enableWriteThreadAdaptiveYield__J" bool, &DB[26]);
setting!(set "Options_setEnableWriteThreadAdaptiveYield__JZ" bool, &DB[26]);
setting!(get "DBOptions_errorIfExists__J" bool, &DB[27]);
setting!(set "DBOptions_setErrorIfExists__JZ" bool, &DB[27]);
setting!(get "Options_errorIfExists__J" bool, &DB[27]);
setting!(set "Options_setErrorIfExists__JZ" bool, &DB[27]);
setting!(get "DBOptions_failIfOptionsFileError__J" bool, &DB[28]);
setting!(set "DBOptions_setFailIfOptionsFileError__JZ" bool, &DB[28]);
setting!(get "Options_failIfOptionsFileError__J" bool, &DB[28]);
setting!(set "Options_setFailIfOptionsFileError__JZ" bool, &DB[28]);
setting!(get "DBOptions_infoLogLevel__J" i8, &DB[29]);
setting!(set "DBOptions_setInfoLogLevel__JB" i8, &DB[29]);
setting!(get "Options_infoLogLevel__J" i8, &DB[29]);
setting!(set "Options_setInfoLogLevel__JB" i8, &DB[29]);
setting!(get "DBOptions_isFdCloseOnExec__J" bool, &DB[30]);
setting!(set "DBOptions_setIsFdCloseOnExec__JZ" bool, &DB[30]);
setting!(get "Options_isFdCloseOnExec__J" bool, &DB[30]);
setting!(set "Options_setIsFdCloseOnExec__JZ" bool, &DB[30]);
setting!(get "DBOptions_keepLogFileNum__J" i64, &DB[31]);
setting!(set "DBOptions_setKeepLogFileNum__JJ" i64, &DB[31]);
setting!(get "Options_keepLogFileNum__J" i64, &DB[31]);
setting!(set "Options_setKeepLogFileNum__JJ" i64, &DB[31]);
setting!(get "DBOptions_logFileTimeToRoll__J" i64, &DB[32]);
setting!(set "DBOptions_setLogFileTimeToRoll__JJ" i64, &DB[32]);
setting!(get "Options_logFileTimeToRoll__J" i64, &DB[32]);
setting!(set "Options_setLogFileTimeToRoll__JJ" i64, &DB[32]);
setting!(get "DBOptions_logReadaheadSize__J" i64, &DB[33]);
setting!(set "DBOptions_setLogReadaheadSize__JJ" i64, &DB[33]);
setting!(get "Options_logReadaheadSize__J" i64, &DB[33]);
setting!(set "Options_setLogReadaheadSize__JJ" i64, &DB[33]);
setting!(get "DBOptions_manifestPreallocationSize__J" i64, &DB[34]);
setting!(set "DBOptions_setManifestPreallocationSize__JJ" i64, &DB[34]);
setting!(get "Options_manifestPreallocationSize__J" i64, &DB[34]);
setting!(set "Options_setManifestPreallocationSize__JJ" i64, &DB[34]);
setting!(get "DBOptions_manualWalFlush__J" bool, &DB[35]);
setting!(set "DBOptions_setManualWalFlush__JZ" bool, &DB[35]);
setting!(get "Options_manualWalFlush__J" bool, &DB[35]);
setting!(set "Options_setManualWalFlush__JZ" bool, &DB[35]);
setting!(get "DBOptions_maxBackgroundCompactions__J" i32, &DB[36]);
setting!(set "DBOptions_setMaxBackgroundCompactions__JI" i32, &DB[36]);
setting!(get "Options_maxBackgroundCompactions__J" i32, &DB[36]);
setting!(set "Options_setMaxBackgroundCompactions__JI" i32, &DB[36]);
setting!(get "DBOptions_maxBackgroundFlushes__J" i32, &DB[37]);
setting!(set "DBOptions_setMaxBackgroundFlushes__JI" i32, &DB[37]);
setting!(get "Options_maxBackgroundFlushes__J" i32, &DB[37]);
setting!(set "Options_setMaxBackgroundFlushes__JI" i32, &DB[37]);
setting!(get "DBOptions_maxBackgroundJobs__J" i32, &DB[38]);
setting!(set "DBOptions_setMaxBackgroundJobs__JI" i32, &DB[38]);
setting!(get "Options_maxBackgroundJobs__J" i32, &DB[38]);
setting!(set "Options_setMaxBackgroundJobs__JI" i32, &DB[38]);
setting!(get "DBOptions_maxBgerrorResumeCount__J" i32, &DB[39]);
setting!(set "DBOptions_setMaxBgErrorResumeCount__JI" i32, &DB[39]);
setting!(get "Options_maxBgerrorResumeCount__J" i32, &DB[39]);
setting!(set "Options_setMaxBgErrorResumeCount__JI" i32, &DB[39]);
setting!(get "DBOptions_maxCompactionTriggerWakeupSeconds__J" i64, &DB[40]);
setting!(set "DBOptions_setMaxCompactionTriggerWakeupSeconds__JJ" i64, &DB[40]);
setting!(get "Options_maxCompactionTriggerWakeupSeconds__J" i64, &DB[40]);
setting!(set "Options_setMaxCompactionTriggerWakeupSeconds__JJ" i64, &DB[40]);
setting!(get "DBOptions_maxFileOpeningThreads__J" i32, &DB[41]);
setting!(set "DBOptions_setMaxFileOpeningThreads__JI" i32, &DB[41]);
setting!(get "Options_maxFileOpeningThreads__J" i32, &DB[41]);
setting!(set "Options_setMaxFileOpeningThreads__JI" i32, &DB[41]);
setting!(get "DBOptions_maxLogFileSize__J" i64, &DB[42]);
setting!(set "DBOptions_setMaxLogFileSize__JJ" i64, &DB[42]);
setting!(get "Options_maxLogFileSize__J" i64, &DB[42]);
setting!(set "Options_setMaxLogFileSize__JJ" i64, &DB[42]);
setting!(get "DBOptions_maxManifestFileSize__J" i64, &DB[43]);
setting!(set "DBOptions_setMaxManifestFileSize__JJ" i64, &DB[43]);
setting!(get "Options_maxManifestFileSize__J" i64, &DB[43]);
setting!(set "Options_setMaxManifestFileSize__JJ" i64, &DB[43]);
setting!(get "DBOptions_maxOpenFiles__J" i32, &DB[44]);
setting!(set "DBOptions_setMaxOpenFiles__JI" i32, &DB[44]);
setting!(get "Options_maxOpenFiles__J" i32, &DB[44]);
setting!(set "Options_setMaxOpenFiles__JI" i32, &DB[44]);
setting!(get "DBOptions_maxSubcompactions__J" i32, &DB[45]);
setting!(set "DBOptions_setMaxSubcompactions__JI" i32, &DB[45]);
setting!(get "Options_maxSubcompactions__J" i32, &DB[45]);
setting!(set "Options_setMaxSubcompactions__JI" i32, &DB[45]);
setting!(get "DBOptions_maxTotalWalSize__J" i64, &DB[46]);
setting!(set "DBOptions_setMaxTotalWalSize__JJ" i64, &DB[46]);
setting!(get "Options_maxTotalWalSize__J" i64, &DB[46]);
setting!(set "Options_setMaxTotalWalSize__JJ" i64, &DB[46]);
setting!(get "DBOptions_maxWriteBatchGroupSizeBytes__J" i64, &DB[47]);
setting!(set "DBOptions_setMaxWriteBatchGroupSizeBytes__JJ" i64, &DB[47]);
setting!(get "Options_maxWriteBatchGroupSizeBytes__J" i64, &DB[47]);
setting!(set "Options_setMaxWriteBatchGroupSizeBytes__JJ" i64, &DB[47]);
setting!(get "DBOptions_openFilesAsync__J" bool, &DB[48]);
setting!(set "DBOptions_setOpenFilesAsync__JZ" bool, &DB[48]);
setting!(get "Options_openFilesAsync__J" bool, &DB[48]);
setting!(set "Options_setOpenFilesAsync__JZ" bool, &DB[48]);
setting!(get "DBOptions_paranoidChecks__J" bool, &DB[49]);
setting!(set "DBOptions_setParanoidChecks__JZ" bool, &DB[49]);
setting!(get "Options_paranoidChecks__J" bool, &DB[49]);
setting!(set "Options_setParanoidChecks__JZ" bool, &DB[49]);
setting!(get "DBOptions_persistStatsToDisk__J" bool, &DB[50]);
setting!(set "DBOptions_setPersistStatsToDisk__JZ" bool, &DB[50]);
setting!(get "Options_persistStatsToDisk__J" bool, &DB[50]);
setting!(set "Options_setPersistStatsToDisk__JZ" bool, &DB[50]);
setting!(get "DBOptions_randomAccessMaxBufferSize__J" i64, &DB[51]);
setting!(set "DBOptions_setRandomAccessMaxBufferSize__JJ" i64, &DB[51]);
setting!(get "Options_randomAccessMaxBufferSize__J" i64, &DB[51]);
setting!(set "Options_setRandomAccessMaxBufferSize__JJ" i64, &DB[51]);
setting!(get "DBOptions_recycleLogFileNum__J" i64, &DB[52]);
setting!(set "DBOptions_setRecycleLogFileNum__JJ" i64, &DB[52]);
setting!(get "Options_recycleLogFileNum__J" i64, &DB[52]);
setting!(set "Options_setRecycleLogFileNum__JJ" i64, &DB[52]);
setting!(set "DBOptions_setSkipCheckingSstFileSizesOnDbOpen__JZ" bool, &DB[53]);
setting!(get "DBOptions_skipCheckingSstFileSizesOnDbOpen__J" bool, &DB[53]);
setting!(set "Options_setSkipCheckingSstFileSizesOnDbOpen__JZ" bool, &DB[53]);
setting!(get "Options_skipCheckingSstFileSizesOnDbOpen__J" bool, &DB[53]);
setting!(set "DBOptions_setSkipStatsUpdateOnDbOpen__JZ" bool, &DB[54]);
setting!(get "DBOptions_skipStatsUpdateOnDbOpen__J" bool, &DB[54]);
setting!(set "Options_setSkipStatsUpdateOnDbOpen__JZ" bool, &DB[54]);
setting!(get "Options_skipStatsUpdateOnDbOpen__J" bool, &DB[54]);
setting!(set "DBOptions_setStatsDumpPeriodSec__JI" i32, &DB[55]);
setting!(get "DBOptions_statsDumpPeriodSec__J" i32, &DB[55]);
setting!(set "Options_setStatsDumpPeriodSec__JI" i32, &DB[55]);
setting!(get "Options_statsDumpPeriodSec__J" i32, &DB[55]);
setting!(set "DBOptions_setStatsHistoryBufferSize__JJ" i64, &DB[56]);
setting!(get "DBOptions_statsHistoryBufferSize__J" i64, &DB[56]);
setting!(set "Options_setStatsHistoryBufferSize__JJ" i64, &DB[56]);
setting!(get "Options_statsHistoryBufferSize__J" i64, &DB[56]);
setting!(set "DBOptions_setStatsPersistPeriodSec__JI" i32, &DB[57]);
setting!(get "DBOptions_statsPersistPeriodSec__J" i32, &DB[57]);
setting!(set "Options_setStatsPersistPeriodSec__JI" i32, &DB[57]);
setting!(get "Options_statsPersistPeriodSec__J" i32, &DB[57]);
setting!(set "DBOptions_setStrictBytesPerSync__JZ" bool, &DB[58]);
setting!(get "DBOptions_strictBytesPerSync__J" bool, &DB[58]);
setting!(set "Options_setStrictBytesPerSync__JZ" bool, &DB[58]);
setting!(get "Options_strictBytesPerSync__J" bool, &DB[58]);
setting!(set "DBOptions_setTableCacheNumshardbits__JI" i32, &DB[59]);
setting!(get "DBOptions_tableCacheNumshardbits__J" i32, &DB[59]);
setting!(set "Options_setTableCacheNumshardbits__JI" i32, &DB[59]);
setting!(get "Options_tableCacheNumshardbits__J" i32, &DB[59]);
setting!(set "DBOptions_setTwoWriteQueues__JZ" bool, &DB[60]);
setting!(get "DBOptions_twoWriteQueues__J" bool, &DB[60]);
setting!(set "Options_setTwoWriteQueues__JZ" bool, &DB[60]);
setting!(get "Options_twoWriteQueues__J" bool, &DB[60]);
setting!(set "DBOptions_setUnorderedWrite__JZ" bool, &DB[61]);
setting!(get "DBOptions_unorderedWrite__J" bool, &DB[61]);
setting!(set "Options_setUnorderedWrite__JZ" bool, &DB[61]);
setting!(get "Options_unorderedWrite__J" bool, &DB[61]);
setting!(set "DBOptions_setUseAdaptiveMutex__JZ" bool, &DB[62]);
setting!(get "DBOptions_useAdaptiveMutex__J" bool, &DB[62]);
setting!(set "Options_setUseAdaptiveMutex__JZ" bool, &DB[62]);
setting!(get "Options_useAdaptiveMutex__J" bool, &DB[62]);
setting!(set "DBOptions_setUseDirectIoForFlushAndCompaction__JZ" bool, &DB[63]);
setting!(get "DBOptions_useDirectIoForFlushAndCompaction__J" bool, &DB[63]);
setting!(set "Options_setUseDirectIoForFlushAndCompaction__JZ" bool, &DB[63]);
setting!(get "Options_useDirectIoForFlushAndCompaction__J" bool, &DB[63]);
setting!(set "DBOptions_setUseDirectReads__JZ" bool, &DB[64]);
setting!(get "DBOptions_useDirectReads__J" bool, &DB[64]);
setting!(set "Options_setUseDirectReads__JZ" bool, &DB[64]);
setting!(get "Options_useDirectReads__J" bool, &DB[64]);
setting!(set "DBOptions_setUseFsync__JZ" bool, &DB[65]);
setting!(get "DBOptions_useFsync__J" bool, &DB[65]);
setting!(set "Options_setUseFsync__JZ" bool, &DB[65]);
setting!(get "Options_useFsync__J" bool, &DB[65]);
setting!(set "DBOptions_setWalBytesPerSync__JJ" i64, &DB[66]);
setting!(get "DBOptions_walBytesPerSync__J" i64, &DB[66]);
setting!(set "Options_setWalBytesPerSync__JJ" i64, &DB[66]);
setting!(get "Options_walBytesPerSync__J" i64, &DB[66]);
setting!(set "DBOptions_setWalDir__JLjava_lang_String_2" JString, &DB[67]);
setting!(get "DBOptions_walDir__J" JString, &DB[67]);
setting!(set "Options_setWalDir__JLjava_lang_String_2" JString, &DB[67]);
setting!(get "Options_walDir__J" JString, &DB[67]);
setting!(set "DBOptions_setWalRecoveryMode__JB" i8, &DB[68]);
setting!(get "DBOptions_walRecoveryMode__J" i8, &DB[68]);
setting!(set "Options_setWalRecoveryMode__JB" i8, &DB[68]);
setting!(get "Options_walRecoveryMode__J" i8, &DB[68]);
setting!(set "DBOptions_setWalSizeLimitMB__JJ" i64, &DB[69]);
setting!(get "DBOptions_walSizeLimitMB__J" i64, &DB[69]);
setting!(set "Options_setWalSizeLimitMB__JJ" i64, &DB[69]);
setting!(get "Options_walSizeLimitMB__J" i64, &DB[69]);
setting!(set "DBOptions_setWalTtlSeconds__JJ" i64, &DB[70]);
setting!(get "DBOptions_walTtlSeconds__J" i64, &DB[70]);
setting!(set "Options_setWalTtlSeconds__JJ" i64, &DB[70]);
setting!(get "Options_walTtlSeconds__J" i64, &DB[70]);
setting!(set "DBOptions_setWritableFileMaxBufferSize__JJ" i64, &DB[71]);
setting!(get "DBOptions_writableFileMaxBufferSize__J" i64, &DB[71]);
setting!(set "Options_setWritableFileMaxBufferSize__JJ" i64, &DB[71]);
setting!(get "Options_writableFileMaxBufferSize__J" i64, &DB[71]);
setting!(set "DBOptions_setWriteDbidToManifest__JZ" bool, &DB[72]);
setting!(get "DBOptions_writeDbidToManifest__J" bool, &DB[72]);
setting!(set "Options_setWriteDbidToManifest__JZ" bool, &DB[72]);
setting!(get "Options_writeDbidToManifest__J" bool, &DB[72]);
setting!(set "DBOptions_setWriteThreadMaxYieldUsec__JJ" i64, &DB[73]);
setting!(get "DBOptions_writeThreadMaxYieldUsec__J" i64, &DB[73]);
setting!(set "Options_setWriteThreadMaxYieldUsec__JJ" i64, &DB[73]);
setting!(get "Options_writeThreadMaxYieldUsec__J" i64, &DB[73]);
setting!(set "DBOptions_setWriteThreadSlowYieldUsec__JJ" i64, &DB[74]);
setting!(get "DBOptions_writeThreadSlowYieldUsec__J" i64, &DB[74]);
setting!(set "Options_setWriteThreadSlowYieldUsec__JJ" i64, &DB[74]);
setting!(get "Options_writeThreadSlowYieldUsec__J" i64, &DB[74]);
setting!(get "EnvOptions_allowFallocate__J" bool, &ENV[0]);
setting!(set "EnvOptions_setAllowFallocate__JZ" bool, &ENV[0]);
setting!(get "EnvOptions_bytesPerSync__J" i64, &ENV[1]);
setting!(set "EnvOptions_setBytesPerSync__JJ" i64, &ENV[1]);
setting!(get "EnvOptions_compactionReadaheadSize__J" i64, &ENV[2]);
setting!(set "EnvOptions_setCompactionReadaheadSize__JJ" i64, &ENV[2]);
setting!(get "EnvOptions_fallocateWithKeepSize__J" bool, &ENV[3]);
setting!(set "EnvOptions_setFallocateWithKeepSize__JZ" bool, &ENV[3]);
setting!(get "EnvOptions_randomAccessMaxBufferSize__J" i64, &ENV[4]);
setting!(set "EnvOptions_setRandomAccessMaxBufferSize__JJ" i64, &ENV[4]);
setting!(get "EnvOptions_setFdCloexec__J" bool, &ENV[5]);
setting!(set "EnvOptions_setSetFdCloexec__JZ" bool, &ENV[5]);
setting!(set "EnvOptions_setUseDirectReads__JZ" bool, &ENV[6]);
setting!(get "EnvOptions_useDirectReads__J" bool, &ENV[6]);
setting!(set "EnvOptions_setUseDirectWrites__JZ" bool, &ENV[7]);
setting!(get "EnvOptions_useDirectWrites__J" bool, &ENV[7]);
setting!(set "EnvOptions_setUseMmapReads__JZ" bool, &ENV[8]);
setting!(get "EnvOptions_useMmapReads__J" bool, &ENV[8]);
setting!(set "EnvOptions_setUseMmapWrites__JZ" bool, &ENV[9]);
setting!(get "EnvOptions_useMmapWrites__J" bool, &ENV[9]);
setting!(set "EnvOptions_setWritableFileMaxBufferSize__JJ" i64, &ENV[10]);
setting!(get "EnvOptions_writableFileMaxBufferSize__J" i64, &ENV[10]);
setting!(get "CompactionOptionsFIFO_allowCompaction__J" bool, &FIFO[0]);
setting!(set "CompactionOptionsFIFO_setAllowCompaction__JZ" bool, &FIFO[0]);
setting!(get "CompactionOptionsFIFO_maxDataFilesSize__J" i64, &FIFO[1]);
setting!(set "CompactionOptionsFIFO_setMaxDataFilesSize__JJ" i64, &FIFO[1]);
setting!(get "CompactionOptionsFIFO_maxTableFilesSize__J" i64, &FIFO[2]);
setting!(set "CompactionOptionsFIFO_setMaxTableFilesSize__JJ" i64, &FIFO[2]);
setting!(set "CompactionOptionsFIFO_setUseKvRatioCompaction__JZ" bool, &FIFO[3]);
setting!(get "CompactionOptionsFIFO_useKvRatioCompaction__J" bool, &FIFO[3]);
setting!(get "FlushOptions_allowWriteStall__J" bool, &FLUSH[0]);
setting!(set "FlushOptions_setAllowWriteStall__JZ" bool, &FLUSH[0]);
setting!(get "FlushOptions_listenerWait__J" bool, &FLUSH[1]);
setting!(set "FlushOptions_setListenerWait__JZ" bool, &FLUSH[1]);
setting!(set "FlushOptions_setWaitForFlush__JZ" bool, &FLUSH[2]);
setting!(get "FlushOptions_waitForFlush__J" bool, &FLUSH[2]);
setting!(get "ImportColumnFamilyOptions_moveFiles__J" bool, &IMPORT[0]);
setting!(set "ImportColumnFamilyOptions_setMoveFiles__JZ" bool, &IMPORT[0]);
setting!(get "IngestExternalFileOptions_allowBlockingFlush__J" bool, &INGEST[0]);
setting!(set "IngestExternalFileOptions_setAllowBlockingFlush__JZ" bool, &INGEST[0]);
setting!(get "IngestExternalFileOptions_allowGlobalSeqNo__J" bool, &INGEST[1]);
setting!(set "IngestExternalFileOptions_setAllowGlobalSeqNo__JZ" bool, &INGEST[1]);
setting!(get "IngestExternalFileOptions_ingestBehind__J" bool, &INGEST[2]);
setting!(set "IngestExternalFileOptions_setIngestBehind__JZ" bool, &INGEST[2]);
setting!(get "IngestExternalFileOptions_moveFiles__J" bool, &INGEST[3]);
setting!(set "IngestExternalFileOptions_setMoveFiles__JZ" bool, &INGEST[3]);
setting!(set "IngestExternalFileOptions_setSnapshotConsistency__JZ" bool, &INGEST[4]);
setting!(get "IngestExternalFileOptions_snapshotConsistency__J" bool, &INGEST[4]);
setting!(set "IngestExternalFileOptions_setWriteGlobalSeqno__JZ" bool, &INGEST[5]);
setting!(get "IngestExternalFileOptions_writeGlobalSeqno__J" bool, &INGEST[5]);
setting!(get "OptimisticTransactionOptions_isSetSnapshot__J" bool, &OPTIMISTIC[0]);
setting!(set "OptimisticTransactionOptions_setSetSnapshot__JZ" bool, &OPTIMISTIC[0]);
setting!(get "ReadOptions_asyncIo__J" bool, &READ[0]);
setting!(set "ReadOptions_setAsyncIo__JZ" bool, &READ[0]);
setting!(get "ReadOptions_autoPrefixMode__J" bool, &READ[1]);
setting!(set "ReadOptions_setAutoPrefixMode__JZ" bool, &READ[1]);
setting!(get "ReadOptions_backgroundPurgeOnIteratorCleanup__J" bool, &READ[2]);
setting!(set "ReadOptions_setBackgroundPurgeOnIteratorCleanup__JZ" bool, &READ[2]);
setting!(get "ReadOptions_deadline__J" i64, &READ[3]);
setting!(set "ReadOptions_setDeadline__JJ" i64, &READ[3]);
setting!(get "ReadOptions_fillCache__J" bool, &READ[4]);
setting!(set "ReadOptions_setFillCache__JZ" bool, &READ[4]);
setting!(get "ReadOptions_ignoreRangeDeletions__J" bool, &READ[5]);
setting!(set "ReadOptions_setIgnoreRangeDeletions__JZ" bool, &READ[5]);
setting!(get "ReadOptions_ioTimeout__J" i64, &READ[6]);
setting!(set "ReadOptions_setIoTimeout__JJ" i64, &READ[6]);
setting!(get "ReadOptions_managed__J" bool, &READ[7]);
setting!(set "ReadOptions_setManaged__JZ" bool, &READ[7]);
setting!(get "ReadOptions_maxSkippableInternalKeys__J" i64, &READ[8]);
setting!(set "ReadOptions_setMaxSkippableInternalKeys__JJ" i64, &READ[8]);
setting!(get "ReadOptions_pinData__J" bool, &READ[9]);
setting!(set "ReadOptions_setPinData__JZ" bool, &READ[9]);
setting!(get "ReadOptions_prefixSameAsStart__J" bool, &READ[10]);
setting!(set "ReadOptions_setPrefixSameAsStart__JZ" bool, &READ[10]);
setting!(get "ReadOptions_readTier__J" i8, &READ[11]);
setting!(set "ReadOptions_setReadTier__JB" i8, &READ[11]);
setting!(get "ReadOptions_readaheadSize__J" i64, &READ[12]);
setting!(set "ReadOptions_setReadaheadSize__JJ" i64, &READ[12]);
setting!(set "ReadOptions_setTailing__JZ" bool, &READ[13]);
setting!(get "ReadOptions_tailing__J" bool, &READ[13]);
setting!(set "ReadOptions_setTotalOrderSeek__JZ" bool, &READ[14]);
setting!(get "ReadOptions_totalOrderSeek__J" bool, &READ[14]);
setting!(set "ReadOptions_setValueSizeSoftLimit__JJ" i64, &READ[15]);
setting!(get "ReadOptions_valueSizeSoftLimit__J" i64, &READ[15]);
setting!(set "ReadOptions_setVerifyChecksums__JZ" bool, &READ[16]);
setting!(get "ReadOptions_verifyChecksums__J" bool, &READ[16]);
setting!(get "TransactionOptions_isDeadlockDetect__J" bool, &TXN[0]);
setting!(set "TransactionOptions_setDeadlockDetect__JZ" bool, &TXN[0]);
setting!(get "TransactionOptions_getDeadlockDetectDepth__J" i64, &TXN[1]);
setting!(set "TransactionOptions_setDeadlockDetectDepth__JJ" i64, &TXN[1]);
setting!(get "TransactionOptions_getExpiration__J" i64, &TXN[2]);
setting!(set "TransactionOptions_setExpiration__JJ" i64, &TXN[2]);
setting!(get "TransactionOptions_getLockTimeout__J" i64, &TXN[3]);
setting!(set "TransactionOptions_setLockTimeout__JJ" i64, &TXN[3]);
setting!(get "TransactionOptions_getMaxWriteBatchSize__J" i64, &TXN[4]);
setting!(set "TransactionOptions_setMaxWriteBatchSize__JJ" i64, &TXN[4]);
setting!(get "TransactionOptions_isSetSnapshot__J" bool, &TXN[5]);
setting!(set "TransactionOptions_setSetSnapshot__JZ" bool, &TXN[5]);
setting!(get "TransactionDBOptions_getDefaultLockTimeout__J" i64, &TXN_DB[0]);
setting!(set "TransactionDBOptions_setDefaultLockTimeout__JJ" i64, &TXN_DB[0]);
setting!(get "TransactionDBOptions_getMaxNumLocks__J" i64, &TXN_DB[1]);
setting!(set "TransactionDBOptions_setMaxNumLocks__JJ" i64, &TXN_DB[1]);
setting!(get "TransactionDBOptions_getNumStripes__J" i64, &TXN_DB[2]);
setting!(set "TransactionDBOptions_setNumStripes__JJ" i64, &TXN_DB[2]);
setting!(get "TransactionDBOptions_getTransactionLockTimeout__J" i64, &TXN_DB[3]);
setting!(set "TransactionDBOptions_setTransactionLockTimeout__JJ" i64, &TXN_DB[3]);
setting!(get "TransactionDBOptions_getWritePolicy__J" i8, &TXN_DB[4]);
setting!(set "TransactionDBOptions_setWritePolicy__JB" i8, &TXN_DB[4]);
setting!(get "CompactionOptionsUniversal_allowTrivialMove__J" bool, &UNIVERSAL[0]);
setting!(set "CompactionOptionsUniversal_setAllowTrivialMove__JZ" bool, &UNIVERSAL[0]);
setting!(get "CompactionOptionsUniversal_compressionSizePercent__J" i32, &UNIVERSAL[1]);
setting!(set "CompactionOptionsUniversal_setCompressionSizePercent__JI" i32, &UNIVERSAL[1]);
setting!(get "CompactionOptionsUniversal_maxMergeWidth__J" i32, &UNIVERSAL[2]);
setting!(set "CompactionOptionsUniversal_setMaxMergeWidth__JI" i32, &UNIVERSAL[2]);
setting!(get "CompactionOptionsUniversal_maxSizeAmplificationPercent__J" i32, &UNIVERSAL[3]);
setting!(set "CompactionOptionsUniversal_setMaxSizeAmplificationPercent__JI" i32, &UNIVERSAL[3]);
setting!(get "CompactionOptionsUniversal_minMergeWidth__J" i32, &UNIVERSAL[4]);
setting!(set "CompactionOptionsUniversal_setMinMergeWidth__JI" i32, &UNIVERSAL[4]);
setting!(set "CompactionOptionsUniversal_setSizeRatio__JI" i32, &UNIVERSAL[5]);
setting!(get "CompactionOptionsUniversal_sizeRatio__J" i32, &UNIVERSAL[5]);
setting!(set "CompactionOptionsUniversal_setStopStyle__JB" i8, &UNIVERSAL[6]);
setting!(get "CompactionOptionsUniversal_stopStyle__J" i8, &UNIVERSAL[6]);
setting!(get "WriteOptions_disableWAL__J" bool, &WRITE[0]);
setting!(set "WriteOptions_setDisableWAL__JZ" bool, &WRITE[0]);
setting!(get "WriteOptions_ignoreMissingColumnFamilies__J" bool, &WRITE[1]);
setting!(set "WriteOptions_setIgnoreMissingColumnFamilies__JZ" bool, &WRITE[1]);
setting!(get "WriteOptions_lowPri__J" bool, &WRITE[2]);
setting!(set "WriteOptions_setLowPri__JZ" bool, &WRITE[2]);
setting!(get "WriteOptions_memtableInsertHintPerBatch__J" bool, &WRITE[3]);
setting!(set "WriteOptions_setMemtableInsertHintPerBatch__JZ" bool, &WRITE[3]);
setting!(get "WriteOptions_noSlowdown__J" bool, &WRITE[4]);
setting!(set "WriteOptions_setNoSlowdown__JZ" bool, &WRITE[4]);
setting!(set "WriteOptions_setSync__JZ" bool, &WRITE[5]);
setting!(get "WriteOptions_sync__J" bool, &WRITE[5]);
