//! The flags of db_bench: RocksDB's names, defaults and meaning, and a few of Esker's own.

flags::flags! {
    /// The values of all flags.
    pub struct Flags, others of RocksDB in include_str!("rocksdb_flags.txt"), presets by preset;
    /// Workloads to run, in this order, separated by commas. `name[X3-W1]` runs one three times after one
    /// warm-up.
    benchmarks: String = String::new();
    /// Directory of the database. Empty: `dbbench` in $TEST_TMPDIR or in /tmp/rocksdbtest-UID; the tour then
    /// uses a directory of its own there, which is removed at the end.
    db: String = String::new();
    /// Opens the database read-only.
    readonly: bool = false;
    /// Opens the database as a secondary of the instance that has it open for writing; needs
    /// --use_existing_db.
    use_secondary_db: bool = false;
    /// The secondary's own directory. Empty: `dbbench_secondary` next to the test directory's `dbbench`.
    secondary_path: String = String::new();
    /// Seconds between catch-ups of the secondary with its primary; 0: none.
    secondary_update_interval: i32 = 5;
    /// Opens the database of --leader_path as a follower, whose own directory is --db.
    open_as_follower: bool = false;
    /// Directory of the database that a follower follows.
    leader_path: String = String::new();
    /// OPTIONS file with the options of the database and of its default family, which apply to all families.
    /// Flags for options then have no effect, except --cache_size, --row_cache_size, --bloom_bits if the
    /// file names no filter, the rate limiter and --file_checksum.
    options_file: String = String::new();
    /// Writes the info log to standard error, and no `LOG` file.
    use_stderr_info_logger: bool = false;
    /// Prints how long each opening took.
    report_open_timing: bool = false;
    /// Prints the release and commit of this program, and exits.
    build_info: bool = false;
    /// Names of unknown flags, separated by commas, that the command line may contain.
    undefok: String = String::new();
    /// Opens the existing database instead of beginning with an empty one.
    use_existing_db: bool = false;
    /// Random numbers select among the keys of the database; --num is their count. Needs --use_existing_db.
    use_existing_keys: bool = false;
    /// Keys in the database.
    num: i64 = 1_000_000;
    /// Reads of each thread; negative: as many as `num`.
    reads: i64 = -1;
    /// Writes of each thread; negative: as many as `num`.
    writes: i64 = -1;
    /// Deletions of each thread; negative: as many as `num`.
    deletes: i64 = -1;
    /// Base of the seeds; each thread of each workload has a seed of its own. 0: a random base.
    seed: i64 = 0;
    /// Threads.
    threads: i32 = 1;
    /// Seconds that a random workload runs; 0: until its operations are done.
    duration: i32 = 0;
    /// Operations between looks at the clock, with `duration`.
    ops_between_duration_checks: i32 = 1_000;
    /// Bytes of a key.
    key_size: i32 = 16;
    /// Bytes of a value.
    value_size: i32 = 100;
    /// Distribution of the sizes of values: fixed, uniform, normal.
    value_size_distribution_type: String = "fixed".to_owned();
    /// Smallest size of a value, unless sizes are fixed.
    value_size_min: i32 = 100;
    /// Largest size of a value, unless sizes are fixed.
    value_size_max: i32 = 102_400;
    /// Compressed size of a value as a share of its size.
    compression_ratio: f64 = 0.5;
    /// Percentage of values that are all the same.
    same_value_percentage: i32 = 0;
    /// Operations in a write batch or a MultiGet.
    batch_size: i64 = 1;
    /// Column families over which keys are spread.
    num_column_families: i32 = 1;
    /// Prefers low keys: key ranks fall off as exp(-x) over this range. 0: all keys are equally likely.
    read_random_exp_range: f64 = 0.0;
    /// Steps of an iterator after a seek.
    seek_nexts: i32 = 0;
    /// Iterators step backwards.
    reverse_iterator: bool = false;
    /// Keys after which a bound ends the scan that follows a seek; 0: no bound.
    max_scan_distance: i64 = 0;
    /// Distance between the keys of a MultiGet; 0: each is drawn separately.
    multiread_stride: i64 = 0;
    /// Scans read at a snapshot that is taken when the workload starts.
    explicit_snapshot: bool = false;
    /// Percentage of reads in readrandomwriterandom.
    readwritepercent: i32 = 90;
    /// Keys among which merges choose; 0 or less: `num`.
    merge_keys: i64 = -1;
    /// Percentage of merges in readrandommergerandom.
    mergereadpercent: i32 = 70;
    /// Percentage of deletions in randomwithverify.
    deletepercent: i32 = 2;
    /// Keys of randomwithverify and randomreplacekeys.
    numdistinct: i64 = 1_000;
    /// randomreplacekeys deletes with single deletions.
    use_single_deletes: bool = true;
    /// Standard deviation of the keys randomreplacekeys chooses.
    stddev: f64 = 2_000.0;
    /// Runs randomtransaction with pessimistic transactions. The database is opened with allow_2pc; other
    /// workloads write to it without locks.
    transaction_db: bool = false;
    /// Runs randomtransaction with optimistic transactions.
    optimistic_transaction_db: bool = false;
    /// Keys that each transaction changes, one in each set of `num` keys.
    transaction_sets: u64 = 2;
    /// Each transaction sets a snapshot when it begins.
    transaction_set_snapshot: bool = false;
    /// Maximum pause in microseconds between the read and the write of a key in a transaction.
    transaction_sleep: i32 = 0;
    /// Milliseconds that a pessimistic transaction waits for a lock.
    transaction_lock_timeout: u64 = 100;
    /// Percentage of pessimistic transactions that are committed in two phases; in RocksDB's db_bench, 90.
    transaction_prepare_percent: i32 = 90;
    /// File of the trace of a workload's queries, or the one that replay reads. Empty: none.
    trace_file: String = String::new();
    /// How much faster replay runs queries than they were recorded.
    trace_replay_fast_forward: f64 = 1.0;
    /// Threads of replay.
    trace_replay_threads: i32 = 1;
    /// File of the trace of a workload's lookups in the block cache. Empty: none.
    block_cache_trace_file: String = String::new();
    /// Blocks of which one is in the trace of the block cache.
    block_cache_trace_sampling_frequency: i32 = 1;
    /// Bytes after which nothing more is written to the trace of the block cache.
    block_cache_trace_max_trace_file_size_in_bytes: i64 = 64 << 30;
    /// Number of ids in timeseries.
    key_id_range: i32 = 100_000;
    /// Removal of expired entries of timeseries: none, compaction_filter, delete (by threads that read).
    expire_style: String = "none".to_owned();
    /// Writes after which an entry of timeseries has expired.
    time_range: u64 = 100_000;
    /// Threads of timeseries that delete expired entries, with `expire_style` delete.
    num_deletion_threads: i32 = 1;
    /// Keys that seekrandom deletes after its steps.
    seek_nexts_to_delete: i32 = 0;
    /// In filluniquerandom, the probability that a write overwrites a recent key.
    overwrite_probability: f64 = 0.0;
    /// Number of recent keys among which the overwrites of --overwrite_probability choose.
    overwrite_window_size: u32 = 1;
    /// Writes before the first range deletion.
    writes_before_delete_range: i64 = 0;
    /// Writes between range deletions; 0: no range deletions.
    writes_per_range_tombstone: i64 = 0;
    /// Keys that a range deletion covers.
    range_tombstone_width: i64 = 100;
    /// Maximum number of range deletions.
    max_num_range_tombstones: i64 = 0;
    /// Deletes the keys of each range one by one instead.
    expand_range_tombstones: bool = false;
    /// Bytes a second that the writing threads write; 0: no limit.
    benchmark_write_rate_limit: u64 = 0;
    /// Limits the bytes a second of writing threads to sine_a sin(sine_b x + sine_c) + sine_d after x
    /// seconds.
    sine_write_rate: bool = false;
    /// Milliseconds between changes of the limit of --sine_write_rate.
    sine_write_rate_interval_milliseconds: u64 = 10_000;
    /// Reads a second that the reading threads do; 0: no limit.
    benchmark_read_rate_limit: u64 = 0;
    /// A background writer continues to its last write after the readers are done.
    finish_after_writes: bool = false;
    /// Files of an ingestion in ingestexternalfile, each of `num` keys.
    ingest_external_file_batch_size: i32 = 10;
    /// Ingestions in ingestexternalfile.
    ingest_external_file_num_batches: i32 = 1;
    /// Blocks of the database's tables that ingestexternalfile reads stay in the block cache.
    ingest_external_file_fill_cache: bool = true;
    /// Directory of backups. Empty: `backup` in the directory of the database.
    backup_dir: String = String::new();
    /// Bytes a second that backup reads and writes; 0: no limit.
    backup_rate_limit: u64 = 0;
    /// Directory of the database that restore creates. Empty: `restore` in the directory of the database.
    restore_dir: String = String::new();
    /// Bytes a second that restore reads and writes; 0: no limit.
    restore_rate_limit: u64 = 0;
    /// Published setting of mixgraph: all_dist, prefix_dist, all_random, prefix_random, hwperf. Sets the
    /// flags that belong to the setting; flags of the command line take precedence.
    mixgraph_preset: String = String::new();
    /// Derives everything about a mixgraph operation from one random number, as RocksDB's db_bench does, with
    /// the consequences: sizes depend on keys, some keys are negative, and ranges of keys have no effect
    /// without `key_dist`.
    mixgraph_like_rocksdb: bool = false;
    /// Share of Gets in mixgraph.
    mix_get_ratio: f64 = 1.0;
    /// Share of Puts in mixgraph.
    mix_put_ratio: f64 = 0.0;
    /// Share of Seeks in mixgraph.
    mix_seek_ratio: f64 = 0.0;
    /// Operations of mixgraph by all threads together; negative: `reads` for each thread.
    mix_accesses: i64 = -1;
    /// Upper limit of the length of mixgraph's scans; 0: seeks without steps.
    mix_max_scan_len: i64 = 10_000;
    /// Largest size of a value in mixgraph; at most a megabyte.
    mix_max_value_size: i64 = 1_024;
    /// a in a x^b, the share of mixgraph's operations that go to the hottest x keys. 0: all keys are equally
    /// likely.
    key_dist_a: f64 = 0.0;
    /// b in a x^b, the share of mixgraph's operations that go to the hottest x keys.
    key_dist_b: f64 = 0.0;
    /// Number of ranges of keys in mixgraph, if the following flags make them differ.
    keyrange_num: i64 = 1;
    /// a in a e^(bx) + c e^(dx), the share of the operations that go to range x. All four 0: no ranges.
    keyrange_dist_a: f64 = 0.0;
    /// b in a e^(bx) + c e^(dx), the share of the operations that go to range x.
    keyrange_dist_b: f64 = 0.0;
    /// c in a e^(bx) + c e^(dx), the share of the operations that go to range x.
    keyrange_dist_c: f64 = 0.0;
    /// d in a e^(bx) + c e^(dx), the share of the operations that go to range x.
    keyrange_dist_d: f64 = 0.0;
    /// Location of the generalized Pareto distribution of mixgraph's value sizes.
    value_theta: f64 = 0.0;
    /// Shape of the generalized Pareto distribution of mixgraph's value sizes.
    value_k: f64 = 0.2615;
    /// Scale of the generalized Pareto distribution of mixgraph's value sizes.
    value_sigma: f64 = 25.45;
    /// Location of the generalized Pareto distribution of mixgraph's scan lengths.
    iter_theta: f64 = 0.0;
    /// Shape of the generalized Pareto distribution of mixgraph's scan lengths.
    iter_k: f64 = 2.517;
    /// Scale of the generalized Pareto distribution of mixgraph's scan lengths.
    iter_sigma: f64 = 14.236;
    /// Limits mixgraph's operations a second to sine_a sin(sine_b x + sine_c) + sine_d after x seconds.
    sine_mix_rate: bool = false;
    /// Milliseconds between changes of the limit of --sine_mix_rate.
    sine_mix_rate_interval_milliseconds: u64 = 10_000;
    /// Maximum random change of the limit, as a share of `sine_a`.
    sine_mix_rate_noise: f64 = 0.0;
    /// Amplitude of the limit, in operations (with --sine_write_rate: bytes) a second.
    sine_a: f64 = 1.0;
    /// Frequency of the limit, in radians a second.
    sine_b: f64 = 1.0;
    /// Phase of the limit at the start, in radians.
    sine_c: f64 = 0.0;
    /// Mean of the limit, in operations (with --sine_write_rate: bytes) a second.
    sine_d: f64 = 1.0;
    /// Keys among which a background writer chooses; 0: `num`.
    bgwriter_num: i64 = 0;
    /// Syncs every write.
    sync: bool = false;
    /// Writes without WAL.
    disable_wal: bool = false;
    /// Bytes of a checksum over each operation of a write, which is kept until the memtable has it: 0 or 8.
    write_batch_protection_bytes_per_key: u64 = 0;
    /// Verifies the checksums of blocks that are read.
    verify_checksum: bool = true;
    /// Bytes that an iterator reads ahead; 0: the iterator decides.
    readahead_size: i32 = 0;
    /// An iterator's automatic readahead keeps its size from file to file, and shrinks while blocks are in
    /// the cache.
    adaptive_readahead: bool = false;
    /// Runs reads in parallel, and in the background of iterators: by io_uring.
    async_io: bool = false;
    /// Readahead stops at the bounds of an iterator and skips blocks in the block cache.
    auto_readahead_size: bool = false;
    /// Ranges of one multiscan.
    multiscan_size: i64 = 10;
    /// Keys between the end of one range of a multiscan and the beginning of the next.
    multiscan_stride: i64 = 100;
    /// Maximum gap in bytes between blocks that a multiscan reads together.
    multiscan_coalesce_threshold: u64 = 16 << 10;
    /// Maximum bytes of blocks that a multiscan prefetches; 0: no limit.
    multiscan_max_prefetch_size: u64 = 0;
    /// Runs the reads of a multiscan in parallel.
    multiscan_use_async_io: bool = false;
    /// multiscan reads its ranges by MultiScan; if false, by one iterator that seeks.
    use_multiscan: bool = true;
    /// Streams of keys that fillseq and fillbatch write, each with its own prefix; 0: keys as RocksDB makes
    /// them.
    streams: i64 = 0;
    /// Streams descend: each begins with its last key.
    streams_descending: bool = false;
    /// Streams take turns, key by key; otherwise they follow one another.
    streams_concurrent: bool = true;
    /// Order of streams that follow one another: their numbers from 0, separated by commas. Empty: ascending.
    streams_order: String = String::new();
    /// Bytes of the prefix of a key, which filters index. 0: no prefixes.
    prefix_size: i32 = 0;
    /// Keys that share a prefix; 0: random.
    keys_per_prefix: i64 = 0;
    /// seekrandom seeks prefixes that no key has; needs a --prefix_size above 8.
    seek_missing_prefix: bool = false;
    /// Iterators end at the last key with the prefix that they sought.
    prefix_same_as_start: bool = false;
    /// Size of each memtable's filter as a share of write_buffer_size: up to 0.25.
    memtable_bloom_size_ratio: f64 = 0.0;
    /// Seeks use prefix filters if the upper bound (--max_scan_distance) has the same prefix.
    auto_prefix_mode: bool = false;
    /// Iterators over a snapshot (--explicit_snapshot) release, as they move, memtables and files that have
    /// been replaced.
    auto_refresh_iterator_with_snapshot: bool = false;
    /// Seeks use one tailing iterator, which sees the newest version, instead of a new iterator each.
    use_tailing_iterator: bool = false;
    /// Computes a CRC-32C checksum of each table file and records it in the MANIFEST.
    file_checksum: bool = false;
    /// Merge operator, by its name: put, stringappend, uint64add.
    merge_operator: String = String::new();
    /// Type of the block cache: lru_cache, fixed_hyper_clock_cache or hyper_clock_cache (its table is sized
    /// for blocks of block_size), auto_hyper_clock_cache (its table grows).
    cache_type: String = "lru_cache".to_owned();
    /// Bytes of the block cache; 0 or less: none.
    cache_size: i64 = 32 << 20;
    /// Splits the block cache into 2 to the power of this number of shards; negative: by its size.
    cache_numshardbits: i32 = -1;
    /// Bytes of the cache of rows that Gets read from tables, split as the block cache is; 0: none.
    row_cache_size: u64 = 0;
    /// Share of the block cache reserved for blocks of high priority.
    cache_high_pri_pool_ratio: f64 = 0.0;
    /// Share of the block cache reserved for blocks of low priority.
    cache_low_pri_pool_ratio: f64 = 0.0;
    /// Charges the memory of memtables to the block cache; --db_write_buffer_size limits it.
    cost_write_buffer_to_cache: bool = false;
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
    /// Blocks that the block cache evicts go to a compressed secondary cache.
    use_compressed_secondary_cache: bool = false;
    /// Bytes of the secondary cache.
    compressed_secondary_cache_size: i64 = 32 << 20;
    /// Splits the secondary cache into 2 to the power of this number of shards; negative: by its size.
    compressed_secondary_cache_numshardbits: i32 = 6;
    /// Share of the secondary cache reserved for blocks of high priority.
    compressed_secondary_cache_high_pri_pool_ratio: f64 = 0.0;
    /// Share of the secondary cache reserved for blocks of low priority.
    compressed_secondary_cache_low_pri_pool_ratio: f64 = 0.0;
    /// Compression of blocks in the secondary cache: none, snappy, zlib, bzip2, lz4, lz4hc, zstd.
    compressed_secondary_cache_compression_type: String = "lz4".to_owned();
    /// Level of the secondary cache's compression, in the library's own scale; 32767: the library's default.
    compressed_secondary_cache_compression_level: i32 = 32767;
    /// Block cache and secondary cache share one budget, the sum of their sizes.
    use_tiered_cache: bool = false;
    /// Condition on which blocks go to the secondary cache, with a shared budget: auto, placeholder (at the
    /// second eviction), allow_cache_hits (at the first, if they were found meanwhile), allow_all.
    tiered_adm_policy: String = "auto".to_owned();
    /// Caches values of blob files.
    use_blob_cache: bool = false;
    /// Caches values of blob files in the block cache; otherwise in a cache of their own.
    use_shared_block_and_blob_cache: bool = true;
    /// Bytes of a separate blob cache.
    blob_cache_size: u64 = 8 << 20;
    /// Splits a separate blob cache into 2 to the power of this number of shards; negative: by its size.
    blob_cache_numshardbits: i32 = 6;
    /// Bits for each key in Bloom filters; negative: no filters.
    bloom_bits: f64 = -1.0;
    /// Makes Ribbon filters that are as accurate as Bloom filters with this number of bits.
    use_ribbon_filter: bool = false;
    /// Writes the index in partitions.
    partition_index: bool = false;
    /// Writes index and filter in partitions.
    partition_index_and_filters: bool = false;
    /// Writes the first key of each data block into the index.
    index_with_first_key: bool = false;
    /// Writes an index with hints, for RocksDB, about the blocks that contain a prefix; needs --prefix_size.
    use_hash_search: bool = false;
    /// Adds a hash index to data blocks.
    use_data_block_hash_index: bool = false;
    /// Index separators that are shortened: 0 none, 1 those between blocks, 2 also the one after the last
    /// block.
    index_shortening_mode: i32 = 2;
    /// Checksum of blocks: 0 none, 1 CRC-32C, 2 xxHash, 3 xxHash64, 4 XXH3.
    checksum_type: i32 = 4;
    /// Compression: none, snappy, zlib, bzip2, lz4, lz4hc, zstd.
    compression_type: String = "snappy".to_owned();
    /// Level of the compression library; 32767: its own default.
    compression_level: i32 = 32_767;
    /// Threads that compress the blocks of each table; 1: the thread that builds it.
    compression_parallel_threads: u32 = 1;
    /// Bytes of a compression dictionary; 0: none.
    compression_max_dict_bytes: u32 = 0;
    /// Bytes of samples from which ZSTD trains a dictionary; 0: the samples are the dictionary.
    compression_zstd_max_train_bytes: u32 = 0;
    /// Bytes of blocks that are buffered for a dictionary; 0: the engine's limit.
    compression_max_dict_buffer_bytes: u64 = 0;
    /// Trains dictionaries with ZSTD's trainer, the only one available.
    compression_use_zstd_dict_trainer: bool = true;
    /// First level that is compressed; negative: all levels are.
    min_level_to_compress: i32 = -1;
    /// Compaction style: 0 leveled, 1 universal, 2 FIFO, 3 none.
    compaction_style: i32 = 0;
    /// Type of memtables: skip_list or vector, which needs --allow_concurrent_memtable_write=false.
    memtablerep: String = "skip_list".to_owned();
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
    /// Universal compaction: percentage of the data that is compressed; -1: all.
    universal_compression_size_percent: i32 = -1;
    /// Universal compaction: files that overlap no others are moved.
    universal_allow_trivial_move: bool = false;
    /// Universal compaction: maximum number of sorted runs; 0: by the size of the data, -1: the trigger of
    /// compactions.
    universal_max_read_amp: i32 = -1;
    /// Universal compaction: 0 stops at a run whose size differs from the last one's, 1 at one larger than
    /// all before.
    universal_stop_style: i32 = 1;
    /// Universal compaction: kept for OPTIONS files. A job that waits for a thread for the bottom level holds
    /// its files in any case.
    universal_reduce_file_locking: bool = true;
    /// FIFO compaction: MiB of tables above which the oldest are dropped; 0: the engine's default.
    fifo_compaction_max_table_files_size_mb: u64 = 0;
    /// FIFO compaction: MiB of tables and blob files above which the oldest are dropped; 0: only tables
    /// count.
    fifo_compaction_max_data_files_size_mb: u64 = 0;
    /// FIFO compaction: small files are merged.
    fifo_compaction_allow_compaction: bool = true;
    /// FIFO compaction: seconds after which files are dropped, unless 0.
    fifo_compaction_ttl: u64 = 0;
    /// Seconds after which data is compacted to a lower level; 18446744073709551614: the engine's choice.
    ttl_seconds: u64 = u64::MAX - 1;
    /// File of a level that is compacted first: 0 kByCompensatedSize, 1 kOldestLargestSeqFirst, 2
    /// kOldestSmallestSeqFirst, 3 kMinOverlappingRatio, 4 kRoundRobin.
    compaction_pri: i32 = 3;
    /// Bytes a second that flushes and compactions may write; 0: no limit.
    rate_limiter_bytes_per_sec: u64 = 0;
    /// Microseconds between refills of the rate limiter.
    rate_limiter_refill_period_us: u64 = 100_000;
    /// Adapts the limit to demand, between a twentieth of rate_limiter_bytes_per_sec and all of it.
    rate_limiter_auto_tuned: bool = false;
    /// Maximum bytes of one request to the rate limiter; 0: the share of a period.
    rate_limiter_single_burst_bytes: u64 = 0;
    /// Limits the reads of compactions instead of the writes.
    rate_limit_bg_reads: bool = false;
    /// Reads of users count against --rate_limiter_bytes_per_sec, with --rate_limit_bg_reads.
    rate_limit_user_ops: bool = false;
    /// Flushes of the WAL by writes count against --rate_limiter_bytes_per_sec.
    rate_limit_auto_wal_flush: bool = false;
    /// Compactions that may run at once. With this or --max_background_flushes, max_background_jobs is the
    /// sum of the two, each of them at least 1, and background jobs share it as they need; -1: not given.
    max_background_compactions: i32 = -1;
    /// Flushes that may run at once: see max_background_compactions.
    max_background_flushes: i32 = -1;
    /// The most threads that flush, of all databases together; 0: the engine's default.
    num_high_pri_threads: u32 = 0;
    /// The most threads that compact; 0: the engine's default.
    num_low_pri_threads: u32 = 0;
    /// The most threads that do nothing but universal compactions into the last level; 0: none.
    num_bottom_pri_threads: u32 = 0;
    /// Threads that flush and compact have the lowest priority of the processor.
    enable_cpu_prio: bool = false;
    /// Compactions use a filter that keeps every row.
    use_keep_filter: bool = false;
    /// Maximum threads of one compaction.
    subcompactions: u32 = 1;
    /// Table files kept open; -1: all.
    open_files: i32 = -1;
    /// Reads tables through a memory map.
    mmap_read: bool = false;
    /// Prints the distribution of latencies.
    histogram: bool = false;
    /// SVG file for a picture of the functions in which the run spends its CPU time; empty: none.
    flamegraph: String = String::new();
    /// Counts the engine's statistics and prints them at the end.
    statistics: bool = false;
    /// Level of statistics: 0 none, 1 counts, 2 also distributions except times, 3 also times except those of
    /// each block, 4 and 5 all.
    stats_level: i32 = 3;
    /// Level of each thread's own counts, printed after the workload's line: 1 none, 2 counts, 3 also times
    /// of waits, 4 to 6 all times.
    perf_level: i32 = 1;
    /// With repetitions, prints confidence intervals instead of averages.
    confidence_interval_only: bool = false;
    /// Shows progress on a terminal.
    progress_reports: bool = true;
    /// Operations of a thread between lines about its speed; 0: no lines.
    stats_interval: i64 = 0;
    /// Minimum seconds between a thread's lines about its speed.
    stats_interval_seconds: i64 = 0;
    /// Prints the engine's own statistics with each line of thread 0.
    stats_per_interval: i32 = 0;
    /// Prints properties of the tables of each level with the statistics of --stats_per_interval.
    show_table_properties: bool = false;
    /// Seconds between rows of `report_file`; 0: no rows.
    report_interval_seconds: i64 = 0;
    /// CSV file of operations a second.
    report_file: String = "report.csv".to_owned();
    /// Writes all measurements to this file, as JSON; `db_bench report` draws it. Empty: no file.
    json: String = String::new();
    /// Another db_bench, RocksDB's or Esker's, that runs alternately with this one over databases of its own;
    /// prints ratios.
    peer: String = String::new();
    /// Runs of each program with `peer`; a verdict needs six.
    peer_rounds: i32 = 7;
    /// Size of the blocks in the checksum and compression workloads, in bytes.
    block_size: u64 = 4_096;
}

