//! The integration tests of the `rocksdb` crate, from the registry's package, over `crates/rocksdb`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::package::{copy, count, fetch, read, write};
use super::{Count, Fault};
use crate::shell;

/// Runs the tests of 0.25.
pub fn of_0_25(words: &[&str]) -> Result<Count, Fault> {
    run("0.25.0", words)
}

/// Runs the tests of 0.24.
pub fn of_0_24(words: &[&str]) -> Result<Count, Fault> {
    run("0.24.0", words)
}

/// Runs the tests of these files, or of all files; each file is a program. The tests of a file that does not
/// build are counted separately.
fn run(version: &str, wanted: &[&str]) -> Result<Count, Fault> {
    let package = fetch("rocksdb", version)?;
    let scratch = arrange(&package, version)?;
    let mut files: Vec<String> = names(&scratch.join("tests"))?;
    files.retain(|file| wanted.is_empty() || wanted.contains(&file.as_str()));
    let mut all = Count::default();
    for file in &files {
        let source = read(&scratch.join("tests").join(format!("{file}.rs")))?;
        match test(&scratch, file)? {
            Some(count) => {
                println!(
                    "{file:<44} {} passed, {} failed, {} ignored",
                    count.passed,
                    count.failed.len(),
                    count.ignored
                );
                all.passed += count.passed;
                all.ignored += count.ignored;
                all.failed
                    .extend(count.failed.into_iter().map(|name| format!("{file}::{name}")));
            }
            None => {
                let tests = source.matches("#[test]").count();
                println!("{file:<44} not built, {tests} tests");
                all.not_built += tests;
            }
        }
    }
    Ok(all)
}

/// Creates a package with the tests of `package`, over `crates/rocksdb`.
fn arrange(package: &Path, version: &str) -> Result<PathBuf, String> {
    let root = shell::root();
    let scratch = root.join("target/judge").join(format!("rocksdb-{version}"));
    if scratch.join("tests").exists() {
        fs::remove_dir_all(scratch.join("tests")).map_err(|error| error.to_string())?;
    }
    copy(&package.join("tests"), &scratch.join("tests"), &|text| text)?;
    write(&scratch.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"rocksdb-judge\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[features]\n\
         default = [\"snappy\", \"lz4\", \"zstd\", \"zlib\", \"bzip2\"]\n\
         snappy = []\nlz4 = []\nzstd = []\nzlib = []\nbzip2 = []\njemalloc = []\n\
         multi-threaded-cf = [\"rocksdb/multi-threaded-cf\"]\n\n",
    );
    let ours = root.join("crates/rocksdb");
    let _ = write!(
        manifest,
        "[dependencies]\nrocksdb = {{ package = \"esker-rocksdb\", path = {:?} }}\n\n\
         [dev-dependencies]\nbincode = \"2\"\npretty_assertions = \"1\"\ntempfile = \"3\"\ntrybuild = \"1\"\n\n\
         [profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n",
        ours.display().to_string()
    );
    write(&scratch.join("Cargo.toml"), &manifest)?;
    // The package uses the workspace's lock file and its target directory.
    fs::copy(root.join("Cargo.lock"), scratch.join("Cargo.lock")).map_err(|error| error.to_string())?;
    Ok(scratch)
}

/// Builds and runs the tests of one file; `None` if they do not build.
fn test(scratch: &Path, file: &str) -> Result<Option<Count>, String> {
    let target = shell::target();
    let cargo = |args: &[&str]| {
        let mut command = shell::cargo();
        command
            .args(["test", "--test", file])
            .args(args)
            .current_dir(scratch)
            .env("CARGO_TARGET_DIR", &target);
        command
    };
    let build = cargo(&["--no-run"]).output().map_err(|error| error.to_string())?;
    if !build.status.success() {
        let errors = String::from_utf8_lossy(&build.stderr);
        let first = errors
            .lines()
            .skip_while(|line| !line.starts_with("error"))
            .take(12);
        first.for_each(|line| eprintln!("    {line}"));
        return Ok(None);
    }
    let run = cargo(&["--no-fail-fast"])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    write(&scratch.join(format!("{file}.out")), &text)?;
    Ok(Some(count(&text)))
}

/// Returns the names of the Rust files in `dir`, without their extension, sorted.
fn names(dir: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}
