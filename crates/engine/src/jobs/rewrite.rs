//! The input and output of a compaction, in one key range or several in parallel.

use base::env::thread_cpu;
use base::sync::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::sync::Mutex;
use base::user_code::{call, catch_or_fail};
use base::{Result, SeqNo};
use codec::compression::CompressionType;
use compact::subranges::{self, Anchor};
use compact::{
    BlobHook, Border, CompactionCursor, CompactionReason, CompactionRules, CompactionTombstones,
    FilterContext, LevelTargets, OutputRange, OutputSplitter, PartitionerContext, Plan, SeqnoToTimeMapping,
    SstPartitioner, TableFileCreationReason, write_outputs, write_outputs_by_age,
};
use manifest::{BlobFileAddition, BlobFileGarbage, FileMetadata, Version};
use sst::BlockReadOptions;
use sst::TableReaderCaller;

use super::blob_garbage::BlobGarbage;
use super::blob_inputs::BlobInputs;
use super::blob_outputs::{BlobOutputs, Blobs};
use super::large_rows::RefusedRow;
use super::output::{Destination, TableOutputs};
use super::unsynced::Unsynced;
use crate::events::Event;
use crate::read::level_cursor::LevelCursor;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::timed_hooks;

/// The number of keys of each input file among which the boundaries of subcompactions are chosen, as in
/// RocksDB.
const ANCHORS: usize = 128;

/// The names of panicking user code in errors.
pub(super) const PARTITIONER: &str = "partitioner";
pub(super) const FILTER_FACTORY: &str = "compaction filter factory";

/// A compaction in progress: the data shared by all its key ranges.
pub(crate) struct Rewrite<'a> {
    db: &'a DbInner,
    family: &'a Arc<Family>,
    version: &'a Version,
    plan: &'a Plan,
    job: u64,
    snapshots: Vec<SeqNo>,
    /// The lower bound of all snapshots that compaction filters get: [`FilterContext::oldest_snapshot`].
    oldest_snapshot: SeqNo,
    tombstones: CompactionTombstones,
    /// The timestamp below which old versions of keys are dropped; empty if there is none.
    full_history_ts_low: Box<[u8]>,
    /// The keys at which an output file ends if it has reached a minimum size.
    borders: Arc<[Border]>,
    /// The key range that is written alone; `None`: all keys.
    part: Option<OutputRange<'a>>,
    /// The time of the oldest data among the inputs, in Unix seconds; 0 if not known.
    oldest_ancestor_time: u64,
    garbage: Arc<Mutex<BlobGarbage>>,
    /// The times at which the rows of the inputs were written, if the family preserves them.
    times: Option<Arc<SeqnoToTimeMapping>>,
    /// Rows with higher sequence numbers go to the plan's upper level, if it has one.
    recent_after: SeqNo,
    /// The CPU time of all threads in nanoseconds.
    cpu: AtomicU64,
    /// The first row that no table can hold.
    refused: Mutex<Option<RefusedRow>>,
}

/// The outputs of a compaction.
pub(crate) struct Written {
    /// The tables and their levels. The tables of each level are in key order.
    pub files: Vec<(usize, Arc<FileMetadata>)>,
    /// The records for the MANIFEST about blobs that lost their last reference.
    pub blob_garbage: Vec<BlobFileGarbage>,
    /// The blob files with values of the rows.
    pub blob_files: Vec<BlobFileAddition>,
    /// The bytes of blobs that were read.
    pub blob_bytes_read: u64,
    /// The number of key ranges, each written by one thread.
    pub subcompactions: usize,
    /// The CPU time of all threads.
    pub cpu: Duration,
    /// The compression of the tables.
    pub compression: CompressionType,
}

impl Written {
    /// The tables of all levels.
    pub fn tables(&self) -> impl Iterator<Item = &FileMetadata> + Clone {
        self.files.iter().map(|(_, file)| &**file)
    }
}

fn partitioner_context(plan: &Plan) -> PartitionerContext<'_> {
    PartitionerContext {
        is_full_compaction: plan.is_full_compaction,
        is_manual_compaction: plan.reason == CompactionReason::ManualCompaction,
        output_level: plan.output_level,
        smallest_user_key: &plan.smallest_user_key,
        largest_user_key: &plan.largest_user_key,
    }
}

