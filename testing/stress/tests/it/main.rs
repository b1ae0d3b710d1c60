//! Tests of db_stress and db_crashtest as programs.

use std::path::Path;
use std::process::{Command, Output};

use esker::{Db, Options};

/// Runs db_stress with a test directory of its own.
fn stress(args: &[&str]) -> Output {
    stress_in(tempfile::tempdir().unwrap().path(), args)
}

fn stress_in(test_directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_db_stress"))
        .env("TEST_TMPDIR", test_directory)
        .args(args)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn assert_verified(output: &Output) {
    let text = text(output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Verification successful"), "{text}");
}

#[test]
fn a_database_without_a_name_is_in_the_test_directory_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let expected = format!("--expected_values_dir={}", dir.path().join("expected").display());
    let args = ["--threads=2", "--ops_per_thread=500", "--max_key=100", &expected];
    assert_verified(&stress_in(dir.path(), &args));
    assert!(dir.path().join("dbstress/CURRENT").exists());
    // The next run checks the database that the first run left.
    let again = [&args[..], &["--destroy_db_initially=false"]].concat();
    assert_verified(&stress_in(dir.path(), &again));
}

/// The command line in RocksDB's pull request 4449, unchanged except for the number of operations.
const PULL_REQUEST_4449: &str = "--max_background_compactions=8 --subcompactions=8 --memtablerep=skip_list \
    --acquire_snapshot_one_in=10000 --delpercent=4 --delrangepercent=1 --snapshot_hold_ops=100000 \
    --allow_concurrent_memtable_write=1 --compact_files_one_in=10000 --clear_column_family_one_in=0 --writepercent=35 \
    --readpercent=25 --write_buffer_size=1048576 --max_bytes_for_level_base=4194304 --target_file_size_base=1048576 \
    --column_families=1 --compact_range_one_in=10000 --open_files=-1 --max_key=10000000 --prefixpercent=25 \
    --ops_per_thread=1000000 --use_merge=true --max_key=100";

#[test]
fn the_command_line_of_pull_request_4449_runs() {
    let mut args: Vec<&str> = PULL_REQUEST_4449.split_whitespace().collect();
    args.extend([
        "--ops_per_thread=2000",
        "--acquire_snapshot_one_in=500",
        "--snapshot_hold_ops=1000",
    ]);
    assert_verified(&stress(&args));
}

#[test]
fn everything_at_once_is_verified() {
    let output = stress(&[
        "--threads=4",
        "--ops_per_thread=10000",
        "--max_key=500",
        "--column_families=3",
        "--reopen=3",
        "--use_merge",
        "--use_multiget",
        "--readpercent=15",
        "--prefixpercent=10",
        "--writepercent=45",
        "--delpercent=10",
        "--delrangepercent=5",
        "--iterpercent=15",
        "--acquire_snapshot_one_in=100",
        "--snapshot_hold_ops=300",
        "--flush_one_in=1000",
        "--compact_range_one_in=1000",
        "--compact_files_one_in=500",
        "--clear_column_family_one_in=3000",
        "--sync_wal_one_in=500",
        "--lock_wal_one_in=200",
        "--recycle_log_file_num=2",
        "--backup_one_in=3000",
        "--write_buffer_size=16384",
        "--target_file_size_base=8192",
        "--max_bytes_for_level_base=32768",
        "--large_row_one_in=50",
    ]);
    assert_verified(&output);
    let text = text(&output);
    for done in ["rows refused for their size", "merges that no row can hold"] {
        assert!(text.contains(done), "{text}");
    }
}

#[test]
fn what_is_made_to_fail_is_told_and_nothing_else_is_wrong() {
    for more in ["--sync=false", "--disable_wal=true"] {
        let output = stress(&[
            "--threads=4",
            "--ops_per_thread=8000",
            "--max_key=300",
            "--column_families=3",
            "--reopen=2",
            "--use_merge",
            "--acquire_snapshot_one_in=100",
            "--snapshot_hold_ops=300",
            "--flush_one_in=500",
            "--compact_files_one_in=500",
            "--checkpoint_one_in=1000",
            "--backup_one_in=3000",
            "--export_column_family_one_in=1000",
            "--cache_size=0",
            "--write_buffer_size=16384",
            "--target_file_size_base=8192",
            "--max_bytes_for_level_base=32768",
            "--write_fault_one_in=1000",
            "--open_read_fault_one_in=50",
            "--open_write_fault_one_in=50",
            "--open_metadata_write_fault_one_in=50",
            more,
        ]);
        assert_verified(&output);
        let text = text(&output);
        assert!(text.contains(" made to fail"), "{text}");
        assert!(!text.contains("\n0 operations of the file system"), "{text}");
    }
}

#[test]
fn user_code_that_panics_loses_nothing() {
    // Ingested files survive a crash, and rows without WAL do not: db_stress accepts only one of the two.
    for (seed, more) in [
        ("--seed=11", "--ingest_external_file_one_in=200"),
        ("--seed=12", "--disable_wal=true"),
    ] {
        let output = stress(&[
            "--threads=4",
            "--ops_per_thread=2000",
            "--max_key=300",
            "--column_families=3",
            "--reopen=2",
            "--use_merge",
            "--acquire_snapshot_one_in=100",
            "--snapshot_hold_ops=300",
            "--flush_one_in=500",
            "--compact_range_one_in=500",
            "--compact_files_one_in=500",
            "--pause_background_one_in=500",
            "--subcompactions=3",
            "--prefix_size=7",
            "--memtable_prefix_bloom_size_ratio=0.1",
            "--cache_size=200000",
            "--write_buffer_size=16384",
            "--target_file_size_base=8192",
            "--max_bytes_for_level_base=32768",
            "--read_fault_one_in=0",
            "--metadata_read_fault_one_in=0",
            "--metadata_write_fault_one_in=0",
            "--user_code_panic_one_in=20000",
            "--progress_reports=false",
            seed,
            more,
        ]);
        assert_verified(&output);
        let text = text(&output);
        assert!(text.contains(" calls of user code made to panic"), "{text}");
        assert!(!text.contains(" fail, 0 calls of user code"), "{text}");
    }
}

#[test]
fn others_who_have_it_open_see_what_they_should() {
    // The runs have a secondary, a follower, and a database without a WAL.
    for more in ["--seed=2", "--seed=3", "--disable_wal=true"] {
        let output = stress(&[
            "--threads=4",
            "--ops_per_thread=4000",
            "--max_key=200",
            "--column_families=3",
            "--reopen=1",
            "--use_merge",
            "--use_multiget",
            "--test_secondary",
            "--secondary_catch_up_one_in=50",
            "--continuous_verification_interval=20",
            "--open_read_only_one_in=500",
            "--key_may_exist_one_in=20",
            "--get_live_files_apis_one_in=500",
            "--get_sorted_wal_files_one_in=200",
            "--get_current_wal_file_one_in=200",
            "--WAL_ttl_seconds=1000000",
            "--WAL_size_limit_MB=0",
            "--get_all_column_family_metadata_one_in=500",
            "--disable_file_deletions_one_in=500",
            "--verify_db_one_in=500",
            "--verify_before_write",
            "--long_running_snapshots",
            "--acquire_snapshot_one_in=100",
            "--snapshot_hold_ops=300",
            "--clear_column_family_one_in=1000",
            "--flush_one_in=500",
            "--write_buffer_size=16384",
            "--target_file_size_base=8192",
            "--max_bytes_for_level_base=32768",
            more,
        ]);
        assert_verified(&output);
        let text = text(&output);
        for done in [
            "catch-ups of a secondary",
            "lists of WALs",
            "opened for reading",
            "families verified",
        ] {
            assert!(text.contains(done), "{text}");
        }
    }
}

#[test]
fn a_killed_process_loses_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_db_crashtest"))
        .args(["--databases=1", "--kill_after_ops=1000", "--runs_per_db=6"])
        .arg(format!("--seed={}", testkit::rng::seed()))
        .output()
        .unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("nothing was lost"), "{text}");
    assert!(!text.contains(" 0 kills"), "{text}");
}

