//! Deletion of whole tables by key range, without reading them.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, Result, SeqNo, internal_key};
use manifest::{FileMetadata, RANGE_TOMBSTONE_SENTINEL, Version, VersionEdit};

use crate::options::RangeOpt;
use crate::state::column_family::ColumnFamily;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;
use crate::state::removals::KeyRange;

impl Db {
    /// Drops the tables of `family` below L0 whose keys are all in the range from `begin` to `end` (both
    /// inclusive; `None` for the first and the last key): RocksDB's `DeleteFilesInRange`. The cost is one
    /// MANIFEST record, independent of the size of the tables.
    ///
    /// Rows of the range in other tables or in memory stay, and older versions below a dropped table become
    /// visible again: delete the range first if that matters. Snapshots do not keep dropped tables; open
    /// iterators do. Tables that are being compacted stay. The call takes a sequence number, so that a
    /// transaction validated against an older one finds each key of the range written.
    ///
    /// # Errors
    /// `NotSupported` if the database is open for reading only; the errors of writing the MANIFEST.
    pub fn delete_files_in_range(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        let range = KeyRange {
            begin: begin.map(<[u8]>::to_vec),
            end: end.map_or(Bound::Unbounded, |end| Bound::Included(end.to_vec())),
        };
        self.delete_files_in(family, &[range])
    }

    /// Same as [`delete_files_in_range`](Db::delete_files_in_range), for several ranges in one record of the
    /// MANIFEST: RocksDB's `DeleteFilesInRanges`. The end of each range is included only with `include_end`.
    ///
    /// # Errors
    /// Those of `delete_files_in_range`.
    pub fn delete_files_in_ranges(
        &self,
        family: &ColumnFamily,
        ranges: &[RangeOpt],
        include_end: bool,
    ) -> Result<()> {
        let end_of = |limit: Vec<u8>| match include_end {
            true => Bound::Included(limit),
            false => Bound::Excluded(limit),
        };
        let ranges: Vec<KeyRange> = ranges
            .iter()
            .map(|range| KeyRange {
                begin: range.start.clone(),
                end: range.limit.clone().map_or(Bound::Unbounded, end_of),
            })
            .collect();
        self.delete_files_in(family, &ranges)
    }

    fn delete_files_in(&self, family: &ColumnFamily, ranges: &[KeyRange]) -> Result<()> {
        let inner = self.inner();
        inner.check_open()?;
        inner.check_owns(&family.0)?;
        family.0.check_writable()?;
        if inner.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let mut state = inner.state.lock();
        // While this thread has claimed the MANIFEST, no other thread changes the version.
        inner.claim_manifest(&mut state)?;
        let version = match state.family_mut(family.id()) {
            Ok(own) => own.version.clone(),
            Err(error) => {
                inner.disclaim_manifest(&mut state);
                return Err(error);
            }
        };
        let dropped: Vec<(u32, Arc<FileMetadata>)> = (1..version.num_levels())
            .flat_map(|level| {
                let files = within(&version, level, ranges);
                files.into_iter().map(move |file| (level as u32, file))
            })
            .collect();
        if dropped.is_empty() {
            inner.disclaim_manifest(&mut state);
            return Ok(());
        }
        // Prevents compactions from picking the files while the mutex is released.
        dropped
            .iter()
            .for_each(|(_, file)| file.set_being_compacted(true));
        let edit = VersionEdit {
            column_family: family.id(),
            deleted_files: dropped
                .iter()
                .map(|(level, file)| (*level, file.number))
                .collect(),
            ..VersionEdit::default()
        };
        let removals = &family.0.removals;
        for range in ranges {
            removals.begin(range.clone(), inner.oldest_snapshot());
        }
        family.0.file_changes.deleted();
        let result = inner.apply_claimed(&mut state, vec![edit], None, |_| {});
        drop(state);
        if result.is_err() {
            dropped
                .iter()
                .for_each(|(_, file)| file.set_being_compacted(false));
        }
        let seqno = result.is_ok().then(|| inner.take_sequence_number());
        ranges.iter().for_each(|range| removals.end(range, seqno));
        result
    }
}

impl DbInner {
    /// Takes a sequence number that no row gets. All rows with smaller numbers are visible.
    fn take_sequence_number(&self) -> SeqNo {
        let mut writer = self.write.queue.lock();
        writer.last_seqno += 1;
        self.published.fetch_max(writer.last_seqno, Ordering::AcqRel);
        writer.last_seqno
    }
}

/// The files of a level that are in one of the ranges and may be dropped. Files that share a user key are
/// dropped together or not at all.
fn within(version: &Version, level: usize, ranges: &[KeyRange]) -> Vec<Arc<FileMetadata>> {
    let user = version.cmp().user();
    let files = version.files(level);
    let lies_within = |file: &Arc<FileMetadata>| {
        let (first, last) = (
            internal_key::user_key(&file.smallest),
            internal_key::user_key(&file.largest),
        );
        let holds = |range: &KeyRange| range.contains(user, first) && range.contains(user, last);
        ranges.iter().any(holds) && !file.is_being_compacted()
    };
    let mut goes: Vec<bool> = files.iter().map(lies_within).collect();
    let shares = |left: &FileMetadata, right: &FileMetadata| {
        internal_key::trailer(&left.largest) != RANGE_TOMBSTONE_SENTINEL
            && user
                .compare_without_timestamp(
                    internal_key::user_key(&left.largest),
                    internal_key::user_key(&right.smallest),
                )
                .is_eq()
    };
    // If a file stays, its neighbours that share a user key with it stay too: first those to the right, then
    // those to the left.
    for at in 1..files.len() {
        goes[at] &= goes[at - 1] || !shares(&files[at - 1], &files[at]);
    }
    for at in (1..files.len()).rev() {
        goes[at - 1] &= goes[at] || !shares(&files[at - 1], &files[at]);
    }
    let going = files.iter().zip(goes).filter(|(_, goes)| *goes);
    going.map(|(file, _)| file.clone()).collect()
}
