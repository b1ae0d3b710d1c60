//! The tests of `kvdb-rocksdb`, from the registry's package, over the package that replaces `rocksdb` 0.24.

use std::fs;

use super::package::{copy, count, fetch, read, write};
use super::{Count, Fault};
use crate::shell;

/// The release of the tests.
const VERSION: &str = "0.21.0";

/// Runs the unit tests.
pub fn run(_words: &[&str]) -> Result<Count, Fault> {
    let root = shell::root();
    let package = fetch("kvdb-rocksdb", VERSION)?;
    let scratch = root.join("target/judge").join(format!("kvdb-rocksdb-{VERSION}"));
    copy(&package.join("src"), &scratch.join("src"), &|text| text)?;
    let patch = root.join("crates/rocksdb/patch/v0_24");
    let manifest = read(&package.join("Cargo.toml"))?;
    // The manifest's benchmarks are removed, because their files are not copied.
    let manifest = match manifest.find("[[bench]]") {
        Some(at) => {
            let end = manifest[at..]
                .find("\n[dependencies")
                .map_or(manifest.len(), |end| at + end);
            format!("{}{}", &manifest[..at], &manifest[end..])
        }
        None => manifest,
    };
    // The published manifest lacks the dependency of the tests.
    let manifest = format!(
        "{manifest}\n[dev-dependencies.kvdb-shared-tests]\nversion = \"0.11\"\n\n[workspace]\n\n[patch.crates-io]\nrocksdb = {{ path = {:?} }}\n",
        patch.display().to_string()
    );
    write(&scratch.join("Cargo.toml"), &manifest)?;
    let lock = scratch.join("Cargo.lock");
    if !lock.exists() {
        fs::copy(root.join("Cargo.lock"), &lock).map_err(|error| error.to_string())?;
    }
    let mut command = shell::cargo();
    command
        .args(["test", "--lib", "--no-fail-fast"])
        .current_dir(&scratch)
        .env("CARGO_TARGET_DIR", shell::target());
    let output = command.output().map_err(|error| error.to_string())?;
    let count = count(&String::from_utf8_lossy(&output.stdout));
    if count.passed + count.failed.len() == 0 {
        return Err(Fault::of_registry(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ));
    }
    Ok(count)
}
