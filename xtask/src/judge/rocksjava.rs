//! RocksJava's own tests, which are in the package `librocksdb-sys` 0.17.3 with the rest of RocksDB 10.4.2,
//! against the jar of that release.

use std::path::{Path, PathBuf};

use super::classes::{self, Classes, Framework};
use super::{Count, Fault, jvm, package};
use crate::shell::{self, Outcome};

/// The tests that do not pass, by their class, with the reason; `*` stands for any name.
pub const NOT_PASSED: &[(&str, &str)] = &[
    (
        "DefaultEnvTest.threadList, threadList_integration",
        "Threads of Esker tell no status.",
    ),
    (
        "EventListenerTest.onColumnFamilyHandleDeletionStarted",
        "RocksDB tells of a handle that it makes and gives back itself while it opens a database. Esker makes none.",
    ),
    (
        "EventListenerTest.testAllCallbacksInvocation, testEnabledCallbacks",
        "They call a native method that RocksDB's library has for its tests.",
    ),
    (
        "RocksDBExceptionTest.*",
        "They call a native method that RocksDB's library has for its tests.",
    ),
    (
        "NativeComparatorWrapperTest.rountrip",
        "They call a native method that RocksDB's library has for its tests.",
    ),
    (
        "EventListenerTest.onFlushCompleted",
        "Passes, but for a flush that a background thread begins before it hears that a user wants it: its reason is a full write buffer.",
    ),
    (
        "InfoLogLevelTest.testInfoLogLevel",
        "It looks for a line of RocksDB's in LOG, `DB pointer`.",
    ),
    (
        "MutableDBOptionsTest.listDBOptions, listDBOptions2",
        "There is no option `daily_offpeak_time_utc`.",
    ),
    (
        "MutableOptionsGetSetTest.testGetMutableBlobOptionsAfterCreate, testGetMutableBlobOptionsAfterSet, testGetMutableBlobOptionsAfterSetCF, testGetMutableDBOptionsAfterSet",
        "They set options that Esker has nothing behind, as `arena_block_size` and `writable_file_max_buffer_size`, in an open database: refused by name.",
    ),
    (
        "NativeLibraryLoaderTest.*",
        "They unpack the library of RocksDB's jar, which may be taken out of a jar on a machine that runs judges.",
    ),
    (
        "OptimisticTransactionTest.elapsedTime, TransactionTest.elapsedTime",
        "A transaction's age comes from the coarse clock, and is 0 for some milliseconds.",
    ),
    (
        "OptionsUtilTest.loadLatestTableFormatOptions*, loadTableFormatOptionsFromFile*",
        "They want tables of `format_version` 8, which there is not.",
    ),
    (
        "OptionsUtilTest.loadLatestOptions, loadOptionsFromFile",
        "`paranoid_checks=false` is kept, and not written to the OPTIONS file.",
    ),
    (
        "PerfContextTest.testGetBlockReadCpuTime, testGetPostProcessTime",
        "Esker does not keep these counts.",
    ),
    (
        "RocksDBTest.getLiveFiles",
        "It wants the size that RocksDB's MANIFEST has.",
    ),
    (
        "RocksDBTest.getOutOfArrayMaxSizeValue",
        "A value of more than 2 GiB is refused where the merge makes it, and not where Java would take it: the error has other words.",
    ),
    (
        "RocksDBTest.setOptions",
        "It sets a `write_buffer_size` of 2048; Esker's least is 4096.",
    ),
    (
        "SstFileWriterTest.generateSstFileWithJavaComparator, generateSstFileWithNativeComparator, ingestSstFile, ingestSstFile_cf",
        "They want a file that is written to have no bytes yet; Esker counts what it has taken.",
    ),
    (
        "VerifyChecksumsTest.verifyChecksumsGet, verifyChecksumsInIteration",
        "They count the blocks whose checksum is computed; Esker verifies a block more.",
    ),
    (
        "WriteBatchTest.blobOperation, multipleBatchOperationsDirect, testAppendOperation",
        "They call a native method that RocksDB's library has for its tests.",
    ),
];

/// Runs the classes of tests, or the named ones.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let library = jvm::library()?;
    let project = classes::project("rocksjava", Framework::JUnit)?;
    let package = package::fetch("librocksdb-sys", "0.17.3+10.4.2")?;
    let tests = package.join("rocksdb/java/src/test/java");
    let mut sources = Vec::new();
    java_files(&tests, &mut sources)?;
    sources.sort();
    let mut compiler = shell::command("javac");
    compiler.args(["-nowarn", "-d"]).arg(&project.classes);
    compiler.arg("-cp").arg(&project.path).args(&sources);
    shell::output(&mut compiler)?;
    let classes = Classes {
        project: "rocksjava",
        framework: Framework::JUnit,
        names: sources
            .iter()
            .filter_map(|source| test_class(&tests, source))
            .collect(),
        seconds: 300,
        // Java's assertions are enabled, because some tests expect that an assertion of the classes fails.
        options: &["-ea"],
        beside_rocksdb: false,
    };
    classes::run(&classes, &project, &library, words)
}

fn java_files(dir: &Path, found: &mut Vec<PathBuf>) -> Outcome {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            java_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "java") {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns the class of tests in a source file, if it can be run.
fn test_class(root: &Path, source: &Path) -> Option<String> {
    let path = source.strip_prefix(root).ok()?.to_str()?.strip_suffix(".java")?;
    let is_test = path.ends_with("Test") && !path.ends_with("AbstractTransactionTest");
    is_test.then(|| path.replace('/', "."))
}
