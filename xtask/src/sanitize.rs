//! `sanitize` and `valgrind`: unsafe code and everything above it under tools that check memory and threads.

use std::path::PathBuf;

use crate::fuzz;
use crate::shell::{self, Outcome};

/// The crates with unsafe code.
const UNSAFE_CRATES: &[&str] = &["esker-memtable", "esker-cache", "esker-sst", "esker-vfs"];

/// The time in seconds of the stress run under a sanitizer.
const STRESS_SECONDS: u64 = 120;

/// The sanitizers, by their names in `-Zsanitizer`.
pub const SANITIZERS: &[&str] = &["address", "leak", "thread"];

/// Runs the unit tests of the crates with unsafe code, then db_stress with drawn options, on disk and in
/// memory, under `sanitizer`.
pub fn run(sanitizer: &str, seconds: Option<u64>) -> Outcome {
    if !SANITIZERS.contains(&sanitizer) {
        return Err(format!(
            "no sanitizer {sanitizer}; there are {}",
            SANITIZERS.join(", ")
        ));
    }
    if !fuzz::have_nightly() {
        return Err("sanitizers need a nightly compiler: rustup toolchain install nightly".into());
    }
    tests(sanitizer)?;
    stress(sanitizer, seconds.unwrap_or(STRESS_SECONDS))
}

/// Runs the unit tests alone.
pub fn tests(sanitizer: &str) -> Outcome {
    let mut command = cargo(sanitizer, "test");
    command.arg("--tests");
    for package in UNSAFE_CRATES {
        command.args(["--package", package]);
    }
    shell::run(&mut command)
}

fn stress(sanitizer: &str, seconds: u64) -> Outcome {
    let mut build = cargo(sanitizer, "build");
    shell::run(build.args(["--package", "db_stress", "--bins"]))?;
    let program = home(sanitizer).join(fuzz::TARGET).join("debug/db_crashtest");
    for part in ["--kill=false", "--simulate"] {
        let mut command = shell::command(&program);
        command
            .arg(part)
            .arg(format!("--duration={}", seconds.div_ceil(2)));
        shell::run(environment(sanitizer, &mut command))?;
    }
    Ok(())
}

fn home(sanitizer: &str) -> PathBuf {
    shell::root().join(format!("target/{sanitizer}-sanitizer"))
}

fn cargo(sanitizer: &str, verb: &str) -> std::process::Command {
    let mut command = fuzz::nightly_cargo();
    command.args([verb, "--target", fuzz::TARGET]);
    if sanitizer == "thread" {
        // Every access must be instrumented, also those of the standard library. Its source is the component
        // rust-src.
        command.arg("-Zbuild-std");
    }
    command
        .env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"))
        .env("CARGO_TARGET_DIR", home(sanitizer));
    environment(sanitizer, &mut command);
    command
}

fn have_clang() -> bool {
    let version = std::process::Command::new("clang").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

fn environment<'a>(sanitizer: &str, command: &'a mut std::process::Command) -> &'a mut std::process::Command {
    match sanitizer {
        "address" => {
            // The C code of libraries is checked too. GCC's marks of stacks and LLVM's runtime do not agree:
            // zstd is reported for a use after scope.
            if have_clang() {
                command.env("CC", "clang");
            }
            command.env("ASAN_OPTIONS", "detect_stack_use_after_return=1:detect_leaks=1")
        }
        "thread" => command.env("TSAN_OPTIONS", "halt_on_error=1"),
        _ => command,
    }
}

/// Unit tests that would take memcheck many minutes, because it is thirty times slower than the processor:
/// those that try blocks of every shape. The address sanitizer runs them too.
const TOO_SLOW: &[&str] = &["cursors_and_lookups_agree_with_a_sorted_vector"];

/// Runs the unit tests of the crates with unsafe code under memcheck.
pub fn valgrind() -> Outcome {
    if shell::which("valgrind").is_none() {
        return Err("valgrind is not installed: apt-get install valgrind".into());
    }
    for package in UNSAFE_CRATES {
        let mut command = shell::cargo();
        command.args(["test", "--package", package, "--lib", "--", "--test-threads=1"]);
        for name in TOO_SLOW {
            command.args(["--skip", name]);
        }
        // A block that is still reachable when a test's process ends does not count as a leak.
        let runner = "valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite";
        shell::run(command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner))?;
    }
    Ok(())
}
