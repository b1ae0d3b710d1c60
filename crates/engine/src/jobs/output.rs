//! The tables that a flush or a compaction writes.

use std::path::PathBuf;
use std::sync::Arc;

use base::entry_type::EntryType;
use base::internal_key::TRAILER_LEN;
use base::statistics::Ticker;
use base::sync::Mutex;
use base::user_code::call;
use base::{Error, InternalComparator, Kind, Result, Temperature, filename, internal_key};
use codec::compression::CompressionType;
use compact::filter::may_refer_to_blobs;
use compact::plan::Plan;
use compact::{CompactionReason, FileBounds, OutputSink, SeqnoToTimeMapping, TableFileCreationReason};
use manifest::{BlobFileAddition, FileMetadata};
use rangedel::RangeTombstone;
use sst::filter::UNKNOWN_LEVEL;
use sst::writer::{TableWriter, TableWriterOptions};
use sst::{Table, TableProperties};
use vfs::CreateOptions;

use crate::events::Event;
use crate::files::file_checksum::FileSum;
use crate::jobs::blob_outputs::BlobOutputs;
use crate::jobs::creation_reason::creation_reason;
use crate::jobs::large_rows::RefusedRow;
use crate::jobs::output_check::OutputCheck;
use crate::jobs::output_file::OutputFile;
use crate::jobs::unsynced::Unsynced;
use crate::options::names::Merger;
use crate::options::{
    CacheEntryRole, ColumnFamilyOptions, CompactionStyle, DataBlockIndexType, FilterPolicy,
    PrepopulateBlockCache,
};
use crate::read::approximate_size::approximate_size;
use crate::read::merging_cursor::MergingCursor;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::table_properties_collector::{CollectorContext, TablePropertiesCollector};

/// The destination of written tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    /// The level; `None`: L0, from memtables.
    pub level: Option<usize>,
    /// True if the rows come from memtables.
    pub flushed: bool,
    /// True if no level below the tables has older data of their keys.
    pub bottommost: bool,
    pub compression: CompressionType,
    /// The index of the directory.
    pub path_id: u32,
}

/// Writes tables one after the other. Finished tables are in [`files`](TableOutputs::files). Unfinished ones
/// are deleted by [`discard`](TableOutputs::discard) or, if that is not called, by the next open.
pub(crate) struct TableOutputs<'a> {
    db: &'a DbInner,
    family: &'a Family,
    /// The options of the family that were in force when these outputs were begun.
    options: Arc<ColumnFamilyOptions>,
    pub destination: Destination,
    /// The time of the oldest data among the inputs, in Unix seconds; 0 if not known.
    oldest_ancestor_time: u64,
    /// The number of the job that writes the tables.
    job: u64,
    /// The compaction that writes the tables, if one does.
    pub compaction: Option<&'a Plan>,
    /// The outputs of large values, unless they stay in the tables.
    pub blobs: Option<Arc<Mutex<BlobOutputs>>>,
    /// The times at which rows were written, if the tables record them.
    pub times: Option<Arc<SeqnoToTimeMapping>>,
    /// The finished blob files.
    pub blob_files: Vec<BlobFileAddition>,
    open: Option<OpenTable>,
    /// The number of a table that was begun and whose end was not reported.
    begun: Option<u64>,
    /// The finished tables, in key order.
    pub files: Vec<FileMetadata>,
    /// The first row that no table can hold, if there was one.
    pub refused: Option<RefusedRow>,
    /// The paths of all files begun.
    paths: Vec<PathBuf>,
    /// The finished tables that are not synced yet, if their syncs are gathered.
    pub unsynced: Option<Unsynced>,
}

struct OpenTable {
    number: u64,
    temperature: Temperature,
    writer: TableWriter,
    sum: FileSum,
    check: OutputCheck,
    oldest_blob: Option<u64>,
    collectors: Vec<Box<dyn TablePropertiesCollector>>,
    covered: Covered,
}

