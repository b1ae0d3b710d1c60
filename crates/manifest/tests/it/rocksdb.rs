//! RocksDB reads the MANIFESTs we write.

use std::path::Path;
use std::process::Command;

use manifest::snapshot_edits;

use crate::support::{base64, current_manifest, replay, testdata, vectors, write_manifest};

fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn ldb(dir: &Path, args: &[&str]) -> Option<String> {
    let mut command = testkit::oracle::ldb()?;
    command.arg(format!("--db={}", dir.display()));
    command.args(args);
    Some(output(command))
}

/// Replaces a database's MANIFEST by one that begins with a snapshot.
fn rewrite_manifest(dir: &Path) {
    let mut state = replay(&current_manifest(dir)).unwrap();
    let number = state.next_file_number;
    state.next_file_number += 1;
    let path = base::filename::manifest(dir, number);
    write_manifest(&path, &snapshot_edits(&state));
    std::fs::remove_file(current_manifest(dir)).unwrap();
    std::fs::write(dir.join("CURRENT"), format!("MANIFEST-{number:06}\n")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn rocksdb_7_8_opens_what_we_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in vectors()["minimal_db"]["files_b64"].as_object().unwrap() {
        std::fs::write(dir.path().join(name), base64(bytes.as_str().unwrap())).unwrap();
    }
    rewrite_manifest(dir.path());
    let Some(scan) = ldb(dir.path(), &["scan"]) else {
        return;
    };
    assert_eq!(scan.lines().count(), 40, "{scan}");
    assert!(scan.starts_with("key00000 : value0\n"), "{scan}");

    for name in ["fv2_snappy_crc32c", "fv5_zstd"] {
        let dir = tempfile::tempdir().unwrap();
        copy(&testdata(&format!("rocksdb-11.9/{name}")), dir.path());
        testkit::judges::forget_options(dir.path());
        let before = ldb(dir.path(), &["scan", "--hex"]).unwrap_or_default();
        assert!(before.lines().count() > 2000, "{name}: {before}");
        rewrite_manifest(dir.path());
        let consistent = ldb(dir.path(), &["checkconsistency"]).unwrap_or_default();
        assert_eq!(consistent.trim(), "OK", "{name}");
        assert_eq!(
            ldb(dir.path(), &["scan", "--hex"]).unwrap_or_default(),
            before,
            "{name}"
        );
        // When RocksDB opens the database for writing, the files are neither refused nor deleted as obsolete.
        assert_eq!(ldb(dir.path(), &["compact"]).unwrap_or_default(), "");
        assert_eq!(
            ldb(dir.path(), &["scan", "--hex"]).unwrap_or_default(),
            before,
            "{name}"
        );
        let state = replay(&current_manifest(dir.path())).unwrap();
        assert!(state.families[&0].version.num_files() > 0);
    }
}

/// Opens the database for writing, so that RocksDB writes its own MANIFEST and deletes obsolete files; prints
/// the number of keys.
const COUNT_KEYS: &str = "
import sys, rocksdict
db = rocksdict.Rdict(sys.argv[1], options=rocksdict.Options(raw_mode=True))
db.flush()
db.compact_range(None, None)
print(sum(1 for _ in db.keys()))
";

#[test]
fn rocksdb_9_opens_what_we_snapshot() {
    for name in ["fv3_zstd", "fv5_zstd", "fv6_zstd"] {
        let dir = tempfile::tempdir().unwrap();
        copy(&testdata(&format!("rocksdb-11.9/{name}")), dir.path());
        let count = |dir: &Path| {
            let mut command = testkit::oracle::rocksdict()?;
            command.args(["-c", COUNT_KEYS]).arg(dir);
            let text = output(command);
            let count: usize = text.trim().parse().unwrap_or_else(|_| panic!("{name}: {text}"));
            Some(count)
        };
        let before = tempfile::tempdir().unwrap();
        copy(dir.path(), before.path());
        let Some(before) = count(before.path()) else {
            return;
        };
        assert!(before > 2000, "{name}");
        rewrite_manifest(dir.path());
        assert_eq!(count(dir.path()), Some(before), "{name}");
        let state = replay(&current_manifest(dir.path())).unwrap();
        assert!(
            state.families[&0].version.next_epoch_number().is_some(),
            "{name} keeps its epochs"
        );
    }
}
