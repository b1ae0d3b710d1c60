//! `judge`: programs written for RocksDB run over this library. Each has a floor: the judge fails if fewer
//! tests pass. Fetched files are never committed: they are under `target/judge`.

mod balboa;
mod benchmark_script;
mod c_test;
mod classes;
mod count;
mod flink;
mod flink_tests;
mod grocksdb;
pub mod jvm;
mod jvm_own;
mod kafka;
mod kafka_tests;
mod kvdb_rocksdb;
mod linking;
mod package;
mod rocksdb_crate;
mod rocksdb_over_library;
mod rocksjava;
mod rockstore;
mod spark;
mod spark_tests;
pub mod turns;

use std::path::{Path, PathBuf};

use count::SCRATCH;
pub use count::{Count, Fault, no_words, not_understood};

use crate::python;
use crate::shell::Outcome;

/// The page of judges, from the root.
const PAGE: &str = "docs/judges.md";

/// The occasion on which a judge runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// The judge runs before each change.
    Gate,
    /// The judge runs in `cargo xtask nightly`.
    Nightly,
    /// The judge runs in `cargo xtask nightly`, in this number of pieces of an hour.
    Pieces(usize),
}

/// A program of others that runs over Esker.
struct Judge {
    name: &'static str,
    /// The origin of the judge's tests.
    source: &'static str,
    /// The interface that the judge uses.
    over: &'static str,
    /// The number of the judge's tests.
    tests: usize,
    /// The number of tests that must pass.
    floor: usize,
    tier: Tier,
    run: fn(&[&str]) -> Result<Count, Fault>,
}

