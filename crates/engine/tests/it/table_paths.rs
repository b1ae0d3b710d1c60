//! Tables in separate directories: `db_paths` and `cf_paths`.

use std::path::{Path, PathBuf};

use esker::{CheckpointOptions, ColumnFamilyOptions, Db, DbPath, ErrorKind, Options};

fn options(home: &Path) -> Options {
    let mut options = Options {
        create_if_missing: true,
        create_missing_column_families: true,
        db_paths: vec![DbPath::new(home.join("tables"), u64::MAX)],
        ..Options::default()
    };
    let own = ColumnFamilyOptions {
        cf_paths: vec![DbPath::new(home.join("own/tables"), u64::MAX)],
        enable_blob_files: true,
        min_blob_size: 100,
        ..ColumnFamilyOptions::default()
    };
    options.column_families.insert("own".to_owned(), own);
    options
}

fn endings(dir: &Path) -> Vec<String> {
    let mut found: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path: PathBuf| Some(path.extension()?.to_str()?.to_owned()))
        .filter(|ending| ending == "sst" || ending == "blob")
        .collect();
    found.sort();
    found
}

#[test]
fn tables_live_and_go_in_their_directories() {
    let home = tempfile::tempdir().unwrap();
    let (home, path) = (home.path(), home.path().join("db"));
    let options = options(home);
    let db = Db::open(&options, &path).unwrap();
    let own = db.column_family("own").unwrap();
    for round in 0..3u8 {
        for family in [&db.default_column_family(), &own] {
            db.put_cf(family, b"a", [round; 200]).unwrap();
            db.put_cf(family, [b'b', round], b"short").unwrap();
            db.flush_cf(std::slice::from_ref(family)).unwrap();
        }
    }
    assert_eq!(endings(&home.join("tables")), ["sst", "sst", "sst"]);
    assert_eq!(endings(&home.join("own/tables")).len(), 6);
    assert!(endings(&path).is_empty());
    let listed = db.live_files();
    assert!(listed.iter().all(|file| file.path.exists()), "{listed:?}");

    // Files replaced by compactions are deleted, as are files that an open finds in no version.
    db.compact_range(None, None).unwrap();
    db.wait_for_purge().unwrap();
    assert_eq!(endings(&home.join("tables")), ["sst"]);
    let copy = home.join("copy");
    db.create_checkpoint(&copy, &CheckpointOptions::default())
        .unwrap();
    db.close().unwrap();
    let stray = home.join("tables/000999.sst");
    std::fs::write(&stray, b"nobody's").unwrap();
    std::fs::write(home.join("tables/note.txt"), b"the user's").unwrap();

    let db = Db::open(&options, &path).unwrap();
    db.wait_for_purge().unwrap();
    assert!(!stray.exists());
    let own = db.column_family("own").unwrap();
    let value = db.get_cf(&own, b"a").unwrap();
    assert_eq!(value.as_deref(), Some(&[2; 200][..]));
    assert_eq!(db.get(b"b\x01").unwrap().as_deref(), Some(&b"short"[..]));
    db.close().unwrap();

    // A checkpoint has all files in its own directory.
    let copied = Db::open(&Options::default(), &copy).unwrap();
    let own = copied.column_family("own").unwrap();
    assert!(copied.get_cf(&own, b"a").unwrap().is_some());
    copied.close().unwrap();

    // With other directories the tables are not found, and no file is deleted.
    let error = Db::open(&Options::default(), &path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    // A repair finds the tables in their directories and keeps them there.
    std::fs::remove_file(path.join("CURRENT")).unwrap();
    Db::repair(&options, &path).unwrap();
    assert_eq!(endings(&home.join("tables")), ["sst"]);
    let db = Db::open(&options, &path).unwrap();
    let own = db.column_family("own").unwrap();
    let value = db.get_cf(&own, b"a").unwrap();
    assert_eq!(value.as_deref(), Some(&[2; 200][..]));
    assert_eq!(db.get(b"b\x01").unwrap().as_deref(), Some(&b"short"[..]));
    db.close().unwrap();

    Db::destroy(&options, &path).unwrap();
    assert!(endings(&path).is_empty() && !path.join("CURRENT").exists());
    assert!(!home.join("own/tables").exists());
    assert_eq!(
        std::fs::read_dir(home.join("tables")).unwrap().count(),
        1,
        "the user's file stays"
    );
}
