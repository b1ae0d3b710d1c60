//! Kafka Streams' own tests of its stores in RocksDB.

use super::classes::{self, Classes, Framework};
use super::{Count, Fault, jvm};

/// The tests that do not pass, by their class, with the reason.
pub const NOT_PASSED: &[(&str, &str)] = &[
    (
        "RocksDBGenericOptionsToDbOptionsColumnFamilyOptionsAdapterTest.shouldForwardAllDbOptionsCalls",
        "There is no manager of SST files.",
    ),
    (
        "*.shouldNotSetCacheInValueProvidersWhenUserProvidesPlainTableFormatConfig",
        "There are no plain tables: a family that asks for them is refused by name.",
    ),
];

/// Runs the classes of tests, or the named ones.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let library = jvm::library()?;
    let project = classes::project("kafka-tests", Framework::JUnit)?;
    let names = classes::in_jar(&project, "kafka-streams-4.3.1-test.jar", |class| {
        let name = class.rsplit('/').next().unwrap_or(class);
        name.ends_with("Test") && name.starts_with("RocksD")
    })?;
    let classes = Classes {
        project: "kafka-tests",
        framework: Framework::JUnit,
        names,
        seconds: 600,
        options: &["-Xmx1g"],
        beside_rocksdb: true,
    };
    classes::run(&classes, &project, &library, words)
}
