//! Manual jobs: flush, compact a range or named files, move files, suggest compactions, wait until no work is
//! left.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Error, ErrorKind, Result};
use compact::picker::range::{RangeStep, promote_level0};
use compact::stall::StallCondition;

use crate::events::FlushReason;
use crate::options::{CompactFilesOptions, CompactRangeOptions, FlushOptions, WaitForCompactOptions};
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, FamilyState, FlushGroup};
use crate::state::handle::Db;
use crate::state::write_queue::DrainedQueue;

impl Db {
    /// Flushes the default family's memtable to a table, and waits until that is done; see
    /// [`flush_cf`](Db::flush_cf).
    pub fn flush(&self) -> Result<()> {
        self.flush_opt(&FlushOptions::default())
    }

    /// Flushes the default family's memtable as `options` say; see [`flush_cf`](Db::flush_cf).
    pub fn flush_opt(&self, options: &FlushOptions) -> Result<()> {
        self.inner().check_open()?;
        self.inner()
            .flush(options, &[self.inner().default_family.clone()])
    }

    /// Flushes the memtables of `families` to tables, and waits until that is done; see
    /// [`flush_cf_opt`](Db::flush_cf_opt).
    pub fn flush_cf(&self, families: &[ColumnFamily]) -> Result<()> {
        self.flush_cf_opt(families, &FlushOptions::default())
    }

    /// Flushes the memtables of `families` to tables, so that no WAL is needed for their rows. With
    /// [`atomic_flush`](crate::Options::atomic_flush) or
    /// [`force_atomic_flush`](FlushOptions::force_atomic_flush) the tables are installed in one step: after a
    /// crash the database has those of all these families or of none. Other families are not flushed, as in
    /// RocksDB: without a WAL, rows of theirs that are older may be lost in a crash.
    pub fn flush_cf_opt(&self, families: &[ColumnFamily], options: &FlushOptions) -> Result<()> {
        self.inner().check_open()?;
        let families: Vec<_> = families.iter().map(|family| family.0.clone()).collect();
        self.inner().flush(options, &families)
    }

    /// Compacts the keys of the default family; see [`compact_range_cf_opt`](Db::compact_range_cf_opt).
    pub fn compact_range(&self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.compact_range_cf(&self.default_column_family(), begin, end)
    }

    /// Compacts the keys of `family`; see [`compact_range_cf_opt`](Db::compact_range_cf_opt).
    pub fn compact_range_cf(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        self.compact_range_cf_opt(family, begin, end, &CompactRangeOptions::default())
    }

    /// Compacts the keys of `family` from `begin` to `end` (both inclusive; `None` for the first and the last
    /// key): flushes, then merges level by level down to the last level with such keys. Returns when the
    /// compaction is complete.
    ///
    /// # Errors
    /// `InvalidArgument` for impossible options, each by its name. `Incomplete` if the compaction is
    /// cancelled by [`canceled`](CompactRangeOptions::canceled) or
    /// [`disable_manual_compaction`](Db::disable_manual_compaction).
    pub fn compact_range_cf_opt(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        self.inner().check_open()?;
        if let Some(timestamp) = &options.full_history_ts_low {
            if begin.is_some() || end.is_some() {
                return Err(Error::invalid_argument(
                    "Cannot specify compaction range with full_history_ts_low",
                ));
            }
            self.increase_full_history_ts_low(family, timestamp)?;
        }
        self.inner().compact_range(&family.0, options, begin, end)
    }

    /// Compacts the files of these [numbers](crate::LiveFile::number) to `output_level`, on the caller's
    /// thread. Other files are included if newer data would otherwise be moved below older data: overlapping
    /// older files of L0, and the files in the key range in every level down to the output. Returns the
    /// numbers of the output files.
    ///
    /// # Errors
    /// `InvalidArgument` if a file or the level does not exist, the output level is above a file, or this
    /// build cannot write the compression. `Aborted` if another compaction has one of the files.
    pub fn compact_files(
        &self,
        family: &ColumnFamily,
        numbers: &[u64],
        output_level: usize,
        options: &CompactFilesOptions,
    ) -> Result<Vec<u64>> {
        let inner = self.inner();
        inner.check_open()?;
        inner.check_owns(&family.0)?;
        family.0.check_writable()?;
        check_path_id(&family.0, options.output_path_id)?;
        if let Some(compression) = options
            .compression
            .filter(|compression| !compression.is_supported())
        {
            return Err(Error::invalid_argument(format!(
                "Compression type {} is not linked with the binary.",
                compression.property_name()
            )));
        }
        inner.compact_named_files(&family.0, options, numbers, output_level)
    }

