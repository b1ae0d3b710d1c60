//! `rockstore`, PyPI's wrapper of `librocksdb.so` over cffi. Its published package has no tests:
//! `through_rockstore.py` tests its interface, and passes over RocksDB's library too.

use std::fs;

use super::{Count, Fault};
use crate::library::Library;
use crate::shell;

/// The release of the package.
const VERSION: &str = "0.2.0";

/// Runs the tests.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
    let scratch = shell::root().join(super::SCRATCH).join("rockstore");
    let python = scratch.join("venv/bin/python3");
    if !shell::succeeds(shell::command(&python).args(["-c", "import rockstore, cffi"])) {
        let system = shell::which("python3").ok_or_else(|| Fault::broken("no python3"))?;
        shell::output(
            shell::command(system)
                .args(["-m", "venv", "--clear"])
                .arg(scratch.join("venv")),
        )?;
        let package = format!("rockstore=={VERSION}");
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            &package,
        ];
        shell::output(shell::command(&python).args(pip)).map_err(Fault::of_registry)?;
    }
    let load = scratch.join("lib");
    fs::create_dir_all(&load).map_err(|error| format!("{}: {error}", load.display()))?;
    let library = Library::built(&[])?;
    // The package loads the library by this name.
    fs::copy(&library.shared, load.join("librocksdb.so")).map_err(|error| error.to_string())?;
    let place = scratch.join("databases");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let output = shell::command(&python)
        .arg(shell::root().join("xtask/src/judge/through_rockstore.py"))
        .arg(&place)
        .env("LD_LIBRARY_PATH", &load)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = said.lines().filter_map(|line| line.strip_prefix("FAILED "));
    let count = Count {
        passed: said.lines().filter(|line| line.starts_with("ok ")).count(),
        failed: failed.map(str::to_owned).collect(),
        ..Count::default()
    };
    if count.passed + count.failed.len() == 0 {
        return Err(Fault::broken(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(count)
}
