//! Kafka Streams: a topology with every kind of store, over RocksDB and over Esker. The contents of the
//! stores must be equal.

use super::{Count, Fault, jvm};
use crate::shell;

/// The number of records of each of the three topics.
const RECORDS: &str = "5000";

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
