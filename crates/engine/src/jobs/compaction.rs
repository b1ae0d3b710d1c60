//! Compaction: picks under the database mutex, reads and writes without it, installs under it again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, ErrorKind, Result};
use codec::compression::CompressionType;
use compact::picker::files::{CompactFilesOptions, pick_files};
use compact::picker::leveled::pick_leveled;
use compact::picker::range::{CompactRangeOptions, RangeCompaction, RangeStep};
use compact::picker::{FileFacts, JobId, PickContext};
use compact::{
    BlobHook, CompactionCursor, CompactionRules, FilterContext, OutputRange, OutputSplitter, Plan,
    Relocation, write_outputs,
};
use manifest::{BlobFileGarbage, FileMetadata, Version, VersionEdit};
use parking_lot::{Mutex, MutexGuard};
use sst::BlockReadOptions;

use super::output::{BlobGarbage, TableOutputs};
use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::db::state::DbState;
use crate::events::Event;
use crate::read::level_cursor::LevelCursor;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::stats::Ticker;

/// What a family's files are, for the picker.
struct Facts<'a> {
    family: &'a Family,
    base_level: usize,
}

impl FileFacts for Facts<'_> {
    /// A file whose merges nobody here can resolve would come out as it went in, and be picked again for ever.
    fn worth_rewriting(&self, file: &FileMetadata) -> bool {
        let resolves = self.family.values.operator().is_some();
        resolves
            || self
                .family
                .tables
                .merge_operands(file)
                .is_some_and(|operands| operands == 0)
    }

    /// By the file's own compression, not by what is configured for the level it lies in. A table that is not open is not
    /// opened for the question: it is rewritten, as it would be if it differed.
    fn can_move(&self, file: &FileMetadata, output_level: usize) -> bool {
        let options = &self.family.options;
        if options.compression_per_level.is_empty() && options.bottommost_compression.is_none() {
            return true;
        }
        let wanted = options.compression_for(output_level, self.base_level, false);
        self.family
            .tables
            .compression(file)
            .is_some_and(|compression| compression == wanted)
    }
}

/// What a compaction wrote.
struct Written {
    files: Vec<Arc<FileMetadata>>,
    garbage: BlobGarbage,
}

/// Counts blob references in and out; blobs themselves stay where they are.
struct CountBlobs {
    family: Arc<Family>,
    garbage: Arc<Mutex<BlobGarbage>>,
}

