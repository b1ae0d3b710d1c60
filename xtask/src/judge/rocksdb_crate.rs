//! The integration tests of the `rocksdb` crate, from the registry's package, over `crates/rocksdb`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::package::{Count, copy, count, fetch, read, target, write};
use crate::shell::{self, Outcome};

/// The release whose tests judge unless another is named.
const VERSION: &str = "0.25.0";

/// The `rocksdb` crate leaves it to the caller that an order of keys can be called by any thread; ours has the type ask for it. A test that
/// names the type gets those words, and its results are counted apart.
const ORDER: (&str, &str) = (
    "type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering;",
    "type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;",
);

/// `rocksdb-crate [VERSION] [FILES]`: runs the tests of these files, or of all.
pub fn run(words: &[&str]) -> Outcome {
    let (version, wanted) = match words {
        [version, rest @ ..] if version.starts_with(|c: char| c.is_ascii_digit()) => (*version, rest),
        rest => (VERSION, rest),
    };
    let package = fetch("rocksdb", version)?;
    let scratch = arrange(&package, version)?;
    let mut files: Vec<String> = names(&scratch.join("tests"))?;
    files.retain(|file| wanted.is_empty() || wanted.contains(&file.as_str()));
    let mut all = Count::default();
    let mut not_built = Vec::new();
    for file in &files {
        let source = read(&scratch.join("tests").join(format!("{file}.rs")))?;
        match test(&scratch, file)? {
            Some(count) => {
                let changed = if source.contains(ORDER.1) {
                    " (adapted: Send + Sync)"
                } else {
                    ""
                };
                println!(
                    "{file:<44} {} passed, {} failed, {} ignored{changed}",
                    count.passed,
                    count.failed.len(),
                    count.ignored
                );
                count
                    .failed
                    .iter()
                    .for_each(|name| println!("    failed: {name}"));
                all.passed += count.passed;
                all.ignored += count.ignored;
                all.failed
                    .extend(count.failed.into_iter().map(|name| format!("{file}::{name}")));
            }
            None => {
                let tests = source.matches("#[test]").count();
                println!("{file:<44} not built, {tests} tests");
                not_built.push((file.clone(), tests));
            }
        }
    }
    let lost: usize = not_built.iter().map(|(_, tests)| tests).sum();
    println!(
        "rocksdb {version}: {} passed, {} failed, {} ignored, {lost} not built",
        all.passed,
        all.failed.len(),
        all.ignored
    );
    Ok(())
}

/// A package whose tests are those of `package`, and whose `rocksdb` is ours.
fn arrange(package: &Path, version: &str) -> Result<PathBuf, String> {
    let root = shell::root();
    let scratch = root.join("target/judge").join(format!("rocksdb-{version}"));
    if scratch.join("tests").exists() {
        fs::remove_dir_all(scratch.join("tests")).map_err(|error| error.to_string())?;
    }
    copy(&package.join("tests"), &scratch.join("tests"), &|text| {
        text.replace(ORDER.0, ORDER.1)
    })?;
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
    // The versions that the workspace is tested with, and its builds.
    fs::copy(root.join("Cargo.lock"), scratch.join("Cargo.lock")).map_err(|error| error.to_string())?;
    Ok(scratch)
}

/// Builds and runs the tests of one file; `None` if they do not build.
fn test(scratch: &Path, file: &str) -> Result<Option<Count>, String> {
    let target = target();
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

/// The names of the Rust files in `dir`, without their ends, sorted.
fn names(dir: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}
