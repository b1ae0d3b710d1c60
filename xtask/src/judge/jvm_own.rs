//! Esker's own programs on the JVM: wrong use of RocksJava's classes, the package `dev.esker`, and the
//! library in a jar before rocksdbjni on the class path, or in a copy of rocksdbjni's jar.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::{Count, Fault, jvm};
use crate::install;
use crate::jni;
use crate::shell;

/// The number of checks in the programs.
pub const CHECKS: usize = 42;

/// The size of the JVM's heap in the programs. One of the checks exhausts it.
const HEAP: &[&str] = &["-Xmx128m", "-XX:MaxDirectMemorySize=256m"];

/// The heap for arrays of the largest size.
const LARGEST_HEAP: &[&str] = &["-Xmx8g"];

/// The memory that the largest arrays need in the heap and outside of it, in KiB.
const LARGEST_NEEDS: u64 = 17 << 20;

/// Runs the check of the largest arrays, if the machine has the memory.
pub fn largest(words: &[&str]) -> Result<Count, Fault> {
    super::no_words(words)?;
    let memory = std::fs::read_to_string("/proc/meminfo").map_err(|error| error.to_string())?;
    let free = memory.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    match free.unwrap_or(0) {
        free if free < LARGEST_NEEDS => Err(Fault::Unreachable(format!("{free} KiB of memory are free"))),
        _ => run(&["Largest"]),
    }
}

/// Runs the named programs, or all of them but that of the largest arrays.
pub fn run(names: &[&str]) -> Result<Count, Fault> {
    let library = jvm::library()?;
    let mut project = jvm::project("jvm")?;
    let home = shell::root().join("crates/jni");
    let mut compiler = shell::command("javac");
    compiler.args(["-nowarn", "-d"]).arg(&project.classes);
    compiler.arg("-cp").arg(&project.path);
    for dir in [home.join("java/dev/esker"), home.join("judges/jvm/src/main/java")] {
        compiler.args(jvm::sources(&dir)?);
    }
    shell::output(&mut compiler)?;
    let mut count = Count::default();
    if names.is_empty() || names.contains(&"exports") {
        exports(&mut count, &library.join("librocksdbjni.so"))?;
    }
    for program in ["Misuse", "Hooks", "Errors", "Tables"] {
        if names.is_empty() || names.contains(&program) {
            let mut java = jvm::java(&project, Some(&library));
            java.args(["-Xcheck:jni", program]);
            checks(&mut count, &mut java, HEAP)?;
        }
    }
    if names.contains(&"Largest") {
        let mut java = jvm::java(&project, Some(&library));
        java.arg("Largest");
        checks(&mut count, &mut java, LARGEST_HEAP)?;
    }
    if names.is_empty() || names.contains(&"Swap") {
        let jar = install::jar::natives(&library.join("librocksdbjni.so"), &jvm::scratch("jvm-jar")?)?;
        project.path = format!("{}:{}", jar.display(), project.path);
        let mut java = jvm::java(&project, None);
        java.args(["Swap", env!("CARGO_PKG_VERSION"), "jar_in_front"]);
        checks(&mut count, &mut java, HEAP)?;
    }
    if names.is_empty() || names.contains(&"Repackage") {
        repackaged(&mut count, &library.join("librocksdbjni.so"))?;
    }
    Ok(count)
}

/// Runs the program of the library in a jar with a repackaged rocksdbjni alone, and checks the jar's files.
fn repackaged(count: &mut Count, library: &Path) -> Result<(), Fault> {
    let mut project = jvm::project("jvm")?;
    let is_upstream = |path: &&str| path.ends_with(".jar") && path.contains("rocksdbjni");
    let upstream = project.path.split(':').find(is_upstream);
    let upstream = upstream.ok_or_else(|| Fault::broken("no rocksdbjni on the class path".to_owned()))?;
    let jar = install::repackage::make(Path::new(upstream), library, &jvm::scratch("jvm-jar")?)?;
    let listed = shell::output(shell::command("jar").arg("--list").arg("--file").arg(&jar))?;
    let has = |name: &str| listed.lines().any(|line| line == name);
    let libraries = listed
        .lines()
        .filter(|line| line.starts_with("librocksdbjni"))
        .count();
    let texts = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "CHANGES"];
    match libraries == 1 && texts.iter().all(|text| has(&format!("META-INF/esker/{text}"))) {
        true => count.passed += 1,
        false => count.failed.push(format!("the files of {}", jar.display())),
    }
    project.path = format!("{}:{}", project.classes.display(), jar.display());
    let mut java = jvm::java(&project, None);
    java.args(["Swap", env!("CARGO_PKG_VERSION"), "repackaged_jar"]);
    checks(count, &mut java, HEAP)
}

/// Checks that the library exports every native method of all releases, under the name that the JVM looks
/// for.
fn exports(count: &mut Count, library: &Path) -> Result<(), Fault> {
    let listed = shell::output(shell::command("nm").args(["-D", "--defined-only"]).arg(library))?;
    let there: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .collect();
    let mut missing = jni::exports(&shell::root())?;
    missing.retain(|symbol| !there.contains(symbol.as_str()));
    match missing.is_empty() {
        true => count.passed += 1,
        false => count
            .failed
            .extend(missing.into_iter().map(|symbol| format!("no {symbol}"))),
    }
    Ok(())
}

/// Runs a program and counts its lines. A program that does not end by itself, such as a crashed JVM, is a
/// failure too.
fn checks(count: &mut Count, java: &mut Command, heap: &[&str]) -> Result<(), Fault> {
    let program = shell::line(java);
    let mut limited = shell::command("timeout");
    limited
        .arg("300")
        .arg(java.get_program())
        .args(heap)
        .args(java.get_args());
    let output = limited.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in said.lines() {
        match line.split_once(' ') {
            Some(("PASS", _)) => count.passed += 1,
            Some(("FAIL", check)) => count.failed.push(check.to_owned()),
            // The JVM prints this text for a wrong call of its functions.
            Some(("FATAL" | "WARNING", _)) => count.failed.push(format!("the JVM: {line}")),
            _ => {}
        }
    }
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        println!("{errors}");
        count.failed.push(format!("{program}: {}", output.status));
    }
    Ok(())
}
