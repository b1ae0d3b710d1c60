//! Compaction: picks under the database mutex, reads and writes without it, installs the outputs under it
//! again.

use base::statistics::{Histogram, Ticker};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base::sync::MutexGuard;
use base::user_code::{call, catch, catch_or_fail};
use base::{Error, ErrorKind, Result, SeqNo};
use codec::compression::CompressionType;
use compact::pace::Work;
use compact::picker::files::{CompactFilesOptions, pick_files};
use compact::picker::pick;
use compact::picker::range::{CompactRangeOptions, RangeCompaction, RangeStep};
use compact::picker::rewritten::Circumstances;
use compact::picker::{FileFacts, JobId, PickContext};
use compact::score::Scores;
use compact::stall::StallCondition;
use compact::{CompactionReason, PartitionerContext, Plan};
use manifest::{FileMetadata, Version, VersionEdit};
use rangedel::FragmentedTombstones;

use super::large_rows::RefusedRow;
use super::rewrite::{PARTITIONER, Rewrite};
use crate::events::Event;
use crate::jobs::requests::{compactions_aborted, manual_paused};
use crate::log::level_summary::level_summary;
use crate::options::CompactionStyle;
use crate::options::sst_file_manager::Reserved;
use crate::options::thread_pool::Next;
use crate::state::column_family::Family;
use crate::state::compaction_job::CompactionJob;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{COMPACTION, DbState, FamilyState};
use crate::state::error_state::closing;
use crate::state::level_stats::entries;

/// The result of a compaction.
#[derive(Default)]
struct Done {
    /// The numbers of the files that the compaction has installed.
    outputs: Vec<u64>,
    written_by: Option<WrittenBy>,
    /// The row that ended the compaction, because our tables cannot hold it.
    refused: Option<RefusedRow>,
}

/// The statistics of a compaction whose outputs are installed.
struct WrittenBy {
    subcompactions: usize,
    cpu: Duration,
    compression: CompressionType,
    entries: u64,
    /// The bytes of the written tables.
    bytes: u64,
    /// The bytes of values in blob files: read, and written.
    blob_bytes: (u64, u64),
}

/// The facts about a family's files that the compaction picker needs.
struct Facts<'a> {
    family: &'a Family,
    base_level: usize,
    /// The last level, below which there are no files.
    last_level: usize,
    visible_to_all: SeqNo,
    /// The time in Unix seconds.
    now: u64,
    /// Rows with this sequence number or a higher one keep it instead of 0; a single compaction may compute a
    /// higher bound.
    preserved_from: SeqNo,
    suggested: &'a BTreeSet<u64>,
    to_rewrite: &'a BTreeSet<u64>,
    /// The numbers of files about which the picker requested data, and which were never opened.
    never_opened: &'a RefCell<BTreeSet<u64>>,
}

