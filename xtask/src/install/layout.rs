//! The directories of the C library's files, in which programs look for these files.

use std::fs;
use std::path::{Path, PathBuf};

use super::files;
use crate::library::{self, Library};
use crate::shell::{self, Outcome};

/// The name of the package. It is not RocksDB, but replaces it.
pub const PACKAGE: &str = "esker-librocksdb";

/// The directories of an installation.
pub struct Layout {
    /// The root directory of the installation.
    pub root: PathBuf,
    /// The directory of libraries, relative to the prefix of the installation.
    pub lib: &'static str,
    /// The prefix, relative to the root.
    pub prefix: &'static str,
    /// The older generations of the interface under whose names the library is installed, too.
    pub names: &'static [&'static str],
}

impl Layout {
    pub fn dir(&self, inside: &str) -> PathBuf {
        self.root.join(self.prefix).join(inside)
    }

    /// Returns the relative path to the prefix from a directory `levels` below that of libraries.
    fn up(&self, levels: usize) -> String {
        let levels = levels + self.lib.split('/').count();
        vec![".."; levels].join("/")
    }
}

/// Builds the library and copies all files to their places.
pub fn put(layout: &Layout, generation: &str, args: &[&str]) -> Outcome {
    let library = Library::of_generation(generation, args)?;
    let lib = layout.dir(layout.lib);
    fs::create_dir_all(&lib).map_err(|error| format!("{}: {error}", lib.display()))?;
    shared(layout, &library, generation)?;
    let scratch = crate::dist_place::place().join("scratch");
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

/// Installs the shared library under its names: that for programs built with RocksDB's Makefile, that for
/// programs built with CMake, and that for the linker.
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

/// Returns the release of RocksDB whose interface a generation has.
fn full(generation: &str) -> &'static str {
    match generation {
        "7.8" => "7.8.3",
        "10.4" => "10.4.2",
        "10.9" => "10.9.1",
        _ => "11.8.1",
    }
}
