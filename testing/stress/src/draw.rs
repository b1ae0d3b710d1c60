//! Random command lines of db_stress: every option of the engine that has a domain, and the work of the
//! threads.

use esker::option_table::OptionTable;
use esker::{BlockBasedOptions, ColumnFamilyOptions, Options};
use fastrand::Rng;

/// The place of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The database is on disk, and runs long enough to grow.
    Disk,
    /// The database is in memory, and its process is killed after a short time.
    Memory,
}

/// Options that stay the same for a database: an open with fewer levels than have files would be refused.
const KEPT: &[&str] = &["num_levels"];

fn one_of(rng: &mut Rng, name: &str, values: &[&str]) -> String {
    format!("--{name}={}", values[rng.usize(..values.len())])
}

/// The flags that stay the same in all runs over a database.
pub fn kept(rng: &mut Rng, on: On) -> Vec<String> {
    let keys: &[&str] = match on {
        On::Disk => &["10", "100", "1000", "20000"],
        On::Memory => &["10", "100", "300"],
    };
    let mut args = vec![
        one_of(rng, "max_key", keys),
        one_of(rng, "column_families", &["1", "2", "5"]),
        one_of(rng, "nooverwritepercent", &["0", "1", "60"]),
        one_of(rng, "value_size_mult", &["8", "33", "300"]),
        one_of(rng, "allow_ingest_behind", &["false", "false", "true"]),
        one_of(rng, "change_wal_dir", &["false", "false", "true"]),
        one_of(rng, "table_paths", &["0", "0", "3"]),
        one_of(rng, "test_feed", &["false", "false", "true"]),
        one_of(rng, "encrypt", &["false", "false", "false", "true"]),
        "--progress_reports=false".to_owned(),
    ];
    match rng.u32(..5) {
        // The flags of transactions stay the same for a database, because a run must know the transactions
        // that an earlier one prepared.
        0 => args.extend([
            "--use_txn=true".to_owned(),
            one_of(rng, "txn_write_policy", &["0", "0", "1", "2"]),
            one_of(rng, "create_timestamped_snapshot_one_in", &["0", "20"]),
        ]),
        1 => args.push("--use_optimistic_txn=true".to_owned()),
        _ => {}
    }
    for row in ColumnFamilyOptions::rows()
        .iter()
        .filter(|row| KEPT.contains(&row.name))
    {
        args.push(one_of(rng, row.name, row.domain));
    }
    args
}

/// The flags of operations that look at earlier states.
const LOOK_BACK: &[&str] = &[
    "--acquire_snapshot_one_in=",
    "--checkpoint_one_in=",
    "--backup_one_in=",
    "--export_column_family_one_in=",
    "--test_secondary=",
    "--secondary_catch_up_one_in=",
    "--continuous_verification_interval=",
];

/// The shares of the operations in a run.
const PERCENTAGES: [&[&str]; 4] = [
    &[
        "readpercent=10",
        "prefixpercent=5",
        "writepercent=60",
        "delpercent=10",
        "delrangepercent=5",
        "iterpercent=10",
    ],
    &[
        "readpercent=60",
        "prefixpercent=4",
        "writepercent=25",
        "delpercent=9",
        "delrangepercent=1",
        "iterpercent=1",
    ],
    &[
        "readpercent=50",
        "prefixpercent=10",
        "writepercent=20",
        "delpercent=5",
        "delrangepercent=0",
        "iterpercent=15",
    ],
    &[
        "readpercent=10",
        "prefixpercent=10",
        "writepercent=40",
        "delpercent=10",
        "delrangepercent=20",
        "iterpercent=10",
    ],
];

