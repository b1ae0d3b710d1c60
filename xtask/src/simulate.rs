//! `simulate`: the whole engine under one seed at a time.

use std::path::PathBuf;

use crate::shell::{self, Outcome};

/// Replays the histories that once failed, then runs fresh ones, with `args` for the program in
/// testing/simulate.
pub fn run(args: &[String]) -> Outcome {
    replay()?;
    shell::run(program().args(args))
}

/// Runs the histories that once failed, and short ones under every schedule.
pub fn replay() -> Outcome {
    let package = ["--package", "simulate", "--test", "it"];
    shell::run(simulated(&["test", "--quiet", "--release"]).args(package))
}

/// Type-checks the simulated build, whose threads, locks and clock are not those of the default build.
pub fn check() -> Outcome {
    shell::run(&mut simulated(&[
        "check",
        "--package",
        "simulate",
        "--all-targets",
    ]))
}

/// The program, which runs fresh histories.
pub fn program() -> std::process::Command {
    simulated(&["run", "--quiet", "--release", "--package", "simulate", "--"])
}

/// Cargo, for a separate build in which a seed decides about threads.
fn simulated(args: &[&str]) -> std::process::Command {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let mut command = shell::cargo();
    command
        .args(args)
        .env("RUSTFLAGS", "--cfg simulate")
        .env("CARGO_TARGET_DIR", target.join("simulate"));
    command
}