/// The estimate of the data that a table's range tombstones delete in the levels below.
#[derive(Default)]
struct Covered {
    /// The start key of the last counted tombstone; others with the same start key are not counted.
    start: Vec<u8>,
    tombstones: u64,
    /// The bytes under the first [`MAX_ESTIMATES`] tombstones.
    bytes: u64,
}

/// The maximum number of tombstones per table whose bytes are estimated; the rest is extrapolated.
const MAX_ESTIMATES: u64 = 1000;

impl Covered {
    /// The estimated bytes under all tombstones.
    fn estimate(&self) -> u64 {
        let estimated = u128::from(self.tombstones.clamp(1, MAX_ESTIMATES));
        let all = u128::from(self.bytes) * u128::from(self.tombstones) / estimated;
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}

/// The name of a panicking collector in errors.
const COLLECTOR: &str = "table properties collector";

/// Passes an entry to `collectors`, of a table of `file_size` bytes so far.
#[cold]
fn collect(collectors: &mut [Box<dyn TablePropertiesCollector>], file_size: u64, key: &[u8], value: &[u8]) {
    let entry = EntryType::of(internal_key::kind_byte(key));
    let (user_key, seqno) = (internal_key::user_key(key), internal_key::seqno(key));
    for collector in collectors {
        call(
            COLLECTOR,
            || "",
            || {
                collector.add_user_key(user_key, value, entry, seqno, file_size);
            },
        );
    }
}

impl<'a> TableOutputs<'a> {
    pub fn new(
        db: &'a DbInner,
        family: &'a Family,
        destination: Destination,
        oldest_ancestor_time: u64,
        job: u64,
    ) -> TableOutputs<'a> {
        TableOutputs {
            db,
            family,
            options: family.current.load_full(),
            destination,
            oldest_ancestor_time,
            job,
            compaction: None,
            blobs: None,
            times: None,
            blob_files: Vec::new(),
            open: None,
            begun: None,
            files: Vec::new(),
            refused: None,
            paths: Vec::new(),
            unsynced: None,
        }
    }

    /// Finishes the last blob file, after the last table.
    pub fn finish_blobs(&mut self) -> Result<()> {
        if let Some(blobs) = &self.blobs {
            self.blob_files = blobs.lock().finish_all()?;
        }
        for blob in &self.blob_files {
            self.db.notify(&Event::BlobFileCreated {
                family: self.family.name.clone(),
                job: self.job,
                file: blob.number,
                total_blob_count: blob.total_blob_count,
                total_blob_bytes: blob.total_blob_bytes,
                file_checksum: blob.checksum_value.to_vec(),
                file_checksum_func_name: blob.checksum_method.clone(),
            });
        }
        Ok(())
    }

    fn path_of(&self, number: u64) -> PathBuf {
        filename::table(self.family.paths.dir(self.destination.path_id), number)
    }

    fn reason(&self) -> TableFileCreationReason {
        creation_reason(self.destination.flushed, self.job)
    }

