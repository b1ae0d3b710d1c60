//! `peer`: RocksDB's own db_bench, built as fast as this machine can build it, for fair comparisons.
//!
//! Distributions ship releases that are years old, built for any processor and, in Debian, with assertions.
//! The crate `librocksdb-sys`, which `bench-compare` links, has the whole source of a recent release, with
//! its db_bench. Other crates have the compression libraries. So the program uses nothing of the system but
//! the C and C++ libraries, gflags and, if they are installed, jemalloc and liburing.
//!
//! It is `target/peer/db_bench`; `target/peer/BUILD` records its sources, compiler and flags. Objects are
//! kept, and are built again when their source or command changes.

mod objects;
mod sources;
mod toolchain;

use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};
use objects::Unit;
use sources::Sources;
use toolchain::{Machine, Toolchain};

/// The directory of the program and its objects, from the root.
const DIR: &str = "target/peer";

/// The program that a comparison with RocksDB runs, if it has been built.
pub fn program() -> Option<PathBuf> {
    let path = shell::root().join(DIR).join("db_bench");
    path.is_file().then_some(path)
}

/// Builds RocksDB's db_bench. With `--dry-run` nothing is installed or built, and the commands are printed.
pub fn run(words: &[&str]) -> Outcome {
    let dry = match words {
        [] => false,
        ["--dry-run"] => true,
        _ => return Err(format!("peer takes --dry-run, and not {}", words.join(" "))),
    };
    let machine = Machine::at(&shell::root().join(DIR).join("probe"));
    let mut toolchain = Toolchain::choose(&machine);
    if !dry && !toolchain.as_ref().is_ok_and(Toolchain::has_all) {
        match crate::apt::install(toolchain::PACKAGES) {
            Ok(()) => toolchain = Toolchain::choose(&machine),
            Err(reason) => eprintln!("note: {reason}"),
        }
    }
    let toolchain = toolchain?;
    let sources = Sources::find()?;
    let dir = shell::root().join(DIR);
    let units = units(&sources, &toolchain, &dir.join("objects"));
    let link = link(&units, &toolchain, &dir.join("db_bench"));
    let described = format!(
        "RocksDB {}, {} sources: {}\n",
        sources.release,
        units.len(),
        toolchain.text()
    );
    print!("{described}");
    if dry {
        units
            .iter()
            .for_each(|unit| println!("{}", unit.command.join(" ")));
        println!("{}", link.join(" "));
        return Ok(());
    }
    objects::build(&units)?;
    shell::run(shell::command(&link[0]).args(&link[1..]))?;
    let failed = |error: std::io::Error| format!("{DIR}: {error}");
    std::fs::write(dir.join("BUILD"), described).map_err(failed)?;
    println!("{}", dir.join("db_bench").display());
    Ok(())
}

/// Returns the sources with the objects in `dir` that they are compiled into.
fn units(sources: &Sources, toolchain: &Toolchain, dir: &Path) -> Vec<Unit> {
    let mut units = Vec::new();
    for part in &sources.parts {
        for source in &part.files {
            let name = source.strip_prefix(&part.root).unwrap_or(source);
            let name = name.to_string_lossy().replace('/', "__");
            let object = dir.join(format!("{}__{name}.o", part.name));
            let mut command = toolchain.compile(source, &part.defines);
            command.extend(
                part.includes
                    .iter()
                    .map(|include| format!("-I{}", include.display())),
            );
            if source.ends_with("build_version.cc") {
                // This renames the crate's variable that enables io_uring: db_bench defines another variable
                // of that name, for its flag.
                command.push("-DRocksDbIOUringEnable=rocksdb_sys_io_uring_enable".into());
            }
            command.extend(["-c".into(), source.display().to_string()]);
            command.extend(["-o".into(), object.display().to_string()]);
            units.push(Unit {
                source: source.clone(),
                object,
                command,
            });
        }
    }
    // The largest sources are compiled first, so that no thread has to compile one alone at the end.
    let size = |unit: &Unit| std::fs::metadata(&unit.source).map_or(0, |metadata| metadata.len());
    units.sort_by_key(|unit| std::cmp::Reverse(size(unit)));
    units
}

fn link(units: &[Unit], toolchain: &Toolchain, program: &Path) -> Vec<String> {
    let mut objects: Vec<String> = units
        .iter()
        .map(|unit| unit.object.display().to_string())
        .collect();
    objects.sort();
    let mut command = vec![toolchain.cxx.clone()];
    command.extend(toolchain.link_flags());
    command.extend(["-o".into(), program.display().to_string()]);
    command.extend(objects);
    command.extend(toolchain.libraries());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directories of the crates in Cargo's cache; `cargo fetch` fills it.
    #[test]
    fn a_dry_run_knows_every_source() {
        let sources = match Sources::find() {
            Ok(sources) => sources,
            Err(reason) => {
                testkit::skip(&format!("the source of RocksDB: {reason}"));
                return;
            }
        };
        let toolchain = Toolchain::of_gcc("g++");
        let units = units(&sources, &toolchain, Path::new("/objects"));
        for unit in &units {
            assert!(unit.source.is_file(), "{}", unit.source.display());
        }
        let has = |name: &str| units.iter().any(|unit| unit.source.ends_with(name));
        for name in [
            "tools/db_bench.cc",
            "tools/db_bench_tool.cc",
            "test_util/testutil.cc",
            "db/db_impl/db_impl.cc",
            "build_version.cc",
            "snappy.cc",
            "lib/lz4.c",
            "compress/zstd_compress.c",
            "inflate.c",
            "bzlib.c",
        ] {
            assert!(has(name), "{name}");
        }
        // Objects are named by the path of their source, because two files of RocksDB have one name.
        let mut objects: Vec<_> = units.iter().map(|unit| &unit.object).collect();
        objects.sort();
        objects.dedup();
        assert_eq!(objects.len(), units.len());
        assert!(
            !has("util/build_version.cc") && units.len() > 380,
            "{}",
            units.len()
        );
        let link = link(&units, &toolchain, Path::new("/db_bench"));
        assert_eq!(
            link.iter().filter(|word| word.ends_with(".o")).count(),
            units.len()
        );
        assert_eq!(sources.release.split('.').count(), 3, "{}", sources.release);
    }
}
