//! A project that takes the packages as a user's does: it depends on each by name and version, and has
//! nothing of the repository.

use std::fs;
use std::path::Path;

use super::published::{Published, VERSION, file};
use crate::shell::{self, Outcome};

/// Unpacks the packages, builds all of them for a new project, runs the quick start in it twice, and each
/// program once.
pub fn try_it(crates: &[Published], place: &Path) -> Outcome {
    let unpacked = place.join("unpacked");
    let project = place.join("project");
    for dir in [&unpacked, &project] {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    for published in crates {
        let mut tar = shell::command("tar");
        tar.arg("-xzf").arg(file(place, &published.name)).arg("-C");
        shell::output(tar.arg(&unpacked))?;
        // The folder is inside of our workspace.
        let path = unpacked.join(format!("{}-{VERSION}/Cargo.toml", published.name));
        let manifest = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(&path, manifest + "\n[workspace]\n")
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let write = |path: &Path, text: &str| {
        let dir = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir)
            .and_then(|()| fs::write(path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let patches = place.join("patches.toml");
    write(&patches, &patches_of(crates, &unpacked))?;
    write(&project.join("Cargo.toml"), &manifest(crates))?;
    let read =
        |path: &str| fs::read_to_string(shell::root().join(path)).map_err(|error| format!("{path}: {error}"));
    write(
        &project.join("src/main.rs"),
        &read("crates/engine/examples/quick_start.rs")?,
    )?;
    // The versions that the tests ran with.
    write(&project.join("Cargo.lock"), &read("Cargo.lock")?)?;

    let cargo = |verb: &str| {
        let mut command = shell::cargo();
        command.current_dir(&project);
        command.arg("--config").arg(&patches).arg(verb);
        command.arg("--target-dir").arg(place.join("built"));
        command
    };
    // The quick start runs twice, because the README promises that a second run finds its column family and
    // succeeds.
    for _ in 0..2 {
        shell::run(&mut cargo("run"))?;
    }
    for program in crates.iter().filter(|published| published.is_program) {
        let mut command = cargo("run");
        command.current_dir(unpacked.join(format!("{}-{VERSION}", program.name)));
        shell::run(command.args(["--", "--version"]))?;
    }
    Ok(())
}

/// Returns the manifest of a project that depends on every library.
fn manifest(crates: &[Published]) -> String {
    let mut text = "[package]\nname = \"project\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n"
        .to_owned();
    for library in crates.iter().filter(|published| !published.is_program) {
        text.push_str(&format!("{} = \"{VERSION}\"\n", library.name));
    }
    text
}

/// Returns Cargo's configuration that takes the packages from their folders.
fn patches_of(crates: &[Published], unpacked: &Path) -> String {
    let mut text = "[patch.crates-io]\n".to_owned();
    for library in crates.iter().filter(|published| !published.is_program) {
        let path = unpacked.join(format!("{}-{VERSION}", library.name));
        text.push_str(&format!("{} = {{ path = {:?} }}\n", library.name, path.display()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_takes_libraries_from_their_packages() {
        let published = |name: &str, is_program| Published {
            name: name.to_owned(),
            is_program,
        };
        let crates = [published("esker", false), published("esker-cli", true)];
        assert!(manifest(&crates).ends_with(&format!("[dependencies]\nesker = \"{VERSION}\"\n")));
        assert_eq!(
            patches_of(&crates, Path::new("/x")),
            format!("[patch.crates-io]\nesker = {{ path = \"/x/esker-{VERSION}\" }}\n")
        );
    }
}
