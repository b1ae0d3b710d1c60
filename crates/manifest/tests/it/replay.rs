//! Edits of a whole MANIFEST: families, groups, WALs, and required entries.

use std::sync::Arc;

use base::internal_key::encode;
use base::{ErrorKind, Kind, MAX_SEQNO, Result, UserComparator};
use manifest::{FileMetadata, ManifestState, Replay, VersionEdit, WalAddition, builtin_comparator};

fn start() -> VersionEdit {
    VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        log_number: Some(1),
        next_file_number: Some(2),
        last_sequence: Some(0),
        ..VersionEdit::default()
    }
}

fn replay(edits: impl IntoIterator<Item = VersionEdit>) -> Result<ManifestState> {
    let mut replay = Replay::new();
    edits.into_iter().try_for_each(|edit| replay.apply(edit))?;
    replay.finish(&mut builtin_comparator)
}

fn error(edits: impl IntoIterator<Item = VersionEdit>) -> String {
    replay(edits).unwrap_err().to_string()
}

fn family(id: u32) -> VersionEdit {
    VersionEdit {
        column_family: id,
        ..VersionEdit::default()
    }
}

fn new_family(id: u32, name: &str) -> VersionEdit {
    VersionEdit {
        column_family_add: Some(name.to_owned()),
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        ..family(id)
    }
}

fn new_file(family_id: u32, number: u64) -> VersionEdit {
    let key = |seqno| encode(format!("k{number:04}").as_bytes(), seqno, Kind::Value).into();
    VersionEdit {
        new_files: vec![(
            1,
            Arc::new(FileMetadata {
                number,
                smallest: key(number),
                largest: key(number),
                smallest_seqno: number,
                largest_seqno: number,
                ..FileMetadata::default()
            }),
        )],
        ..family(family_id)
    }
}

#[test]
fn entries_every_manifest_must_have() {
    assert_eq!(
        error([]),
        "Corruption: no log_file_number, next_file_number, last_sequence entry in MANIFEST"
    );
    let without = |change: fn(&mut VersionEdit)| {
        let mut edit = start();
        change(&mut edit);
        error([edit])
    };
    assert_eq!(
        without(|edit| edit.last_sequence = None),
        "Corruption: no last_sequence entry in MANIFEST"
    );
    assert_eq!(
        without(|edit| edit.log_number = None),
        "Corruption: no log_file_number entry in MANIFEST"
    );
    assert_eq!(
        without(|edit| edit.next_file_number = None),
        "Corruption: no next_file_number entry in MANIFEST"
    );
    let mut unnamed = start();
    unnamed.comparator = None;
    let state = replay([unnamed]).unwrap();
    assert_eq!(state.families[&0].comparator, UserComparator::Bytewise);
    assert_eq!(state.families[&0].name, "default");
}

#[test]
fn families_come_and_go() {
    let state = replay([
        start(),
        new_family(1, "one"),
        new_file(1, 10),
        new_family(4, "four"),
        VersionEdit {
            log_number: Some(7),
            ..family(1)
        },
        VersionEdit {
            column_family_drop: true,
            ..family(4)
        },
        new_family(5, "four"),
    ])
    .unwrap();
    let names: Vec<_> = state.families.values().map(|family| &*family.name).collect();
    assert_eq!(names, ["default", "one", "four"]);
    assert_eq!(state.max_column_family, 5);
    let one = state.family("one").unwrap();
    assert_eq!((one.log_number, one.version.num_files()), (7, 1));
    assert_eq!(state.families[&0].log_number, 1);
    assert_eq!(
        state.next_file_number, 11,
        "above every number the MANIFEST mentions"
    );

    assert!(
        error([start(), new_family(1, "one"), new_family(1, "two")])
            .contains("adding the same column family twice: two")
    );
    assert!(
        error([start(), new_family(1, "one"), new_family(2, "one")])
            .contains("adding the same column family twice: one")
    );
    assert!(error([start(), new_family(0, "default")]).contains("twice"));
    assert!(error([start(), new_file(3, 10)]).contains("referencing unknown column family 3"));
    let drop = |id| VersionEdit {
        column_family_drop: true,
        ..family(id)
    };
    assert!(error([start(), drop(3)]).contains("dropping non-existing column family"));
    assert!(
        error([start(), new_family(1, "one"), drop(1), new_file(1, 10)]).contains("unknown column family 1")
    );
    assert!(error([start(), drop(0)]).contains("dropping"));
}

