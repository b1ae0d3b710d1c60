//! The tests of `grocksdb`, from the Go module proxy, over the shared library as generation 10.9, with the
//! header of that generation.

use std::collections::BTreeSet;
use std::fs;

use super::package::write;
use super::{Count, Fault};
use crate::library::Library;
use crate::shell;

/// The Go module. `VERSION` is the release whose header is RocksDB 10.9.1's.
const MODULE: &str = "github.com/linxGnu/grocksdb";
const VERSION: &str = "v1.10.7";

/// The time limit of a test, with databases on a busy disk.
const PATIENCE: &str = "5m";

/// Runs the tests, each in a process of its own, because a crashing test ends its process. The words are
/// names of tests.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    if shell::which("go").is_none() {
        return Err(Fault::Unreachable("go is not installed".to_owned()));
    }
    let scratch = shell::root().join(super::SCRATCH).join("grocksdb");
    write(
        &scratch.join("go.mod"),
        &format!("module judge\n\ngo 1.21\n\nrequire {MODULE} {VERSION}\n"),
    )?;
    write(
        &scratch.join("judge.go"),
        &format!("package judge\n\nimport _ \"{MODULE}\"\n"),
    )?;
    let go = |args: &[&str]| {
        let mut command = shell::command("go");
        command
            .args(args)
            .current_dir(&scratch)
            .env("GOFLAGS", "-mod=mod");
        command
    };
    // The option `-t` also fetches the modules that only the tests use.
    shell::output(&mut go(&["get", "-t", &format!("{MODULE}@{VERSION}")])).map_err(Fault::of_registry)?;
    let library = Library::built(&[])?.named("10.9", &scratch.join("lib"))?;
    let program = scratch.join("grocksdb.test");
    let include = shell::root().join("crates/capi/include");
    shell::output(
        go(&["test", "-c", "-tags", "grocksdb_no_link", "-o"])
            .arg(&program)
            .arg(MODULE)
            .env("CGO_ENABLED", "1")
            .env(
                "CGO_CFLAGS",
                format!("-O1 -DROCKSDB_GENERATION=1009 -I{}", include.display()),
            )
            .env(
                "CGO_LDFLAGS",
                format!("-L{} -lrocksdb -lpthread -ldl", library.link.display()),
            ),
    )?;
    let place = scratch.join("databases");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let test = |pattern: &str, list: bool| {
        let mut command = shell::command(&program);
        command
            .arg(if list { "-test.list" } else { "-test.run" })
            .arg(pattern)
            .arg(format!("-test.timeout={PATIENCE}"))
            .arg("-test.v")
            .current_dir(&place)
            .env("TMPDIR", &place)
            .env("LD_LIBRARY_PATH", &library.load);
        command
    };
    let list = shell::output(&mut test(".", true))?;
    let mut tests: BTreeSet<&str> = list.lines().filter(|line| line.starts_with("Test")).collect();
    tests.retain(|name| words.is_empty() || words.contains(name));
    let mut count = Count::default();
    for name in tests {
        let output = test(&format!("^{name}$"), false)
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        write(
            &scratch.join(format!("{name}.log")),
            &format!("{said}{}", String::from_utf8_lossy(&output.stderr)),
        )?;
        if said.contains(&format!("--- SKIP: {name}")) {
            count.ignored += 1;
        } else if output.status.success() {
            count.passed += 1;
        } else {
            count.failed.push(name.to_owned());
        }
    }
    Ok(count)
}