/// The flags that each run draws again: about half of the options that have a domain, and the work of the
/// threads. A seed stands for the same flags only while the order of the draws is the same.
pub fn drawn(rng: &mut Rng, on: On) -> Vec<String> {
    let mut draw = Draw::new(rng, on);
    draw.threads();
    draw.shared_limits();
    draw.keys_and_caches();
    draw.writes_and_snapshots();
    draw.jobs_and_copies();
    draw.inspections();
    draw.reads();
    draw.pinning();
    draw.batches_and_checksums();
    draw.compactions();
    draw.cache_and_index();
    let visible = draw.visibility();
    draw.others(visible);
    draw.wal_recovery_mode(visible);
    draw.compaction_filter(visible);
    draw.limits_and_kills(visible);
    draw.args.extend(entities(draw.rng));
    draw.args.extend(families_and_workers(draw.rng));
    let others_read = others_read(&draw.args);
    draw.args.extend(deletions(draw.rng, others_read));
    draw.args.extend(holds(draw.rng, draw.rarely));
    let has_secondary = draw.has("--test_secondary=true");
    draw.args.extend(faults(draw.rng, has_secondary));
    draw.percentages();
    draw.options_of_engine();
    draw.block_align();
    draw.charges();
    draw.args
}

/// The flags drawn so far, and how the rest of them is drawn.
struct Draw<'a> {
    rng: &'a mut Rng,
    disk: bool,
    /// The domain of operations that are rare.
    rarely: &'static [&'static str],
    args: Vec<String>,
}

/// The visibility of a run's writes: to other databases, and after a crash.
#[derive(Clone, Copy)]
struct Visibility {
    /// True if a loss of power may lose writes that returned: they are not synced.
    hides_unsynced: bool,
    /// True if other databases over the directory see each write that returned.
    others_see: bool,
}

