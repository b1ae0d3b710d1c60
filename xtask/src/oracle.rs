//! Real RocksDB for the tests: Debian's `rocksdb-tools` and the Python wheel `rocksdict`.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, Outcome};

/// The directory of the wheel's virtual environment, from the root. `testkit::oracle` looks there too.
const VENV: &str = "target/oracle";

/// The tools that the tests use.
pub struct Oracle {
    python: Option<PathBuf>,
    /// The tools that could not be installed, each with the reason.
    pub missing: Vec<String>,
}

/// Installs missing tools, if this machine allows it, and reports the ones that stay missing.
pub fn set_up() -> Oracle {
    let mut missing = Vec::new();
    if let Err(reason) = rocksdb_tools() {
        missing.push(format!("ldb and sst_dump (Debian's rocksdb-tools): {reason}"));
    }
    let python = match rocksdict() {
        Ok(python) => Some(python),
        Err(reason) => {
            missing.push(format!("rocksdict (Python wheel): {reason}"));
            None
        }
    };
    Oracle { python, missing }
}

impl Oracle {
    /// Adds the tools to the environment of a test run. On CI nothing may be skipped.
    pub fn apply(&self, command: &mut Command) {
        if let Some(python) = &self.python {
            command.env("ESKER_ROCKSDICT_PYTHON", python);
        }
        if shell::on_ci() {
            command.env("ESKER_REQUIRE_TOOLS", "1");
        }
    }
}

fn have_tools() -> bool {
    shell::which("ldb").is_some() && shell::which("sst_dump").is_some()
}

fn rocksdb_tools() -> Outcome {
    if have_tools() {
        return Ok(());
    }
    crate::apt::install(&["rocksdb-tools"])?;
    if have_tools() {
        Ok(())
    } else {
        Err("rocksdb-tools is installed and holds no ldb or sst_dump".into())
    }
}

fn can_import(python: &PathBuf) -> bool {
    shell::succeeds(shell::command(python).args(["-c", "import rocksdict"]))
}

fn rocksdict() -> Result<PathBuf, String> {
    let venv = shell::root().join(VENV);
    let python = venv.join("bin/python3");
    if python.is_file() && can_import(&python) {
        return Ok(python);
    }
    let system = shell::which("python3").ok_or("no python3")?;
    if can_import(&system) {
        return Ok(system);
    }
    eprintln!("+ python3 -m venv {VENV} && pip install rocksdict");
    shell::output(shell::command(&system).args(["-m", "venv", "--clear"]).arg(&venv))?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "rocksdict",
    ];
    shell::output(shell::command(&python).args(pip))?;
    if can_import(&python) {
        Ok(python)
    } else {
        Err("installed, and cannot be imported".into())
    }
}
