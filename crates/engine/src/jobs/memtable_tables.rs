//! The writing of memtables to tables and blob files, by flushes and recoveries.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::sync::Mutex;
use base::user_code::{call, catch_or_fail};
use base::{Result, SeqNo};
use codec::compression::CompressionType;
use compact::{
    BeyondOutput, BlobHook, CompactionCursor, CompactionFilter, CompactionRules, CompactionTombstones,
    FileBounds, FilterContext, OutputRange, OutputSink, OutputSplitter, SeqnoToTimeMapping,
    TableFileCreationReason, write_outputs,
};
use manifest::{BlobFileAddition, FileMetadata};
use memtable::Memtable;
use rangedel::{FragmentedTombstones, RangeTombstone};

use super::blob_outputs::{BlobOutputs, Blobs};
use super::cut_timestamps::cut_timestamps;
use super::output::{Destination, TableOutputs};
use super::rewrite::FILTER_FACTORY;
use super::streams::PlacedStream;
use super::unsynced::Unsynced;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_inner::RECOVERY_JOB;
use crate::timed_hooks;

/// The files written from some memtables.
#[derive(Default)]
pub(crate) struct Flushed {
    /// The tables; empty if no row of the memtables was left to write.
    pub tables: Vec<FlushedTable>,
    /// The blob files with values of the rows.
    pub blob_files: Vec<BlobFileAddition>,
    /// The timestamp below which reads fail once the tables are installed, where tables have no timestamps.
    pub full_history_ts_low: Option<Box<[u8]>>,
}

/// A table with rows of memtables.
#[derive(Clone)]
pub(crate) struct FlushedTable {
    pub level: usize,
    pub compression: CompressionType,
    pub file: Arc<FileMetadata>,
}

impl Flushed {
    /// The timestamp that the family's `full_history_ts_low` rises to from `low`, if it rises.
    pub fn raised_low(&self, family: &Family, low: &[u8]) -> Option<Box<[u8]>> {
        let user = family.cmp.user();
        let new = self.full_history_ts_low.as_deref()?;
        let rises = low.is_empty() || user.compare_timestamp(new, low).is_gt();
        rises.then(|| new.into())
    }

    /// The tables in the form that a version edit adds.
    pub fn new_files(&self) -> Vec<(u32, Arc<FileMetadata>)> {
        let tables = self.tables.iter();
        tables
            .map(|table| (table.level as u32, table.file.clone()))
            .collect()
    }

    /// The bytes of values in the blob files.
    pub fn blob_bytes(&self) -> u64 {
        self.blob_files.iter().map(|blob| blob.total_blob_bytes).sum()
    }
}

impl DbInner {
    /// Writes memtables, oldest first, as a part of `job`. Each stream of `placed`, which is ordered by key,
    /// goes to a table of its own, all other rows to one table of L0, and large values to blob files
    /// according to the options. Empty tables are not written.
    pub(crate) fn write_memtables(
        &self,
        family: &Family,
        memtables: &[Arc<Memtable>],
        placed: &[PlacedStream],
        epoch_number: Option<u64>,
        job: u64,
    ) -> Result<Flushed> {
        let started = family.clock.now();
        let cut = match family.cuts_timestamps() {
            true => cut_timestamps(family, memtables, &self.snapshots.seqnos())
                .map_err(|error| family.in_memory(error))
                .map(Some)?,
            false => None,
        };
        let memtables = cut.as_ref().map_or(memtables, |cut| &cut.memtables);
        let mut writer = MemtableWriter::new(self, family, memtables, placed, job)?;
        // Rows whose timestamps are removed are older than `full_history_ts_low`.
        writer.full_history_ts_low = cut.as_ref().and_then(|cut| cut.full_history_ts_low.clone());
        let rest = Destination {
            level: None,
            flushed: true,
            bottommost: false,
            compression: family.current().compression_for(0, 1, false),
            path_id: 0,
        };
        let mut outputs = vec![TableOutputs::new(self, family, rest, 0, job)];
        outputs[0].blobs = writer.blobs.clone();
        let destinations = placed.iter().map(|placed| Destination {
            level: Some(placed.level),
            flushed: true,
            bottommost: placed.bottommost,
            compression: placed.compression,
            path_id: family.path_of_level(placed.level),
        });
        outputs.extend(destinations.map(|to| TableOutputs::new(self, family, to, 0, job)));
        outputs
            .iter_mut()
            .for_each(|outputs| outputs.times = writer.times.clone());
        let unsynced = (!placed.is_empty()).then(Unsynced::default);
        outputs
            .iter_mut()
            .for_each(|outputs| outputs.unsynced = unsynced.clone());
        let written = catch_or_fail(|| {
            match placed {
                [] => writer.write(None, None, None, &mut outputs[0])?,
                _ => writer.write_apart(placed, &mut outputs)?,
            }
            outputs[0].finish_blobs()?;
            unsynced.iter().try_for_each(Unsynced::sync)?;
            let mut synced = BTreeSet::new();
            let written = outputs.iter().filter(|outputs| !outputs.files.is_empty());
            written
                .filter(|outputs| synced.insert(outputs.destination.path_id))
                .try_for_each(TableOutputs::sync_dir)
        });
        if let Err(error) = written {
            outputs.into_iter().for_each(|outputs| outputs.discard(&error));
            return Err(match error.file() {
                Some(_) => error,
                None => family.in_memory(error),
            });
        }
        let on_disk = unsynced.is_some_and(|unsynced| unsynced.waits_for_disk());
        let streams = outputs[1..].iter().flat_map(|outputs| &outputs.files);
        let took = family.clock.now().saturating_sub(started);
        family.stream_floor.record(
            placed.len() * usize::from(on_disk),
            streams.map(|file| file.size).sum(),
            took,
        );
        let blob_files = std::mem::take(&mut outputs[0].blob_files);
        let tables = outputs.iter_mut().flat_map(|outputs| {
            let (level, compression) = (outputs.destination.level, outputs.destination.compression);
            outputs.files.drain(..).map(move |file| FlushedTable {
                level: level.unwrap_or(0),
                compression,
                file: Arc::new(FileMetadata { epoch_number, ..file }),
            })
        });
        Ok(Flushed {
            tables: tables.collect(),
            blob_files,
            full_history_ts_low: cut.and_then(|cut| cut.full_history_ts_low),
        })
    }

