//! Pausing, continuing, cancelling and suggesting background work.

use std::sync::atomic::Ordering;

use base::{Error, ErrorKind, Result};
use compact::picker::range::{RangeStep, promote_level0};

use crate::events::FlushReason;
use crate::state::column_family::ColumnFamily;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;
use crate::state::error_state::closing;
use crate::state::handle::Db;

impl Db {
    /// Pauses flushes and compactions until [`continue_background_work`](Self::continue_background_work) has
    /// been called as often as this, and returns when none is running. Writers continue until their memtables
    /// are full and then wait, as do requested flushes and compactions. Memtables and WALs grow during a long
    /// pause.
    ///
    /// # Errors
    /// `ShutdownInProgress` if the database closes.
    pub fn pause_background_work(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        state.background_paused += 1;
        while state.running_flushes > 0 || state.running_compactions > 0 {
            inner.changed.wait(&mut state);
        }
        match state.shutting_down {
            true => Err(closing()),
            false => Ok(()),
        }
    }

    /// Takes back one [`pause_background_work`](Self::pause_background_work).
    ///
    /// # Errors
    /// `InvalidArgument` if background work is not paused.
    pub fn continue_background_work(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        let paused = state.background_paused.checked_sub(1);
        state.background_paused =
            paused.ok_or_else(|| Error::invalid_argument("background work is not paused"))?;
        inner.wake_jobs_and_writers(&mut state);
        Ok(())
    }

    /// Cancels manual compactions ([`compact_range`](Self::compact_range),
    /// [`compact_files`](Self::compact_files)), which fail with `Incomplete`, and refuses new ones in the
    /// same way until [`enable_manual_compaction`](Self::enable_manual_compaction) has been called as often
    /// as this. Returns when none is running. Work that was completed stays.
    pub fn disable_manual_compaction(&self) {
        let inner = self.inner();
        let mut state = inner.state.lock();
        state.compaction_holds.manual += 1;
        inner.jobs.manual_cancelled.store(true, Ordering::Relaxed);
        inner.changed.notify_all();
        while state.running_manual > 0 {
            inner.changed.wait(&mut state);
        }
    }

    /// Takes back one [`disable_manual_compaction`](Self::disable_manual_compaction).
    ///
    /// # Errors
    /// `InvalidArgument` if manual compactions are not disabled.
    pub fn enable_manual_compaction(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        let disabled = state.compaction_holds.manual.checked_sub(1);
        state.compaction_holds.manual =
            disabled.ok_or_else(|| Error::invalid_argument("manual compactions are not disabled"))?;
        if state.compaction_holds.manual == 0 && !state.shutting_down {
            inner.jobs.manual_cancelled.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Aborts all compactions, automatic and manual ones, and returns when none is running. Until
    /// [`resume_all_compactions`](Self::resume_all_compactions) has been called as often as this, no
    /// automatic compaction begins, and manual ones fail with `Incomplete`, `All compactions aborted`.
    /// Flushes continue. No output of an aborted compaction is installed; steps of a manual compaction that
    /// were completed stay. A compaction that a [service](crate::CompactionService) runs elsewhere is not
    /// aborted but waited for.
    pub fn abort_all_compactions(&self) {
        let inner = self.inner();
        let mut state = inner.state.lock();
        state.compaction_holds.all += 1;
        inner.jobs.compactions_aborted.store(true, Ordering::Relaxed);
        inner.changed.notify_all();
        while state.running_compactions > 0 || state.running_manual > 0 {
            inner.changed.wait(&mut state);
        }
    }

    /// Takes back one [`abort_all_compactions`](Self::abort_all_compactions).
    ///
    /// # Errors
    /// `InvalidArgument` if compactions are not aborted.
    pub fn resume_all_compactions(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        let aborted = state.compaction_holds.all.checked_sub(1);
        state.compaction_holds.all =
            aborted.ok_or_else(|| Error::invalid_argument("compactions are not aborted"))?;
        if state.compaction_holds.all == 0 {
            inner.jobs.compactions_aborted.store(false, Ordering::Relaxed);
            inner.wake_jobs_and_writers(&mut state);
        }
        Ok(())
    }

    /// Ends background work permanently: running compactions are cancelled, no job begins, and nothing can be
    /// written from now on. The data can be read until the database is [closed](Self::close). Rows without a
    /// WAL are flushed first, as by a close. With `wait`, the call returns when no job is running.
    ///
    /// # Errors
    /// The errors of that flush.
    pub fn cancel_all_background_work(&self, wait: bool) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.begin_shutdown();
        let flushed = inner.flush_unlogged();
        inner.end_background_work();
        let mut state = inner.state.lock();
        while wait && (state.running_flushes > 0 || state.running_compactions > 0) {
            inner.changed.wait(&mut state);
        }
        flushed
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

    /// Refuses new writes and cancels compactions, so that the last flush waits neither for stopped writers
    /// nor for compactions that wait for the rate limiter. Flushes continue even if background work is
    /// paused.
    pub(crate) fn begin_shutdown(&self) {
        let mut state = self.state.lock();
        state.shutting_down = true;
        self.jobs.cancelled.store(true, Ordering::Relaxed);
        self.jobs.manual_cancelled.store(true, Ordering::Relaxed);
        self.wake_jobs_and_writers(&mut state);
        drop(state);
        if let Some(service) = &self.options.compaction_service {
            // A panic of the service must not prevent the close.
            let _ = base::user_code::catch(|| service.cancel_awaiting_jobs());
        }
        if let Some(limiter) = &self.options.rate_limiter {
            limiter.wake();
        }
        self.write.low_pri_limiter.wake();
        // Wakes the thread that drives the automatic recovery, which ends now.
        self.obsolete.wake();
    }

    /// Flushes rows without a WAL, unless the options say not to, and rows in WALs that also hold markers of
    /// transactions. Called after the last write.
    pub(crate) fn flush_unlogged(&self) -> Result<()> {
        let mut writer = self.write.queue.lock();
        let state = self.state.lock();
        let leaves_marks = !self.read_only && state.may_leave_marks();
        let unlogged = writer.unlogged && !self.current.load().avoid_flush_during_shutdown;
        if self.read_only || !unlogged && !leaves_marks {
            return Ok(());
        }
        // A database that has failed cannot flush, and one that was shut down before has flushed.
        let may = |state: &DbState| match state.closing {
            true => Err(closing()),
            false => state.check_no_error(),
        };
        let has_room = |state: &DbState| {
            let mut families = state.families.values();
            families.all(|family| family.mem.table.is_empty() || family.has_room_for_immutable())
        };
        if state.closing {
            return Ok(());
        }
        let families: Vec<u32> = state.families.keys().copied().collect();
        // Later operations are refused at once. Only this thread makes memtables immutable now.
        writer.unlocked(|| self.wait_until(&mut { state }, may, has_room))?;
        self.switch_memtables(&mut writer, &families)?;
        let pending = self.request_flush(&families, FlushReason::ManualFlush);
        drop(writer);
        self.wait_for_flush(&pending, may)?;
        match leaves_marks {
            true => self.leave_marks(),
            false => Ok(()),
        }
    }

    /// Prevents jobs from beginning.
    pub(crate) fn end_background_work(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        self.wake_jobs_and_writers(&mut state);
    }
}