#[test]
fn what_dies_in_memory_keeps_what_was_promised() {
    let output = Command::new(env!("CARGO_BIN_EXE_db_crashtest"))
        .args(["--simulate", "--databases=6"])
        .arg(format!("--seed={}", testkit::rng::seed()))
        .output()
        .unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("nothing was lost"), "{text}");
    assert!(!text.contains(" 0 losses of power"), "{text}");
}

/// Repeats runs over one database, each of which may kill itself, until one has.
fn kills_itself(args: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (db, expected) = (
        format!("--db={}", path("db")),
        format!("--expected_values_dir={}", path("expected")),
    );
    let run = |more: &[&str]| {
        let mut all = vec![
            "--threads=4",
            "--max_key=100",
            "--column_families=3",
            "--destroy_db_initially=false",
            "--checkpoint_one_in=500",
            "--export_column_family_one_in=500",
            "--flush_one_in=100",
            &db,
            &expected,
        ];
        all.extend(args);
        all.extend(more);
        stress(&all)
    };
    for _ in 0..3 {
        let killed = run(&["--ops_per_thread=1000000", "--reopen=0", "--kill_random_test=50"]);
        assert_eq!(killed.status.code(), None, "{}", text(&killed));
        assert!(text(&killed).contains("\nkilled "), "{}", text(&killed));
    }
    // The last run comes to its end.
    assert_verified(&run(&["--ops_per_thread=500", "--reopen=1"]));
}

