//! The common parts of the judges on the JVM: they build the library under its name, compile a Maven project,
//! and run Java.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Count, Fault};
use crate::shell;

/// The variable with the path of another library to judge, such as one that is built for release.
const LIBRARY: &str = "ESKER_JNI_LIBRARY";

/// Builds the library and returns a directory that contains it as `librocksdbjni.so`.
pub fn library() -> Result<PathBuf, String> {
    placed(&[], "jvm-lib")
}

/// Same as [`library`], for the library as `dist` builds it.
pub fn release_library() -> Result<PathBuf, String> {
    placed(&["--release"], "jvm-lib-release")
}

fn placed(args: &[&str], dir: &str) -> Result<PathBuf, String> {
    let library = match std::env::var_os(LIBRARY) {
        Some(path) => PathBuf::from(path),
        None => built(args)?,
    };
    let dir = scratch(dir)?;
    copy(&library, &dir.join("librocksdbjni.so"))?;
    Ok(dir)
}

/// Builds the library with the given arguments for Cargo, and returns its path.
pub fn built(args: &[&str]) -> Result<PathBuf, String> {
    let build = shell::build_of("esker-jni", args);
    shell::run(shell::cargo().args(build).args(args))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let profile = if args.contains(&"--release") {
        "release"
    } else {
        "debug"
    };
    Ok(target.join(profile).join("libesker_jni.so"))
}

/// Returns the directory `name` under `target/judge`, for files that are not committed.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let dir = shell::root().join("target/judge").join(name);
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(dir)
}

/// Returns an empty directory of that name.
pub fn empty(name: &str) -> Result<PathBuf, String> {
    let dir = scratch(name)?;
    std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    scratch(name)
}

/// Replaces a file by a copy of another one. A running JVM may have mapped the old file, which stays
/// unchanged.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let _ = std::fs::remove_file(to);
    std::fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    Ok(())
}

/// A compiled project of `crates/jni/judges`.
pub struct Project {
    /// The directory of the project's compiled classes.
    pub classes: PathBuf,
    /// The class path.
    pub path: String,
}

/// Fetches the dependencies of the project and compiles its sources, if Maven has any to compile.
pub fn project(name: &str) -> Result<Project, Fault> {
    for tool in ["java", "javac", "mvn"] {
        if shell::which(tool).is_none() {
            return Err(Fault::Unreachable(format!("no {tool} on this machine")));
        }
    }
    let home = shell::root().join("crates/jni/judges").join(name);
    let dir = scratch(&format!("jvm-{name}"))?;
    let list = dir.join("class-path.txt");
    shell::output(
        shell::command("mvn")
            .args(["-q", "-B", "-f"])
            .arg(home.join("pom.xml"))
            .arg(format!("-Djudge.build={}", dir.display()))
            .args(["compile", "dependency:build-classpath"])
            .arg(format!("-Dmdep.outputFile={}", list.display())),
    )
    .map_err(Fault::of_registry)?;
    let needed = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let classes = dir.join("classes");
    std::fs::create_dir_all(&classes).map_err(|error| format!("{}: {error}", classes.display()))?;
    let path = format!("{}:{}", classes.display(), needed.trim());
    Ok(Project { classes, path })
}

/// Returns the Java sources of a directory, in the order of their names.
pub fn sources(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "java") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns a Java command with the project's class path, over the library in `library` or RocksDB's own.
pub fn java(project: &Project, library: Option<&Path>) -> Command {
    let mut command = shell::command("java");
    // Flink accesses classes of the platform by reflection.
    command.args(["--add-opens=java.base/java.util=ALL-UNNAMED"]);
    command.args(["--add-opens=java.base/java.lang=ALL-UNNAMED"]);
    if let Some(library) = library {
        command.arg(format!("-Djava.library.path={}", library.display()));
    }
    command.arg("-cp").arg(&project.path);
    command
}

/// Returns the names that `words` choose, or all of them.
pub fn chosen<'n>(names: &[&'n str], words: &[&str]) -> Result<Vec<&'n str>, Fault> {
    if let Some(unknown) = words.iter().find(|word| !names.contains(word)) {
        return Err(Fault::broken(format!(
            "no comparison {unknown}: {}",
            names.join(", ")
        )));
    }
    let is_chosen = |name: &&&str| words.is_empty() || words.contains(*name);
    Ok(names.iter().filter(is_chosen).copied().collect())
}

/// Runs a program that must end by SIGKILL.
pub fn killed(command: &mut Command) -> Result<(), Fault> {
    const SIGKILL: i32 = 9;
    println!("+ {}", shell::line(command));
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.signal() {
        Some(SIGKILL) => Ok(()),
        _ => {
            println!("{}", String::from_utf8_lossy(&output.stderr));
            Err(Fault::broken(format!("{}, not killed", output.status)))
        }
    }
}

/// Compares the facts that two runs print, and counts the comparison as a test.
pub fn compare(count: &mut Count, name: &str, stock: &str, ours: &str) -> Result<(), Fault> {
    if stock.trim().is_empty() {
        return Err(Fault::broken(format!("{name}: RocksDB's run prints nothing")));
    }
    if stock == ours {
        println!("{name}: {} facts, all equal", stock.lines().count());
        count.passed += 1;
        return Ok(());
    }
    let differing = stock.lines().zip(ours.lines()).filter(|(a, b)| a != b);
    for (stock, ours) in differing.take(10) {
        println!("    RocksDB: {stock}\n    Esker:   {ours}");
    }
    count.failed.push(name.to_owned());
    Ok(())
}