/// The flags of a preset of mixgraph.
fn preset(name: &str, value: &str) -> Result<Vec<(&'static str, &'static str)>, String> {
    match name {
        "mixgraph_preset" => crate::mixgraph::preset(value),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use flags::{FlagSet, Parsed, parse, rocksdb};

    use super::*;

    fn run(line: &str) -> Result<Flags, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&args)? {
            Parsed::Run(flags) => Ok(*flags),
            Parsed::Help => Err("help".into()),
        }
    }

    #[test]
    fn every_form_gflags_knows() {
        let flags = run(
            "--num=5 -threads 3 --histogram --noverify_checksum --sync=1 --use-existing-db=t --db=/tmp/x",
        )
        .unwrap();
        assert_eq!((flags.num, flags.threads, flags.histogram), (5, 3, true));
        assert!(!flags.verify_checksum && flags.sync && flags.use_existing_db);
        assert_eq!(flags.db, "/tmp/x");
        assert_eq!(
            run("--value_size=4k --cache_size=1G").unwrap().cache_size,
            1 << 30
        );
        assert_eq!(run("--reads=-1 --seed -7").unwrap().seed, -7);
    }

    #[test]
    fn options_of_the_engine_pass_through() {
        let flags: Flags =
            run("--write_buffer_size=1m --disable_auto_compactions --nodisable_auto_compactions").unwrap();
        let given: Vec<_> = flags
            .rest
            .engine
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            given,
            [
                "write_buffer_size=1m",
                "disable_auto_compactions=true",
                "disable_auto_compactions=false"
            ]
        );
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            run("--thrads=2").unwrap_err(),
            "unknown flag --thrads; did you mean --threads?"
        );
        assert_eq!(
            run("--wriet_buffer_size=2").unwrap_err(),
            "unknown flag --wriet_buffer_size; did you mean --write_buffer_size?"
        );
        assert_eq!(
            run("--zzzzzz").unwrap_err(),
            "unknown flag --zzzzzz; --help lists them"
        );
        assert_eq!(
            run("--num=many").unwrap_err(),
            "--num=many: needs a value of type integer"
        );
        assert_eq!(run("--num").unwrap_err(), "--num needs a value");
        assert_eq!(run("fillseq").unwrap_err(), "fillseq: a flag must begin with --");
        assert_eq!(
            run("--nonum").unwrap_err(),
            "unknown flag --nonum; did you mean --num?"
        );
        assert_eq!(
            run("--threads=9999999999").unwrap_err(),
            "--threads=9999999999: needs a value of type integer"
        );
    }

    #[test]
    fn flags_without_effect_are_taken_at_their_default_only() {
        for line in [
            "--num_multi_db=0",
            "--enable_numa=false",
            "--noenable_numa",
            "--use_blob_db=0",
        ] {
            run(line).unwrap();
        }
        let tuned = run("--enable_write_thread_adaptive_yield=false --noenable_pipelined_write").unwrap();
        assert!(
            tuned.rest.ignored[0].starts_with("--enable_write_thread_adaptive_yield=false has no effect: "),
            "{:?}",
            tuned.rest.ignored
        );
        assert_eq!(tuned.rest.ignored.len(), 2);
    }

    #[test]
    fn what_is_missing_is_named_all_at_once() {
        assert_eq!(
            run("--enable_numa --num=5 --mmap_write=true --num_multi_db=4").unwrap_err(),
            "--enable_numa=true needs binding to NUMA nodes, which this program does not offer\n\
             --mmap_write=true needs writes through a memory map, which this program does not offer\n\
             --num_multi_db=4 needs several databases at once, which this program does not offer"
        );
        run("--mmap_write --nommap_write").unwrap();
    }

    #[test]
    fn words_that_gflags_leaves_alone() {
        let flags = run("--num=5 write_buffer_size=2 --undefok=tomorrow,db --tomorrow=3").unwrap();
        assert_eq!(
            flags.rest.ignored,
            [
                "write_buffer_size=2: no flag, because it does not begin with --",
                "--tomorrow: unknown, and --undefok allows it"
            ]
        );
        assert!(run("tomorrow=3").is_err());
        let allowed = run("--undefok=mmap_write --mmap_write").unwrap();
        assert!(
            allowed.rest.ignored[0].ends_with("; --undefok allows it"),
            "{:?}",
            allowed.rest.ignored
        );
    }

    #[test]
    fn no_flag_is_listed_twice() {
        let mut names: Vec<&str> = Flags::FLAGS
            .iter()
            .map(|flag| flag.name)
            .chain(rocksdb::rows::<Flags>().map(|row| row.name))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(rocksdb::damaged_lines::<Flags>(), [""; 0]);
        assert!(rocksdb::rows::<Flags>().all(|row| !row.section.is_empty()));
    }
}
