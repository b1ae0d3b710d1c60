//! The `rocksdb` crate's own tests, from the registry's package, over the C library: `librocksdb-sys` gets
//! the library's directory and the header of its release, and builds no C++.

use std::fs;
use std::path::{Path, PathBuf};

use super::package::{copy, fetch, write};
use super::{Count, Fault};
use crate::library::{self, Library};
use crate::shell;

/// The form of the linked library.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Shared,
    Archive,
}

/// Runs the tests of 0.25 over the shared library.
pub fn of_0_25(words: &[&str]) -> Result<Count, Fault> {
    run("0.25.0", "11.8", Form::Shared, words)
}

/// Runs the tests of 0.25 over the archive.
pub fn archive_of_0_25(words: &[&str]) -> Result<Count, Fault> {
    run("0.25.0", "11.8", Form::Archive, words)
}

/// Runs the tests of 0.24, whose header is RocksDB 10.4's, over the shared library.
pub fn of_0_24(words: &[&str]) -> Result<Count, Fault> {
    run("0.24.0", "10.4", Form::Shared, words)
}

/// Runs the tests of 0.24 over the archive.
pub fn archive_of_0_24(words: &[&str]) -> Result<Count, Fault> {
    run("0.24.0", "10.4", Form::Archive, words)
}

/// Runs the unit and integration tests, each in a process of its own, because a crashing test ends its
/// process. The words are names of tests.
fn run(version: &str, generation: &str, form: Form, words: &[&str]) -> Result<Count, Fault> {
    let package = fetch("rocksdb", version)?;
    let name = match form {
        Form::Shared => "shared",
        Form::Archive => "archive",
    };
    let scratch = shell::root()
        .join(super::SCRATCH)
        .join(format!("rocksdb-{version}-{name}"));
    let _ = fs::remove_dir_all(scratch.join("package/tests"));
    for dir in ["src", "tests"] {
        copy(&package.join(dir), &scratch.join("package").join(dir), &|text| {
            text
        })?;
    }
    for file in ["Cargo.toml", "README.md"] {
        let text = super::package::read(&package.join(file))?;
        // The package is its own workspace, because it is inside Esker's.
        let tail = if file == "Cargo.toml" {
            "\n[workspace]\n"
        } else {
            ""
        };
        write(&scratch.join("package").join(file), &format!("{text}{tail}"))?;
    }
    let lib = scratch.join("lib");
    let (link, load) = match form {
        Form::Shared => {
            let named = Library::built(&[])?.named(generation, &lib)?;
            (named.link, named.load)
        }
        Form::Archive => {
            fs::create_dir_all(&lib).map_err(|error| format!("{}: {error}", lib.display()))?;
            let library = Library::of_generation(generation, &[])?;
            library::relink(
                &library.archive,
                &lib.join("librocksdb.a"),
                &scratch.join("relink"),
            )?;
            (lib.clone(), lib)
        }
    };
    snappy(&link)?;
    let programs = build(&scratch.join("package"), &link, form)?;
    let mut count = Count::default();
    for program in programs {
        let list = shell::output(
            shell::command(&program)
                .arg("--list")
                .env("LD_LIBRARY_PATH", &load),
        )?;
        let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
        for test in tests.filter(|name| words.is_empty() || words.contains(name)) {
            one(&program, test, &scratch, (&link, &load), &mut count)?;
        }
    }
    Ok(count)
}

/// Runs one test. `link` is the directory of the library to link, `load` that of the library to load.
fn one(
    program: &Path,
    test: &str,
    scratch: &Path,
    (link, load): (&Path, &Path),
    count: &mut Count,
) -> Result<(), Fault> {
    let file = program.file_stem().unwrap_or_default().to_string_lossy();
    let file = file.rsplit_once('-').map_or("", |(file, _)| file);
    let output = shell::command(program)
        .args(["--exact", test])
        .current_dir(scratch.join("package"))
        .env("CARGO_MANIFEST_DIR", scratch.join("package"))
        .env("CARGO_PKG_NAME", "rocksdb")
        .env("LD_LIBRARY_PATH", load)
        // The build script gets these variables, because the tests of code that must not compile build the
        // crate again.
        .env("ROCKSDB_LIB_DIR", link)
        .env("SNAPPY_LIB_DIR", link)
        .env("CXXSTDLIB", "c")
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains("... ignored") {
        count.ignored += 1;
    } else if output.status.success() {
        count.passed += 1;
    } else {
        count.failed.push(format!("{file}::{test}"));
        let log = scratch
            .join("logs")
            .join(format!("{file}-{}", test.replace("::", "-")));
        write(
            &log,
            &format!("{said}{}", String::from_utf8_lossy(&output.stderr)),
        )?;
    }
    Ok(())
}

/// Creates an empty library with Snappy's name: the crate links to it, but calls Snappy only through this
/// library.
fn snappy(dir: &Path) -> Result<(), Fault> {
    let source = dir.join("snappy.c");
    write(&source, "")?;
    let mut command = shell::command("cc");
    command.args(["-shared", "-nostdlib", "-o"]);
    Ok(shell::run(command.arg(dir.join("libsnappy.so")).arg(&source))?)
}

/// Builds the test programs and returns their paths.
fn build(package: &Path, link: &Path, form: Form) -> Result<Vec<PathBuf>, Fault> {
    let mut command = shell::cargo();
    command
        .args(["test", "--no-run", "--lib", "--tests"])
        .current_dir(package)
        .env("CARGO_TARGET_DIR", shell::target().join("rocksdb-crate"))
        .env("ROCKSDB_LIB_DIR", link)
        .env("SNAPPY_LIB_DIR", link)
        // The build script links the C library in the place of the C++ standard library, which Esker's
        // library does not need.
        .env("CXXSTDLIB", "c");
    if form == Form::Archive {
        // Any value selects an archive; a new value makes cargo link the crate again.
        let archive = link.join("librocksdb.a");
        let made = fs::metadata(&archive).and_then(|file| file.modified());
        command.env("ROCKSDB_STATIC", format!("{made:?}"));
    }
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(Fault::of_registry(said));
    }
    let programs: Vec<PathBuf> = said
        .lines()
        .filter(|line| line.trim_start().starts_with("Executable "))
        .filter_map(|line| line.rsplit_once('(')?.1.strip_suffix(')'))
        .map(|path| package.join(path))
        .collect();
    match programs.is_empty() {
        true => Err(Fault::broken(said)),
        false => Ok(programs),
    }
}
