//! The real RocksDB, if the machine has it: it checks every file we write.
//!
//! `cargo xtask test` installs missing tools and names them in the environment. A test asks for a tool here
//! and returns early without it, and the summary of the run lists the tool as skipped. With
//! `ESKER_REQUIRE_TOOLS` set (as on CI) a missing tool is a failure instead, so that no machine passes by
//! skipping.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable. If it is set to anything but `0`, a missing tool fails the test that asks for
/// it.
pub const REQUIRE_VARIABLE: &str = "ESKER_REQUIRE_TOOLS";

/// The environment variable for a Python interpreter that can import `rocksdict`.
pub const PYTHON_VARIABLE: &str = "ESKER_ROCKSDICT_PYTHON";

/// The path of the interpreter that `cargo xtask test` installs, from the root of the workspace.
pub const PYTHON_PATH: &str = "target/oracle/bin/python3";

/// The library that [`librocksdb`] loads.
pub const LIBROCKSDB: &str = "librocksdb.so.7.8";

/// RocksDB's `ldb` (Debian's `rocksdb-tools`: 7.8).
pub fn ldb() -> Option<Command> {
    on_path("ldb")
}

/// RocksDB's `sst_dump` (Debian's `rocksdb-tools`: 7.8).
pub fn sst_dump() -> Option<Command> {
    on_path("sst_dump")
}

/// RocksDB's `db_bench` (Debian's `rocksdb-tools`: 7.8).
pub fn db_bench() -> Option<Command> {
    on_path("db_bench")
}

/// A Python interpreter that can import `rocksdict` (RocksDB 9 or later): the named one, that of
/// `cargo xtask test`, or the `python3` on the path if it can.
pub fn rocksdict() -> Option<Command> {
    let named = std::env::var_os(PYTHON_VARIABLE).map(PathBuf::from);
    let usual = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(PYTHON_PATH);
    let found = named.into_iter().chain([usual]).find(|path| path.is_file());
    found
        .or_else(|| find_on_path("python3").filter(|python| imports_rocksdict(python)))
        .map(Command::new)
        .or_else(|| missing("rocksdict"))
}

/// A Python interpreter that can load RocksDB's library with its C API (Debian's `librocksdb7.8`): for
/// functions that its tools lack.
pub fn librocksdb() -> Option<Command> {
    let loads = |python: &PathBuf| {
        let load = Command::new(python)
            .args(["-c", &format!("import ctypes; ctypes.CDLL('{LIBROCKSDB}')")])
            .stderr(Stdio::null())
            .status();
        load.is_ok_and(|status| status.success())
    };
    find_on_path("python3")
        .filter(loads)
        .map(Command::new)
        .or_else(|| missing("librocksdb"))
}

fn imports_rocksdict(python: &Path) -> bool {
    let import = Command::new(python)
        .args(["-c", "import rocksdict"])
        .stderr(Stdio::null())
        .status();
    import.is_ok_and(|status| status.success())
}

fn on_path(tool: &str) -> Option<Command> {
    find_on_path(tool).map(Command::new).or_else(|| missing(tool))
}

fn find_on_path(tool: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(tool))
        .find(|path| path.is_file())
}

fn missing(tool: &str) -> Option<Command> {
    let required = std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
    assert!(
        !required,
        "{tool} is not installed, and {REQUIRE_VARIABLE} is set"
    );
    crate::skip(tool);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_on_the_path_only() {
        assert!(on_path("cargo").is_some());
        assert!(find_on_path("no-such-tool-anywhere").is_none());
    }
}
