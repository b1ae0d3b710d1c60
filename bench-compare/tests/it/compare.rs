//! The comparison as a user starts it: each engine's program runs, and all find the same number of entries.

use std::process::Command;

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
