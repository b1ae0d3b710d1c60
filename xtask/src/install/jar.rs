//! The jars for programs on the JVM: one contains only the library, the other the classes of `dev.esker`.

use std::fs;
use std::path::{Path, PathBuf};

use super::files;
use crate::judge::jvm;
use crate::shell::{self, Outcome};

/// The name of the library that rocksdbjni's loader looks for on the class path.
pub(super) const RESOURCE: &str = if cfg!(target_arch = "aarch64") {
    "librocksdbjni-linux-aarch64.so"
} else {
    "librocksdbjni-linux64.so"
};

/// The date of every file in a jar, so that equal contents result in equal jars.
const DATE: &str = "2026-01-01T00:00:00Z";

/// Builds the jars, for `dist jvm`.
pub fn dist(args: &[&str]) -> Outcome {
    let dist = crate::dist_place::place();
    let library = jvm::built(args)?;
    natives(&library, &dist)?;
    classes(&dist)?;
    Ok(())
}

/// Creates the jar of a library and returns its path. If the jar comes before rocksdbjni on the class path,
/// the loader unpacks this library.
pub fn natives(library: &Path, dist: &Path) -> Result<PathBuf, String> {
    let dir = dist.join("jar-natives");
    let _ = fs::remove_dir_all(&dir);
    licences(&dir.join("META-INF"))?;
    resource(library, &dir)?;
    jar(
        &dir,
        &dist.join(format!(
            "esker-rocksdbjni-natives-{}.jar",
            env!("CARGO_PKG_VERSION")
        )),
    )
}

/// Puts a library without its debug information into a directory, under the name that the loader looks for.
pub(super) fn resource(library: &Path, dir: &Path) -> Outcome {
    let mut strip = shell::command("objcopy");
    strip.arg("--strip-debug").arg(library).arg(dir.join(RESOURCE));
    shell::output(&mut strip).map(drop)
}

/// Compiles the package `dev.esker` for Java 8 and creates its jar.
fn classes(dist: &Path) -> Result<PathBuf, String> {
    let dir = dist.join("jar-classes");
    let _ = fs::remove_dir_all(&dir);
    licences(&dir.join("META-INF"))?;
    let project = jvm::project("jvm")?;
    let sources = jvm::sources(&shell::root().join("crates/jni/java/dev/esker"))?;
    let mut compiler = shell::command("javac");
    compiler
        .args(["--release", "8", "-Xlint:-options", "-d"])
        .arg(&dir);
    compiler.arg("-cp").arg(&project.path).args(sources);
    shell::output(&mut compiler)?;
    jar(
        &dir,
        &dist.join(format!("esker-java-{}.jar", env!("CARGO_PKG_VERSION"))),
    )
}

/// Copies the licences and the notice to the directory `META-INF`.
pub(super) fn licences(dir: &Path) -> Outcome {
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let from = shell::root().join(licence);
        fs::copy(&from, dir.join(licence)).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    let notice = dir.join("NOTICE");
    fs::write(&notice, files::notice_of_jni()?).map_err(|error| format!("{}: {error}", notice.display()))
}

/// Creates a jar of all files of a directory.
pub(super) fn jar(dir: &Path, to: &Path) -> Result<PathBuf, String> {
    shell::output(
        shell::command("jar")
            .arg("--create")
            .arg(format!("--date={DATE}"))
            .arg("--file")
            .arg(to)
            .arg("-C")
            .arg(dir)
            .arg("."),
    )?;
    Ok(to.to_owned())
}
