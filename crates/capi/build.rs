//! The generation of the interface, and its SONAME: the one in RocksDB's Makefile, which distributions use.

/// The existing generations: see `src/generation.rs`.
const GENERATIONS: [&str; 4] = ["7.8", "10.4", "10.9", "11.8"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ESKER_ROCKSDB_GENERATION");
    let generation = std::env::var("ESKER_ROCKSDB_GENERATION").unwrap_or_else(|_| "11.8".to_owned());
    if !GENERATIONS.contains(&generation.as_str()) {
        println!("cargo::error=ESKER_ROCKSDB_GENERATION={generation}: there are {GENERATIONS:?}");
    }
    println!("cargo::rustc-env=ESKER_ROCKSDB_GENERATION={generation}");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librocksdb.so.{generation}");
    }
}
