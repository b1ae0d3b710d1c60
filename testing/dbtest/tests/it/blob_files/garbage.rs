//! The garbage in blob files: its count, and the compactions that collect it.

use std::path::Path;

use dbtest::by_hand::{flush, rewrite};
use esker::Db;
use vfs::FileSystem;

use super::{DIR, check, in_memory, property, put, rows};

/// After a crash, inputs and outputs of a compaction may both exist, and repair uses both: their blobs are
/// counted once.
#[test]
fn what_repair_finds_twice_is_no_garbage() {
    let (fs, options) = in_memory();
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..20, 0, 200);
    flush(&db);
    let old = db.live_files()[0].path.clone();
    let bytes = fs.read_file(&old).unwrap();
    rewrite(&db);
    let before = rows(&db);
    db.close().unwrap();
    drop(db);
    let mut again = fs.create(&old, &Default::default()).unwrap();
    again.append(&bytes).unwrap();
    again.sync().unwrap();
    drop(again);
    fs.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    Db::repair(&options, DIR).unwrap();
    let db = Db::open(&options, DIR).unwrap();
    assert!(db.live_files().len() > 1);
    rewrite(&db);
    assert_eq!(rows(&db), before);
    assert_eq!(property(&db, "live-blob-file-garbage-size"), 0);
    check(&db, &fs, Path::new(DIR));
}
