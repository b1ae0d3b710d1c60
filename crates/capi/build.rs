//! The SONAME of the shared library: the one of RocksDB's CMake build, so that programs linked to that find it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librocksdb.so.11");
    }
}
