//! The flags of db_stress: RocksDB's names, defaults and meaning, and a few of Esker's own.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Result};
use encryption::{EncryptedFs, KeyRing};
use esker::DbPath;
use vfs::FileSystem;

flags::flags! {
    /// The values of all flags.
    pub struct Flags, others of RocksDB in include_str!("rocksdb_flags.txt");
    /// Directory of the database. Empty: `dbstress` in $TEST_TMPDIR or in /tmp/rocksdbtest-UID.
    db: String = String::new();
    /// Directory of the expected state, which outlives the process. Empty: the state is in memory alone.
    expected_values_dir: String = String::new();
    /// Begins with an empty database and an empty expected state.
    destroy_db_initially: bool = true;
    /// Seed of every thread's choices; 0: a random seed, which is printed.
    seed: u64 = 0;
    /// The number of threads.
    threads: u32 = 32;
    /// The number of operations of each thread.
    ops_per_thread: u64 = 1_200_000;
    /// The number of keys of each column family.
    max_key: u64 = 1 << 20;
    /// The number of column families.
    column_families: u32 = 10;
    /// Number of times that the database is closed and reopened.
    reopen: u32 = 10;
    /// Each open may move the WALs to the database's own directory or to one of two others next to it.
    /// Esker's own flag.
    change_wal_dir: bool = false;
    /// Number of directories for tables, next to the database's, up to four; 0: its own. Esker's own flag.
    /// Compactions are leveled if --compaction_style names a style that needs one directory.
    table_paths: u32 = 0;
    /// Each lock guards 2 to the power of this number of keys.
    log2_keys_per_lock: u32 = 2;
    /// Values have one to three times this number of bytes.
    value_size_mult: u32 = 8;
    /// Percentage of operations that read a key.
    readpercent: i32 = 10;
    /// Percentage of operations that scan the keys of a prefix.
    prefixpercent: i32 = 20;
    /// Percentage of operations that write.
    writepercent: i32 = 45;
    /// Percentage of operations that delete a key.
    delpercent: i32 = 15;
    /// Percentage of operations that delete a range of keys.
    delrangepercent: i32 = 0;
    /// Percentage of operations that move an iterator.
    iterpercent: i32 = 10;
    /// Percentage of keys that are never overwritten, and deleted by single deletions.
    nooverwritepercent: i32 = 60;
    /// Keys that a range deletion covers.
    range_deletion_width: i32 = 10;
    /// Most writes are merges that put.
    use_merge: bool = false;
    /// Half of the reads are MultiGets.
    use_multiget: bool = false;
    /// One in this number of puts is that of a wide-column entity; 0: none.
    use_put_entity_one_in: u64 = 0;
    /// Half of the reads of one key are GetEntity.
    use_get_entity: bool = false;
    /// Half of the reads of several keys are MultiGetEntity.
    use_multi_get_entity: bool = false;
    /// Half of the iterators are over several families, whose rows they show together.
    use_multi_cf_iterator: bool = false;
    /// Half of the rows of iterators over several families are read family by family.
    use_attribute_group: bool = false;
    /// Writes by pessimistic transactions, a third of them with two-phase commit. Without transactions if a
    /// crash may take writes that returned (--disable_wal, --sync_fault_injection,
    /// --manual_wal_flush_one_in).
    use_txn: bool = false;
    /// Writes by optimistic transactions, on the same condition.
    use_optimistic_txn: bool = false;
    /// With use_txn, one in this number of commits creates a snapshot with a timestamp, which must show the
    /// rows of the transaction; older ones are released; 0: none.
    create_timestamped_snapshot_one_in: u64 = 0;
    /// With use_txn: 0 write-committed, 1 write-prepared, 2 write-unprepared. Esker treats 1 and 2 as 0.
    txn_write_policy: u32 = 0;
    /// One in this number of writes is a batch of several keys of several families; 0: none.
    batch_one_in: u64 = 10;
    /// Each thread writes ascending runs of this number of keys, between its other operations; 0: it draws
    /// each key. Esker's own flag.
    ascending_run: u64 = 0;
    /// One in this number of writes fails instead of waiting for a stall, and is not done then; 0: none.
    /// Esker's own flag.
    no_slowdown_one_in: u64 = 0;
    /// One in this number of writes has low priority; 0: none. Esker's own flag.
    low_pri_one_in: u64 = 0;
    /// One in this number of operations is followed by a snapshot; 0: none.
    acquire_snapshot_one_in: u64 = 0;
    /// Operations for which a snapshot is held before it is compared with the state when it was taken, and
    /// released.
    snapshot_hold_ops: u64 = 0;
    /// Iterators over a snapshot release memtables and files that flushes and compactions have replaced.
    auto_refresh_iterator_with_snapshot: bool = false;
    /// Iterators read a value in a blob file only when it is asked for.
    allow_unprepared_value: bool = false;
    /// Bytes a second that flushes and compactions may write; 0: no limit.
    rate_limiter_bytes_per_sec: u64 = 0;
    /// Limits the reads of compactions instead of the writes.
    rate_limit_bg_reads: bool = false;
    /// Bytes a second at which files are deleted; 0: at once, without an SST file manager.
    sst_file_manager_bytes_per_sec: u64 = 0;
    /// Bytes by which a file is truncated at a time when it is deleted at that rate; 0: files are deleted
    /// whole.
    sst_file_manager_bytes_per_truncate: u64 = 0;
    /// Limits the memory of memtables, by --db_write_buffer_size, and charges it to the block cache; writers
    /// wait for flushes.
    use_write_buffer_manager: bool = false;
    /// Counts the engine's statistics and prints them at the end.
    statistics: bool = false;
    /// One in this number of operations is followed by a flush; 0: none.
    flush_one_in: u64 = 0;
    /// One in this number of operations is followed by a compaction of a key range; 0: none.
    compact_range_one_in: u64 = 0;
    /// Keys in the range of a compaction.
    compact_range_width: i32 = 10_000;
    /// One in this number of operations is followed by a compaction of some files; 0: none.
    compact_files_one_in: u64 = 0;
    /// One in this number of operations is followed by the drop and recreation of a column family; 0: none.
    clear_column_family_one_in: u64 = 1_000_000;
    /// Bytes of a row cache; 0: none.
    row_cache_size: u64 = 0;
    /// A change feed with a durable cursor is read and compared whenever all keys are verified.
    test_feed: bool = false;
    /// One in this number of operations is followed by a sync of the WAL; 0: none.
    sync_wal_one_in: u64 = 0;
    /// One in this number of operations is followed by a flush of the WAL, half the time with a sync, and the
    /// WAL is flushed only then; 0: every write flushes it.
    manual_wal_flush_one_in: u64 = 0;
    /// One in this number of operations is followed by a short lock of the WAL, during which no write may
    /// happen; 0: none.
    lock_wal_one_in: u64 = 1_000_000;
    /// Reads of tables and blob files by users count against --rate_limiter_bytes_per_sec, with
    /// --rate_limit_bg_reads.
    rate_limit_user_ops: bool = false;
    /// Flushes of the WAL by writes count against --rate_limiter_bytes_per_sec.
    rate_limit_auto_wal_flush: bool = false;
    /// One in this number of operations is followed by a query of the size of a key range; 0: none.
    approximate_size_one_in: u64 = 64;
    /// One in this number of operations is followed by KeyMayExist; 0: none.
    key_may_exist_one_in: u64 = 0;
    /// One in this number of operations is followed by a query of the live files, which must exist; 0: none.
    get_live_files_apis_one_in: u64 = 1_000_000;
    /// One in this number of operations is followed by a query of all WALs, with the archived ones; 0: none.
    get_sorted_wal_files_one_in: u64 = 1_000_000;
    /// One in this number of operations is followed by a query of the current WAL; 0: none.
    get_current_wal_file_one_in: u64 = 1_000_000;
    /// One in this number of operations is followed by a query of the levels of all families; 0: none.
    get_all_column_family_metadata_one_in: u64 = 1_000_000;
    /// One in this number of operations is followed by a query of the properties of all tables of a family;
    /// 0: none.
    get_properties_of_all_tables_one_in: u64 = 1_000;
    /// One in this number of operations is followed by a time in which file deletions are disabled; 0: none.
    disable_file_deletions_one_in: u64 = 0;
    /// One in this number of operations is followed by reads of every key of a family in every way, while
    /// other families change; 0: none.
    verify_db_one_in: u64 = 0;
    /// A secondary or a follower opens the database, and is compared.
    test_secondary: bool = false;
    /// Directory of the secondary's own files. Empty: next to the database's.
    secondaries_base: String = String::new();
    /// With test_secondary: one in this number of operations is followed by a catch-up and a comparison; 0:
    /// none.
    secondary_catch_up_one_in: u64 = 0;
    /// With test_secondary: milliseconds between catch-ups with a comparison; 0: none.
    continuous_verification_interval: u64 = 1000;
    /// One in this number of operations is followed by a read-only open with a comparison; 0: none.
    open_read_only_one_in: u64 = 0;
    /// Some snapshots are held ten times longer.
    long_running_snapshots: bool = false;
    /// Reads each key before it is written.
    verify_before_write: bool = false;
    /// Compares half of all MultiGets with Gets at the same snapshot.
    check_multiget_consistency: bool = true;
    /// Only reads every key in every way and checks every file.
    verification_only: bool = false;
    /// Maximum size in bytes of the tables of a database that is backed up; 0: no limit.
    backup_max_size: u64 = 100 << 20;
    /// Most reads put blocks into the block cache; false: none does.
    fill_cache: bool = true;
    /// Bytes that iterators read ahead; 0: the iterators decide.
    readahead_size: u64 = 0;
    /// The automatic readahead of iterators keeps its size from file to file.
    adaptive_readahead: bool = false;
    /// Runs reads in parallel, and in the background of iterators: by io_uring.
    async_io: bool = false;
    /// Half of the iterators are multi-scans.
    use_multiscan: bool = false;
    /// Runs the reads of multi-scans in parallel.
    multiscan_use_async_io: bool = false;
    /// Readahead stops at the bounds of an iterator and skips blocks in the block cache.
    auto_readahead_size: bool = false;
    /// One in this number of operations is followed by a backup that is restored or opened, and compared; 0:
    /// none.
    backup_one_in: u64 = 0;
    /// One in this number of operations, and every open, is followed by a checkpoint that is opened and
    /// compared; 0: none.
    checkpoint_one_in: u64 = 0;
    /// One in this number of operations is followed by an export of a family's tables, an import into this
    /// database or another, and a comparison; 0: none. Esker's own flag.
    export_column_family_one_in: u64 = 0;
    /// One in this number of operations is followed by an ingestion of keys that were written into files; 0:
    /// none.
    ingest_external_file_one_in: u64 = 0;
    /// Keys in the files of an ingestion.
    ingest_external_file_width: i32 = 100;
    /// One in this number of ingestions has two phases, prepared file by file or all files together; 0: none.
    ingest_external_file_prepare_commit_one_in: u64 = 0;
    /// One in this number of ingestions ends with a file of one range deletion, which deletes all keys of the
    /// other files; 0: none.
    test_ingest_standalone_range_deletion_one_in: u64 = 0;
    /// One in this number of ingestions goes behind all data, and is refused if there is no place for it; 0:
    /// none. Needs --allow_ingest_behind.
    ingest_behind_one_in: u64 = 0;
    /// One in this number of ingestions replaces every row of its range of keys; 0: none. Esker's own flag.
    ingest_replace_range_one_in: u64 = 0;
    /// One in this number of operations is followed by a write, merge or deletion of a row longer than the
    /// limit, which must be refused; the limit is lowered to the longest value. 0: none. Esker's own flag.
    large_row_one_in: u64 = 0;
    /// One in this number of operations is followed by a query of a property; 0: none.
    get_property_one_in: u64 = 1_000;
    /// One in this number of operations is followed by the verification of the checksum of every block; 0:
    /// none.
    verify_checksum_one_in: u64 = 0;
    /// One in this number of operations is followed by the verification of the checksum of every file that
    /// has one; 0: none.
    verify_file_checksums_one_in: u64 = 0;
    /// Checksum of whole files: none, crc32c.
    file_checksum_impl: String = "none".to_owned();
    /// Syncs every write.
    sync: bool = false;
    /// Writes without WAL.
    disable_wal: bool = false;
    /// Bytes of a checksum over each operation of a batch, which is kept until the memtable has it: 0 or 8.
    batch_protection_bytes_per_key: u64 = 0;
    /// Average number of changes of files after which the process kills itself and prints the place; 0:
    /// never.
    kill_random_test: u64 = 0;
    /// Names of changes, separated by commas, at which it does not: append, sync, rename and so on, or their
    /// prefixes.
    kill_exclude_prefixes: String = String::new();
    /// The files are encrypted. Stays the same in all runs over a database. Esker's own flag.
    encrypt: bool = false;
    /// Data that is not synced is lost with the process.
    sync_fault_injection: bool = false;
    /// One in this number of file reads fails while the threads work; 0: none.
    read_fault_one_in: u64 = 1000;
    /// One in this number of appends to files fails, completely or with a part of it done; 0: none.
    write_fault_one_in: u64 = 0;
    /// One in this number of queries about files, including opens, fails; 0: none.
    metadata_read_fault_one_in: u64 = 1000;
    /// One in this number of other changes of files, including syncs, fails, or is done and reports a
    /// failure; 0: none.
    metadata_write_fault_one_in: u64 = 1000;
    /// One in this number of file reads fails while the database is opened; 0: none.
    open_read_fault_one_in: u64 = 0;
    /// One in this number of appends to files fails while the database is opened; 0: none.
    open_write_fault_one_in: u64 = 0;
    /// One in this number of queries about files fails while the database is opened; 0: none.
    open_metadata_read_fault_one_in: u64 = 0;
    /// One in this number of other changes of files fails while the database is opened; 0: none.
    open_metadata_write_fault_one_in: u64 = 0;
    /// Changes of WALs do not fail.
    exclude_wal_from_write_fault_injection: bool = false;
    /// One in this number of calls of user code (comparator, merge operator, filter, listener and so on)
    /// panics while the threads work, in reads, writes and background jobs; 0: none.
    user_code_panic_one_in: u64 = 0;
    /// The open that follows an injected failure has no injected failures.
    error_recovery_with_no_fault_injection: bool = false;
    /// Verifies the checksums of blocks that are read.
    verify_checksum: bool = false;
    /// Bytes of the prefix of a key, up to its eight; negative: no prefixes.
    prefix_size: i32 = 7;
    /// Bits for each key in Bloom filters; negative: no filters.
    bloom_bits: f64 = 10.0;
    /// First level whose tables get Ribbon filters, as accurate as Bloom filters with this number of bits;
    /// -1: also those of flushes, 2147483647: none.
    bloom_before_level: i32 = 999;
    /// Bytes of the block cache; 0 or less: none.
    cache_size: i64 = 2 << 30;
    /// Compression: none, snappy, zlib, bzip2, lz4, lz4hc, zstd.
    compression_type: String = "snappy".to_owned();
    /// Threads that compress the blocks of each table; 1: the thread that builds it.
    compression_parallel_threads: u32 = 1;
    /// Bytes of a compression dictionary; 0: none.
    compression_max_dict_bytes: u32 = 0;
    /// Bytes of samples from which ZSTD trains a dictionary; 0: the samples are the dictionary.
    compression_zstd_max_train_bytes: u32 = 0;
    /// Bytes of blocks that are buffered for a dictionary; 0: the engine's limit.
    compression_max_dict_buffer_bytes: u64 = 0;
    /// Adds checksums to ZSTD frames.
    compression_checksum: bool = false;
    /// Trains dictionaries with ZSTD's trainer, the only one available.
    compression_use_zstd_dict_trainer: bool = true;
    /// Compression of the last level; disable: the same as that of the other levels.
    bottommost_compression_type: String = "disable".to_owned();
    /// Checksum type of blocks, by the engine's name.
    checksum_type: String = "kCRC32c".to_owned();
    /// Compaction style: 0 leveled, 1 universal, 2 FIFO, 3 none.
    compaction_style: i32 = 0;
    /// Type of memtables: skip_list or vector, which needs --allow_concurrent_memtable_write=false.
    memtablerep: String = "skip_list".to_owned();
    /// Compactions remove entries of keys that do not exist.
    enable_compaction_filter: bool = false;
    /// Tables end where the first four bytes of keys change.
    enable_sst_partitioner_factory: bool = false;
    /// Tables with many deletions close together are marked for compaction.
    enable_compaction_on_deletion_trigger: bool = false;
    /// Size of the window in which deletions are counted, in entries.
    compaction_on_deletion_window_size: u64 = 100;
    /// Deletions in a window that mark a table.
    compaction_on_deletion_trigger_count: u64 = 50;
    /// Share of deletions among all entries that marks a table; 0: not used.
    compaction_on_deletion_ratio: f64 = 0.5;
    /// Minimum size in bytes of a table that is marked for its deletions.
    compaction_on_deletion_min_file_size: u64 = 32_768;
    /// One in this number of tables is marked for compaction; 0: none.
    mark_for_compaction_one_file_in: u64 = 0;
    /// File of a level that is compacted first, by the number of the priority: 0 to 4.
    compaction_pri: i32 = 3;
    /// Universal compaction: percentage by which the next sorted run may be larger than the runs already
    /// chosen; 0: the engine's default.
    universal_size_ratio: u32 = 0;
    /// Universal compaction: minimum number of sorted runs that are merged; 0: the engine's default.
    universal_min_merge_width: u32 = 0;
    /// Universal compaction: maximum number of sorted runs that are merged; 0: the engine's default.
    universal_max_merge_width: u32 = 0;
    /// Universal compaction: maximum size of the newer sorted runs, in percent of the oldest; 0: the engine's
    /// default.
    universal_max_size_amplification_percent: u32 = 0;
    /// Universal compaction: maximum number of sorted runs; 0: by the size of the data, -1: the trigger of
    /// compactions.
    universal_max_read_amp: i32 = -1;
    /// Universal compaction: kept for OPTIONS files. A job that waits for a thread for the bottom level holds
    /// its files in any case.
    universal_reduce_file_locking: bool = true;
    /// FIFO compaction: small files are merged.
    fifo_allow_compaction: bool = false;
    /// FIFO compaction: MiB of tables above which the oldest are dropped; 0: practically never, because the
    /// verification would miss dropped data.
    fifo_compaction_max_table_files_size_mb: u64 = 0;
    /// FIFO compaction: MiB of tables and blob files above which the oldest are dropped; 0: only tables
    /// count.
    fifo_compaction_max_data_files_size_mb: u64 = 0;
    /// FIFO compaction: the temperatures of files by their age in seconds, as in the option of this name of
    /// `compaction_options_fifo`. Empty: none.
    file_temperature_age_thresholds: String = String::new();
    /// Seconds after which data is compacted to a lower level; 0: never. FIFO compaction ignores it.
    compaction_ttl: u64 = 1000;
    /// Bytes of a compressed secondary cache of the block cache; 0: none.
    compressed_secondary_cache_size: u64 = 0;
    /// Splits the secondary cache into 2 to the power of this number of shards; negative: by its size.
    compressed_secondary_cache_numshardbits: i32 = -1;
    /// Share of a tiered_ cache's bytes that its secondary cache gets; 0: half.
    compressed_secondary_cache_ratio: f64 = 0.0;
    /// Blocks in the secondary cache are not compressed.
    enable_do_not_compress_roles: bool = false;
    /// Condition on which blocks of a tiered_ cache go to its secondary cache: 0 and 1 at the second
    /// eviction, 2 at the first, if they were found meanwhile, 4 at the first.
    adm_policy: u32 = 0;
    /// Type of the block cache: lru_cache, fixed_hyper_clock_cache or hyper_clock_cache,
    /// auto_hyper_clock_cache; with the prefix tiered_ it shares its bytes with a compressed secondary cache.
    cache_type: String = "lru_cache".to_owned();
    /// One in this number of operations is followed by a change of an option that can be changed while the
    /// database is open; 0: none.
    set_options_one_in: u64 = 0;
    /// One in this number of operations is followed by a pause of background work for some reads; 0: none.
    pause_background_one_in: u64 = 0;
    /// One in this number of operations is followed by some reads with manual compactions disabled; 0: none.
    disable_manual_compaction_one_in: u64 = 0;
    /// One in this number of operations is followed by some reads with all compactions aborted; 0: none.
    abort_and_resume_compactions_one_in: u64 = 0;
    /// One in this number of operations is followed by PromoteL0 or SuggestCompactRange; 0: none.
    promote_l0_one_in: u64 = 0;
    /// One in this number of operations is followed by a change of the block cache's capacity or strictness;
    /// 0: none.
    set_cache_capacity_one_in: u64 = 0;
    /// Caches values of blob files.
    use_blob_cache: bool = false;
    /// Caches values of blob files in the block cache; otherwise in a cache of their own.
    use_shared_block_and_blob_cache: bool = true;
    /// Bytes of a separate blob cache.
    blob_cache_size: u64 = 2 << 30;
    /// Splits a separate blob cache into 2 to the power of this number of shards; negative: by its size.
    blob_cache_numshardbits: i32 = 6;
    /// Splits the block cache into 2 to the power of this number of shards.
    cache_numshardbits: i32 = 6;
    /// Share of the block cache reserved for blocks of high priority.
    high_pri_pool_ratio: f64 = 0.5;
    /// Share of the block cache reserved for blocks of low priority.
    low_pri_pool_ratio: f64 = 0.0;
    /// Tables whose top levels of partitioned indexes and filters stay in the block cache, by the number of
    /// the tier: 0 kFallback, 1 kNone, 2 kFlushedAndSimilar, 3 kAll.
    top_level_index_pinning: u32 = 0;
    /// Tables whose partitions of indexes and filters stay in the block cache, by the number of the tier.
    partition_pinning: u32 = 0;
    /// Tables whose unpartitioned indexes and filters stay in the block cache, by the number of the tier.
    unpartitioned_pinning: u32 = 0;
    /// Charges the memory of open tables to the block cache.
    charge_table_reader: bool = false;
    /// Charges the blocks that wait for a compression dictionary to the block cache.
    charge_compression_dictionary_building_buffer: bool = false;
    /// Charges the memory of filters while they are built to the block cache.
    charge_filter_construction: bool = false;
    /// Charges the records of tables to the block cache.
    charge_file_metadata: bool = false;
    /// Charges the usage of the blob cache to the block cache.
    charge_blob_cache: bool = false;
    /// Table files kept open; -1: all.
    open_files: i32 = -1;
    /// Maximum threads of one compaction.
    subcompactions: u32 = 1;
    /// Background threads that compact, at least one; with those of flushes they make up the engine's
    /// `max_background_jobs`.
    max_background_compactions: i32 = -1;
    /// Background threads that flush, at least one.
    max_background_flushes: i32 = -1;
    /// The most threads that do nothing but universal compactions into the last level; 0: none.
    num_bottom_pri_threads: u32 = 0;
    /// Compactions that workers of a compaction service in this process do at a time; 0: no service.
    remote_compaction_worker_threads: u32 = 0;
    /// The longest time between a job of such a worker and its next one, in milliseconds. At least 1.
    remote_compaction_worker_interval: u32 = 10;
    /// A compaction that its worker fails is done by the database; otherwise it fails.
    remote_compaction_failure_fall_back_to_local: bool = true;
    /// Reads tables through a memory map.
    mmap_read: bool = false;
    /// Reads every key in every way, and checks every file, whenever the threads have stopped.
    verify: bool = true;
    /// Shows progress on a terminal.
    progress_reports: bool = true;
    /// Prints nothing about operations that a crash took.
    quiet: bool = false;
}

