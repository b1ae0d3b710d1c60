//! Control of background work: pause and continue it, hold compactions back, end it.

use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, Result};

use crate::events::FlushReason;
use crate::state::background::JobSide;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{CompactionHolds, DbState};
use crate::state::error_state::closing;
use crate::state::handle::Db;

/// The compactions that a request of the user cancels and prevents until it is taken back.
struct HeldCompactions {
    /// The number of outstanding requests.
    requests: fn(&mut CompactionHolds) -> &mut usize,
    /// Set to make those that run stop.
    stop: fn(&JobSide) -> &AtomicBool,
    /// True if one is running.
    runs: fn(&DbState) -> bool,
    /// The text of the error of a release without an outstanding request.
    not_held: &'static str,
}

const MANUAL: HeldCompactions = HeldCompactions {
    requests: |holds| &mut holds.manual,
    stop: |jobs| &jobs.manual_cancelled,
    runs: |state| state.running_manual > 0,
    not_held: "manual compactions are not disabled",
};

const ALL: HeldCompactions = HeldCompactions {
    requests: |holds| &mut holds.all,
    stop: |jobs| &jobs.compactions_aborted,
    runs: |state| state.running_compactions > 0 || state.running_manual > 0,
    not_held: "compactions are not aborted",
};

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
        // A wait for compactions may end because of the pause.
        inner.changed.notify_all();
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
        self.inner().hold_compactions_back(&MANUAL);
    }

    /// Takes back one [`disable_manual_compaction`](Self::disable_manual_compaction).
    ///
    /// # Errors
    /// `InvalidArgument` if manual compactions are not disabled.
    pub fn enable_manual_compaction(&self) -> Result<()> {
        self.inner().release_compactions(&MANUAL)
    }

    /// Aborts all compactions, automatic and manual ones, and returns when none is running. Until
    /// [`resume_all_compactions`](Self::resume_all_compactions) has been called as often as this, no
    /// automatic compaction begins, and manual ones fail with `Incomplete`, `All compactions aborted`.
    /// Flushes continue. No output of an aborted compaction is installed; steps of a manual compaction that
    /// were completed stay. A compaction that a [service](crate::CompactionService) runs elsewhere is not
    /// aborted but waited for.
    pub fn abort_all_compactions(&self) {
        self.inner().hold_compactions_back(&ALL);
    }

    /// Takes back one [`abort_all_compactions`](Self::abort_all_compactions).
    ///
    /// # Errors
    /// `InvalidArgument` if compactions are not aborted.
    pub fn resume_all_compactions(&self) -> Result<()> {
        self.inner().release_compactions(&ALL)
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
}

impl DbInner {
    /// Adds a request that holds `held` back, and waits until none of them is running.
    fn hold_compactions_back(&self, held: &HeldCompactions) {
        let mut state = self.state.lock();
        *(held.requests)(&mut state.compaction_holds) += 1;
        (held.stop)(&self.jobs).store(true, Ordering::Relaxed);
        self.changed.notify_all();
        while (held.runs)(&state) {
            self.changed.wait(&mut state);
        }
    }

    /// Takes back one request that holds `held` back. After the last one they may begin again.
    ///
    /// # Errors
    /// `InvalidArgument` without an outstanding request.
    fn release_compactions(&self, held: &HeldCompactions) -> Result<()> {
        self.check_open()?;
        let mut state = self.state.lock();
        let requests = (held.requests)(&mut state.compaction_holds);
        *requests = requests
            .checked_sub(1)
            .ok_or_else(|| Error::invalid_argument(held.not_held))?;
        // A database that shuts down has cancelled its compactions permanently.
        if *requests == 0 && !state.shutting_down {
            (held.stop)(&self.jobs).store(false, Ordering::Relaxed);
            self.wake_jobs_and_writers(&mut state);
        }
        Ok(())
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
