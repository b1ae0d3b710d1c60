//! `judge`: programs of others that RocksDB's users run, over our library instead of RocksDB's.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::shell::{self, Outcome};

/// The release of `librocksdb-sys` whose package holds the test and its header, and the RocksDB in it.
const PACKAGE: &str = "librocksdb-sys-0.19.0+11.8.1";

/// Where packages are unpacked, from the root. Nothing of it is committed.
const SCRATCH: &str = "target/judge";

/// Runs the judge of that name.
pub fn run(words: &[&str]) -> Outcome {
    match words {
        ["c_test"] => c_test(),
        _ => Err(format!(
            "not understood: judge {}; there is c_test",
            words.join(" ")
        )),
    }
}

/// RocksDB's own test of its C interface: prints `passed N of M` phases, and fails unless all passed.
fn c_test() -> Outcome {
    let scratch = shell::root().join(SCRATCH);
    let package = unpack(&scratch)?;
    let library = build_library()?;
    let source = package.join("rocksdb/db/c_test.c");
    let program = scratch.join("c_test");
    shell::run(
        shell::command("cc")
            .args(["-std=gnu11", "-g", "-O1", "-w", "-o"])
            .arg(&program)
            .arg(format!("-I{}", package.join("rocksdb").display()))
            .arg(format!("-I{}", package.join("rocksdb/include").display()))
            .arg(&source)
            .arg(&library)
            .arg(format!(
                "-Wl,-rpath,{}",
                library.parent().unwrap_or(Path::new(".")).display()
            ))
            .args(["-lpthread", "-ldl", "-lm"]),
    )?;
    let text = std::fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let phases = text.matches("  StartPhase(\"").count();
    let place = scratch.join("c_test.tmp");
    // What an earlier run left behind.
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let output = shell::command(&program)
        .env("TEST_TMPDIR", &place)
        .env("LD_LIBRARY_PATH", library.parent().unwrap_or(Path::new(".")))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    let begun = said.lines().filter(|line| line.starts_with("=== Test ")).count();
    let passed = if output.status.success() {
        phases
    } else {
        begun.saturating_sub(1)
    };
    println!("passed {passed} of {phases}");
    if output.status.success() {
        return Ok(());
    }
    Err(format!("c_test: {}", output.status))
}

/// The package's directory; downloaded from the registry where it is not there.
fn unpack(scratch: &Path) -> Result<PathBuf, String> {
    let dir = scratch.join(PACKAGE);
    if dir.join("rocksdb/db/c_test.c").exists() {
        return Ok(dir);
    }
    std::fs::create_dir_all(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let archive = scratch.join(format!("{PACKAGE}.crate"));
    let url = format!("https://static.crates.io/crates/librocksdb-sys/{PACKAGE}.crate");
    shell::run(
        shell::command("curl")
            .args(["-sSfL", "-o"])
            .arg(&archive)
            .arg(url),
    )?;
    let parts = ["rocksdb/db/c_test.c", "rocksdb/include", "rocksdb/c_api_gen"];
    shell::run(
        shell::command("tar")
            .arg("xzf")
            .arg(&archive)
            .arg("-C")
            .arg(scratch)
            .args(parts.map(|part| format!("{PACKAGE}/{part}"))),
    )?;
    Ok(dir)
}

/// Builds the shared library and returns its path under the name that it is linked by.
fn build_library() -> Result<PathBuf, String> {
    shell::run(shell::cargo().args(["build", "-p", "esker-capi"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let built = target.join("debug/libesker_capi.so");
    let dir = shell::root().join(SCRATCH).join("lib");
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let library = dir.join("librocksdb.so.11");
    std::fs::copy(&built, &library).map_err(|error| format!("{}: {error}", built.display()))?;
    Ok(library)
}
