//! The built C library, under the names that programs look for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};

/// The generations of the interface: `crates/capi/src/generation.rs` has their differences.
pub const GENERATIONS: &[&str] = &["7.8", "10.4", "10.9", "11.8"];

/// The generation of a library that is built without a named one.
pub const NEWEST: &str = "11.8";

/// The shared library and the archive, as Cargo builds them.
pub struct Library {
    /// The shared library.
    pub shared: PathBuf,
    /// The archive, which contains the Rust libraries besides the exported functions.
    pub archive: PathBuf,
}

/// One shared library under the name of a generation.
pub struct Named {
    /// The directory to link against: `-L` with this directory, and `-lrocksdb`.
    pub link: PathBuf,
    /// The directory in which programs find the library: `LD_LIBRARY_PATH`.
    pub load: PathBuf,
}

impl Library {
    /// Builds the library and the archive, with further arguments for Cargo.
    pub fn built(args: &[&str]) -> Result<Library, String> {
        Library::of_generation(NEWEST, args)
    }

    /// Builds the library and the archive for `generation`, under any name of the loaded file.
    pub fn of_generation(generation: &str, args: &[&str]) -> Result<Library, String> {
        if !GENERATIONS.contains(&generation) {
            return Err(format!(
                "no generation {generation}; there are {}",
                GENERATIONS.join(", ")
            ));
        }
        let mut command = shell::cargo();
        command.args(shell::build_of("esker-capi", args)).args(args);
        if generation != NEWEST {
            command.env("ESKER_ROCKSDB_GENERATION", generation);
        }
        shell::run(&mut command)?;
        let profile = if args.contains(&"--release") {
            "release"
        } else {
            "debug"
        };
        let target = shell::target().join(profile);
        Ok(Library {
            shared: target.join("libesker_capi.so"),
            archive: target.join("libesker_capi.a"),
        })
    }

    /// Returns the shared library under the name of `generation`, in `dir`.
    pub fn named(&self, generation: &str, dir: &Path) -> Result<Named, String> {
        let named = Named {
            link: dir.join("link"),
            load: dir.join("load"),
        };
        for dir in [&named.link, &named.load] {
            fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        }
        let name = format!("librocksdb.so.{generation}");
        let library = named.load.join(&name);
        fs::copy(&self.shared, &library).map_err(|error| format!("{}: {error}", library.display()))?;
        // A program records the internal name of the library that it was linked to. This substitute has the
        // same functions, which do nothing.
        let source = named.link.join("names.c");
        let functions: Vec<String> = functions()?
            .iter()
            .map(|name| format!("void {name}(void) {{}}\n"))
            .collect();
        fs::write(&source, functions.concat()).map_err(|error| format!("{}: {error}", source.display()))?;
        shell::run(
            shell::command("cc")
                .args(["-shared", "-fPIC", "-nostdlib", "-o"])
                .arg(named.link.join("librocksdb.so"))
                .arg(format!("-Wl,-soname,{name}"))
                .arg(&source),
        )?;
        Ok(named)
    }
}

/// Creates `to` from the archive that Cargo builds. Only the exported functions are global in its single
/// object, so that a program can also link another Rust library, or zstd. `scratch` is for intermediate
/// files.
pub fn relink(archive: &Path, to: &Path, scratch: &Path) -> Outcome {
    fs::create_dir_all(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let write = |name: &str, text: String| {
        let path = scratch.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<PathBuf, String>(path)
    };
    let names = functions()?;
    let roots = names.iter().map(|name| format!("-u {name}\n")).collect();
    let roots = write("roots", roots)?;
    let names = write("names", names.join("\n") + "\n")?;
    let whole = scratch.join("whole.o");
    // Groups are dissolved: of two groups with one name a linker keeps only one, and the group of another
    // library may differ.
    shell::run(
        shell::command("ld")
            .args(["-r", "--gc-sections", "--force-group-allocation"])
            .arg(format!("@{}", roots.display()))
            .arg("-o")
            .arg(&whole)
            .arg(archive),
    )?;
    // The compiler's own form of some functions of std, which older tools cannot read, is removed. So are
    // weak references of functions that the first step has dropped: it leaves them without a section, and
    // they would become references to symbols that no library has.
    let object = scratch.join("librocksdb.o");
    shell::run(
        shell::command("objcopy")
            .arg(format!("--keep-global-symbols={}", names.display()))
            .args([
                "--strip-debug",
                "--strip-unneeded",
                "--remove-section=.llvmbc",
                "--remove-section=.llvmcmd",
            ])
            .arg(&whole)
            .arg(&object),
    )?;
    let _ = fs::remove_file(to);
    shell::run(shell::command("ar").arg("rcsD").arg(to).arg(&object))
}

/// Returns the names of all functions that the library exports.
pub fn functions() -> Result<Vec<String>, String> {
    let home = shell::root().join("crates/capi");
    let mut names = Vec::new();
    for (table, column) in [("functions.tsv", 0), ("legacy.tsv", 1)] {
        let path = home.join(table);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        names.extend(
            rows.filter_map(|row| row.split('\t').nth(column))
                .map(str::to_owned),
        );
    }
    names.sort();
    names.dedup();
    Ok(names)
}
