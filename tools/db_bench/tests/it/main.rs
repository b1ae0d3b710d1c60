//! The program as its users run it.

use std::process::{Command, Output};

fn run(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_db_bench"));
    command
        .args(args.split_whitespace())
        .output()
        .expect("db_bench runs")
}

fn stdout(args: &str) -> String {
    let output = run(args);
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

/// Operations in the line of workload `name`.
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
    for name in [
        "fillseq",
        "overwrite",
        "updaterandom",
        "appendrandom",
        "mergerandom",
        "deleterandom",
        "deleteseq",
    ] {
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
    assert!(stderr("--benchmarks=fillseq --num=0").contains("--num must be at least 1"));
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    let error = stderr(&format!(
        "--benchmarks=readseq --use_existing_db --db={}",
        missing.display()
    ));
    assert!(error.contains("missing") && !missing.exists(), "{error}");
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