    /// Makes the directory entries of finished files durable. Their contents were made durable file by file.
    /// Blob files are in the family's first directory, whichever one the tables go to.
    pub fn sync_dir(&self) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let fs = &self.db.options.fs;
        let dir = self.family.paths.dir(self.destination.path_id);
        if dir != self.family.dir {
            fs.sync_dir(&self.family.dir)?;
        }
        fs.sync_dir(dir)
    }

    /// Queues all begun files for deletion: the job failed with `error`.
    pub fn discard(mut self, error: &Error) {
        if let Some(file) = self.begun.take() {
            self.db.notify(&Event::TableCreationFailed {
                family: self.family.name.clone(),
                job: self.job,
                file,
                path: self.path_of(file).display().to_string(),
                reason: self.reason(),
                error: error.clone(),
            });
        }
        if let Some(open) = self.open.take() {
            open.writer.abandon();
        }
        let blobs = self.blobs.take().map(|blobs| blobs.lock().abandon(error));
        self.paths.extend(blobs.into_iter().flatten());
        self.paths.drain(..).for_each(|path| self.db.obsolete.add(path));
    }

    fn writer_options(&self, number: u64) -> TableWriterOptions {
        let options = &*self.options;
        let now = self.db.options.clock.unix_seconds();
        let common = table_format(options, &self.family.cmp);
        let usage = &options.table.cache_usage_options;
        let charged = |role| {
            self.family
                .tables
                .block_cache()
                .filter(|_| usage.charges(role))
                .cloned()
        };
        TableWriterOptions {
            dictionary_buffer_cache: charged(CacheEntryRole::CompressionDictionaryBuildingBuffer),
            filter_construction_cache: charged(CacheEntryRole::FilterConstruction),
            compression: self.destination.compression,
            compression_opts: options.compression_opts_for(self.destination.bottommost).clone(),
            filter: match self.destination.bottommost && options.optimize_filters_for_hits {
                true => FilterPolicy::None,
                false => common.filter,
            },
            level: match (options.compaction_style, self.destination.level) {
                (CompactionStyle::Fifo | CompactionStyle::None, _) => UNKNOWN_LEVEL,
                (CompactionStyle::Level | CompactionStyle::Universal, None) => -1,
                (CompactionStyle::Level | CompactionStyle::Universal, Some(level)) => level as i32,
            },
            prefix_extractor: self.family.prefix_extractor.clone(),
            cf_id: self.family.id,
            cf_name: self.family.name.clone().into_bytes(),
            merge_operator: match &self.family.values.merger {
                Merger::Operator(operator) => Some(operator.name().to_owned()),
                Merger::Unknown(name) if name.is_empty() => None,
                Merger::Unknown(name) => Some(name.clone()),
            },
            db_id: self.db.identity.db_id.clone(),
            session_id: self.db.identity.session_id.clone(),
            file_number: number,
            creation_time: if self.oldest_ancestor_time == 0 {
                now
            } else {
                self.oldest_ancestor_time
            },
            oldest_key_time: self.oldest_ancestor_time,
            file_creation_time: now,
            statistics: self.db.options.statistics.clone(),
            row_limit: self.family.values.row_limit,
            ..common
        }
    }

    /// The temperature of the next table: from the plan, or from the options of its level. A flushed table
    /// gets the temperature of other tables, whatever its level.
    fn temperature(&self) -> Temperature {
        let said = self.compaction.and_then(|plan| plan.output_temperature);
        said.unwrap_or_else(|| match self.compaction {
            Some(plan) => self
                .options
                .temperature_at(self.destination.level.unwrap_or(plan.output_level)),
            None => self.options.default_write_temperature,
        })
    }

    /// The creation time of the only input, if the compaction leaves its age unchanged.
    fn age_kept(&self) -> Option<u64> {
        let plan = self.compaction?;
        let kept = plan.reason == CompactionReason::ChangeTemperature;
        let (_, input) = plan.files().next().filter(|_| kept)?;
        Some(input.file_creation_time)
    }

    /// The users' collectors for a table, whose names are added to `options`.
    fn collectors(&self, options: &mut TableWriterOptions) -> Vec<Box<dyn TablePropertiesCollector>> {
        let family = &self.options;
        let context = CollectorContext {
            column_family_id: self.family.id,
            level_at_creation: self.destination.level.unwrap_or(0),
            num_levels: family.num_levels as usize,
        };
        let factories = family.table_properties_collector_factories.iter();
        let made = factories.filter_map(|factory| {
            let collector = call(COLLECTOR, || factory.name(), || factory.create(&context));
            Some((factory.name(), collector?))
        });
        let (names, collectors): (Vec<&str>, Vec<_>) = made.unzip();
        options.property_collectors = format!("[{}]", names.join(","));
        collectors
    }

    /// Returns the open table. The caller calls this function before it adds an entry.
    #[inline(always)]
    fn record_entry(&mut self, key: &[u8], value: &[u8]) -> Result<&mut OpenTable> {
        let limit = self.family.values.row_limit;
        let user_len = key.len().saturating_sub(TRAILER_LEN);
        if !limit.allows(user_len, value.len()) {
            self.refused = Some(RefusedRow::new(&key[..user_len], internal_key::seqno(key)));
            return Err(limit.error(user_len, value.len()));
        }
        let open = self.current()?;
        let kind = base::internal_key::kind_byte(key);
        if may_refer_to_blobs(kind) {
            let oldest_blob = &mut open.oldest_blob;
            blob::for_each_location(Kind::from_byte(kind).unwrap_or(Kind::Value), value, |location| {
                let number = location.file_number;
                *oldest_blob = Some(oldest_blob.map_or(number, |oldest| oldest.min(number)));
                Ok(())
            })?;
        }
        open.check.add(key, value);
        if !open.collectors.is_empty() {
            collect(&mut open.collectors, open.writer.file_size(), key, value);
        }
        Ok(open)
    }

    fn current(&mut self) -> Result<&mut OpenTable> {
        // The caller opens an output file before it adds an entry.
        self.open
            .as_mut()
            .ok_or_else(|| Error::invalid_argument("no output file is open"))
    }
}

