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

/// Counts contention: the locks of each operation in a simulation of many threads, then, by the program in
/// `bench/scale`, the cache lines that two threads share. `args` are operations; without any all are counted.
pub fn scale(args: &[&str]) -> Outcome {
    for operation in if args.is_empty() { &["all"] } else { args } {
        shell::run(program().args(["--locks", operation]))?;
    }
    let target = shell::target().join("scale");
    let mut counts = shell::cargo();
    counts
        .args(["run", "--quiet", "--release", "--package", "scale", "--"])
        .args(args)
        // Valgrind hides the pages of the kernel in which rustix would look for the clock.
        .env("RUSTFLAGS", "--cfg rustix_use_libc")
        .env("CARGO_TARGET_DIR", target);
    shell::run(&mut counts)
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
