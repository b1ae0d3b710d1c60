//! Kafka Streams: a topology with every kind of store, over RocksDB and over Esker. The contents of the
//! stores must be equal, also after the JVM was killed in the middle.

use std::path::Path;

use super::{Count, Fault, jvm};
use crate::shell;

/// The number of records of each of the three topics.
const RECORDS: &str = "5000";

/// The number of records before the last commit of a run that is killed, the number at which it is killed,
/// and the number to which it is continued.
const KILLED: [&str; 3] = ["700", "1000", "1500"];

/// Runs the topology over each library.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
    let library = jvm::library()?;
    let project = jvm::project("kafka")?;
    let facts = |library| shell::output(jvm::java(&project, library).args(["Judge", RECORDS]));
    let mut count = Count::default();
    jvm::compare(&mut count, "kafka", &facts(None)?, &facts(Some(&library))?)?;
    Ok(count)
}

/// Kills the JVM in the middle over Esker, and continues over each library.
pub fn killed(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
    let library = jvm::library()?;
    let project = jvm::project("kafka")?;
    let ours = Some(library.as_path());
    let mut count = Count::default();
    let killed = |name: &str, first: Option<&Path>, second: Option<&Path>| {
        let dir = jvm::empty(&format!("jvm-kafka-{name}"))?;
        let [committed, killed, records] = KILLED;
        let mut run = jvm::java(&project, first);
        jvm::killed(run.args(["Judge", "kill"]).arg(&dir).args([committed, killed]))?;
        let mut run = jvm::java(&project, second);
        shell::output(run.args(["Judge", "end"]).arg(&dir).args([committed, records]))
    };
    let stock = killed("stock", None, None)?;
    jvm::compare(&mut count, "kafka, killed", &stock, &killed("ours", ours, ours)?)?;
    jvm::compare(
        &mut count,
        "kafka, killed over Esker and continued by RocksDB",
        &stock,
        &killed("to-stock", ours, None)?,
    )?;
    Ok(count)
}