#[test]
fn a_process_that_kills_itself_keeps_a_prefix_of_what_is_not_synced() {
    kills_itself(&["--kill_exclude_prefixes=rename,close"]);
    kills_itself(&["--disable_wal=true"]);
    kills_itself(&["--sync_fault_injection=true", "--sync_wal_one_in=50"]);
    kills_itself(&["--manual_wal_flush_one_in=30", "--recycle_log_file_num=2"]);
}

/// A run over the database in `dir`, with its expected state.
fn over(dir: &Path, fresh: bool) -> Output {
    let path = |name: &str| dir.join(name).to_string_lossy().into_owned();
    stress(&[
        "--threads=2",
        "--ops_per_thread=2000",
        "--max_key=50",
        "--column_families=1",
        "--reopen=0",
        &format!("--db={}", path("db")),
        &format!("--expected_values_dir={}", path("expected")),
        &format!("--destroy_db_initially={fresh}"),
    ])
}

#[test]
fn what_is_wrong_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    assert_verified(&over(dir.path(), true));
    assert_verified(&over(dir.path(), false));
    // A key that should exist is deleted.
    let options = Options::default();
    let db = Db::open(&options, dir.path().join("db")).unwrap();
    let mut iter = db.iter();
    iter.seek_to_first();
    let key = iter.key().to_vec();
    drop(iter);
    db.delete(&key).unwrap();
    db.close().unwrap();
    drop(db);
    let output = over(dir.path(), false);
    assert_eq!(output.status.code(), Some(1));
    let number = u64::from_be_bytes(key.try_into().unwrap());
    let expected =
        format!("column family 0, key {number} ({number:016X}): Forwards finds nothing, expected is write ");
    assert!(text(&output).contains(&expected), "{}", text(&output));
}

#[test]
fn what_cannot_be_is_refused() {
    for (arg, message) in [
        ("--thrads=2", "unknown flag --thrads; did you mean --threads?"),
        ("--readpercent=20", "must add up to 100"),
        (
            "--test_multi_ops_txns=1",
            "--test_multi_ops_txns=1 needs this part of transactions, which this program does not offer",
        ),
        ("--max_key=0", "--max_key must be between"),
        ("--secondary_catch_up_one_in=5", "needs --test_secondary"),
        ("--compression_type=brotli", "no compression of that name"),
        ("--destroy_db_initially=0", "give --expected_values_dir"),
    ] {
        let output = stress(&["--ops_per_thread=1", arg]);
        assert_eq!(output.status.code(), Some(1), "{arg}");
        assert!(text(&output).contains(message), "{arg}: {}", text(&output));
    }
}

/// The number after `name` in the program's output.
fn printed(output: &Output, name: &str) -> u64 {
    let text = text(output);
    let rest = text
        .split_once(name)
        .map(|(_, rest)| rest.trim_start_matches([' ', ':']));
    let digits = rest.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number behind {name} in {text}"))
}

