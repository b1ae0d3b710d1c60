//! `package`: the crates that are published, packaged as the registry gets them and built from these packages
//! alone, by a new project that depends on them; `deny` and `semver`: checks of the crates by published
//! tools.

mod door;
mod published;

use std::path::Path;

use crate::shell::{self, Outcome};
use crate::tidy::Tree;

use published::file;
pub use published::{Published, published};

/// Packages the crates without a warning, builds each from its package, and runs the quick start of the
/// README twice over them. `args` are passed to `cargo package`.
pub fn run(args: &[&str]) -> Outcome {
    let crates = published(&Tree::read(&shell::root())?);
    let place = shell::target().join("package");
    packages(&crates, &place, args)?;
    door::try_it(&crates, &place)
}

fn packages(crates: &[Published], place: &Path, args: &[&str]) -> Outcome {
    for published in crates {
        // Removes the packages of earlier runs.
        let _ = std::fs::remove_file(file(place, &published.name));
    }
    let mut command = shell::cargo();
    command
        .args(["package", "--locked", "--no-verify", "--color", "never"])
        .args(args);
    for published in crates {
        command.args(["--package", &published.name]);
    }
    let text = shell::line(&command);
    let output = command.output().map_err(|error| format!("{text}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    if !output.status.success() {
        return Err(format!("cargo package: {}", output.status));
    }
    let warnings = warnings(&said);
    if !warnings.is_empty() {
        return Err(format!("cargo package warns:\n{}", warnings.join("\n")));
    }
    match crates
        .iter()
        .find(|published| !file(place, &published.name).is_file())
    {
        Some(missing) => Err(format!("cargo package made no package of {}", missing.name)),
        None => Ok(()),
    }
}

/// Returns Cargo's warnings.
fn warnings(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("warning:")).collect()
}

/// Checks the packages, and the licences, bans and sources of all dependencies.
pub fn nightly() -> Outcome {
    run(&["--allow-dirty"])?;
    deny()
}

/// Checks `deny.toml` with cargo-deny, except for advisories, whose database is not in a registry.
pub fn deny() -> Outcome {
    if shell::which("cargo-deny").is_none() {
        eprintln!("skipped: cargo-deny is not installed: cargo install cargo-deny --locked");
        return Ok(());
    }
    shell::run(shell::command("cargo-deny").args(["--workspace", "check", "licenses", "bans", "sources"]))
}

/// Compares the public items of `crates`, or of all that are [`PROMISED`], with those of the commit or tag
/// `base` by cargo-semver-checks.
pub fn semver(base: &str, crates: &[&str]) -> Outcome {
    let crates = promised(crates)?;
    if shell::which("cargo-semver-checks").is_none() {
        return Err(
            "cargo-semver-checks is not installed: cargo install cargo-semver-checks --locked".into(),
        );
    }
    let mut command = shell::command("cargo-semver-checks");
    command.args(["semver-checks", "--baseline-rev", base]);
    for name in crates {
        command.args(["--package", name]);
    }
    shell::run(&mut command)
}

/// Returns the crates that are named, or all.
fn promised<'a>(named: &[&'a str]) -> Result<Vec<&'a str>, String> {
    match named.iter().find(|name| !PROMISED.contains(name)) {
        Some(unknown) => Err(format!(
            "{unknown} is not covered by semantic versioning; these are: {}",
            PROMISED.join(", ")
        )),
        None if named.is_empty() => Ok(PROMISED.to_vec()),
        None => Ok(named.to_vec()),
    }
}

/// The crates whose public items are covered by semantic versioning. The other crates are used only by these.
pub const PROMISED: &[&str] = &[
    "esker",
    "esker-backup",
    "esker-encryption",
    "esker-metrics",
    "esker-mvcc",
    "esker-rocksdb",
    "esker-serve",
    "esker-txn",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crates_with_a_promise_are_compared() {
        assert_eq!(promised(&[]).unwrap(), PROMISED);
        assert_eq!(promised(&["esker-txn"]).unwrap(), ["esker-txn"]);
        let error = promised(&["esker-base"]).unwrap_err();
        assert!(
            error.starts_with("esker-base is not covered") && error.contains("esker-mvcc"),
            "{error}"
        );
    }

    #[test]
    fn crates_that_are_published_are_found() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"esker-a\"\n"),
            ("crates/a/src/lib.rs", ""),
            (
                "crates/b/Cargo.toml",
                "[package]\nname = \"b\"\npublish = false\n",
            ),
            ("crates/a/patch/v1/Cargo.toml", "[package]\nname = \"rocksdb\"\n"),
            ("tools/c/Cargo.toml", "[package]\nname = \"esker-c\"\n"),
        ]);
        let found: Vec<(String, bool)> = published(&tree)
            .into_iter()
            .map(|published| (published.name, published.is_program))
            .collect();
        assert_eq!(
            found,
            [("esker-a".to_owned(), false), ("esker-c".to_owned(), true)]
        );
    }

    #[test]
    fn what_is_promised_is_published() {
        let Ok(tree) = Tree::read(&shell::root()) else {
            testkit::skip("a git checkout: an archive of the source has no list of its files");
            return;
        };
        let names: Vec<String> = published(&tree)
            .into_iter()
            .map(|published| published.name)
            .collect();
        for name in PROMISED {
            assert!(names.iter().any(|published| published == name), "{name}");
        }
    }

    #[test]
    fn warnings_of_cargo_are_found() {
        let said =
            "   Packaging a v0.1.0\nwarning: manifest has no license\nsee more\n    Packaged 3 files\n";
        assert_eq!(warnings(said), ["warning: manifest has no license"]);
    }
}
