//! `balboa-rocksdb` of Debian, a server of passive DNS that was built in 2023 against librocksdb 7.8: it runs
//! over one directory with that library and with Esker's in turn (`through_balboa.py`).

use std::fs;
use std::path::{Path, PathBuf};

use super::package::count;
use super::{Count, Fault, turns};
use crate::library::Library;
use crate::shell;

const PACKAGE: &str = "balboa-backend-rocksdb";
const SERVER: &str = "usr/bin/balboa-rocksdb";

/// The number of checks in the script.
pub const CHECKS: usize = 7;

/// Runs the checks.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
    let theirs = turns::theirs()?;
    let scratch = shell::root().join(super::SCRATCH).join("balboa");
    let server = server(&scratch.join("package"))?;
    let ours = Library::built(&[])?.named("7.8", &scratch.join("lib"))?;
    let script = shell::root().join("xtask/src/judge/through_balboa.py");
    let mut command = shell::command("python3");
    command
        .arg(script)
        .arg(server)
        .arg(theirs.parent().unwrap_or(Path::new("/usr/lib")))
        .arg(&ours.load)
        .arg(scratch.join("databases"));
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for reason in said.lines().filter(|line| line.starts_with(' ')) {
        eprintln!("{reason}");
    }
    let count = count(&said);
    if count.passed + count.failed.len() == 0 {
        return Err(Fault::broken(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ));
    }
    Ok(count)
}

/// Returns the path of the server, whose package is fetched and unpacked into `dir`, and not installed: it
/// would start with the machine.
fn server(dir: &Path) -> Result<PathBuf, Fault> {
    let server = dir.join(SERVER);
    if server.exists() {
        return Ok(server);
    }
    if shell::which("apt-get").is_none() {
        return Err(Fault::Unreachable("there is no apt-get".to_owned()));
    }
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let fetch = |words: &[&str]| {
        let mut command = shell::command("apt-get");
        shell::output(command.args(words).current_dir(dir)).map(drop)
    };
    // The lists may be missing or old: they are fetched only when the first attempt fails.
    fetch(&["download", PACKAGE])
        .or_else(|_| fetch(&["update"]).and_then(|()| fetch(&["download", PACKAGE])))
        .map_err(Fault::of_registry)?;
    let files = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let package = files
        .flatten()
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|ending| ending == "deb"))
        .ok_or_else(|| Fault::broken(format!("no package in {}", dir.display())))?;
    shell::output(shell::command("dpkg").arg("-x").arg(package).arg(dir))?;
    match server.exists() {
        true => Ok(server),
        false => Err(Fault::broken(format!("{PACKAGE} has no {SERVER}"))),
    }
}
