//! Recovery from a background error: `Db::resume`, and automatic recovery.
//!
//! ```text
//! latch | a listener may veto | wait, by the clock of the options | enough free space? | repeat the failed work | writes continue
//! ```
//!
//! A compaction without disk space is a soft error, as in RocksDB: writes and flushes continue. Compactions
//! that need space start again automatically when there is some.
//!
//! The database recovers automatically from a disk error that leaves every file in a known state, as RocksDB
//! does. After a lack of space, the free space of the file system is checked each [`SPACE_INTERVAL`], and the
//! database resumes when it suffices. After other I/O errors, the recovery runs after
//! `bgerror_resume_retry_interval`, at most `max_bgerror_resume_count` times. There is no automatic recovery
//! after a failed sync of a WAL, corruption, or a panic.
//!
//! After any other error the database accepts no writes until a recovery has succeeded: the background error
//! stays set, and only flushes may run ([`DbState::check_job`]). One recovery runs at a time. The thread that
//! deletes files also drives the automatic recovery, so it needs no thread of its own. A close ends the
//! recovery, and waits only for the running flush.

use std::time::Duration;

use base::statistics::{Histogram, Ticker};
use base::sync::{MutexGuard, SIMULATED};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, filename};

use crate::events::{Event, FlushReason};
use crate::log::log_line;
use crate::state::background::AutoRecovery;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;
use crate::state::error_state::{Automatic, closing};
use crate::state::handle::Db;

/// The time between two checks of the free space, as in RocksDB.
const SPACE_INTERVAL: Duration = Duration::from_secs(5);

/// The interval at which the clock of the options is checked. A test may advance that clock, which wakes no
/// thread.
const LOOK: Duration = Duration::from_millis(50);

/// An attempt to recover. It ends even if a listener panics, because other threads wait for it.
struct Attempt<'a> {
    db: &'a DbInner,
    ended: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.db.state.lock().recovery.busy = false;
            self.db.changed.notify_all();
        }
    }
}

impl Db {
    /// Resumes writes after a failure that stopped them (the event `BackgroundError`, the property
    /// `rocksdb.background-errors`), or compactions after a lack of disk space, once the cause is removed.
    /// The failed work is repeated: every full memtable, and every one that was to be flushed, is flushed,
    /// and the call returns when their rows are in tables. Without a failure it does nothing. It may be
    /// called any number of times, and also during an automatic recovery.
    ///
    /// The database can resume after a failed flush, compaction, begin of a WAL or change of the MANIFEST,
    /// and after a write for which the WAL had no space. A MANIFEST that may or may not hold the last change
    /// is replaced by a new one with the current contents of the database. After a failed sync of the WAL, or
    /// a corruption, the contents of the disk are unknown: the database must be reopened.
    ///
    /// # Errors
    /// The failure, as `ReadOnly`, if the database cannot resume from it; `ShutdownInProgress` if the
    /// database is closing; otherwise the error of the repeated work, which leaves the database stopped.
    pub fn resume(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.recover_from_error(false)?;
        // A failed write of the OPTIONS file does not stop writes: it is repeated here, and not by the
        // recovery.
        match inner.state.lock().recovery.options_unwritten {
            false => return Ok(()),
            true if inner.read_only => return Ok(()),
            true => {}
        }
        inner.write_options_file()
    }
}

