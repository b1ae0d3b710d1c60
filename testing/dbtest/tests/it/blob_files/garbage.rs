//! The garbage in blob files: its count, and the compactions that collect it.

use std::collections::BTreeMap;
use std::path::Path;

use dbtest::by_hand::{everything, flush, rewrite};
use esker::{BlobGarbageCollectionPolicy, CompactRangeOptions, Db, ErrorKind};
use vfs::FileSystem;

use super::{DIR, check, in_memory, key, property, put, rows, rows_at, value};

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

#[test]
fn garbage_is_counted_and_files_go_with_their_last_value() {
    let (fs, options) = in_memory();
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..40, 0, 200);
    flush(&db);
    put(&db, 0..30, 1, 200);
    flush(&db);
    db.delete(key(39)).unwrap();
    flush(&db);
    assert_eq!(
        property(&db, "live-blob-file-garbage-size"),
        0,
        "the garbage has not been counted yet"
    );
    rewrite(&db);
    let files = db.blob_files(&db.default_column_family());
    let counts = files
        .iter()
        .map(|file| (file.garbage_blob_count, file.total_blob_count));
    assert_eq!(counts.collect::<Vec<_>>(), [(31, 40), (0, 30)]);
    assert_eq!(property(&db, "live-blob-file-garbage-size"), 31 * (32 + 7 + 200));
    // An open iterator protects a blob file from deletion that the current version does not need.
    let mut reader = db.iter();
    reader.seek(&key(35));
    put(&db, 30..40, 2, 200);
    flush(&db);
    rewrite(&db);
    assert_eq!(property(&db, "num-blob-files"), 2, "all of the first is garbage");
    assert_eq!(
        property(&db, "total-blob-file-size") - property(&db, "live-blob-file-size"),
        files[0].size
    );
    assert_eq!(reader.value(), value(35, 0, 200));
    reader.next();
    assert_eq!(reader.value(), value(36, 0, 200));
    drop(reader);
    assert_eq!(
        property(&db, "total-blob-file-size"),
        property(&db, "live-blob-file-size")
    );
    check(&db, &fs, Path::new(DIR));
}

#[test]
fn old_files_are_emptied() {
    for (cutoff, kept) in [(0.0, 4), (0.5, 3), (1.0, 1)] {
        let (fs, mut options) = in_memory();
        options.column_family.enable_blob_garbage_collection = true;
        options.column_family.blob_garbage_collection_age_cutoff = cutoff;
        let db = Db::open(&options, DIR).unwrap();
        for round in 0..4 {
            put(&db, round * 10..round * 10 + 10, round, 150);
            flush(&db);
        }
        let before = rows(&db);
        let first = db.blob_files(&db.default_column_family())[0].number;
        rewrite(&db);
        let files = db.blob_files(&db.default_column_family());
        assert_eq!(files.len(), kept, "cutoff {cutoff}");
        assert_eq!(files[0].number == first, cutoff == 0.0);
        assert_eq!(files.iter().map(|file| file.total_blob_count).sum::<u64>(), 40);
        assert_eq!(rows(&db), before);
        check(&db, &fs, Path::new(DIR));
    }
}

#[test]
fn a_manual_compaction_says_whether_old_files_are_emptied() {
    use BlobGarbageCollectionPolicy::{Disable, Force, UseDefault};
    for (enabled, policy, cutoff, kept) in [
        (false, UseDefault, Some(1.0), 4),
        (false, Force, None, 3),
        (false, Force, Some(1.0), 1),
        (true, Force, Some(0.0), 4),
        (true, Disable, Some(1.0), 4),
        (true, UseDefault, None, 3),
    ] {
        let (fs, mut options) = in_memory();
        options.column_family.enable_blob_garbage_collection = enabled;
        options.column_family.blob_garbage_collection_age_cutoff = 0.5;
        let db = Db::open(&options, DIR).unwrap();
        for round in 0..4 {
            put(&db, round * 10..round * 10 + 10, round, 150);
            flush(&db);
        }
        let before = rows(&db);
        let compact = CompactRangeOptions {
            blob_garbage_collection_policy: policy,
            blob_garbage_collection_age_cutoff: cutoff,
            ..everything()
        };
        db.compact_range_cf_opt(&db.default_column_family(), None, None, &compact)
            .unwrap();
        let files = db.blob_files(&db.default_column_family());
        assert_eq!(files.len(), kept, "{enabled} {policy:?} {cutoff:?}");
        assert_eq!(rows(&db), before);
        for wrong in [-0.1, 1.1, f64::NAN] {
            let compact = CompactRangeOptions {
                blob_garbage_collection_age_cutoff: Some(wrong),
                ..everything()
            };
            let error = db
                .compact_range_cf_opt(&db.default_column_family(), None, None, &compact)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(
                error.to_string().contains("blob_garbage_collection_age_cutoff"),
                "{error}"
            );
        }
        check(&db, &fs, Path::new(DIR));
    }
}