impl<'a> Draw<'a> {
    fn new(rng: &'a mut Rng, on: On) -> Draw<'a> {
        let disk = on == On::Disk;
        Draw {
            rng,
            disk,
            rarely: if disk {
                &["0", "1000", "100000"]
            } else {
                &["0", "20", "200"]
            },
            args: Vec::new(),
        }
    }

    /// Draws one of the values of a flag.
    fn one_of(&mut self, name: &str, values: &[&str]) {
        self.args.push(one_of(self.rng, name, values));
    }

    /// Draws one of the values of a flag: those of a database on disk, or those of one in memory.
    fn one_on(&mut self, name: &str, on_disk: &[&str], in_memory: &[&str]) {
        self.one_of(name, if self.disk { on_disk } else { in_memory });
    }

    /// Draws how rarely the threads do an operation, if at all.
    fn rarely(&mut self, name: &str) {
        self.one_of(name, self.rarely);
    }

    /// True if the flag was drawn with this value.
    fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg == flag)
    }

    fn threads(&mut self) {
        self.args.push(format!("--seed={}", self.rng.u64(1..)));
        self.one_on("threads", &["1", "4", "16"], &["1", "2", "4"]);
        self.one_on("ops_per_thread", &["100000000"], &["30", "300", "3000"]);
        self.one_on("reopen", &["0", "0", "20"], &["0", "0", "0", "2"]);
    }

    fn shared_limits(&mut self) {
        self.one_of("statistics", &["0", "1"]);
        self.one_of("use_write_buffer_manager", &["0", "1"]);
        self.one_of(
            "rate_limiter_bytes_per_sec",
            &["0", "0", "67108864", "1073741824"],
        );
        self.one_of("rate_limit_bg_reads", &["0", "1"]);
        self.one_of("rate_limit_user_ops", &["0", "1"]);
    }

    fn keys_and_caches(&mut self) {
        self.one_of("use_merge", &["0", "1"]);
        self.one_of("use_multiget", &["0", "1"]);
        self.one_of("prefix_size", &["0", "5", "7", "8"]);
        self.one_of("bloom_bits", &["-1", "0", "10", "18.5"]);
        self.one_of("bloom_before_level", &["2147483647", "-1", "0", "2"]);
        self.one_of("cache_size", &["0", "10000", "100000", "8388608"]);
        self.one_of("row_cache_size", &["0", "0", "10000", "1048576"]);
        self.one_of("use_blob_cache", &["0", "1"]);
        self.one_of("use_shared_block_and_blob_cache", &["0", "1"]);
        self.one_of("blob_cache_size", &["10000", "1048576"]);
        self.one_of("compression_type", &["none", "snappy", "zlib", "lz4", "zstd"]);
    }

    fn writes_and_snapshots(&mut self) {
        self.one_of("range_deletion_width", &["1", "10", "100"]);
        self.one_of("ascending_run", &["0", "0", "100", "2000"]);
        self.one_of("no_slowdown_one_in", &["0", "2", "20"]);
        self.one_of("low_pri_one_in", &["0", "0", "20"]);
        self.one_of("acquire_snapshot_one_in", &["0", "100", "10000"]);
        self.one_of("snapshot_hold_ops", &["10", "10000"]);
    }

    fn jobs_and_copies(&mut self) {
        self.rarely("flush_one_in");
        self.rarely("compact_range_one_in");
        self.rarely("compact_files_one_in");
        self.rarely("clear_column_family_one_in");
        for copy in [
            "checkpoint_one_in",
            "backup_one_in",
            "export_column_family_one_in",
        ] {
            self.one_on(copy, &["0", "0", "0", "10000"], &["0", "0", "0", "100"]);
        }
    }

    fn inspections(&mut self) {
        self.one_of("key_may_exist_one_in", &["0", "10", "1000"]);
        self.rarely("get_live_files_apis_one_in");
        self.rarely("get_all_column_family_metadata_one_in");
        self.rarely("get_properties_of_all_tables_one_in");
        self.rarely("disable_file_deletions_one_in");
        self.one_on("verify_db_one_in", &["0", "10000"], &["0", "200"]);
        self.one_of("verify_before_write", &["0", "0", "1"]);
        self.one_of("long_running_snapshots", &["0", "1"]);
    }

    fn reads(&mut self) {
        self.one_of("fill_cache", &["0", "1", "1"]);
        self.one_of("readahead_size", &["0", "0", "16384"]);
        self.one_of("adaptive_readahead", &["0", "1"]);
        self.one_of("auto_readahead_size", &["0", "1"]);
        self.one_of(
            "cache_type",
            &[
                "lru_cache",
                "fixed_hyper_clock_cache",
                "auto_hyper_clock_cache",
                "tiered_lru_cache",
                "tiered_auto_hyper_clock_cache",
            ],
        );
        self.one_of("adm_policy", &["0", "2", "4"]);
        self.one_of("enable_do_not_compress_roles", &["0", "0", "1"]);
        self.one_of("set_cache_capacity_one_in", &["0", "0", "100", "10000"]);
        self.one_of("async_io", &["0", "0", "1"]);
        self.one_of("verify_checksum", &["0", "1", "1"]);
        self.one_of("use_multiscan", &["0", "1"]);
        self.one_of("multiscan_use_async_io", &["0", "1"]);
    }

    fn pinning(&mut self) {
        self.one_of("high_pri_pool_ratio", &["0", "0.5"]);
        self.one_of("low_pri_pool_ratio", &["0", "0.5"]);
        self.one_of("top_level_index_pinning", &["0", "1", "2", "3"]);
        self.one_of("partition_pinning", &["0", "1", "2", "3"]);
        self.one_of("unpartitioned_pinning", &["0", "1", "2", "3"]);
    }

    fn batches_and_checksums(&mut self) {
        self.one_of("batch_one_in", &["0", "2", "10"]);
        self.one_of("batch_protection_bytes_per_key", &["0", "0", "8"]);
        self.one_of("verify_checksum_one_in", &["0", "10000"]);
        self.one_of("verify_file_checksums_one_in", &["0", "10000"]);
        self.one_of("auto_refresh_iterator_with_snapshot", &["0", "1"]);
        self.one_of("allow_unprepared_value", &["0", "1"]);
    }

    fn compactions(&mut self) {
        // FIFO's files pile up.
        self.one_of("compaction_style", &["0", "0", "0", "1", "1", "1", "1", "2"]);
        self.one_of("enable_sst_partitioner_factory", &["0", "0", "1"]);
        self.one_of("memtablerep", &["skip_list", "skip_list", "vector"]);
        self.one_of("enable_compaction_on_deletion_trigger", &["0", "0", "1"]);
        self.one_of("compaction_on_deletion_window_size", &["0", "10", "100"]);
        self.one_of("compaction_on_deletion_trigger_count", &["5", "50"]);
        self.one_of("compaction_on_deletion_ratio", &["0", "0.3"]);
        self.one_of("compaction_on_deletion_min_file_size", &["0", "4096"]);
        self.one_of("mark_for_compaction_one_file_in", &["0", "0", "2", "10"]);
        self.rarely("set_options_one_in");
        self.rarely("promote_l0_one_in");
        self.one_of("compaction_pri", &["0", "1", "2", "3", "4"]);
        self.one_of("compaction_ttl", &["0", "0", "2", "1000"]);
    }

    /// Draws flags that depend on the memtable and the caches drawn before.
    fn cache_and_index(&mut self) {
        let is_vector = self.has("--memtablerep=vector");
        let together: &[&str] = if is_vector { &["0"] } else { &["0", "1", "1"] };
        self.one_of("allow_concurrent_memtable_write", together);
        if !self
            .args
            .iter()
            .any(|arg| arg.starts_with("--cache_type=tiered_"))
        {
            self.one_of("compressed_secondary_cache_size", &["0", "50000", "8388608"]);
        }
        // `kHashSearch` needs prefixes, which every run has.
        if self.rng.u32(..8) == 0 {
            self.args.push("--index_type=kHashSearch".to_owned());
        }
    }

    /// Draws the use of the WAL, on which it depends which writes a crash may lose.
    fn visibility(&mut self) -> Visibility {
        // True if a crash may lose writes that returned: unflushed rows that no WAL holds.
        let hides_unflushed = self.rng.u32(..5) == 0;
        if hides_unflushed {
            self.one_of("manual_wal_flush_one_in", &["20", "1000"]);
        }
        self.one_of("large_row_one_in", &["0", "20", "1000"]);
        self.one_on("lock_wal_one_in", &["0", "0", "10000"], &["0", "0", "100"]);
        if self.rng.u32(..4) == 0 {
            self.args.push("--disable_wal=true".to_owned());
        } else {
            if !hides_unflushed {
                self.one_of("rate_limit_auto_wal_flush", &["0", "1"]);
            }
            self.one_of("sync", &["0", "0", "0", "1"]);
            self.one_of("sync_wal_one_in", &["0", "100", "10000"]);
            self.rarely("ingest_external_file_one_in");
            self.one_of("ingest_external_file_width", &["1", "10", "100"]);
            self.one_of("ingest_external_file_prepare_commit_one_in", &["0", "1", "2"]);
            self.one_of("test_ingest_standalone_range_deletion_one_in", &["0", "2", "5"]);
        }
        let hides_unsynced = self.disk && self.rng.u32(..3) == 0;
        Visibility {
            hides_unsynced,
            others_see: !hides_unsynced && !hides_unflushed,
        }
    }

    /// Draws the databases that read the directory during the run.
    fn others(&mut self, visible: Visibility) {
        if visible.others_see && self.rng.u32(..4) == 0 {
            self.args.push("--test_secondary=true".to_owned());
            self.rarely("secondary_catch_up_one_in");
            self.one_of("continuous_verification_interval", &["0", "10", "1000"]);
        }
        if visible.others_see {
            self.one_on("open_read_only_one_in", &["0", "0", "10000"], &["0", "0", "100"]);
        }
    }

    fn wal_recovery_mode(&mut self, visible: Visibility) {
        // A WAL whose end a loss of power took is read as if nothing were missing there, so this is not drawn
        // where something can be missing.
        if self.disk && visible.others_see {
            self.one_of(
                "wal_recovery_mode",
                &[
                    "kPointInTimeRecovery",
                    "kPointInTimeRecovery",
                    "kTolerateCorruptedTailRecords",
                    "kSkipAnyCorruptedRecords",
                ],
            );
        }
    }

    fn compaction_filter(&mut self, visible: Visibility) {
        // The filter follows the current state of keys and ignores snapshots, so runs that may lose rows or
        // that read snapshots do not use it.
        let keeps_rows = visible.others_see && !self.has("--disable_wal=true");
        if self.disk && keeps_rows && self.rng.u32(..4) == 0 {
            self.args
                .retain(|arg| !LOOK_BACK.iter().any(|name| arg.starts_with(name)));
            self.one_of("enable_compaction_filter", &["0", "1", "1"]);
            self.one_of("ingest_behind_one_in", &["0", "1", "3"]);
            self.one_of("ingest_replace_range_one_in", &["0", "1", "3"]);
        }
    }

    fn limits_and_kills(&mut self, visible: Visibility) {
        if self.disk {
            // Files may have only 4 KiB, and there may be more of them than a process can have open.
            self.one_of("open_files", &["16", "100", "2000"]);
            self.args
                .push(format!("--sync_fault_injection={}", visible.hides_unsynced));
            self.one_of("kill_random_test", &["0", "100", "1000", "10000"]);
        } else {
            self.args.push("--quiet=true".to_owned());
        }
    }

    /// Draws the shares of the operations: mostly writes, or mostly reads.
    fn percentages(&mut self) {
        let shares = PERCENTAGES[self.rng.usize(..PERCENTAGES.len())];
        self.args.extend(shares.iter().map(|share| format!("--{share}")));
    }

    /// Draws about half of the engine's options that have a domain and no flag yet.
    fn options_of_engine(&mut self) {
        let rows = domains::<Options>()
            .chain(domains::<ColumnFamilyOptions>())
            .chain(domains::<BlockBasedOptions>());
        for (name, domain) in rows {
            let flag = format!("--{name}=");
            let given = self.args.iter().any(|arg| arg.starts_with(&flag));
            if name == "cache_index_and_filter_blocks" && self.has("--cache_size=0") {
                // `cache_index_and_filter_blocks` would be refused without a block cache.
                continue;
            }
            if name == "ttl" {
                // The flag for this option is `compaction_ttl`, which FIFO compaction must not have.
                continue;
            }
            if name == "max_open_files" && self.disk {
                // The flag for this option is `open_files`, which is bounded there.
                continue;
            }
            if !given && !KEPT.contains(&name) && self.rng.bool() {
                self.one_of(name, domain);
            }
        }
    }

    /// Draws `block_align` separately, because it would be refused if anything is compressed.
    fn block_align(&mut self) {
        const COMPRESSED: &[&str] = &[
            "--compression_type=",
            "--compression=",
            "--bottommost_compression=",
            "--compression_per_level=",
        ];
        if self.rng.u32(..6) == 0 {
            self.args
                .retain(|arg| !COMPRESSED.iter().any(|name| arg.starts_with(name)));
            self.args.push("--compression_type=none".to_owned());
            self.args.push("--block_align=true".to_owned());
        }
    }

    /// Draws the memory that is charged to the block cache. Charges need a block cache, and one whose strict
    /// limit no thread sets, because a table that the limit refuses stops the database.
    fn charges(&mut self) {
        const CHARGES: [&str; 4] = [
            "charge_table_reader",
            "charge_compression_dictionary_building_buffer",
            "charge_filter_construction",
            "charge_file_metadata",
        ];
        if self.has("--cache_size=0") || !self.has("--set_cache_capacity_one_in=0") {
            return;
        }
        for charge in CHARGES {
            self.one_of(charge, &["0", "0", "1"]);
        }
        // The blob cache must be another cache, and not the larger one.
        let is_small = self.has("--blob_cache_size=10000") || self.has("--cache_size=8388608");
        let is_another = self.has("--use_blob_cache=1") && self.has("--use_shared_block_and_blob_cache=0");
        if is_another && is_small {
            self.one_of("charge_blob_cache", &["0", "1"]);
        }
    }
}

