//! The sources that an iterator merges: the memtables and the files of one super version, newest first.

use std::sync::Arc;

use base::{Error, SeqNo};
use sst::BlockReadOptions;
use sst::TableReaderCaller;

use super::filters::Filters;
use super::level_cursor::LevelCursor;
use super::merging_cursor::{MergingCursor, Source};
use crate::options::ReadTier;
use crate::state::batch_view::BatchView;
use crate::state::column_family::Family;
use crate::state::read_options::ReadOptions;
use crate::state::super_version::SuperVersion;

/// How an iterator reads its sources.
pub(crate) struct SourceOptions {
    /// Whether files are read, or memory alone.
    pub tier: ReadTier,
    pub read: BlockReadOptions,
    /// True if range tombstones are ignored, so that the keys in their ranges are still found.
    pub ignore_range_deletions: bool,
    /// The filters by which tables, and blocks of them, are skipped.
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
                caller: TableReaderCaller::UserIterator,
            },
            ignore_range_deletions: options.ignore_range_deletions,
            filters: Filters::of(options),
        }
    }
}

/// Returns a cursor over the unwritten rows, if any are given, and the entries of `super_version` in the read
/// tier. Entries that a range tombstone at or below `seqno` (and at or below `timestamp`, where keys have
/// one) covers are skipped. The second value is the first error met: the cursor then lacks a source, or
/// versions as of `timestamp` may be gone.
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
    // An iterator that moves to a newer super version may be older than the history in it.
    let mut error = timestamp.and_then(|at| check_history(family, super_version, at).err());
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
        // An empty mutable memtable is included too: it may have rows by the time the iterator seeks.
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
    // With asynchronous reads, reading every source at once costs no more than deferring some.
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
                // The file becomes a level of its own, whose cursor may defer the read of the block that a
                // seek ends in.
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
                file.sample_read();
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

/// `InvalidArgument` if versions as of `timestamp` may be gone from the family.
pub(crate) fn check_history(
    family: &Family,
    super_version: &SuperVersion,
    timestamp: &[u8],
) -> Result<(), Error> {
    let user = family.cmp.user();
    let low = &super_version.full_history_ts_low[..];
    match !low.is_empty() && user.compare_timestamp(timestamp, low).is_lt() {
        true => Err(Error::invalid_argument(format!(
            "Read timestamp: {} is smaller than full_history_ts_low: {}",
            timestamp_text(timestamp),
            timestamp_text(low)
        ))),
        false => Ok(()),
    }
}

/// The readable form of a timestamp: eight bytes are a number, as in RocksDB's comparators.
fn timestamp_text(timestamp: &[u8]) -> String {
    match timestamp.try_into() {
        Ok(bytes) => u64::from_le_bytes(bytes).to_string(),
        Err(_) => timestamp.escape_ascii().to_string(),
    }
}
