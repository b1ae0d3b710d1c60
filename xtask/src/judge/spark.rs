//! Spark: five stateful queries are stopped and continued: over RocksDB, over Esker, and over each with the
//! other's state; and the JVM is killed in the middle of a batch.

use std::path::Path;

use super::{Count, Fault, jvm};
use crate::shell;

/// The release of Spark.
const SPARK: &str = "pyspark==4.2.0";

/// The comparisons, by name.
const NAMES: &[&str] = &["ours", "to-ours", "to-stock", "killed"];

/// Runs the named comparisons, or all of them.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let chosen = jvm::chosen(NAMES, words)?;
    let library = jvm::library()?;
    let home = jvm::scratch("jvm-spark")?;
    let python = home.join("venv/bin/python");
    if !shell::succeeds(shell::command(&python).args(["-c", "import pyspark"])) {
        shell::run(
            shell::command("python3")
                .args(["-m", "venv"])
                .arg(home.join("venv")),
        )?;
        shell::output(shell::command(&python).args(["-m", "pip", "-q", "install", SPARK]))
            .map_err(Fault::of_registry)?;
    }
    let program = shell::root().join("crates/jni/judges/spark/judge.py");
    let command = |dir: &Path, number: &str, library: Option<&Path>| {
        let mut command = shell::command(&python);
        command.arg(&program).arg(dir).arg(number);
        command.arg(library.map_or("-".into(), |library| library.as_os_str().to_owned()));
        command
    };
    let round = |dir: &Path, number: &str, library: Option<&Path>| {
        let said = shell::output(&mut command(dir, number, library))?;
        let facts = said.lines().filter(|line| line.starts_with("fact "));
        Ok::<String, Fault>(facts.map(|line| format!("{line}\n")).collect())
    };
    let both = |name: &str, first: Option<&Path>, second: Option<&Path>| {
        let dir = jvm::empty(&format!("jvm-spark-{name}"))?;
        if name == "killed" {
            shell::output(command(&dir, "0", first).arg("kill"))?;
        }
        Ok::<String, Fault>(round(&dir, "0", first)? + &round(&dir, "1", second)?)
    };
    let ours = Some(library.as_path());
    let stock = both("stock", None, None)?;
    let mut count = Count::default();
    for name in chosen {
        let (first, second) = match name {
            "to-ours" => (None, ours),
            "to-stock" => (ours, None),
            _ => (ours, ours),
        };
        jvm::compare(
            &mut count,
            &format!("spark, {name}"),
            &stock,
            &both(name, first, second)?,
        )?;
    }
    Ok(count)
}
