//! Judges of the Python package: plyvel's own tests, and RocksDB in the wheel rocksdict.

use std::path::PathBuf;
use std::process::Command;

use super::environment::Environment;
use crate::judge::{Count, Fault, no_words, not_understood};
use crate::shell;

/// The release of plyvel whose tests are run.
const PLYVEL: &str = "1.5.1";

/// A test that needs a directory without write permission, which root does not have; plyvel fails it too.
const NOT_FOR_ROOT: &str = "test_plyvel.py::test_open_read_only_dir";

/// Runs plyvel's own tests over `bindings/python/judge/plyvel.py`, which has plyvel's names over the package.
pub fn plyvel(words: &[&str]) -> Result<Count, Fault> {
    no_words(words)?;
    let environment = Environment::with_wheel()?;
    let tests = plyvel_tests(&environment)?;
    let adapter = shell::root().join("bindings/python/judge");
    let mut pytest = environment.python();
    pytest
        .args([
            "-m",
            "pytest",
            "-q",
            "-rf",
            "-p",
            "no:cacheprovider",
            "test_plyvel.py",
        ])
        .current_dir(tests)
        .env("PYTHONPATH", adapter);
    if shell::output(shell::command("id").arg("-u"))?.trim() == "0" {
        eprintln!("skipped: {NOT_FOR_ROOT} needs a user who is not root");
        pytest.args(["--deselect", NOT_FOR_ROOT]);
    }
    count(&mut pytest)
}

/// Runs pytest and counts its results. With `-rf` it names each failed test.
fn count(pytest: &mut Command) -> Result<Count, Fault> {
    let output = pytest.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    eprint!("{said}");
    let count = counted(&said);
    if count.passed + count.failed.len() == 0 {
        return Err(Fault::broken(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(count)
}

/// Returns the results in pytest's summary.
fn counted(said: &str) -> Count {
    let summary = said.lines().rev().find(|line| line.contains(" passed"));
    let before = |word: &str| -> usize {
        let words: Vec<&str> = summary.unwrap_or("").split_whitespace().collect();
        let at = words.iter().position(|found| found.trim_end_matches(',') == word);
        at.and_then(|at| words[at.checked_sub(1)?].parse().ok())
            .unwrap_or(0)
    };
    let failed = said.lines().filter_map(|line| line.strip_prefix("FAILED "));
    Count {
        passed: before("passed"),
        failed: failed.map(str::to_owned).collect(),
        ignored: before("skipped") + before("deselected"),
        ..Count::default()
    }
}

/// Returns the directory of plyvel's tests, from the source of its release.
fn plyvel_tests(environment: &Environment) -> Result<PathBuf, String> {
    let place = shell::root().join("target/judge");
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let archive = place.join(format!("plyvel-{PLYVEL}.tar.gz"));
    if !archive.is_file() {
        let package = format!("plyvel=={PLYVEL}");
        let mut pip = environment.python();
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            "plyvel",
        ]);
        shell::run(pip.args(["--dest"]).arg(&place).arg(package))?;
    }
    shell::run(
        shell::command("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(&place),
    )?;
    // The tests are moved away from plyvel's own package, which would be found before the adapter.
    let tests = place.join("plyvel-tests");
    let file = place.join(format!("plyvel-{PLYVEL}/test/test_plyvel.py"));
    std::fs::create_dir_all(&tests)
        .and_then(|()| std::fs::copy(&file, tests.join("test_plyvel.py")))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(tests)
}

/// Opens directories with Esker and RocksDB in turns, for the number of seeds in `words`, or 40.
pub fn rocksdict_files(words: &[&str]) -> Result<Count, Fault> {
    let rounds = match words {
        [] => "40",
        [rounds] => rounds,
        _ => return Err(not_understood(words)),
    };
    let environment = Environment::with_wheel()?;
    count(
        environment
            .python()
            // The package's pytest settings have `-q` already; a second `-q` would suppress the summary.
            .args(["-m", "pytest", "-rf", "tests/test_rocksdict.py"])
            .current_dir(shell::root().join("bindings/python"))
            .env("ESKER_ROCKSDICT_ROUNDS", rounds),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_pytest_are_counted() {
        let found = counted(
            "..F.\nFAILED test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed, 2 deselected in 0.2s\n",
        );
        assert_eq!((found.passed, found.ignored), (3, 2));
        assert_eq!(found.failed, ["test_a.py::test_b - assert 1 == 2"]);
        assert_eq!(counted("52 passed in 3.1s\n").passed, 52);
    }
}
