//! Streams in flushed rows, and the level that each is written to directly.

use std::sync::Arc;

use base::Cursor;
use base::sync::MutexGuard;
use codec::compression::CompressionType;
use compact::picker::JobId;
use compact::{LevelTargets, Stream, StreamFinder, any_in_order, files_around, lowest_level};
use manifest::{FileMetadata, Version};
use memtable::Memtable;

use crate::options::CompactionStyle;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::read::overlap::table_overlaps;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;

/// The minimum size of a stream to be worth a table: this fraction of `target_file_size_base`, and this many
/// data blocks.
const MIN_PART_OF_TARGET: u64 = 256;
const MIN_BLOCKS: u64 = 2;

/// A stream, and the files that have none of its keys although their range includes it; `None` if the stream
/// is too small for a table of its own on this disk.
pub(crate) struct FoundStream {
    stream: Stream,
    without: Option<Vec<u64>>,
}

/// A stream and the level its table goes to. The range is reserved in that level until [`DbInner::release`].
pub(crate) struct PlacedStream {
    pub stream: Stream,
    pub level: usize,
    /// True if no lower level has data in the range of the stream.
    pub bottommost: bool,
    pub compression: CompressionType,
    reserved: JobId,
}

impl DbInner {
    /// The streams in `memtables` (oldest first) of `family`, whose files are in `version`.
    pub(crate) fn streams_of(
        &self,
        family: &Family,
        version: Arc<Version>,
        memtables: &[Arc<Memtable>],
    ) -> Vec<FoundStream> {
        let options = family.current();
        let possible = options.streams_bypass_level0
            && options.compaction_style == CompactionStyle::Level
            && options.preclude_last_level_data_seconds == 0
            && !options.disable_auto_compactions
            && family.sst_partitioner_factory.is_none()
            && family.cmp.user().timestamp_size() == 0
            && memtables.iter().all(|mem| mem.num_range_deletes() == 0);
        if !possible {
            return Vec::new();
        }
        let min_bytes = (options.target_file_size_base / MIN_PART_OF_TARGET)
            .max(options.table.block_size.saturating_mul(MIN_BLOCKS));
        let sources = memtables.iter().rev();
        let sources = sources.map(|mem| Source::Memtable(mem.cursor())).collect();
        let mut cursor = MergingCursor::over(family.cmp.clone(), sources);
        let mut finder = StreamFinder::new(min_bytes);
        cursor.seek_to_first();
        while cursor.valid() {
            if !finder.add(cursor.key(), cursor.value().len()) {
                let here = cursor.key().to_vec();
                if !any_in_order(&mut cursor, family.cmp.user()).unwrap_or(false) {
                    return Vec::new();
                }
                cursor.seek(&here);
            }
            cursor.next();
        }
        // If memtables cannot be read here, their flush gets the same error and reports it.
        if cursor.status().is_err() {
            return Vec::new();
        }
        let floor = family.stream_floor.bytes();
        let streams = finder.finish().into_iter().map(|stream| {
            let large = stream.bytes >= floor;
            FoundStream {
                without: large.then(|| files_without(family, &version, &stream)),
                stream,
            }
        });
        streams.collect()
    }

    /// Adds to `placed` the streams that need not go to L0, each with a level where no file overlaps it, and
    /// reserves the range there.
    pub(crate) fn place(
        &self,
        state: &mut DbState,
        id: u32,
        streams: Vec<FoundStream>,
        placed: &mut Vec<PlacedStream>,
    ) {
        let Some(own) = state.families.get_mut(&id).filter(|_| !streams.is_empty()) else {
            return;
        };
        let family = own.family.clone();
        let leveled = family.current().leveled();
        let base_level = LevelTargets::new(&own.version, &leveled).base_level;
        own.stream_borders = streams.iter().map(|found| found.stream.border()).collect();
        let large = |found: FoundStream| Some((found.stream, found.without?));
        for (stream, without) in streams.into_iter().filter_map(large) {
            let has_none = |file: &FileMetadata| without.contains(&file.number);
            let (level, bottommost) = lowest_level(&own.version, &own.running, &leveled, &stream, has_none);
            // Levels above the base level must stay empty.
            if level >= base_level.max(1) {
                placed.push(PlacedStream {
                    level,
                    bottommost,
                    compression: family.current().compression_for(level, base_level, bottommost),
                    reserved: own.running.reserve(level, &stream.first, &stream.last),
                    stream,
                });
            }
        }
    }

    /// Ends the reservations: the tables are installed, or will not be.
    pub(crate) fn release(&self, state: &mut MutexGuard<'_, DbState>, id: u32, placed: &[PlacedStream]) {
        if let Some(own) = state.families.get_mut(&id) {
            placed
                .iter()
                .for_each(|placed| own.running.finish(placed.reserved));
        }
    }
}

/// The files of `version` that have no key in the range of `stream` although their range includes it, from
/// the top down to the first file that has one.
fn files_without(family: &Family, version: &Version, stream: &Stream) -> Vec<u64> {
    let files = (0..version.num_levels()).flat_map(|level| files_around(version, level, stream));
    // A file that cannot be read may have such keys. Below a file that has some, other files do not matter.
    let has_none = |file: &&Arc<FileMetadata>| {
        let overlaps = table_overlaps(family, file, &stream.first, &stream.last, false);
        !overlaps.unwrap_or(true)
    };
    files.take_while(has_none).map(|file| file.number).collect()
}
