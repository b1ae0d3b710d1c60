//! Finds the test binaries that cargo builds.

use std::path::{Path, PathBuf};

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
}

/// The test binaries that the messages of `cargo test --no-run --message-format=json` name.
pub fn all_of(messages: &str) -> Vec<TestBinary> {
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
}