impl FileFacts for Facts<'_> {
    fn range_tombstones(&self, file: &FileMetadata) -> Option<Arc<FragmentedTombstones>> {
        self.family.tables.range_tombstones(file)
    }

    fn visible_to_all(&self) -> SeqNo {
        self.visible_to_all
    }

    fn is_suggested(&self, file: &FileMetadata) -> bool {
        self.suggested.contains(&file.number)
    }

    fn is_to_be_rewritten(&self, file: &FileMetadata) -> bool {
        self.to_rewrite.contains(&file.number)
    }

    /// Older releases recorded the newest timestamp of a table only in its properties and not in the
    /// MANIFEST.
    fn max_timestamp(&self, file: &FileMetadata) -> Option<Box<[u8]>> {
        self.family.tables.max_timestamp(file)
    }

    /// A bottommost file with merge operands that cannot be resolved is not marked: a rewrite would not
    /// change it, so it would be picked endlessly.
    fn worth_rewriting(&self, file: &FileMetadata) -> bool {
        // A bottommost file whose rows keep their sequence numbers because of their age is not marked either,
        // because a rewrite would not change it.
        if file.largest_seqno >= self.preserved_from {
            return false;
        }
        let resolves = self.family.values.operator().is_some();
        resolves
            || self
                .family
                .tables
                .merge_operands(file)
                .is_some_and(|operands| operands == 0)
    }

    /// A trivial move requires that the compression of the file itself is that of the output level, whatever
    /// the setting of its own level. A file is not moved to another directory.
    fn can_move(&self, file: &FileMetadata, output_level: usize) -> bool {
        let has_place = self.family.paths.len() > 1
            && self.family.current().compaction_style == CompactionStyle::Level
            && file.path_id != self.family.path_of_level(output_level);
        if has_place {
            return false;
        }
        let leveled = self.family.current().leveled();
        if leveled.upper_level(output_level).is_some() && !leveled.has_old_rows_only(file, self.now) {
            return false;
        }
        if let Some(factory) = &self.family.sst_partitioner_factory {
            let (smallest, largest) = (file.smallest_user_key(), file.largest_user_key());
            let context = PartitionerContext {
                is_full_compaction: false,
                is_manual_compaction: false,
                output_level,
                smallest_user_key: smallest,
                largest_user_key: largest,
            };
            let can_move = call(
                PARTITIONER,
                || "",
                || {
                    let partitioner = factory.create_partitioner(&context);
                    partitioner.is_none_or(|mut own| own.can_do_trivial_move(smallest, largest))
                },
            );
            if !can_move {
                return false;
            }
        }
        let options = self.family.current();
        if options.move_files_of_any_compression {
            return true;
        }
        let wanted = options.compression_for(output_level, self.base_level, output_level >= self.last_level);
        let stats = file.stats.get();
        if stats.is_none() {
            self.never_opened.borrow_mut().insert(file.number);
        }
        match stats.and_then(|stats| stats.compression) {
            Some(compression) => compression == wanted as u8,
            // If the temperature settings differ between levels, the file is rewritten, as it would be if its
            // compression differed.
            None => options.compression_per_level.is_empty() && options.bottommost_compression.is_none(),
        }
    }
}

/// The bytes of the L0 files that `plan` rewrites to another level; 0 for a trivial move.
fn bytes_out_of_l0(plan: &Plan) -> u64 {
    if plan.trivial_move || plan.output_level == 0 {
        return 0;
    }
    let level_0 = plan.inputs.iter().filter(|input| input.level == 0);
    level_0.map(compact::LevelFiles::bytes).sum()
}