    /// Suggests that the files of `family` with user keys from `begin` to `end` (both inclusive; `None` for
    /// the first and the last key) be compacted one level down, when nothing more urgent is due. Files in the
    /// last level with files stay there. The suggestion ends with the close of the database.
    ///
    /// # Errors
    /// `ColumnFamilyDropped`; `NotSupported` if the database is open for reading only.
    pub fn suggest_compact_range(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.check_manual_possible(family)?;
        let mut state = inner.state.lock();
        state.check_writable()?;
        let own = state.family_mut(family.id())?;
        let stamped = |key: Option<&[u8]>, byte: u8| {
            key.map(|key| {
                let mut key = key.to_vec();
                key.resize(key.len() + own.family.cmp.user().timestamp_size(), byte);
                key
            })
        };
        let (begin, end) = (stamped(begin, 0xff), stamped(end, 0));
        let last = own.version.num_non_empty_levels().saturating_sub(1);
        for level in 0..last.max(1) {
            let files = own.version.overlapping(level, begin.as_deref(), end.as_deref());
            own.suggested.extend(files.iter().map(|file| file.number));
        }
        own.record_age();
        inner.work.notify_all();
        Ok(())
    }

    /// Suggests that the files of `family` with these [numbers](crate::LiveFile::number) be
    /// rewritten, each in its level, when nothing more urgent is due. Rewriting shrinks files with rows that
    /// a compaction filter drops, or that only a released snapshot could see. Numbers of files that no longer
    /// exist are ignored. With FIFO compaction, or with automatic compactions disabled, no file is rewritten.
    /// The suggestion ends with the close of the database. RocksDB has no such call.
    ///
    /// # Errors
    /// The errors of [`suggest_compact_range`](Self::suggest_compact_range).
    pub fn suggest_compact_files(&self, family: &ColumnFamily, numbers: &[u64]) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.check_manual_possible(family)?;
        let mut state = inner.state.lock();
        state.check_writable()?;
        let own = state.family_mut(family.id())?;
        let there = numbers
            .iter()
            .filter(|&&number| own.version.level_of(number).is_some());
        own.to_rewrite.extend(there);
        own.record_age();
        inner.work.notify_all();
        Ok(())
    }

    /// Moves all files of L0 of `family` to `target_level` without rewriting them.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such level, if files of L0 overlap, or if the levels from L1 to
    /// `target_level` contain files.
    pub fn promote_l0(&self, family: &ColumnFamily, target_level: usize) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.check_manual_possible(family)?;
        inner.manually(|state| {
            loop {
                inner.check_manual(state)?;
                if state.manual_alone {
                    inner.changed.wait(state);
                    continue;
                }
                let step = inner.with_pick_context(state, family.id(), |context| {
                    promote_level0(context, target_level)
                });
                match step.ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, family.name()))?? {
                    RangeStep::Compact(plan) => {
                        inner.run_manual_plan(state, family.id(), *plan, 0)?;
                        return Ok(());
                    }
                    RangeStep::Wait => inner.wait_in_line(state, family.id()),
                    RangeStep::Done => return Ok(()),
                }
            }
        })
    }

    /// Waits until no flush or compaction is running or due because of earlier writes and released snapshots.
    /// Returns an error if a failure stops writes, or if compactions have no disk space.
    pub fn wait_for_compact(&self) -> Result<()> {
        self.wait_for_compact_opt(&WaitForCompactOptions::default())
    }

    /// Waits as [`wait_for_compact`](Db::wait_for_compact) does, and as `options` say.
    ///
    /// # Errors
    /// The errors of [`wait_for_compact`](Db::wait_for_compact); `Aborted` with
    /// [`abort_on_pause`](WaitForCompactOptions::abort_on_pause) while background work is paused; `TimedOut`
    /// after the [`timeout`](WaitForCompactOptions::timeout).
    pub fn wait_for_compact_opt(&self, options: &WaitForCompactOptions) -> Result<()> {
        let inner = self.inner();
        inner.check_open()?;
        let until = options
            .timeout
            .map(|timeout| inner.options.clock.now().saturating_add(timeout));
        if options.flush {
            self.flush_cf(&self.column_families())?;
        }
        inner.wait_for_compact(options.abort_on_pause, until)?;
        match options.wait_for_purge {
            true => self.wait_for_purge(),
            false => Ok(()),
        }
    }

    /// Waits until every obsolete file is closed, and deleted unless a [hold](Db::hold_file_deletions) keeps
    /// it. This is the part that RocksDB's `WaitForCompactOptions::wait_for_purge` adds to a wait for
    /// compactions.
    pub fn wait_for_purge(&self) -> Result<()> {
        let inner = self.inner();
        inner.check_open()?;
        inner.obsolete.wait_for_purge();
        Ok(())
    }
}

