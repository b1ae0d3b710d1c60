//! The texts that are installed with the library.

use crate::shell;

/// Returns the text of the C header, with the generation of the installed library.
pub fn header(text: &str, generation: &str) -> Result<String, String> {
    let (major, minor) = generation.split_once('.').ok_or("a generation has two numbers")?;
    let line = "#define ROCKSDB_GENERATION 1108\n";
    if !text.contains(line) {
        return Err(format!("c.h has no line {line:?}"));
    }
    Ok(text.replace(line, &format!("#define ROCKSDB_GENERATION {major}{minor:0>2}\n")))
}

/// Returns `rocksdb.pc`. `up` leads from its directory to the prefix, so that the tree can be moved.
pub fn pkg_config(up: &str, version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/{up}\n\
         exec_prefix=${{prefix}}\n\
         includedir=${{prefix}}/include\n\
         libdir=${{pcfiledir}}/..\n\
         \n\
         Name: rocksdb\n\
         Description: RocksDB-compatible embedded key-value store: Esker's C library\n\
         URL: {}\n\
         Version: {version}\n\
         Libs: -L${{libdir}} -lrocksdb\n\
         Libs.private: -lpthread -ldl -lm\n\
         Cflags: -I${{includedir}}\n",
        env!("CARGO_PKG_REPOSITORY")
    )
}

/// Returns `RocksDBConfig.cmake`, with RocksDB's names of targets.
pub fn cmake(up: &str, generation: &str) -> String {
    format!(
        "# The targets of RocksDB's own file: RocksDB::rocksdb is the archive, RocksDB::rocksdb-shared the shared library.\n\
         include(CMakeFindDependencyMacro)\n\
         find_dependency(Threads)\n\
         get_filename_component(_rocksdb_lib \"${{CMAKE_CURRENT_LIST_DIR}}/../..\" ABSOLUTE)\n\
         get_filename_component(_rocksdb_prefix \"${{CMAKE_CURRENT_LIST_DIR}}/{up}\" ABSOLUTE)\n\
         if(NOT TARGET RocksDB::rocksdb)\n  \
           add_library(RocksDB::rocksdb STATIC IMPORTED)\n  \
           set_target_properties(RocksDB::rocksdb PROPERTIES\n    \
             IMPORTED_LOCATION \"${{_rocksdb_lib}}/librocksdb.a\"\n    \
             INTERFACE_INCLUDE_DIRECTORIES \"${{_rocksdb_prefix}}/include\"\n    \
             INTERFACE_LINK_LIBRARIES \"Threads::Threads;${{CMAKE_DL_LIBS}};m\")\n\
         endif()\n\
         if(NOT TARGET RocksDB::rocksdb-shared)\n  \
           add_library(RocksDB::rocksdb-shared SHARED IMPORTED)\n  \
           set_target_properties(RocksDB::rocksdb-shared PROPERTIES\n    \
             IMPORTED_LOCATION \"${{_rocksdb_lib}}/librocksdb.so\"\n    \
             IMPORTED_SONAME \"librocksdb.so.{generation}\"\n    \
             INTERFACE_INCLUDE_DIRECTORIES \"${{_rocksdb_prefix}}/include\")\n\
         endif()\n\
         unset(_rocksdb_lib)\n\
         unset(_rocksdb_prefix)\n"
    )
}

/// Returns `RocksDBConfigVersion.cmake`: a program that requires an older release accepts this one.
pub fn cmake_version(version: &str) -> String {
    format!(
        "set(PACKAGE_VERSION \"{version}\")\n\
         if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n  \
           set(PACKAGE_VERSION_COMPATIBLE FALSE)\n\
         else()\n  \
           set(PACKAGE_VERSION_COMPATIBLE TRUE)\n  \
           if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)\n    \
             set(PACKAGE_VERSION_EXACT TRUE)\n  \
           endif()\n\
         endif()\n"
    )
}

/// Returns `NOTICE`: the packages in the library, with their licences.
pub fn notice() -> Result<String, String> {
    Ok(format!(
        "Esker's C library is compatible with RocksDB. It is not RocksDB, and no part of it is RocksDB's code: names and signatures are those of\n\
         RocksDB's C interface. RocksDB is a trademark of its owners.\n\n{}",
        contents("esker-capi")?
    ))
}

/// Returns `NOTICE` of the library for RocksJava.
pub fn notice_of_jni() -> Result<String, String> {
    Ok(format!(
        "Esker's native library stands under the classes of org.rocksdb. It is not RocksDB, and no part of it is RocksDB's code: names and\n\
         signatures are those of RocksJava's native methods. RocksDB is a trademark of its owners.\n\n{}",
        contents("esker-jni")?
    ))
}

/// Returns Esker's licences, and the third-party packages in a library with their licences.
fn contents(package: &str) -> Result<String, String> {
    let tree = shell::output(shell::cargo().args([
        "tree", "-p", package, "--prefix", "none", "--edges", "normal", "--format", "{p}|{l}",
    ]))?;
    let mut packages: Vec<String> = tree
        .lines()
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('|'))
        // In the output of `cargo tree` crates of the workspace have their directory after their version.
        .filter(|(package, _)| !package.contains('('))
        .map(|(package, licence)| format!("* {package}: {licence}\n"))
        .collect();
    packages.sort();
    packages.dedup();
    Ok(format!(
        "Esker is licensed under the Apache License 2.0 or the MIT licence, as you choose. The library holds these packages, under their licences:\n\n{}",
        packages.concat()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_of_the_generation() {
        let text = "#ifndef ROCKSDB_GENERATION\n#define ROCKSDB_GENERATION 1108\n#endif\n";
        assert!(header(text, "7.8").unwrap().contains("ROCKSDB_GENERATION 708\n"));
        assert!(
            header(text, "10.9")
                .unwrap()
                .contains("ROCKSDB_GENERATION 1009\n")
        );
        assert_eq!(header(text, "11.8").unwrap(), text);
        assert!(header("", "11.8").is_err());
    }

    #[test]
    fn the_notice_names_what_is_inside_and_not_ourselves() {
        let notice = notice().unwrap();
        assert!(notice.contains("* zstd-sys v"), "{notice}");
        assert!(!notice.contains("esker-"), "{notice}");
    }
}
