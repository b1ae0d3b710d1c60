//! A C program (`turns.c`), linked to Debian's librocksdb 7.8, runs over one directory with that library and
//! with Esker's in turn.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Count, Fault};
use crate::library::Library;
use crate::{apt, shell};

/// The Debian package. `LIBRARY` is the path of its library.
const PACKAGE: &str = "librocksdb7.8";
const THEIRS: &str = "librocksdb.so.7.8";

/// The number of turns in the gate.
pub const FEW: usize = 100;
/// The number of turns in the nightly run.
pub const MANY: usize = 1000;

/// Runs the turns of the gate.
pub fn few(words: &[&str]) -> Result<Count, Fault> {
    run(FEW, words)
}

/// Runs the turns of the nightly run.
pub fn many(words: &[&str]) -> Result<Count, Fault> {
    run(MANY, words)
}

/// Runs `turns` turns, or the number of turns in `words`. Each turn checks every row of the earlier ones,
/// writes rows, and ends; it passes if no row is lost.
fn run(turns: usize, words: &[&str]) -> Result<Count, Fault> {
    let turns = match words {
        [] => turns,
        [number] => number
            .parse()
            .map_err(|_| format!("{number} is not a number of turns"))?,
        _ => return Err(super::not_understood(words)),
    };
    let theirs = theirs()?;
    let scratch = shell::root().join(super::SCRATCH).join("turns");
    let _ = fs::remove_dir_all(&scratch);
    let ours = Library::built(&[])?.named("7.8", &scratch.join("lib"))?;
    let program = scratch.join("turns");
    shell::run(
        shell::command("cc")
            .args([
                "-std=gnu11",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-DROCKSDB_GENERATION=708",
                "-o",
            ])
            .arg(&program)
            .arg(format!(
                "-I{}",
                shell::root().join("crates/capi/include").display()
            ))
            .arg(shell::root().join("xtask/src/judge/turns.c"))
            .arg(&theirs),
    )?;
    let place = DatabaseDir::new(&scratch);
    let database = place.0.join("database");
    let mut count = Count::default();
    for turn in 0..turns {
        let is_ours = turn % 2 == 1;
        let mut command = shell::command(&program);
        command.arg(&database).arg(turn.to_string());
        if is_ours {
            command.env("LD_LIBRARY_PATH", &ours.load);
        }
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            count.passed += 1;
            continue;
        }
        let library = if is_ours { "ours" } else { "theirs" };
        let said = String::from_utf8_lossy(&output.stderr);
        count.failed.push(format!(
            "turn {turn}, {library}, {}: {}",
            output.status,
            said.trim()
        ));
        // Later turns would report the same failure.
        count.not_built = turns - turn - 1;
        break;
    }
    Ok(count)
}

/// Returns the path of Debian's library, which is installed if it is missing.
pub fn theirs() -> Result<PathBuf, Fault> {
    let find = || {
        [
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib",
        ]
        .iter()
        .map(|dir| Path::new(dir).join(THEIRS))
        .find(|path| path.exists())
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    apt::install(&[PACKAGE]).map_err(Fault::of_registry)?;
    find().ok_or_else(|| Fault::broken(format!("{PACKAGE} is installed and has no {THEIRS}")))
}

/// The directory of the database, which is removed at the end.
struct DatabaseDir(PathBuf);

impl DatabaseDir {
    /// Creates the directory in memory if the machine has such a file system: a turn ends its process without
    /// a power loss.
    fn new(scratch: &Path) -> DatabaseDir {
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() { memory } else { scratch };
        let dir = home.join(format!("esker-turns-{}", std::process::id()));
        let _ = fs::create_dir_all(&dir);
        DatabaseDir(dir)
    }
}

impl Drop for DatabaseDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
