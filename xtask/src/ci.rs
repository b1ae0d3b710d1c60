//! `ci`: what must pass before a change is taken.

use crate::shell::{self, Outcome};
use crate::{generate, judge, licences, simulate, test_run, tidy};

/// Format, lints, house rules, generated documents, the judges of the gate, every test and every microbenchmark once: what `.ci/run` runs.
pub fn pull_request() -> Outcome {
    static_checks()?;
    judge::gate()?;
    test_run::test(&[])
}

/// Everything that runs no test. Each check runs, whatever the ones before it found.
pub fn static_checks() -> Outcome {
    let format = ["fmt", "--all", "--check", "--", "--color", "never"];
    // The Python package is no default member; it is checked without a Python.
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