impl Flags {
    /// True if a write that returned may be lost when the process dies.
    pub fn loses_acknowledged(&self) -> bool {
        self.sync_fault_injection || self.holds_back()
    }

    /// True if a write that returned may be in the process's memory alone.
    pub fn holds_back(&self) -> bool {
        self.disable_wal || self.manual_wal_flush_one_in > 0
    }

    /// The file system over `fs` that encrypts the database's files, or `fs` itself.
    pub fn encrypted(&self, fs: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
        match self.encrypt {
            true => Arc::new(EncryptedFs::new(fs, Arc::new(KeyRing::new("db_stress", [7; 32])))),
            false => fs,
        }
    }

    /// The directories of tables of a database at `path`, as if the first were small and fast.
    pub fn db_paths(&self, path: &Path) -> Vec<DbPath> {
        let beside = (0..self.table_paths).map(|nth| {
            let directory = format!("{}.tables-{nth}", path.display());
            DbPath::new(directory, 40_000 << (4 * u64::from(nth)))
        });
        beside.collect()
    }

    /// True if the contents of snapshots may change.
    pub fn changes_snapshots(&self) -> bool {
        self.enable_compaction_filter || self.ingest_behind_one_in > 0 || self.ingest_replace_range_one_in > 0
    }

    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        let shares = [
            self.readpercent,
            self.prefixpercent,
            self.writepercent,
            self.delpercent,
            self.delrangepercent,
            self.iterpercent,
        ];
        let refuse = |message: &str| Err(Error::invalid_argument(message));
        if shares.iter().any(|share| *share < 0)
            || shares.iter().map(|share| i64::from(*share)).sum::<i64>() != 100
        {
            return refuse(
                "--readpercent, prefixpercent, writepercent, delpercent, delrangepercent and iterpercent must add up to 100",
            );
        }
        if self.max_key < 1 || self.max_key > 1 << 32 {
            return refuse("--max_key must be between 1 and 2^32");
        }
        if self.column_families < 1 || self.threads < 1 {
            return refuse("--column_families and --threads must be at least 1");
        }
        if self.remote_compaction_worker_interval == 0 {
            return refuse("--remote_compaction_worker_interval must be at least 1");
        }
        if self.prefix_size > 8 || self.prefix_size < 0 && self.prefixpercent > 0 {
            return refuse(
                "--prefix_size must be between 0 and 8; without prefixes --prefixpercent must be 0",
            );
        }
        if self.secondary_catch_up_one_in > 0 && !self.test_secondary {
            return refuse("--secondary_catch_up_one_in needs --test_secondary");
        }
        if self.user_code_panic_one_in > 0 && self.test_secondary {
            return refuse(
                "--user_code_panic_one_in cannot be combined with --test_secondary: a secondary is compared without panics",
            );
        }
        if self.sync_fault_injection && (self.test_secondary || self.open_read_only_one_in > 0) {
            return refuse(
                "--sync_fault_injection cannot be combined with --test_secondary or --open_read_only_one_in: other readers do not see unsynced bytes",
            );
        }
        if self.manual_wal_flush_one_in > 0 && (self.test_secondary || self.open_read_only_one_in > 0) {
            return refuse(
                "--manual_wal_flush_one_in cannot be combined with --test_secondary or --open_read_only_one_in: other readers do not see unflushed bytes",
            );
        }
        if self.sst_file_manager_bytes_per_truncate > 0
            && (self.test_secondary || self.open_read_only_one_in > 0)
        {
            return refuse(
                "--sst_file_manager_bytes_per_truncate cannot be combined with --test_secondary or --open_read_only_one_in: a truncated table may be open in another database, which would find it damaged",
            );
        }
        if self.rate_limit_auto_wal_flush && (self.disable_wal || self.manual_wal_flush_one_in > 0) {
            return refuse(
                "--rate_limit_auto_wal_flush cannot be combined with --disable_wal or --manual_wal_flush_one_in: it needs automatic flushes of the WAL",
            );
        }
        if self.changes_snapshots() && self.loses_acknowledged() {
            return refuse(
                "--enable_compaction_filter, --ingest_behind_one_in and --ingest_replace_range_one_in stay, and the rows they went by may be lost: no --disable_wal, no \
                 --sync_fault_injection, no --manual_wal_flush_one_in",
            );
        }
        let others = [
            self.acquire_snapshot_one_in,
            self.checkpoint_one_in,
            self.backup_one_in,
            self.export_column_family_one_in,
        ];
        if self.changes_snapshots() && (others.iter().any(|one_in| *one_in > 0) || self.test_secondary) {
            return refuse(
                "--enable_compaction_filter, --ingest_behind_one_in and --ingest_replace_range_one_in change what is seen as of before: no --acquire_snapshot_one_in, no \
                 --checkpoint_one_in, no --backup_one_in, no --export_column_family_one_in, no --test_secondary",
            );
        }
        if self.ingest_external_file_one_in > 0 && self.disable_wal {
            return refuse(
                "--ingest_external_file_one_in cannot be combined with --disable_wal: ingested rows survive a crash, and rows without a WAL do not",
            );
        }
        if self.use_txn && self.use_optimistic_txn {
            return refuse(
                "--use_optimistic_txn cannot be combined with --use_txn: a transaction has locks or is optimistic",
            );
        }
        if self.txn_write_policy > 2 {
            return refuse("--txn_write_policy must be between 0 and 2");
        }
        if self.log2_keys_per_lock > 32 {
            return refuse("--log2_keys_per_lock must be between 0 and 32");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ::flags::{FlagSet, rocksdb};

    use super::*;

    const ROCKSDB_DEFAULTS: &str = include_str!("rocksdb_defaults.txt");

    /// Flags that RocksDB does not have.
    const OURS: &[&str] = &[
        "change_wal_dir",
        "table_paths",
        "batch_one_in",
        "ascending_run",
        "no_slowdown_one_in",
        "low_pri_one_in",
        "row_cache_size",
        "test_feed",
        "secondary_catch_up_one_in",
        "export_column_family_one_in",
        "ingest_behind_one_in",
        "ingest_replace_range_one_in",
        "large_row_one_in",
        "encrypt",
        "user_code_panic_one_in",
        "set_cache_capacity_one_in",
        "verify",
        "quiet",
    ];

    /// Flags whose default differs from RocksDB's, RocksDB's default, and the reason.
    const OTHERS: &[(&str, &str, &str)] = &[
        (
            "format_version",
            "5",
            "RocksDB 7.8 reads what is written by default",
        ),
        (
            "remote_compaction_worker_threads",
            "0",
            "a database has no compaction service unless it is asked for",
        ),
        ("seed", "0", "each run draws its own seed, and prints it"),
        (
            "ttl",
            "1000",
            "the option of that name, which --compaction_ttl sets; RocksDB's flag opens another kind of database",
        ),
        (
            "verify_sst_unique_id_in_manifest",
            "true",
            "a check that stays on, as in RocksDB's own crash test",
        ),
    ];

    #[test]
    fn defaults_are_those_of_rocksdb_but_for_those_with_a_reason() {
        let options = Flags::default().options().unwrap();
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
    fn every_flag_of_the_list_is_whole_and_in_one_section() {
        assert_eq!(rocksdb::damaged_lines::<Flags>(), [""; 0]);
        let section = |name: &str| {
            let row = rocksdb::rows::<Flags>().find(|row| row.name == name);
            row.map(|row| row.section)
        };
        assert_eq!(
            section("subset_cf_checkpoint_one_in"),
            Some("these kinds of checkpoints")
        );
        assert_eq!(
            section("use_blob_db"),
            Some("RocksDB's stacked BlobDB, or values that writers put into blob files")
        );
    }
}
