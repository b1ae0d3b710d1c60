//! `repackage`: a copy of a jar of rocksdbjni with Esker's library in the place of RocksDB's, for programs
//! whose class path takes one jar. The jar is for those who make it: none is published.

use std::fs;
use std::path::{Path, PathBuf};

use super::jar;
use crate::judge::jvm;
use crate::shell::{self, Outcome};

/// The directory in the jar with Esker's licences and notice: those of upstream keep their names.
const OWN: &str = "META-INF/esker";

/// The directory in the jar with the descriptions that upstream's build has left in it. At their own place
/// they would give the jar upstream's coordinates.
const DESCRIPTIONS: &str = "META-INF/upstream-maven";

/// Makes the jar from `JAR [--debug]`, in `target/dist`.
pub fn run(words: &[&str]) -> Outcome {
    let (upstream, args): (_, &[&str]) = match words {
        [upstream] => (upstream, &["--release"]),
        [upstream, "--debug"] => (upstream, &[]),
        _ => return Err("repackage needs a jar of rocksdbjni".to_owned()),
    };
    let library = jvm::built(args)?;
    let made = make(Path::new(upstream), &library, &crate::dist_place::place())?;
    println!("{}", made.display());
    Ok(())
}

/// Makes the jar and returns its path. Classes, manifest, licences and notices of upstream stay as they are.
pub fn make(upstream: &Path, library: &Path, dist: &Path) -> Result<PathBuf, String> {
    let name = upstream
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let dir = dist.join("jar-repackaged");
    let broken = |error: std::io::Error| format!("{}: {error}", dir.display());
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(broken)?;
    let upstream = fs::canonicalize(upstream).map_err(|error| format!("{}: {error}", upstream.display()))?;
    shell::output(
        shell::command("unzip")
            .arg("-q")
            .arg(&upstream)
            .arg("-d")
            .arg(&dir),
    )?;
    if !dir.join("org/rocksdb/RocksDB.class").exists() {
        return Err(format!("{name} has no org.rocksdb.RocksDB"));
    }
    for entry in fs::read_dir(&dir).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if entry.file_name().to_string_lossy().starts_with("librocksdbjni") {
            fs::remove_file(entry.path()).map_err(broken)?;
        }
    }
    let descriptions = dir.join("META-INF/maven");
    if descriptions.exists() {
        fs::rename(descriptions, dir.join(DESCRIPTIONS)).map_err(broken)?;
    }
    jar::licences(&dir.join(OWN))?;
    fs::write(dir.join(OWN).join("CHANGES"), changes(&name)).map_err(broken)?;
    jar::resource(library, &dir)?;
    let version = env!("CARGO_PKG_VERSION");
    jar::jar(&dir, &dist.join(format!("esker-{version}-{name}")))
}

/// Returns the statement of changes, which the Apache License asks of a changed copy.
fn changes(name: &str) -> String {
    format!(
        "This jar is a changed copy of {name}. Its classes are unchanged. They are licensed under the Apache License 2.0, whose text is in\n\
         {OWN}/LICENSE-APACHE; upstream's licences and notices are in META-INF as far as its jar has any, its Maven descriptions in\n\
         {DESCRIPTIONS}. Changed: RocksDB's native libraries were removed, and Esker's was added as {}.\n",
        jar::RESOURCE
    )
}
