//! `simulate`: the whole engine under one seed at a time.

use std::path::PathBuf;
use std::process::Command;

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

/// The flag of rustc for the simulated build.
const SIMULATE: [&str; 2] = ["--cfg", "simulate"];

/// The environment variable with which this program is Cargo's wrapper of rustc.
pub const WRAPS_RUSTC: &str = "ESKER_SIMULATE_WRAPS_RUSTC";

/// Type-checks the simulated build, whose threads, locks and clock are not those of the default build. Cargo
/// wraps rustc for packages of the workspace alone, so the others are checked once for both builds.
pub fn check() -> Outcome {
    let wrapper = std::env::current_exe().map_err(|error| format!("xtask: {error}"))?;
    let mut command = shell::cargo();
    command
        .args(["check", "--package", "simulate", "--all-targets"])
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
        .env(WRAPS_RUSTC, "1");
    shell::run(&mut command)
}

/// Runs `command`, rustc with its arguments, for the simulated build.
pub fn rustc(command: &[String]) -> Outcome {
    let (rustc, args) = command.split_first().ok_or("rustc is missing")?;
    let status = Command::new(rustc).args(args).args(SIMULATE).status();
    match status.map_err(|error| format!("{rustc}: {error}"))?.code() {
        Some(0) => Ok(()),
        code => std::process::exit(code.unwrap_or(1)),
    }
}

/// The program, which runs fresh histories.
pub fn program() -> Command {
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
fn simulated(args: &[&str]) -> Command {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let mut command = shell::cargo();
    command
        .args(args)
        .env("RUSTFLAGS", SIMULATE.join(" "))
        .env("CARGO_TARGET_DIR", target.join("simulate"));
    command
}