impl DbInner {
    /// Repeats the failed work, if possible, and resumes writes. If another thread is recovering, waits for
    /// it first.
    fn recover_from_error(&self, automatic: bool) -> Result<()> {
        let mut state = self.state.lock();
        let background_error = loop {
            let Some(error) = state.background_error.clone() else {
                self.end_soft_error(state, automatic);
                return Ok(());
            };
            if state.shutting_down {
                return Err(closing());
            }
            // Jobs that ran at the time of the failure report failures of their own: wait until all have
            // ended.
            if state.recovery.busy || state.running_flushes > 0 || state.running_compactions > 0 {
                self.changed.wait(&mut state);
                continue;
            }
            if !state.resumable {
                drop(state);
                log_line!(
                    self.log,
                    Info,
                    "DB resume requested but failed due to Fatal/Unrecoverable error"
                );
                return Err(error.latched());
            }
            break error;
        };
        state.recovery.busy = true;
        state.recovery.error = None;
        drop(state);
        let mut attempt = Attempt {
            db: self,
            ended: false,
        };
        if !automatic {
            self.notify(&Event::ErrorRecoveryBegun {
                background_error: background_error.clone(),
                automatic,
            });
        }
        log_line!(self.log, Info, "Resuming DB");
        let attempted = catch_or_fail(|| self.resume_impl(automatic));
        attempt.ended = true;
        let outcome = self.end_attempt(attempted);
        match &outcome {
            Ok(()) => log_line!(self.log, Info, "Successfully resumed DB"),
            Err(error) => log_line!(self.log, Info, "Failed to resume DB [{error}]"),
        }
        if !automatic {
            self.notify(&Event::ErrorRecoveryEnded {
                background_error,
                new_error: outcome.as_ref().err().cloned(),
                automatic,
            });
        }
        outcome
    }

    /// Repeats the failed work and flushes every memtable: a WAL without space may end within a record.
    fn resume_impl(&self, automatic: bool) -> Result<()> {
        self.check_space()?;
        let may = |state: &DbState| state.check_recovery(automatic);
        {
            let mut state = self.state.lock();
            if state.manifest_in_doubt {
                self.replace_manifest(&mut state)?;
            }
            self.delete_files_in_doubt(&mut state);
        }
        self.cut_wals()?;
        let families: Vec<u32> = self.state.lock().families.keys().copied().collect();
        // Immutable memtables are flushed first, which makes room for the other memtables. Stalls are
        // ignored, because only this flush ends them.
        let pending = self.request_flush(&families, FlushReason::ErrorRecovery);
        self.wait_for_flush(&pending, may)?;
        let mut writer = self.write.queue.lock();
        may(&self.state.lock())?;
        self.switch_memtables(&mut writer, &families)?;
        let pending = self.request_flush(&families, FlushReason::ErrorRecovery);
        drop(writer);
        self.wait_for_flush(&pending, may)
    }

    /// Lets compactions that had no space begin again. No work is repeated here: they begin by themselves.
    fn end_soft_error(&self, mut state: MutexGuard<'_, DbState>, automatic: bool) {
        let Some(background_error) = state.recovery.soft_error.clone() else {
            return;
        };
        state.end_recovery();
        self.wake_jobs_and_writers(&mut state);
        drop(state);
        // A soft error also ends the automatic recovery in progress, if there is one.
        self.obsolete.wake();
        log_line!(self.log, Info, "Successfully resumed DB");
        if !automatic {
            self.notify(&Event::ErrorRecoveryBegun {
                background_error: background_error.clone(),
                automatic,
            });
            self.notify(&Event::ErrorRecoveryEnded {
                background_error,
                new_error: None,
                automatic,
            });
        }
    }

    /// Truncates WALs at their end that could not be truncated when they were closed.
    fn cut_wals(&self) -> Result<()> {
        let uncut = self.state.lock().recovery.uncut_wals.clone();
        for (number, len) in uncut {
            match self
                .options
                .fs
                .truncate(&filename::wal(&self.wal_dir, number), len)
            {
                // A WAL that no longer exists is not needed, so it need not be truncated.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                cut => cut?,
            }
            let mut state = self.state.lock();
            state.recovery.uncut_wals.retain(|(other, _)| *other != number);
        }
        Ok(())
    }

    /// Resumes writes if the attempt succeeded; otherwise returns its failure. The newest failure stays the
    /// reason.
    fn end_attempt(&self, attempted: Result<()>) -> Result<()> {
        let mut state = self.state.lock();
        state.recovery.busy = false;
        self.changed.notify_all();
        if let Some(error) = state.recovery.error.take() {
            state.background_error = Some(error.clone());
            return Err(error);
        }
        attempted?;
        state.end_recovery();
        self.wake_jobs_and_writers(&mut state);
        drop(state);
        // The success also ends the automatic recovery in progress, if there is one.
        self.obsolete.wake();
        Ok(())
    }
}

