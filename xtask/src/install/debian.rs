//! The Debian package.

use std::fs;
use std::path::{Path, PathBuf};

use super::layout::{Layout, PACKAGE, put};
use crate::library::{GENERATIONS, NEWEST};
use crate::shell;

/// The directory of Debian's libraries, relative to `/usr`.
pub const LIB: &str = if cfg!(target_arch = "aarch64") {
    "lib/aarch64-linux-gnu"
} else {
    "lib/x86_64-linux-gnu"
};

/// Builds the package and returns its path. It replaces Debian's own packages: one file has the names of all
/// generations. Debian's tools of RocksDB need its C++ interface, which Esker does not have, so that they
/// conflict with the package.
pub fn package(dist: &Path, version: &str, args: &[&str]) -> Result<PathBuf, String> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let root = dist.join("deb");
    let _ = fs::remove_dir_all(&root);
    let layout = Layout {
        root: root.clone(),
        lib: LIB,
        prefix: "usr",
        names: GENERATIONS,
    };
    put(&layout, NEWEST, args)?;
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).map_err(|error| format!("{}: {error}", control.display()))?;
    let write = |name: &str, text: &str| {
        let path = control.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("control", &text(version, architecture))?;
    write("triggers", "activate-noawait ldconfig\n")?;
    let doc = layout.dir(&format!("share/doc/{PACKAGE}"));
    fs::rename(doc.join("NOTICE"), doc.join("copyright")).map_err(|error| error.to_string())?;
    let package = dist.join(format!("{PACKAGE}_{version}_{architecture}.deb"));
    shell::run(
        shell::command("dpkg-deb")
            // This variable sets the dates of all files in the package.
            .env("SOURCE_DATE_EPOCH", crate::dist_place::epoch())
            // xz, which is the default, takes minutes for the archives, and its bytes depend on the number of
            // processors.
            .args(["--build", "--root-owner-group", "-Zgzip", "-z6"])
            .arg(&root)
            .arg(&package),
    )?;
    Ok(package)
}

fn text(version: &str, architecture: &str) -> String {
    let theirs = "librocksdb7.8, librocksdb-dev";
    format!(
        "Package: {PACKAGE}\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The Esker contributors <esker@localhost>\n\
         Section: libs\n\
         Priority: optional\n\
         Homepage: {}\n\
         Depends: libc6, libgcc-s1\n\
         Provides: librocksdb7.8 (= 7.8.3), librocksdb-dev (= 11.8.1), librocksdb10.4 (= 10.4.2), librocksdb10.9 (= 10.9.1), librocksdb11.8 (= 11.8.1)\n\
         Conflicts: {theirs}, rocksdb-tools\n\
         Replaces: {theirs}\n\
         Description: RocksDB-compatible C library of Esker, without any C++\n \
         The functions of rocksdb/c.h in a shared and a static library, for programs\n \
         written for RocksDB 7.8 to 11.8, over the same databases. Programs that use\n \
         RocksDB's C++ interface, as rocksdb-tools do, need RocksDB itself.\n",
        env!("CARGO_PKG_REPOSITORY")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_takes_the_place_of_debians() {
        let text = text("0.1.0", "amd64");
        for line in [
            "Package: esker-librocksdb\n",
            "Conflicts: librocksdb7.8, librocksdb-dev, rocksdb-tools\n",
            "Replaces: librocksdb7.8, librocksdb-dev\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.ends_with('\n'));
    }
}
