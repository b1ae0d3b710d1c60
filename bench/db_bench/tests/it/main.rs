//! Tests of the program as users run it.

mod benchmark_script;
mod like_rocksdb;
mod published;
mod secondary;

use std::path::Path;
use std::process::{Command, Output};

/// Runs db_bench with a test directory of its own.
fn run(args: &str) -> Output {
    run_in(tempfile::tempdir().expect("a directory").path(), args)
}

fn run_in(test_directory: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_db_bench"));
    command
        .env("TEST_TMPDIR", test_directory)
        .args(args.split_whitespace())
        .output()
        .expect("db_bench runs")
}

fn stdout(args: &str) -> String {
    successful(args, &run(args))
}

fn successful(args: &str, output: &Output) -> String {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{args}\n{out}\n{err}");
    out.into_owned()
}

fn stderr(args: &str) -> String {
    let output = run(args);
    assert!(!output.status.success(), "{args} should fail");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The number of operations in the line of workload `name`.
fn operations(out: &str, name: &str) -> u64 {
    let line = out
        .lines()
        .find(|line| line.split(':').next().is_some_and(|found| found.trim() == name))
        .unwrap_or_else(|| panic!("no line of {name} in\n{out}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| *word == "operations;")
        .expect("a count of operations");
    words[at - 1].parse().expect("a number")
}

/// The number after `name`.
fn count_of(out: &str, name: &str) -> u64 {
    let (_, rest) = out
        .split_once(name)
        .unwrap_or_else(|| panic!("no {name} in\n{out}"));
    let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().expect("a number")
}

#[test]
fn every_workload_does_what_it_is_asked() {
    let out = stdout(
        "--num=2000 --threads=2 --reads=500 --merge_operator=put --seed=7 --seek_nexts=3 --multiread_stride=2 \
         --write_buffer_size=64k --histogram --benchmarks=fillseq,overwrite,updaterandom,appendrandom,mergerandom,\
         readrandom,readrandomsmall,readmissing,multireadrandom,readwhilewriting,multireadwhilewriting,\
         readrandomwriterandom,readseq,readtocache,readreverse,newiterator,seekrandom,fwdrange,revrange,\
         seekrandomwhilewriting,deleterandom,deleteseq,compact,flush,waitforcompaction,levelstats,stats,memstats,sstables,\
         fillbatch,fillrandom,filluniquerandom,fillsync,fill100K",
    );
    for name in ["fillseq", "overwrite", "deleterandom", "deleteseq"] {
        assert_eq!(operations(&out, name), 4_000, "{name}");
    }
    for name in [
        "readrandom",
        "readmissing",
        "multireadrandom",
        "readwhilewriting",
        "seekrandom",
        "readseq",
        "readreverse",
        // The run has as many operations as the larger of the numbers of reads and writes.
        "updaterandom",
        "appendrandom",
        "mergerandom",
    ] {
        assert_eq!(operations(&out, name), 1_000, "{name}");
    }
    assert_eq!(operations(&out, "filluniquerandom"), 2_000);
    assert_eq!(operations(&out, "readtocache"), 2_000);
    assert!(
        out.contains("Microseconds per write:\nCount: 4000 Average: "),
        "{out}"
    );
    assert!(
        out.contains("(1000 of 1000 found)") || out.contains("(500 of 500 found)"),
        "{out}"
    );
    assert!(
        out.contains("(0 of 500 found)"),
        "readmissing finds nothing\n{out}"
    );
    assert!(out.contains("Level Files Size(MB)\n"));
}

#[test]
fn workloads_that_read_and_write_at_once() {
    let out = stdout(
        "--num=2000 --threads=2 --reads=500 --writes=1000 --merge_operator=put --seed=11 --write_buffer_size=64k \
         --benchmarks=fillrandom,overwritesome,overwriteandwait,xorupdaterandom,readrandomfast,readwhilemerging,\
         readwhilescanning,readrandommergerandom,readrandomwriterandom,randomwithverify,approximatesizerandom,\
         fwdrangewhilewriting,revrangewhilewriting,fwdrangewhilemerging,revrangewhilemerging,seekrandomwhilemerging,\
         newiteratorwhilewriting,compactall,overwrite,flush,compact0,compact1,acquireload,randomreplacekeys,fillseekseq",
    );
    for name in [
        "readwhilemerging",
        "fwdrangewhilewriting",
        "revrangewhilemerging",
        "seekrandomwhilemerging",
        "newiteratorwhilewriting",
        "readrandomfast",
        "approximatesizerandom",
    ] {
        assert_eq!(operations(&out, name), 1_000, "{name}");
    }
    for name in [
        "overwritesome",
        "overwriteandwait",
        "xorupdaterandom",
        "randomwithverify",
    ] {
        assert_eq!(operations(&out, name), 2_000, "{name}");
    }
    assert_eq!(
        operations(&out, "readwhilescanning"),
        1_500,
        "the scan counts among the reads"
    );
    assert_eq!(operations(&out, "fillseekseq"), 2 * 2 * 2_000, "two seeks a key");
    let text_of = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no line of {name}")).to_owned()
    };
    let number = |line: &str, word: &str| -> u64 {
        let rest = line
            .split(word)
            .nth(1)
            .unwrap_or_else(|| panic!("{word} in {line}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    let verify = text_of("randomwithverify");
    assert_eq!(number(&verify, "get:"), 900, "{verify}");
    assert_eq!(number(&verify, "put:"), 80, "{verify}");
    assert_eq!(number(&verify, "del:"), 20, "{verify}");
    let merges = text_of("readrandommergerandom");
    assert!(
        (200..450).contains(&number(&merges, "reads:")),
        "30% of 1000: {merges}"
    );
    let writes = text_of("readrandomwriterandom");
    assert!(
        (40..180).contains(&number(&writes, "writes:")),
        "10% of 1000: {writes}"
    );
    let waits = out.split("overwriteandwait").nth(1).expect("its line");
    assert!(waits.contains("finished with status (OK)"), "{out}");
    assert!(out.contains("compact0 found "), "{out}");
}

#[test]
fn operands_columns_and_memtables_are_read() {
    let out = stdout(
        "--num=1000 --threads=2 --reads=200 --batch_size=10 --merge_operator=stringappend --seed=3 \
         --benchmarks=fillseq,approximatememtablestats,mergerandom,readrandomoperands,readrandomentity,multireadentity,\
         multiscanrandom,block_cache_entry_stats",
    );
    for name in [
        "approximatememtablestats",
        "readrandomoperands",
        "readrandomentity",
        "multireadentity",
        "multiscanrandom",
    ] {
        assert_eq!(operations(&out, name), 400, "{name}");
    }
    // Each of the two threads has written every key.
    assert!(out.contains("(Avg entry count=20.0, expected 10)"), "{out}");
    let found = ["(400 of 400 found)", "(200 of 200 found)"].map(|all| out.matches(all).count());
    assert!(found.iter().sum::<usize>() >= 3, "{out}");
    assert!(
        out.contains("rows of ") && out.contains("Block cache entry stats"),
        "{out}"
    );
    let lists = stdout("--benchmarks=getmergeoperands --merge_operator=sortlist --num=10");
    assert!(
        lists.contains("found true; GetMergeOperands: ") && lists.contains("found true, 1000 operands)"),
        "{lists}"
    );
}

#[test]
fn entries_of_time_series_expire() {
    let run = |style: &str| {
        stdout(&format!(
            "--benchmarks=timeseries,compact,readseq --num=20000 --writes=20000 --reads=20000 --threads=2 --key_id_range=50 \
             --time_range=2000 --expire_style={style} --write_buffer_size=256k --seed=2"
        ))
    };
    let kept = run("none");
    assert!(kept.contains("timeseries write : "), "{kept}");
    // Each of the two threads reads all entries.
    assert_eq!(operations(&kept, "readseq"), 2 * 20_000);
    let filtered = run("compaction_filter");
    assert_eq!(operations(&filtered, "readseq"), 2 * 2_000, "{filtered}");
    assert!(stderr("--benchmarks=timeseries --expire_style=never").contains("--expire_style=never"));
    assert!(stderr("--benchmarks=timeseries --key_size=8 --num=10").contains("--key_size"));
}

#[test]
fn streams_show_their_write_amplification() {
    let run_with = |rows: u64, memtable: &str, flags: &str| {
        let out = stdout(&format!(
            "--num={rows} --compression_type=none --write_buffer_size={memtable} --target_file_size_base=256k \
             --max_bytes_for_level_base=1m --threads=2 --benchmarks=fillseq,readrandom {flags}"
        ));
        assert_eq!(operations(&out, "fillseq"), rows, "on one thread\n{out}");
        assert!(out.contains(&format!("({rows} of {rows} found)")), "{out}");
        let line = out
            .lines()
            .find(|line| line.starts_with("Write amplification: "))
            .unwrap_or_else(|| panic!("no write amplification in\n{out}"));
        line.split_whitespace()
            .nth(2)
            .and_then(|word| word.parse::<f64>().ok())
            .unwrap_or_else(|| panic!("{line}"))
    };
    let run = |flags: &str| run_with(60_000, "256k", flags);
    for one in ["--streams=1", "--streams=1 --streams_descending"] {
        assert_eq!(run(one), 1.0, "all is moved: {one}");
    }
    for apart in [
        "--streams=2 --nostreams_concurrent",
        "--streams=3 --nostreams_concurrent --streams_order=2,0,1",
    ] {
        assert_eq!(run(apart), 1.0, "all is moved: {apart}");
    }
    assert!(
        run("--streams=8 --streams_bypass_level0=false") > 1.5,
        "streams that take turns meet in every file"
    );
    // Streams of half a megabyte get tables of their own on any disk, however long its syncs take.
    let apart = run_with(120_000, "4m", "--streams=8");
    assert!(apart < 1.3, "each has its own: {apart}");
    assert!(stderr("--benchmarks=fillseq --streams_descending").contains("--streams=N"));
}

#[test]
fn checksums_and_compression() {
    let out = stdout(
        "--duration=1 --num=10 --compression_type=zstd --benchmarks=crc32c,xxhash,xxhash64,xxh3,compress,uncompress",
    );
    for name in ["crc32c", "xxhash", "xxhash64", "xxh3", "compress", "uncompress"] {
        assert!(operations(&out, name) > 0, "{name}");
    }
    assert!(
        out.contains("(4096 per op)") && out.contains("(output: "),
        "{out}"
    );
}

#[test]
fn a_database_is_kept_and_used_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("db");
    let flags = |rest: &str| {
        format!(
            "--db={} --num=3000 --num_column_families=3 {rest}",
            path.display()
        )
    };
    stdout(&flags("--benchmarks=filluniquerandom"));
    let out = stdout(&flags(
        "--use_existing_db --benchmarks=fillseq,readrandom,readseq",
    ));
    assert!(
        out.contains("fillseq      : skipped (--use_existing_db is true)"),
        "{out}"
    );
    assert!(out.contains("(3000 of 3000 found)"), "{out}");
    assert_eq!(operations(&out, "readseq"), 3_000);
    let out = stdout(&flags("--benchmarks=readrandom"));
    assert!(
        out.contains("(0 of 3000 found)"),
        "without --use_existing_db it begins empty\n{out}"
    );
}

#[test]
fn a_database_without_a_name_is_found_by_the_next_command() {
    let dir = tempfile::tempdir().expect("a directory");
    // db_bench creates the directory.
    let test_directory = dir.path().join("tests");
    let run = |args: &str| successful(args, &run_in(&test_directory, args));
    let out = run("--num=3000 --benchmarks=filluniquerandom");
    let path = test_directory.join("dbbench");
    assert!(out.contains(&format!("DB path: [{}]\n", path.display())), "{out}");
    let read = "--num=3000 --use_existing_db --benchmarks=readrandom";
    assert!(run(read).contains("(3000 of 3000 found)"));
    // Two tours in a row leave the database unchanged, and no files of their own.
    let tour = "--num=2000 --write_buffer_size=256k";
    for _ in 0..2 {
        assert!(run(tour).contains("\nresults\n"));
    }
    assert!(run(read).contains("(3000 of 3000 found)"));
    let entries = std::fs::read_dir(&test_directory).expect("a directory");
    assert_eq!(entries.count(), 1, "dbbench alone");
}

#[test]
fn the_header_names_release_and_date_where_scripts_look() {
    let dir = tempfile::tempdir().expect("a directory");
    for args in ["--benchmarks=fillseq --num=10", "--num=2000"] {
        let output = run_in(dir.path(), args);
        successful(args, &output);
        let err = String::from_utf8_lossy(&output.stderr);
        let words = |name: &str| -> Vec<&str> {
            let line = err.lines().find(|line| line.starts_with(name));
            line.unwrap_or_else(|| panic!("no {name} in\n{err}"))
                .split_whitespace()
                .collect()
        };
        // benchmark.sh reads the words of the date: day, month, number of the day, time, year.
        let date = words("Date:");
        assert_eq!(date.len(), 6, "{date:?}");
        assert!(date[5].parse::<u32>().is_ok_and(|year| year >= 2025), "{date:?}");
        assert_eq!(words("RocksDB:"), ["RocksDB:", "version", "7.8.3"]);
        assert_eq!(words("Esker:"), ["Esker:", "version", env!("CARGO_PKG_VERSION")]);
    }
}

#[test]
fn a_backup_becomes_a_database() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &str| successful(args, &run_in(dir.path(), args));
    let db = dir.path().join("dbbench");
    let out = run(
        "--num=3000 --backup_rate_limit=1g --benchmarks=filluniquerandom,backup,restore,overwrite,backup",
    );
    for line in [
        format!("Backup path: [{}]\n", db.join("backup").display()),
        format!("Restore path: [{}]\n", db.join("restore").display()),
    ] {
        assert!(out.contains(&line), "{out}");
    }
    for name in ["backup", "restore"] {
        operations(&out, name);
    }
    let meta = std::fs::read_dir(db.join("backup/meta")).expect("a directory");
    assert_eq!(meta.count(), 1, "the second backup replaces the first");
    let read = "--num=3000 --use_existing_db --benchmarks=readrandom";
    let restored = run(&format!("{read} --db={}", db.join("restore").display()));
    assert!(restored.contains("(3000 of 3000 found)"), "{restored}");
    let elsewhere = dir.path().join("elsewhere");
    run(&format!(
        "--num=3000 --use_existing_db --benchmarks=restore --restore_rate_limit=1g --backup_dir={} --restore_dir={}",
        db.join("backup").display(),
        elsewhere.display()
    ));
    let restored = run(&format!("{read} --db={}", elsewhere.display()));
    assert!(restored.contains("(3000 of 3000 found)"), "{restored}");
}

#[test]
fn damage_is_found_by_the_workloads_that_verify() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &str| run_in(dir.path(), args);
    let verify =
        "--benchmarks=verifychecksum,verifyfilechecksums --use_existing_db --file_checksum --threads=2";
    let fill = "--num=3000 --file_checksum --benchmarks=filluniquerandom,flush,verifychecksum";
    successful(fill, &run(fill));
    let out = successful(verify, &run(verify));
    for name in ["verifychecksum", "verifyfilechecksums"] {
        operations(&out, name);
    }
    let files = std::fs::read_dir(dir.path().join("dbbench")).expect("a directory");
    let mut paths = files.map(|file| file.expect("a file").path());
    let table = paths
        .find(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .expect("a table");
    let mut bytes = std::fs::read(&table).expect("a file");
    bytes[100] ^= 1;
    std::fs::write(&table, bytes).expect("a file");
    for name in ["verifychecksum", "verifyfilechecksums"] {
        let output = run(&format!("--benchmarks={name} --use_existing_db --file_checksum"));
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && err.contains("Corruption: "),
            "{name}: {err}"
        );
    }
}

#[test]
fn range_deletions_between_writes() {
    let flags = "--num=4000 --writes=1000 --writes_per_range_tombstone=100 --max_num_range_tombstones=5 \
                 --range_tombstone_width=50 --seed=3 --benchmarks=fillseq,readseq";
    let out = stdout(flags);
    assert!(out.contains("Number of range deletions: 5\n"), "{out}");
    let expanded = stdout(&format!("{flags} --expand_range_tombstones"));
    assert_eq!(
        operations(&out, "readseq"),
        operations(&expanded, "readseq"),
        "one range or each key, the same is gone"
    );
}

#[test]
fn repetitions_are_reported() {
    let out = stdout("--num=500 --benchmarks=fillseq,readrandom[X3-W1]");
    assert_eq!(out.matches("readrandom   : ").count(), 4);
    for text in [
        "Warming up benchmark by running 1 times",
        "readrandom [AVG 2 runs] : ",
        "readrandom [MEDIAN 3 runs] : ",
    ] {
        assert!(out.contains(text), "{text}\n{out}");
    }
}

#[test]
fn the_tour_ends_with_a_picture() {
    let out = stdout("--num=20000 --write_buffer_size=256k --target_file_size_base=256k");
    assert!(out.contains("delete: 5000 keys as one range"), "{out}");
    assert!(
        out.contains("\nresults\n") && out.contains("level keys, first to last"),
        "{out}"
    );
    assert!(
        out.lines()
            .last()
            .is_some_and(|line| line.is_empty() || line.ends_with(" MB")),
        "{out}"
    );
}

#[test]
fn transactions_leave_equal_sums() {
    let line = |flags: &str| {
        let args =
            format!("--benchmarks=randomtransaction --num=20 --reads=300 --threads=4 --seed=7 {flags}");
        let out = stdout(&args);
        assert_eq!(operations(&out, "randomtransaction"), 1200);
        assert_eq!(
            out.contains("RandomTransactionVerify Success."),
            out.contains("( transactions:300 aborts:"),
            "{out}"
        );
        out.lines()
            .find(|line| line.starts_with("randomtransaction"))
            .unwrap()
            .to_owned()
    };
    for flags in [
        "--transaction_db",
        "--transaction_db --transaction_set_snapshot --transaction_sets=5 --transaction_prepare_percent=0",
        "--optimistic_transaction_db --transaction_sleep=5",
        "--optimistic_transaction_db --transaction_set_snapshot",
    ] {
        let line = line(flags);
        assert!(line.contains("( transactions:300 aborts:"), "{line}");
    }
    assert!(line("").contains("( batches:300 )"));
    for (flags, why) in [
        ("--transaction_db --optimistic_transaction_db", "not both"),
        (
            "--transaction_sets=10000",
            "--transaction_sets must be between 1 and 9999",
        ),
        (
            "--transaction_db --readonly",
            "Cannot use readonly flag with transaction_db",
        ),
    ] {
        assert!(
            stderr(&format!("--benchmarks=randomtransaction {flags}")).contains(why),
            "{flags}"
        );
    }
}

#[test]
fn the_row_cache_is_filled_from_existing_keys() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = dir.path().display();
    stdout(&format!(
        "--benchmarks=fillrandom,flush --num=500 --seed=7 --db={db}"
    ));
    let again = format!("--db={db} --use_existing_db --use_existing_keys --statistics");
    let twice = format!("--benchmarks=readtorowcache,readtorowcache --reads=3 {again}");
    let out = stdout(&format!("{twice} --row_cache_size=10m"));
    let count = |out: &str, ticker: &str| -> u64 {
        let line = format!("rocksdb.row.cache.{ticker} COUNT : ");
        let (_, rest) = out.split_once(&line).expect(ticker);
        rest.lines()
            .next()
            .and_then(|number| number.trim().parse().ok())
            .expect(ticker)
    };
    // `--reads` has no effect: each key is read once in each run, and is in the row cache in the second run.
    let keys = count(&out, "miss");
    assert!(
        keys > 250 && out.contains(&format!("({keys} of {keys} found)")),
        "{out}"
    );
    assert_eq!(count(&out, "hit"), keys, "{out}");
    for missing in [again.as_str(), "--num=10 --row_cache_size=10m"] {
        let error = stderr(&format!("--benchmarks=readtorowcache {missing}"));
        assert!(
            error.contains("specify a row cache size in readtorowcache benchmark"),
            "{error}"
        );
    }
}

#[test]
fn mistakes_are_explained() {
    assert_eq!(
        stderr("--benchmarks=fillsq").trim(),
        "unknown benchmark 'fillsq'; did you mean fillseq?"
    );
    assert_eq!(
        stderr("--valuesize=3").trim(),
        "unknown flag --valuesize; did you mean --value_size?"
    );
    assert!(stderr("--benchmarks=fillseq --compression_type=rar").contains("Invalid argument: "));
    assert!(stderr("--benchmarks=mergerandom --num=10").contains("mergerandom needs --merge_operator"));
    assert_eq!(
        stderr("--benchmarks=fillseq,heapprofile").trim(),
        "benchmark 'heapprofile' needs heap profiles, which db_bench of Esker does not have"
    );
    assert!(stderr("--benchmarks=fillseq --num=0").contains("--num must be at least 1"));
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    let error = stderr(&format!(
        "--benchmarks=readseq --use_existing_db --db={}",
        missing.display()
    ));
    assert!(error.contains("missing") && !missing.exists(), "{error}");
}

/// Runs db_bench with the flags in `args`, and returns the document that `--json` wrote.
fn document(args: &str) -> serde_json::Value {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("run.json");
    stdout(&format!("{args} --json={}", path.display()));
    let text = std::fs::read_to_string(&path).expect("a document");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn figures_are_written_as_json() {
    let found = document(
        "--num=20000 --seed=77 --write_buffer_size=256k --target_file_size_base=256k --compression_type=none \
         --cache_size=100000 --batch_size=1 --value_size=100 \
         --benchmarks=filluniquerandom,waitforcompaction,readrandom[X2-W1],readwhilewriting",
    );
    assert_eq!(
        (found["format"].as_u64(), found["seed"].as_u64()),
        (Some(1), Some(77))
    );
    assert_eq!(found["flags_given"][0], serde_json::json!(["num", "20000"]));
    assert_eq!(
        (&found["flags"]["num"], &found["flags"]["threads"]),
        (&"20000".into(), &"1".into())
    );
    assert_eq!(found["options"]["write_buffer_size"], "262144");
    assert!(found["machine"]["cores"].as_u64() > Some(0) && found["machine"]["file_system"] != "");
    assert!(found["harness"]["nanos_per_operation"].as_f64() > Some(0.0));

    let runs = found["benchmarks"].as_array().expect("a list");
    let names: Vec<&str> = runs.iter().filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "filluniquerandom",
            "waitforcompaction",
            "readrandom",
            "readrandom",
            "readrandom",
            "readwhilewriting"
        ]
    );
    let warm: Vec<bool> = runs.iter().map(|run| run["warm_up"] == true).collect();
    assert_eq!(warm, [false, false, true, false, false, false]);

    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    let fill = &runs[0];
    assert_eq!(fill["operations"], 20_000);
    assert_eq!(fill["latency_micros"]["write"]["count"], 20_000);
    let latency = &fill["latency_micros"]["write"];
    let steps =
        ["min", "p50", "p75", "p90", "p99", "p99_9", "p99_99", "max"].map(|name| number(&latency[name]));
    assert!(steps.is_sorted() && steps[7] > 0.0, "{steps:?}");
    // Each write has 16 bytes of key, 100 bytes of value, and the overhead of a batch of one operation.
    let writes = &fill["writes"];
    assert_eq!(number(&writes["user_bytes"]), 20_000.0 * (116.0 + 15.0));
    let all = ["wal_bytes", "flush_bytes", "compaction_bytes"].map(|name| number(&writes[name]));
    assert!(all[0] > number(&writes["user_bytes"]) && all[1] > 1e6, "{writes}");
    let amplification = all.iter().sum::<f64>() / number(&writes["user_bytes"]);
    assert!((number(&writes["write_amplification"]) - amplification).abs() < 1e-9);
    assert!(number(&fill["cpu"]["micros_per_operation"]) > 0.0 && number(&fill["memory"]["peak"]) > 0.0);
    assert_eq!(fill["stalls"].as_array().map(Vec::len), Some(9));

    let settle = &runs[1];
    assert_eq!(
        (&settle["operations"], &settle["writes"]["write_amplification"]),
        (&0.into(), &serde_json::Value::Null)
    );
    let read = &runs[3];
    assert!(
        number(&read["reads"]["bytes_per_operation"]) > 500.0,
        "the cache holds next to nothing: {read}"
    );
    assert!(number(&read["block_cache"]["misses"]) > 1_000.0, "{read}");
    assert!(number(&read["block_cache"]["usage"]) <= number(&read["block_cache"]["capacity"]));
    let bytes: f64 = read["levels"]
        .as_array()
        .expect("levels")
        .iter()
        .map(|level| number(&level["bytes"]))
        .sum();
    assert!(bytes > 1e6, "{read}");
    let intervals = read["intervals"].as_array().expect("intervals");
    assert_eq!(
        intervals
            .iter()
            .map(|row| number(&row["operations"]))
            .sum::<f64>(),
        20_000.0
    );
    assert!(intervals.iter().all(|row| row["levels"] == read["levels"]));

    let mixed = &runs[5];
    assert_eq!(
        (&mixed["threads"], &mixed["operations"]),
        (&1.into(), &20_000.into())
    );
    assert!(number(&mixed["background"]["operations"]) > 0.0);
    assert_eq!(
        mixed["background"]["latency_micros"]["write"]["count"],
        mixed["background"]["operations"]
    );
}

