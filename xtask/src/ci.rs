//! `ci`: what must pass before a change is taken, and all there is.

use crate::shell::{self, Outcome};
use crate::{canary, fuzz, generate, licences, sanitize, test_run, tidy};

/// Format, lints, house rules, generated documents, every test and every microbenchmark once: what `.ci/run` runs.
pub fn pull_request() -> Outcome {
    static_checks()?;
    test_run::test(&[])
}

/// The tier of pull requests, then what takes long: the suite optimised and with debug assertions off, a million range tombstones in a
/// file, fuzzing for longer, planted bugs, loom, and the unsafe crates and a stress run under the address and leak sanitizers.
pub fn nightly() -> Outcome {
    pull_request()?;
    test_run::test(&["--release".to_owned()])?;
    limits()?;
    fuzz::quick(60)?;
    canary::run("")?;
    loom()?;
    sanitizers()
}

/// Everything that runs no test. Each check runs, whatever the ones before it found.
pub fn static_checks() -> Outcome {
    let format = ["fmt", "--all", "--check", "--", "--color", "never"];
    let clippy = ["clippy", "--all-targets", "--", "-D", "warnings"];
    let docs = [
        "doc",
        "--workspace",
        "--no-deps",
        "--exclude",
        "bench-compare",
        "--exclude",
        "esker-fuzz",
    ];
    let outcomes = [
        shell::run(shell::cargo().args(format)),
        tidy::check(),
        generate::check(),
        licences::check(),
        shell::run(shell::cargo().args(clippy)),
        shell::run(shell::cargo().args(docs).env("RUSTDOCFLAGS", "-D warnings")),
    ];
    let failed: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\nerror: "))
    }
}

/// Ten times what a plain run of the tests has of what there usually is little of.
fn limits() -> Outcome {
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "esker-dbtest", "--test", "it"]);
    shell::run(command.arg("limits::").env("ESKER_LIMITS", "10"))
}

/// Crates that model-check their concurrency under `cfg(loom)`.
const LOOM_CRATES: &[&str] = &["esker-memtable", "esker-cache", "esker"];

fn loom() -> Outcome {
    for package in LOOM_CRATES {
        let build = shell::root().join("target/loom");
        let mut command = shell::cargo();
        command.args(["test", "--release", "--package", package, "--lib", "loom"]);
        shell::run(
            command
                .env("RUSTFLAGS", "--cfg loom")
                .env("CARGO_TARGET_DIR", build),
        )?;
    }
    Ok(())
}

fn sanitizers() -> Outcome {
    if !fuzz::have_nightly() {
        eprintln!("warning: no nightly compiler: no sanitizer did run");
        return Ok(());
    }
    sanitize::run("address", None)?;
    sanitize::run("leak", None)
}
