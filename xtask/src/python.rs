//! `python`: builds the wheel of `bindings/python`, installs it into a fresh virtual environment, runs its
//! tests, and compares its stubs with it.

pub mod judge;
pub mod options;
mod release;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};

/// The directory of the virtual environment and the wheel, from the root.
const PLACE: &str = "target/python";

/// The oldest Python that the package supports.
const OLDEST: &str = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))";

/// The packages that the tests need.
const TEST_PACKAGES: &[&str] = &["maturin", "pytest", "hypothesis", "pyarrow", "rocksdict", "mypy"];

/// Builds the wheel and runs every test of the package; `args` go to pytest, or begin with another verb. A
/// machine without Python skips it by name, CI does not.
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
        &["-m", "mypy.stubtest", "esker", "--allowlist", "stubtest.txt"],
        &[],
    )
}

/// The package's own tests, and its notebook. Its judges run with the other judges.
pub fn nightly() -> Outcome {
    let environment = Environment::set_up()?.ok_or("no Python 3.11 with venv")?;
    tests(&environment, &[])?;
    notebook(&environment)
}

/// Compares its speed with rocksdict and plyvel; `args` go to the script.
fn bench(environment: &Environment, args: &[String]) -> Outcome {
    environment.install(&["plyvel"])?;
    environment.install_wheel(&["--release"])?;
    let script = shell::root().join("bindings/python/bench/compare.py");
    shell::run(environment.python().arg(script).args(args))
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

/// A virtual environment with the packages of the tests.
pub struct Environment {
    dir: PathBuf,
}

impl Environment {
    /// Creates it, and installs the missing packages. `None` if no Python can.
    pub fn set_up() -> Result<Option<Environment>, String> {
        let Some(system) = shell::which("python3") else {
            return Ok(None);
        };
        if !shell::succeeds(shell::command(&system).args(["-c", OLDEST])) {
            return Ok(None);
        }
        let environment = Environment {
            dir: shell::root().join(PLACE).join("venv"),
        };
        if !environment.dir.join("bin/python").is_file() {
            shell::run(shell::command(&system).args(["-m", "venv"]).arg(&environment.dir))?;
        }
        environment.install(TEST_PACKAGES)?;
        Ok(Some(environment))
    }

    /// The virtual environment with the package in it.
    pub fn with_wheel() -> Result<Environment, String> {
        let environment = Environment::set_up()?.ok_or("no Python 3.11 with venv")?;
        environment.install_wheel(&["--profile", "dev"])?;
        Ok(environment)
    }

    /// The interpreter of the environment.
    pub fn python(&self) -> std::process::Command {
        shell::command(self.dir.join("bin/python"))
    }

    /// The search path with the programs of the environment first; maturin looks there for Zig.
    fn path(&self) -> Result<OsString, String> {
        let others = std::env::var_os("PATH").unwrap_or_default();
        let places = [self.dir.join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&others));
        std::env::join_paths(places).map_err(|error| error.to_string())
    }

    /// Installs packages that are missing.
    pub fn install(&self, packages: &[&str]) -> Outcome {
        let missing: Vec<&&str> = packages.iter().filter(|package| !self.has(package)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        shell::run(self.python().args(pip).args(missing))
    }

    fn has(&self, package: &str) -> bool {
        shell::succeeds(self.python().args(["-m", "pip", "show", "--quiet", package]))
    }

    /// Builds the wheel with these arguments for maturin, and installs it, replacing any other.
    pub fn install_wheel(&self, args: &[&str]) -> Outcome {
        let wheel = self.build_wheel(args)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let again = ["--force-reinstall", "--no-deps"];
        shell::run(self.python().args(pip).args(again).arg(wheel))
    }

    /// Builds the wheel with these arguments for maturin, and returns its path.
    fn build_wheel(&self, args: &[&str]) -> Result<PathBuf, String> {
        let wheels = shell::root().join(PLACE).join("wheels");
        // There is none before the first build.
        let _ = std::fs::remove_dir_all(&wheels);
        let mut maturin = self.python();
        maturin
            .args(["-m", "maturin", "build", "--quiet", "--out"])
            .arg(&wheels)
            .args(args);
        maturin.env("PATH", self.path()?);
        shell::run(maturin.current_dir(shell::root().join("bindings/python")))?;
        the_wheel(&wheels)
    }
}

/// The only wheel in `dir`.
fn the_wheel(dir: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut wheels = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels
        .next()
        .ok_or_else(|| format!("{}: no wheel", dir.display()))
}
