//! The invariants of a version, and RocksDB's error texts for their violations.

use std::sync::Arc;

use base::internal_key::encode;
use base::{InternalComparator, Kind, Result, UserComparator};
use manifest::{
    BlobFileAddition, BlobFileGarbage, FileMetadata, MAX_LEVELS, Version, VersionBuilder, VersionEdit,
    obsolete_blob_files,
};

fn empty() -> Version {
    Version::empty(InternalComparator::new(UserComparator::Bytewise), 7)
}

fn file(number: u64, low: &[u8], high: &[u8], seqnos: (u64, u64)) -> FileMetadata {
    FileMetadata {
        number,
        size: 10,
        smallest: encode(low, seqnos.1, Kind::Value).into(),
        largest: encode(high, seqnos.0, Kind::Value).into(),
        smallest_seqno: seqnos.0,
        largest_seqno: seqnos.1,
        ..FileMetadata::default()
    }
}

fn adding(files: impl IntoIterator<Item = (u32, FileMetadata)>) -> VersionEdit {
    VersionEdit {
        new_files: files
            .into_iter()
            .map(|(level, file)| (level, Arc::new(file)))
            .collect(),
        ..VersionEdit::default()
    }
}

fn build(base: &Version, edits: &[VersionEdit]) -> Result<Version> {
    let mut builder = VersionBuilder::new(base);
    for edit in edits {
        builder.apply(edit)?;
    }
    builder.build()
}

fn error(base: &Version, edits: &[VersionEdit]) -> String {
    build(base, edits).unwrap_err().to_string()
}

fn numbers(version: &Version, level: usize) -> Vec<u64> {
    version.files(level).iter().map(|file| file.number).collect()
}

#[test]
fn files_come_once_and_go_from_where_they_are() {
    let base = build(&empty(), &[adding([(1, file(5, b"a", b"c", (1, 2)))])]).unwrap();
    let deleting = |level, number| VersionEdit {
        deleted_files: [(level, number)].into(),
        ..VersionEdit::default()
    };
    assert_eq!(
        error(&base, &[deleting(2, 5)]),
        "Corruption: VersionBuilder: Cannot delete table file #5 from level 2 since it is on level 1"
    );
    assert_eq!(
        error(&base, &[deleting(1, 6)]),
        "Corruption: VersionBuilder: Cannot delete table file #6 from level 1 since it is not in the LSM tree"
    );
    assert!(error(&base, &[deleting(1, 5), deleting(1, 5)]).contains("not in the LSM tree"));
    assert_eq!(
        error(&base, &[adding([(0, file(5, b"a", b"c", (1, 2)))])]),
        "Corruption: VersionBuilder: Cannot add table file #5 to level 0 since it is already in the LSM tree on level 1"
    );
    assert!(
        error(
            &base,
            &[adding([(MAX_LEVELS as u32, file(9, b"a", b"c", (1, 2)))])]
        )
        .contains("at most")
    );
    assert!(error(&base, &[adding([(u32::MAX, file(9, b"a", b"c", (1, 2)))])]).contains("at most"));
    // A move deletes and adds a file in one edit.
    let mut moving = adding([(6, file(5, b"a", b"c", (1, 2)))]);
    moving.deleted_files.insert((1, 5));
    let moved = build(&base, &[moving]).unwrap();
    assert_eq!((moved.level_of(5), moved.num_files()), (Some(6), 1));
    // Further levels are created.
    assert_eq!(
        build(&base, &[adding([(9, file(6, b"a", b"c", (1, 2)))])])
            .unwrap()
            .num_levels(),
        10
    );
}