impl BlobHook for CountBlobs {
    fn extract(&mut self, _user_key: &[u8], _value: &[u8], _index: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    fn relocate(&mut self, _user_key: &[u8], _index: &[u8], _out: &mut Vec<u8>) -> Result<Relocation> {
        Ok(Relocation::Keep)
    }

    fn fetch(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<()> {
        *out = self
            .family
            .values
            .blobs
            .get(user_key, &blob::BlobIndex::decode(index)?)?;
        Ok(())
    }

    fn enter(&mut self, user_key: &[u8], index: &[u8]) -> Result<()> {
        self.garbage.lock().enter(user_key, index)
    }

    fn leave(&mut self, user_key: &[u8], index: &[u8]) -> Result<()> {
        self.garbage.lock().leave(user_key, index)
    }
}

impl DbInner {
    /// Calls `pick` with what pickers decide by, about family `id`.
    fn with_pick_context<T>(
        &self,
        state: &DbState,
        id: u32,
        pick: impl FnOnce(&PickContext<'_>) -> T,
    ) -> Option<T> {
        let own = state.families.get(&id)?;
        let options = own.family.options.leveled();
        let base_level = compact::levels::LevelTargets::new(&own.version, &options).base_level;
        let low = Some(&own.full_history_ts_low[..]).filter(|low| !low.is_empty());
        let context = PickContext {
            version: &own.version,
            options: &options,
            running: &own.running,
            oldest_snapshot: self
                .snapshots
                .oldest()
                .unwrap_or_else(|| self.published.load(Ordering::Acquire)),
            now: self.options.clock.unix_seconds(),
            full_history_ts_low: low,
            facts: &Facts {
                family: &own.family,
                base_level,
            },
        };
        Some(pick(&context))
    }

    /// Runs the compaction that family `id` needs most. False if there is none that could run now.
    pub(crate) fn compact_family(&self, state: &mut MutexGuard<'_, DbState>, id: u32) -> Result<bool> {
        match self.with_pick_context(state, id, pick_leveled).flatten() {
            Some(plan) => self.run_plan(state, id, plan).map(|_| true),
            None => {
                if let Some(own) = state.families.get_mut(&id)
                    && own.compaction_due
                    && own.running.is_empty()
                {
                    // With none of its own at work nothing will change that by itself.
                    own.compaction_due = false;
                    // Somebody may wait until nothing is due any more.
                    self.changed.notify_all();
                }
                Ok(false)
            }
        }
    }

    /// Compacts a range of `family`, on the caller's thread.
    pub(crate) fn compact_range_steps(
        &self,
        family: &Arc<Family>,
        options: &CompactRangeOptions,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        let has_filter = family.options.compaction_filter_factory.is_some();
        let mut range = RangeCompaction::new(
            options.clone(),
            begin,
            end,
            has_filter,
            self.versions.next_file_number(),
        );
        let mut state = self.state.lock();
        loop {
            state.check_writable()?;
            let step = self.with_pick_context(&state, family.id, |context| range.step(context));
            match step.ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, family.name.clone()))?? {
                RangeStep::Compact(plan) => drop(self.run_plan(&mut state, family.id, *plan)?),
                RangeStep::Wait => self.changed.wait(&mut state),
                RangeStep::Done => return Ok(()),
            }
        }
    }

    /// Compacts the files `numbers` of `family` to `output_level`, on the caller's thread. Gives the numbers of the files that
    /// took their place.
    pub(crate) fn compact_named_files(
        &self,
        family: &Arc<Family>,
        options: &CompactFilesOptions,
        numbers: &[u64],
        output_level: usize,
    ) -> Result<Vec<u64>> {
        let mut state = self.state.lock();
        state.check_writable()?;
        let plan = self
            .with_pick_context(&state, family.id, |context| {
                pick_files(context, numbers, output_level, options)
            })
            .ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, family.name.clone()))??;
        self.run_plan(&mut state, family.id, plan)
    }

    /// Runs one compaction and gives the numbers of its outputs.
    fn run_plan(&self, state: &mut MutexGuard<'_, DbState>, id: u32, plan: Plan) -> Result<Vec<u64>> {
        let own = state.family_mut(id)?;
        let job: JobId = own.running.start(&plan);
        let (family, version) = (own.family.clone(), own.version.clone());
        state.running_compactions += 1;
        let start = self.options.clock.now();
        let mut edit = VersionEdit {
            column_family: id,
            ..VersionEdit::default()
        };
        edit.deleted_files
            .extend(plan.files().map(|(level, file)| (level as u32, file.number)));
        let output_level = plan.output_level as u32;
        let mut outputs = Vec::new();
        let result = if plan.trivial_move {
            edit.new_files
                .extend(plan.files().map(|(_, file)| (output_level, file.clone())));
            outputs = plan.files().map(|(_, file)| file.number).collect();
            self.apply_edit(state, edit, |_| {})
        } else {
            let written = MutexGuard::unlocked(state, || self.write_compaction(&family, &version, &plan));
            written.and_then(|written| {
                outputs = written.files.iter().map(|file| file.number).collect();
                edit.new_files
                    .extend(written.files.into_iter().map(|file| (output_level, file)));
                edit.blob_file_garbages = garbage_of(&version, &written.garbage);
                let applied = self.apply_edit(state, edit, |_| {});
                applied.inspect_err(|error| self.discard_of_dropped(error, outputs.iter().copied()))
            })
        };
        state.running_compactions -= 1;
        let mut stall = None;
        if let Some(own) = state.families.get_mut(&id) {
            own.running.finish(job);
            stall = self.note_stall(own);
        }
        self.changed.notify_all();
        self.work.notify_all();
        let micros = self.options.clock.now().saturating_sub(start).as_micros() as u64;
        MutexGuard::unlocked(state, || {
            self.report_compaction(&family, &plan, &outputs, &result, micros);
            stall.iter().for_each(|event| self.notify(event));
        });
        result.map(|()| outputs)
    }

    fn report_compaction(
        &self,
        family: &Family,
        plan: &Plan,
        outputs: &[u64],
        result: &Result<()>,
        micros: u64,
    ) {
        let name = family.name.clone();
        match result {
            Ok(()) if plan.trivial_move => {
                self.stats
                    .add(Ticker::TrivialMoves, plan.num_input_files() as u64);
                self.notify(&Event::Moved {
                    family: name,
                    plan: plan.to_string(),
                });
            }
            Ok(()) => {
                let size = |number: &u64| {
                    self.options
                        .fs
                        .size(&base::filename::table(&family.dir, *number))
                        .unwrap_or(0)
                };
                let bytes_written = outputs.iter().map(size).sum();
                self.stats.add(Ticker::CompactReadBytes, plan.input_bytes());
                self.stats.add(Ticker::CompactWriteBytes, bytes_written);
                self.notify(&Event::Compacted {
                    family: name,
                    plan: plan.to_string(),
                    outputs: outputs.to_vec(),
                    bytes_read: plan.input_bytes(),
                    bytes_written,
                    micros,
                });
            }
            // The database is closing, or the family was dropped: nothing is wrong.
            Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::ColumnFamilyDropped) => {}
            Err(error) => self.latch("compaction", error.clone()),
        }
    }

    fn write_compaction(&self, family: &Arc<Family>, version: &Arc<Version>, plan: &Plan) -> Result<Written> {
        let user = family.cmp.user();
        let read = BlockReadOptions {
            verify_checksums: self.options.verify_checksums_in_compaction,
            fill_cache: false,
            readahead_size: COMPACTION_READAHEAD,
        };
        let mut sources = Vec::new();
        for level in &plan.inputs {
            if level.level > 0 {
                let cursor = LevelCursor::over_files(family.tables.clone(), level.files.clone(), read);
                sources.push(Source::Level(Box::new(cursor)));
                continue;
            }
            for file in &level.files {
                let table = family.tables.table(file)?;
                sources.push(Source::Table(Box::new(table.cursor(read))));
            }
        }
        let tombstones = plan.tombstones(|file| Ok(family.tables.table(file)?.range_tombstones().clone()))?;
        let known_times = plan
            .files()
            .map(|(_, file)| file.oldest_ancestor_time)
            .filter(|&time| time > 0);
        let oldest_ancestor_time = known_times.min().unwrap_or(0);
        let filter_context = FilterContext {
            is_full_compaction: plan.is_full_compaction,
            is_manual_compaction: plan.reason == compact::plan::CompactionReason::ManualCompaction,
            column_family_id: family.id,
            input_start_level: plan.start_level(),
        };
        let factory = family.options.compaction_filter_factory.as_ref();
        let garbage = Arc::new(Mutex::new(BlobGarbage::default()));
        let blobs: Option<Box<dyn BlobHook>> = (!version.blob_files().is_empty()).then(|| {
            Box::new(CountBlobs {
                family: family.clone(),
                garbage: garbage.clone(),
            }) as _
        });
        let low = self
            .state
            .lock()
            .families
            .get(&family.id)
            .map(|own| own.full_history_ts_low.to_vec());
        let rules = CompactionRules {
            snapshots: self.snapshots.seqnos(),
            tombstones,
            merge_operator: family.values.operator(),
            filter: factory.and_then(|factory| factory.create(&filter_context)),
            blobs,
            full_history_ts_low: low.filter(|low| !low.is_empty()),
            cancelled: Some(self.cancelled.clone()),
            ..plan.rules()
        };
        let mut cursor = CompactionCursor::new(MergingCursor::new(family.cmp.clone(), sources), rules);
        let mut outputs = TableOutputs::new(
            self,
            family,
            self.compression_of(family, version, plan),
            oldest_ancestor_time,
        );
        cursor.seek_to_first();
        let splitter = OutputSplitter::new(user.clone(), plan.split_limits());
        let written = write_outputs(&mut cursor, OutputRange::default(), splitter, &mut outputs)
            .and_then(|()| outputs.sync_dir());
        if let Err(error) = written {
            outputs.discard();
            return Err(error);
        }
        // Among the outputs and what is left in L0 the order of epochs stays that of the inputs.
        let epoch_number = plan.files().map(|(_, file)| file.epoch_number).min().flatten();
        let files: Vec<Arc<FileMetadata>> = outputs
            .files
            .drain(..)
            .map(|file| Arc::new(FileMetadata { epoch_number, ..file }))
            .collect();
        drop(cursor);
        let garbage = std::mem::take(&mut *garbage.lock());
        Ok(Written { files, garbage })
    }

    fn compression_of(&self, family: &Family, version: &Version, plan: &Plan) -> CompressionType {
        let base_level = compact::levels::LevelTargets::new(version, &family.options.leveled()).base_level;
        family
            .options
            .compression_for(plan.output_level, base_level, plan.bottommost)
    }
}

/// Bytes a compaction reads ahead of itself in each input.
const COMPACTION_READAHEAD: usize = 2 << 20;

/// What the MANIFEST is told of blobs that lost their last reference.
fn garbage_of(version: &Version, garbage: &BlobGarbage) -> Vec<BlobFileGarbage> {
    let lost = garbage
        .by_file
        .iter()
        .filter(|(number, (count, _))| *count > 0 && version.blob_files().contains_key(number));
    lost.map(|(&number, &(count, bytes))| BlobFileGarbage {
        number,
        garbage_blob_count: count,
        garbage_blob_bytes: bytes,
        ..BlobFileGarbage::default()
    })
    .collect()
}
