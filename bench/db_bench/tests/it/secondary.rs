//! Databases that other instances write, and options from other files.

use crate::{operations, run_in, stderr, successful};

#[test]
fn a_secondary_reads_what_its_primary_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &str| successful(args, &run_in(dir.path(), args));
    run("--num=3000 --benchmarks=filluniquerandom");
    let secondary = "--use_secondary_db --use_existing_db --num=3000";
    let out = run(&format!(
        "{secondary} --benchmarks=readrandom,readseq --report_open_timing"
    ));
    assert!(out.contains("(3000 of 3000 found)"), "{out}");
    assert_eq!(operations(&out, "readseq"), 3_000);
    assert!(
        dir.path().join("dbbench_secondary/LOG").exists(),
        "a directory of its own"
    );
    // The secondary catches up once at the start, and then every five seconds.
    let line = out
        .lines()
        .find(|line| line.starts_with("Secondary instance updated  "));
    let updates = line
        .and_then(|line| line.split_whitespace().nth(3))
        .expect("a count");
    assert!(updates.parse::<u64>().expect("a number") > 0);
    let timing = out.lines().find_map(|line| line.strip_prefix("OpenDb:     "));
    let millis = timing
        .and_then(|timing| timing.strip_suffix(" milliseconds"))
        .expect("a time");
    assert!(millis.parse::<f64>().expect("a number") > 0.0);

    let own = dir.path().join("own");
    let out = run(&format!(
        "{secondary} --secondary_path={} --secondary_update_interval=0 --benchmarks=readrandom",
        own.display()
    ));
    assert!(out.contains("Secondary instance updated  0 times."), "{out}");
    assert!(own.join("LOG").exists());
    let refused = run_in(dir.path(), &format!("{secondary} --benchmarks=overwrite"));
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && err.contains("Not implemented"),
        "{err}"
    );
    let err = stderr("--use_secondary_db --benchmarks=readrandom");
    assert!(
        err.contains("--use_secondary_db needs --use_existing_db"),
        "{err}"
    );
}

#[test]
fn a_follower_reads_what_its_leader_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let leader = dir.path().join("leader");
    let run = |args: &str| successful(args, &run_in(dir.path(), args));
    run(&format!(
        "--db={} --num=3000 --benchmarks=filluniquerandom",
        leader.display()
    ));
    let out = run(&format!(
        "--open_as_follower --leader_path={} --num=3000 --benchmarks=readrandom",
        leader.display()
    ));
    assert!(out.contains("(3000 of 3000 found)"), "{out}");
    let err = stderr("--open_as_follower --benchmarks=readrandom");
    assert!(err.contains("--open_as_follower needs --leader_path"), "{err}");
}

#[test]
fn options_come_from_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &str| {
        let output = run_in(dir.path(), args);
        let out = successful(args, &output);
        (out, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let newest = || {
        let files = std::fs::read_dir(dir.path().join("dbbench")).expect("a database");
        let paths = files.map(|file| file.expect("a file").path());
        let options = paths.filter(|path| path.to_string_lossy().contains("/OPTIONS-"));
        std::fs::read_to_string(options.max().expect("an OPTIONS file")).expect("text")
    };
    run(
        "--num=100 --benchmarks=fillseq --write_buffer_size=777216 --block_size=2048 --merge_operator=stringappend",
    );
    let written = dir.path().join("OPTIONS");
    std::fs::write(&written, newest()).expect("a copy");
    let (out, err) = run(&format!(
        "--num=100 --benchmarks=fillseq,mergerandom,readrandom --options_file={} --write_buffer_size=999424",
        written.display()
    ));
    assert!(
        out.contains("Initializing RocksDB Options from the specified file\n"),
        "{out}"
    );
    assert!(err.contains("note: write_buffer_size is 777216 as "), "{err}");
    let now = newest();
    for line in ["write_buffer_size=777216", "block_size=2048"] {
        assert!(now.contains(&format!("  {line}\n")), "{line}\n{now}");
    }
    assert!(now.contains("merge_operator=StringAppendOperator"), "{now}");
    let err = stderr("--benchmarks=fillseq --options_file=/nowhere");
    assert!(err.contains("Unable to load options file /nowhere --- "), "{err}");
}

#[test]
fn build_info_and_a_filter_that_keeps_rows() {
    let out = successful(
        "--build_info",
        &run_in(std::path::Path::new("/nowhere"), "--build_info"),
    );
    assert!(out.starts_with("db_bench (RocksDB) 7.8.3\n"), "{out}");
    assert!(out.contains("\n    rocksdb_build_git_sha: "), "{out}");
    assert_eq!(
        successful(
            "--version",
            &run_in(std::path::Path::new("/nowhere"), "--version")
        ),
        "db_bench version 7.8.3\n"
    );
    let logged = tempfile::tempdir().expect("a directory");
    let output = run_in(
        logged.path(),
        "--benchmarks=fillseq --num=10 --use_stderr_info_logger",
    );
    successful("", &output);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains(" RocksDB version: 7.8.3\n") && err.contains("Options.write_buffer_size: "),
        "{err}"
    );
    assert!(!logged.path().join("dbbench/LOG").exists());
    let dir = tempfile::tempdir().expect("a directory");
    let args = "--num=2000 --benchmarks=filluniquerandom,compactall,readrandom --use_keep_filter --max_background_compactions=3 \
                --max_background_flushes=2";
    let out = successful(args, &run_in(dir.path(), args));
    assert!(out.contains("(2000 of 2000 found)"), "{out}");
    let log = std::fs::read_to_string(dir.path().join("dbbench/LOG")).expect("a LOG");
    assert!(
        log.contains("Options.compaction_filter_factory: KeepFilter\n"),
        "{log}"
    );
    assert!(log.contains("Options.max_background_jobs: 5\n"), "{log}");
}

