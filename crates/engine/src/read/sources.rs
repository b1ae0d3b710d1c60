//! What an iterator merges: the memtables and the files of one super version, newest first.

use std::sync::Arc;

use base::{Error, SeqNo};
use sst::BlockReadOptions;

use super::filters::Filters;
use super::level_cursor::LevelCursor;
use super::merging_cursor::{MergingCursor, Source};
use super::super_version::SuperVersion;
use crate::db::column_family::Family;
use crate::options::{ReadOptions, ReadTier};
use crate::write::batch_index::BatchView;

/// How an iterator reads its sources.
pub(crate) struct SourceOptions {
    /// How far down.
    pub tier: ReadTier,
    pub read: BlockReadOptions,
    /// Range tombstones cover nothing.
    pub ignore_range_deletions: bool,
    /// What of the tables is passed over.
    filters: Option<Arc<Filters>>,
}

impl SourceOptions {
    pub fn of(options: &ReadOptions) -> SourceOptions {
        SourceOptions {
            tier: options.read_tier,
            read: BlockReadOptions {
                verify_checksums: options.verify_checksums,
                fill_cache: options.fill_cache,
                caches_first_reads: false,
                cache_only: options.read_tier == ReadTier::BlockCache,
                readahead_size: options.readahead_size,
                adaptive_readahead: options.adaptive_readahead,
                auto_readahead_size: options.auto_readahead_size,
                async_io: options.async_io,
            },
            ignore_range_deletions: options.ignore_range_deletions,
            filters: Filters::of(options),
        }
    }
}

/// A cursor over what is not written yet, if anything is given, and the entries of `super_version` that are reached, all but those that
/// a range tombstone at or below `seqno` covers, as of `timestamp` where keys have one. With it the first error met, after which
/// something is missing from the cursor.
pub(crate) fn merged(
    family: &Family,
    super_version: &SuperVersion,
    seqno: SeqNo,
    unwritten: Option<&BatchView>,
    timestamp: Option<&[u8]>,
    sources: &SourceOptions,
) -> (MergingCursor, Option<Error>) {
    let (read, filters) = (sources.read, sources.filters.as_ref());
    let ignored = sources.ignore_range_deletions;
    let mut error = None;
    let version = &super_version.version;
    let levels = 1..match sources.tier {
        ReadTier::Memtable => 1,
        _ => version.num_non_empty_levels().max(1),
    };
    let runs = match sources.tier {
        ReadTier::Memtable => 0,
        _ => {
            let in_levels = levels.clone().filter(|&level| !version.files(level).is_empty());
            version.files(0).len() + in_levels.count()
        }
    };
    let memtables = usize::from(unwritten.is_some()) + 1 + super_version.immutable.len();
    let mut cursor = MergingCursor::new(family.cmp.clone(), memtables + runs, seqno, timestamp);
    if let Some(BatchView { table, limit }) = unwritten {
        cursor.see_in_newest(*limit);
        let tombstones = table.range_tombstones();
        let covered = (!ignored && !tombstones.is_empty()).then(|| tombstones.source());
        cursor.add(Source::Memtable(table.cursor()), covered);
    }
    for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
        // The memtable written to is looked into even when empty: it may not be when the iterator seeks.
        let tombstones = mem.range_tombstones();
        let covered = (!ignored && !tombstones.is_empty()).then(|| tombstones.source());
        cursor.add(Source::Memtable(mem.cursor()), covered);
    }
    if sources.tier == ReadTier::Memtable {
        return (cursor, None);
    }
    let open = |file| {
        if read.cache_only {
            family.tables.check_in_memory(file)?;
        }
        family.tables.table(file)
    };
    // Side by side, reading costs no more than not to.
    let defers = !read.async_io;
    for file in version.files(0) {
        match open(file) {
            Ok(table) => {
                let covered = (!ignored && !table.range_tombstones().is_empty()).then(|| {
                    family
                        .tables
                        .tombstones_within_bounds(file, &table)
                        .clone()
                        .into()
                });
                // A level of its own, which may leave the block unread that a seek ends in.
                let unread = table.has_first_keys() && defers;
                if unread || filters.is_some() {
                    let file = LevelCursor::over_file(family.tables.clone(), file.clone(), read, !ignored);
                    let file = file.filtered(filters.cloned());
                    cursor.add(
                        Source::Level(if unread { file.defer_reads() } else { file }),
                        None,
                    );
                    continue;
                }
                cursor.add(Source::Table(table.cursor(read)), covered);
            }
            Err(failed) => error = error.or(Some(failed)),
        }
    }
    for level in levels {
        if !version.files(level).is_empty() {
            let level = LevelCursor::new(family.tables.clone(), version.clone(), level, read, !ignored);
            let level = level.filtered(filters.cloned());
            let level = match defers {
                true => level.defer_reads(),
                false => level,
            };
            cursor.add(Source::Level(level), None);
        }
    }
    (cursor, error)
}