#[test]
fn files_beside_a_new_family_or_a_wal_are_forgotten_as_rocksdb_forgets_them() {
    let with_file = VersionEdit {
        new_files: new_file(1, 10).new_files,
        log_number: Some(6),
        ..new_family(1, "one")
    };
    let state = replay([start(), with_file]).unwrap();
    assert_eq!(
        (
            state.families[&1].version.num_files(),
            state.families[&1].log_number
        ),
        (0, 6)
    );
    assert_eq!(state.warnings.len(), 1);
    let with_file = VersionEdit {
        wal_deletion: Some(3),
        log_number: Some(9),
        last_sequence: Some(50),
        ..new_file(0, 10)
    };
    let state = replay([start(), with_file]).unwrap();
    assert_eq!(state.families[&0].version.num_files(), 0);
    assert_eq!((state.families[&0].log_number, state.last_sequence), (1, 50));
    assert_eq!(state.warnings.len(), 1);
}

#[test]
fn a_group_is_applied_whole_or_not_at_all() {
    let member = |remaining, number| VersionEdit {
        atomic_group_remaining: Some(remaining),
        ..new_file(0, number)
    };
    let files = |state: ManifestState| state.families[&0].version.num_files();
    assert_eq!(files(replay([start(), member(1, 10), member(0, 11)]).unwrap()), 2);
    assert_eq!(files(replay([start(), member(0, 10)]).unwrap()), 1);
    let cut = replay([start(), member(2, 10), member(1, 11)]).unwrap();
    assert_eq!(cut.incomplete_group_edits, 2);
    assert_eq!(files(cut), 0);
    for broken in [
        vec![member(2, 10), member(0, 11)],
        vec![member(1, 10), member(1, 11)],
        vec![member(1, 10), member(2, 11)],
        vec![member(1, 10), new_file(0, 11)],
    ] {
        let edits = [start()].into_iter().chain(broken);
        assert_eq!(error(edits), "Corruption: corrupted atomic group");
    }
    // Atomic groups one after the other.
    let edits = [member(1, 10), member(0, 11), member(0, 12)];
    assert_eq!(files(replay([start()].into_iter().chain(edits)).unwrap()), 3);
}

#[test]
fn numbers_only_grow() {
    let state = replay([
        start(),
        VersionEdit {
            log_number: Some(9),
            min_log_number_to_keep: Some(8),
            last_sequence: Some(100),
            next_file_number: Some(30),
            ..VersionEdit::default()
        },
        VersionEdit {
            log_number: Some(4),
            min_log_number_to_keep: Some(3),
            last_sequence: Some(90),
            ..VersionEdit::default()
        },
    ])
    .unwrap();
    assert_eq!(state.families[&0].log_number, 9);
    assert_eq!((state.min_log_number_to_keep, state.last_sequence), (8, 100));
    assert_eq!(state.next_file_number, 30);
    assert_eq!(state.warnings.len(), 1, "{:?}", state.warnings);
}

#[test]
fn a_snapshot_tells_the_lowest_wal_to_keep_once() {
    let keep = VersionEdit {
        min_log_number_to_keep: Some(8),
        ..VersionEdit::default()
    };
    let state = replay([start(), new_family(1, "one"), new_file(1, 10), keep]).unwrap();
    let edits = manifest::snapshot_edits(&state);
    let telling: Vec<_> = edits
        .iter()
        .filter(|edit| edit.min_log_number_to_keep.is_some())
        .collect();
    assert_eq!(telling.len(), 1);
    assert_eq!(
        (telling[0].column_family, telling[0].min_log_number_to_keep),
        (0, Some(8))
    );
    let names: Vec<_> = edits
        .iter()
        .filter_map(|edit| edit.column_family_add.as_deref())
        .collect();
    assert_eq!(names, ["one"]);
}

