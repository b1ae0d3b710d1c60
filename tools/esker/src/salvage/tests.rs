use std::fs;

use tempfile::TempDir;

use super::*;
use crate::args::{Database, WorkingArgs};

/// The size of a row above all limits in the tests.
const LARGE: usize = 9000;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

/// A database with a table that has a large row and a corrupt block, and rows in a WAL, including a large
/// one.
fn damaged(dir: &Path) {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.compression = CompressionType::None;
    let db = Db::open(&options, dir).unwrap();
    for number in 0..200 {
        db.put(key(number), format!("value {number:04}").repeat(10).as_bytes())
            .unwrap();
    }
    db.put(key(150), [b'L'; LARGE]).unwrap();
    db.flush().unwrap();
    db.put(b"in a WAL", b"small").unwrap();
    db.put(b"in a WAL, too", [b'L'; LARGE]).unwrap();
    db.put(b"in a WAL still", b"small").unwrap();
    let table = db.live_files()[0].path.clone();
    db.close().unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let at = bytes
        .windows(10)
        .position(|bytes| bytes == b"value 0020")
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&table, bytes).unwrap();
}

/// The output of a salvage, and the error it ends with.
fn salvaged(dir: &Path, to: &Path, limit: RowLimit) -> (String, Option<String>) {
    let args = SalvageArgs {
        database: Database {
            db: dir.to_path_buf(),
            wal_dir: None,
        },
        to: to.to_path_buf(),
        hex: false,
        working: WorkingArgs { progress: false },
    };
    let printed = dir.with_extension("out");
    let mut out = Out::to(fs::File::create(&printed).unwrap());
    let result = salvage_within(&args, limit, &mut out, &Progress::new());
    out.finish().unwrap();
    let error = match result {
        Ok(()) => None,
        Err(Failure::Error(error)) => Some(error.to_string()),
        Err(_) => panic!("not an error of salvage"),
    };
    (fs::read_to_string(printed).unwrap(), error)
}

/// A row longer than the limit is named and left out, wherever it is; all others are copied.
#[test]
fn rows_beyond_the_limit_are_named_and_left_out() {
    let place = TempDir::new().unwrap();
    let dir = place.path().join("db");
    damaged(&dir);
    for (limit, large) in [(RowLimit::MAX, true), (RowLimit::at_most(LARGE - 1), false)] {
        let to = place.path().join(format!("salvaged {large}"));
        let (said, error) = salvaged(&dir, &to, limit);
        assert!(error.is_some(), "a block is damaged: {said}");
        let named = |key: &str| said.lines().any(|line| line.trim_end().ends_with(key));
        assert_eq!(named("lost: key key0150"), !large, "{said}");
        let of_the_wal = "lost: that row, which the WAL there still holds";
        assert_eq!(named(of_the_wal), !large, "{said}");
        let db = Db::open_read_only(&Options::default(), &to).unwrap();
        let mut iter = db.iter();
        iter.seek_to_first();
        let mut rows = BTreeMap::new();
        while iter.valid() {
            rows.insert(iter.key().to_vec(), iter.value().len());
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(rows.get(&b"in a WAL"[..]), Some(&5));
        assert_eq!(rows.get(&b"in a WAL still"[..]), Some(&5));
        assert_eq!(rows.contains_key(&b"in a WAL, too"[..]), large);
        assert_eq!(rows.get(&key(150)) == Some(&LARGE), large);
        assert!(rows.contains_key(&key(199)));
        let whole = rows.keys().filter(|key| key.starts_with(b"key")).count();
        assert!((140..200).contains(&whole), "{whole} rows of the table");
    }
}