#[test]
fn a_report_is_drawn_from_what_was_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    for (file, threads) in [("one.json", 1), ("two.json", 2)] {
        let json = at(file);
        stdout(&format!(
            "--num=2000 --threads={threads} --json={json} --benchmarks=fillseq,readrandom[X2],levelstats"
        ));
    }
    let told = stdout(&format!(
        "report {} {} --out={}",
        at("one.json"),
        at("two.json"),
        at("page.html")
    ));
    assert!(told.contains("page.html"), "{told}");
    let page = std::fs::read_to_string(at("page.html")).expect("a page");
    for text in [
        "<title>one · two - db_bench</title>",
        "<h2>readrandom</h2>",
        "≠ threads",
        "<svg ",
    ] {
        assert!(page.contains(text), "{text}");
    }
    std::fs::write(at("cut.json"), "{\n \"format\": 1,").expect("a file");
    let error = stderr(&format!("report {}", at("cut.json")));
    assert!(error.contains("cut.json: line 2, column 13: EOF"), "{error}");
}

#[test]
fn the_harness_tells_what_it_takes_itself() {
    let output = run("--num=10 --benchmarks=fillseq");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("Harness:    "), "{err}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Harness"));
    let error = stderr("--num=10 --benchmarks=fillseq --json=/not/there/run.json");
    assert!(error.contains("/not/there/run.json"), "{error}");
}