/// `InvalidArgument` if the family has no directory of that number.
fn check_path_id(family: &Family, path_id: Option<u32>) -> Result<()> {
    match path_id {
        Some(id) if id as usize >= family.paths.len() => {
            Err(Error::invalid_argument("Invalid target path ID"))
        }
        _ => Ok(()),
    }
}

impl DbInner {
    fn check_manual_possible(&self, family: &ColumnFamily) -> Result<()> {
        self.check_owns(&family.0)?;
        family.0.check_writable()?;
        match self.read_only {
            true => Err(Error::not_supported("the database is open for reading only")),
            false => Ok(()),
        }
    }

    pub(crate) fn flush(&self, options: &FlushOptions, families: &[Arc<Family>]) -> Result<()> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        for family in families {
            self.check_owns(family)?;
            family.check_writable()?;
        }
        let ids: Vec<u32> = families.iter().map(|family| family.id).collect();
        if !options.allow_write_stall {
            self.wait_for_mild_flush(&ids)?;
        }
        {
            let mut writer = self.write.queue.lock();
            self.wait_to_switch(&mut writer, &ids)?;
            match options.force_atomic_flush && !self.options.atomic_flush && ids.len() > 1 {
                true => self.switch_together(&mut writer, &ids)?,
                false => self.switch_memtables(&mut writer, &ids)?,
            }
        }
        let pending = self.request_flush(&ids, FlushReason::ManualFlush);
        if !options.wait {
            return Ok(());
        }
        self.wait_for_flush(&pending, DbState::check_writable)?;
        self.state.lock().check_space()?;
        if options.listener_wait {
            self.wait_for_flush_reports(&ids)?;
        }
        // A flush cancelled by the drop of its family has made no row durable.
        families.iter().try_for_each(|family| family.check_writable())
    }

    /// Waits until, for each of `families`, a flush would neither delay nor stop writes, the memtable has
    /// been replaced, or no running or due job would reduce the stall.
    fn wait_for_mild_flush(&self, families: &[u32]) -> Result<()> {
        let mut state = self.state.lock();
        let of = |state: &DbState, id: &u32| Some(state.families.get(id)?.mem.table.clone());
        let before: Vec<_> = families.iter().map(|id| of(&state, id)).collect();
        let helps = |state: &DbState, own: &FamilyState| {
            let flushes = own.wants_flush() || own.flushing;
            let begins = state.recovery.soft_error.is_none()
                && state.compaction_holds.all == 0
                && self.wants_compaction(state, own);
            let compacts = begins || !own.running.is_empty();
            state.background_paused == 0 && (flushes || compacts)
        };
        self.wait_until(&mut state, DbState::check_writable, |state| {
            families.iter().zip(&before).all(|(id, before)| {
                let own = state.families.get(id).zip(before.as_ref());
                own.is_none_or(|(own, before)| {
                    let is_same = Arc::ptr_eq(&own.mem.table, before);
                    !is_same || !own.flush_would_stall() || !helps(state, own)
                })
            })
        })
    }

    /// Makes the current memtables of `families` immutable. The caller holds the write queue's lock, which is
    /// released while this waits for room. Like a writer, it waits while writes are stopped, but it is not
    /// delayed. True if it has waited.
    pub(crate) fn switch_to_flush(&self, writer: &mut DrainedQueue<'_>, families: &[u32]) -> Result<bool> {
        let waited = self.wait_to_switch(writer, families)?;
        self.switch_memtables(writer, families)?;
        Ok(waited)
    }

    /// Waits until the memtables of `families` may become immutable; see
    /// [`switch_to_flush`](Self::switch_to_flush).
    fn wait_to_switch(&self, writer: &mut DrainedQueue<'_>, families: &[u32]) -> Result<bool> {
        let mut waited = false;
        loop {
            let mut state = self.state.lock();
            state.check_writable()?;
            let is_stopped = matches!(state.stall(), StallCondition::Stopped { .. });
            if state.may_switch(families) && !is_stopped {
                return Ok(waited);
            }
            if is_stopped {
                state.check_compactions_go_on()?;
            }
            waited = true;
            writer.unlocked(move || {
                self.work.notify_all();
                self.changed.wait(&mut state);
            });
        }
    }

    /// Makes the memtables of `families` immutable so that one flush takes them all. The group exists before
    /// they are immutable, so that no flush takes one of them alone.
    fn switch_together(&self, writer: &mut DrainedQueue<'_>, families: &[u32]) -> Result<()> {
        self.state.lock().flush_groups.push(FlushGroup {
            families: families.to_vec(),
            switched: false,
        });
        let switched = self.switch_memtables(writer, families);
        let mut state = self.state.lock();
        // Under the write queue's lock no other thread forms a group.
        match switched {
            Ok(()) => state
                .flush_groups
                .iter_mut()
                .for_each(|group| group.switched = true),
            Err(_) => state.flush_groups.retain(|group| group.switched),
        }
        switched
    }

    /// Flushes `family` on behalf of another operation; with `atomic_flush` all families are flushed with it.
    pub(crate) fn flush_for(&self, options: &FlushOptions, family: &Arc<Family>) -> Result<()> {
        match self.options.atomic_flush {
            true => self.flush_all(options),
            false => self.flush(options, std::slice::from_ref(family)),
        }
    }

    /// Flushes every family, including those created meanwhile.
    pub(crate) fn flush_all(&self, options: &FlushOptions) -> Result<()> {
        loop {
            let mut families: Vec<_> = self.index.load().by_id.values().cloned().collect();
            families.retain(|family| !family.dropped.load(Ordering::Acquire));
            match self.flush(options, &families) {
                // A family was dropped meanwhile; the others must be flushed nevertheless.
                Err(error) if error.kind() == ErrorKind::ColumnFamilyDropped => {}
                outcome => return outcome,
            }
        }
    }

    /// Flushes the immutable memtables of `families`.
    pub(crate) fn finish_flush(&self, families: &[u32]) -> Result<()> {
        let pending = self.request_flush(families, FlushReason::ManualFlush);
        self.wait_for_flush(&pending, DbState::check_writable)
    }

    /// Waits until listeners have been notified of the flushes of `families`.
    fn wait_for_flush_reports(&self, families: &[u32]) -> Result<()> {
        let all_reported = |state: &DbState| {
            let own = families.iter().filter_map(|id| state.families.get(id));
            own.map(|own| own.unreported_flushes).sum::<u32>() == 0
        };
        self.wait_until(&mut self.state.lock(), |_| Ok(()), all_reported)
    }

    /// Flushes `family`, and compacts its keys from `begin` to `end`: see [`Db::compact_range`].
    fn compact_range(
        &self,
        family: &Arc<Family>,
        options: &CompactRangeOptions,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        family.check_writable()?;
        options.check()?;
        check_path_id(family, options.target_path_id)?;
        let flush = FlushOptions {
            allow_write_stall: options.allow_write_stall,
            ..FlushOptions::default()
        };
        self.flush_for(&flush, family)?;
        self.compact_range_steps(family, options, begin, end)
    }

    /// Waits until no flush or compaction runs or is due, up to the time `until` of the clock.
    pub(crate) fn wait_for_compact(&self, abort_on_pause: bool, until: Option<Duration>) -> Result<()> {
        let mut state = self.state.lock();
        // Snapshots released before the call count as well, even if no job has noticed them yet.
        self.record_released(&mut state);
        let may = |state: &DbState| {
            state.check_writable()?;
            state.check_no_soft_error()?;
            state.check_room()
        };
        let is_idle = |state: &DbState| {
            let idle = state.running_flushes == 0 && state.running_compactions == 0;
            idle && state
                .families
                .values()
                .all(|family| !family.wants_flush() && !self.wants_compaction(state, family))
        };
        loop {
            // A pause ends the wait even if nothing is due, as in RocksDB.
            if abort_on_pause && state.background_paused > 0 {
                return Err(Error::new(ErrorKind::Aborted, ""));
            }
            if is_idle(&state) {
                return may(&state);
            }
            may(&state)?;
            self.work.notify_all();
            match until.map(|until| until.saturating_sub(self.options.clock.now())) {
                None => self.changed.wait(&mut state),
                Some(Duration::ZERO) => return Err(Error::new(ErrorKind::TimedOut, "")),
                Some(left) => drop(self.changed.wait_for(&mut state, left)),
            }
        }
    }
}
