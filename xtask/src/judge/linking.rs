//! The installed library in use: C, Go and Rust programs linked to the shared library and to the archive,
//! through `rocksdb.pc` and the CMake files, and the Debian package unpacked and installed into an empty
//! root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Count, Fault, turns};
use crate::{install, shell};

/// The number of tests.
pub const TESTS: usize = 11;

struct Linking {
    scratch: PathBuf,
    count: Count,
}

/// Builds and runs the programs.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    if !words.is_empty() {
        return Err(Fault::broken(format!("not understood: {}", words.join(" "))));
    }
    let scratch = shell::root().join(super::SCRATCH).join("linking");
    let _ = fs::remove_dir_all(&scratch);
    let prefix = scratch.join("prefix");
    fs::create_dir_all(&prefix).map_err(|error| format!("{}: {error}", prefix.display()))?;
    install::run(&["--prefix", &prefix.display().to_string(), "--debug"])?;
    let mut linking = Linking {
        scratch,
        count: Count::default(),
    };
    linking.c(&prefix);
    linking.cmake(&prefix);
    linking.go(&prefix);
    linking.rust(&prefix);
    linking.debian();
    Ok(linking.count)
}

impl Linking {
    /// Builds a program by `build`, to which its path is appended, and runs it over an empty directory.
    fn try_one(&mut self, name: &str, mut build: Command, lib: &Path) {
        let program = self.scratch.join(name);
        let outcome = shell::output(build.arg(&program)).map(drop);
        self.used(name, &program, lib, outcome);
    }

    /// Runs a program if it was built.
    fn used(&mut self, name: &str, program: &Path, lib: &Path, built: Result<(), String>) {
        let place = self.scratch.join(format!("{name}.db"));
        let outcome = built.and_then(|()| {
            let mut command = shell::command(program);
            shell::output(command.arg(&place).env("LD_LIBRARY_PATH", lib)).map(drop)
        });
        self.note(name, outcome);
    }

