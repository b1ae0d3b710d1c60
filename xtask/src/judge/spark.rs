//! Spark: five stateful queries are stopped and continued: over RocksDB, over Esker, and over each with the
//! other's state.

use std::path::Path;

use super::{Count, Fault, jvm};
use crate::shell;

/// The release of Spark.
const SPARK: &str = "pyspark==4.2.0";

/// Runs all four combinations.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
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
    let round = |dir: &Path, number: &str, library: Option<&Path>| {
        let mut command = shell::command(&python);
        command.arg(&program).arg(dir).arg(number);
        command.arg(library.map_or("-".into(), |library| library.as_os_str().to_owned()));
        let said = shell::output(&mut command)?;
        let facts = said.lines().filter(|line| line.starts_with("fact "));
        Ok::<String, Fault>(facts.map(|line| format!("{line}\n")).collect())
    };
    let both = |name: &str, first: Option<&Path>, second: Option<&Path>| {
        let dir = jvm::empty(&format!("jvm-spark-{name}"))?;
        Ok::<String, Fault>(round(&dir, "0", first)? + &round(&dir, "1", second)?)
    };
    let ours = Some(library.as_path());
    let stock = both("stock", None, None)?;
    let mut count = Count::default();
    jvm::compare(&mut count, "spark", &stock, &both("ours", ours, ours)?)?;
    jvm::compare(
        &mut count,
        "spark, from RocksDB to Esker",
        &stock,
        &both("to-ours", None, ours)?,
    )?;
    jvm::compare(
        &mut count,
        "spark, from Esker to RocksDB",
        &stock,
        &both("to-stock", ours, None)?,
    )?;
    Ok(count)
}
