//! `cross`: the libraries for C and for the JVM, built for 64-bit ARM on a machine of another kind, and tests
//! that qemu runs.

use std::process::Command;

use crate::shell::{self, Outcome};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The compiler of Debian's package gcc-aarch64-linux-gnu.
const COMPILER: &str = "aarch64-linux-gnu-gcc";

/// The libraries of the target, for programs that qemu runs.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// The built libraries, by package.
const BUILT: &[(&str, &str)] = &[
    ("esker-jni", "libesker_jni.so"),
    ("esker-capi", "libesker_capi.so"),
];

/// The crates whose unit tests run under qemu: those that read and write bytes of files, have code of their
/// own for a processor, or order memory between threads, and the boundary to Java.
const TESTED: &[&str] = &[
    "esker-base",
    "esker-codec",
    "esker-vfs",
    "esker-cache",
    "esker-wal",
    "esker-memtable",
    "esker-sst",
    "esker-blob",
    "esker-manifest",
    "esker-jni",
];

/// Builds both libraries, and runs the tests of [`TESTED`] if qemu is installed. Builds nothing without a
/// compiler for the target.
pub fn run(args: &[&str]) -> Outcome {
    if let Some(missing) = missing() {
        eprintln!("skipped: cross ({missing})");
        return Ok(());
    }
    let mut build = cargo();
    build.args(["build", "--target", TARGET]).args(args);
    build.args(BUILT.iter().flat_map(|(package, _)| ["-p", package]));
    shell::run(&mut build)?;
    let profile = if args.contains(&"--release") {
        "release"
    } else {
        "debug"
    };
    for (_, library) in BUILT {
        let library = shell::target().join(TARGET).join(profile).join(library);
        let header = shell::output(shell::command("readelf").arg("-hd").arg(&library))?;
        if !header.contains("AArch64") {
            return Err(format!("{}: no library for 64-bit ARM", library.display()));
        }
        if header.contains("libstdc++") {
            return Err(format!("{}: needs the C++ library", library.display()));
        }
        println!("{}", library.display());
    }
    if shell::which("qemu-aarch64").is_none() {
        eprintln!("skipped: cross, tests (no qemu-aarch64; Debian: qemu-user)");
        return Ok(());
    }
    let mut test = cargo();
    test.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
        format!("qemu-aarch64 -L {LIBRARIES}"),
    );
    test.args(["test", "--target", TARGET, "--lib"]);
    test.args(TESTED.iter().flat_map(|package| ["-p", package]));
    shell::run(test.args(args))
}

fn cargo() -> Command {
    let mut cargo = shell::cargo();
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", COMPILER);
    cargo.env("CC_aarch64_unknown_linux_gnu", COMPILER);
    cargo
}

/// Returns the name of a tool that is missing.
fn missing() -> Option<String> {
    if shell::which(COMPILER).is_none() {
        return Some(format!("no {COMPILER}; Debian: gcc-aarch64-linux-gnu"));
    }
    (!shell::has_target(TARGET)).then(|| format!("no Rust target; rustup target add {TARGET}"))
}
