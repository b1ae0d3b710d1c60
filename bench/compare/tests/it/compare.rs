//! The comparison as a user starts it: each engine's program runs, and all find the same number of entries.

use std::process::Command;

#[test]
fn b_trees_run_without_compression_and_are_refused_with_it() {
    let run = |extra: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bench-compare"))
            .args(["--engines=esker,lmdb,redb", "--rounds=1", "--num=2000", "--reads=1000"])
            .args(["--benchmarks=fillrandom,fillseqbatch100,overwrite,readrandom,multireadrandom10,readreverse,seekrandom10"])
            .args(extra)
            .output()
            .unwrap()
    };
    let output = run(&["--no-compression"]);
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}{error}");
    for engine in ["esker", "lmdb", "redb"] {
        let rows = out
            .lines()
            .filter(|line| line.split_whitespace().next() == Some(engine));
        assert_eq!(rows.count(), 7, "{engine}: {out}");
    }
    let refused = run(&[]);
    assert!(!refused.status.success());
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        error.contains("lmdb has no compression: pass --no-compression"),
        "{error}"
    );
}

#[test]
fn every_engine_has_its_program() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-compare"))
        .args([
            "--engines=esker,rocksdb-tuned,rocksdb-default,fjall",
            "--rounds=1",
            "--num=2000",
            "--reads=1000",
        ])
        .arg("--benchmarks=fillseq,readrandom,seekreverse10")
        .output()
        .unwrap();
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}{error}");
    for engine in ["esker", "rocksdb-tuned", "rocksdb-default", "fjall"] {
        let rows = out
            .lines()
            .filter(|line| line.split_whitespace().next() == Some(engine));
        assert_eq!(rows.count(), 3, "{engine}: {out}");
    }
}