/// True for errors from which a database recovers when there is disk space again.
fn lacks_room(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NoSpace | ErrorKind::SpaceLimit)
}

impl DbInner {
    /// Drives the automatic recovery. Returns the time until the next call; `None` if the next call comes
    /// when the thread is woken.
    pub(crate) fn recover_when_due(&self, under_way: &mut Option<AutoRecovery>) -> Option<Duration> {
        if under_way.is_none() {
            *under_way = self.begin_auto_recovery();
        }
        let recovery = under_way.as_mut()?;
        let now = self.options.clock.now();
        match self.continue_auto_recovery(recovery, now) {
            Some(new_error) => {
                self.end_auto_recovery(under_way, new_error);
                // Another failure may have occurred meanwhile.
                Some(Duration::ZERO)
            }
            None => {
                let wait = recovery.due.saturating_sub(now);
                Some(if SIMULATED { wait } else { wait.min(LOOK) })
            }
        }
    }

    /// Begins an automatic recovery if one is due and nothing forbids it.
    fn begin_auto_recovery(&self) -> Option<AutoRecovery> {
        let (background_error, stop, resumed) = {
            let state = self.state.lock();
            if state.recovery.automatic != Automatic::Due || state.shutting_down {
                return None;
            }
            let error = state.error_to_recover()?.clone();
            let stop = u8::from(state.background_error.is_some());
            (error, stop, state.recovery.resumed)
        };
        let lacks_room = lacks_room(&background_error);
        let fs = &self.options.fs;
        let may = match lacks_room {
            // For a limit of the SST file manager, the free space of the disk is not queried.
            true if background_error.kind() == ErrorKind::SpaceLimit => true,
            true => {
                !matches!(fs.free_space(&self.dir), Err(error) if error.kind() == ErrorKind::NotSupported)
            }
            false => self.options.max_bgerror_resume_count > 0,
        };
        if !may || !self.listeners.allow_recovery(&background_error) {
            self.state.lock().recovery.automatic = Automatic::Never;
            // Threads that wait for compactions must get the error now, because none will begin.
            self.changed.notify_all();
            log_line!(
                self.log,
                Info,
                "ErrorHandler: Set regular background error, auto_recovery=0, stop={stop}"
            );
            return None;
        }
        if lacks_room {
            log_line!(
                self.log,
                Info,
                "ErrorHandler: Set regular background error, auto_recovery=1, stop={stop}"
            );
        } else {
            self.stats.count(Ticker::BgRetryableIoErrorCount, 1);
            log_line!(self.log, Info, "ErrorHandler: Set background retryable IO error");
            log_line!(
                self.log,
                Info,
                "ErrorHandler: Call StartRecoverFromRetryableBGIOError to resume"
            );
        }
        self.stats.count(Ticker::AutoresumeCount, 1);
        // The interval begins before listeners know of the recovery, however long they take.
        let due = self.options.clock.now() + self.interval(&background_error);
        self.notify(&Event::ErrorRecoveryBegun {
            background_error: background_error.clone(),
            automatic: true,
        });
        Some(AutoRecovery {
            due,
            background_error,
            failed: 0,
            resumed,
        })
    }

    /// The time until the work that failed with `error` is repeated.
    fn interval(&self, error: &Error) -> Duration {
        match lacks_room(error) {
            true => SPACE_INTERVAL,
            false => Duration::from_micros(self.options.bgerror_resume_retry_interval),
        }
    }

