//! What an iterator merges: the memtables and the files of one super version, newest first.

use base::{Error, SeqNo};
use rangedel::{FragmentedTombstones, TombstoneCursor, TombstoneSource};
use sst::BlockReadOptions;

use super::level_cursor::LevelCursor;
use super::merging_cursor::{MergingCursor, Source};
use super::super_version::SuperVersion;
use crate::db::column_family::Family;
use crate::options::ReadTier;

/// A cursor over the entries of `super_version` that `tier` reaches, all but those that a range tombstone at or below `seqno` covers, as of
/// `timestamp` where keys have one. With it the first error met, after which something is missing from the cursor.
pub(crate) fn merged(
    family: &Family,
    super_version: &SuperVersion,
    seqno: SeqNo,
    timestamp: Option<&[u8]>,
    tier: ReadTier,
    read: BlockReadOptions,
) -> (MergingCursor, Option<Error>) {
    let mut error = None;
    let tombstones = |source: TombstoneSource| {
        let cursor = TombstoneCursor::new(family.cmp.user().clone(), [source]);
        cursor.with_read_timestamp(timestamp)
    };
    let nothing = || tombstones(FragmentedTombstones::empty().into());
    let version = &super_version.version;
    let mut lanes =
        Vec::with_capacity(2 + super_version.immutable.len() + version.files(0).len() + version.num_levels());
    for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
        // The memtable written to is looked into even when empty: it may not be when the iterator seeks.
        lanes.push((
            Source::Memtable(mem.cursor()),
            tombstones(mem.range_tombstones().source()),
        ));
    }
    if tier == ReadTier::Memtable {
        let cursor = MergingCursor::with_tombstones(family.cmp.clone(), lanes, seqno);
        return (cursor, None);
    }
    let open = |file| {
        if read.cache_only {
            family.tables.check_in_memory(file)?;
        }
        family.tables.table(file)
    };
    for file in version.files(0) {
        match open(file) {
            Ok(table) => {
                let covered = if table.range_tombstones().is_empty() {
                    nothing()
                } else {
                    let within = family.tables.tombstones_within_bounds(file, &table);
                    tombstones(within.clone().into())
                };
                lanes.push((Source::Table(Box::new(table.cursor(read))), covered));
            }
            Err(failed) => error = error.or(Some(failed)),
        }
    }
    for level in 1..version.num_non_empty_levels() {
        if !version.files(level).is_empty() {
            let cursor = LevelCursor::new(family.tables.clone(), version.clone(), level, read, true);
            lanes.push((Source::Level(Box::new(cursor)), nothing()));
        }
    }
    let cursor = MergingCursor::with_tombstones(family.cmp.clone(), lanes, seqno);
    (cursor, error)
}