#[test]
fn rates_are_kept_and_latencies_count_from_them() {
    let found = document(
        "--num=500 --benchmarks=fillseq,readrandom,updaterandom --benchmark_read_rate_limit=5000 --benchmark_write_rate_limit=1160000",
    );
    for run in found["benchmarks"].as_array().expect("a list") {
        assert_eq!(run["latency_from"], "due");
        // With ten operations a millisecond, or five, the last one is due this long after the first.
        let least = [0.0499, 0.0998][usize::from(run["name"] == "readrandom")];
        assert!(run["seconds"].as_f64() >= Some(least), "{run}");
        assert_eq!(
            run["overdue"],
            serde_json::json!({"write_bytes": 0, "reads": 0}),
            "all was done"
        );
    }
}

#[test]
fn help_lists_workloads_flags_and_options() {
    let help = stdout("--help");
    for text in [
        "  readrandom ",
        "  --num (integer, default 1000000)",
        "  --write_buffer_size (",
    ] {
        assert!(help.contains(text), "{text}");
    }
}

#[test]
fn the_printed_seed_replays_the_run() {
    // The run has two workloads of two threads: the numbers of keys found distinguish one sequence of keys
    // from another.
    let of_seed = |seed: i64| {
        let out = stdout(&format!(
            "--num=20000 --threads=2 --reads=5000 --seed={seed} --benchmarks=fillrandom,readrandom,readrandom"
        ));
        let found: Vec<String> = out
            .lines()
            .filter(|line| line.contains(" found)"))
            .map(|line| line.rsplit('(').next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(found.len(), 2, "{out}");
        let printed = out
            .lines()
            .find_map(|line| line.strip_prefix("Set seed to "))
            .and_then(|line| line.split(' ').next()?.parse().ok())
            .unwrap_or_else(|| panic!("no seed in\n{out}"));
        (printed, found)
    };
    let (seed, found) = of_seed(0);
    assert!(seed != 0);
    assert_eq!(of_seed(seed), (seed, found.clone()));
    assert!(
        (1..9).any(|other| of_seed(seed.wrapping_add(other)).1 != found),
        "other seeds find what --seed={seed} finds: {found:?}"
    );
}

#[test]
fn mixgraph_says_what_it_will_do_and_does_it() {
    for (preset, threads) in [
        ("all_dist", 1),
        ("prefix_dist", 4),
        ("all_random", 1),
        ("prefix_random", 4),
        ("hwperf", 2),
    ] {
        let out = stdout(&format!(
            "--mixgraph_preset={preset} --threads={threads} --num=3000 --mix_accesses=4000 --seed=5 \
             --benchmarks=filluniquerandom,mixgraph"
        ));
        assert_eq!(operations(&out, "mixgraph"), 4_000, "{preset}");
        let [gets, puts, seeks] = [" Gets:", " Puts:", " Seek:"].map(|name| count_of(&out, name));
        assert_eq!(gets + puts + seeks, 4_000, "of all threads: {out}");
        assert!(puts > 400 && seeks > 60, "{out}");
        let implied = "Mixgraph:   83.0% Get, 14.0% Put, 3.0% Seek; ";
        let (said, line) = (out.find(implied), out.find("mixgraph     : "));
        assert!(said.is_some() && said < line, "{preset}\n{out}");
        for text in [
            "Put:        values of 36.",
            "Seek:       scans of ",
            "Hot keys:   the hottest 1% of the keys take ",
            "( Gets:",
        ] {
            assert!(out.contains(text), "{preset}: {text}\n{out}");
        }
    }
    // The operations do not depend on the number of threads: the database is the same in the end.
    let left = |threads: usize| {
        let out = stdout(&format!(
            "--mixgraph_preset=all_random --mix_get_ratio=0 --mix_put_ratio=1 --mix_seek_ratio=0 --seed=9 \
             --threads={threads} --num=3000 --mix_accesses=2000 --benchmarks=mixgraph,readtocache"
        ));
        operations(&out, "readtocache")
    };
    assert_eq!(left(1), left(8));
}

#[test]
fn a_mixgraph_that_comes_to_nothing_is_refused_before_anything_is_filled() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("db");
    let error = stderr(&format!(
        "--db={} --num=100000 --benchmarks=fillseq,mixgraph --mix_get_ratio=0.5",
        path.display()
    ));
    assert!(error.contains("must be 1 together"), "{error}");
    assert!(!path.exists(), "nothing was begun");
}