#[test]
fn wals_are_told_from_their_making_to_their_end() {
    let adding = |number, synced_size| VersionEdit {
        wal_additions: vec![WalAddition { number, synced_size }],
        ..VersionEdit::default()
    };
    let deleting = |number| VersionEdit {
        wal_deletion: Some(number),
        ..VersionEdit::default()
    };
    let state = replay([
        start(),
        adding(4, None),
        adding(4, Some(100)),
        adding(4, Some(50)),
        adding(6, None),
        adding(3, Some(9)),
        deleting(4),
        adding(2, Some(9)),
    ])
    .unwrap();
    assert_eq!(state.wals, [(4, Some(100)), (6, None)].into());
    assert!(error([start(), adding(4, None), adding(4, None)]).contains("WAL 4 is created more than once"));
    // A new MANIFEST names the WALs that are left.
    let again = replay(manifest::snapshot_edits(&state)).unwrap();
    assert_eq!(again.wals, state.wals);
}

#[test]
fn comparators_are_the_ones_the_files_were_written_with() {
    let reverse = VersionEdit {
        comparator: Some("rocksdb.ReverseBytewiseComparator".to_owned()),
        ..start()
    };
    assert_eq!(
        replay([reverse.clone()]).unwrap().families[&0].comparator,
        UserComparator::ReverseBytewise
    );
    let opened = |edit: VersionEdit, cmp: UserComparator| {
        let mut replay = Replay::new();
        replay.apply(edit).unwrap();
        replay.finish(&mut |_, _| Ok(cmp.clone()))
    };
    let error = opened(reverse, UserComparator::Bytewise).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid argument: leveldb.BytewiseComparator: does not match existing comparator rocksdb.ReverseBytewiseComparator"
    );
    let custom = VersionEdit {
        comparator: Some("mine".to_owned()),
        ..start()
    };
    let error = replay([custom]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.message().contains("default") && error.message().contains("mine"),
        "{error}"
    );
}

#[test]
fn bounds_without_timestamps_get_them_back() {
    let sentinel = encode(b"k0009", MAX_SEQNO, Kind::RangeDeletion);
    let file = FileMetadata {
        largest: sentinel.into(),
        user_defined_timestamps_persisted: false,
        ..FileMetadata::clone(&new_file(0, 4).new_files[0].1)
    };
    let adding = VersionEdit {
        new_files: vec![(1, Arc::new(file))],
        ..VersionEdit::default()
    };
    let with_timestamps = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator.u64ts".to_owned()),
        persist_user_defined_timestamps: Some(false),
        full_history_ts_low: Some(Box::new([9, 0, 0, 0, 0, 0, 0, 0])),
        ..start()
    };
    let state = replay([with_timestamps, adding.clone()]).unwrap();
    let family = &state.families[&0];
    assert!(!family.persist_user_defined_timestamps);
    assert_eq!(family.full_history_ts_low[0], 9);
    let file = &family.version.files(1)[0];
    assert_eq!(file.smallest_user_key(), b"k0004\0\0\0\0\0\0\0\0");
    assert_eq!(file.largest_user_key(), [b"k0009", &[0xff; 8][..]].concat());
    assert!(file.largest_is_sentinel());
    // The files are written without timestamps again.
    let snapshot = manifest::snapshot_edits(&state);
    let mut bytes = Vec::new();
    snapshot.iter().for_each(|edit| edit.encode(&mut bytes));
    let bare = [b"\x0d", &b"k0009"[..], &[0x0f], &[0xff; 7]].concat();
    assert!(bytes.windows(bare.len()).any(|window| window == bare));

    // Timestamps are switched on over files that have none.
    let mut replay = Replay::new();
    replay.apply(start()).unwrap();
    replay.apply(new_file(0, 4)).unwrap();
    let state = replay
        .finish(&mut |_, _| Ok(UserComparator::BytewiseU64Ts))
        .unwrap();
    let family = &state.families[&0];
    assert_eq!(family.version.files(1)[0].smallest_user_key().len(), 13);
    assert!(!family.persist_user_defined_timestamps);
}

#[test]
fn what_later_releases_say_is_said_again() {
    let later = VersionEdit {
        unknown_fields: vec![(9000, Box::new([1])), (9001, Box::new([2]))],
        ..VersionEdit::default()
    };
    let again = VersionEdit {
        unknown_fields: vec![(9000, Box::new([3]))],
        ..VersionEdit::default()
    };
    let state = replay([start(), later, again]).unwrap();
    let last = manifest::snapshot_edits(&state).pop().unwrap();
    assert_eq!(
        last.unknown_fields,
        [(9000, Box::from([3])), (9001, Box::from([2]))]
    );
}
