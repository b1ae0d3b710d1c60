//! Flink: a job with every kind of state is cancelled in the middle, and restored with another parallelism:
//! over RocksDB, over Esker, and over each with the other's state.

use std::path::Path;

use super::{Count, Fault, jvm};
use crate::shell;

/// Runs all four combinations.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
    let library = jvm::library()?;
    let project = jvm::project("flink")?;
    let run = |name: &str, begin: Option<&Path>, end: Option<&Path>| {
        let dir = jvm::empty(&format!("jvm-flink-{name}"))?;
        shell::run(jvm::java(&project, begin).args(["Judge", "begin"]).arg(&dir))?;
        shell::output(jvm::java(&project, end).args(["Judge", "end"]).arg(&dir))
    };
    let ours = Some(library.as_path());
    let stock = run("stock", None, None)?;
    let mut count = Count::default();
    jvm::compare(&mut count, "flink", &stock, &run("ours", ours, ours)?)?;
    jvm::compare(
        &mut count,
        "flink, from RocksDB to Esker",
        &stock,
        &run("to-ours", None, ours)?,
    )?;
    jvm::compare(
        &mut count,
        "flink, from Esker to RocksDB",
        &stock,
        &run("to-stock", ours, None)?,
    )?;
    Ok(count)
}