/// All judges. A floor is raised when more tests pass, and never lowered.
const JUDGES: &[Judge] = &[
    Judge {
        name: "c_test",
        source: "`librocksdb-sys` 0.19.0, RocksDB 11.8.1: its own test of its C interface, phases in order",
        over: "the shared library",
        tests: 96,
        floor: 96,
        tier: Tier::Gate,
        run: c_test::newest,
    },
    Judge {
        name: "turns",
        source: "ours: one program linked to Debian's librocksdb 7.8, that library and ours in turn over one directory, with prepared transactions and archived WALs",
        over: "the shared library as 7.8",
        tests: turns::FEW,
        floor: turns::FEW,
        tier: Tier::Gate,
        run: turns::few,
    },
    Judge {
        name: "rockstore",
        source: "ours: each method of `rockstore` 0.2.0 of PyPI",
        over: "the shared library",
        tests: 12,
        floor: 12,
        tier: Tier::Gate,
        run: rockstore::run,
    },
    Judge {
        name: "c_test-10.4",
        source: "`librocksdb-sys` 0.17.3, RocksDB 10.4.2: as c_test",
        over: "the shared library as 10.4",
        tests: 68,
        floor: 68,
        tier: Tier::Nightly,
        run: c_test::of_10_4,
    },
    Judge {
        name: "c_test-sanitized",
        source: "as c_test, with the address and leak sanitizers",
        over: "the shared library",
        tests: 96,
        floor: 96,
        tier: Tier::Nightly,
        run: c_test::sanitized,
    },
    Judge {
        name: "turns-1000",
        source: "as turns",
        over: "the shared library as 7.8",
        tests: turns::MANY,
        floor: turns::MANY,
        tier: Tier::Nightly,
        run: turns::many,
    },
    Judge {
        name: "balboa",
        source: "ours: `balboa-rocksdb` 2.0.0 of Debian, built against librocksdb 7.8, over that library and ours in turn on one directory; \
                 backups of either, restored by the other",
        over: "the shared library as 7.8",
        tests: balboa::CHECKS,
        floor: balboa::CHECKS,
        tier: Tier::Nightly,
        run: balboa::run,
    },
    Judge {
        name: "benchmark.sh",
        source: "`librocksdb-sys` 0.19.0, RocksDB 11.8.1: its script `benchmark.sh`: the jobs that end with 0, and the rows of its report without an empty column",
        over: "db_bench",
        tests: benchmark_script::CHECKS,
        floor: benchmark_script::CHECKS,
        tier: Tier::Nightly,
        run: benchmark_script::run,
    },
    Judge {
        name: "linking",
        source: "ours: C, Go and Rust programs linked to the installed library, by pkg-config and CMake; the Debian package installed into an empty root, where a program linked to Debian's 7.8 and a new one run",
        over: "the shared library and the archive",
        tests: linking::TESTS,
        floor: linking::TESTS,
        tier: Tier::Nightly,
        run: linking::run,
    },
    Judge {
        name: "grocksdb",
        source: "`grocksdb` 1.10.7 of the Go module proxy, RocksDB 10.9.1: its tests, with our header",
        over: "the shared library as 10.9",
        tests: 84,
        floor: 84,
        tier: Tier::Nightly,
        run: grocksdb::run,
    },
    Judge {
        name: "rocksdb-0.25",
        source: "`rocksdb` 0.25.0: unit and integration tests",
        over: "the shared library",
        tests: 225,
        floor: 216,
        tier: Tier::Nightly,
        run: rocksdb_over_library::of_0_25,
    },
    Judge {
        name: "rocksdb-0.25-archive",
        source: "as rocksdb-0.25",
        over: "the archive",
        tests: 225,
        floor: 216,
        tier: Tier::Nightly,
        run: rocksdb_over_library::archive_of_0_25,
    },
    Judge {
        name: "rocksdb-0.24",
        source: "`rocksdb` 0.24.0, RocksDB 10.4.2: unit and integration tests",
        over: "the shared library as 10.4",
        tests: 190,
        floor: 185,
        tier: Tier::Nightly,
        run: rocksdb_over_library::of_0_24,
    },
    Judge {
        name: "rocksdb-0.24-archive",
        source: "as rocksdb-0.24",
        over: "the archive of 10.4",
        tests: 190,
        floor: 185,
        tier: Tier::Nightly,
        run: rocksdb_over_library::archive_of_0_24,
    },
    Judge {
        name: "esker-rocksdb-0.25",
        source: "`rocksdb` 0.25.0: integration tests",
        over: "`crates/rocksdb`",
        tests: 205,
        floor: 196,
        tier: Tier::Nightly,
        run: rocksdb_crate::of_0_25,
    },
    Judge {
        name: "esker-rocksdb-0.24",
        source: "`rocksdb` 0.24.0: integration tests",
        over: "`crates/rocksdb`",
        tests: 172,
        floor: 166,
        tier: Tier::Nightly,
        run: rocksdb_crate::of_0_24,
    },
    Judge {
        name: "kvdb-rocksdb",
        source: "`kvdb-rocksdb` 0.21.0: unit tests",
        over: "`crates/rocksdb` in the place of `rocksdb` 0.24",
        tests: 20,
        floor: 20,
        tier: Tier::Nightly,
        run: kvdb_rocksdb::run,
    },
    Judge {
        name: "jvm",
        source: "ours: wrong use of RocksJava's classes, the package `dev.esker`, the library in a jar in front of rocksdbjni",
        over: "`crates/jni` under rocksdbjni 10.4.2",
        tests: jvm_own::CHECKS,
        floor: jvm_own::CHECKS,
        tier: Tier::Gate,
        run: jvm_own::run,
    },
    Judge {
        name: "jvm-largest",
        source: "ours: arrays of the largest size that HotSpot has",
        over: "`crates/jni` under rocksdbjni 10.4.2",
        tests: 3,
        floor: 0,
        tier: Tier::Nightly,
        run: jvm_own::largest,
    },
    Judge {
        name: "kafka",
        source: "ours: a topology of Kafka Streams 4.3 with every kind of store; its contents over RocksDB and over Esker",
        over: "`crates/jni` under rocksdbjni 10.1.3",
        tests: 1,
        floor: 1,
        tier: Tier::Gate,
        run: kafka::run,
    },
    Judge {
        name: "kafka-killed",
        source: "as kafka, with the JVM killed after the last commit, and continued by RocksDB and by Esker",
        over: "`crates/jni` under rocksdbjni 10.1.3",
        tests: 2,
        floor: 2,
        tier: Tier::Nightly,
        run: kafka::killed,
    },
    Judge {
        name: "spark",
        source: "ours: five stateful queries of Spark 4.2, stopped, killed and continued by RocksDB and by Esker",
        over: "`crates/jni` under rocksdbjni 9.8.4",
        tests: 4,
        floor: 4,
        tier: Tier::Nightly,
        run: spark::run,
    },
    Judge {
        name: "flink",
        source: "ours: a job of Flink 2.3 with every kind of state, restored with another parallelism by RocksDB and by Esker, also after a kill of the JVM",
        over: "`crates/jni` under frocksdbjni 8.10.0",
        tests: 4,
        floor: 4,
        tier: Tier::Nightly,
        run: flink::run,
    },
    Judge {
        name: "rocksjava",
        source: "`librocksdb-sys` 0.17.3, RocksDB 10.4.2: RocksJava's own tests",
        over: "`crates/jni` under the jar of that release",
        tests: 1260,
        floor: 1150,
        tier: Tier::Pieces(1),
        run: rocksjava::run,
    },
    Judge {
        name: "kafka-tests",
        source: "`kafka-streams` 4.3.1: its own test classes of stores in RocksDB; without those that fail over RocksDB too",
        over: "`crates/jni` under rocksdbjni 10.1.3",
        tests: 1161,
        floor: 1156,
        tier: Tier::Pieces(1),
        run: kafka_tests::run,
    },
    Judge {
        name: "flink-tests",
        source: "`flink-statebackend-rocksdb` 2.3.0: its own test classes; without those that fail over RocksDB too",
        over: "`crates/jni` under frocksdbjni 8.10.0",
        tests: 226,
        floor: 226,
        tier: Tier::Pieces(1),
        run: flink_tests::run,
    },
    Judge {
        name: "spark-tests",
        source: "`spark-sql` 4.2.0: its own suites of state stores in RocksDB, of which five, and parts of two more, are counted so far; without those that fail over RocksDB too",
        over: "`crates/jni` under rocksdbjni 9.8.4",
        tests: 232,
        floor: 228,
        tier: Tier::Pieces(4),
        run: spark_tests::run,
    },
    Judge {
        name: "plyvel",
        source: "`plyvel` 1.5.1: its own tests, over plyvel's names on the package",
        over: "the Python package",
        tests: 54,
        floor: 53,
        tier: Tier::Nightly,
        run: python::judge::plyvel,
    },
    Judge {
        name: "rocksdict-files",
        source: "ours: `rocksdict`, RocksDB in Python, and Esker in turn over one directory, on 40 seeds",
        over: "the Python package",
        tests: 44,
        floor: 44,
        tier: Tier::Nightly,
        run: python::judge::rocksdict_files,
    },
];

