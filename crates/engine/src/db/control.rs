//! Background work held, let go, called off, and asked for.

use std::sync::atomic::Ordering;

use base::sync::MutexGuard;
use base::{Error, ErrorKind, Result};
use compact::picker::range::{RangeStep, promote_level0};

use super::column_family::ColumnFamily;
use super::state::{COMPACTION, DbState, closing};
use super::{Db, DbInner};
use crate::events::FlushReason;

impl Db {
    /// Lets no flush and no compaction begin until [`continue_background_work`](Self::continue_background_work) was called as often as
    /// this, and returns when none is at work. Writers go on until their memtables are full, and then wait; so do flushes and
    /// compactions that are asked for. What goes on for long meanwhile is the growth of memtables and WALs.
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

    /// Takes one [`pause_background_work`](Self::pause_background_work) back.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none to take back.
    pub fn continue_background_work(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        let paused = state.background_paused.checked_sub(1);
        state.background_paused =
            paused.ok_or_else(|| Error::invalid_argument("background work is not paused"))?;
        inner.look_again(&mut state);
        Ok(())
    }

    /// Calls off what users have asked to be compacted ([`compact_range`](Self::compact_range), [`compact_files`](Self::compact_files)),
    /// which fails with `Incomplete`, and refuses more of it so, until [`enable_manual_compaction`](Self::enable_manual_compaction) was
    /// called as often as this. Returns when none is at work. What was done until then stays.
    pub fn disable_manual_compaction(&self) {
        let inner = self.inner();
        let mut state = inner.state.lock();
        state.manual_disabled += 1;
        inner.manual_cancelled.store(true, Ordering::Relaxed);
        inner.changed.notify_all();
        while state.running_manual > 0 {
            inner.changed.wait(&mut state);
        }
    }

    /// Takes one [`disable_manual_compaction`](Self::disable_manual_compaction) back.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none to take back.
    pub fn enable_manual_compaction(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let mut state = inner.state.lock();
        let disabled = state.manual_disabled.checked_sub(1);
        state.manual_disabled =
            disabled.ok_or_else(|| Error::invalid_argument("manual compactions are not disabled"))?;
        if state.manual_disabled == 0 && !state.shutting_down {
            inner.manual_cancelled.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends background work for good: compactions are called off where they are, no job begins any more, and nothing can be written
    /// from now on; what was written can be read until the database is [closed](Self::close). Rows that no WAL holds are flushed first,
    /// as a close does. With `wait` it returns when no job is at work.
    ///
    /// # Errors
    /// Those of that flush.
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

    /// Has the files of `family` with user keys from `begin` to `end`, both inclusive, `None` for the first and the last, compacted one
    /// level down, when nothing more urgent is due. Those in the last level with files stay. It is forgotten when the database is
    /// closed.
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
        own.note_age();
        inner.work.notify_all();
        Ok(())
    }

    /// Has the files of `family` with these [numbers](super::property::LiveFile::number) rewritten, each in the level where it lies, when nothing more
    /// urgent is due: for those of which a compaction filter, or the release of a snapshot, will leave less. Numbers of files that are gone say
    /// nothing. With FIFO compaction, and with automatic compactions off, nothing is rewritten. It is forgotten when the database is closed. Beyond
    /// RocksDB.
    ///
    /// # Errors
    /// As [`suggest_compact_range`](Self::suggest_compact_range).
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
        own.note_age();
        inner.work.notify_all();
        Ok(())
    }

    /// Moves all files of L0 of `family` to `target_level` as they are.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such level, if files of L0 overlap, or if there are files in the levels from L1 to that one.
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

    /// An error if what a user has asked for is to end: the database closes or has failed, or manual compactions are disabled.
    pub(crate) fn check_manual(&self, state: &DbState) -> Result<()> {
        state.check_writable()?;
        match state.manual_disabled {
            0 => Ok(()),
            _ => Err(manual_paused()),
        }
    }

    /// Does what a user has asked for, under the database mutex, so that who disables such work knows of it.
    pub(crate) fn manually<T>(
        &self,
        work: impl FnOnce(&mut MutexGuard<'_, DbState>) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.lock();
        state.running_manual += 1;
        let result = self.guarded_in(&mut state, COMPACTION, |state| {
            self.check_manual(state)?;
            work(state)
        });
        state.running_manual -= 1;
        self.changed.notify_all();
        result
    }

    /// Waits for a job of family `id` to end. None begins by itself meanwhile: it might take what is waited for, and the next one again.
    pub(crate) fn wait_in_line(&self, state: &mut MutexGuard<'_, DbState>, id: u32) {
        let waits = |state: &mut DbState, more: bool| {
            if let Some(own) = state.families.get_mut(&id) {
                own.manual_waits = match more {
                    true => own.manual_waits + 1,
                    false => own.manual_waits.saturating_sub(1),
                };
            }
        };
        waits(state, true);
        self.changed.wait(state);
        waits(state, false);
        self.work.notify_all();
    }

    /// Refuses what is still to be written, and calls compactions off, so that a last flush waits for nobody: neither for writers that are
    /// stopped, nor for compactions that wait for the rate limiter. Flushes go on, paused or not: whoever has paused them has waited
    /// long enough.
    pub(crate) fn begin_shutdown(&self) {
        let mut state = self.state.lock();
        state.shutting_down = true;
        self.cancelled.store(true, Ordering::Relaxed);
        self.manual_cancelled.store(true, Ordering::Relaxed);
        self.look_again(&mut state);
        drop(state);
        if let Some(service) = &self.options.compaction_service {
            // A panic there keeps nothing from closing.
            let _ = base::user_code::catch(|| service.cancel_awaiting_jobs());
        }
        if let Some(limiter) = &self.options.rate_limiter {
            limiter.wake();
        }
        self.low_pri_limiter.wake();
        // Automatic recovery ends here.
        self.obsolete.wake();
    }

    /// Flushes rows that no WAL holds, unless that is not wanted, and those that stand in WALs beside marks of transactions. Called once nothing more is
    /// written.
    pub(crate) fn flush_unlogged(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        let state = self.state.lock();
        let leaves_marks = !self.read_only && state.may_leave_marks();
        let unlogged = writer.unlogged && !self.current.load().avoid_flush_during_shutdown;
        if self.read_only || !unlogged && !leaves_marks {
            return Ok(());
        }
        // A database that has failed cannot do it, and one that was shut down before has done it.
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
        // Whoever comes meanwhile is told at once. Nobody makes memtables immutable any more but this.
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

    /// Lets no job begin any more.
    pub(crate) fn end_background_work(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        self.look_again(&mut state);
    }
}

pub(crate) fn manual_paused() -> Error {
    Error::new(ErrorKind::Incomplete, "Manual compaction paused")
}