    /// The user's compaction filter for rows that are written from memtables, if there is one.
    fn filter_of_memtables(&self, family: &Family, job: u64) -> Option<Box<dyn CompactionFilter>> {
        let reason = match job {
            RECOVERY_JOB => TableFileCreationReason::Recovery,
            _ => TableFileCreationReason::Flush,
        };
        let factory = family.options.compaction_filter_factory.as_ref()?;
        let context = FilterContext {
            is_full_compaction: false,
            is_manual_compaction: false,
            column_family_id: family.id,
            input_start_level: None,
            reason,
            oldest_snapshot: self.oldest_snapshot(),
        };
        let create = || match factory.should_filter_table_file_creation(reason) {
            true => factory.create(&context),
            false => None,
        };
        call(FILTER_FACTORY, || factory.name(), create)
            .map(|filter| timed_hooks::compaction_filter(filter, self.options.statistics.as_ref()))
    }
}

/// The rows of some memtables, written in one part or several.
struct MemtableWriter<'a> {
    db: &'a DbInner,
    family: &'a Family,
    job: u64,
    memtables: &'a [Arc<Memtable>],
    snapshots: Vec<SeqNo>,
    tombstones: CompactionTombstones,
    /// The times at which rows were written, if the family preserves them.
    times: Option<Arc<SeqnoToTimeMapping>>,
    /// The timestamp below which versions of keys are dropped, if there is one.
    full_history_ts_low: Option<Box<[u8]>>,
    /// The outputs of large values; `None` if no part writes blob files.
    blobs: Option<Arc<Mutex<BlobOutputs>>>,
}