/// The options of a family that apply to each of its tables, whatever its source and level.
pub(crate) fn table_format(options: &ColumnFamilyOptions, cmp: &InternalComparator) -> TableWriterOptions {
    let table = &options.table;
    TableWriterOptions {
        persist_timestamps: options.persist_user_defined_timestamps,
        format_version: table.format_version,
        checksum: table.checksum,
        block_size: table.block_size as usize,
        block_restart_interval: table.block_restart_interval as usize,
        index_block_restart_interval: table.index_block_restart_interval as usize,
        block_align: table.block_align,
        block_size_deviation: table.block_size_deviation as u32,
        enable_index_compression: table.enable_index_compression,
        data_block_hash_table_util_ratio: match table.data_block_index_type {
            DataBlockIndexType::BinarySearch => None,
            DataBlockIndexType::BinaryAndHash => Some(table.data_block_hash_table_util_ratio),
        },
        use_delta_encoding: table.use_delta_encoding,
        separate_key_value_in_data_block: table.separate_key_value_in_data_block,
        index_type: table.index_type,
        index_shortening: table.index_shortening,
        metadata_block_size: table.metadata_block_size as usize,
        partition_filters: table.partition_filters,
        decouple_partitioned_filters: table.decouple_partitioned_filters,
        filter: table.filter_policy,
        block_property_collectors: options.block_property_collector_factories.clone(),
        optimize_filters_for_memory: table.optimize_filters_for_memory,
        whole_key_filtering: table.whole_key_filtering,
        ..TableWriterOptions::new(cmp.clone())
    }
}

