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

/// The flags that each run draws again: about half of the options that have a domain, and the work of the
/// threads.
pub fn drawn(rng: &mut Rng, on: On) -> Vec<String> {
    let disk = on == On::Disk;
    let rarely: &[&str] = if disk {
        &["0", "1000", "100000"]
    } else {
        &["0", "20", "200"]
    };
    let mut args = vec![
        format!("--seed={}", rng.u64(1..)),
        one_of(
            rng,
            "threads",
            if disk { &["1", "4", "16"] } else { &["1", "2", "4"] },
        ),
        one_of(
            rng,
            "ops_per_thread",
            if disk {
                &["100000000"]
            } else {
                &["30", "300", "3000"]
            },
        ),
        one_of(
            rng,
            "reopen",
            if disk {
                &["0", "0", "20"]
            } else {
                &["0", "0", "0", "2"]
            },
        ),
        one_of(rng, "statistics", &["0", "1"]),
        one_of(rng, "use_write_buffer_manager", &["0", "1"]),
        one_of(
            rng,
            "rate_limiter_bytes_per_sec",
            &["0", "0", "67108864", "1073741824"],
        ),
        one_of(rng, "rate_limit_bg_reads", &["0", "1"]),
        one_of(rng, "rate_limit_user_ops", &["0", "1"]),
        one_of(rng, "use_merge", &["0", "1"]),
        one_of(rng, "use_multiget", &["0", "1"]),
        one_of(rng, "prefix_size", &["0", "5", "7", "8"]),
        one_of(rng, "bloom_bits", &["-1", "0", "10", "18.5"]),
        one_of(rng, "bloom_before_level", &["2147483647", "-1", "0", "2"]),
        one_of(rng, "cache_size", &["0", "10000", "100000", "8388608"]),
        one_of(rng, "row_cache_size", &["0", "0", "10000", "1048576"]),
        one_of(rng, "use_blob_cache", &["0", "1"]),
        one_of(rng, "use_shared_block_and_blob_cache", &["0", "1"]),
        one_of(rng, "blob_cache_size", &["10000", "1048576"]),
        one_of(
            rng,
            "compression_type",
            &["none", "snappy", "zlib", "lz4", "zstd"],
        ),
        one_of(rng, "range_deletion_width", &["1", "10", "100"]),
        one_of(rng, "ascending_run", &["0", "0", "100", "2000"]),
        one_of(rng, "no_slowdown_one_in", &["0", "2", "20"]),
        one_of(rng, "low_pri_one_in", &["0", "0", "20"]),
        one_of(rng, "acquire_snapshot_one_in", &["0", "100", "10000"]),
        one_of(rng, "snapshot_hold_ops", &["10", "10000"]),
        one_of(rng, "flush_one_in", rarely),
        one_of(rng, "compact_range_one_in", rarely),
        one_of(rng, "compact_files_one_in", rarely),
        one_of(rng, "clear_column_family_one_in", rarely),
        one_of(
            rng,
            "checkpoint_one_in",
            &["0", "0", "0", if disk { "10000" } else { "100" }],
        ),
        one_of(
            rng,
            "backup_one_in",
            &["0", "0", "0", if disk { "10000" } else { "100" }],
        ),
        one_of(
            rng,
            "export_column_family_one_in",
            &["0", "0", "0", if disk { "10000" } else { "100" }],
        ),
        one_of(rng, "key_may_exist_one_in", &["0", "10", "1000"]),
        one_of(rng, "get_live_files_apis_one_in", rarely),
        one_of(rng, "get_all_column_family_metadata_one_in", rarely),
        one_of(rng, "get_properties_of_all_tables_one_in", rarely),
        one_of(rng, "disable_file_deletions_one_in", rarely),
        one_of(
            rng,
            "verify_db_one_in",
            &["0", if disk { "10000" } else { "200" }],
        ),
        one_of(rng, "verify_before_write", &["0", "0", "1"]),
        one_of(rng, "long_running_snapshots", &["0", "1"]),
        one_of(rng, "fill_cache", &["0", "1", "1"]),
        one_of(rng, "readahead_size", &["0", "0", "16384"]),
        one_of(rng, "adaptive_readahead", &["0", "1"]),
        one_of(rng, "auto_readahead_size", &["0", "1"]),
        one_of(
            rng,
            "cache_type",
            &[
                "lru_cache",
                "fixed_hyper_clock_cache",
                "auto_hyper_clock_cache",
                "tiered_lru_cache",
                "tiered_auto_hyper_clock_cache",
            ],
        ),
        one_of(rng, "adm_policy", &["0", "2", "4"]),
        one_of(rng, "enable_do_not_compress_roles", &["0", "0", "1"]),
        one_of(rng, "set_cache_capacity_one_in", &["0", "0", "100", "10000"]),
        one_of(rng, "async_io", &["0", "0", "1"]),
        one_of(rng, "verify_checksum", &["0", "1", "1"]),
        one_of(rng, "use_multiscan", &["0", "1"]),
        one_of(rng, "multiscan_use_async_io", &["0", "1"]),
        one_of(rng, "high_pri_pool_ratio", &["0", "0.5"]),
        one_of(rng, "low_pri_pool_ratio", &["0", "0.5"]),
        one_of(rng, "top_level_index_pinning", &["0", "1", "2", "3"]),
        one_of(rng, "partition_pinning", &["0", "1", "2", "3"]),
        one_of(rng, "unpartitioned_pinning", &["0", "1", "2", "3"]),
        one_of(rng, "batch_one_in", &["0", "2", "10"]),
        one_of(rng, "batch_protection_bytes_per_key", &["0", "0", "8"]),
        one_of(rng, "verify_checksum_one_in", &["0", "10000"]),
        one_of(rng, "verify_file_checksums_one_in", &["0", "10000"]),
        one_of(rng, "auto_refresh_iterator_with_snapshot", &["0", "1"]),
        one_of(rng, "allow_unprepared_value", &["0", "1"]),
        one_of(rng, "compaction_style", &["0", "0", "0", "1", "1", "1", "1", "2"]), // FIFO's files pile up.
        one_of(rng, "enable_sst_partitioner_factory", &["0", "0", "1"]),
        one_of(rng, "memtablerep", &["skip_list", "skip_list", "vector"]),
        one_of(rng, "enable_compaction_on_deletion_trigger", &["0", "0", "1"]),
        one_of(rng, "compaction_on_deletion_window_size", &["0", "10", "100"]),
        one_of(rng, "compaction_on_deletion_trigger_count", &["5", "50"]),
        one_of(rng, "compaction_on_deletion_ratio", &["0", "0.3"]),
        one_of(rng, "compaction_on_deletion_min_file_size", &["0", "4096"]),
        one_of(rng, "mark_for_compaction_one_file_in", &["0", "0", "2", "10"]),
        one_of(rng, "set_options_one_in", rarely),
        one_of(rng, "promote_l0_one_in", rarely),
        one_of(rng, "compaction_pri", &["0", "1", "2", "3", "4"]),
        one_of(rng, "compaction_ttl", &["0", "0", "2", "1000"]),
    ];
    let is_vector = args.iter().any(|arg| arg == "--memtablerep=vector");
    let together: &[&str] = if is_vector { &["0"] } else { &["0", "1", "1"] };
    args.push(one_of(rng, "allow_concurrent_memtable_write", together));
    if !args.iter().any(|arg| arg.starts_with("--cache_type=tiered_")) {
        args.push(one_of(
            rng,
            "compressed_secondary_cache_size",
            &["0", "50000", "8388608"],
        ));
    }
    // `kHashSearch` needs prefixes, which every run has.
    if rng.u32(..8) == 0 {
        args.push("--index_type=kHashSearch".to_owned());
    }
    // True if a crash may lose writes that returned: unflushed rows that no WAL holds.
    let hides_unflushed = rng.u32(..5) == 0;
    if hides_unflushed {
        args.push(one_of(rng, "manual_wal_flush_one_in", &["20", "1000"]));
    }
    args.push(one_of(rng, "large_row_one_in", &["0", "20", "1000"]));
    args.push(one_of(
        rng,
        "lock_wal_one_in",
        &["0", "0", if disk { "10000" } else { "100" }],
    ));
    if rng.u32(..4) == 0 {
        args.push("--disable_wal=true".to_owned());
    } else {
        if !hides_unflushed {
            args.push(one_of(rng, "rate_limit_auto_wal_flush", &["0", "1"]));
        }
        args.push(one_of(rng, "sync", &["0", "0", "0", "1"]));
        args.push(one_of(rng, "sync_wal_one_in", &["0", "100", "10000"]));
        args.push(one_of(rng, "ingest_external_file_one_in", rarely));
        args.push(one_of(rng, "ingest_external_file_width", &["1", "10", "100"]));
        args.push(one_of(
            rng,
            "ingest_external_file_prepare_commit_one_in",
            &["0", "1", "2"],
        ));
        args.push(one_of(
            rng,
            "test_ingest_standalone_range_deletion_one_in",
            &["0", "2", "5"],
        ));
    }
    let hides_unsynced = disk && rng.u32(..3) == 0;
    let others_see = !hides_unsynced && !hides_unflushed;
    if others_see && rng.u32(..4) == 0 {
        args.push("--test_secondary=true".to_owned());
        args.push(one_of(rng, "secondary_catch_up_one_in", rarely));
        args.push(one_of(
            rng,
            "continuous_verification_interval",
            &["0", "10", "1000"],
        ));
    }
    if others_see {
        args.push(one_of(
            rng,
            "open_read_only_one_in",
            &["0", "0", if disk { "10000" } else { "100" }],
        ));
    }
    // A WAL whose end a loss of power took is read as if nothing were missing there, so this is not drawn
    // where something can be missing.
    if disk && others_see {
        args.push(one_of(
            rng,
            "wal_recovery_mode",
            &[
                "kPointInTimeRecovery",
                "kPointInTimeRecovery",
                "kTolerateCorruptedTailRecords",
                "kSkipAnyCorruptedRecords",
            ],
        ));
    }
    // The filter follows the current state of keys and ignores snapshots, so runs that may lose rows or that
    // read snapshots do not use it.
    if disk && others_see && !args.iter().any(|arg| arg == "--disable_wal=true") && rng.u32(..4) == 0 {
        args.retain(|arg| !LOOK_BACK.iter().any(|name| arg.starts_with(name)));
        args.push(one_of(rng, "enable_compaction_filter", &["0", "1", "1"]));
        args.push(one_of(rng, "ingest_behind_one_in", &["0", "1", "3"]));
        args.push(one_of(rng, "ingest_replace_range_one_in", &["0", "1", "3"]));
    }
    if disk {
        // Files may have only 4 KiB, and there may be more of them than a process can have open.
        args.push(one_of(rng, "open_files", &["16", "100", "2000"]));
        args.push(format!("--sync_fault_injection={hides_unsynced}"));
        args.push(one_of(rng, "kill_random_test", &["0", "100", "1000", "10000"]));
    } else {
        args.push("--quiet=true".to_owned());
    }
    args.extend(entities(rng));
    args.extend(deletions(rng, others_read(&args)));
    args.extend(holds(rng, rarely));
    let has_secondary = args.iter().any(|arg| arg == "--test_secondary=true");
    args.extend(faults(rng, has_secondary));
    // Percentages: mostly writes, or mostly reads.
    args.extend(
        [
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
        ][rng.usize(..4)]
        .iter()
        .map(|arg| format!("--{arg}")),
    );
    let rows = domains::<Options>()
        .chain(domains::<ColumnFamilyOptions>())
        .chain(domains::<BlockBasedOptions>());
    for (name, domain) in rows {
        let given = args.iter().any(|arg| arg.starts_with(&format!("--{name}=")));
        if name == "cache_index_and_filter_blocks" && args.iter().any(|arg| arg == "--cache_size=0") {
            // `cache_index_and_filter_blocks` would be refused without a block cache.
            continue;
        }
        if name == "ttl" {
            // The flag for this option is `compaction_ttl`, which FIFO compaction must not have.
            continue;
        }
        if name == "max_open_files" && disk {
            // The flag for this option is `open_files`, which is bounded there.
            continue;
        }
        if !given && !KEPT.contains(&name) && rng.bool() {
            args.push(one_of(rng, name, domain));
        }
    }
    // `block_align` is drawn separately, because it would be refused if anything is compressed.
    if rng.u32(..6) == 0 {
        const COMPRESSED: &[&str] = &[
            "--compression_type=",
            "--compression=",
            "--bottommost_compression=",
            "--compression_per_level=",
        ];
        args.retain(|arg| !COMPRESSED.iter().any(|name| arg.starts_with(name)));
        args.push("--compression_type=none".to_owned());
        args.push("--block_align=true".to_owned());
    }
    args
}

/// The flags of rows with columns.
fn entities(rng: &mut Rng) -> [String; 3] {
    [
        one_of(rng, "use_put_entity_one_in", &["0", "0", "1", "5"]),
        one_of(rng, "use_get_entity", &["0", "1"]),
        one_of(rng, "use_multi_get_entity", &["0", "1"]),
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
