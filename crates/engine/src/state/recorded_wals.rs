//! `track_and_verify_wals_in_manifest`: the MANIFEST names the WALs that were closed and synced, with their
//! sizes, until no recovery needs them.
//!
//! A WAL is named only while a recovery needs it, by a thread that has claimed the MANIFEST: meanwhile no
//! other change makes it unneeded. The record ends in the same write of the MANIFEST as the last need for the
//! WAL, and the file is not deleted, renamed or recycled before. So a recovery finds every WAL that is named.

use std::collections::BTreeMap;

use manifest::{VersionEdit, WalAddition};

use super::db_state::DbState;

impl DbState {
    /// The records of WALs that the MANIFEST should have and does not, of those before WAL `synced`, which
    /// are closed and on disk.
    pub fn wals_to_record(&self, synced: u64) -> Vec<WalAddition> {
        let needed = self.oldest_needed_wal().max(self.oldest_recorded_wal());
        let closed = self.wals.iter().take(self.wals.len().saturating_sub(1));
        closed
            .filter(|wal| (needed..synced).contains(&wal.number) && wal.size > 0)
            .filter(|wal| !self.recorded.wals.contains_key(&wal.number))
            .map(|wal| WalAddition {
                number: wal.number,
                synced_size: Some(wal.size),
            })
            .collect()
    }

    /// The edit that ends the records of WALs which no recovery needs once `edits` are in the MANIFEST;
    /// `None` if there are none.
    pub fn wal_deletion_with(&self, edits: &[VersionEdit]) -> Option<VersionEdit> {
        let (&oldest, _) = self.recorded.wals.first_key_value()?;
        let needed = self.oldest_recorded_wal_with(edits);
        (oldest < needed).then(|| VersionEdit {
            wal_deletion: Some(needed),
            ..VersionEdit::default()
        })
    }

    /// The MANIFEST has the edit `deletion`.
    pub fn forget_recorded_wals(&mut self, deletion: &VersionEdit) {
        if let Some(needed) = deletion.wal_deletion {
            self.recorded.wals = self.recorded.wals.split_off(&needed);
        }
    }

    /// The oldest WAL that a recovery would replay once `edits` are in the MANIFEST.
    fn oldest_recorded_wal_with(&self, edits: &[VersionEdit]) -> u64 {
        let kept = edits.iter().filter_map(|edit| edit.min_log_number_to_keep);
        let kept = kept.fold(self.recorded.min_log_number_to_keep, u64::max);
        if self.two_phase {
            return kept;
        }
        let families = self.families.iter().map(|(&id, family)| (id, family.log_number));
        let mut families: BTreeMap<u32, u64> = families.collect();
        for edit in edits {
            match edit.column_family_drop {
                true => drop(families.remove(&edit.column_family)),
                false => {
                    if let Some(number) = edit.log_number {
                        let family = families.entry(edit.column_family).or_insert(number);
                        *family = number.max(*family);
                    }
                }
            }
        }
        families.into_values().min().unwrap_or(0).max(kept)
    }
}