impl OutputSink<MergingCursor> for TableOutputs<'_> {
    fn open(&mut self) -> Result<()> {
        let number = self.db.versions.new_file_number();
        let path = self.path_of(number);
        self.begun = Some(number);
        self.db.notify(&Event::TableCreationStarted {
            family: self.family.name.clone(),
            job: self.job,
            file: number,
            path: path.display().to_string(),
            reason: self.reason(),
        });
        let create = CreateOptions {
            bytes_per_sync: self.db.current.load().bytes_per_sync,
            strict_bytes_per_sync: self.db.options.strict_bytes_per_sync,
            direct: self.db.options.use_direct_io_for_flush_and_compaction,
            temperature: self.temperature(),
            ..CreateOptions::default()
        };
        // The file may exist even if its creation failed.
        self.paths.push(path.clone());
        let file = self.db.options.fs.create(&path, &create)?;
        let compacts = self.destination.level.is_some();
        let file = OutputFile::over(self.db, self.family, compacts, file);
        let (file, sum) = FileSum::over(self.db.options.file_checksum_gen_factory, file);
        let mut options = self.writer_options(number);
        let collectors = self.collectors(&mut options);
        let writer = TableWriter::new(file, options)?;
        self.open = Some(OpenTable {
            number,
            temperature: create.temperature,
            writer,
            sum,
            check: OutputCheck::new(self.options.paranoid_file_checks),
            oldest_blob: None,
            collectors,
            covered: Covered::default(),
        });
        Ok(())
    }

    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.record_entry(key, value)?.writer.add(key, value)
    }

    #[inline]
    fn add_sharing(&mut self, key: &[u8], common: usize, value: &[u8]) -> Result<()> {
        self.record_entry(key, value)?
            .writer
            .add_sharing(key, common, value)
    }

    /// Adds the file and the row to the error.
    fn refused(&mut self, error: Error, input: &MergingCursor) -> Error {
        let (Some(row), Some(cursor)) = (&mut self.refused, input.top_table()) else {
            return error;
        };
        row.file = Some(cursor.table().file_number());
        error
            .context(&format!("row '{}'", row.key.escape_ascii()))
            .in_file(cursor.table().path())
    }

    fn last_key(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |open| open.writer.last_key())
    }

    fn can_copy_block(&mut self, input: &MergingCursor) -> bool {
        let copies = self.options.copy_untouched_blocks && self.compaction.is_some();
        let (Some(open), Some(cursor)) = (&mut self.open, input.top_table()) else {
            return false;
        };
        copies && open.writer.stores_as(cursor.table()) && open.writer.can_copy_block(cursor)
    }

    /// Copies a block whose entries are inline values, which refer to no blobs.
    fn copy_block(&mut self, input: &mut MergingCursor) -> Result<bool> {
        let open = self.current()?;
        let Some(cursor) = input.top_table_mut() else {
            return Ok(false);
        };
        let file_size = open.writer.file_size();
        let (check, collectors) = (&mut open.check, &mut open.collectors);
        let copied = open.writer.copy_block(cursor, |key, value| {
            check.add(key, value);
            if !collectors.is_empty() {
                collect(collectors, file_size, key, value);
            }
        })?;
        if let Some(bytes) = copied {
            self.db.stats.add(Ticker::CompactionBlocksCopied, 1);
            self.db.stats.add(Ticker::CompactionBytesCopied, bytes);
        }
        Ok(copied.is_some())
    }

    fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        let limit = self.family.values.row_limit;
        let longest = tombstone.start.len().max(tombstone.end.len());
        if !limit.allows(longest, 0) {
            self.refused = Some(RefusedRow::new(&tombstone.start, tombstone.seqno));
            return Err(limit.error(longest, 0));
        }
        self.weigh(tombstone);
        let open = self.current()?;
        open.check.add_range_tombstone(tombstone);
        open.writer
            .add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)
    }

    fn file_size(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.writer.file_size())
    }

    fn close(&mut self, bounds: FileBounds) -> Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        for collector in &mut open.collectors {
            let properties = call(COLLECTOR, || "", || collector.finish());
            open.writer.add_user_properties(properties);
        }
        let mut collectors = open.collectors.iter();
        let marked_for_compaction = call(
            COLLECTOR,
            || "",
            || collectors.any(|collector| collector.need_compact()),
        );
        if let Some(times) = &self.times {
            let times = times.encode(bounds.smallest_seqno, bounds.largest_seqno);
            open.writer.set_seqno_to_time_mapping(times);
        }
        let summary = match &self.unsynced {
            None => open.writer.finish()?,
            Some(unsynced) => {
                let (summary, sync) = open.writer.finish_unsynced()?;
                unsynced.add(sync, summary.file_size)?;
                summary
            }
        };
        self.db.stats.count_compressed(summary.compressed);
        let properties = &summary.properties;
        let file = FileMetadata {
            number: open.number,
            path_id: self.destination.path_id,
            size: summary.file_size,
            smallest: bounds.smallest.into(),
            largest: bounds.largest.into(),
            smallest_seqno: bounds.smallest_seqno,
            largest_seqno: bounds.largest_seqno,
            oldest_blob_file_number: open.oldest_blob,
            marked_for_compaction,
            oldest_ancestor_time: properties.creation_time,
            file_creation_time: self.age_kept().unwrap_or(properties.file_creation_time),
            temperature: open.temperature,
            compensated_range_deletion_size: open.covered.estimate(),
            file_checksum: open.sum.checksum(),
            unique_id: properties.unique_id(),
            min_timestamp: properties.timestamp_min.as_slice().into(),
            max_timestamp: properties.timestamp_max.as_slice().into(),
            user_defined_timestamps_persisted: !self.family.cuts_timestamps(),
            padded_timestamp_size: self.family.cut_timestamp_size(),
            ..FileMetadata::default()
        };
        if self.destination.level.is_none() {
            self.family.tables.mark_level_0(&file);
        }
        // The new table is checked now, while the inputs of the job still exist.
        self.family.tables.open_written(&file, |table| {
            open.check.compare(table, properties)?;
            self.prepopulate(table)
        })?;
        self.tell(&file, &summary.properties);
        self.begun = None;
        let number = file.number;
        self.files.push(file);
        self.db.on_add_file(|| self.path_of(number), summary.file_size);
        // A flush does not fail when the space limit is reached, because its memory is needed. The database
        // stops after the flush.
        match self.destination.flushed {
            true => Ok(()),
            false => self.db.check_space(),
        }
    }
}

