//! WALs: the creation of new ones, and the end of those that are not needed.

use std::sync::atomic::Ordering;

use base::{Result, SeqNo, filename};
use wal::PredecessorWal;

use super::predecessor::Predecessor;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, FamilyState};

impl DbInner {
    /// Creates a WAL for appending, or recycles the WAL `recycled`, which is no longer needed. Its first row
    /// will have sequence number `sequence`. `predecessor`: the WAL before it in our form, and in RocksDB's,
    /// if it is known and the option asks for that.
    pub(crate) fn create_wal(
        &self,
        number: u64,
        recycled: Option<u64>,
        (predecessor, before): (Predecessor, Option<PredecessorWal>),
        sequence: SeqNo,
    ) -> Result<wal::Writer> {
        let path = filename::wal(&self.wal_dir, number);
        let create = vfs::CreateOptions {
            log: true,
            bytes_per_sync: self.current.load().wal_bytes_per_sync,
            strict_bytes_per_sync: self.options.strict_bytes_per_sync,
            ..vfs::CreateOptions::default()
        };
        let fs = &*self.options.fs;
        let file = match recycled {
            Some(old) => fs.reuse(&filename::wal(&self.wal_dir, old), &path, &create)?,
            None => fs.create(&path, &create)?,
        };
        // With this option an open refuses a database without WALs, so the name of the new WAL is synced
        // before an old one is deleted.
        if self.options.track_and_verify_wals {
            fs.sync_dir(&self.wal_dir)?;
        }
        let options = wal::WriterOptions {
            log_number: number,
            recyclable: self.options.recycled_wals() > 0,
            compression: self.options.wal_compression,
            manual_flush: self.options.manual_wal_flush,
        };
        let mut wal = wal::Writer::new(file, options)?;
        if let Some(before) = before.filter(|_| self.options.track_and_verify_wals) {
            wal.add_predecessor(&before)?;
        }
        let sizes = |family: &FamilyState| {
            let size = family.family.cmp.user().timestamp_size();
            (size > 0).then_some((family.family.id, size as u16))
        };
        let sizes: Vec<(u32, u16)> = self.state.lock().families.values().filter_map(sizes).collect();
        wal.add_timestamp_sizes(&sizes)?;
        wal.add_record(predecessor.encode(sequence).data())?;
        Ok(wal)
    }

    /// Releases the WALs that no family needs according to the MANIFEST: recycles or deletes them. The next
    /// recovery would consider a WAL lost that is missing although the MANIFEST needs it. Syncs no longer
    /// include these WALs.
    pub(crate) fn drop_unneeded_wals(&self, state: &mut DbState) {
        let named = state.recorded.wals.first_key_value();
        let named = named.map_or(u64::MAX, |(&number, _)| number);
        let needed = state
            .oldest_needed_wal()
            .min(state.oldest_recorded_wal())
            .min(named);
        self.obsolete.close_files(self.wal_tail.forget_older(needed));
        while state.wals.len() > 1 && state.wals.front().is_some_and(|wal| wal.number < needed) {
            if let Some(wal) = state.wals.pop_front() {
                self.wal_tail.older_bytes.fetch_sub(wal.size, Ordering::Relaxed);
                if self.may_recycle(state, wal.number) {
                    state.recyclable_wals.push_back(wal.number);
                } else {
                    self.obsolete.add(base::filename::wal(&self.wal_dir, wal.number));
                }
            }
        }
    }

    /// True if WAL `number`, which is not needed, may be recycled. Not while a checkpoint or backup may be
    /// copying it, and not before the MANIFEST says that no recovery replays it: after a power loss it may
    /// have its old name and a part of its new bytes.
    fn may_recycle(&self, state: &DbState, number: u64) -> bool {
        state.recyclable_wals.len() < self.options.recycled_wals()
            && (state.first_own_wal..state.oldest_recorded_wal()).contains(&number)
            && !self.obsolete.is_held()
            && !self.has_cursors()
    }
}