#[test]
fn a_flamegraph_weighs_what_the_run_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("run.svg");
    let out = stdout(&format!(
        "--num=150000 --write_buffer_size=1m --threads=2 --benchmarks=fillrandom,compact,readrandom --flamegraph={}",
        file.display()
    ));
    let svg = std::fs::read_to_string(&file).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("href"), "nothing outside of it");
    // The picture has frames of the engine and of each group; their weights are the CPU times in the text.
    assert!(
        svg.contains("esker::") && svg.contains("db_bench::workloads::"),
        "{out}"
    );
    let weight = |name: &str| -> f64 {
        let title = format!("><title>{name}: ");
        let at = svg
            .find(&title)
            .unwrap_or_else(|| panic!("no {name} in the picture\n{out}"));
        let nanos = svg[..at].rsplit_once("data-nanos=\"").expect("a weight").1;
        nanos.trim_end_matches('"').parse().expect("a number")
    };
    let groups = ["foreground", "flush", "compaction", "harness"];
    let sum: f64 = groups.iter().map(|group| weight(group)).sum();
    let rare: f64 = ["file deletion", "ended threads"]
        .iter()
        .filter(|group| svg.contains(&format!("<title>{group}: ")))
        .map(|group| weight(group))
        .sum();
    assert!((sum + rare - weight("all")).abs() < 1e3, "{out}");
    assert!(
        weight("harness") < sum / 2.0,
        "the run is what was measured\n{out}"
    );
    // The clock of the process counts in hundredths of a second.
    let used: f64 = out
        .split_once("; the process used ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no time of the process in\n{out}"));
    assert!(used > 0.0);
    let drawn = weight("all") / 1e9;
    assert!(
        (drawn - used).abs() <= 0.1 * used + 0.05,
        "{drawn} s drawn, {used} s used\n{out}"
    );
    assert!(out.contains("time spent waiting is not in it"), "{out}");
    assert!(out.contains(" samples of "), "{out}");
}

