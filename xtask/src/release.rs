//! `release`: every check before a release, and the commands that remain. It publishes nothing itself: tags
//! are signed, and packages published, with keys that belong to people.

use crate::package;
use crate::shell::{self, Outcome};
use crate::tidy::Tree;
use crate::{dist, features};

/// The version that is released.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs every check, prints what is missing, and then the commands that remain. Fails if anything is missing.
pub fn run() -> Outcome {
    let mut missing = Vec::new();
    let mut check = |name: &str, outcome: Outcome| {
        eprintln!(
            "release: {name}: {}",
            if outcome.is_ok() { "good" } else { "missing" }
        );
        if let Err(message) = outcome {
            missing.push(format!("{name}: {message}"));
        }
    };
    check("a clean tree", clean());
    check("a section of the changelog", changelog());
    check("an unused tag", tag_is_free());
    check("packages", package::run(&[]));
    check("features", features::run());
    check(
        "licences, bans and sources",
        required("cargo-deny").and_then(|()| package::deny()),
    );
    check("advisories", advisories());
    check("public items since the last release", semver());
    check("two builds of what is given away", dist::run(&["--twice"]));
    check("a key for signed tags", key());
    let tree = Tree::read(&shell::root())?;
    println!("{}", commands(&package::published(&tree)));
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "missing for a release of {VERSION}:\n  {}",
        missing.join("\n  ")
    ))
}

fn required(tool: &str) -> Outcome {
    match shell::which(tool) {
        Some(_) => Ok(()),
        None => Err(format!("{tool} is not installed: cargo install {tool} --locked")),
    }
}

fn git(args: &[&str]) -> Result<String, String> {
    shell::output(shell::command("git").args(args)).map(|text| text.trim().to_owned())
}

fn clean() -> Outcome {
    match git(&["status", "--porcelain"])?.lines().count() {
        0 => Ok(()),
        count => Err(format!("{count} files differ from the commit")),
    }
}

fn changelog() -> Outcome {
    let path = shell::root().join("CHANGELOG.md");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    unreleased(&text, VERSION)
}

/// Fails unless the changelog has a section of the version, and nothing below *Unreleased*.
fn unreleased(text: &str, version: &str) -> Outcome {
    if !text.lines().any(|line| line == format!("## {version}")) {
        return Err(format!("CHANGELOG.md has no section ## {version}"));
    }
    let after = text.split("## Unreleased").nth(1).unwrap_or("");
    let section = after.split("\n## ").next().unwrap_or("");
    match section.lines().filter(|line| line.starts_with("* ")).count() {
        0 => Ok(()),
        count => Err(format!("CHANGELOG.md has {count} lines below Unreleased")),
    }
}

fn tag_is_free() -> Outcome {
    match git(&["tag", "--list", &format!("v{VERSION}")])?.is_empty() {
        true => Ok(()),
        false => Err(format!("v{VERSION} exists: set the next version")),
    }
}

/// Compares the dependencies with RustSec's advisories, whose database cargo-deny fetches by git.
fn advisories() -> Outcome {
    required("cargo-deny")?;
    shell::run(shell::command("cargo-deny").args(["--workspace", "check", "advisories"]))
        .map_err(|error| format!("{error}: it needs the database of https://github.com/rustsec/advisory-db"))
}

fn semver() -> Outcome {
    let tags = git(&["tag", "--list", "v*", "--sort=-version:refname"])?;
    match tags.lines().next() {
        // Before the first release there is nothing to compare with.
        None => Ok(()),
        Some(last) => package::semver(last, &[]),
    }
}

fn key() -> Outcome {
    match git(&["config", "--get", "user.signingkey"]) {
        Ok(key) if !key.is_empty() => Ok(()),
        _ => Err("git config user.signingkey is not set".into()),
    }
}

/// Returns the commands that a person runs after the checks.
fn commands(crates: &[package::Published]) -> String {
    let packages: Vec<String> = crates
        .iter()
        .map(|published| format!("--package {}", published.name))
        .collect();
    format!(
        "# When nothing is missing:\n\
         git tag --sign v{VERSION} --message 'Esker {VERSION}'\n\
         git push origin v{VERSION}\n\
         # In the order of their dependencies, each after the registry has those before it:\n\
         cargo publish --locked {}\n\
         # And to the release's page: the files in target/dist, which SHA256SUMS lists.",
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_has_the_version_and_nothing_after_it() {
        let good = "# Changelog\n\n## Unreleased\n\n## 0.2.0\n\n* One.\n";
        assert!(unreleased(good, "0.2.0").is_ok());
        assert!(unreleased(good, "0.3.0").unwrap_err().contains("no section"));
        let late = good.replace("## Unreleased\n", "## Unreleased\n\n* Two.\n* Three.\n");
        assert!(unreleased(&late, "0.2.0").unwrap_err().contains("2 lines"));
    }

    #[test]
    fn the_commands_publish_every_crate() {
        let crates = [package::Published {
            name: "esker-base".into(),
            is_program: false,
        }];
        let text = commands(&crates);
        assert!(
            text.contains("git tag --sign v") && text.contains("--package esker-base"),
            "{text}"
        );
    }
}
