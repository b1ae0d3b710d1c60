//! The flags of db_stress: RocksDB's names, defaults and meaning, and a few of our own.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Result};
use esker::{
    AdmissionPolicy, BlockCache, Cache, CacheOptions, ChecksumType, CollectorContext, ColumnFamilyOptions,
    CompactOnDeletionCollectorFactory, CompactionStyle, CompressedSecondaryCacheOptions, DbPath, EntryRole,
    EntryType, FileChecksumGenFactory, FilterPolicy, MetadataCacheOptions, Options, PinningTier, RateLimiter,
    RateLimiterMode, RateLimiterOptions, RowLimit, SeqNo, SstPartitionerFixedPrefixFactory, Statistics,
    SystemClock, TablePropertiesCollector, TablePropertiesCollectorFactory, TieredCacheOptions,
    WriteBufferManager,
};

use crate::keys;

flags::flags! {
    /// The values of all flags.
    pub struct Flags, others of RocksDB in include_str!("rocksdb_flags.txt");
    /// Directory of the database. Empty: `dbstress` in $TEST_TMPDIR or in /tmp/rocksdbtest-UID.
    db: String = String::new();
    /// Directory of the expected state, which outlives the process. Empty: in memory alone.
    expected_values_dir: String = String::new();
    /// Begins with an empty database and an empty expected state.
    destroy_db_initially: bool = true;
    /// Seed of every thread's choices; 0: one nobody chose, which is printed.
    seed: u64 = 0;
    /// Threads.
    threads: u32 = 32;
    /// Operations of each thread.
    ops_per_thread: u64 = 1_200_000;
    /// Keys of each column family.
    max_key: u64 = 1 << 20;
    /// Column families.
    column_families: u32 = 10;
    /// Times the database is closed and opened again.
    reopen: u32 = 10;
    /// Each time the database is opened, its WALs are to lie in its own directory, or in one of two others beside it. Ours.
    change_wal_dir: bool = false;
    /// Tables lie in so many directories beside the database's, up to four; 0: in its own. Ours. Compactions are leveled where
    /// --compaction_style names a style that takes one directory.
    table_paths: u32 = 0;
    /// Each lock guards 2 to the power of so many keys.
    log2_keys_per_lock: u32 = 2;
    /// Values have once to three times so many bytes.
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
    /// Percentage of operations that move an iterator about.
    iterpercent: i32 = 10;
    /// Percentage of keys that are never overwritten, and deleted by single deletions.
    nooverwritepercent: i32 = 60;
    /// Keys a range deletion covers.
    range_deletion_width: i32 = 10;
    /// Writes by merges that put, most of the time.
    use_merge: bool = false;
    /// Half of the reads ask for several keys at once.
    use_multiget: bool = false;
    /// One put in so many is one of a wide-column entity, without transactions; 0: none.
    use_put_entity_one_in: u64 = 0;
    /// Half of the reads of one key ask for its columns.
    use_get_entity: bool = false;
    /// Half of the reads of several keys ask for their columns.
    use_multi_get_entity: bool = false;
    /// Writes by transactions with locks, a third of them in two phases. Where a crash may take writes that returned
    /// (--disable_wal, --sync_fault_injection, --manual_wal_flush_one_in), without.
    use_txn: bool = false;
    /// The same by optimistic transactions.
    use_optimistic_txn: bool = false;
    /// With use_txn: 0 write-committed, 1 write-prepared, 2 write-unprepared, which are served as the first.
    txn_write_policy: u32 = 0;
    /// Of the writes, one in so many is a batch of several keys of several families; 0: none.
    batch_one_in: u64 = 10;
    /// Each thread writes ascending runs of so many keys, between its other operations; 0: it draws each key. Ours.
    ascending_run: u64 = 0;
    /// Of the writes, one in so many fails where it would have to wait for a stall, and is not done then; 0: none. Ours.
    no_slowdown_one_in: u64 = 0;
    /// Of the writes, one in so many is of low priority; 0: none. Ours.
    low_pri_one_in: u64 = 0;
    /// A snapshot is taken once in so many operations; 0: never.
    acquire_snapshot_one_in: u64 = 0;
    /// Operations a snapshot is held before it is compared with what was there when it was taken, and released.
    snapshot_hold_ops: u64 = 0;
    /// Iterators over a snapshot let go of what flushes and compactions have replaced.
    auto_refresh_iterator_with_snapshot: bool = false;
    /// Iterators do not read a value in a blob file until it is asked for.
    allow_unprepared_value: bool = false;
    /// Bytes a second that flushes and compactions may write; 0: no limit.
    rate_limiter_bytes_per_sec: u64 = 0;
    /// Limits what compactions read instead of what is written.
    rate_limit_bg_reads: bool = false;
    /// Limits the memory of memtables, by --db_write_buffer_size, and charges it to the block cache; writers wait for flushes.
    use_write_buffer_manager: bool = false;
    /// Counts what databases do, and prints it at the end.
    statistics: bool = false;
    /// A flush is asked for once in so many operations; 0: never.
    flush_one_in: u64 = 0;
    /// A compaction of a range is asked for once in so many operations; 0: never.
    compact_range_one_in: u64 = 0;
    /// Keys of such a range.
    compact_range_width: i32 = 10_000;
    /// A compaction of some files is asked for once in so many operations; 0: never.
    compact_files_one_in: u64 = 0;
    /// A column family is dropped and made anew once in so many operations; 0: never.
    clear_column_family_one_in: u64 = 1_000_000;
    /// The WAL is synced once in so many operations; 0: never.
    sync_wal_one_in: u64 = 0;
    /// The WAL is flushed, and half the time synced, once in so many operations, and is not in between; 0: it always is.
    manual_wal_flush_one_in: u64 = 0;
    /// The WAL is locked for a moment, in which nothing may be written, once in so many operations; 0: never.
    lock_wal_one_in: u64 = 1_000_000;
    /// What reads of tables and blob files read counts against --rate_limiter_bytes_per_sec, with --rate_limit_bg_reads.
    rate_limit_user_ops: bool = false;
    /// What writes bring to the WAL counts against --rate_limiter_bytes_per_sec.
    rate_limit_auto_wal_flush: bool = false;
    /// The bytes of a key range are asked for once in so many operations; 0: never.
    approximate_size_one_in: u64 = 64;
    /// Memory alone is asked for a key once in so many operations; 0: never.
    key_may_exist_one_in: u64 = 0;
    /// What files a database consists of is asked for, and looked for, once in so many operations; 0: never.
    get_live_files_apis_one_in: u64 = 1_000_000;
    /// The levels of all families are asked for once in so many operations; 0: never.
    get_all_column_family_metadata_one_in: u64 = 1_000_000;
    /// The properties of all tables of a family are asked for once in so many operations; 0: never.
    get_properties_of_all_tables_one_in: u64 = 1_000;
    /// Deletions of files are disabled for a while once in so many operations; 0: never.
    disable_file_deletions_one_in: u64 = 0;
    /// Every key of a family is read in every way, while others change other families, once in so many operations; 0: never.
    verify_db_one_in: u64 = 0;
    /// A secondary, or a follower, has the database open, and shows what it should.
    test_secondary: bool = false;
    /// The directory of its own that it has. Empty: beside the database's.
    secondaries_base: String = String::new();
    /// With test_secondary: it catches up and is compared once in so many operations; 0: never.
    secondary_catch_up_one_in: u64 = 0;
    /// With test_secondary: it catches up and is compared every so many milliseconds; 0: never.
    continuous_verification_interval: u64 = 1000;
    /// The database is opened for reading only and compared once in so many operations; 0: never.
    open_read_only_one_in: u64 = 0;
    /// Some snapshots are held ten times as long.
    long_running_snapshots: bool = false;
    /// Reads each key before it is written.
    verify_before_write: bool = false;
    /// Half of all MultiGets are compared with Gets at the same snapshot.
    check_multiget_consistency: bool = true;
    /// Reads every key in every way, and checks every file, and ends.
    verification_only: bool = false;
    /// No backup is made of a database of more bytes of tables; 0: of any.
    backup_max_size: u64 = 100 << 20;
    /// Most reads keep blocks in the block cache; false: none does.
    fill_cache: bool = true;
    /// Bytes that iterators read ahead; 0: as they see fit.
    readahead_size: u64 = 0;
    /// What iterators read ahead by themselves stays as much from file to file.
    adaptive_readahead: bool = false;
    /// Reads are under way side by side, and while an iterator does something else: by io_uring.
    async_io: bool = false;
    /// Half of the iterators are multi-scans.
    use_multiscan: bool = false;
    /// Their reads are under way side by side.
    multiscan_use_async_io: bool = false;
    /// Nothing is read ahead beyond the bounds of an iterator, nor what is in the block cache.
    auto_readahead_size: bool = false;
    /// A backup is made, restored or opened, and compared once in so many operations; 0: never.
    backup_one_in: u64 = 0;
    /// A checkpoint is made, opened and compared once in so many operations, and whenever the database was opened; 0: never.
    checkpoint_one_in: u64 = 0;
    /// A family's tables are exported, imported into this database or another, and compared once in so many operations; 0: never. Ours.
    export_column_family_one_in: u64 = 0;
    /// Keys are written into files of their own, which are ingested, once in so many operations; 0: never.
    ingest_external_file_one_in: u64 = 0;
    /// Keys of such files.
    ingest_external_file_width: i32 = 100;
    /// Of the ingestions, one in so many has two phases, or as many as there are files and one; 0: none.
    ingest_external_file_prepare_commit_one_in: u64 = 0;
    /// Of the ingestions, one in so many ends with a file of one range deletion, which deletes all keys of the others; 0: none.
    test_ingest_standalone_range_deletion_one_in: u64 = 0;
    /// Of the ingestions, one in so many goes behind all there is, if that has no place for it refused; 0: none. Needs --allow_ingest_behind.
    ingest_behind_one_in: u64 = 0;
    /// A row longer than any may be is written, merged or deleted once in so many operations, and must be refused; the limit is lowered to the
    /// longest value. 0: never. Ours.
    large_row_one_in: u64 = 0;
    /// A property is asked for once in so many operations; 0: never.
    get_property_one_in: u64 = 1_000;
    /// Every block of every file is read and its checksum verified once in so many operations; 0: never.
    verify_checksum_one_in: u64 = 0;
    /// Every file is read and compared with its checksum once in so many operations, if files have one; 0: never.
    verify_file_checksums_one_in: u64 = 0;
    /// Checksum of whole files: none, crc32c.
    file_checksum_impl: String = "none".to_owned();
    /// Syncs every write.
    sync: bool = false;
    /// Writes without WAL.
    disable_wal: bool = false;
    /// Bytes of a checksum over each operation of a batch, until it is in the memtable: 0 or 8.
    batch_protection_bytes_per_key: u64 = 0;
    /// Kills itself once in so many changes of files on average, and says where; 0: never.
    kill_random_test: u64 = 0;
    /// Names of changes, divided by commas, at which it does not: append, sync, rename and so on, or how they begin.
    kill_exclude_prefixes: String = String::new();
    /// What is not synced is lost with the process.
    sync_fault_injection: bool = false;
    /// While the threads work, one in so many reads of files fails; 0: none.
    read_fault_one_in: u64 = 1000;
    /// One in so many appends to files fails, or fails with a part of it done; 0: none.
    write_fault_one_in: u64 = 0;
    /// One in so many questions about files, their opening among them, fails; 0: none.
    metadata_read_fault_one_in: u64 = 1000;
    /// One in so many other changes of files, syncs among them, fails, or is done and said to have failed; 0: none.
    metadata_write_fault_one_in: u64 = 1000;
    /// As read_fault_one_in, while the database is opened.
    open_read_fault_one_in: u64 = 0;
    /// As write_fault_one_in, while the database is opened.
    open_write_fault_one_in: u64 = 0;
    /// As metadata_read_fault_one_in, while the database is opened.
    open_metadata_read_fault_one_in: u64 = 0;
    /// As metadata_write_fault_one_in, while the database is opened.
    open_metadata_write_fault_one_in: u64 = 0;
    /// No change of a WAL is made to fail.
    exclude_wal_from_write_fault_injection: bool = false;
    /// While the threads work, one in so many calls of user code (comparator, merge operator, filter, listener and so on) panics, in reads, writes and
    /// background jobs; 0: none.
    user_code_panic_one_in: u64 = 0;
    /// Where a failure had the database opened again, that open is not made to fail.
    error_recovery_with_no_fault_injection: bool = false;
    /// Checks the checksums of blocks read.
    verify_checksum: bool = false;
    /// Bytes of the prefix of a key, of eight; negative: no prefixes.
    prefix_size: i32 = 7;
    /// Bits a key in Bloom filters; negative: no filters.
    bloom_bits: f64 = 10.0;
    /// Tables of this level and below get Ribbon filters as accurate as Bloom filters of so many bits; -1: those of flushes too,
    /// 2147483647: none.
    bloom_before_level: i32 = 999;
    /// Bytes of the block cache; 0 or less: none.
    cache_size: i64 = 2 << 30;
    /// Compression: none, snappy, zlib, bzip2, lz4, lz4hc, zstd.
    compression_type: String = "snappy".to_owned();
    /// Threads that compress the blocks of each table; 1: the one that makes them.
    compression_parallel_threads: u32 = 1;
    /// Bytes of a compression dictionary; 0: none.
    compression_max_dict_bytes: u32 = 0;
    /// Bytes of samples from which ZSTD trains a dictionary; 0: the samples are the dictionary.
    compression_zstd_max_train_bytes: u32 = 0;
    /// Bytes of blocks held for a dictionary to be made of; 0: the engine's limit.
    compression_max_dict_buffer_bytes: u64 = 0;
    /// ZSTD frames have checksums.
    compression_checksum: bool = false;
    /// Trains dictionaries by ZSTD's trainer, which is what there is.
    compression_use_zstd_dict_trainer: bool = true;
    /// Compression of the last level; disable: as the others'.
    bottommost_compression_type: String = "disable".to_owned();
    /// Checksum of blocks, under the engine's name.
    checksum_type: String = "kCRC32c".to_owned();
    /// How files are merged: 0 leveled, 1 universal, 2 FIFO, 3 not at all.
    compaction_style: i32 = 0;
    /// What memtables are: skip_list or vector, which needs --allow_concurrent_memtable_write=false.
    memtablerep: String = "skip_list".to_owned();
    /// Compactions take away entries of keys that are not there.
    enable_compaction_filter: bool = false;
    /// Files of levels end where the first four bytes of keys change.
    enable_sst_partitioner_factory: bool = false;
    /// Tables with many deletions close together are marked for compaction.
    enable_compaction_on_deletion_trigger: bool = false;
    /// Entries looked at together for it.
    compaction_on_deletion_window_size: u64 = 100;
    /// Deletions among them that mark a table.
    compaction_on_deletion_trigger_count: u64 = 50;
    /// Part of deletions among all entries that marks a table; 0: it does not matter.
    compaction_on_deletion_ratio: f64 = 0.5;
    /// Bytes of a table that is marked at least.
    compaction_on_deletion_min_file_size: u64 = 32_768;
    /// One in so many tables is marked for compaction; 0: none is.
    mark_for_compaction_one_file_in: u64 = 0;
    /// Which file of a level is compacted first, by the number of the priority: 0 to 4.
    compaction_pri: i32 = 3;
    /// Universal compaction: percent by which the next sorted run may be larger than those taken in; 0: the engine's default.
    universal_size_ratio: u32 = 0;
    /// Universal compaction: sorted runs merged at least; 0: the engine's default.
    universal_min_merge_width: u32 = 0;
    /// Universal compaction: sorted runs merged at most; 0: the engine's default.
    universal_max_merge_width: u32 = 0;
    /// Universal compaction: percent of the oldest sorted run that the others may be of; 0: the engine's default.
    universal_max_size_amplification_percent: u32 = 0;
    /// Universal compaction: sorted runs at most; 0: as the size of the data lets expect, -1: the trigger of compactions.
    universal_max_read_amp: i32 = -1;
    /// Universal compaction: nothing waits for a pool of threads for the bottom level, which there is not.
    universal_reduce_file_locking: bool = true;
    /// FIFO compaction: small files are merged.
    fifo_allow_compaction: bool = false;
    /// FIFO compaction: MiB of tables beyond which the oldest are dropped; 0: as good as never, as what is dropped would be missed.
    fifo_compaction_max_table_files_size_mb: u64 = 0;
    /// FIFO compaction: MiB of tables and blob files beyond which the oldest are dropped; 0: tables alone count.
    fifo_compaction_max_data_files_size_mb: u64 = 0;
    /// Seconds after which data is compacted down; 0: never, and with FIFO compaction always never.
    compaction_ttl: u64 = 1000;
    /// Bytes of a compressed secondary cache behind the block cache; 0: none.
    compressed_secondary_cache_size: u64 = 0;
    /// The secondary cache is split into 2 to the power of so many shards; negative: by its size.
    compressed_secondary_cache_numshardbits: i32 = -1;
    /// Share of a tiered_ cache's bytes that is its secondary cache's; 0: half.
    compressed_secondary_cache_ratio: f64 = 0.0;
    /// What goes down to the secondary cache is not compressed.
    enable_do_not_compress_roles: bool = false;
    /// When what a tiered_ cache evicts goes down to its secondary cache: 0 and 1 at the second eviction, 2 at the first, if it was found
    /// meanwhile, 4 at the first.
    adm_policy: u32 = 0;
    /// Kind of the block cache: lru_cache, fixed_hyper_clock_cache or hyper_clock_cache, auto_hyper_clock_cache; with tiered_ before it, it
    /// shares its bytes with a compressed secondary cache.
    cache_type: String = "lru_cache".to_owned();
    /// An option that may be changed while the database is open is changed once in so many operations; 0: never.
    set_options_one_in: u64 = 0;
    /// Background work is paused for some reads once in so many operations; 0: never.
    pause_background_one_in: u64 = 0;
    /// Manual compactions are disabled for some reads once in so many operations; 0: never.
    disable_manual_compaction_one_in: u64 = 0;
    /// L0 is promoted to some level, or files are suggested for compaction, once in so many operations; 0: never.
    promote_l0_one_in: u64 = 0;
    /// The block cache is made larger or smaller, and strict or not, once in so many operations; 0: never.
    set_cache_capacity_one_in: u64 = 0;
    /// Values of blob files are kept in a cache.
    use_blob_cache: bool = false;
    /// That is the block cache; else one of its own.
    use_shared_block_and_blob_cache: bool = true;
    /// Bytes of a blob cache of its own.
    blob_cache_size: u64 = 2 << 30;
    /// A blob cache of its own is split into 2 to the power of so many shards; negative: by its size.
    blob_cache_numshardbits: i32 = 6;
    /// The block cache is split into 2 to the power of so many shards.
    cache_numshardbits: i32 = 6;
    /// Part of the block cache for blocks of high priority.
    high_pri_pool_ratio: f64 = 0.5;
    /// Part of the block cache for blocks of low priority.
    low_pri_pool_ratio: f64 = 0.0;
    /// What of tables stays in the block cache, by the number of the tier: 0 kFallback, 1 kNone, 2 kFlushedAndSimilar, 3 kAll: top
    /// levels of partitioned indexes and filters.
    top_level_index_pinning: u32 = 0;
    /// The same, of partitions.
    partition_pinning: u32 = 0;
    /// The same, of indexes and filters in one block.
    unpartitioned_pinning: u32 = 0;
    /// Table files kept open; -1: all.
    open_files: i32 = -1;
    /// Threads that may write one compaction.
    subcompactions: u32 = 1;
    /// Background threads that compact, at least one; with those of flushes they are the engine's `max_background_jobs`.
    max_background_compactions: i32 = -1;
    /// Background threads that flush, at least one.
    max_background_flushes: i32 = -1;
    /// Reads tables through a memory map.
    mmap_read: bool = false;
    /// Reads every key in every way, and checks every file, whenever the threads rest.
    verify: bool = true;
    /// Shows progress on a terminal.
    progress_reports: bool = true;
    /// Says nothing of what a crash took.
    quiet: bool = false;
}