#[test]
fn files_below_l0_do_not_overlap() {
    let base = build(&empty(), &[adding([(1, file(5, b"b", b"d", (1, 2)))])]).unwrap();
    for (low, high) in [(b"a", b"b"), (b"c", b"c"), (b"d", b"f"), (b"a", b"z")] {
        // The bounds are newer versions of their keys than those in the file of `base`.
        let error = error(&base, &[adding([(1, file(6, low, high, (1, 2)))])]);
        assert!(
            error.starts_with("Corruption: VersionBuilder: L1 has overlapping ranges: file #"),
            "{error}"
        );
    }
    // Versions of one key may be spread over two files.
    let older = FileMetadata {
        smallest: encode(b"d", 0, Kind::Value).into(),
        ..file(6, b"d", b"f", (0, 0))
    };
    let both = build(&base, &[adding([(1, older)])]).unwrap();
    assert_eq!(numbers(&both, 1), [5, 6]);
    assert_eq!(both.files_for_user_key(1, b"d").len(), 2);
    assert!(
        error(&empty(), &[adding([(2, file(6, b"x", b"c", (1, 2)))])]).contains("is beyond its largest key")
    );
}

#[test]
fn l0_goes_by_sequence_numbers_where_epochs_are_missing() {
    let files = [
        (0, file(9, b"a", b"z", (1, 4))),
        (0, file(7, b"a", b"z", (5, 9))),
        (0, file(8, b"a", b"z", (12, 12))),
        (0, file(6, b"a", b"z", (10, 11))),
    ];
    let base = build(&empty(), &[adding(files)]).unwrap();
    assert_eq!(numbers(&base, 0), [8, 6, 7, 9]);
    // Nested sequence numbers: it is unknown which file is newer.
    assert!(error(&base, &[adding([(0, file(10, b"a", b"b", (6, 8)))])]).contains("is not known"));
    // An ingested file has one sequence number, between those of its neighbours, or 0.
    assert!(build(&base, &[adding([(0, file(10, b"a", b"b", (13, 13)))])]).is_ok());
    let zeros = [
        (0, file(10, b"a", b"b", (0, 0))),
        (0, file(11, b"a", b"b", (0, 0))),
    ];
    assert_eq!(
        numbers(&build(&base, &[adding(zeros)]).unwrap(), 0),
        [8, 6, 7, 9, 11, 10]
    );
    assert!(error(&base, &[adding([(0, file(10, b"a", b"b", (12, 12)))])]).contains("is not known"));
    assert_eq!(base.next_epoch_number(), None);
}

#[test]
fn l0_goes_by_epochs_where_all_files_have_one() {
    let with = |epoch, file: FileMetadata| FileMetadata {
        epoch_number: Some(epoch),
        ..file
    };
    let files = [
        (0, with(3, file(5, b"a", b"m", (1, 9)))),
        (0, with(4, file(6, b"a", b"z", (2, 4)))),
        (0, with(3, file(7, b"n", b"z", (3, 12)))),
        (4, with(1, file(8, b"a", b"b", (0, 0)))),
    ];
    let base = build(&empty(), &[adding(files)]).unwrap();
    assert_eq!(numbers(&base, 0), [6, 7, 5]);
    assert_eq!(base.next_epoch_number(), Some(5));
    assert!(
        error(&base, &[adding([(0, with(4, file(9, b"b", b"c", (20, 21))))])])
            .contains("L0 files of same epoch number but overlapping range #6 vs. file #9")
    );
    // If one file in any level has no epoch, no epochs count: then L0 must be ordered by sequence numbers.
    let mixed = error(&base, &[adding([(5, file(9, b"a", b"b", (0, 0)))])]);
    assert!(mixed.contains("is not known"), "{mixed}");
    let mut shrunk = adding([(5, file(9, b"a", b"b", (0, 0)))]);
    shrunk.deleted_files = [(0, 6), (0, 5)].into();
    assert_eq!(build(&base, &[shrunk]).unwrap().next_epoch_number(), None);
    assert_eq!(empty().next_epoch_number(), None);
}

fn blob_addition(number: u64, count: u64) -> BlobFileAddition {
    BlobFileAddition {
        number,
        total_blob_count: count,
        total_blob_bytes: count * 100,
        ..BlobFileAddition::default()
    }
}

fn garbage(number: u64, count: u64) -> VersionEdit {
    VersionEdit {
        blob_file_garbages: vec![BlobFileGarbage {
            number,
            garbage_blob_count: count,
            garbage_blob_bytes: count * 100,
            unknown_fields: Vec::new(),
        }],
        ..VersionEdit::default()
    }
}

