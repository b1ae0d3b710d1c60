//! `dist`: everything that is given away besides the crates: the C library as a Debian package and a tarball,
//! the jars, the wheel, a bill of materials of each library, and the checksums of all.
//!
//! The same commit gives the same bytes, in any directory: paths are remapped, dates are those of the commit,
//! and names in archives are sorted. `--twice` builds everything again elsewhere, and compares.

mod sbom;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist_place::PLACE;
use crate::install;
use crate::python;
use crate::shell::{self, Outcome};

/// The verb of the worker process that builds a part, which [`run`] starts with a clean environment.
pub const WORKER: &str = "dist-worker";

/// The file of checksums.
const SUMS: &str = "SHA256SUMS";

/// A part of the results.
struct ResultPart {
    name: &'static str,
    /// The tools without which it is skipped.
    tools: &'static [&'static str],
    make: fn(&[&str]) -> Outcome,
}

const PARTS: &[ResultPart] = &[
    ResultPart {
        name: "library",
        tools: &["dpkg-deb", "tar", "gzip", "ld", "objcopy", "ar"],
        make: install::dist,
    },
    ResultPart {
        name: "jvm",
        tools: &["javac", "jar", "mvn", "objcopy"],
        make: install::jar::dist,
    },
    ResultPart {
        name: "python",
        tools: &["python3"],
        make: python::dist,
    },
    ResultPart {
        name: "sbom",
        tools: &[],
        make: sbom::dist,
    },
];

/// Makes the parts that `words` name, or all, in processes with the environment of a reproducible build.
/// `--debug` builds without optimization; `--twice` builds a second time, and fails if a byte differs.
pub fn run(words: &[&str]) -> Outcome {
    let twice = words.contains(&"--twice");
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "--twice").collect();
    parts(&words)?;
    let target = shell::target();
    let first = shell::root().join("target/dist");
    build(&words, &target.join("dist-build"), &first)?;
    sums(&first)?;
    if twice {
        let again = target.join("dist-again");
        build(&words, &again.join("build"), &again.join("dist"))?;
        compare(&results(&first)?, &results(&again.join("dist"))?)?;
        println!("the second build has the same bytes");
    }
    for name in results(&first)?.keys() {
        println!("{}", first.join(name).display());
    }
    Ok(())
}

/// Returns the parts that `words` name, or all, and Cargo's arguments.
fn parts<'a>(words: &[&'a str]) -> Result<(Vec<&'static ResultPart>, Vec<&'a str>), String> {
    let mut named = Vec::new();
    let mut args = vec!["--release"];
    for word in words {
        match (*word, PARTS.iter().find(|part| part.name == *word)) {
            ("--debug", _) => args.clear(),
            (_, Some(part)) => named.push(part),
            _ => return Err(format!("not understood: {word}")),
        }
    }
    if named.is_empty() {
        named = PARTS.iter().collect();
    }
    Ok((named, args))
}

/// Makes the parts, for the process of [`WORKER`].
pub fn work(words: &[&str]) -> Outcome {
    let (parts, args) = parts(words)?;
    for part in parts {
        match part.tools.iter().find(|tool| shell::which(tool).is_none()) {
            Some(missing) => eprintln!("skipped: {}: no {missing} on this machine", part.name),
            None => (part.make)(&args)?,
        }
    }
    Ok(())
}

fn build(words: &[&str], target: &Path, place: &Path) -> Outcome {
    // Results of other commits are ignored.
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = shell::command(program);
    command.arg(WORKER).args(words).env(PLACE, place);
    reproducible(&mut command, target)?;
    shell::run(&mut command)
}

/// Sets what a build must not take from its machine: directories, and the time.
fn reproducible(command: &mut Command, target: &Path) -> Outcome {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.ok_or("neither CARGO_HOME nor HOME is set")?;
    // A later prefix takes precedence over an earlier one that contains it.
    let prefixes = [
        (shell::root(), "/esker"),
        (target.to_path_buf(), "/build"),
        (home, "/cargo"),
    ];
    let flags = |option: &str| -> Vec<String> {
        prefixes
            .iter()
            .map(|(from, to)| format!("{option}={}={to}", from.display()))
            .collect()
    };
    let date = shell::output(shell::command("git").args(["log", "-1", "--format=%ct"]))?;
    command
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            flags("--remap-path-prefix").join("\x1f"),
        )
        .env("CFLAGS", flags("-ffile-prefix-map").join(" "))
        .env("SOURCE_DATE_EPOCH", date.trim())
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    Ok(())
}

/// Returns the paths of the results of `dist`, and their SHA-256. Directories are left out, because they are
/// intermediate.
fn results(place: &Path) -> Result<BTreeMap<String, String>, String> {
    let entries = fs::read_dir(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .filter(|name| name != SUMS)
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("{}: nothing was made", place.display()));
    }
    let sums = shell::output(shell::command("sha256sum").current_dir(place).args(&names))?;
    Ok(sums
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, name)| (name.to_owned(), sum.to_owned()))
        .collect())
}

/// Writes the checksums in the form that `sha256sum --check` reads.
fn sums(place: &Path) -> Outcome {
    let lines: String = results(place)?
        .iter()
        .map(|(name, sum)| format!("{sum}  {name}\n"))
        .collect();
    let path = place.join(SUMS);
    fs::write(&path, lines).map_err(|error| format!("{}: {error}", path.display()))
}

/// Fails with the names of the results that differ.
fn compare(first: &BTreeMap<String, String>, again: &BTreeMap<String, String>) -> Outcome {
    let names: Vec<&str> = first
        .keys()
        .chain(again.keys().filter(|name| !first.contains_key(*name)))
        .filter(|name| first.get(*name) != again.get(*name))
        .map(String::as_str)
        .collect();
    match names[..] {
        [] => Ok(()),
        _ => Err(format!("two builds differ: {}", names.join(", "))),
    }
}

/// Everything is built twice without optimization.
pub fn nightly() -> Outcome {
    run(&["--debug", "--twice"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_parts() {
        let names = |words: &[&str]| {
            let (parts, args) = parts(words).unwrap();
            let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
            (names.join(" "), args.join(" "))
        };
        assert_eq!(names(&[]), ("library jvm python sbom".into(), "--release".into()));
        assert_eq!(names(&["jvm", "--debug"]), ("jvm".into(), String::new()));
        assert!(parts(&["wheel"]).is_err());
    }

    #[test]
    fn builds_that_differ_are_named() {
        let of = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
            files
                .iter()
                .map(|(name, sum)| ((*name).to_owned(), (*sum).to_owned()))
                .collect()
        };
        let first = of(&[("a", "1"), ("b", "2")]);
        assert!(compare(&first, &first.clone()).is_ok());
        let error = compare(&first, &of(&[("a", "1"), ("b", "3"), ("c", "4")])).unwrap_err();
        assert_eq!(error, "two builds differ: b, c");
    }

    #[test]
    fn a_build_takes_no_directory_into_its_results() {
        let mut command = Command::new("true");
        reproducible(&mut command, Path::new("/elsewhere")).unwrap();
        let value = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name);
            found
                .and_then(|(_, value)| value)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        let flags = value("CARGO_ENCODED_RUSTFLAGS");
        let root = format!("--remap-path-prefix={}=/esker\x1f", shell::root().display());
        assert!(flags.starts_with(&root), "{flags}");
        assert!(flags.contains("--remap-path-prefix=/elsewhere=/build"), "{flags}");
        assert!(value("CFLAGS").contains("-ffile-prefix-map=/elsewhere=/build"));
        assert!(value("SOURCE_DATE_EPOCH").parse::<u64>().is_ok());
    }
}
