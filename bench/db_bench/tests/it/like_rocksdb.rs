//! `--mixgraph_like_rocksdb` against RocksDB's own db_bench.

use std::process::Command;

use testkit::oracle;

/// The figures of a mixgraph line.
#[derive(Debug)]
struct Line {
    gets: f64,
    puts: f64,
    seeks: f64,
    found: f64,
    value: f64,
}

/// Parses `( Gets:1 Puts:2 Seek:3, reads 4 in 4 found, avg size: 5.0 value, 6.0 scan)`.
fn line(mut command: Command, flags: &str) -> Line {
    let output = command
        .args(flags.split_whitespace())
        .output()
        .expect("db_bench runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = out
        .lines()
        .find(|line| line.starts_with("mixgraph "))
        .unwrap_or_else(|| panic!("no line of mixgraph in\n{out}"));
    let number = |before: &str| -> f64 {
        let (_, rest) = line.split_once(before).expect("the words of RocksDB");
        let digits = rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next();
        digits.and_then(|digits| digits.parse().ok()).expect("a number")
    };
    Line {
        gets: number("Gets:"),
        puts: number("Puts:"),
        seeks: number("Seek:"),
        found: number(", reads "),
        value: number("avg size: "),
    }
}

#[test]
fn mixgraph_like_rocksdb_is_like_rocksdb() {
    const KEYS: &str = " --key_dist_a=0.002312 --key_dist_b=0.3467";
    const RANGES: &str = " --keyrange_dist_a=14.18 --keyrange_dist_b=-2.917 --keyrange_dist_c=0.0164 \
                          --keyrange_dist_d=-0.08082 --keyrange_num=30";
    for distribution in ["", KEYS, RANGES, &format!("{KEYS}{RANGES}")] {
        let Some(theirs) = oracle::db_bench() else { return };
        let dir = tempfile::tempdir().expect("a directory");
        let flags = format!(
            "--db={}/db --num=30000 --reads=30000 --seed=7 --benchmarks=fillseq,mixgraph --mix_get_ratio=0.83 \
             --mix_put_ratio=0.14 --mix_seek_ratio=0.03 --value_k=0.2615 --value_sigma=25.45 --iter_k=2.517 \
             --iter_sigma=14.236{distribution}",
            dir.path().display()
        );
        let theirs = line(theirs, &flags);
        let ours = line(
            Command::new(env!("CARGO_BIN_EXE_db_bench")),
            &format!("{flags} --mixgraph_like_rocksdb"),
        );
        let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance;
        // The shares are of 30,000 operations; the tolerances are six standard deviations and more.
        let alike = near(ours.gets, theirs.gets, 600.0)
            && near(ours.puts, theirs.puts, 600.0)
            && near(ours.seeks, theirs.seeks, 300.0)
            && near(ours.found, theirs.found, 900.0)
            && near(ours.value, theirs.value, 5.0);
        assert!(alike, "{distribution:?}:\n{ours:?}\n{theirs:?}");
    }
}
