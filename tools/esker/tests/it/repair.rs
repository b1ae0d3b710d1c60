//! `esker repair`, and RocksDB's results on repaired databases.

use std::fs;
use std::path::Path;

use testkit::oracle;

use crate::common::*;

fn forget(dir: &Path) {
    for name in listing(dir).into_keys() {
        if name == "CURRENT" || name.starts_with("MANIFEST-") {
            fs::remove_file(dir.join(name)).unwrap();
        }
    }
}

#[test]
fn every_row_comes_back_and_the_result_is_a_whole_database() {
    for name in fixtures() {
        let dir = copy(&name);
        forget(dir.path());
        let said = esker("repair", dir.path(), &[]).good();
        assert!(!said.contains("LOST") && !said.contains("PART"), "{name}: {said}");
        esker("verify", dir.path(), &["--quiet"]).good();
        assert_same(&name, &scan(&name, dir.path()).good(), &expected(&name));
    }
}

#[test]
fn a_damaged_table_is_named() {
    let dir = copy("cfs_fv7_lz4");
    forget(dir.path());
    let path = dir.path().join("000025.sst");
    let mut bytes = fs::read(&path).unwrap();
    bytes[50] ^= 1;
    fs::write(&path, bytes).unwrap();
    let ran = esker("repair", dir.path(), &[]);
    let lost = dir.path().join("lost/000025.sst");
    assert!(
        ran.stdout.contains(&format!("LOST {}\n", lost.display())),
        "{}",
        ran.stdout
    );
    let error = ran.bad();
    assert!(
        error.contains("1 file") && error.contains("000025.sst"),
        "{error}"
    );
    assert!(lost.exists());
    esker("verify", dir.path(), &["--quiet"]).good();
    scan("cfs_fv7_lz4", dir.path()).good();
}

/// RocksDB 7.8 reads these repaired databases.
#[test]
fn ldb_opens_what_is_repaired() {
    for name in ["fv2_snappy_crc32c", "fv3_zstd", "fv4_zstd", "fv5_zstd"] {
        let dir = copy(name);
        let scan = |dir: &Path| {
            let mut ldb = oracle::ldb()?;
            ldb.arg(format!("--db={}", dir.display())).args(["scan", "--hex"]);
            let output = ldb.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{name}: {text} {}",
                String::from_utf8_lossy(&output.stderr)
            );
            Some(text)
        };
        forget(dir.path());
        testkit::judges::forget_options(dir.path());
        esker("repair", dir.path(), &[]).good();
        let Some(said) = scan(dir.path()) else {
            return;
        };
        let rows: String = expected(name)
            .lines()
            .map(|row| {
                let fields: Vec<&str> = row.split('\t').collect();
                format!("0x{} : 0x{}\n", fields[1], fields[2])
            })
            .collect();
        assert_same(name, &said, &rows);
    }
}
