//! Finds the test binaries that cargo builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell;

/// A binary of tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestBinary {
    /// The name of the binary's package.
    pub package: String,
    /// The kind of the binary's target: `test` for integration tests, `bin`, or a kind of library.
    pub kind: String,
    /// The name of the binary's target.
    pub target: String,
    pub executable: PathBuf,
    /// The directory of the package, in which cargo runs the binary.
    pub dir: PathBuf,
}

impl TestBinary {
    /// The directory of the package, and the target.
    pub fn label(&self) -> String {
        let dir = self.dir.file_name().unwrap_or_default();
        format!("{} {}", dir.to_string_lossy(), self.target)
    }

    /// Gives `command`, which runs the binary, the directory and the environment that cargo gives it. `build`
    /// is the directory of the build.
    pub fn set_environment(&self, command: &mut Command, build: &Path) {
        command
            .current_dir(&self.dir)
            .env("CARGO_MANIFEST_DIR", &self.dir)
            .env("CARGO_PKG_NAME", &self.package)
            .env("LD_LIBRARY_PATH", libraries(build));
    }
}

/// Returns the test binaries of `command`, a `cargo test --no-run --message-format=json`. The error has the
/// messages of the compiler.
pub fn build(command: &mut Command) -> Result<Vec<TestBinary>, String> {
    let line = shell::line(command);
    eprintln!("+ {line}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{line}: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(all_of(&messages)),
        false => Err(errors(&messages)),
    }
}

/// The rendered errors of the compiler, without warnings.
fn errors(messages: &str) -> String {
    let rendered = |message: &str| {
        let (_, rest) = message.split_once("\"rendered\":\"")?;
        let error = rest.starts_with("error").then(|| rest.split("\",\"").next())??;
        Some(error.replace("\\n", "\n").replace("\\\"", "\""))
    };
    messages.lines().filter_map(rendered).collect()
}

/// The test binaries that the messages of `cargo test --no-run --message-format=json` name.
fn all_of(messages: &str) -> Vec<TestBinary> {
    let mut all: Vec<TestBinary> = messages.lines().filter_map(of).collect();
    all.sort();
    all.dedup();
    all
}

/// The binary that a message of cargo names, if the binary has tests.
fn of(message: &str) -> Option<TestBinary> {
    let text = |name: &str| {
        let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
        rest.split_once('"').map(|(text, _)| text)
    };
    let executable = PathBuf::from(text("executable")?);
    // The field `test` of the profile is read: the target has a field of that name too, at an earlier
    // position.
    let (_, profile) = message.split_once("\"profile\":{")?;
    if !profile.split_once('}')?.0.contains("\"test\":true") {
        return None;
    }
    let dir = Path::new(text("manifest_path")?).parent()?.to_path_buf();
    let target = message.split_once("\"target\":{")?.1;
    let kind = target.split_once("\"kind\":[\"")?.1.split_once('"')?.0;
    let target = target.split_once("\"name\":\"")?.1.split_once('"')?.0;
    // The package id has no name, only a version, if the package has the name of its directory.
    let (_, id) = text("package_id")?.rsplit_once('#')?;
    let package = match id.split_once('@') {
        Some((package, _)) => package,
        None => dir.file_name()?.to_str()?,
    };
    Some(TestBinary {
        package: package.to_owned(),
        kind: kind.to_owned(),
        target: target.to_owned(),
        executable,
        dir,
    })
}

/// The search path of shared libraries that cargo sets for tests: the directories of the build come first.
fn libraries(build: &Path) -> std::ffi::OsString {
    let own = [build.join("debug/deps"), build.join("debug")];
    let inherited = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let all = own.into_iter().chain(std::env::split_paths(&inherited));
    std::env::join_paths(all).unwrap_or(inherited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_of_tests_are_found_in_what_cargo_says() {
        let message = |id: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"path+file:///w/crates/wal#{id}\",\
                 \"manifest_path\":\"/w/crates/wal/Cargo.toml\",\"target\":{{\"kind\":[\"lib\"],\"name\":\"esker_wal\",\"test\":true}},\
                 \"profile\":{{\"opt_level\":\"1\",\"test\":{test}}},\"features\":[],\"executable\":\"/w/target/esker_wal-1\",\"fresh\":true}}"
            )
        };
        let found = of(&message("esker-wal@0.1.0", true)).unwrap();
        let expected = TestBinary {
            package: "esker-wal".to_owned(),
            kind: "lib".to_owned(),
            target: "esker_wal".to_owned(),
            executable: "/w/target/esker_wal-1".into(),
            dir: "/w/crates/wal".into(),
        };
        assert_eq!(found, expected);
        assert_eq!(found.label(), "wal esker_wal");
        assert_eq!(of(&message("0.1.0", true)).unwrap().package, "wal");
        assert_eq!(of(&message("0.1.0", false)), None);
        assert_eq!(
            of(&message("0.1.0", true).replace("\"/w/target/esker_wal-1\"", "null")),
            None
        );
        assert_eq!(of("{\"reason\":\"build-finished\",\"success\":true}"), None);
    }

    #[test]
    fn errors_are_taken_from_messages() {
        let message = |text: &str| {
            format!("{{\"message\":{{\"rendered\":\"{text}\\n --> a.rs:1\\n\",\"spans\":[]}}}}\n")
        };
        let messages = message("warning: a") + &message("error[E1]: b");
        assert_eq!(errors(&messages), "error[E1]: b\n --> a.rs:1\n");
    }
}