/// The flags of rows with columns.
fn entities(rng: &mut Rng) -> [String; 3] {
    [
        one_of(rng, "use_put_entity_one_in", &["0", "0", "1", "5"]),
        one_of(rng, "use_get_entity", &["0", "1"]),
        one_of(rng, "use_multi_get_entity", &["0", "1"]),
    ]
}

/// The flags of iterators over several families, and of the workers of a compaction service.
fn families_and_workers(rng: &mut Rng) -> [String; 3] {
    [
        one_of(rng, "use_multi_cf_iterator", &["0", "1"]),
        one_of(rng, "use_attribute_group", &["0", "1"]),
        one_of(
            rng,
            "remote_compaction_worker_threads",
            &["0", "0", "0", "1", "3"],
        ),
    ]
}

/// True if these flags make other databases read the directory during the run.
fn others_read(args: &[String]) -> bool {
    args.iter().any(|arg| {
        let read_only = arg.strip_prefix("--open_read_only_one_in=");
        arg == "--test_secondary=true" || read_only.is_some_and(|one_in| one_in != "0")
    })
}

/// The flags of the deletion of files and of the listing of WALs. With `others_read`, other databases may
/// have the tables open, so tables are not truncated.
fn deletions(rng: &mut Rng, others_read: bool) -> [String; 4] {
    let rates = &["0", "0", "10000", "1048576", "104857600"];
    let chunks = match others_read {
        true => &["0", "0", "0"],
        false => &["0", "1000", "1048576"],
    };
    [
        one_of(rng, "sst_file_manager_bytes_per_sec", rates),
        one_of(rng, "sst_file_manager_bytes_per_truncate", chunks),
        one_of(rng, "get_sorted_wal_files_one_in", &["0", "100", "10000"]),
        one_of(rng, "get_current_wal_file_one_in", &["0", "100", "10000"]),
    ]
}

