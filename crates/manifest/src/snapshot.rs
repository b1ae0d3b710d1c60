//! The edits that a new MANIFEST begins with: a complete state.

use std::sync::Arc;

use crate::blob_file::BlobFileGarbage;
use crate::edit::{VersionEdit, WalAddition};
use crate::state::{FamilyState, ManifestState};

/// The edits that create `state` from nothing, in RocksDB's order: the database's id; for every family its
/// description and then, in another edit because RocksDB ignores files in an edit that adds a family, its
/// files; the counters.
///
/// RocksDB from 7.8 on reads all of them. The database's id is followed by the WALs of
/// [`ManifestState::wals`], if there are any: every one of them must exist.
pub fn snapshot_edits(state: &ManifestState) -> Vec<VersionEdit> {
    let mut edits = Vec::with_capacity(2 * state.families.len() + 2);
    if state.db_id.is_some() {
        edits.push(VersionEdit {
            db_id: state.db_id.clone(),
            ..VersionEdit::default()
        });
    }
    if !state.wals.is_empty() {
        let wals = state.wals.iter();
        edits.push(VersionEdit {
            wal_additions: wals
                .map(|(&number, &synced_size)| WalAddition { number, synced_size })
                .collect(),
            ..VersionEdit::default()
        });
    }
    for family in state.families.values() {
        edits.push(family_identity(family));
        edits.push(family_files(family, state));
    }
    edits.push(VersionEdit {
        prev_log_number: Some(0),
        next_file_number: Some(state.next_file_number),
        max_column_family: Some(state.max_column_family),
        last_sequence: Some(state.last_sequence),
        unknown_fields: state.unknown_fields.clone().into_iter().collect(),
        ..VersionEdit::default()
    });
    edits
}

fn family_identity(family: &FamilyState) -> VersionEdit {
    let persist = family.persist_user_defined_timestamps;
    VersionEdit {
        comparator: Some(family.comparator.name().to_owned()),
        column_family: family.id,
        column_family_add: (family.id != 0).then(|| family.name.clone()),
        // The field is written only if it is false: without the field the value is true, and RocksDB 7.8 does
        // not know the field.
        persist_user_defined_timestamps: (!persist).then_some(false),
        ..VersionEdit::default()
    }
}

fn family_files(family: &FamilyState, state: &ManifestState) -> VersionEdit {
    let version = &family.version;
    let blobs = version.blob_files().values();
    let garbage = blobs.clone().filter(|blob| blob.garbage_blob_count > 0);
    VersionEdit {
        column_family: family.id,
        new_files: version
            .all_files()
            .map(|(level, file)| (level as u32, Arc::clone(file)))
            .collect(),
        blob_file_additions: blobs.map(|blob| blob.shared.addition.clone()).collect(),
        blob_file_garbages: garbage
            .map(|blob| BlobFileGarbage {
                number: blob.number(),
                garbage_blob_count: blob.garbage_blob_count,
                garbage_blob_bytes: blob.garbage_blob_bytes,
                unknown_fields: Vec::new(),
            })
            .collect(),
        log_number: Some(family.log_number),
        min_log_number_to_keep: Some(state.min_log_number_to_keep)
            .filter(|&number| family.id == 0 && number > 0),
        full_history_ts_low: Some(family.full_history_ts_low.clone()).filter(|low| !low.is_empty()),
        last_sequence: Some(state.last_sequence),
        ..VersionEdit::default()
    }
}
