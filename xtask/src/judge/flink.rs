//! Flink: a job with every kind of state is cancelled in the middle, and restored with another parallelism:
//! over RocksDB, over Esker, and over each with the other's state; and the JVM is killed in the middle.

use std::path::Path;

use super::{Count, Fault, jvm};
use crate::shell;

/// The comparisons, by name.
const NAMES: &[&str] = &["ours", "to-ours", "to-stock", "killed"];

/// Runs the named comparisons, or all of them.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let chosen = jvm::chosen(NAMES, words)?;
    let library = jvm::library()?;
    let project = jvm::project("flink")?;
    let ours = Some(library.as_path());
    let run = |name: &str, begin: Option<&Path>, end: Option<&Path>| {
        let dir = jvm::empty(&format!("jvm-flink-{name}"))?;
        match name {
            "killed" => jvm::killed(jvm::java(&project, begin).args(["Judge", "kill"]).arg(&dir))?,
            _ => shell::run(jvm::java(&project, begin).args(["Judge", "begin"]).arg(&dir))?,
        }
        Ok::<String, Fault>(shell::output(
            jvm::java(&project, end).args(["Judge", "end"]).arg(&dir),
        )?)
    };
    let stock = run("stock", None, None)?;
    let mut count = Count::default();
    for name in chosen {
        let (begin, end) = match name {
            "to-ours" => (None, ours),
            "to-stock" => (ours, None),
            _ => (ours, ours),
        };
        jvm::compare(
            &mut count,
            &format!("flink, {name}"),
            &stock,
            &run(name, begin, end)?,
        )?;
    }
    Ok(count)
}