fn with_blob(number: u64, low: &[u8], high: &[u8], blob: u64) -> FileMetadata {
    FileMetadata {
        oldest_blob_file_number: Some(blob),
        ..file(number, low, high, (number, number))
    }
}

#[test]
fn blob_files_live_while_something_may_refer_to_them() {
    let mut start = adding([
        (1, with_blob(20, b"a", b"c", 10)),
        (1, with_blob(21, b"d", b"f", 11)),
        (1, file(22, b"g", b"h", (22, 22))),
    ]);
    start.blob_file_additions = vec![blob_addition(10, 4), blob_addition(11, 4), blob_addition(12, 4)];
    let base = build(&empty(), &[start]).unwrap();
    let live = |version: &Version| version.blob_files().keys().copied().collect::<Vec<_>>();
    // 12 is no SST's oldest, but SSTs that refer to 10 or 11 may refer to it too.
    assert_eq!(live(&base), [10, 11, 12]);
    assert_eq!(base.blob_files()[&10].linked_ssts, [20].into());
    assert_eq!(base.blob_files()[&10].file_size(), 462);

    // The only SST that refers to 10 is deleted.
    let deleting = |numbers: &[u64]| VersionEdit {
        deleted_files: numbers.iter().map(|&number| (1, number)).collect(),
        ..VersionEdit::default()
    };
    let next = build(&base, &[deleting(&[20])]).unwrap();
    assert_eq!(live(&next), [11, 12]);
    assert_eq!(obsolete_blob_files(&base, &next).collect::<Vec<_>>(), [10]);
    // The versions share the record of the blob file, and the engine's handle.
    assert!(Arc::ptr_eq(
        &base.blob_files()[&11].shared,
        &next.blob_files()[&11].shared
    ));
    // A file without linked SSTs is removed when all of it is garbage; a part is not enough.
    let less = build(&base, &[garbage(12, 3)]).unwrap();
    assert_eq!(
        (live(&less), less.blob_files()[&12].garbage_blob_count),
        (vec![10, 11, 12], 3)
    );
    let none = build(&less, &[garbage(12, 1)]).unwrap();
    assert_eq!(live(&none), [10, 11]);
    // No SST refers to any blob file: all are removed.
    assert!(live(&build(&base, &[deleting(&[20, 21])]).unwrap()).is_empty());
    // A moved SST stays linked.
    let mut moving = adding([(2, with_blob(20, b"a", b"c", 10))]);
    moving.deleted_files.insert((1, 20));
    let moved = build(&base, &[moving]).unwrap();
    assert_eq!(live(&moved), [10, 11, 12]);
    assert_eq!(moved.blob_files()[&10].linked_ssts, [20].into());
    // Blob files did not change, so they are shared.
    let same = build(&base, &[deleting(&[22])]).unwrap();
    assert!(std::ptr::eq(base.blob_files(), same.blob_files()));
}

#[test]
fn blob_files_and_garbage_fit() {
    let mut start = adding([(1, with_blob(20, b"a", b"c", 10))]);
    start.blob_file_additions = vec![blob_addition(10, 4)];
    let base = build(&empty(), std::slice::from_ref(&start)).unwrap();
    assert_eq!(
        error(&base, &[garbage(11, 1)]),
        "Corruption: VersionBuilder: Blob file #11 not found"
    );
    assert_eq!(
        error(&base, &[garbage(10, 5)]),
        "Corruption: VersionBuilder: Garbage overflow for blob file #10"
    );
    assert!(error(&base, &[garbage(10, u64::MAX / 100)]).contains("overflow"));
    assert_eq!(
        error(&base, &[garbage(10, 4)]),
        "Corruption: VersionBuilder: Blob file #10 consists entirely of garbage"
    );
    start.new_files.clear();
    assert_eq!(
        error(&base, &[start]),
        "Corruption: VersionBuilder: Blob file #10 already added"
    );
    // RocksDB accepts an SST that refers to an unknown blob file.
    assert!(build(&base, &[adding([(2, with_blob(30, b"a", b"c", 9))])]).is_ok());
}
