//! Checks whether a range of keys was written since a sequence number, by looking at every row of it that may
//! be newer.

use base::Error;
use std::ops::Bound;
use std::sync::Arc;

use base::internal_key::ParsedInternalKey;
use base::{Cursor, Result, SeqNo, UserComparator};
use memtable::Memtable;
use rangedel::FragmentedTombstones;
use sst::BlockReadOptions;

use crate::read::merging_cursor::before_key;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::removals::is_within;
use crate::state::super_version::SuperVersion;

/// A range of keys all of which must be unchanged, absent keys included: see [`Db::write_if_unchanged`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{UnchangedRange, WriteBatch, WriteOptions};
/// use std::ops::Bound;
///
/// let read_at = db.latest_sequence_number();
/// let mut batch = WriteBatch::new();
/// batch.put(b"a", b"1");
/// let unchanged =
///     [UnchangedRange { family: 0, begin: Some(b"a"), end: Bound::Excluded(b"b"), since: read_at }];
/// db.write_if_unchanged(&mut batch, &[], &unchanged, &WriteOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UnchangedRange<'a> {
    /// The id of the range's column family.
    pub family: u32,
    /// The first key; `None`: no bound.
    pub begin: Option<&'a [u8]>,
    /// The end of the range.
    pub end: Bound<&'a [u8]>,
    /// The range must have no row with a higher sequence number, and no range deletion with a higher one may
    /// overlap it.
    pub since: SeqNo,
}

impl Db {
    /// True if a row of `range`, or a range deletion that overlaps it, has a higher sequence number than its
    /// `since`. The requirements and errors are those of
    /// [`newest_sequence_number`](Db::newest_sequence_number), for every key of the range.
    pub fn is_range_written(&self, family: &ColumnFamily, range: &UnchangedRange<'_>) -> Result<bool> {
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        let super_version = family.0.super_version.load_full();
        if super_version.is_closed() {
            return Err(closing());
        }
        check_no_timestamps(&family.0)?;
        range.is_written(&family.0, &super_version)
    }
}

impl UnchangedRange<'_> {
    /// True if the range was written, as far as `super_version` shows.
    pub(super) fn is_written(&self, family: &Family, super_version: &SuperVersion) -> Result<bool> {
        let user = family.cmp.user();
        if family.removals.newest_in(user, self.begin, self.end) > self.since {
            return Ok(true);
        }
        for table in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            if self.is_written_in(family, table)? {
                return Ok(true);
            }
        }
        self.is_written_in_tables(family, super_version)
    }

    /// True if a memtable has a row or a range deletion in the range that is newer than `since`.
    pub(super) fn is_written_in(&self, family: &Family, table: &Arc<Memtable>) -> Result<bool> {
        if table.is_empty() {
            return Ok(false);
        }
        let user = family.cmp.user();
        let tombstones = table.range_tombstones();
        if !tombstones.is_empty() && self.is_deleted_by(&tombstones.snapshot(), user) {
            return Ok(true);
        }
        self.has_newer_row(&mut Memtable::cursor(table), user)
            .map_err(|error| family.in_memory(error))
    }

    fn is_written_in_tables(&self, family: &Family, super_version: &SuperVersion) -> Result<bool> {
        let user = family.cmp.user();
        let version = &super_version.version;
        let last = match self.end {
            Bound::Unbounded => None,
            Bound::Included(end) | Bound::Excluded(end) => Some(end),
        };
        for level in 0..version.num_levels() {
            for file in version.overlapping(level, self.begin, last) {
                if file.largest_seqno <= self.since {
                    continue;
                }
                let table = family.tables.table(&file)?;
                let tombstones = family.tables.tombstones_within_bounds(&file, &table);
                if self.is_deleted_by(tombstones, user) {
                    return Ok(true);
                }
                if self.has_newer_row(&mut table.cursor(BlockReadOptions::default()), user)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn is_deleted_by(&self, tombstones: &FragmentedTombstones, user: &UserComparator) -> bool {
        let first = self.begin.map_or(0, |begin| tombstones.seek(user, begin));
        (first..tombstones.len())
            .map(|at| tombstones.fragment(at))
            .take_while(|fragment| is_within(user, fragment.start, self.end))
            .any(|fragment| fragment.seqnos[0] > self.since)
    }

    fn has_newer_row(&self, cursor: &mut impl Cursor, user: &UserComparator) -> Result<bool> {
        match self.begin {
            Some(begin) => {
                let mut target = Vec::new();
                before_key(&mut target, user, begin);
                cursor.seek(&target);
            }
            None => cursor.seek_to_first(),
        }
        while cursor.valid() {
            let row = ParsedInternalKey::parse(cursor.key())?;
            if !is_within(user, row.user_key, self.end) {
                break;
            }
            if row.seqno > self.since {
                return Ok(true);
            }
            cursor.next();
        }
        cursor.status()?;
        Ok(false)
    }
}

pub(crate) fn check_no_timestamps(family: &Family) -> Result<()> {
    if family.cmp.user().timestamp_size() == 0 {
        return Ok(());
    }
    Err(Error::not_supported(format!(
        "writes on condition in column family {}, which has timestamps",
        family.name
    )))
}