/// Runs the judge that `words` name, or all judges of a tier. Without a name, prints the list.
pub fn run(words: &[&str]) -> Outcome {
    match words {
        [] => {
            print!("{}", page());
            Ok(())
        }
        ["gate"] => gate(),
        ["nightly"] => nightly(),
        [name, rest @ ..] => {
            let judge = JUDGES
                .iter()
                .find(|judge| judge.name == *name)
                .ok_or_else(|| format!("no judge {name}; there are {}", names()))?;
            hear(judge, rest)
        }
    }
}

/// Runs the judges of the gate.
pub fn gate() -> Outcome {
    all_of(Tier::Gate)
}

/// Runs the judges of the nightly tier, for a part of `cargo xtask nightly`.
pub fn nightly() -> Outcome {
    all_of(Tier::Nightly)
}

/// Returns the judges that run in pieces of an hour, with the number of their pieces.
pub fn in_pieces() -> impl Iterator<Item = (&'static str, usize)> {
    JUDGES.iter().filter_map(|judge| match judge.tier {
        Tier::Pieces(count) => Some((judge.name, count)),
        Tier::Gate | Tier::Nightly => None,
    })
}

fn names() -> String {
    let names: Vec<&str> = JUDGES.iter().map(|judge| judge.name).collect();
    names.join(", ")
}

fn all_of(tier: Tier) -> Outcome {
    let judges = JUDGES.iter().filter(|judge| judge.tier == tier);
    let failed: Vec<String> = judges.filter_map(|judge| hear(judge, &[]).err()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\nerror: ")),
    }
}