#[test]
fn a_program_is_its_own_peer() {
    let peer = env!("CARGO_BIN_EXE_db_bench");
    let place = tempfile::tempdir().unwrap();
    let args = format!(
        "--benchmarks=fillrandom,readrandom,stats --num=2k --peer={peer} --peer_rounds=2 --seed=5 --db={} \
         --write_buffer_size=64k",
        place.path().display()
    );
    let out = stdout(&args);
    assert!(out.contains("Seed: 5;"), "{out}");
    assert!(out.contains("Peer: Esker:"), "{out}");
    for name in ["fillrandom", "readrandom"] {
        let line = out
            .lines()
            .find(|line| line.starts_with(name))
            .expect("a line a workload");
        assert!(line.ends_with("too few rounds for a verdict"), "{line}");
    }
    let costs: Vec<&str> = out
        .lines()
        .skip_while(|line| !line.starts_with("CPU seconds"))
        .collect();
    assert!(
        costs
            .last()
            .is_some_and(|line| line.starts_with("write amplification")),
        "{out}"
    );
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_peer_that_fails_is_quoted() {
    let error = stderr("--benchmarks=fillseq --num=10 --peer=/no/such/db_bench");
    assert!(error.contains("/no/such/db_bench"), "{error}");
    let error = stderr("--benchmarks=fillseq --use_existing_db --peer=/bin/true");
    assert!(error.contains("--use_existing_db"), "{error}");
}

/// By default, db_bench writes no option and no format that RocksDB 7.8 does not know.
#[test]
fn rocksdbs_tools_take_what_is_written_by_default() {
    let dir = tempfile::TempDir::new().unwrap();
    for (name, flags) in [
        ("plain", "--benchmarks=fillseq,overwrite,flush,compact,overwrite"),
        (
            "universal",
            "--benchmarks=fillseq,overwrite --compaction_style=1 --write_buffer_size=64k",
        ),
        (
            "families",
            "--benchmarks=fillseq --num_column_families=3 --merge_operator=put",
        ),
    ] {
        let db = dir.path().join(name);
        stdout(&format!("{flags} --num=2000 --db={}", db.display()));
        let families = match name {
            "families" => vec![
                ("default", 667),
                ("column_family_name_000001", 667),
                ("column_family_name_000002", 666),
            ],
            _ => vec![("default", 2000)],
        };
        testkit::judges::look_at(&db, &families);
    }
}

/// A trace of RocksDB's format is written by one workload, and its queries run again over another database.
#[test]
fn queries_are_traced_and_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("queries");
    let blocks = dir.path().join("blocks");
    let (trace, blocks) = (trace.display(), blocks.display());
    let small = "--num=500 --seed=3 --compression_type=none";
    let written = format!("{small} --benchmarks=fillrandom --trace_file={trace}");
    let out = successful(&written, &run_in(dir.path(), &written));
    assert!(
        out.contains(&format!("Tracing the workload to: [{trace}]\n")),
        "{out}"
    );
    let read = format!(
        "{small} --use_existing_db --benchmarks=compact,readrandom --block_cache_trace_file={blocks}"
    );
    let out = successful(&read, &run_in(dir.path(), &read));
    assert!(
        out.contains(&format!("Tracing block cache accesses to: [{blocks}]\n")),
        "{out}"
    );
    let found = |out: &str| {
        let before = out.split(" of 500 found").next().unwrap().to_owned();
        before.rsplit('(').next().unwrap().parse::<u64>().unwrap()
    };
    let expected = found(&out);
    assert!(std::fs::metadata(dir.path().join("blocks")).unwrap().len() > 100);

    let other = tempfile::tempdir().unwrap();
    let again =
        format!("{small} --benchmarks=replay --trace_file={trace} --trace_replay_fast_forward=1000000");
    let out = successful(&again, &run_in(other.path(), &again));
    assert!(
        out.contains(&format!("Replay completed from trace_file: {trace}\n")),
        "{out}"
    );
    assert_eq!(operations(&out, "replay"), 500, "{out}");
    let reread = format!("{small} --use_existing_db --benchmarks=compact,readrandom");
    let out = successful(&reread, &run_in(other.path(), &reread));
    assert_eq!(found(&out), expected, "{out}");
}

#[test]
fn bad_traces_and_flags_of_traces_are_refused() {
    for (flags, message) in [
        (
            "--benchmarks=replay",
            "Please set --trace_file to be replayed from",
        ),
        (
            "--benchmarks=replay --trace_file=x --threads=2",
            "Multi-threaded replay is not yet supported",
        ),
        (
            "--block_cache_trace_sampling_frequency=0",
            "sampling frequency must be higher than 0",
        ),
        ("--trace_replay_fast_forward=0", "must be greater than 0"),
    ] {
        assert!(stderr(flags).contains(message), "{flags}");
    }
    let out = stdout("--benchmarks=fillseq --num=100 --wal_ttl_seconds=60 --wal_size_limit_MB=1");
    assert_eq!(operations(&out, "fillseq"), 100);
}
