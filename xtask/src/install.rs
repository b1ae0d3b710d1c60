//! `install` and `dist library`: install the C library, with all files that builds of programs need, under
//! a prefix, as a Debian package or as a tarball.

mod debian;
mod files;
pub mod jar;
mod layout;
pub mod repackage;

use std::fs;
use std::path::{Path, PathBuf};

use layout::{Layout, PACKAGE, put};

use crate::dist_place;
use crate::library::{GENERATIONS, NEWEST};
use crate::shell::{self, Outcome};

/// Installs with `--prefix DIR [--generation G] [--debug]`.
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

/// Builds the Debian package without optimization, and installs it under `root` by dpkg. Returns the
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
    let place = dist_place::place();
    let version = env!("CARGO_PKG_VERSION");
    debian::package(&place, version, args)?;

    let name = format!("{PACKAGE}-{version}-linux-{}", std::env::consts::ARCH);
    let root = place.join(&name);
    let _ = fs::remove_dir_all(&root);
    let layout = Layout {
        root,
        lib: "lib",
        prefix: "",
        names: GENERATIONS,
    };
    put(&layout, NEWEST, args)?;
    let tarball = place.join(format!("{name}.tar.gz"));
    // gzip's header must have neither the name of the file nor the time, so that equal contents give equal
    // bytes.
    shell::run(
        shell::command("tar")
            .args([
                "--owner=0",
                "--group=0",
                "--numeric-owner",
                "--sort=name",
                "--mode=u+w,go-w",
            ])
            .arg(format!("--mtime=@{}", dist_place::epoch()))
            .args(["--use-compress-program", "gzip --no-name -9", "-cf"])
            .arg(&tarball)
            .arg("-C")
            .arg(&place)
            .arg(&name),
    )?;
    Ok(())
}
