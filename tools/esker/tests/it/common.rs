//! Shared test support: the binary, the databases, and a comparison of a directory before and after.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use tempfile::TempDir;

/// The timestamp at which the rows of `user_timestamps` were recorded.
pub const TIMESTAMP: u64 = 400;

/// The databases that RocksDB wrote, by name.
pub fn fixtures() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 20);
    names
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb-11.9")
}

/// The path of fixture `name`. It must only be read.
pub fn fixture(name: &str) -> PathBuf {
    root().join(name)
}

/// A copy of fixture `name`.
pub fn copy(name: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    copy_into(&fixture(name), dir.path());
    dir
}

pub fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The rows of fixture `name`, as RocksDB read them.
pub fn expected(name: &str) -> String {
    fs::read_to_string(root().join(format!("{name}.expected.tsv"))).unwrap()
}

/// The result of a run of the binary.
pub struct Ran {
    /// The arguments of the run, for messages.
    pub command: String,
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Checks the invariants of every run: it ended by itself, did not panic, and printed at most one line on
    /// standard error.
    pub fn new(command: &Command, output: Output) -> Ran {
        let command = format!("{command:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let status = output.status.code();
        let ran = Ran {
            status: status.unwrap_or_else(|| panic!("{command}: {}\n{stderr}", output.status)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr,
            command,
        };
        assert!(
            !ran.stderr.contains("panicked"),
            "{}: {}",
            ran.command,
            ran.stderr
        );
        if ran.status != 2 {
            assert!(ran.stderr.lines().count() <= 1, "{}: {}", ran.command, ran.stderr);
        }
        assert_eq!(
            ran.status == 0,
            ran.stderr.is_empty(),
            "{}: {}",
            ran.command,
            ran.stderr
        );
        ran
    }

    /// The output of the run, which must have succeeded.
    pub fn good(self) -> String {
        assert_eq!(self.status, 0, "{}: {}", self.command, self.stderr);
        self.stdout
    }

    /// The error of the run, which must have failed.
    pub fn bad(self) -> String {
        assert_eq!(self.status, 1, "{}: {}", self.command, self.stderr);
        assert!(
            self.stderr.starts_with("esker: "),
            "{}: {}",
            self.command,
            self.stderr
        );
        self.stderr
    }
}

/// The binary.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.stdin(Stdio::null()).env_remove("COLUMNS");
    command
}

/// Runs `command` to its end.
pub fn run(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran::new(&command, output)
}

/// Runs `esker VERB --db DIR ARGS...`.
pub fn esker(verb: &str, dir: &Path, args: &[&str]) -> Ran {
    let mut command = command();
    command.arg(verb).arg("--db").arg(dir).args(args);
    run(command)
}

/// Runs `esker VERB FILE ARGS...`.
pub fn look(verb: &str, file: &Path, args: &[&str]) -> Ran {
    let mut command = command();
    command.arg(verb).arg(file).args(args);
    run(command)
}

/// Scans everything in hexadecimal, fixture `name` at the timestamp of its recorded rows.
pub fn scan(name: &str, dir: &Path) -> Ran {
    let timestamp = format!("--timestamp={TIMESTAMP}");
    let mut args = vec!["--all_column_families", "--hex"];
    if name == "user_timestamps" {
        args.push(&timestamp);
    }
    esker("scan", dir, &args)
}

/// Every file of a directory: name, bytes, modification time.
pub type Listing = BTreeMap<String, (Vec<u8>, SystemTime)>;

pub fn listing(dir: &Path) -> Listing {
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let written = entry.metadata().unwrap().modified().unwrap();
        (name, (fs::read(entry.path()).unwrap(), written))
    };
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| file(entry.unwrap()))
        .collect()
}

/// The names of the tables of a directory.
pub fn tables(dir: &Path) -> Vec<String> {
    let files = listing(dir).into_keys();
    files.filter(|file| file.ends_with(".sst")).collect()
}

/// Shows where two texts differ, without printing megabytes.
pub fn assert_same(what: &str, got: &str, expected: &str) {
    if got == expected {
        return;
    }
    for (at, (got, expected)) in got.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "{what}: line {}", at + 1);
    }
    panic!(
        "{what}: {} lines, {} expected",
        got.lines().count(),
        expected.lines().count()
    );
}
