//! Estimates of the bytes in a range of keys.

use base::internal_key::{KIND_FOR_SEEK, pack_trailer};
use base::{MAX_SEQNO, Result};
use manifest::Version;

use crate::state::column_family::Family;

/// An estimate, by the indexes, of the bytes in tables from `first_level` down with user keys from `begin`
/// (inclusive) to `end` (exclusive). Opens tables that are not open.
pub(crate) fn approximate_size(
    family: &Family,
    version: &Version,
    first_level: usize,
    begin: &[u8],
    end: &[u8],
) -> Result<u64> {
    let user = family.cmp.user();
    let (first, behind) = (user.stamped(begin), user.stamped(end));
    if user.compare_without_timestamp(&first, &behind).is_ge() {
        return Ok(0);
    }
    let target = |key: &[u8]| {
        let mut target = key.to_vec();
        target.resize(key.len() + user.timestamp_size(), 0xff);
        target.extend_from_slice(&pack_trailer(MAX_SEQNO, KIND_FOR_SEEK).to_le_bytes());
        target
    };
    let (from, to) = (target(begin), target(end));
    let mut total = 0;
    for level in first_level..version.num_levels() {
        for file in version.overlapping(level, Some(&first), Some(&behind)) {
            let inside = family.cmp.compare(&file.smallest, &from).is_ge()
                && family.cmp.compare(&file.largest, &to).is_lt();
            total += if inside {
                file.size
            } else {
                family.tables.with_table(&file, |table| {
                    Ok(table
                        .approximate_offset_of(&to)?
                        .saturating_sub(table.approximate_offset_of(&from)?))
                })?
            };
        }
    }
    Ok(total)
}