impl<'a> MemtableWriter<'a> {
    fn new(
        db: &'a DbInner,
        family: &'a Family,
        memtables: &'a [Arc<Memtable>],
        placed: &[PlacedStream],
        job: u64,
    ) -> Result<MemtableWriter<'a>> {
        let snapshots = db.snapshots.seqnos();
        let sets: Vec<Arc<FragmentedTombstones>> = memtables
            .iter()
            .map(|mem| mem.verified_range_tombstones(&snapshots))
            .collect::<Result<_>>()
            .map_err(|error| family.in_memory(error))?;
        let borrowed: Vec<&FragmentedTombstones> = sets.iter().map(|set| &**set).collect();
        Ok(MemtableWriter {
            db,
            family,
            job,
            memtables,
            tombstones: CompactionTombstones::new(family.cmp.user().clone(), &borrowed),
            snapshots,
            times: db.times_of(family, [])?.map(Arc::new),
            full_history_ts_low: None,
            blobs: BlobOutputs::new(
                db,
                family,
                placed.iter().map(|placed| placed.level).max().unwrap_or(0),
                true,
                job,
            ),
        })
    }

    /// Writes the user keys from `start` (inclusive) to `end` (exclusive) to `sink`, for the level of
    /// `placed`, or for L0 without it.
    fn write(
        &self,
        start: Option<&[u8]>,
        end: Option<&[u8]>,
        placed: Option<&PlacedStream>,
        sink: &mut impl OutputSink<MergingCursor>,
    ) -> Result<()> {
        let family = self.family;
        let user = family.cmp.user();
        let sources = self.memtables.iter().rev();
        let sources = sources.map(|mem| Source::Memtable(mem.cursor())).collect();
        let level = placed.map_or(0, |placed| placed.level);
        let bottommost = placed.is_some_and(|placed| placed.bottommost);
        let blobs = self
            .blobs
            .as_ref()
            .filter(|_| family.current().writes_blobs_at(level));
        let hook = blobs.map(|outputs| {
            Box::new(Blobs {
                inputs: None,
                outputs: Some(outputs.clone()),
                sizes: family.current().blob_sizes(),
                cutoff: 0,
                garbage: Arc::default(),
                entered: None,
            }) as Box<dyn BlobHook>
        });
        let plain = CompactionRules::new(user.clone());
        let rules = CompactionRules {
            snapshots: self.snapshots.clone(),
            tombstones: self.tombstones.clone(),
            merge_operator: family.values.operator(),
            filter: self.db.filter_of_memtables(family, self.job),
            blobs: hook,
            preserve_from: self.db.preserved_from(family, self.times.as_deref()),
            full_history_ts_low: self.full_history_ts_low.as_deref().map(<[u8]>::to_vec),
            row_limit: family.values.row_limit,
            end: end.map(<[u8]>::to_vec),
            bottommost,
            beyond: match bottommost {
                true => BeyondOutput::nothing(user.clone()),
                false => plain.beyond.clone(),
            },
            ..plain
        };
        let mut cursor = CompactionCursor::new(MergingCursor::over(family.cmp.clone(), sources), rules);
        match start {
            Some(start) => cursor.seek(start),
            None => cursor.seek_to_first(),
        }
        let splitter = OutputSplitter::never(user.clone());
        let written = write_outputs(&mut cursor, OutputRange { start, end }, splitter, sink);
        self.db.report_refused_values(family, self.job, cursor.refused());
        written
    }

    /// Writes the rows between the streams of `placed` to the first of `outputs`, and each stream to one of
    /// the others.
    fn write_apart(&self, placed: &[PlacedStream], outputs: &mut [TableOutputs<'_>]) -> Result<()> {
        let (rest, streams) = outputs.split_at_mut(1);
        let mut rest = OneTable::new(&mut rest[0]);
        // The first key that is not written yet.
        let mut start = None;
        for (placed, outputs) in placed.iter().zip(streams) {
            let stream = &placed.stream;
            let first = Some(&stream.first[..]);
            if start != first {
                self.write(start, first, None, &mut rest)?;
            }
            self.write(first, stream.end.as_deref(), Some(placed), outputs)?;
            start = stream.end.as_deref();
            if start.is_none() {
                return rest.finish();
            }
        }
        self.write(start, None, None, &mut rest)?;
        rest.finish()
    }
}

/// Writes several parts of the memtables to one table, each with its own range tombstones.
pub(crate) struct OneTable<'s, 'a> {
    outputs: &'s mut TableOutputs<'a>,
    bounds: FileBounds,
}

impl<'s, 'a> OneTable<'s, 'a> {
    /// The table that `outputs` writes next.
    pub fn new(outputs: &'s mut TableOutputs<'a>) -> OneTable<'s, 'a> {
        OneTable {
            outputs,
            bounds: FileBounds::default(),
        }
    }

    /// Finishes the table, if a part had anything to write.
    pub fn finish(self) -> Result<()> {
        match self.bounds.is_empty() {
            true => Ok(()),
            false => self.outputs.close(self.bounds),
        }
    }
}

impl OutputSink<MergingCursor> for OneTable<'_, '_> {
    fn open(&mut self) -> Result<()> {
        match self.bounds.is_empty() {
            true => self.outputs.open(),
            false => Ok(()),
        }
    }

    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.outputs.add(key, value)
    }

    fn last_key(&self) -> &[u8] {
        self.outputs.last_key()
    }

    fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.outputs.add_range_tombstone(tombstone)
    }

    fn file_size(&self) -> u64 {
        self.outputs.file_size()
    }

    /// The table stays open for the next parts.
    fn close(&mut self, bounds: FileBounds) -> Result<()> {
        self.bounds.append(bounds);
        Ok(())
    }
}
