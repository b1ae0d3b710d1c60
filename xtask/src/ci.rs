//! `ci`: the checks that a change must pass.

use crate::shell::{self, Outcome};
use crate::{generate, judge, licences, simulate, test_run, tidy};

/// Runs the checks of `.ci/run`: format, lints, the rules of the project, generated documents, the judges of
/// the gate, every test, and every microbenchmark once.
pub fn pull_request() -> Outcome {
    static_checks()?;
    judge::gate()?;
    test_run::test(&[])
}

/// Runs every check that is not a test, even after earlier ones have failed.
pub fn static_checks() -> Outcome {
    let format = ["fmt", "--all", "--check", "--", "--color", "never"];
    // The Python package is not a default member; this check needs no Python.
    let clippy = [
        "clippy",
        "--workspace",
        "--exclude",
        "bench-compare",
        "--exclude",
        "esker-fuzz",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
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
        simulate::check(),
        shell::run(shell::cargo().args(docs).env("RUSTDOCFLAGS", "-D warnings")),
    ];
    let failed: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\nerror: "))
    }
}