impl DbInner {
    /// Calls `pick` with the data that pickers need about family `id`.
    pub(crate) fn with_pick_context<T>(
        &self,
        state: &DbState,
        id: u32,
        pick: impl FnOnce(&PickContext<'_>) -> T,
    ) -> Option<T> {
        self.with_facts(state, id, &RefCell::default(), pick)
    }

    /// Calls `pick` as [`with_pick_context`](Self::with_pick_context) does, and also collects the numbers of
    /// files about which the picker requested data, and which were never opened.
    fn with_facts<T>(
        &self,
        state: &DbState,
        id: u32,
        never_opened: &RefCell<BTreeSet<u64>>,
        pick: impl FnOnce(&PickContext<'_>) -> T,
    ) -> Option<T> {
        let own = state.families.get(&id)?;
        let options = own.family.current().leveled();
        let version = match own.family.reserves_last_level {
            true => Arc::new(own.version.without_last_level()),
            false => own.version.clone(),
        };
        let base_level = compact::levels::LevelTargets::new(&own.version, &options).base_level;
        let low = Some(&own.full_history_ts_low[..]).filter(|low| !low.is_empty());
        let now = self.options.clock.unix_seconds();
        let context = PickContext {
            version: &version,
            options: &options,
            running: &own.running,
            oldest_snapshot: own.released_snapshot,
            now,
            full_history_ts_low: low,
            facts: &Facts {
                now,
                preserved_from: self.preserved_as_far_as_known(&own.family),
                family: &own.family,
                suggested: &own.suggested,
                to_rewrite: &own.to_rewrite,
                never_opened,
                base_level,
                last_level: own.version.num_non_empty_levels().saturating_sub(1),
                visible_to_all: self.oldest_snapshot(),
            },
        };
        Some(pick(&context))
    }

    /// Runs the compaction that family `id` needs most. False if none can run now.
    pub(crate) fn compact_family(&self, state: &mut MutexGuard<'_, DbState>, id: u32) -> Result<bool> {
        let waits = |own: &FamilyState| own.manual_waits > 0;
        // A waiting manual compaction comes first: automatic ones resume after it.
        if state.families.get(&id).is_some_and(waits) {
            return Ok(false);
        }
        let never_opened = RefCell::default();
        let mut picked = self.with_facts(state, id, &never_opened, pick).flatten();
        if picked.as_ref().is_some_and(|plan| !plan.trivial_move) && !never_opened.borrow().is_empty() {
            self.open_tables(state, id, &never_opened.into_inner());
            if !self.may_compact(state) || state.families.get(&id).is_some_and(waits) {
                return Ok(true);
            }
            picked = self.with_pick_context(state, id, pick).flatten();
        }
        match picked {
            // The next compaction would find no disk space either, unless that compaction needs none.
            Some(plan) if state.recovery.soft_error.is_some() && !plan.deletion && !plan.trivial_move => {
                Ok(false)
            }
            Some(plan) => match self.reserve_room(&plan) {
                Ok(reserved) => self.run_or_hand_over(state, id, plan, reserved).map(|()| true),
                Err(_) => {
                    self.await_room(state, id);
                    Ok(false)
                }
            },
            None => {
                if let Some(own) = state.families.get_mut(&id)
                    && own.compaction_due
                    && own.running.is_empty()
                {
                    // No running compaction of the family will clear the flag at its end, so it is cleared
                    // here.
                    own.compaction_due = false;
                    own.awaits_room = false;
                    // A thread may be waiting until no compaction is due, which is now the case.
                    self.changed.notify_all();
                }
                Ok(false)
            }
        }
    }

    /// Opens tables of family `id`, with the database mutex released, so that the picker knows more about
    /// them: a few tables of a family that was not used since the open. Errors are left to the readers of the
    /// files.
    fn open_tables(&self, state: &mut MutexGuard<'_, DbState>, id: u32, numbers: &BTreeSet<u64>) {
        let Some(own) = state.families.get(&id) else {
            return;
        };
        let (family, version) = (own.family.clone(), own.version.clone());
        MutexGuard::unlocked(state, || {
            let files = version
                .all_files()
                .filter(|(_, file)| numbers.contains(&file.number));
            files.for_each(|(_, file)| drop(family.tables.table(file)));
        });
    }

    /// Compacts a range of `family` on the caller's thread.
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
        let may = |state: &DbState| match options.is_canceled() {
            true => Err(manual_paused()),
            false => self.check_manual(state),
        };
        let alone = options.exclusive_manual_compaction;
        let mut steps = |state: &mut MutexGuard<'_, DbState>| {
            loop {
                may(state)?;
                if state.background_paused > 0 || state.manual_alone != alone {
                    self.changed.wait(state);
                    continue;
                }
                let step = self.with_pick_context(state, family.id, |context| range.step(context));
                match step
                    .ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, family.name.clone()))??
                {
                    RangeStep::Compact(mut plan) => {
                        plan.blob_garbage = options.blob_garbage();
                        plan.canceled.clone_from(&options.canceled);
                        plan.write_to(options.target_path_id);
                        self.run_manual_plan(state, family.id, *plan, options.max_subcompactions)?;
                    }
                    RangeStep::Wait => self.wait_in_line(state, family.id),
                    RangeStep::Done => return Ok(()),
                }
            }
        };
        self.manually(|state| match alone {
            true => self.alone(state, may, steps),
            false => steps(state),
        })
    }

    /// Runs `work` while no other compaction runs. Waits for the running ones, while `may` returns no error.
    pub(super) fn alone(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        may: impl Fn(&DbState) -> Result<()>,
        work: impl FnOnce(&mut MutexGuard<'_, DbState>) -> Result<()>,
    ) -> Result<()> {
        self.wait_until(state, &may, |state| !state.manual_alone)?;
        state.manual_alone = true;
        let result = self.guarded_in(state, COMPACTION, |state| {
            self.wait_until(state, may, |state| state.running_compactions == 0)?;
            work(state)
        });
        state.manual_alone = false;
        self.wake_jobs_and_writers(state);
        result
    }

    /// Compacts the files `numbers` of `family` to `output_level`, on the caller's thread. Returns the
    /// numbers of the files that replace them.
    pub(crate) fn compact_named_files(
        &self,
        family: &Arc<Family>,
        options: &CompactFilesOptions,
        numbers: &[u64],
        output_level: usize,
    ) -> Result<Vec<u64>> {
        self.manually(|state| {
            while state.background_paused > 0 || state.manual_alone {
                self.changed.wait(state);
                self.check_manual(state)?;
            }
            let plan = self
                .with_pick_context(state, family.id, |context| {
                    pick_files(context, numbers, output_level, options)
                })
                .ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, family.name.clone()))??;
            self.run_manual_plan(state, family.id, plan, options.max_subcompactions)
        })
    }

    /// Runs a manual compaction as [`run_plan`](Self::run_plan) does. If the compaction was cancelled and the
    /// cancellation has been withdrawn meanwhile, the compaction is run again.
    pub(crate) fn run_manual_plan(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        id: u32,
        plan: Plan,
        max_subcompactions: u32,
    ) -> Result<Vec<u64>> {
        let _reserved = self.reserve_room(&plan)?;
        let result = self.run_plan(state, id, plan, max_subcompactions);
        result.map_err(|error| match error.kind() {
            ErrorKind::Aborted if state.shutting_down => closing(),
            ErrorKind::Aborted if state.compaction_holds.all > 0 => compactions_aborted(),
            ErrorKind::Aborted => manual_paused(),
            _ => error,
        })
    }

    /// Runs one compaction and returns the numbers of its outputs. `max_subcompactions`: the maximum number
    /// of threads that write it; 0: as many as the option allows. A panic, for example in user code, becomes
    /// an error: reservations are released.
    pub(crate) fn run_plan(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        id: u32,
        plan: Plan,
        max_subcompactions: u32,
    ) -> Result<Vec<u64>> {
        let job = self.begin_plan(state, id, plan, max_subcompactions)?;
        self.run_job(state, job)
    }

    /// Runs an automatic compaction, or hands it over to the threads of bottom priority, if there are any and
    /// it writes to the last level.
    fn run_or_hand_over(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        id: u32,
        plan: Plan,
        reserved: Option<Reserved>,
    ) -> Result<()> {
        let family = &state.family_mut(id)?.family;
        let last = family.options.num_levels as usize - 1 - usize::from(family.reserves_last_level);
        let rewrites = !plan.trivial_move && !plan.deletion;
        let for_bottom = rewrites && plan.output_level > 0 && plan.output_level == last;
        let hands_over = for_bottom && self.work.has_bottom_thread();
        let mut job = self.begin_plan(state, id, plan, 0)?;
        job.reserved = reserved;
        if hands_over {
            state.handed_over.push_back(job);
            self.work.notify_bottom();
            return Ok(());
        }
        self.run_job(state, job).map(drop)
    }

    /// Runs a compaction that was handed over, if there is one.
    pub(crate) fn compact_handed_over(&self) -> Next {
        let mut state = self.state.lock();
        let Some(job) = state.handed_over.pop_front() else {
            return Next::Nothing;
        };
        if !state.handed_over.is_empty() {
            // Another thread may run the next bottom-priority compaction meanwhile.
            self.work.notify_bottom();
        }
        // A failed compaction has latched its error in the database, which reports it.
        drop(self.guarded_in(&mut state, COMPACTION, |state| self.run_job(state, job)));
        Next::Again
    }

    /// Reserves the inputs of `plan` for one compaction, which counts as running.
    fn begin_plan(
        &self,
        state: &mut DbState,
        id: u32,
        mut plan: Plan,
        max_subcompactions: u32,
    ) -> Result<CompactionJob> {
        let circumstances = plan
            .is_in_place()
            .then(|| self.with_pick_context(state, id, Circumstances::of))
            .flatten();
        let start = self.options.clock.now();
        let own = state.family_mut(id)?;
        if own.family.reserves_last_level {
            plan.keep_for_what_comes_below();
        }
        plan.place_by_age(&own.family.current().leveled(), &own.version);
        let running: JobId = own.running.start(&plan);
        // Another thread may find another compaction to run.
        self.work.notify_all();
        let l0_bytes = bytes_out_of_l0(&plan);
        if l0_bytes > 0 {
            own.l0_work = Some(Work {
                bytes: l0_bytes,
                start,
            });
        }
        let job = CompactionJob {
            id,
            family: own.family.clone(),
            plan,
            max_subcompactions,
            running,
            l0_bytes,
            circumstances,
            job: self.new_job(),
            start,
            reserved: None,
        };
        state.running_compactions += 1;
        Ok(job)
    }

    fn run_job(&self, state: &mut MutexGuard<'_, DbState>, job: CompactionJob) -> Result<Vec<u64>> {
        let mut done = Done::default();
        let result = catch_or_fail(|| self.compact(state, &job, &mut done));
        let outputs = done.outputs.clone();
        self.end_compaction(state, job, done, result).map(|()| outputs)
    }

    /// Executes the plan and installs its outputs.
    fn compact(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        job: &CompactionJob,
        done: &mut Done,
    ) -> Result<()> {
        let plan = &job.plan;
        let mut edit = VersionEdit {
            column_family: job.id,
            ..VersionEdit::default()
        };
        let stays = |level: usize| plan.trivial_move && level == plan.output_level;
        let replaced = plan.files().filter(|(level, _)| !stays(*level));
        edit.deleted_files
            .extend(replaced.map(|(level, file)| (level as u32, file.number)));
        if plan.deletion {
            return self.log_and_apply(state, edit, |_| {});
        }
        if plan.trivial_move {
            let output_level = plan.output_level as u32;
            edit.new_files
                .extend(plan.moved_files().map(|(_, file)| (output_level, file.clone())));
            done.outputs = plan.files().map(|(_, file)| file.number).collect();
            return self.log_and_apply(state, edit, |own| own.stats.moved(plan));
        }
        self.rewrite(state, job, edit, done)
    }

    /// Writes the outputs of a plan, and installs them with `edit`.
    fn rewrite(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        job: &CompactionJob,
        mut edit: VersionEdit,
        done: &mut Done,
    ) -> Result<()> {
        let CompactionJob { family, plan, .. } = job;
        let own = state.family_mut(job.id)?;
        let version = own.version.clone();
        let full_history_ts_low = own.full_history_ts_low.clone();
        let borders = own.stream_borders.clone();
        let mut written = MutexGuard::unlocked(state, || {
            self.notify_compaction_begun(family, job.job, plan);
            if let Some(written) = self.offer_to_service(family, &version, plan, job.job)? {
                return Ok(written);
            }
            let threads = self.subcompactions_allowed(family, plan, job.max_subcompactions);
            let rewrite = Rewrite::new(self, family, &version, plan, job.job, full_history_ts_low)?;
            let rewrite = rewrite.ending_at(borders);
            rewrite.run(threads).inspect_err(|error| {
                if error.kind() != ErrorKind::Panicked {
                    done.refused = rewrite.refused_row();
                }
            })
        })?;
        done.outputs = written.tables().map(|file| file.number).collect();
        let new = written
            .files
            .iter()
            .map(|(level, file)| (*level as u32, file.clone()));
        edit.new_files.extend(new);
        edit.blob_file_garbages = std::mem::take(&mut written.blob_garbage);
        let blob_bytes = written.blob_files.iter().map(|blob| blob.total_blob_bytes).sum();
        let blobs: Vec<u64> = written.blob_files.iter().map(|blob| blob.number).collect();
        edit.blob_file_additions = std::mem::take(&mut written.blob_files);
        let took = self.options.clock.now().saturating_sub(job.start);
        let applied = self.log_and_apply(state, edit, |own| {
            own.stats.compacted(plan, written.tables(), took, written.cpu);
            own.stats
                .compacted_blobs(plan.output_level, written.blob_bytes_read, blob_bytes);
        });
        done.written_by = Some(WrittenBy {
            subcompactions: written.subcompactions,
            cpu: written.cpu,
            compression: written.compression,
            entries: entries(written.tables()),
            bytes: written.tables().map(|file| file.size).sum(),
            blob_bytes: (written.blob_bytes_read, blob_bytes),
        });
        applied.inspect_err(|error| {
            let tables = written.tables().map(|file| job.family.paths.table(file));
            self.discard_of_dropped(error, &job.family, tables, blobs)
        })
    }

    /// Releases the reservations and the files of the compaction, and notifies listeners.
    fn end_compaction(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        job: CompactionJob,
        done: Done,
        mut result: Result<()>,
    ) -> Result<()> {
        let (plan, number) = (&job.plan, job.job);
        let mut stall = None;
        let mut shape = None;
        if let Some(own) = state.families.get_mut(&job.id) {
            own.running.finish(job.running);
            // If another compaction of the family still has no room, the next attempt finds that.
            own.awaits_room = false;
            if let Some(row) = &done.refused {
                row.leave_files_alone(own, plan);
            }
            if let Some(work) = own.l0_work.take_if(|_| job.l0_bytes > 0)
                && result.is_ok()
            {
                let behind = own.stall != StallCondition::Normal;
                own.drain
                    .carried(work.bytes, work.start, self.options.clock.now(), behind);
            }
            let noted = catch(|| {
                if let Some(circumstances) = job.circumstances.as_ref().filter(|_| result.is_ok()) {
                    own.running
                        .record_rewritten(plan, circumstances, &done.outputs, &own.version);
                }
                self.record_stall(own)
            });
            match noted {
                Ok(noted) => stall = noted,
                Err(error) => result = result.and(Err(error)),
            }
            shape = Some((own.version.clone(), own.compaction_score));
        }
        // The failure is recorded before the job is removed, so that a waiter that sees the job ended sees
        // its failure too.
        let failure = match &result {
            Err(error) if is_failure(error) && done.refused.is_none() => {
                Some(self.record_failed_compaction(state, plan, error))
            }
            _ => None,
        };
        state.stall_events.extend(stall);
        let micros = self.options.clock.now().saturating_sub(job.start).as_micros() as u64;
        let family = job.family.clone();
        // A waiter that sees the job ended sees its counters too, and no slow listener keeps its files alive.
        // A failure and the end of its job are seen at the same time.
        let event = match &result {
            Ok(()) => MutexGuard::unlocked(state, || Some(self.compaction_event(job, done, micros, shape))),
            Err(error) => {
                let refused = done.refused.as_ref();
                refused.map(|row| row.event(&job.family, &job.plan, error))
            }
        };
        state.running_compactions -= 1;
        self.record_released(state);
        self.changed.notify_all();
        self.work.notify_all();
        MutexGuard::unlocked(state, || {
            if let Err(error) = &result {
                self.report_failed_compaction(&family, number, error, failure);
            }
            if let Some(event) = event {
                self.notify(&event);
            }
            self.notify_stalls();
        });
        result
    }

    /// Counts a compaction, and returns its event, which holds no file. `shape`: the version that the
    /// compaction made, and its score; `None` if the family was dropped.
    fn compaction_event(
        &self,
        job: CompactionJob,
        done: Done,
        micros: u64,
        shape: Option<(Arc<Version>, f64)>,
    ) -> Event {
        let CompactionJob { family, plan, .. } = &job;
        let level_summary = shape.as_ref().map_or_else(String::new, |(version, _)| {
            let options = family.current().leveled();
            level_summary(version, &Scores::new(version, &options), &options)
        });
        self.stats.count_reason(plan.reason);
        let Some(written) = done.written_by else {
            return match plan.deletion {
                true => Event::Dropped {
                    family: family.name.clone(),
                    job: job.job,
                    plan: plan.to_string(),
                    reason: plan.reason,
                    files: plan.files().map(|(_, file)| file.number).collect(),
                    bytes: plan.input_bytes(),
                },
                false => self.move_event(family, job.job, plan, level_summary),
            };
        };
        self.count_compaction(plan, &written, micros);
        let files = |version: &Version| {
            let levels = 0..version.num_levels();
            levels.map(|level| version.files(level).len()).collect()
        };
        let (level_files, score) =
            shape.map_or_else(Default::default, |(version, score)| (files(&version), score));
        Event::Compacted {
            family: family.name.clone(),
            job: job.job,
            plan: plan.to_string(),
            output_level: plan.output_level,
            outputs: done.outputs,
            bytes_read: plan.input_bytes(),
            bytes_written: written.bytes,
            entries_read: entries(plan.files().map(|(_, file)| &**file)),
            entries_written: written.entries,
            subcompactions: written.subcompactions,
            micros,
            cpu_micros: written.cpu.as_micros() as u64,
            compression: written.compression,
            level_files,
            score,
            level_summary,
        }
    }

    fn count_compaction(&self, plan: &Plan, written: &WrittenBy, micros: u64) {
        let stats = &self.stats;
        let (blobs_read, blobs_wrote) = written.blob_bytes;
        let (read, wrote) = (plan.input_bytes() + blobs_read, written.bytes + blobs_wrote);
        stats.add(Ticker::CompactReadBytes, read);
        stats.add(Ticker::CompactWriteBytes, wrote);
        let of_reason = match plan.reason {
            CompactionReason::FilesMarkedForCompaction => {
                Some((Ticker::CompactReadBytesMarked, Ticker::CompactWriteBytesMarked))
            }
            CompactionReason::PeriodicCompaction => Some((
                Ticker::CompactReadBytesPeriodic,
                Ticker::CompactWriteBytesPeriodic,
            )),
            CompactionReason::Ttl => Some((Ticker::CompactReadBytesTtl, Ticker::CompactWriteBytesTtl)),
            _ => None,
        };
        if let Some((reads, writes)) = of_reason {
            stats.count(reads, read);
            stats.count(writes, wrote);
        }
        let cpu = written.cpu.as_micros() as u64;
        stats.count(Ticker::CompactionCpuTotalTime, cpu);
        stats.record(Histogram::CompactionCpuTime, cpu);
        stats.record(Histogram::CompactionTime, micros);
        stats.record(
            Histogram::NumFilesInSingleCompaction,
            plan.num_input_files() as u64,
        );
        stats.record(
            Histogram::NumSubcompactionsScheduled,
            written.subcompactions as u64,
        );
    }

    fn notify_compaction_begun(&self, family: &Family, job: u64, plan: &Plan) {
        self.notify(&Event::CompactionBegun {
            family: family.name.clone(),
            job,
            plan: plan.to_string(),
            reason: plan.reason,
            inputs: numbers_by_level(plan),
            output_level: plan.output_level,
            score: plan.score,
            bytes: plan.input_bytes(),
            oldest_snapshot: self.snapshots.oldest(),
        });
    }

    /// Counts a move of files to another level, and returns its event.
    fn move_event(&self, family: &Family, job: u64, plan: &Plan, level_summary: String) -> Event {
        self.stats
            .add(Ticker::TrivialMoves, plan.moved_files().count() as u64);
        let bytes = plan.moved_files().map(|(_, file)| file.size).sum();
        self.stats.add(Ticker::TrivialMoveBytes, bytes);
        Event::Moved {
            family: family.name.clone(),
            job,
            plan: plan.to_string(),
            output_level: plan.output_level,
            files: plan.moved_files().count(),
            bytes,
            level_summary,
            inputs: numbers_by_level(plan),
        }
    }

    /// Records the failure of a compaction. If there was no disk space, writes continue; otherwise the
    /// database latches.
    fn record_failed_compaction(&self, state: &mut DbState, plan: &Plan, error: &Error) -> Severity {
        if error.kind() == ErrorKind::NoSpace
            && state.record_soft_error(COMPACTION, error, plan.input_bytes())
        {
            self.obsolete.wake();
            self.changed.notify_all();
            return Severity::Soft;
        }
        if error.kind() == ErrorKind::SpaceLimit {
            self.latch_anew(state, COMPACTION, error);
        } else {
            self.latch_in(state, COMPACTION, error);
        }
        Severity::Hard
    }

    /// `failure` is the severity of the compaction's error; `None`: the compaction was cancelled, or its
    /// files are excluded from compactions.
    fn report_failed_compaction(&self, family: &Family, job: u64, error: &Error, failure: Option<Severity>) {
        self.notify(&Event::JobEnded {
            family: family.name.clone(),
            job,
            action: "compaction",
            error: Some(error.clone()),
        });
        match failure {
            Some(Severity::Hard) if error.kind() == ErrorKind::SpaceLimit => {
                self.report_failure(COMPACTION, error.clone());
            }
            Some(Severity::Hard) => self.notify_failure(COMPACTION, error.clone()),
            Some(Severity::Soft) => self.notify_soft_failure(COMPACTION, error.clone()),
            None => self.stats.count(Ticker::CompactionCancelled, 1),
        }
    }

    /// The number of threads that may write `plan`: `asked` by the user or, if that is 0, allowed by the
    /// option. Automatic leveled compactions between levels below L0 run in parallel anyway. A compaction of
    /// L0 is the only one at its output level, and a universal compaction is the only one at all levels that
    /// it merges.
    fn subcompactions_allowed(&self, family: &Family, plan: &Plan, asked: u32) -> usize {
        let alone = plan.start_level() == 0
            || plan.reason == CompactionReason::ManualCompaction
            || family.options.compaction_style == CompactionStyle::Universal;
        match (alone, asked) {
            (true, 1..) => asked as usize,
            (true, 0) => self.with_idle_processors(family, plan, self.current.load().max_subcompactions),
            (false, _) => self.with_idle_processors(family, plan, 1),
        }
    }

    /// Returns the number of threads for `plan`: `allowed`, or more if processors are idle.
    fn with_idle_processors(&self, family: &Family, plan: &Plan, allowed: u32) -> usize {
        let options = &family.options;
        let calls_hooks = options.compaction_filter_factory.is_some()
            || family.sst_partitioner_factory.is_some()
            || !options.table_properties_collector_factories.is_empty()
            || !options.block_property_collector_factories.is_empty();
        let allowed = allowed as usize;
        if calls_hooks {
            return allowed;
        }
        let most = self.current.load().max_idle_subcompactions as usize;
        divided(allowed, most, plan.input_bytes(), || self.work.idle_processors())
    }
}

