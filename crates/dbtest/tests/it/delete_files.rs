//! Deletion of whole tables by key range.

use std::sync::Arc;

use esker::{BottommostLevelCompaction, CompactRangeOptions, CompressionType, Db, FlushOptions, Options};
use vfs::MemFs;

fn filled() -> Db {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.target_file_size_base = 4096;
    options.column_family.compression = CompressionType::None;
    let db = Db::open(&options, "/db").unwrap();
    for row in 0..400u16 {
        db.put(&row.to_be_bytes(), &[b'v'; 100]).unwrap();
    }
    let family = db.default_column_family();
    db.compact_range(&family, &rewritten(), None, None).unwrap();
    db
}

/// Options of a compaction that divides the table of a flush.
fn rewritten() -> CompactRangeOptions {
    CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    }
}

fn bounds(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut files: Vec<_> = db
        .live_files()
        .into_iter()
        .map(|file| (file.smallest_key, file.largest_key))
        .collect();
    files.sort();
    files
}

#[test]
fn those_that_lie_in_the_range_go_and_no_others() {
    let db = filled();
    let family = db.default_column_family();
    let before = bounds(&db);
    assert!(before.len() > 6, "{} tables", before.len());
    // The range from within the second table to the end of the fourth covers the third and the fourth.
    let (begin, end) = (before[1].1.clone(), before[3].1.clone());
    db.delete_files_in_range(&family, Some(&begin), Some(&end))
        .unwrap();
    let gone = |file: &(Vec<u8>, Vec<u8>)| file.0 >= begin && file.1 <= end;
    let expected: Vec<_> = before.iter().filter(|file| !gone(file)).cloned().collect();
    assert_eq!(bounds(&db), expected);
    assert_eq!(expected.len(), before.len() - 2);
    for (first, last) in &before {
        let there = expected.iter().any(|file| &file.0 == first);
        assert_eq!(db.get(first).unwrap().is_some(), there);
        assert_eq!(db.get(last).unwrap().is_some(), there);
    }
    db.verify_checksum().unwrap();
}

#[test]
fn without_bounds_all_below_level_0_go() {
    let db = filled();
    let family = db.default_column_family();
    db.put(b"fresh", b"value").unwrap();
    db.flush(&FlushOptions::default()).unwrap();
    let snapshot = db.snapshot();
    db.delete_files_in_range(&family, None, None).unwrap();
    drop(snapshot);
    let left = db.live_files();
    assert_eq!(left.iter().map(|file| file.level).collect::<Vec<_>>(), [0]);
    assert_eq!(db.get(b"fresh").unwrap().as_deref(), Some(&b"value"[..]));
    assert!(db.get(&7u16.to_be_bytes()).unwrap().is_none());
    // A deletion without a table in its range does nothing.
    db.delete_files_in_range(&family, None, None).unwrap();
    db.put(&7u16.to_be_bytes(), b"again").unwrap();
    db.compact_range(&family, &CompactRangeOptions::default(), None, None)
        .unwrap();
    assert_eq!(
        db.get(&7u16.to_be_bytes()).unwrap().as_deref(),
        Some(&b"again"[..])
    );
}
