//! Checks whether a range of keys has entries, and not only whether the bounds of a file overlap it.

use std::sync::Arc;

use base::internal_key::user_key;
use base::{Cursor, Result, UserComparator};
use manifest::FileMetadata;
use sst::BlockReadOptions;

use super::merging_cursor::before_key;
use crate::state::column_family::Family;

/// True if the table of `file` has an entry or a range tombstone for a user key from `start` to `limit`, both
/// inclusive. Reads one or two blocks.
pub(crate) fn table_overlaps(
    family: &Family,
    file: &Arc<FileMetadata>,
    start: &[u8],
    limit: &[u8],
    fill_cache: bool,
) -> Result<bool> {
    let user = family.cmp.user();
    let read = BlockReadOptions {
        fill_cache,
        ..BlockReadOptions::default()
    };
    let table = family.tables.table(file)?;
    let tombstones = family.tables.tombstones_within_bounds(file, &table);
    Ok(tombstones.overlaps(user, start, limit) || has_entry(&mut table.cursor(read), user, start, limit)?)
}

/// True if the cursor has an entry from `start` to `limit`, both inclusive. Timestamps are ignored.
pub(crate) fn has_entry(
    cursor: &mut impl Cursor,
    user: &UserComparator,
    start: &[u8],
    limit: &[u8],
) -> Result<bool> {
    let mut target = Vec::new();
    before_key(&mut target, user, user.strip_timestamp(start));
    cursor.seek(&target);
    cursor.status()?;
    Ok(cursor.valid()
        && user
            .compare_without_timestamp(user_key(cursor.key()), limit)
            .is_le())
}
