//! Deletion of whole tables by key range.

use std::sync::Arc;

use esker::{
    BottommostLevelCompaction, CompactRangeOptions, CompressionType, Db, ErrorKind, Options, RangeOpt,
};
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
        db.put(row.to_be_bytes(), [b'v'; 100]).unwrap();
    }
    let family = db.default_column_family();
    db.compact_range_cf_opt(&family, None, None, &rewritten())
        .unwrap();
    db
}

/// Options with which a compaction divides the table of a flush into several.
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
    db.flush().unwrap();
    let snapshot = db.snapshot();
    db.delete_files_in_range(&family, None, None).unwrap();
    drop(snapshot);
    let left = db.live_files();
    assert_eq!(left.iter().map(|file| file.level).collect::<Vec<_>>(), [0]);
    assert_eq!(db.get(b"fresh").unwrap().as_deref(), Some(&b"value"[..]));
    assert!(db.get(7u16.to_be_bytes()).unwrap().is_none());
    // A deletion without a table in its range does nothing.
    db.delete_files_in_range(&family, None, None).unwrap();
    db.put(7u16.to_be_bytes(), b"again").unwrap();
    db.compact_range_cf(&family, None, None).unwrap();
    assert_eq!(
        db.get(7u16.to_be_bytes()).unwrap().as_deref(),
        Some(&b"again"[..])
    );
}

#[test]
fn several_ranges_go_in_one_step() {
    for include_end in [false, true] {
        let db = filled();
        let family = db.default_column_family();
        let before = bounds(&db);
        // The ranges cover the second table, once with and once without its last key, and all tables from the
        // fifth on.
        let ranges = [
            RangeOpt {
                start: Some(before[1].0.clone()),
                limit: Some(before[1].1.clone()),
            },
            RangeOpt {
                start: Some(before[4].0.clone()),
                limit: None,
            },
        ];
        let sequence = db.latest_sequence_number();
        db.delete_files_in_ranges(&family, &ranges, include_end).unwrap();
        assert_eq!(db.latest_sequence_number(), sequence + 1, "one step");
        let mut expected = before[..4].to_vec();
        if include_end {
            expected.remove(1);
        }
        assert_eq!(bounds(&db), expected);
        db.delete_files_in_ranges(&family, &[], include_end).unwrap();
        assert_eq!(bounds(&db), expected);
    }
}

#[test]
fn a_clipped_family_has_the_rows_of_the_range_alone() {
    let db = filled();
    let family = db.default_column_family();
    // The memtable and L0 have rows too, some of them at the borders of the range.
    for row in [0u16, 99, 100, 299, 300, 500] {
        db.put(row.to_be_bytes(), b"newer").unwrap();
    }
    db.flush().unwrap();
    db.put(600u16.to_be_bytes(), b"newest").unwrap();
    let (begin, end) = (100u16.to_be_bytes(), 300u16.to_be_bytes());
    for _ in 0..2 {
        db.clip_column_family(&family, &begin, &end).unwrap();
        for row in 0..700u16 {
            let there = db.get(row.to_be_bytes()).unwrap().is_some();
            assert_eq!(there, (100..300).contains(&row), "{row}");
        }
        let files = bounds(&db);
        assert!(
            files[0].0 == begin && files[files.len() - 1].1 < end.to_vec(),
            "{files:?}"
        );
    }
    // The clipped family has rows only on one side of the range.
    db.put_cf(&family, 10u16.to_be_bytes(), b"").unwrap();
    db.clip_column_family(&family, &begin, &end).unwrap();
    assert!(db.get(10u16.to_be_bytes()).unwrap().is_none());
    let error = db.clip_column_family(&family, &end, &begin).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // Clipping a family to an empty range removes all its rows.
    db.clip_column_family(&family, &end, &end).unwrap();
    assert!(bounds(&db).is_empty());
    db.clip_column_family(&family, &end, &end).unwrap();
    db.verify_checksum().unwrap();
}