    fn note(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.count.passed += 1,
            Err(what) => self.count.failed.push(format!("{name}: {what}")),
        }
    }

    fn c(&mut self, prefix: &Path) {
        let source = shell::root().join("crates/capi/tests/c/rows.c");
        let flags = |more: &[&str]| {
            let mut command = shell::command("pkg-config");
            command
                .args(["--cflags", "--libs"])
                .args(more)
                .arg("rocksdb")
                .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
            let flags = shell::output(&mut command).unwrap_or_else(|error| error);
            flags.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let mut shared = shell::command("cc");
        shared.arg(&source).args(flags(&[])).arg("-o");
        self.try_one("c-shared", shared, &prefix.join("lib"));
        // The archive has to be named, because the linker prefers the shared library.
        let mut archive = shell::command("cc");
        let flags = flags(&["--static"]);
        let flags = flags
            .iter()
            .map(|flag| flag.replace("-lrocksdb", "-l:librocksdb.a"));
        archive.arg(&source).args(flags).arg("-o");
        self.try_one("c-archive", archive, &self.scratch.join("nowhere"));
    }

    fn cmake(&mut self, prefix: &Path) {
        let source = shell::root().join("crates/capi/tests/c");
        let project = self.scratch.join("cmake");
        let text = format!(
            "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfind_package(RocksDB 7 REQUIRED)\n\
             add_executable(shared {0}/rows.c)\ntarget_link_libraries(shared RocksDB::rocksdb-shared)\n\
             add_executable(archive {0}/rows.c)\ntarget_link_libraries(archive RocksDB::rocksdb)\n",
            source.display()
        );
        let built = super::package::write(&project.join("CMakeLists.txt"), &text).and_then(|()| {
            shell::output(
                shell::command("cmake")
                    .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
                    .arg("-S")
                    .arg(&project)
                    .arg("-B")
                    .arg(project.join("build")),
            )?;
            shell::output(shell::command("cmake").arg("--build").arg(project.join("build"))).map(drop)
        });
        for name in ["shared", "archive"] {
            let program = project.join("build").join(name);
            let lib = prefix.join("lib");
            self.used(&format!("cmake-{name}"), &program, &lib, built.clone());
        }
    }

    fn go(&mut self, prefix: &Path) {
        let source = shell::root().join("xtask/src/judge/linking/program.go");
        let lib = prefix.join("lib");
        for (name, library) in [
            ("go-shared", "-lrocksdb"),
            ("go-archive", "-l:librocksdb.a -lpthread -ldl -lm"),
        ] {
            if shell::which("go").is_none() {
                self.count.not_built += 1;
                continue;
            }
            let program = self.scratch.join(name);
            let mut command = shell::command("go");
            command
                .arg("build")
                .arg("-o")
                .arg(&program)
                .arg(&source)
                .env("GO111MODULE", "off")
                .env("CGO_ENABLED", "1")
                .env("CGO_CFLAGS", format!("-I{}", prefix.join("include").display()))
                .env("CGO_LDFLAGS", format!("-L{} {library}", lib.display()));
            let built = shell::output(&mut command).map(drop);
            self.used(name, &program, &lib, built);
        }
    }

    fn rust(&mut self, prefix: &Path) {
        let source = shell::root().join("xtask/src/judge/linking/program.rs.txt");
        let lib = prefix.join("lib");
        for (name, kind) in [
            ("rust-shared", "dylib=rocksdb"),
            ("rust-archive", "static=rocksdb"),
        ] {
            let mut command = shell::command("rustc");
            command
                .args(["--edition=2024", "--crate-name=program", "-l", kind, "-L"])
                .arg(&lib)
                .arg(&source)
                .arg("-o");
            self.try_one(name, command, &lib);
        }
    }

    /// Installs the package by dpkg into an empty root. A program that was linked to Debian's 7.8 finds its
    /// library there.
    fn debian(&mut self) {
        let outcome = install::debian_into(&self.scratch.join("debian"));
        let lib = outcome.as_ref().ok().cloned().unwrap_or_default();
        let outcome = outcome.and_then(|_| {
            for name in [
                "librocksdb.so.7.8",
                "librocksdb.so.11.8",
                "librocksdb.so.11",
                "librocksdb.a",
            ] {
                let path = lib.join(name);
                fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            Ok(())
        });
        let installed = outcome.is_ok();
        self.note("debian-package", outcome);
        if installed {
            self.bare(&self.scratch.join("debian/root"), &lib);
        }
    }

    /// Runs two programs in `root`, which has the package, the system's C library, and nothing else: one that
    /// was linked to Debian's 7.8, and one that was linked to this library.
    fn bare(&mut self, root: &Path, lib: &Path) {
        let old = turns::theirs().map_err(String::from);
        let program = Program {
            name: "old-program",
            source: "xtask/src/judge/turns.c",
            generation: "-DROCKSDB_GENERATION=708",
            // The second run opens the database that the first run wrote.
            runs: &[&["/old", "0"], &["/old", "1"]],
        };
        let outcome = old.and_then(|library| program.run_in(root, lib, &library));
        self.note("debian-old-program", outcome);
        let program = Program {
            name: "new-program",
            source: "crates/capi/tests/c/rows.c",
            generation: "-DROCKSDB_GENERATION=1108",
            runs: &[&["/new"]],
        };
        let outcome = program.run_in(root, lib, &lib.join("librocksdb.so"));
        self.note("debian-new-program", outcome);
    }
}

/// A C program that runs in a root of its own.
struct Program {
    name: &'static str,
    source: &'static str,
    generation: &'static str,
    /// The arguments of each run.
    runs: &'static [&'static [&'static str]],
}

impl Program {
    /// Builds the program against `library`, and runs it in `root`, which has Esker's library in `lib`.
    fn run_in(&self, root: &Path, lib: &Path, library: &Path) -> Result<(), String> {
        let home = shell::root();
        shell::run(
            shell::command("cc")
                .args(["-std=gnu11", self.generation, "-o"])
                .arg(root.join(self.name))
                .arg(format!("-I{}", home.join("crates/capi/include").display()))
                .arg(home.join(self.source))
                .arg(library),
        )?;
        copy_system(root, &lib.join("librocksdb.so.11.8"))?;
        for arguments in self.runs {
            let mut command = shell::command("chroot");
            command.arg(root).arg(format!("/{}", self.name)).args(*arguments);
            shell::output(&mut command)?;
        }
        Ok(())
    }
}

/// Copies the libraries of the system that `library` needs to the same places in `root`.
fn copy_system(root: &Path, library: &Path) -> Result<(), String> {
    let needed = shell::output(shell::command("ldd").arg(library))?;
    for path in needed.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(path.trim_start_matches('/'));
        let dir = place.parent().unwrap_or(root);
        fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        fs::copy(path, &place).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}
