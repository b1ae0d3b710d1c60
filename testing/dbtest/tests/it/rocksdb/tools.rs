//! RocksDB's tools, without any flag, read the files of a program that sets no options.

use esker::{Db, Options, WriteOptions};
use tempfile::TempDir;
use testkit::judges;

fn rows(db: &Db, name: &str) -> usize {
    let family = db.column_family(name).unwrap();
    let mut iter = db.iter_cf(&family);
    iter.seek_to_first();
    let mut rows = 0;
    while iter.valid() {
        rows += 1;
        iter.next();
    }
    iter.status().unwrap();
    rows
}

#[test]
fn they_take_what_is_written_with_default_options() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("db");
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, &place).unwrap();
    let two = db.create_column_family("two", &options.column_family).unwrap();
    let default = db.default_column_family();
    let writes = WriteOptions::default();
    for round in 0..3 {
        for i in 0..500 {
            let value = format!("value {round} {i}").into_bytes();
            db.put(format!("key{i:04}").as_bytes(), &value).unwrap();
            db.put_cf_opt(&two, format!("{:04}", i * 7).as_bytes(), &value, &writes)
                .unwrap();
        }
        db.delete(format!("key{round:04}").as_bytes()).unwrap();
        db.delete_range_cf_opt(&two, b"0100", b"0200", &writes).unwrap();
        match round {
            0 => db.flush().unwrap(),
            1 => db.compact_range_cf(&default, None, None).unwrap(),
            // The other rows stay in the WAL.
            _ => {}
        }
    }
    let counts = [rows(&db, "default"), rows(&db, "two")];
    assert_eq!(counts, [499, 486]);
    db.close().unwrap();
    drop(db);
    judges::look_at(&place, &[("default", counts[0]), ("two", counts[1])]);
    let db = Db::open(&options, &place).unwrap();
    assert_eq!([rows(&db, "default"), rows(&db, "two")], counts);
    db.verify_checksum().unwrap();
}
