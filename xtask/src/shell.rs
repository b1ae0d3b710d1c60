//! Running other programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The outcome of a verb: the message of the first failure.
pub type Outcome = Result<(), String>;

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}

/// The directory of Cargo's builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// `program` with its working directory at the root.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The Cargo that runs this program.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The arguments of a build of `package` with the further arguments `args`. Without such arguments the
/// libraries of all default members are built: they have the features of the tests' build, so that the tests
/// build none of them again.
pub fn build_of<'a>(package: &'a str, args: &[&str]) -> Vec<&'a str> {
    match args.is_empty() {
        true => vec!["build", "--lib"],
        false => vec!["build", "-p", package],
    }
}

/// The command as a user would type it.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Prints the command, runs it with the output of this process, and fails if it fails.
pub fn run(command: &mut Command) -> Outcome {
    let text = line(command);
    eprintln!("+ {text}");
    let status = command.status().map_err(|error| format!("{text}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{text}: {status}"))
    }
}

/// The standard output of a command that must succeed.
pub fn output(command: &mut Command) -> Result<String, String> {
    let text = line(command);
    let output = command.output().map_err(|error| format!("{text}: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{text}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// True if the command runs and succeeds; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The file `tool` on the search path.
pub fn which(tool: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(tool))
        .find(|path| path.is_file())
}

/// True if Rust's standard library for `target` is installed.
pub fn has_target(target: &str) -> bool {
    let place = ["--print", "target-libdir", "--target", target];
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library = output(command(rustc).args(place)).unwrap_or_default();
    Path::new(library.trim()).is_dir()
}

/// True if the environment says that this is a CI run.
pub fn on_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}
