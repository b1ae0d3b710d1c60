//! The replacement of a range by ingested files: tables within the range are dropped in the same step.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use base::{Cursor, Error, Result, UserComparator, internal_key};
use manifest::{FileMetadata, RANGE_TOMBSTONE_SENTINEL, Version, VersionBuilder, VersionEdit};
use memtable::Memtable;
use sst::BlockReadOptions;

use crate::options::RangeOpt;
use crate::read::merging_cursor::before_key;
use crate::state::column_family::Family;
use crate::state::removals::KeyRange;
use crate::state::super_version::SuperVersion;

impl RangeOpt {
    /// `InvalidArgument` for a range that ends before it begins.
    pub(super) fn check(&self, user: &UserComparator) -> Result<()> {
        match (&self.start, &self.limit) {
            (Some(start), Some(limit)) if user.compare(start, limit).is_gt() => Err(Error::invalid_argument(
                "the range of atomic_replace_range ends before it begins",
            )),
            _ => Ok(()),
        }
    }

    /// The range as a [`KeyRange`].
    pub(super) fn to_key_range(&self) -> KeyRange {
        KeyRange {
            begin: self.start.clone(),
            end: self.limit.clone().map_or(Bound::Unbounded, Bound::Excluded),
        }
    }

    fn starts_at_or_before(&self, user: &UserComparator, key: &[u8]) -> bool {
        let start = self.start.as_ref();
        start.is_none_or(|start| user.compare(start, key).is_le())
    }

    /// True if a file whose largest internal key is `largest` ends before the end of the replaced range.
    fn ends_behind(&self, user: &UserComparator, largest: &[u8]) -> bool {
        self.limit.as_ref().is_none_or(
            |limit| match user.compare(internal_key::user_key(largest), limit) {
                Ordering::Less => true,
                Ordering::Equal => internal_key::trailer(largest) == RANGE_TOMBSTONE_SENTINEL,
                Ordering::Greater => false,
            },
        )
    }

    /// True if a file with these internal keys as bounds is within the range.
    pub(super) fn contains(&self, user: &UserComparator, smallest: &[u8], largest: &[u8]) -> bool {
        self.starts_at_or_before(user, internal_key::user_key(smallest)) && self.ends_behind(user, largest)
    }

    /// True if the internal key `smallest` is at or after the end of the replaced range.
    fn begins_behind(&self, user: &UserComparator, smallest: &[u8]) -> bool {
        self.limit.as_ref().is_some_and(|limit| {
            let first = internal_key::user_key(smallest);
            user.compare(first, limit).is_ge()
        })
    }

    /// True if a file with these internal keys as bounds overlaps the range.
    fn meets(&self, user: &UserComparator, smallest: &[u8], largest: &[u8]) -> bool {
        let begins_behind = self.begins_behind(user, smallest);
        let ends_before = self.start.as_ref().is_some_and(|start| {
            match user.compare(internal_key::user_key(largest), start) {
                Ordering::Less => true,
                Ordering::Equal => internal_key::trailer(largest) == RANGE_TOMBSTONE_SENTINEL,
                Ordering::Greater => false,
            }
        });
        !begins_behind && !ends_before
    }

    /// True if a memtable has a row of the range, or a range tombstone that may overlap it.
    pub(super) fn meets_memtables(
        &self,
        user: &UserComparator,
        super_version: &SuperVersion,
    ) -> Result<bool> {
        for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            if mem.is_empty() {
                continue;
            }
            let tombstones = mem.range_tombstones().snapshot();
            let deletes = match (&self.start, &self.limit) {
                (Some(start), Some(limit)) => tombstones.overlaps(user, start, limit),
                _ => mem.num_range_deletes() > 0,
            };
            if deletes {
                return Ok(true);
            }
            let mut cursor = Memtable::cursor(mem);
            match &self.start {
                Some(start) => {
                    let mut target = Vec::new();
                    before_key(&mut target, user, start);
                    cursor.seek(&target);
                }
                None => cursor.seek_to_first(),
            }
            cursor.status()?;
            let limit = self.limit.as_ref();
            let is_in = |key: &[u8]| {
                limit.is_none_or(|limit| user.compare(internal_key::user_key(key), limit).is_lt())
            };
            if cursor.valid() && is_in(cursor.key()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The tables of `version` whose bounds overlap the range, with their levels.
    pub(super) fn touched(&self, version: &Version) -> Vec<(usize, Arc<FileMetadata>, Replaced)> {
        let user = version.cmp().user();
        let mut touched = Vec::new();
        for level in 0..version.num_levels() {
            for file in version.files(level) {
                if self.meets(user, &file.smallest, &file.largest) {
                    let is_whole = self.contains(user, &file.smallest, &file.largest);
                    let replaced = if is_whole { Replaced::Whole } else { Replaced::Part };
                    touched.push((level, file.clone(), replaced));
                }
            }
        }
        touched
    }

    /// True if a table has entries or range tombstones in the range.
    pub(super) fn has_rows(&self, family: &Family, file: &Arc<FileMetadata>) -> Result<bool> {
        let user = family.cmp.user();
        let start = self
            .start
            .as_deref()
            .unwrap_or(internal_key::user_key(&file.smallest));
        let limit = self
            .limit
            .as_deref()
            .unwrap_or(internal_key::user_key(&file.largest));
        let table = family.tables.table(file)?;
        let tombstones = family.tables.tombstones_within_bounds(file, &table);
        if tombstones.overlaps(user, start, limit) {
            return Ok(true);
        }
        let read = BlockReadOptions {
            fill_cache: false,
            ..BlockReadOptions::default()
        };
        let mut cursor = table.cursor(read);
        let mut target = Vec::new();
        before_key(&mut target, user, start);
        cursor.seek(&target);
        cursor.status()?;
        Ok(cursor.valid() && !self.begins_behind(user, cursor.key()))
    }
}

/// The fraction of a table that is within the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replaced {
    Whole,
    Part,
}

/// Returns `version` with `change` applied.
pub(super) fn changed(version: &Arc<Version>, change: &VersionEdit) -> Result<Arc<Version>> {
    let mut builder = VersionBuilder::new(version);
    builder.apply(change)?;
    builder.build().map(Arc::new)
}