    /// Makes an attempt if it is due. `Some` if the recovery has ended: with the error that ended it, or
    /// `None` after a success.
    fn continue_auto_recovery(&self, recovery: &mut AutoRecovery, now: Duration) -> Option<Option<Error>> {
        let (error, is_soft) = {
            let state = self.state.lock();
            if state.shutting_down {
                return Some(Some(closing()));
            }
            let error = match state.error_to_recover() {
                Some(error) if state.recovery.resumed == recovery.resumed => error.clone(),
                // `Db::resume` has succeeded meanwhile.
                _ => return Some(None),
            };
            if state.recovery.automatic == Automatic::Never {
                return Some(Some(error));
            }
            (error, state.background_error.is_none())
        };
        if now < recovery.due {
            return None;
        }
        // The recovery from a soft error does nothing that waits for jobs.
        if !is_soft && self.is_occupied() {
            recovery.due = now + LOOK;
            return None;
        }
        recovery.due = now + self.interval(&error);
        if lacks_room(&error) && !self.has_room(&error) {
            return None;
        }
        self.stats.count(Ticker::AutoresumeRetryTotalCount, 1);
        match self.recover_from_error(true) {
            Ok(()) => {
                self.stats.count(Ticker::AutoresumeSuccessCount, 1);
                Some(None)
            }
            Err(error) if error.kind() == ErrorKind::ShutdownInProgress => Some(Some(error)),
            Err(_) => self.record_failed_attempt(recovery, &error),
        }
    }

    /// True if an attempt would have to wait. It is postponed, because its thread also deletes files, which
    /// frees space.
    fn is_occupied(&self) -> bool {
        let state = self.state.lock();
        let jobs = state.running_flushes + state.running_compactions;
        jobs > 0 || state.recovery.busy || state.background_paused > 0
    }

    /// Records a failed attempt to recover from `error`. The result is that of
    /// [`continue_auto_recovery`](Self::continue_auto_recovery).
    fn record_failed_attempt(&self, recovery: &mut AutoRecovery, error: &Error) -> Option<Option<Error>> {
        recovery.failed += 1;
        let tries = u64::try_from(self.options.max_bgerror_resume_count).unwrap_or(0);
        if lacks_room(error) || recovery.failed < tries {
            return None;
        }
        self.state.lock().recovery.automatic = Automatic::Never;
        Some(Some(Error::new(
            ErrorKind::Aborted,
            "Exceeded resume retry count",
        )))
    }

    /// True if the file system has space for the output of a recovery: the memtables, and the outputs of the
    /// compactions that had no space.
    fn has_room(&self, error: &Error) -> bool {
        let needed = self.needed_room();
        if let Some(manager) = self.sst_file_manager()
            && !manager.has_room_for(needed)
        {
            log_line!(
                self.log,
                Warn,
                "the SST file manager allows less than reserved disk buffer [{needed} bytes]"
            );
            return false;
        }
        if error.kind() == ErrorKind::SpaceLimit {
            return true;
        }
        let buffer = self
            .sst_file_manager()
            .map_or(0, |manager| manager.compaction_buffer_size());
        let needed = needed.saturating_add(buffer);
        let has = |dir: &std::path::Path, needed: u64| {
            let free = self.options.fs.free_space(dir).unwrap_or(0);
            if free < needed {
                log_line!(
                    self.log,
                    Warn,
                    "free space [{free} bytes] is less than reserved disk buffer [{needed} bytes]"
                );
            }
            free >= needed
        };
        has(&self.dir, needed) && (self.wal_dir == self.dir || has(&self.wal_dir, 1))
    }

    /// The bytes that a recovery writes: the memtables, and the outputs of the compactions that had no space.
    fn needed_room(&self) -> u64 {
        let state = self.state.lock();
        let memory = state.families.values().flat_map(|own| {
            let immutable = own.immutable.iter().map(|immutable| &immutable.memory);
            let written = std::iter::once(&own.mem).chain(immutable);
            written.filter(|memory| !memory.table.is_empty())
        });
        let bytes: u64 = memory.map(|memory| memory.table.memory_usage() as u64).sum();
        bytes.saturating_add(state.recovery.room).max(1)
    }

    /// Ends the automatic recovery, if one is in progress.
    pub(crate) fn end_auto_recovery(&self, under_way: &mut Option<AutoRecovery>, new_error: Option<Error>) {
        let Some(recovery) = under_way.take() else {
            return;
        };
        self.stats
            .record(Histogram::AutoresumeRetryCount, recovery.failed + 1);
        self.notify(&Event::ErrorRecoveryEnded {
            background_error: recovery.background_error,
            new_error,
            automatic: true,
        });
    }
}