/// Marks one in so many tables for compaction, by what their keys are.
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

/// Options whose default in RocksDB's db_stress is not that of RocksDB.
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

/// A tier by the number RocksDB's db_stress has for it.
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

/// Bytes that rows of the database's own have at most, such as those of `persist_stats_to_disk`.
const OTHER_ROWS: usize = 256;

impl Flags {
    /// True if a write that returned may be gone after the process has died.
    pub fn loses_acknowledged(&self) -> bool {
        self.disable_wal || self.sync_fault_injection || self.manual_wal_flush_one_in > 0
    }

    /// The directories of the tables of a database at `path`: as if the first were small and fast.
    pub fn db_paths(&self, path: &Path) -> Vec<DbPath> {
        let beside = (0..self.table_paths).map(|nth| {
            let directory = format!("{}.tables-{nth}", path.display());
            DbPath::new(directory, 40_000 << (4 * u64::from(nth)))
        });
        beside.collect()
    }

    /// True if what snapshots show may change.
    pub fn changes_snapshots(&self) -> bool {
        self.enable_compaction_filter || self.ingest_behind_one_in > 0
    }

    /// Refuses values nothing can be made of.
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
            return refuse("--max_key lies between 1 and 2^32");
        }
        if self.column_families < 1 || self.threads < 1 {
            return refuse("--column_families and --threads must be at least 1");
        }
        if self.prefix_size > 8 || self.prefix_size < 0 && self.prefixpercent > 0 {
            return refuse("--prefix_size lies between 0 and 8; without prefixes --prefixpercent must be 0");
        }
        if self.secondary_catch_up_one_in > 0 && !self.test_secondary {
            return refuse("--secondary_catch_up_one_in needs --test_secondary");
        }
        if self.user_code_panic_one_in > 0 && self.test_secondary {
            return refuse(
                "what a secondary shows is compared with no code that panics: no --user_code_panic_one_in with --test_secondary",
            );
        }
        if self.sync_fault_injection && (self.test_secondary || self.open_read_only_one_in > 0) {
            return refuse(
                "with --sync_fault_injection nobody else sees what is not synced: no --test_secondary, no --open_read_only_one_in",
            );
        }
        if self.manual_wal_flush_one_in > 0 && (self.test_secondary || self.open_read_only_one_in > 0) {
            return refuse(
                "with --manual_wal_flush_one_in nobody else sees what is not flushed: no --test_secondary, no --open_read_only_one_in",
            );
        }
        if self.rate_limit_auto_wal_flush && (self.disable_wal || self.manual_wal_flush_one_in > 0) {
            return refuse(
                "--rate_limit_auto_wal_flush needs a WAL that is flushed by itself: no --disable_wal, no --manual_wal_flush_one_in",
            );
        }
        if self.changes_snapshots() && self.loses_acknowledged() {
            return refuse(
                "--enable_compaction_filter and --ingest_behind_one_in stay, and the rows they went by may be lost: no --disable_wal, no \
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
                "--enable_compaction_filter and --ingest_behind_one_in change what is seen as of before: no --acquire_snapshot_one_in, no \
                 --checkpoint_one_in, no --backup_one_in, no --export_column_family_one_in, no --test_secondary",
            );
        }
        if self.ingest_external_file_one_in > 0 && self.disable_wal {
            return refuse(
                "what is ingested survives, and rows without WAL do not: no --ingest_external_file_one_in with --disable_wal",
            );
        }
        if self.use_txn && self.use_optimistic_txn {
            return refuse(
                "a transaction has locks or is optimistic: no --use_optimistic_txn with --use_txn",
            );
        }
        if self.txn_write_policy > 2 {
            return refuse("--txn_write_policy lies between 0 and 2");
        }
        if self.log2_keys_per_lock > 32 {
            return refuse("--log2_keys_per_lock lies between 0 and 32");
        }
        Ok(())
    }

    fn rate_limiter(&self) -> Result<Option<Arc<RateLimiter>>> {
        if self.rate_limiter_bytes_per_sec == 0 {
            return Ok(None);
        }
        let options = RateLimiterOptions {
            rate_bytes_per_sec: self.rate_limiter_bytes_per_sec,
            // So short that whoever waits does not keep threads from their work for long.
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

    /// The options a command line asks for.
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
            statistics: self.statistics.then(Statistics::new),
            rate_limiter: self.rate_limiter()?,
            row_limit: match self.large_row_one_in {
                0 => RowLimit::MAX,
                _ => RowLimit::at_most(keys::longest_value(self.value_size_mult as usize).max(OTHER_ROWS)),
            },
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
                    "--file_checksum_impl={other}: none and crc32c are what there is"
                )));
            }
        };
        let family = &mut options.column_family;
        family.compression = flags::engine::compression(&self.compression_type)?;
        family.compression_opts.parallel_threads = self.compression_parallel_threads;
        family.compression_opts.max_dict_bytes = self.compression_max_dict_bytes;
        family.compression_opts.zstd_max_train_bytes = self.compression_zstd_max_train_bytes;
        family.compression_opts.max_dict_buffer_bytes = self.compression_max_dict_buffer_bytes;
        family.compression_opts.checksum = self.compression_checksum;
        family.compression_opts.use_zstd_dict_trainer = self.compression_use_zstd_dict_trainer;
        if self.bottommost_compression_type != "disable" {
            family.bottommost_compression =
                Some(flags::engine::compression(&self.bottommost_compression_type)?);
        }
        self.compaction_styles(family)?;
        flags::engine::set_memtablerep(family, &self.memtablerep)?;
        family.table.checksum = ChecksumType::parse(&self.checksum_type).ok_or_else(|| {
            Error::invalid_argument(format!(
                "--checksum_type={}: no checksum of that name",
                self.checksum_type
            ))
        })?;
        family.merge_operator = base::merge::builtin("put");
        if self.prefix_size >= 0 {
            family.prefix_extractor = Some(Arc::new(base::prefix::Fixed::new(self.prefix_size as usize)));
        }
        if self.bloom_bits >= 0.0 {
            family.table.filter_policy = match self.bloom_before_level {
                i32::MAX => FilterPolicy::Bloom(self.bloom_bits),
                bloom_before_level => FilterPolicy::Ribbon {
                    bits_per_key: self.bloom_bits,
                    bloom_before_level,
                },
            };
        }
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
            family.blob_cache = match self.use_shared_block_and_blob_cache {
                true => family.table.block_cache.clone(),
                false if self.blob_cache_size == 0 => {
                    return Err(Error::invalid_argument(
                        "Unable to create a standalone blob cache if blob_cache_size <= 0.",
                    ));
                }
                false => Some(Cache::lru(CacheOptions {
                    capacity: self.blob_cache_size as usize,
                    num_shard_bits: self.blob_cache_numshardbits,
                    ..CacheOptions::default()
                })),
            };
        }
        family.table.metadata_cache_options = MetadataCacheOptions {
            top_level_index_pinning: tier("top_level_index_pinning", self.top_level_index_pinning)?,
            partition_pinning: tier("partition_pinning", self.partition_pinning)?,
            unpartitioned_pinning: tier("unpartitioned_pinning", self.unpartitioned_pinning)?,
        };
        for (name, value) in &self.rest.engine {
            flags::engine::set(&mut options, name, value)?;
        }
        options.allow_2pc |= self.use_txn;
        // They may not be together, and are drawn one by one.
        options.allow_mmap_reads &= !options.use_direct_reads;
        if self.use_write_buffer_manager && options.db_write_buffer_size > 0 {
            let cache = options.column_family.table.block_cache.clone();
            let limit = options.db_write_buffer_size;
            options.write_buffer_manager = Some(WriteBufferManager::new(limit, cache, true));
        }
        Ok(options)
    }

    /// How files are merged. FIFO compaction drops nothing unless it is asked to: who verifies would miss it.
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
        family.ttl = match family.compaction_style {
            CompactionStyle::Fifo => 0,
            _ => self.compaction_ttl,
        };
        Ok(())
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
                    "--adm_policy={}: 0, 1, 2 and 4 are what there is; 3 needs a third tier",
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
    use std::collections::BTreeSet;

    use ::flags::{FlagSet, rocksdb};

    use super::*;

    const ROCKSDB_DEFAULTS: &str = include_str!("rocksdb_defaults.txt");

    /// Flags that RocksDB has not.
    const OURS: &[&str] = &[
        "change_wal_dir",
        "table_paths",
        "batch_one_in",
        "ascending_run",
        "no_slowdown_one_in",
        "low_pri_one_in",
        "secondary_catch_up_one_in",
        "export_column_family_one_in",
        "ingest_behind_one_in",
        "large_row_one_in",
        "user_code_panic_one_in",
        "set_cache_capacity_one_in",
        "verify",
        "quiet",
    ];

    /// Flags with another default than RocksDB's, that default, and the reason.
    const OTHERS: &[(&str, &str, &str)] = &[
        (
            "format_version",
            "5",
            "RocksDB 7.8 reads what is written by default",
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
            Some("backups and checkpoints under stress")
        );
        assert_eq!(section("use_blob_db"), Some("blob files"));
    }
}