impl TableOutputs<'_> {
    /// Counts the data that a range tombstone deletes in levels below. Pickers add it to the size of the
    /// file, so that files that free more are compacted sooner. If several tombstones have
    /// one start key, they are cut to the same end, and the first counts.
    fn weigh(&mut self, tombstone: &RangeTombstone) {
        let Some(open) = self.open.as_mut().filter(|_| !self.destination.bottommost) else {
            return;
        };
        let covered = &mut open.covered;
        if covered.tombstones > 0 && covered.start == tombstone.start {
            return;
        }
        covered.tombstones += 1;
        covered.start.clear();
        covered.start.extend_from_slice(&tombstone.start);
        if covered.tombstones <= MAX_ESTIMATES {
            let below = self.destination.level.map_or(0, |level| level + 1);
            let version = self.family.super_version.load().version.clone();
            let user = self.family.cmp.user();
            let (start, end) = (
                user.strip_timestamp(&tombstone.start),
                user.strip_timestamp(&tombstone.end),
            );
            // The size is an estimate: an error of a table that cannot be opened is reported when it is read.
            let bytes = approximate_size(self.family, &version, below, start, end).unwrap_or(0);
            covered.bytes = covered.bytes.saturating_add(bytes);
        }
    }

    /// Inserts blocks of a new table into the block cache, according to the options.
    fn prepopulate(&self, table: &Arc<Table>) -> Result<()> {
        let option = self.options.table.prepopulate_block_cache;
        let Some(plan) = self.compaction else {
            return match option {
                PrepopulateBlockCache::Disable => Ok(()),
                _ if !self.destination.flushed => Ok(()),
                _ => table.warm(|_, _| true),
            };
        };
        if option != PrepopulateBlockCache::FlushAndCompaction {
            return Ok(());
        }
        if plan.inputs.iter().any(|inputs| inputs.level == 0) {
            return table.warm(|_, _| true);
        }
        let cmp = &self.family.cmp;
        let is_hot = |key: &[u8]| {
            plan.files().any(|(_, file)| {
                cmp.compare(&file.smallest, key).is_le()
                    && cmp.compare(key, &file.largest).is_le()
                    // If the table cannot be opened, none of its blocks is inserted into the cache.
                    && self
                        .family
                        .tables
                        .with_table(file, |table| Ok(table.has_cached_block_of(key)))
                        .unwrap_or(false)
            })
        };
        table.warm(|before, behind| is_hot(behind) || (!before.is_empty() && is_hot(before)))
    }

    fn tell(&self, file: &FileMetadata, properties: &TableProperties) {
        let checksum = file.file_checksum.as_ref();
        self.db.notify(&Event::TableCreated {
            family: self.family.name.clone(),
            job: self.job,
            file: file.number,
            bytes: file.size,
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            file_checksum: checksum.map_or_else(Vec::new, |checksum| checksum.value.to_vec()),
            file_checksum_func_name: checksum.map_or_else(String::new, |checksum| checksum.func_name.clone()),
            oldest_blob_file: file.oldest_blob_file_number,
            properties: Box::new(properties.clone()),
        });
    }
}
