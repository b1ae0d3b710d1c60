//! The virtual environment of the tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};

/// The directory of the virtual environment and the wheel, from the root.
pub const PLACE: &str = "target/python";

/// The check for the oldest Python that the package supports.
const OLDEST: &str = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))";

/// The packages that the tests need.
pub const TEST_PACKAGES: &[&str] = &["maturin", "pytest", "hypothesis", "pyarrow", "rocksdict", "mypy"];

/// A virtual environment with the packages of the tests.
pub struct Environment {
    dir: PathBuf,
}

impl Environment {
    /// Creates the environment, and installs missing packages. `None` if no suitable Python exists.
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

    /// Returns the environment with the package installed.
    pub fn with_wheel() -> Result<Environment, String> {
        let environment = Environment::set_up()?.ok_or("no Python 3.11 with venv")?;
        environment.install_wheel(&["--profile", "dev"])?;
        Ok(environment)
    }

    /// Returns a command with the environment's interpreter.
    pub fn python(&self) -> std::process::Command {
        shell::command(self.dir.join("bin/python"))
    }

    /// Returns the search path with the environment's programs first, among which maturin looks for Zig.
    pub fn path(&self) -> Result<OsString, String> {
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

    pub fn has(&self, package: &str) -> bool {
        // `pip show` takes the name of a package without its extras.
        let package = package.split('[').next().unwrap_or(package);
        shell::succeeds(self.python().args(["-m", "pip", "show", "--quiet", package]))
    }

    /// Builds the wheel with the given arguments of maturin, and installs it in the place of any other one.
    pub fn install_wheel(&self, args: &[&str]) -> Outcome {
        let wheel = self.build_wheel(args)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let again = ["--force-reinstall", "--no-deps"];
        shell::run(self.python().args(pip).args(again).arg(wheel))
    }

    /// Builds the wheel of this machine with the given arguments of maturin, and returns its path.
    pub fn build_wheel(&self, args: &[&str]) -> Result<PathBuf, String> {
        let wheels = empty_place()?;
        self.build(&wheels, args)?;
        the_wheel(&wheels)
    }

    /// Builds a wheel for each target with the given arguments of maturin, and returns their paths in the
    /// order of the targets.
    pub fn build_wheels(&self, targets: &[&str], args: &[&str]) -> Result<Vec<PathBuf>, String> {
        let wheels = empty_place()?;
        let build = |target: &&str| {
            let place = wheels.join(target);
            self.build(&place, &[&["--target", target], args].concat())?;
            the_wheel(&place)
        };
        targets.iter().map(build).collect()
    }

    fn build(&self, place: &Path, args: &[&str]) -> Outcome {
        let mut maturin = self.python();
        maturin
            .args(["-m", "maturin", "build", "--quiet", "--out"])
            .arg(place)
            .args(args);
        maturin.env("PATH", self.path()?);
        shell::run(maturin.current_dir(shell::root().join("bindings/python")))
    }
}

/// Returns the directory of the wheels, without those of an earlier build.
fn empty_place() -> Result<PathBuf, String> {
    let wheels = shell::root().join(PLACE).join("wheels");
    match std::fs::remove_dir_all(&wheels) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", wheels.display()))
        }
        _ => Ok(wheels),
    }
}

/// Returns the only wheel in `dir`.
pub fn the_wheel(dir: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut wheels = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels
        .next()
        .ok_or_else(|| format!("{}: no wheel", dir.display()))
}
