//! Flink's own tests of its state backend in RocksDB.

use super::classes::{self, Classes, Framework};
use super::{Count, Fault, jvm};

/// Runs the classes of tests, or the named ones.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let library = jvm::library()?;
    let project = classes::project("flink-tests", Framework::JUnit)?;
    let names = classes::in_jar(&project, "flink-statebackend-rocksdb-2.3.0-tests.jar", |class| {
        class.ends_with("Test")
    })?;
    let classes = Classes {
        project: "flink-tests",
        framework: Framework::JUnit,
        names,
        seconds: 1500,
        options: &["-Xmx2g"],
        beside_rocksdb: true,
    };
    classes::run(&classes, &project, &library, words)
}