#[test]
fn compactions_filter_and_files_go_behind_everything() {
    let output = stress(&[
        "--threads=4",
        "--ops_per_thread=8000",
        "--max_key=5000",
        "--column_families=2",
        "--nooverwritepercent=20",
        "--reopen=2",
        "--use_merge",
        "--readpercent=15",
        "--prefixpercent=10",
        "--writepercent=35",
        "--delpercent=25",
        "--delrangepercent=5",
        "--iterpercent=10",
        "--compaction_style=1",
        "--allow_ingest_behind=true",
        "--enable_compaction_filter",
        "--ingest_external_file_one_in=50",
        "--ingest_external_file_width=20",
        "--ingest_behind_one_in=2",
        "--flush_one_in=500",
        "--compact_range_one_in=500",
        "--write_buffer_size=65536",
        "--statistics=1",
        "--read_fault_one_in=0",
        "--metadata_read_fault_one_in=0",
        "--metadata_write_fault_one_in=0",
    ]);
    assert_verified(&output);
    assert!(printed(&output, "rocksdb.compaction.key.drop.user COUNT") > 100);
    assert!(
        text(&output).contains("ingestions behind everything"),
        "{}",
        text(&output)
    );
    for look_back in [
        "--acquire_snapshot_one_in=10",
        "--checkpoint_one_in=10",
        "--disable_wal",
    ] {
        let refused = text(&stress(&["--enable_compaction_filter", look_back]));
        assert!(refused.contains("--enable_compaction_filter"), "{refused}");
    }
}

#[test]
fn families_are_read_together_and_workers_compact() {
    let output = stress(&[
        "--threads=2",
        "--ops_per_thread=4000",
        "--max_key=300",
        "--column_families=4",
        "--reopen=1",
        "--readpercent=10",
        "--prefixpercent=5",
        "--writepercent=45",
        "--delpercent=10",
        "--delrangepercent=5",
        "--iterpercent=25",
        "--use_multi_cf_iterator",
        "--use_attribute_group",
        "--use_put_entity_one_in=3",
        "--remote_compaction_worker_threads=2",
        "--acquire_snapshot_one_in=50",
        "--snapshot_hold_ops=300",
        "--compact_range_one_in=200",
        "--flush_one_in=200",
        "--write_buffer_size=16384",
        "--target_file_size_base=4096",
        "--max_bytes_for_level_base=32768",
        "--read_fault_one_in=0",
        "--metadata_read_fault_one_in=0",
        "--metadata_write_fault_one_in=0",
    ]);
    assert_verified(&output);
    let text = text(&output);
    assert!(text.contains("iterations over families"), "{text}");
    assert!(
        text.contains("compactions by workers of a compaction service, 0 that"),
        "{text}"
    );
    assert!(!text.contains("\n0 compactions by workers"), "{text}");
}

/// By default, db_stress writes no option and no format that RocksDB 7.8 does not know.
#[test]
fn rocksdbs_tools_take_what_is_written_by_default() {
    let dir = tempfile::TempDir::new().unwrap();
    let place = dir.path().join("db");
    let db = format!("--db={}", place.display());
    assert_verified(&stress(&[
        &db,
        "--ops_per_thread=300",
        "--threads=4",
        "--max_key=500",
        "--column_families=2",
        "--seed=17",
    ]));
    let names = Db::list_column_families(&Options::default(), &place).unwrap();
    let options = Options::default();
    let counts: Vec<(String, usize)> = {
        let db = Db::open(&options, &place).unwrap();
        let count = |name: &String| {
            let family = db.column_family(name).unwrap();
            let mut iter = db.iter_cf(&family);
            iter.seek_to_first();
            let mut rows = 0;
            while iter.valid() {
                rows += 1;
                iter.next();
            }
            iter.status().unwrap();
            (name.clone(), rows)
        };
        names.iter().map(count).collect()
    };
    let families: Vec<(&str, usize)> = counts.iter().map(|(name, rows)| (&**name, *rows)).collect();
    testkit::judges::look_at(&place, &families);
}