/// The flags that pause, disable or abort background work for a while.
fn holds(rng: &mut Rng, rarely: &[&str]) -> [String; 3] {
    [
        one_of(rng, "pause_background_one_in", rarely),
        one_of(rng, "disable_manual_compaction_one_in", rarely),
        one_of(rng, "abort_and_resume_compactions_one_in", rarely),
    ]
}

/// The flags of fault injection: mostly none, so that only a crash can lose something.
fn faults(rng: &mut Rng, has_secondary: bool) -> Vec<String> {
    const WORKING: &[&str] = &[
        "read_fault_one_in",
        "write_fault_one_in",
        "metadata_read_fault_one_in",
        "metadata_write_fault_one_in",
    ];
    const OPENING: &[&str] = &[
        "open_read_fault_one_in",
        "open_write_fault_one_in",
        "open_metadata_read_fault_one_in",
        "open_metadata_write_fault_one_in",
    ];
    let none = rng.u32(..3) > 0;
    let rates: &[&str] = if none {
        &["0"]
    } else {
        &["0", "100", "1000", "10000"]
    };
    let mut args: Vec<String> = WORKING.iter().map(|name| one_of(rng, name, rates)).collect();
    if !none {
        args.extend(
            OPENING
                .iter()
                .map(|name| one_of(rng, name, &["0", "0", "20", "200"])),
        );
        if !has_secondary {
            let rates = &["0", "0", "10000", "1000000"];
            args.push(one_of(rng, "user_code_panic_one_in", rates));
        }
        args.push(one_of(rng, "exclude_wal_from_write_fault_injection", &["0", "1"]));
        args.push(one_of(rng, "error_recovery_with_no_fault_injection", &["0", "1"]));
    }
    args
}

fn domains<S: OptionTable>() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    S::rows()
        .iter()
        .filter(|row| !row.domain.is_empty())
        .map(|row| (row.name, row.domain))
}
