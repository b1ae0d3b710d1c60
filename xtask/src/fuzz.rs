//! Fuzzing: every decoder gets arbitrary bytes.
//!
//! The bodies of the targets are ordinary functions of the crate in `fuzz/`. If a nightly compiler is
//! installed they run under libFuzzer, guided by coverage, with the address sanitizer. Otherwise a small
//! driver passes them mutations of the same seeds.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::shell::{self, Outcome};

/// The sanitizer requires an explicit target.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The flags of `cargo fuzz`: edge coverage with counters and compares, and the address sanitizer.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address --cfg fuzzing -Cdebug-assertions";

/// The maximum memory of one input in MiB: a decoder that allocates the size that a file merely claims
/// exceeds it.
const MEMORY_LIMIT: u32 = 1_024;

/// True if rustup has a nightly compiler and the flags are for this machine.
pub fn have_nightly() -> bool {
    cfg!(all(
        target_arch = "x86_64",
        target_os = "linux",
        target_env = "gnu"
    )) && shell::output(shell::command("rustup").args(["toolchain", "list"]))
        .is_ok_and(|list| list.lines().any(|line| line.starts_with("nightly")))
}

/// Cargo of the nightly toolchain, without the environment of the running cargo.
pub fn nightly_cargo() -> Command {
    let mut command = shell::command("rustup");
    command.args(["run", "nightly", "cargo"]);
    for name in [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTUP_TOOLCHAIN",
        "RUSTFLAGS",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs every target for `seconds`.
pub fn quick(seconds: u64) -> Outcome {
    if have_nightly() {
        build_for_quick()?;
        fuzz_all(seconds).map(drop)
    } else {
        smoke(seconds).map(drop)
    }
}

/// Runs every target, all of them in about `seconds`. Returns the number of inputs.
pub fn quick_for(seconds: u64) -> Result<u64, String> {
    let targets = targets()?.len().max(1);
    if have_nightly() {
        let rounds = targets.div_ceil(cores()) as u64;
        fuzz_all((seconds / rounds).max(1))
    } else {
        smoke((seconds / targets as u64).max(1))
    }
}

/// Builds the programs of [`quick`].
pub fn build_for_quick() -> Outcome {
    if have_nightly() {
        build()?;
        return seed();
    }
    let build = ["build", "--quiet", "--package", "esker-fuzz", "--bin", "smoke"];
    shell::run(shell::cargo().args(build))
}

/// Runs without coverage guidance.
fn smoke(seconds: u64) -> Result<u64, String> {
    eprintln!("no nightly compiler: fuzz targets run without coverage guidance");
    let mut command = shell::cargo();
    // The targets are built with the profile of the tests, which has debug assertions, and whose crates are
    // already built.
    command.args([
        "run",
        "--quiet",
        "--package",
        "esker-fuzz",
        "--bin",
        "smoke",
        "--",
    ]);
    let text = shell::output(command.arg(seconds.to_string()))?;
    eprint!("{text}");
    let inputs = |line: &str| {
        line.strip_suffix(" inputs")?
            .rsplit(' ')
            .next()?
            .parse::<u64>()
            .ok()
    };
    Ok(text.lines().filter_map(inputs).sum())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs under libFuzzer, as many targets at a time as there are cores; each is one thread.
fn fuzz_all(seconds: u64) -> Result<u64, String> {
    let binaries = binaries();
    let targets = targets()?;
    let mut inputs = 0;
    let mut failed = Vec::new();
    for group in targets.chunks(cores()) {
        let running: Result<Vec<_>, String> = group
            .iter()
            .map(|target| start(&binaries, target, seconds).map(|running| (target, running)))
            .collect();
        for (target, mut running) in running? {
            let status = running
                .process
                .wait()
                .map_err(|error| format!("{target}: {error}"))?;
            let log = std::fs::read_to_string(&running.log).unwrap_or_default();
            if status.success() {
                let last = log.lines().rfind(|line| line.starts_with("Done ")).unwrap_or("");
                inputs += runs(last);
                eprintln!("{target}: {last}");
            } else {
                eprintln!("{log}");
                failed.push(format!(
                    "{target}: {status}; the input is in {ARTIFACTS}/{target}-*"
                ));
            }
        }
    }
    if failed.is_empty() {
        Ok(inputs)
    } else {
        Err(failed.join("\n"))
    }
}

/// The number of inputs in `Done 123 runs in 4 second(s)`.
fn runs(line: &str) -> u64 {
    let number = line
        .strip_prefix("Done ")
        .and_then(|rest| rest.split_once(" runs"))
        .map(|(number, _)| number.parse());
    number.and_then(Result::ok).unwrap_or(0)
}

/// Runs one target for `seconds`, and passes its output through.
pub fn one(target: &str, seconds: u64) -> Outcome {
    let targets = targets()?;
    if !targets.iter().any(|name| name == target) {
        return Err(format!("no target {target}; there are {}", targets.join(", ")));
    }
    if !have_nightly() {
        return Err(
            "coverage-guided fuzzing needs a nightly compiler: rustup toolchain install nightly".into(),
        );
    }
    build()?;
    seed()?;
    shell::run(&mut fuzzer(&binaries(), target, seconds)?)
}

/// The inputs that broke a target are kept here, from the root.
const ARTIFACTS: &str = "fuzz/artifacts";

/// The names of the libFuzzer binaries, from the manifest.
fn targets() -> Result<Vec<String>, String> {
    let path = shell::root().join("fuzz/Cargo.toml");
    let manifest = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(binaries_of(&manifest))
}

fn binaries_of(manifest: &str) -> Vec<String> {
    manifest
        .split("[[bin]]")
        .skip(1)
        .filter(|section| section.contains("fuzz_targets/"))
        .filter_map(|section| {
            section
                .lines()
                .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        })
        .map(str::to_owned)
        .collect()
}

/// The directory of everything built with coverage.
fn home() -> PathBuf {
    shell::root().join("target/fuzz")
}

fn binaries() -> PathBuf {
    home().join(TARGET).join("release")
}

/// Builds every target with coverage and the sanitizer.
fn build() -> Outcome {
    let mut command = nightly_cargo();
    command.args([
        "build",
        "--release",
        "--package",
        "esker-fuzz",
        "--features",
        "libfuzzer",
        "--bins",
    ]);
    command.args(["--target", TARGET]);
    // The programs are optimised like the tests: a build takes minutes, and a quick run fuzzes for seconds.
    command
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    shell::run(command.env("RUSTFLAGS", COVERAGE).env("CARGO_TARGET_DIR", home()))
}

/// Creates the seed corpus from the test data.
fn seed() -> Outcome {
    shell::run(shell::cargo().args(["run", "--quiet", "--package", "esker-fuzz", "--bin", "seeds"]))
}

struct Running {
    process: Child,
    log: PathBuf,
}

fn start(binaries: &Path, target: &str, seconds: u64) -> Result<Running, String> {
    let log = binaries.join(format!("{target}.log"));
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let copy = file.try_clone().map_err(|error| error.to_string())?;
    let process = fuzzer(binaries, target, seconds)?
        .stdout(file)
        .stderr(copy)
        .spawn()
        .map_err(|error| format!("{target}: {error}"))?;
    Ok(Running { process, log })
}

fn fuzzer(binaries: &Path, target: &str, seconds: u64) -> Result<Command, String> {
    let artifacts = shell::root().join(ARTIFACTS);
    let corpus = shell::root().join("fuzz/corpus").join(target);
    for dir in [&artifacts, &corpus] {
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let mut command = shell::command(binaries.join(target));
    command.arg(corpus);
    command.arg(format!("-artifact_prefix={}/{target}-", artifacts.display()));
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-rss_limit_mb={MEMORY_LIMIT}"));
    command.args(["-timeout=20", "-max_len=65536", "-print_final_stats=0"]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_binaries_under_fuzz_targets() {
        let manifest = "[[bin]]\nname = \"smoke\"\npath = \"src/bin/smoke.rs\"\n\n[[bin]]\nname = \"wal\"\npath = \"fuzz_targets/wal.rs\"\n";
        assert_eq!(binaries_of(manifest), ["wal"]);
    }

    #[test]
    fn inputs_are_counted() {
        assert_eq!(runs("Done 1234 runs in 3 second(s)"), 1234);
        assert_eq!(runs(""), 0);
    }

    #[test]
    fn there_are_targets() {
        assert!(!targets().unwrap().is_empty());
    }
}
