//! Requests to background threads, and waits until the requested work is done.

use base::Error;
use base::ErrorKind;
use base::sync::MutexGuard;
use base::{Result, SeqNo};
use memtable::Memtable;
use std::sync::Arc;

use crate::events::FlushReason;
use crate::options::{ColumnFamilyOptions, CompactionStyle};
use crate::state::db_inner::DbInner;
use crate::state::db_state::COMPACTION;
use crate::state::db_state::{DbState, FamilyState};

impl DbInner {
    /// An error if a manual operation must end: the database is closing or has failed, manual compactions are
    /// disabled, or all compactions are aborted.
    pub(crate) fn check_manual(&self, state: &DbState) -> Result<()> {
        state.check_writable()?;
        match (state.compaction_holds.all, state.compaction_holds.manual) {
            (0, 0) => Ok(()),
            (0, _) => Err(manual_paused()),
            _ => Err(compactions_aborted()),
        }
    }

    /// Runs a manual operation under the database mutex, and counts it so that `disable_manual_compaction`
    /// can wait for it.
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

    /// Waits for a job of family `id` to end. Meanwhile the family begins no job by itself: such a job could
    /// take the files that the caller waits for, again and again.
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

    /// A lower bound of all snapshots, whether open or still to be taken.
    pub(crate) fn oldest_snapshot(&self) -> SeqNo {
        self.snapshots.oldest_or(&self.published)
    }

    /// If the oldest snapshot was released, re-check bottommost files for obsolete versions.
    pub(crate) fn record_released(&self, state: &mut DbState) {
        if !self.snapshots.take_released() {
            return;
        }
        let oldest = self.oldest_snapshot();
        let mut newer = false;
        for own in state.families.values_mut() {
            // Another thread may have taken and still hold an older snapshot.
            if own.released_snapshot < oldest {
                own.released_snapshot = oldest;
                own.record_age();
                newer = true;
            }
        }
        if newer {
            self.work.notify_all();
        }
    }

    /// True if automatic compactions may begin.
    pub(crate) fn may_compact(&self, state: &DbState) -> bool {
        let held_back = state.background_paused > 0 || state.compaction_holds.all > 0;
        let held_back = held_back || state.manual_alone || state.shutting_down;
        state.background_error.is_none() && !held_back
    }

    /// True if a compaction of `family` should run.
    pub(crate) fn wants_compaction(&self, _state: &DbState, family: &FamilyState) -> bool {
        compacts(&family.family.current()) && family.compaction_due
    }

    /// Waits until `done` is true, while `may` returns no error.
    pub(crate) fn wait_until(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        may: impl Fn(&DbState) -> Result<()>,
        done: impl Fn(&DbState) -> bool,
    ) -> Result<()> {
        while !done(state) {
            may(state)?;
            self.work.notify_all();
            self.changed.wait(state);
        }
        Ok(())
    }

    /// Requests a flush of the immutable memtables of `families`, and returns the newest memtable of each.
    /// Memtables switched later are not part of it.
    pub(crate) fn request_flush(&self, families: &[u32], reason: FlushReason) -> Vec<(u32, Arc<Memtable>)> {
        let mut state = self.state.lock();
        let mut pending = Vec::new();
        for &id in families {
            if let Some(family) = state.families.get_mut(&id)
                && let Some(newest) = family.immutable.back()
            {
                pending.push((id, newest.memory.table.clone()));
                family.flush_requested = Some(reason);
            }
        }
        self.work.notify_all();
        pending
    }

    /// Waits until the memtables of `pending` are in tables, while `may` returns no error.
    pub(crate) fn wait_for_flush(
        &self,
        pending: &[(u32, Arc<Memtable>)],
        may: impl Fn(&DbState) -> Result<()>,
    ) -> Result<()> {
        self.wait_until(&mut self.state.lock(), may, |state| {
            pending.iter().all(|(id, newest)| {
                state.families.get(id).is_none_or(|family| {
                    !family
                        .immutable
                        .iter()
                        .any(|immutable| Arc::ptr_eq(&immutable.memory.table, newest))
                })
            })
        })
    }
}

/// True if compactions of a family run automatically.
pub(crate) fn compacts(options: &ColumnFamilyOptions) -> bool {
    !options.disable_auto_compactions && options.compaction_style != CompactionStyle::None
}

/// The error of a manual compaction while all compactions are aborted.
pub(crate) fn compactions_aborted() -> Error {
    Error::new(ErrorKind::Incomplete, "All compactions aborted")
}

/// The error of a manual compaction while manual compactions are disabled.
pub(crate) fn manual_paused() -> Error {
    Error::new(ErrorKind::Incomplete, "Manual compaction paused")
}
