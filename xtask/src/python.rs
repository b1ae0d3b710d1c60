//! `python`: builds the wheel of `bindings/python`, installs it into a fresh virtual environment, runs its
//! tests, and compares its stubs with it.

mod environment;
pub mod judge;
pub mod options;
mod release;

pub use environment::Environment;
use environment::PLACE;

use crate::shell::{self, Outcome};

/// Builds the wheel and runs every test of the package. `args` are passed to pytest, or begin with another
/// verb. A machine without Python reports a skip; on CI that is an error.
pub fn run(args: &[String]) -> Outcome {
    let Some(environment) = Environment::set_up()? else {
        eprintln!("skipped: the Python package needs Python 3.11 or later with venv");
        return match shell::on_ci() {
            true => Err("no Python 3.11".into()),
            false => Ok(()),
        };
    };
    match args.split_first() {
        Some((word, args)) if word == "bench" => bench(&environment, args),
        Some((word, args)) if word == "bench-load" => bench_load(&environment, args),
        Some((word, args)) if word == "load" => bulk_load(&environment, args),
        Some((word, [])) if word == "wheel" => release::wheel(&environment),
        Some((word, [])) if word == "notebook" => notebook(&environment),
        _ => tests(&environment, args),
    }
}

fn tests(environment: &Environment, args: &[String]) -> Outcome {
    environment.install_wheel(&["--profile", "dev"])?;
    let package = shell::root().join("bindings/python");
    let python = |words: &[&str], args: &[String]| {
        let mut command = environment.python();
        command.args(words).args(args).current_dir(&package);
        shell::run(&mut command)
    };
    python(&["-m", "pytest"], args)?;
    python(&["-m", "mypy", "--strict", "--package", "esker"], &[])?;
    python(
        &[
            "-m",
            "mypy.stubtest",
            "esker",
            "--allowlist",
            "stubtest.txt",
            "--mypy-config-file",
            "pyproject.toml",
        ],
        &[],
    )
}

/// Builds the wheel, for `dist python`.
pub fn dist(args: &[&str]) -> Outcome {
    match Environment::set_up()? {
        Some(environment) => release::dist(&environment, args),
        None => {
            eprintln!("skipped: python: no Python 3.11 with venv");
            Ok(())
        }
    }
}

/// The package's own tests, and its notebook. Its judges run with the other judges.
pub fn nightly() -> Outcome {
    let environment = Environment::set_up()?.ok_or("no Python 3.11 with venv")?;
    tests(&environment, &[])?;
    notebook(&environment)
}

/// Compares the package's speed with rocksdict and plyvel; `args` are passed to the script.
fn bench(environment: &Environment, args: &[String]) -> Outcome {
    environment.install(&["plyvel"])?;
    environment.install_wheel(&["--release"])?;
    let script = shell::root().join("bindings/python/bench/compare.py");
    shell::run(environment.python().arg(script).args(args))
}

/// Compares a bulk load with batches and with rocksdict's writer of tables; `args` are passed to the script.
fn bench_load(environment: &Environment, args: &[String]) -> Outcome {
    environment.install_wheel(&["--release"])?;
    let script = shell::root().join("bindings/python/bench/bulk.py");
    shell::run(environment.python().arg(script).args(args))
}

/// Runs the tests of bulk load by Spark and Ray, which take some hundred megabytes and minutes. `args` are
/// passed to pytest.
fn bulk_load(environment: &Environment, args: &[String]) -> Outcome {
    if shell::which("java").is_none() {
        return Err("Spark needs Java: install a runtime of version 17 or later".into());
    }
    environment.install(&["pyspark", "ray", "pandas", "fsspec", "moto[server]"])?;
    environment.install_wheel(&["--profile", "dev"])?;
    let mut pytest = environment.python();
    pytest.args(["-m", "pytest", "bulk"]).args(args);
    shell::run(pytest.current_dir(shell::root().join("bindings/python")))
}

/// Executes the notebooks, each in a directory of its own, and fails if a cell fails.
fn notebook(environment: &Environment) -> Outcome {
    environment.install(&["nbconvert", "ipykernel", "matplotlib"])?;
    environment.install_wheel(&["--profile", "dev"])?;
    let notebook = shell::root().join("bindings/python/notebooks/sizes.ipynb");
    let mut nbconvert = environment.python();
    nbconvert.args(["-m", "nbconvert", "--to", "html", "--execute", "--output-dir"]);
    shell::run(nbconvert.arg(shell::root().join(PLACE)).arg(notebook))
}