#[test]
fn keys_that_are_there_are_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &str| successful(args, &run_in(dir.path(), args));
    // The keys have 24 bytes, and numbers up to 3000; the flags of the next command describe other keys.
    run("--num=3000 --key_size=24 --benchmarks=fillrandom --seed=5");
    let out = run("--use_existing_db --num=3000 --key_size=24 --benchmarks=readrandom");
    assert!(
        !out.contains("(3000 of 3000 found)"),
        "fillrandom writes some keys twice\n{out}"
    );
    let existing = "--use_existing_db --use_existing_keys --num=7";
    let out = run(&format!(
        "{existing} --reads=3000 --benchmarks=readrandom,multireadrandom,seekrandom,overwrite,readrandom"
    ));
    for name in ["readrandom", "seekrandom"] {
        let line = out.lines().find(|line| line.starts_with(name)).expect("a line");
        assert!(line.contains("(3000 of 3000 found)"), "{line}");
    }
    // The keys to overwrite exist already.
    let keys = |args: &str| {
        operations(
            &run(&format!("{args} --reads=10000 --benchmarks=readseq")),
            "readseq",
        )
    };
    let count = keys("--use_existing_db");
    run(&format!(
        "{existing} --benchmarks=overwrite,updaterandom --writes=500"
    ));
    assert_eq!(keys("--use_existing_db"), count);
    let err = stderr("--use_existing_keys --benchmarks=readrandom");
    assert!(
        err.contains("--use_existing_keys needs --use_existing_db"),
        "{err}"
    );
}

#[test]
fn prefixes_that_are_missing_and_rates_that_follow_a_sine() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &str| successful(args, &run_in(dir.path(), args));
    let prefixes = "--num=2000 --key_size=24 --prefix_size=12 --keys_per_prefix=10";
    run(&format!("{prefixes} --benchmarks=fillrandom"));
    let seek = |more: &str| {
        run(&format!(
            "{prefixes} --use_existing_db --benchmarks=seekrandom --prefix_same_as_start --seek_nexts=3 {more}"
        ))
    };
    let found = |out: &str| !out.contains("(0 of 2000 found)");
    assert!(found(&seek("")) && !found(&seek("--seek_missing_prefix")));
    let err = stderr("--seek_missing_prefix --prefix_size=8 --benchmarks=seekrandom");
    assert!(
        err.contains("prefix_size > 8 required by --seek_missing_prefix"),
        "{err}"
    );
    // The run writes 116,000 bytes, at 400,000 bytes a second at first and at other rates later.
    let out = run(
        "--num=1000 --benchmarks=fillseq --sine_write_rate --sine_a=100000 --sine_d=400000 \
                   --sine_write_rate_interval_milliseconds=50",
    );
    let line = out
        .lines()
        .find(|line| line.starts_with("fillseq "))
        .expect("a line");
    let seconds = line
        .split_whitespace()
        .nth(6)
        .and_then(|word| word.parse::<f64>().ok())
        .expect("seconds");
    assert!(seconds >= 0.2, "{line}");
    let err = stderr("--sine_write_rate --sine_a=5 --sine_d=5 --benchmarks=fillseq");
    assert!(err.contains("--sine_write_rate: the rate"), "{err}");
}
