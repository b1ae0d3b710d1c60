//! Names the commit a release build is made of: `ESKER_GIT_SHA`, for the header of each info log.
//!
//! In a build with debug assertions the commit is `unknown`, so that a new commit does not cause another
//! build of the engine during development.

use std::process::Command;

const NAME: &str = "ESKER_GIT_SHA";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={NAME}");
    let given = std::env::var(NAME).ok().filter(|sha| !sha.is_empty());
    let sha = given.or_else(published).or_else(|| {
        let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
        is_release.then(commit).flatten()
    });
    println!("cargo:rustc-env={NAME}={}", sha.as_deref().unwrap_or("unknown"));
}

/// The commit that `cargo publish` wrote into the crate.
fn published() -> Option<String> {
    let info = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The commit that is checked out; `None` outside a repository. The build script runs again when another
/// commit is checked out.
fn commit() -> Option<String> {
    // Git adds a line to the log of HEAD whenever HEAD moves, on every branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
