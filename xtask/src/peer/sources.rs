//! The sources of db_bench and of its libraries, in the crates that Cargo has fetched.

use std::path::{Path, PathBuf};

use crate::shell;

/// Everything that is compiled.
#[derive(Debug)]
pub struct Sources {
    /// The release of RocksDB.
    pub release: String,
    pub parts: Vec<SourceGroup>,
}

/// A set of source files that are compiled with the same flags.
#[derive(Debug)]
pub struct SourceGroup {
    /// The prefix of the names of the objects.
    pub name: &'static str,
    pub root: PathBuf,
    pub files: Vec<PathBuf>,
    pub includes: Vec<PathBuf>,
    /// `NAME` or `NAME=VALUE`.
    pub defines: Vec<&'static str>,
}

/// The macros that RocksDB's build sets for Linux and for its libraries.
const DEFINES: &[&str] = &[
    "GFLAGS=1",
    "SNAPPY",
    "LZ4",
    "ZSTD",
    "ZLIB",
    "BZIP2",
    "OS_LINUX",
    "HAVE_ALIGNED_NEW",
    "HAVE_UINT128_EXTENSION",
    "ROCKSDB_PLATFORM_POSIX",
    "ROCKSDB_LIB_IO_POSIX",
    "ROCKSDB_SCHED_GETCPU_PRESENT",
    "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
    "ROCKSDB_FALLOCATE_PRESENT",
    "ROCKSDB_RANGESYNC_PRESENT",
    "ROCKSDB_MALLOC_USABLE_SIZE",
    "ROCKSDB_PTHREAD_ADAPTIVE_MUTEX",
];

/// db_bench itself, and the sources that it needs besides the library.
const BENCH: &[&str] = &[
    "tools/db_bench.cc",
    "tools/db_bench_tool.cc",
    "tools/tool_hooks.cc",
    "tools/simulated_hybrid_file_system.cc",
    "test_util/mock_time_env.cc",
    "test_util/testutil.cc",
];

const BZIP2: &[&str] = &[
    "blocksort.c",
    "huffman.c",
    "crctable.c",
    "randtable.c",
    "compress.c",
    "decompress.c",
    "bzlib.c",
];

impl Sources {
    /// Looks for the sources where Cargo has the crates of `Cargo.lock`.
    ///
    /// # Errors
    /// A crate that is not fetched, or that lacks an expected file.
    pub fn find() -> Result<Sources, String> {
        let metadata = ["metadata", "--format-version", "1", "--locked"];
        let text = shell::output(shell::cargo().args(metadata))?;
        let crates = |name: &str| directory_of(&text, name);
        let rocksdb_sys = crates("librocksdb-sys")?;
        let (lz4, zstd) = (
            crates("lz4-sys")?.join("liblz4/lib"),
            crates("zstd-sys")?.join("zstd/lib"),
        );
        let zlib = crates("libz-sys")?.join("src/zlib");
        let bzip2 = crates("bzip2-sys")?;
        let bzip2 = bzip2.join(format!("bzip2-{}", after_plus(&bzip2).unwrap_or_default()));
        let snappy = rocksdb_sys.join("snappy");
        let release = after_plus(&rocksdb_sys).ok_or("librocksdb-sys does not name its release")?;
        let mut includes = vec![
            rocksdb_sys.join("rocksdb/include"),
            rocksdb_sys.join("rocksdb"),
            rocksdb_sys.join("rocksdb/third-party/gtest-1.8.1/fused-src"),
            rocksdb_sys.clone(),
        ];
        includes.extend([&snappy, &lz4, &zstd, &zlib, &bzip2].map(Clone::clone));
        let of_c = |name, root: &Path, files, defines: &[&'static str]| SourceGroup {
            name,
            root: root.to_path_buf(),
            files,
            includes: vec![root.to_path_buf()],
            defines: defines.to_vec(),
        };
        let zstd_parts = ["common", "compress", "decompress", "dictBuilder"];
        let zstd_files: Result<Vec<_>, _> = zstd_parts
            .iter()
            .map(|part| in_directory(&zstd.join(part)))
            .collect();
        let parts = vec![
            SourceGroup {
                name: "rocksdb",
                files: of_rocksdb(&rocksdb_sys)?,
                root: rocksdb_sys.clone(),
                includes,
                defines: DEFINES.to_vec(),
            },
            SourceGroup {
                name: "snappy",
                files: ["snappy.cc", "snappy-sinksource.cc", "snappy-c.cc"]
                    .map(|file| snappy.join(file))
                    .to_vec(),
                includes: vec![snappy.clone(), rocksdb_sys],
                root: snappy,
                defines: vec![],
            },
            of_c("lz4", &lz4, in_directory(&lz4)?, &[]),
            of_c("zstd", &zstd, zstd_files?.concat(), &["XXH_PRIVATE_API="]),
            of_c("zlib", &zlib, in_directory(&zlib)?, &["HAVE_UNISTD_H"]),
            of_c("bzip2", &bzip2, BZIP2.map_in(&bzip2), &["_FILE_OFFSET_BITS=64"]),
        ];
        Ok(Sources { release, parts })
    }
}

