//! RocksJava's own tests, which are in the package `librocksdb-sys` 0.17.3 with the rest of RocksDB 10.4.2,
//! against the jar of that release.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Count, Fault, jvm, package};
use crate::shell::{self, Outcome};

/// The time limit of a class of tests, in seconds.
const CLASS_SECONDS: &str = "300";

/// The tests that do not pass, by their class, with the reason; `*` stands for any name.
pub const NOT_PASSED: &[(&str, &str)] = &[
    (
        "DBOptionsTest.sstFileManager",
        "There is no manager of SST files.",
    ),
    ("OptionsTest.sstFileManager", "There is no manager of SST files."),
    ("SstFileManagerTest.*", "There is no manager of SST files."),
    (
        "SstFileReaderTest.*",
        "Tables are not read outside of a database.",
    ),
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
        "RocksDBTest.clipColumnFamily",
        "The library for RocksJava does not reach `Db::clip_column_family`.",
    ),
    (
        "RocksDBTest.getApproximateMemTableStats, getApproximateMemTableStatsSingleKey",
        "Rows of memtables are not counted by range.",
    ),
    (
        "RocksDBTest.getLiveFiles",
        "It wants the size that RocksDB's MANIFEST has.",
    ),
    (
        "TransactionLogIteratorTest.getBatch, transactionLogIteratorCheckAfterRestart",
        "A WAL that a flush has made obsolete is not kept in an archive.",
    ),
    (
        "TransactionTest.waitingTxns",
        "A transaction does not tell whom it waits for.",
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

/// Runs each class of tests in a JVM of its own. With `names`, runs only those classes, without a count.
pub fn run(names: &[&str]) -> Result<Count, Fault> {
    let library = jvm::library()?;
    let project = jvm::project("rocksjava")?;
    let package = package::fetch("librocksdb-sys", "0.17.3+10.4.2")?;
    let tests = package.join("rocksdb/java/src/test/java");
    let mut sources = Vec::new();
    java_files(&tests, &mut sources)?;
    sources.sort();
    let judge = shell::root().join("crates/jni/judges/rocksjava/Judge.java");
    let mut compiler = shell::command("javac");
    compiler.args(["-nowarn", "-d"]).arg(&project.classes);
    compiler.arg("-cp").arg(&project.path).arg(judge).args(&sources);
    shell::output(&mut compiler)?;
    let (mut passed, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for source in &sources {
        let Some(class) = test_class(&tests, source) else {
            continue;
        };
        let simple = class.rsplit('.').next().unwrap_or(&class);
        if !names.is_empty() && !names.contains(&simple) {
            continue;
        }
        let mut java = jvm::java(&project, Some(&library));
        // Some tests expect that an assertion of the classes fails.
        java.args(["-ea", "Judge", &class]);
        let mut limited = shell::command("timeout");
        // Some tests leave databases in their working directory.
        limited
            .current_dir(jvm::empty("jvm-rocksjava-scratch")?)
            .arg(CLASS_SECONDS)
            .arg(java.get_program())
            .args(java.get_args());
        let output = limited.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("PASS"), Some(test), _) => {
                    passed.insert(test.to_owned());
                }
                (Some("FAIL"), Some(test), reason) => {
                    failed.insert(test.to_owned());
                    println!("    failed: {test}: {}", reason.unwrap_or(""));
                }
                _ => {}
            }
        }
        if !output.status.success() {
            failed.insert(class.clone());
            println!("    failed: {class}: {}", output.status);
        }
    }
    passed.retain(|test| !failed.contains(test));
    Ok(Count {
        passed: passed.len(),
        failed: failed.into_iter().collect(),
        ..Count::default()
    })
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
