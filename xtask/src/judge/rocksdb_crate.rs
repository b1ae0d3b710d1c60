//! The integration tests of the `rocksdb` crate, from the registry's package, over `crates/rocksdb`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::package::{copy, count, fetch, read, write};
use super::{Count, Fault};
use crate::shell;

/// The type of a comparator in `test_comparator`, and the type that the tests get here: threads of the
/// database call it, and no safe Rust sends any other closure to them.
const COMPARE: &str = "type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering;";
const COMPARE_HERE: &str = "type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;";

/// The tests that do not pass over `crates/rocksdb` and over the C library, with the reason.
pub const NOT_PASSED: &[(&str, &str)] = &[
    (
        "`test_comparator`, over `crates/rocksdb`",
        "Passes with `+ Send + Sync` in the type of its closures, which the judge adds: threads of the database call a comparator, and no \
         safe Rust sends them a closure that is neither. The `rocksdb` crate sends it all the same.",
    ),
    (
        "test_open_with_multiple_refs_as_single_threaded",
        "Its program does not compile, as it must not; the error of today's rustc has other words than that of the release for which the \
         test was written. So it is over RocksDB.",
    ),
    (
        "test_full_iterator",
        "It wants an iterator without `total_order_seek` to find nothing in a hash skip list. Esker's memtable is a tree, in which an \
         iterator finds every key.",
    ),
    (
        "test_transaction_db_memory_usage, test_optimistic_transaction_db_memory_usage",
        "They want an unused block cache to hold bytes: those of an entry that RocksDB's statistics put there.",
    ),
    (
        "test_crc32_build",
        "It wants LOG to say that CRC32 by the CPU is not supported.",
    ),
    (
        "set_column_family_metadata_test",
        "It wants the table of a single row to have more than 1300 bytes, most of them properties that Esker does not write.",
    ),
    (
        "get_with_cache_and_bulkload_test",
        "Passes, but for a busy machine: it wants a table that has outgrown its level to be on the next one as soon as a compaction has \
         ended, and does not wait.",
    ),
];

/// Runs the tests of 0.25.
pub fn of_0_25(words: &[&str]) -> Result<Count, Fault> {
    run("0.25.0", words)
}

/// Runs the tests of 0.24.
pub fn of_0_24(words: &[&str]) -> Result<Count, Fault> {
    run("0.24.0", words)
}

/// Runs the tests of the files that `words` name, or of all files; each file is a program. The tests of a
/// file that does not build are counted separately.
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
    copy(&package.join("tests"), &scratch.join("tests"), &|text| {
        text.replace(COMPARE, COMPARE_HERE)
    })?;
    write(&scratch.join("src/lib.rs"), "")?;
    let mut manifest = format!(
        "[package]\nname = \"rocksdb-judge\"\nversion = \"{version}\"\nedition = \"2021\"\n\n[workspace]\n\n[features]\n\
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
    // The package uses the workspace's lock file.
    fs::copy(root.join("Cargo.lock"), scratch.join("Cargo.lock")).map_err(|error| error.to_string())?;
    Ok(scratch)
}

/// Builds and runs the tests of one file; `None` if they do not build.
fn test(scratch: &Path, file: &str) -> Result<Option<Count>, String> {
    // A directory of its own: trybuild takes a path below the target directory for a generated file, and the
    // messages of a program that must not compile would not be the expected ones.
    let target = shell::target().join("judge-tests");
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
