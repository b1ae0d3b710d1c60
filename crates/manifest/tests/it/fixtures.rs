//! The MANIFESTs of databases RocksDB 11.9 wrote.

use std::collections::BTreeSet;

use base::filename;
use manifest::{Replay, VersionEdit, snapshot_edits};

use crate::support::{current_manifest, fixtures, records, replay};

#[test]
fn every_record_encodes_to_the_bytes_it_came_from() {
    let mut count = 0;
    for (name, dir) in fixtures() {
        for record in records(&current_manifest(&dir)) {
            let edit = VersionEdit::decode(&record).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            assert_eq!(bytes, record, "{name}: {edit:?}");
            count += 1;
        }
    }
    assert!(count > 400, "{count} records");
}

#[test]
fn every_live_file_is_there_with_its_size() {
    for (name, dir) in fixtures() {
        let state = replay(&current_manifest(&dir)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let identity = std::fs::read_to_string(dir.join("IDENTITY")).unwrap();
        assert_eq!(state.db_id.as_deref(), Some(&*identity), "{name}");
        assert!(state.warnings.is_empty(), "{name}: {:?}", state.warnings);
        assert_eq!(state.incomplete_group_edits, 0);
        let mut live = BTreeSet::new();
        for family in state.families.values() {
            for (level, file) in family.version.all_files() {
                let size = std::fs::metadata(filename::table(&dir, file.number))
                    .unwrap()
                    .len();
                assert_eq!(size, file.size, "{name}: {file:?}");
                assert!(file.number < state.next_file_number);
                assert!(file.largest_seqno <= state.last_sequence);
                assert_eq!(family.version.level_of(file.number), Some(level));
                live.insert(file.number);
            }
            for blob in family.version.blob_files().values() {
                let size = std::fs::metadata(filename::blob(&dir, blob.number()))
                    .unwrap()
                    .len();
                assert_eq!(size, blob.file_size(), "{name}: {blob:?}");
                assert!(!blob.is_all_garbage());
                live.insert(blob.number());
            }
        }
        // The directory has no file that no version has.
        for entry in std::fs::read_dir(&dir).unwrap() {
            use filename::FileKind::{Blob, Table};
            if let Some(Table(number) | Blob(number)) =
                filename::parse(entry.unwrap().file_name().to_str().unwrap())
            {
                assert!(
                    live.contains(&number),
                    "{name}: file {number} is not in the MANIFEST"
                );
            }
        }
    }
}

#[test]
fn what_the_databases_were_made_to_hold_is_seen() {
    let state = |name: &str| {
        let (_, dir) = fixtures().into_iter().find(|fixture| fixture.0 == name).unwrap();
        replay(&current_manifest(&dir)).unwrap()
    };
    let families = state("cfs_fv7_lz4");
    assert!(families.families.len() > 1);
    let ids: Vec<u32> = families.families.keys().copied().collect();
    assert!(ids.iter().all(|id| *id <= families.max_column_family));
    for family in families.families.values() {
        assert_eq!(families.family(&family.name).unwrap().id, family.id);
        let newest = family
            .version
            .all_files()
            .filter_map(|(_, file)| file.epoch_number)
            .max();
        assert_eq!(
            family.version.next_epoch_number(),
            newest.map(|newest| newest + 1)
        );
    }
    assert!(!state("blob_files").families[&0].version.blob_files().is_empty());
    assert_eq!(
        state("reverse_comparator").families[&0].comparator.name(),
        "rocksdb.ReverseBytewiseComparator"
    );
    let timestamps = state("user_timestamps");
    assert_eq!(timestamps.families[&0].comparator.timestamp_size(), 8);
    let cut = state("range_deletes");
    let sentinels = cut.families[&0]
        .version
        .all_files()
        .filter(|(_, file)| file.largest_is_sentinel());
    assert!(sentinels.count() > 5);
    assert!(state("universal").families[&0].version.num_non_empty_levels() > 0);
}

#[test]
fn a_snapshot_says_what_the_manifest_said() {
    for (name, dir) in fixtures() {
        let state = replay(&current_manifest(&dir)).unwrap();
        let mut again = Replay::new();
        for edit in snapshot_edits(&state) {
            let mut record = Vec::new();
            edit.encode(&mut record);
            let whole = edit.column_family_add.is_none() || edit.new_files.is_empty();
            assert!(whole, "{name}: RocksDB forgets files that come with a new family");
            again.apply_record(&record).unwrap();
        }
        let again = again.finish(&mut manifest::builtin_comparator).unwrap();
        assert_eq!(again.families.len(), state.families.len(), "{name}");
        for (a, b) in state.families.values().zip(again.families.values()) {
            assert_eq!(
                (a.id, &a.name, &a.comparator, a.log_number),
                (b.id, &b.name, &b.comparator, b.log_number)
            );
            assert_eq!(a.full_history_ts_low, b.full_history_ts_low);
            assert!(a.version.all_files().eq(b.version.all_files()), "{name}");
            assert_eq!(format!("{:?}", a.version), format!("{:?}", b.version));
        }
        assert_eq!(
            (
                &state.db_id,
                state.next_file_number,
                state.last_sequence,
                state.max_column_family,
                state.min_log_number_to_keep
            ),
            (
                &again.db_id,
                again.next_file_number,
                again.last_sequence,
                again.max_column_family,
                again.min_log_number_to_keep
            ),
            "{name}"
        );
    }
}

/// A MANIFEST truncated after any record can be opened, or the error names what is missing.
#[test]
fn every_prefix_of_a_manifest_is_a_state_or_an_error() {
    for (name, dir) in fixtures() {
        let records = records(&current_manifest(&dir));
        for len in 0..records.len() {
            let mut replay = Replay::new();
            for record in &records[..len] {
                replay.apply_record(record).unwrap();
            }
            if let Err(error) = replay.finish(&mut manifest::builtin_comparator) {
                assert!(
                    error.message().contains("entry in MANIFEST"),
                    "{name}, {len}: {error}"
                );
            }
        }
    }
}