/// Runs a judge and compares its count with its floor. With further words the judge may run a part of its
/// tests, which has no floor unless all parts are complete.
fn hear(judge: &Judge, words: &[&str]) -> Outcome {
    let name = judge.name;
    let count = match (judge.run)(words) {
        Ok(count) => count,
        Err(Fault::Unreachable(what)) => {
            let why = what.lines().last().unwrap_or("");
            eprintln!("skipped: judge {name} (a registry or a tool is out of reach: {why})");
            return Ok(());
        }
        Err(Fault::Broken(what)) => return Err(format!("judge {name}: {what}")),
    };
    for failed in &count.failed {
        println!("    failed: {failed}");
    }
    println!(
        "judge {name}: {} passed, {} failed, {} ignored, {} not built or not reached; floor {} of {}",
        count.passed,
        count.failed.len(),
        count.ignored,
        count.not_built,
        judge.floor,
        judge.tests
    );
    let whole = words.is_empty() || (words[0] == "--part" && count.not_built == 0);
    match verdict(judge, &count) {
        _ if !whole => Ok(()),
        Verdict::Fallen => Err(format!(
            "judge {name}: {} passed, fewer than {}",
            count.passed, judge.floor
        )),
        Verdict::Risen => {
            eprintln!(
                "judge {name}: raise its floor to {} in xtask/src/judge.rs",
                count.passed
            );
            Ok(())
        }
        Verdict::AsBefore => Ok(()),
    }
}

/// Returns the text of a count with its floor.
#[derive(Debug, PartialEq)]
enum Verdict {
    Fallen,
    AsBefore,
    Risen,
}

fn verdict(judge: &Judge, count: &Count) -> Verdict {
    match count.passed.cmp(&judge.floor) {
        std::cmp::Ordering::Less => Verdict::Fallen,
        std::cmp::Ordering::Equal => Verdict::AsBefore,
        std::cmp::Ordering::Greater => Verdict::Risen,
    }
}

/// Returns the path and the text of the page that lists the judges.
pub fn file(root: &Path) -> (PathBuf, String) {
    (root.join(PAGE), page())
}

const HEAD: &str = "\
# Judges

Programs of others, written for RocksDB, that run over Esker: unchanged, fetched from the registries, counted. `cargo xtask judge NAME` fetches one,
builds it and counts its tests; `cargo xtask judge gate` runs those of the gate, and `cargo xtask nightly` the others. A count below the
floor is a failure. A judge whose registry is out of reach is skipped by name. This page is written by `cargo xtask gen` from the
table in `xtask/src/judge.rs`.

| judge | its tests come from | over | floor | of | runs in |
|---|---|---|---|---|---|
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for judge in JUDGES {
        let tier = match judge.tier {
            Tier::Gate => "the gate",
            Tier::Nightly | Tier::Pieces(_) => "nightly",
        };
        page.push_str(&format!(
            "| {} | {} | {} | {} | {} | {tier} |\n",
            judge.name, judge.source, judge.over, judge.floor, judge.tests
        ));
    }
    for (program, list) in [
        ("the `rocksdb` crate", rocksdb_crate::NOT_PASSED),
        ("RocksJava", rocksjava::NOT_PASSED),
        ("Kafka Streams", kafka_tests::NOT_PASSED),
    ] {
        page.push_str(&format!(
            "\n## Tests of {program} that do not pass\n\n| test | reason |\n|---|---|\n"
        ));
        for (tests, reason) in list {
            let tests = match tests.contains('`') {
                true => (*tests).to_owned(),
                false => format!("`{tests}`"),
            };
            page.push_str(&format!("| {tests} | {reason} |\n"));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_below_the_floor_is_a_fall() {
        let judge = |floor| Judge {
            name: "x",
            source: "",
            over: "",
            tests: 9,
            floor,
            tier: Tier::Gate,
            run: |_| Ok(Count::default()),
        };
        let passed = |passed| Count {
            passed,
            ..Count::default()
        };
        assert_eq!(verdict(&judge(5), &passed(4)), Verdict::Fallen);
        assert_eq!(verdict(&judge(5), &passed(5)), Verdict::AsBefore);
        assert_eq!(verdict(&judge(5), &passed(6)), Verdict::Risen);
        assert!(hear(&judge(1), &[]).is_err());
        assert!(hear(&judge(0), &[]).is_ok());
    }

    #[test]
    fn a_registry_out_of_reach_is_told_from_a_package_that_is_not_there() {
        let fault = |said: &str| Fault::of_registry(said.to_owned());
        assert!(matches!(
            fault("error: Could not resolve host: index.crates.io"),
            Fault::Unreachable(_)
        ));
        assert!(matches!(
            fault("error: no matching package named `x` found"),
            Fault::Broken(_)
        ));
    }

    #[test]
    fn floors_are_within_the_tests_and_names_are_once() {
        for (at, judge) in JUDGES.iter().enumerate() {
            assert!(judge.floor <= judge.tests, "{}", judge.name);
            assert!(JUDGES[..at].iter().all(|other| other.name != judge.name));
        }
    }
}