/// The minimum of input bytes for each thread that is added because a processor is idle.
const LEAST_RANGE: u64 = 16 << 20;

/// The number of threads for a compaction of `bytes`: `allowed`, or up to `most` if processors are `idle`. 0
/// sets no limit.
fn divided(allowed: usize, most: usize, bytes: u64, idle: impl FnOnce() -> usize) -> usize {
    let worth = (bytes / LEAST_RANGE) as usize;
    let most = match most {
        0 => worth,
        most => most.min(worth),
    };
    match most > allowed {
        // The caller's thread writes a range too.
        true => most.min(1 + idle()).max(allowed),
        false => allowed,
    }
}

/// The numbers of a plan's inputs.
fn numbers_by_level(plan: &Plan) -> Vec<(usize, Vec<u64>)> {
    let inputs = plan.inputs.iter();
    inputs
        .map(|input| (input.level, input.files.iter().map(|file| file.number).collect()))
        .collect()
}

/// The severity of a failure. There is no failure if the database is closing, or if the family was dropped.
#[derive(Clone, Copy)]
enum Severity {
    /// The failure does not stop writes.
    Soft,
    /// The failure has stopped the database.
    Hard,
}

fn is_failure(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Aborted | ErrorKind::ColumnFamilyDropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_processors_divide_a_compaction_into_ranges_that_are_worth_a_thread() {
        let bytes = |ranges: u64| ranges * LEAST_RANGE;
        assert_eq!(divided(1, 0, bytes(10), || 3), 4);
        assert_eq!(divided(1, 0, bytes(2), || 3), 2);
        assert_eq!(divided(1, 3, bytes(10), || 3), 3);
        assert_eq!(divided(1, 0, bytes(10), || 0), 1);
        // The number of threads of `max_subcompactions` is allowed even without idle processors.
        assert_eq!(divided(4, 0, bytes(10), || 1), 4);
        assert_eq!(divided(4, 1, bytes(10), || 9), 4);
        // Small compactions and a limit of 1 do not ask for idle processors.
        let asks = || unreachable!();
        assert_eq!(divided(1, 0, bytes(2) - 1, asks), 1);
        assert_eq!(divided(1, 1, bytes(10), asks), 1);
    }
}
