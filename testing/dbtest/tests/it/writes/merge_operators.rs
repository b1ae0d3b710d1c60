//! RocksDB's merge operators by name: created from the OPTIONS file, with RocksDB's results.

use std::path::Path;
use std::sync::Arc;

use base::merge::{StringAppend, builtin};
use dbtest::by_hand::flush;
use esker::{Db, Options, WriteOptions};
use tempfile::TempDir;
use testkit::oracle;

const NAMES: [&str; 6] = [
    "max",
    "bytesxor",
    "sortlist",
    "stringappend",
    "stringappendtest",
    "put",
];

/// Creates a family for each operator, with a value and operands in a table and in the WAL.
fn write(path: &Path) -> Db {
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, path).unwrap();
    let add = WriteOptions::default();
    for name in NAMES {
        let mut family = options.column_family.clone();
        family.merge_operator = builtin(name);
        let family = db.create_column_family(name, &family).unwrap();
        db.put_cf_opt(&family, b"k", b"5", &add).unwrap();
        db.merge_cf_opt(&family, b"k", b"2,9", &add).unwrap();
        // RocksDB's sortlist operator appends the second row of a scan to the first one.
        let second = name != "sortlist";
        if second {
            db.merge_cf_opt(&family, b"new", b"7", &add).unwrap();
        }
        db.flush_cf(std::slice::from_ref(&family)).unwrap();
        db.merge_cf_opt(&family, b"k", b"3,4", &add).unwrap();
        db.merge_cf_opt(&family, b"k", b"1,8", &add).unwrap();
        if second {
            db.merge_cf_opt(&family, b"new", b"1", &add).unwrap();
        }
    }
    let mut family = options.column_family.clone();
    family.merge_operator = Some(Arc::new(StringAppend::new(":")));
    let family = db.create_column_family("colon", &family).unwrap();
    db.merge_cf_opt(&family, b"k", b"a", &add).unwrap();
    db.merge_cf_opt(&family, b"k", b"b", &add).unwrap();
    flush(&db);
    db
}

fn scan(db: &Db, family: &str) -> String {
    let family = db.column_family(family).unwrap();
    let mut iter = db.iter_cf(&family);
    let mut out = String::new();
    iter.seek_to_first();
    while iter.valid() {
        let [key, value] = [iter.key(), iter.value()]
            .map(|bytes| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>());
        out += &format!("0x{key} : 0x{value}\n");
        iter.next();
    }
    iter.status().unwrap();
    out
}

#[test]
fn operators_come_out_of_the_options_file_and_merge_as_rocksdb_does() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let before: Vec<String> = {
        let db = write(&path);
        NAMES
            .iter()
            .chain(&["colon"])
            .map(|name| scan(&db, name))
            .collect()
    };
    assert_eq!(before[0], "0x6B : 0x35\n0x6E6577 : 0x37\n");
    // The expected result of the sortlist operator is 1,3,4,8, without the base value.
    assert_eq!(before[2], "0x6B : 0x312C332C342C38\n");
    assert_eq!(before[6], "0x6B : 0x613A62\n");
    // The options name no operator: it comes from the OPTIONS file, with its delimiter.
    let db = Db::open(&Options::default(), &path).unwrap();
    for (name, before) in NAMES.iter().chain(&["colon"]).zip(&before) {
        assert_eq!(&scan(&db, name), before, "{name}");
    }
    drop(db);
    for (name, before) in NAMES.iter().chain(&["colon"]).zip(&before) {
        let Some(mut ldb) = oracle::ldb() else {
            return;
        };
        let db = format!("--db={}", path.display());
        let family = format!("--column_family={name}");
        let output = ldb
            .args([&db, &family, "--hex", "--try_load_options", "scan"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            &*said,
            before,
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