#[test]
fn what_is_collected_goes_where_the_options_say_now() {
    let (fs, mut options) = in_memory();
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..10, 0, 150);
    put(&db, 10..20, 0, 300);
    flush(&db);
    let before = rows(&db);
    db.close().unwrap();
    drop(db);
    options.column_family.enable_blob_garbage_collection = true;
    options.column_family.blob_garbage_collection_age_cutoff = 1.0;
    options.column_family.min_blob_size = 200;
    let db = Db::open(&options, DIR).unwrap();
    rewrite(&db);
    let files = db.blob_files(&db.default_column_family());
    assert_eq!(
        files.iter().map(|file| file.total_blob_count).sum::<u64>(),
        10,
        "150 bytes came back"
    );
    assert_eq!(rows(&db), before);
    db.close().unwrap();
    drop(db);
    options.column_family.enable_blob_files = false;
    let db = Db::open(&options, DIR).unwrap();
    rewrite(&db);
    assert_eq!(property(&db, "num-blob-files"), 0, "all came back");
    assert_eq!(rows(&db), before);
    check(&db, &fs, Path::new(DIR));
}

/// The number of blobs in all files, including garbage.
fn total_blobs(db: &Db) -> u64 {
    let files = db.blob_files(&db.default_column_family());
    files.iter().map(|file| file.total_blob_count).sum()
}

#[test]
fn versions_behind_newer_ones_leave_the_tables_sooner() {
    for (min_older, expected) in [(0, 0), (50, 20), (61, 0), (1000, 0)] {
        let (fs, mut options) = in_memory();
        options.column_family.min_older_version_blob_size = min_older;
        options.column_family.enable_blob_garbage_collection = true;
        options.column_family.blob_garbage_collection_age_cutoff = 1.0;
        let db = Db::open(&options, DIR).unwrap();
        put(&db, 0..20, 0, 60);
        put(&db, 20..30, 0, 40);
        let (old, old_rows) = (db.snapshot(), rows(&db));
        put(&db, 0..25, 1, 60);
        flush(&db);
        assert_eq!(total_blobs(&db), expected, "{min_older}");
        let seen = || rows_at(&db, Some(old.clone()));
        assert_eq!(seen(), old_rows);
        let now = rows(&db);
        // If garbage collection covers all blob files, the compaction moves their values to new files.
        rewrite(&db);
        assert_eq!(total_blobs(&db), expected);
        assert_eq!((seen(), rows(&db)), (old_rows, now.clone()));
        drop(old);
        rewrite(&db);
        assert_eq!((property(&db, "num-blob-files"), rows(&db)), (0, now));
        check(&db, &fs, Path::new(DIR));
    }
}

/// A newer version may be written later: then it is the compaction of both versions that detects the garbage.
#[test]
fn versions_that_meet_in_a_compaction_are_told_apart_there() {
    let (fs, mut options) = in_memory();
    options.column_family.min_older_version_blob_size = 50;
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..20, 0, 60);
    flush(&db);
    let old = db.snapshot();
    put(&db, 0..10, 1, 60);
    flush(&db);
    assert_eq!(total_blobs(&db), 0);
    rewrite(&db);
    assert_eq!(total_blobs(&db), 10);
    let written = db.blob_files(&db.default_column_family());
    // The next compaction leaves the value in its blob file, and writes no other blob file.
    rewrite(&db);
    let left = db.blob_files(&db.default_column_family());
    assert_eq!(written[0].number, left[0].number);
    assert_eq!((left.len(), left[0].garbage_blob_count), (1, 0));
    // With blob files disabled, the compaction moves all values to tables.
    db.set_options(&db.default_column_family(), &[("enable_blob_files", "false")])
        .unwrap();
    let all = CompactRangeOptions {
        blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
        blob_garbage_collection_age_cutoff: Some(1.0),
        ..everything()
    };
    db.compact_range_cf_opt(&db.default_column_family(), None, None, &all)
        .unwrap();
    assert_eq!(property(&db, "num-blob-files"), 0);
    let then: BTreeMap<_, _> = (0..20).map(|i| (key(i), value(i, 0, 60))).collect();
    assert_eq!(rows_at(&db, Some(old)), then);
    let now: BTreeMap<_, _> = (0..20)
        .map(|i| (key(i), value(i, u32::from(i < 10), 60)))
        .collect();
    assert_eq!(rows(&db), now);
    check(&db, &fs, Path::new(DIR));
}

#[test]
fn tables_are_compacted_for_the_garbage_of_their_blobs() {
    let (fs, mut options) = in_memory();
    let family = &mut options.column_family;
    family.disable_auto_compactions = false;
    family.level0_file_num_compaction_trigger = 100;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 0.5;
    family.blob_garbage_collection_force_threshold = 0.5;
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..20, 0, 150);
    flush(&db);
    rewrite(&db);
    let first = db.blob_files(&db.default_column_family())[0].number;
    // The overwritten values are compacted together with the new ones, so that they are counted as garbage;
    // some live values stay in the old file.
    put(&db, 0..14, 1, 150);
    flush(&db);
    let whole = CompactRangeOptions::default();
    db.compact_range_cf_opt(&db.default_column_family(), None, None, &whole)
        .unwrap();
    db.wait_for_compact().unwrap();
    let files = db.blob_files(&db.default_column_family());
    assert!(files.iter().all(|file| file.number != first), "{files:?}");
    assert_eq!(rows(&db).len(), 20);
    check(&db, &fs, Path::new(DIR));
}