trait MapIn {
    fn map_in(&self, dir: &Path) -> Vec<PathBuf>;
}

impl MapIn for [&str] {
    fn map_in(&self, dir: &Path) -> Vec<PathBuf> {
        self.iter().map(|file| dir.join(file)).collect()
    }
}

/// The sources of the library as the crate lists them, the tool, and the crate's own file with release and
/// commit.
fn of_rocksdb(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let list = dir.join("rocksdb_lib_sources.txt");
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let library = text.lines().map(str::trim);
    let library = library.filter(|line| !line.is_empty() && *line != "util/build_version.cc");
    let mut files: Vec<PathBuf> = library
        .chain(BENCH.iter().copied())
        .map(|file| dir.join("rocksdb").join(file))
        .collect();
    files.push(dir.join("build_version.cc"));
    Ok(files)
}

/// The C and assembler files in `dir`, in the order of their names.
fn in_directory(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "c" || extension == "S")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the part after the plus sign: `11.8.1` of `librocksdb-sys-0.19.0+11.8.1`.
fn after_plus(dir: &Path) -> Option<String> {
    let name = dir.file_name()?.to_string_lossy().into_owned();
    name.split_once('+').map(|(_, version)| version.to_owned())
}

/// The directory of the package `name`, in the output of `cargo metadata`.
fn directory_of(metadata: &str, name: &str) -> Result<PathBuf, String> {
    let paths = metadata.split("\"manifest_path\":\"").skip(1);
    let manifests = paths.filter_map(|rest| rest.split('"').next().map(Path::new));
    let dirs = manifests.filter_map(Path::parent);
    let mut found = dirs.filter(|dir| {
        let file_name = dir.file_name().unwrap_or_default().to_string_lossy();
        let version = file_name
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    });
    found
        .next()
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("Cargo knows no crate {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_found_by_their_names() {
        let metadata = r#"{"packages":[{"manifest_path":"/r/zstd-sys-2.1.2+zstd.1.5.7/Cargo.toml","x":1},
            {"manifest_path":"/r/zstd-sys-more-1.0.0/Cargo.toml"},{"manifest_path":"/r/bzip2-sys-0.1.13+1.0.8/Cargo.toml"}]}"#;
        let found = |name: &str| directory_of(metadata, name).unwrap();
        assert_eq!(found("zstd-sys"), Path::new("/r/zstd-sys-2.1.2+zstd.1.5.7"));
        assert_eq!(after_plus(&found("bzip2-sys")).as_deref(), Some("1.0.8"));
        assert_eq!(
            directory_of(metadata, "lz4-sys").unwrap_err(),
            "Cargo knows no crate lz4-sys"
        );
    }
}
