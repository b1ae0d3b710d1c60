//! `esker feed` prints written rows as JSON lines.

use esker::{Db, Options, WriteBatch, WriteOptions};
use tempfile::TempDir;

use crate::common::*;

fn open(dir: &TempDir) -> Db {
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    Db::open(&options, dir.path()).unwrap()
}

#[test]
fn rows_are_json_and_a_cursor_goes_on() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    let users = db.create_column_family("us\"ers", &Default::default()).unwrap();
    let all = || look("feed", dir.path(), &[]).good();
    let cursor = |args: &[&str]| {
        let args = [&["--cursor", "reader"], args].concat();
        look("feed", dir.path(), &args).good()
    };
    assert_eq!(cursor(&[]), "");
    let mut batch = WriteBatch::new();
    batch.put(b"a\n", b"1");
    batch.delete_cf(&users, b"\xff\x00");
    batch.delete_range(b"b", b"c");
    batch.put_entity(b"e", &[(b"", b"2"), (b"name", b"3")]).unwrap();
    db.write(batch).unwrap();
    let first = concat!(
        r#"{"sequence":1,"batch":1,"family":"default","family_id":0,"operation":"put","key":"a\n","value":"1"}"#,
        "\n",
        r#"{"sequence":2,"batch":1,"family":"us\"ers","family_id":1,"operation":"delete","key_hex":"FF00"}"#,
        "\n",
        r#"{"sequence":3,"batch":1,"family":"default","family_id":0,"operation":"delete_range","key":"b","end":"c"}"#,
        "\n",
        r#"{"sequence":4,"batch":1,"family":"default","family_id":0,"operation":"put_entity","key":"e","#,
        r#""columns":[{"name":"","value":"2"},{"name":"name","value":"3"}]}"#,
        "\n"
    );
    assert_eq!(all(), first);
    assert_eq!(cursor(&[]), first);
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&users, b"c", b"", &unlogged).unwrap();
    db.put(b"d", b"").unwrap();
    db.flush().unwrap();
    db.wait_for_purge().unwrap();
    let rest = concat!(
        r#"{"gap":{"from":5,"to":5}}"#,
        "\n",
        r#"{"sequence":6,"batch":6,"family":"default","family_id":0,"operation":"put","key":"d","value":""}"#,
        "\n"
    );
    // The cursor keeps the WAL from deletion. A limit and a choice of families leave lines out.
    assert_eq!(all(), format!("{first}{rest}"));
    let only = look(
        "feed",
        dir.path(),
        &["--column_family", "us\"ers", "--since", "2"],
    )
    .good();
    assert_eq!(only.lines().count(), 2, "{only}");
    assert_eq!(
        cursor(&["--limit", "1"]),
        rest.split_inclusive('\n').next().unwrap()
    );
    let pins = esker("pins", dir.path(), &[]).good();
    assert!(
        pins.starts_with("cursor reader at sequence number 6 keeps "),
        "{pins}"
    );
    assert_eq!(cursor(&[]).lines().count(), 1);
    assert_eq!(cursor(&[]), "");
}

#[test]
fn what_cannot_be_is_said() {
    let dir = TempDir::new().unwrap();
    let error = look("feed", dir.path(), &[]).bad();
    assert!(error.contains("not a database"), "{error}");
    drop(open(&dir));
    let error = look("feed", dir.path(), &["--cursor", "a/b"]).bad();
    assert!(error.contains("a cursor's name"), "{error}");
    std::fs::create_dir_all(dir.path().join("archive")).unwrap();
    std::fs::write(dir.path().join("archive/old.cursor"), "").unwrap();
    let error = look("feed", dir.path(), &["--cursor", "old"]).bad();
    assert!(
        error.contains("damaged") && error.contains("old.cursor"),
        "{error}"
    );
}

#[test]
fn recorded_rows_show_what_they_replace() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    let recorded = WriteOptions {
        before_images: true,
        ..WriteOptions::default()
    };
    let family = db.default_column_family();
    db.put_cf_opt(&family, b"a", b"1", &recorded).unwrap();
    db.put_entity_cf_opt(&family, b"a", &[(b"x", b"2")], &recorded)
        .unwrap();
    db.delete_cf_opt(&family, b"a", &recorded).unwrap();
    let expected = [
        r#""operation":"put","key":"a","value":"1","before":null}"#,
        r#""operation":"put_entity","key":"a","columns":[{"name":"x","value":"2"}],"before":"1"}"#,
        r#""operation":"delete","key":"a","before_columns":[{"name":"x","value":"2"}]}"#,
    ];
    let shown = look("feed", dir.path(), &[]).good();
    for (line, end) in shown.lines().zip(expected) {
        assert!(line.ends_with(end), "{line}");
    }
    assert_eq!(shown.lines().count(), expected.len());
}
