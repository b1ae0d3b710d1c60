//! `python`: the wheel of `bindings/python` built and installed into a fresh virtual environment, its tests, and its stubs compared with it.

pub mod options;

use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};

/// Where the virtual environment and the wheel lie, from the root.
const PLACE: &str = "target/python";

/// The oldest Python that the package is for.
const OLDEST: &str = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))";

/// Packages of the tests.
const TEST_PACKAGES: &[&str] = &["maturin", "pytest", "hypothesis", "pyarrow", "rocksdict", "mypy"];

/// Builds the wheel and runs every test of the package; `args` go to pytest. A machine without Python skips it by name, CI does not.
pub fn run(args: &[String]) -> Outcome {
    let Some(environment) = Environment::set_up()? else {
        eprintln!("skipped: the Python package needs Python 3.11 or later with venv");
        return if shell::on_ci() {
            Err("no Python 3.11".into())
        } else {
            Ok(())
        };
    };
    environment.install_wheel(&["--profile", "dev"])?;
    let package = shell::root().join("bindings/python");
    shell::run(
        environment
            .python()
            .args(["-m", "pytest"])
            .args(args)
            .current_dir(&package),
    )?;
    shell::run(
        environment
            .python()
            .args(["-m", "mypy", "--strict", "--package", "esker"])
            .current_dir(&package),
    )?;
    shell::run(
        environment
            .python()
            .args(["-m", "mypy.stubtest", "esker", "--allowlist", "stubtest.txt"])
            .current_dir(&package),
    )
}

/// A virtual environment with the packages of the tests.
pub struct Environment {
    dir: PathBuf,
}

impl Environment {
    /// Makes it, and installs what is missing. `None` where there is no Python that can.
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

    /// Its interpreter.
    pub fn python(&self) -> std::process::Command {
        shell::command(self.dir.join("bin/python"))
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

    /// Builds the wheel with these arguments of maturin, and installs it in the place of any other.
    pub fn install_wheel(&self, args: &[&str]) -> Outcome {
        let wheels = shell::root().join(PLACE).join("wheels");
        let _ = std::fs::remove_dir_all(&wheels);
        let mut maturin = self.python();
        maturin
            .args(["-m", "maturin", "build", "--quiet", "--out"])
            .arg(&wheels)
            .args(args);
        shell::run(maturin.current_dir(shell::root().join("bindings/python")))?;
        let wheel = the_wheel(&wheels)?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--force-reinstall",
            "--no-deps",
        ];
        shell::run(self.python().args(pip).arg(wheel))
    }
}

/// The one wheel in `dir`.
fn the_wheel(dir: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut wheels = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels
        .next()
        .ok_or_else(|| format!("{}: no wheel", dir.display()))
}
