//! Packages of a registry, fetched by Cargo, and the results of their tests.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Count, Fault};
use crate::shell::{self, Outcome};

/// Returns the directory where Cargo keeps `name` at `version`, and fetches the package if necessary.
pub fn fetch(name: &str, version: &str) -> Result<PathBuf, Fault> {
    let dir = shell::root()
        .join("target/judge")
        .join(format!("fetch-{name}-{version}"));
    write(&dir.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    );
    write(&dir.join("Cargo.toml"), &manifest)?;
    shell::output(shell::cargo().arg("fetch").current_dir(&dir)).map_err(Fault::of_registry)?;
    // One line for each package: its name, its version, its manifest.
    let tree = shell::output(
        shell::cargo()
            .args(["tree", "--offline", "--prefix=none", "--depth=1", "--format={p}"])
            .current_dir(&dir),
    )?;
    if !tree.contains(&format!("{name} v{version}")) {
        return Err(Fault::broken(format!(
            "{name} {version} is not among the fetched packages:\n{tree}"
        )));
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(Path::new(&home).join(".cargo"))
    });
    let sources = home
        .ok_or_else(|| Fault::broken("no home directory"))?
        .join("registry/src");
    let registries = fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
    registries
        .flatten()
        .map(|registry| registry.path().join(format!("{name}-{version}")))
        .find(|package| package.is_dir())
        .ok_or_else(|| Fault::broken(format!("{name} {version} does not lie in {}", sources.display())))
}

/// Returns the results in the output of a test program. A test may print to the same line before its result.
pub fn count(text: &str) -> Count {
    let mut count = Count::default();
    for line in text.lines() {
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|line| line.split_once(" ... "))
        else {
            continue;
        };
        match result {
            _ if result.ends_with("ok") => count.passed += 1,
            _ if result.ends_with("FAILED") => count.failed.push(name.to_owned()),
            _ if result.contains("ignored") => count.ignored += 1,
            _ => {}
        }
    }
    count
}

/// Copies a directory, with `change` applied to each text.
pub fn copy(from: &Path, to: &Path, change: &dyn Fn(String) -> String) -> Outcome {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let entries = fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target, change)?;
        } else {
            write(&target, &change(read(&source)?))?;
        }
    }
    Ok(())
}

/// Reads the text of a file.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file unless it already has this text: an unchanged file is not built again.
pub fn write(path: &Path, text: &str) -> Outcome {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_as_test_programs_print_them() {
        let text = "running 4 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ignored, slow\n\
                    test d ... said something ok\n\ntest result: FAILED. 2 passed\n";
        let count = count(text);
        assert_eq!((count.passed, count.ignored), (2, 1));
        assert_eq!(count.failed, ["b"]);
    }
}
