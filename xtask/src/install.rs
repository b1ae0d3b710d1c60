//! `install` and `dist`: the C library with everything that programs are built with, under a prefix, as a
//! Debian package and as a tarball.

mod debian;
mod files;

use std::fs;
use std::path::{Path, PathBuf};

use crate::library::{self, GENERATIONS, Library, NEWEST};
use crate::shell::{self, Outcome};

/// The name of the package. It replaces RocksDB's packages and is named differently.
const PACKAGE: &str = "esker-librocksdb";

/// The places under a prefix.
pub struct Layout {
    /// The root of the installed files.
    pub root: PathBuf,
    /// The directory of libraries, from the prefix.
    pub lib: &'static str,
    /// The prefix, from the root.
    pub prefix: &'static str,
    /// The other generations that the library has a name for.
    pub names: &'static [&'static str],
}

impl Layout {
    fn dir(&self, inside: &str) -> PathBuf {
        self.root.join(self.prefix).join(inside)
    }

    /// The path to the prefix from a directory that is so many levels below the directory of libraries.
    fn up(&self, levels: usize) -> String {
        let levels = levels + self.lib.split('/').count();
        vec![".."; levels].join("/")
    }
}

/// `--prefix DIR [--generation G] [--debug]`.
pub fn run(words: &[&str]) -> Outcome {
    let (mut prefix, mut generation, mut args) = (None, NEWEST, vec!["--release"]);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--prefix" => prefix = words.next(),
            "--generation" => generation = words.next().ok_or("--generation needs a number")?,
            "--debug" => args.clear(),
            other => return Err(format!("not understood: {other}")),
        }
    }
    let prefix = prefix.ok_or("--prefix DIR is missing")?;
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let layout = Layout {
        root: here.join(prefix),
        lib: "lib",
        prefix: "",
        names: &[],
    };
    put(&layout, generation, &args)?;
    println!("installed in {}", layout.root.display());
    Ok(())
}

/// Builds the library and copies all files.
pub fn put(layout: &Layout, generation: &str, args: &[&str]) -> Outcome {
    let library = Library::of_generation(generation, args)?;
    let lib = layout.dir(layout.lib);
    fs::create_dir_all(&lib).map_err(|error| format!("{}: {error}", lib.display()))?;
    shared(layout, &library, generation)?;
    let scratch = shell::root().join("target/dist/scratch");
    library::relink(&library.archive, &lib.join("librocksdb.a"), &scratch)?;

    let version = full(generation);
    let write = |path: PathBuf, text: String| {
        let dir = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let doc = layout.dir(&format!("share/doc/{PACKAGE}"));
    let root = shell::root();
    let read =
        |path: PathBuf| fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
    let header = read(root.join("crates/capi/include/rocksdb/c.h"))?;
    write(
        layout.dir("include/rocksdb/c.h"),
        files::header(&header, generation)?,
    )?;
    write(
        lib.join("pkgconfig/rocksdb.pc"),
        files::pkg_config(&layout.up(1), version),
    )?;
    write(
        lib.join("cmake/rocksdb/RocksDBConfig.cmake"),
        files::cmake(&layout.up(2), generation),
    )?;
    write(
        lib.join("cmake/rocksdb/RocksDBConfigVersion.cmake"),
        files::cmake_version(version),
    )?;
    write(doc.join("NOTICE"), files::notice()?)?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        write(doc.join(licence), read(root.join(licence))?)?;
    }
    Ok(())
}

/// Installs the shared library and its names: for programs built with RocksDB's Makefile, for those built
/// with CMake, and for the linker.
fn shared(layout: &Layout, library: &Library, generation: &str) -> Outcome {
    let lib = layout.dir(layout.lib);
    let file = format!("librocksdb.so.{}", full(generation));
    shell::run(
        shell::command("objcopy")
            .arg("--strip-debug")
            .arg(&library.shared)
            .arg(lib.join(&file)),
    )?;
    let major = generation.split('.').next().unwrap_or(generation);
    let mut names = vec!["librocksdb.so".to_owned()];
    names.extend([generation, major].map(|number| format!("librocksdb.so.{number}")));
    names.extend(
        layout
            .names
            .iter()
            .map(|number| format!("librocksdb.so.{number}")),
    );
    names.sort();
    names.dedup();
    for name in names {
        let link = lib.join(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&file, &link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    Ok(())
}

/// The release of RocksDB that has the interface of a generation.
fn full(generation: &str) -> &'static str {
    match generation {
        "7.8" => "7.8.3",
        "10.4" => "10.4.2",
        "10.9" => "10.9.1",
        _ => "11.8.1",
    }
}

/// Builds the Debian package without optimisation and installs it under `root`, by dpkg; returns the
/// directory of its libraries.
pub fn debian_into(root: &Path) -> Result<PathBuf, String> {
    let package = debian::package(&root.join("dist"), env!("CARGO_PKG_VERSION"), &[])?;
    let target = root.join("root");
    let state = target.join("var/lib/dpkg");
    for dir in ["info", "updates"] {
        let dir = state.join(dir);
        fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let status = state.join("status");
    fs::write(&status, "").map_err(|error| format!("{}: {error}", status.display()))?;
    shell::output(
        shell::command("dpkg")
            .arg(format!("--root={}", target.display()))
            .args(["--force-depends", "--force-not-root", "--install"])
            .arg(&package),
    )?;
    Ok(target.join("usr").join(debian::LIB))
}

/// Builds the package and the tarball.
pub fn dist(args: &[&str]) -> Outcome {
    let dist = shell::root().join("target/dist");
    let version = env!("CARGO_PKG_VERSION");
    let package = debian::package(&dist, version, args)?;
    println!("{}", package.display());

    let name = format!("{PACKAGE}-{version}-linux-{}", std::env::consts::ARCH);
    let root = dist.join(&name);
    let _ = fs::remove_dir_all(&root);
    let layout = Layout {
        root,
        lib: "lib",
        prefix: "",
        names: GENERATIONS,
    };
    put(&layout, NEWEST, args)?;
    let tarball = dist.join(format!("{name}.tar.gz"));
    shell::run(
        shell::command("tar")
            .args(["--owner=0", "--group=0", "--sort=name", "-czf"])
            .arg(&tarball)
            .arg("-C")
            .arg(&dist)
            .arg(&name),
    )?;
    println!("{}", tarball.display());
    Ok(())
}