/// The compression of the outputs of `plan` for `level`.
pub(super) fn compression_of(
    family: &Family,
    version: &Version,
    plan: &Plan,
    level: usize,
) -> CompressionType {
    let options = family.current();
    if let Some(compression) = plan.compression {
        return compression;
    }
    let base_level = LevelTargets::new(version, &options.leveled()).base_level;
    let bottommost = plan.bottommost && level == plan.output_level;
    options.compression_for(level, base_level, bottommost)
}

impl<'a> Rewrite<'a> {
    /// The rewrite of `plan` over `version`. Opens its inputs.
    pub fn new(
        db: &'a DbInner,
        family: &'a Arc<Family>,
        version: &'a Version,
        plan: &'a Plan,
        job: u64,
        full_history_ts_low: Box<[u8]>,
    ) -> Result<Rewrite<'a>> {
        let known_times = plan
            .files()
            .map(|(_, file)| file.oldest_ancestor_time)
            .filter(|&time| time > 0);
        let times = db
            .times_of(family, plan.files().map(|(_, file)| file))?
            .map(Arc::new);
        let keep_through = plan.upper.map_or(0, |upper| upper.keep_through);
        Ok(Rewrite {
            recent_after: db.recent_after(family, times.as_deref()).max(keep_through),
            db,
            family,
            version,
            plan,
            job,
            oldest_snapshot: db.oldest_snapshot(),
            snapshots: db.snapshots.seqnos(),
            tombstones: plan.tombstones(|file| Ok(family.tables.table(file)?.range_tombstones().clone()))?,
            full_history_ts_low,
            borders: Arc::default(),
            part: None,
            oldest_ancestor_time: known_times.min().unwrap_or(0),
            garbage: Arc::default(),
            times,
            cpu: AtomicU64::new(0),
            refused: Mutex::default(),
        })
    }

    /// Adds `borders` at which outputs end.
    pub fn ending_at(mut self, borders: Arc<[Border]>) -> Rewrite<'a> {
        self.borders = borders;
        self
    }

    /// Keeps the rows of `snapshots`, in ascending order, in place of those of the database's own snapshots.
    pub fn keeping(mut self, snapshots: Vec<SeqNo>) -> Rewrite<'a> {
        self.oldest_snapshot = snapshots.first().copied().unwrap_or(self.oldest_snapshot);
        self.snapshots = snapshots;
        self
    }

    /// Writes the keys of `part` alone, on one thread.
    pub fn within(mut self, part: OutputRange<'a>) -> Rewrite<'a> {
        self.part = Some(part);
        self
    }

    /// The row that caused the failure, if a row did.
    pub fn refused_row(&self) -> Option<RefusedRow> {
        let mut row = self.refused.lock().take()?;
        if row.file.is_none() {
            // The range tombstones of all inputs are merged, so the file of the tombstone must be searched
            // for.
            let mut files = self.plan.files().map(|(_, file)| file);
            let holder = files.find(|file| self.has_large_tombstone(file));
            row.file = holder.map(|file| file.number);
        }
        Some(row)
    }

    fn has_large_tombstone(&self, file: &Arc<FileMetadata>) -> bool {
        let limit = self.family.values.row_limit;
        self.family.tables.table(file).is_ok_and(|table| {
            let mut tombstones = table.range_tombstones().tombstones();
            tombstones.any(|tombstone| !limit.allows(tombstone.start.len().max(tombstone.end.len()), 0))
        })
    }

    /// Writes the outputs, on up to `threads` threads.
    pub fn run(&self, threads: usize) -> Result<Written> {
        let cuts = match self.part {
            Some(_) => Vec::new(),
            None => subranges::cuts(self.plan, self.anchors(threads)?, threads),
        };
        let between = (0..=cuts.len()).map(|at| OutputRange {
            start: at.checked_sub(1).map(|before| &cuts[before][..]),
            end: cuts.get(at).map(|cut| &cut[..]),
        });
        let ranges: Vec<OutputRange<'_>> = match self.part {
            Some(part) => vec![part],
            None => between.collect(),
        };
        let mut written = Vec::new();
        let mut failed = None;
        for outcome in self.write_ranges(&ranges) {
            match outcome {
                Ok(outputs) => written.extend(outputs),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if failed.is_none() {
            // The outputs of a level are in one directory.
            let mut synced = BTreeSet::new();
            let mut outputs = written.iter().filter(|outputs| !outputs.files.is_empty());
            failed = catch_or_fail(|| {
                outputs.try_for_each(|outputs| match synced.insert(outputs.destination.path_id) {
                    true => outputs.sync_dir(),
                    false => Ok(()),
                })
            })
            .err();
        }
        if let Some(error) = failed {
            written.into_iter().for_each(|outputs| outputs.discard(&error));
            return Err(error);
        }
        // The order of epochs among the outputs and the remaining L0 files must stay that of the inputs.
        let epoch_number = self
            .plan
            .files()
            .map(|(_, file)| file.epoch_number)
            .min()
            .flatten();
        let blob_files = written
            .iter_mut()
            .flat_map(|outputs| outputs.blob_files.drain(..))
            .collect();
        let files = written.iter_mut().flat_map(|outputs| {
            let level = outputs.destination.level.unwrap_or(0);
            outputs.files.drain(..).map(move |file| (level, file))
        });
        let files = files.map(|(level, file)| (level, Arc::new(FileMetadata { epoch_number, ..file })));
        Ok(Written {
            files: files.collect(),
            blob_garbage: self.blob_garbage(),
            blob_files,
            blob_bytes_read: self.garbage.lock().bytes_read,
            subcompactions: ranges.len(),
            cpu: Duration::from_nanos(self.cpu.load(Ordering::Relaxed)),
            compression: self.compression_at(self.plan.output_level),
        })
    }

    /// The candidates for boundaries of subcompactions; none if one thread writes everything.
    fn anchors(&self, threads: usize) -> Result<Vec<Anchor>> {
        let mut anchors = Vec::new();
        if threads > 1 {
            for (_, file) in self.plan.files() {
                anchors.extend(self.family.tables.table(file)?.anchors(ANCHORS)?);
            }
        }
        Ok(anchors)
    }

    /// Writes each range on a thread of its own, the first range on this thread.
    fn write_ranges(&self, ranges: &[OutputRange<'_>]) -> Vec<Result<Vec<TableOutputs<'a>>>> {
        let Some((&first, others)) = ranges.split_first() else {
            return Vec::new();
        };
        // After a panic of one thread the outputs of the others must still be discarded.
        let write = |nth, range| catch_or_fail(|| self.write_range(nth, range));
        thread::scope(|scope| {
            let running: Vec<_> = (1..)
                .zip(others)
                .map(|(nth, &range)| {
                    let thread = thread::Builder::new().name("esker-compact".to_owned());
                    let spawned =
                        thread.spawn_scoped(scope, move || self.db.work.part_of_job(|| write(nth, range)));
                    (nth, range, spawned)
                })
                .collect();
            let mut written = vec![write(0, first)];
            for (nth, range, thread) in running {
                written.push(match thread {
                    Ok(thread) => thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    // If no thread can be started, the current thread writes the range.
                    Err(_) => write(nth, range),
                });
            }
            written
        })
    }

    /// Writes `range`, the range with index `subcompaction`.
    fn write_range(&self, subcompaction: usize, range: OutputRange<'_>) -> Result<Vec<TableOutputs<'a>>> {
        let (family, job, plan) = (&self.family.name, self.job, self.plan);
        let clock = &self.db.options.clock;
        self.db.notify(&Event::SubcompactionBegun {
            family: family.clone(),
            job,
            subcompaction,
            reason: plan.reason,
            base_input_level: plan.start_level(),
            output_level: plan.output_level,
            compression: self.compression_at(plan.output_level),
        });
        let (before, began) = (thread_cpu(), clock.now());
        let outputs = self.merge_range(range);
        let used = thread_cpu().saturating_sub(before);
        self.cpu.fetch_add(used.as_nanos() as u64, Ordering::Relaxed);
        let written = outputs.as_ref().map_or(&[][..], |outputs| outputs);
        let sizes = written
            .iter()
            .flat_map(|outputs| &outputs.files)
            .map(|file| file.size);
        self.db.notify(&Event::SubcompactionCompleted {
            family: family.clone(),
            job,
            subcompaction,
            reason: plan.reason,
            base_input_level: plan.start_level(),
            output_level: plan.output_level,
            compression: self.compression_at(plan.output_level),
            output_files: sizes.clone().count(),
            bytes_written: sizes.sum(),
            micros: clock.now().saturating_sub(began).as_micros() as u64,
            cpu_micros: used.as_micros() as u64,
            error: outputs.as_ref().err().cloned(),
        });
        outputs
    }

    /// The outputs for `level`, without blob files.
    fn outputs_at(&self, level: usize) -> TableOutputs<'a> {
        let plan = self.plan;
        let is_upper = level != plan.output_level;
        let destination = Destination {
            level: Some(level),
            flushed: false,
            bottommost: plan.bottommost && !is_upper,
            compression: self.compression_at(level),
            path_id: self.family.path_of(plan, level),
        };
        // The upper level has no older rows.
        let oldest = match is_upper {
            true => self.oldest_ancestor_time.max(self.db.precluded_time(self.family)),
            false => self.oldest_ancestor_time,
        };
        let mut outputs = TableOutputs::new(self.db, self.family, destination, oldest, self.job);
        outputs.compaction = Some(plan);
        outputs.times = self.times.clone();
        // Output files that end where streams continue are small, so their syncs are gathered.
        outputs.unsynced = (!self.borders.is_empty()).then(Unsynced::default);
        outputs
    }

    fn splitter(&self) -> OutputSplitter {
        let limits = self.plan.split_limits(self.borders.clone());
        OutputSplitter::new(self.family.cmp.user().clone(), limits)
            .with_partitioner(self.partitioner())
            .with_min_at_border(self.family.stream_floor.bytes_of_output())
    }

    /// Writes the rows of `range`. Returns the outputs of the output level, and of the upper level if there
    /// is one.
    fn merge_range(&self, range: OutputRange<'_>) -> Result<Vec<TableOutputs<'a>>> {
        let plan = self.plan;
        let blobs = BlobOutputs::new(self.db, self.family, plan.output_level, false, self.job);
        let rules = self.rules(range.end, blobs.clone());
        let sources = self.sources()?;
        let mut cursor = CompactionCursor::new(MergingCursor::over(self.family.cmp.clone(), sources), rules);
        let mut outputs = self.outputs_at(plan.output_level);
        outputs.blobs = blobs;
        let mut upper = plan.upper.map(|upper| self.outputs_at(upper.level));
        let written = catch_or_fail(|| {
            match range.start {
                Some(start) => cursor.seek(start),
                None => cursor.seek_to_first(),
            }
            let splitter = self.splitter();
            match &mut upper {
                None => write_outputs(&mut cursor, range, splitter, &mut outputs)?,
                Some(upper) => {
                    let (older, newer) = ((splitter, &mut outputs), (self.splitter(), upper));
                    write_outputs_by_age(&mut cursor, range, self.recent_after, older, newer)?;
                }
            }
            let unsynced = [&outputs].into_iter().chain(&upper);
            unsynced
                .filter_map(|outputs| outputs.unsynced.as_ref())
                .try_for_each(Unsynced::sync)?;
            outputs.finish_blobs()
        });
        let mut all = vec![outputs];
        all.extend(upper);
        self.db
            .report_refused_values(self.family, self.job, cursor.refused());
        match written {
            Ok(()) => {
                self.db.stats.count_drops(cursor.stats());
                Ok(all)
            }
            Err(error) => {
                for mut outputs in all {
                    if let Some(row) = outputs.refused.take() {
                        self.refused.lock().get_or_insert(row);
                    }
                    outputs.discard(&error);
                }
                Err(error)
            }
        }
    }

    /// The partitioner that ends outputs between keys; none in L0.
    fn partitioner(&self) -> Option<Box<dyn SstPartitioner>> {
        let plan = self.plan;
        let factory = self
            .family
            .sst_partitioner_factory
            .as_ref()
            .filter(|_| plan.output_level > 0)?;
        call(
            PARTITIONER,
            || "",
            || factory.create_partitioner(&partitioner_context(plan)),
        )
    }

    /// The compression of the outputs for `level`.
    fn compression_at(&self, level: usize) -> CompressionType {
        compression_of(self.family, self.version, self.plan, level)
    }

    fn sources(&self) -> Result<Vec<Source>> {
        let read = BlockReadOptions {
            verify_checksums: self.db.options.verify_checksums_in_compaction,
            fill_cache: false,
            caller: TableReaderCaller::Compaction,
            readahead_size: self.db.current.load().compaction_readahead_size,
            ..BlockReadOptions::default()
        };
        let tables = &self.family.tables;
        let open = self.db.options.compaction_reads();
        let mut sources = Vec::new();
        for level in &self.plan.inputs {
            if level.level > 0 {
                let cursor = LevelCursor::over_files(tables.clone(), level.files.clone(), read, open);
                sources.push(Source::Level(cursor));
                continue;
            }
            for file in &level.files {
                let mut cursor = tables.table(file)?.cursor(read);
                cursor.read_through(tables.open_file(file, &open)?);
                sources.push(Source::Table(cursor));
            }
        }
        Ok(sources)
    }

    fn rules(&self, end: Option<&[u8]>, outputs: Option<Arc<Mutex<BlobOutputs>>>) -> CompactionRules {
        let (plan, family) = (self.plan, self.family);
        let context = FilterContext {
            is_full_compaction: plan.is_full_compaction,
            is_manual_compaction: plan.reason == CompactionReason::ManualCompaction,
            column_family_id: family.id,
            input_start_level: Some(plan.start_level()),
            reason: TableFileCreationReason::Compaction,
            oldest_snapshot: self.oldest_snapshot,
        };
        let factory = family.options.compaction_filter_factory.as_ref();
        let factory = factory.filter(|factory| {
            call(
                FILTER_FACTORY,
                || factory.name(),
                || factory.should_filter_table_file_creation(context.reason),
            )
        });
        let blobs = (outputs.is_some() || !self.version.blob_files().is_empty()).then(|| {
            let collection = family.current().blob_garbage_collection_of(plan.blob_garbage);
            Box::new(Blobs {
                inputs: Some(BlobInputs::new(self.db, family)),
                outputs,
                sizes: family.current().blob_sizes(),
                cutoff: collection.map_or(0, |collection| collection.cutoff(self.version)),
                garbage: self.garbage.clone(),
                entered: None,
            }) as Box<dyn BlobHook>
        });
        let of_all = match context.is_manual_compaction {
            true => &self.db.jobs.manual_cancelled,
            false => &self.db.jobs.cancelled,
        };
        CompactionRules {
            snapshots: self.snapshots.clone(),
            tombstones: self.tombstones.clone(),
            merge_operator: family.values.operator(),
            filter: factory
                .and_then(|factory| call(FILTER_FACTORY, || factory.name(), || factory.create(&context)))
                .map(|filter| timed_hooks::compaction_filter(filter, self.db.options.statistics.as_ref())),
            blobs,
            full_history_ts_low: Some(self.full_history_ts_low.to_vec()).filter(|low| !low.is_empty()),
            end: end.map(<[u8]>::to_vec),
            cancelled: plan
                .canceled
                .iter()
                .chain([of_all, &self.db.jobs.compactions_aborted])
                .cloned()
                .collect(),
            preserve_from: self.db.preserved_from(family, self.times.as_deref()),
            row_limit: family.values.row_limit,
            ..plan.rules()
        }
    }

    fn blob_garbage(&self) -> Vec<BlobFileGarbage> {
        let garbage = self.garbage.lock();
        let lost = garbage
            .by_file
            .iter()
            .filter(|(number, (count, _))| *count > 0 && self.version.blob_files().contains_key(number));
        lost.map(|(&number, &(count, bytes))| BlobFileGarbage {
            number,
            garbage_blob_count: count,
            garbage_blob_bytes: bytes,
            ..BlobFileGarbage::default()
        })
        .collect()
    }
}
