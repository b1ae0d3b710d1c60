//! Recovery from a background error: `Db::resume`, and the recovery that begins by itself.
//!
//! ```text
//! latch | a listener may veto | wait, by the clock of the options | enough free space? | do again what failed | writes go on
//! ```
//!
//! A compaction that has no room is a soft error, as in RocksDB: writes and flushes go on. Compactions that need room begin by themselves
//! again once there is some.
//!
//! An error of the disk that leaves every file in a known state is recovered from by itself, as in RocksDB. Lack of room: each
//! [`SPACE_INTERVAL`] the file system is asked for its free space, and once there is enough of it the database resumes. Other I/O errors: after
//! `bgerror_resume_retry_interval`, up to `max_bgerror_resume_count` times. Never after a failed sync of a WAL, corruption, or a panic.
//!
//! After any other error the database takes no writes before a recovery has succeeded: the background error stays until then, and flushes alone may run
//! ([`DbState::check_job`]). One recovery runs at a time. The thread that deletes files drives the automatic one between its other work, so
//! that it costs no thread; closing ends it, and waits for nothing but the flush under way.

use std::time::Duration;

use base::statistics::{Histogram, Ticker};
use base::sync::{MutexGuard, SIMULATED};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, filename};

use super::state::{DbState, closing};
use super::{Db, DbInner};
use crate::events::{Event, FlushReason};
use crate::log::log_line;

/// Time between two questions for free space: RocksDB's.
const SPACE_INTERVAL: Duration = Duration::from_secs(5);

/// The clock of the options may be one that a test moves, which wakes nobody: it is looked at that often.
const LOOK: Duration = Duration::from_millis(50);

/// How the database gets over a background error. Guarded by the database mutex.
#[derive(Default)]
pub(crate) struct Recovery {
    /// A thread does again what failed.
    pub busy: bool,
    /// The first failure since that began.
    pub error: Option<Error>,
    /// Whether the recovery begins by itself.
    pub automatic: Automatic,
    /// A compaction had no room. The others that need room begin by themselves once this is gone; writes go on.
    pub soft_error: Option<Error>,
    /// Bytes that the largest compaction needs that had no room.
    pub room: u64,
    /// WALs that are complete and could not be cut at their end: number and length.
    pub uncut_wals: Vec<(u64, u64)>,
    /// The last OPTIONS file could not be written.
    pub options_unwritten: bool,
    /// Recoveries that succeeded.
    resumed: u64,
}

/// Whether a recovery begins by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Automatic {
    /// Nothing has failed.
    #[default]
    Idle,
    /// Everything that failed allows it.
    Due,
    /// A failure forbids it, a listener does, or it has been tried often enough. `Db::resume` may still succeed.
    Never,
}

impl Recovery {
    /// Before the first failure that latches the database: a soft error that is not recovered from says nothing about it.
    pub fn forget_soft_outcome(&mut self) {
        if self.automatic == Automatic::Never {
            self.automatic = Automatic::Idle;
        }
    }

    /// Takes note of a failure that latches the database, called `action`.
    pub fn note(&mut self, action: &str, error: &Error, resumable: bool) {
        if self.busy {
            self.error.get_or_insert_with(|| error.clone().context(action));
        }
        let is_of_the_disk = matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace);
        self.automatic = match self.automatic {
            Automatic::Idle if resumable && is_of_the_disk => Automatic::Due,
            Automatic::Due if resumable && is_of_the_disk => Automatic::Due,
            _ => Automatic::Never,
        };
    }
}

/// A recovery that has begun by itself. It belongs to the thread that drives it.
pub(crate) struct AutoRecovery {
    background_error: Error,
    /// When the next attempt is due, by the clock of the options.
    due: Duration,
    /// Attempts that failed.
    failed: u64,
    /// [`Recovery::resumed`] when it began.
    resumed: u64,
}

/// An attempt to recover. It ends also where a listener panics: another one waits for it.
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
    /// Takes writes again after a failure that stopped them (the event `BackgroundError`, the property
    /// `rocksdb.background-errors`), or compacts again after a compaction had no room, once the cause is gone: there is room on the disk again, say. What has failed is done
    /// again: every memtable that is full or was to be flushed is, and this returns when it is in tables. Without a failure it does
    /// nothing. It may be called any number of times, and while the database tries to resume by itself.
    ///
    /// A flush, a compaction or the begin of a WAL that failed, a change of the MANIFEST that failed, and a write that the WAL had no room
    /// for, can be resumed from. In the place of a MANIFEST that may or may not hold a change another one is written, of what the
    /// database consists of now. After a failed sync of the WAL, or damage, nobody knows what is on the disk: then the database must be
    /// opened again.
    ///
    /// # Errors
    /// The failure, as `ReadOnly`, if it cannot be resumed from; `ShutdownInProgress` if the database closes; otherwise that of what was
    /// done again, and the database stays as it was.
    pub fn resume(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.recover_from_error(false)?;
        // No failure of an OPTIONS file stops writes, so it is no part of the recovery.
        match inner.state.lock().recovery.options_unwritten {
            false => return Ok(()),
            true if inner.read_only => return Ok(()),
            true => {}
        }
        inner.write_options_file()
    }
}

impl DbState {
    /// Takes note of a compaction that had no room, and needs so much of it. False if the database has failed by then, and takes no writes:
    /// then it is a failure like others.
    pub fn note_soft_error(&mut self, action: &str, error: &Error, room: u64) -> bool {
        // Less free space than that, and it would fail again.
        self.recovery.room = self.recovery.room.max(room);
        if self.background_error.is_some() {
            return false;
        }
        let recovery = &mut self.recovery;
        recovery
            .soft_error
            .get_or_insert_with(|| error.clone().context(action));
        if recovery.automatic == Automatic::Idle {
            recovery.automatic = Automatic::Due;
        }
        true
    }

    /// `NoSpace` if a compaction had no room, and no other begins by itself.
    pub fn check_no_soft_error(&self) -> Result<()> {
        self.recovery.soft_error.clone().map_or(Ok(()), Err)
    }

    /// `Incomplete` if compactions had no room and are not recovered from by themselves: what waits for them would wait without end.
    pub fn check_compactions_go_on(&self) -> Result<()> {
        match &self.recovery.soft_error {
            Some(error) if self.recovery.automatic == Automatic::Never && self.running_compactions == 0 => {
                Err(error.clone().with_kind(ErrorKind::Incomplete))
            }
            _ => Ok(()),
        }
    }

    /// The failure that a recovery has to end.
    fn error_to_recover(&self) -> Option<&Error> {
        let soft = self.recovery.soft_error.as_ref();
        self.background_error.as_ref().or(soft)
    }

    /// Nothing is to be recovered from any more.
    fn end_recovery(&mut self) {
        self.background_error = None;
        self.recovery.soft_error = None;
        self.recovery.automatic = Automatic::Idle;
        self.recovery.room = 0;
        self.recovery.resumed += 1;
        self.families.values_mut().for_each(|own| own.update_stall());
    }

    /// As [`check_no_error`](Self::check_no_error), for flushes and changes of the MANIFEST: they go on while the database recovers.
    pub fn check_job(&self) -> Result<()> {
        match &self.recovery.error {
            _ if !self.recovery.busy || self.manifest_in_doubt => self.check_no_error(),
            Some(error) => Err(error.clone().with_kind(ErrorKind::ReadOnly)),
            None => Ok(()),
        }
    }

    /// Whether a recovery may go on.
    fn check_recovery(&self, automatic: bool) -> Result<()> {
        if self.shutting_down {
            return Err(closing());
        }
        if automatic && self.background_paused > 0 {
            return Err(Error::new(ErrorKind::Busy, "background work is paused"));
        }
        self.check_job()
    }
}

impl DbInner {
    /// Does again what failed, unless that cannot be, and lets writes go on. Where another thread is at it, waits for that first.
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
            // Jobs that ran when it failed have reported their own failures, or will: wait until all have.
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
                return Err(error.with_kind(ErrorKind::ReadOnly));
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

    /// Repeats the failed work and flushes every memtable: a WAL may end within a record that had no room.
    fn resume_impl(&self, automatic: bool) -> Result<()> {
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
        // Immutable memtables first: their flush makes room for the others. Stalls are not waited for, since only this ends them.
        let pending = self.request_flush(&families, FlushReason::ErrorRecovery);
        self.wait_for_flush(&pending, may)?;
        let mut writer = self.writer.lock();
        may(&self.state.lock())?;
        self.switch_memtables(&mut writer, &families)?;
        let pending = self.request_flush(&families, FlushReason::ErrorRecovery);
        drop(writer);
        self.wait_for_flush(&pending, may)
    }

    /// Lets compactions begin again that had no room. Nothing is done again: they begin by themselves.
    fn end_soft_error(&self, mut state: MutexGuard<'_, DbState>, automatic: bool) {
        let Some(background_error) = state.recovery.soft_error.clone() else {
            return;
        };
        state.end_recovery();
        self.look_again(&mut state);
        drop(state);
        // A recovery that has begun by itself has ended as well.
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

    /// Cuts WALs at their end that could not be cut when they were closed.
    fn cut_wals(&self) -> Result<()> {
        let uncut = self.state.lock().recovery.uncut_wals.clone();
        for (number, len) in uncut {
            match self
                .options
                .fs
                .truncate(&filename::wal(&self.wal_dir, number), len)
            {
                // It is needed no more.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                cut => cut?,
            }
            let mut state = self.state.lock();
            state.recovery.uncut_wals.retain(|(other, _)| *other != number);
        }
        Ok(())
    }

    /// Lets writes go on if the attempt succeeded; otherwise gives its failure, and the newest one stays the reason.
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
        self.look_again(&mut state);
        drop(state);
        // A recovery that has begun by itself has ended as well.
        self.obsolete.wake();
        Ok(())
    }
}

impl DbInner {
    /// Drives the automatic recovery. Gives the time until it is to be called again; `None`: when it is woken.
    pub(crate) fn recover_when_due(&self, under_way: &mut Option<AutoRecovery>) -> Option<Duration> {
        if under_way.is_none() {
            *under_way = self.begin_auto_recovery();
        }
        let recovery = under_way.as_mut()?;
        let now = self.options.clock.now();
        match self.continue_auto_recovery(recovery, now) {
            Some(new_error) => {
                self.end_auto_recovery(under_way, new_error);
                // Another failure may have come meanwhile.
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
        let lacks_room = background_error.kind() == ErrorKind::NoSpace;
        let fs = &self.options.fs;
        let may = match lacks_room {
            true => {
                !matches!(fs.free_space(&self.dir), Err(error) if error.kind() == ErrorKind::NotSupported)
            }
            false => self.options.max_bgerror_resume_count > 0,
        };
        if !may || !self.listeners.allow_recovery(&background_error) {
            self.state.lock().recovery.automatic = Automatic::Never;
            // Threads that wait for compactions get the error.
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
        self.notify(&Event::ErrorRecoveryBegun {
            background_error: background_error.clone(),
            automatic: true,
        });
        Some(AutoRecovery {
            due: self.options.clock.now() + self.interval(&background_error),
            background_error,
            failed: 0,
            resumed,
        })
    }

    /// The time until what failed by `error` is tried again.
    fn interval(&self, error: &Error) -> Duration {
        match error.kind() {
            ErrorKind::NoSpace => SPACE_INTERVAL,
            _ => Duration::from_micros(self.options.bgerror_resume_retry_interval),
        }
    }

    /// Makes an attempt if it is time. `Some` if the recovery has ended: with the error it has ended by, or none.
    fn continue_auto_recovery(&self, recovery: &mut AutoRecovery, now: Duration) -> Option<Option<Error>> {
        let (error, is_soft) = {
            let state = self.state.lock();
            if state.shutting_down {
                return Some(Some(closing()));
            }
            let error = match state.error_to_recover() {
                Some(error) if state.recovery.resumed == recovery.resumed => error.clone(),
                // `Db::resume` has succeeded.
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
        // To get over a soft error nothing is done that waits for jobs.
        if !is_soft && self.is_occupied() {
            recovery.due = now + LOOK;
            return None;
        }
        recovery.due = now + self.interval(&error);
        if error.kind() == ErrorKind::NoSpace && !self.has_room() {
            return None;
        }
        self.stats.count(Ticker::AutoresumeRetryTotalCount, 1);
        match self.recover_from_error(true) {
            Ok(()) => {
                self.stats.count(Ticker::AutoresumeSuccessCount, 1);
                Some(None)
            }
            Err(error) if error.kind() == ErrorKind::ShutdownInProgress => Some(Some(error)),
            Err(_) => self.note_failed_attempt(recovery, &error),
        }
    }

    /// True if an attempt would have to wait: the thread that makes it has files to delete, which makes room.
    fn is_occupied(&self) -> bool {
        let state = self.state.lock();
        let jobs = state.running_flushes + state.running_compactions;
        jobs > 0 || state.recovery.busy || state.background_paused > 0
    }

    /// An attempt after `error` has failed. As [`continue_auto_recovery`](Self::continue_auto_recovery).
    fn note_failed_attempt(&self, recovery: &mut AutoRecovery, error: &Error) -> Option<Option<Error>> {
        recovery.failed += 1;
        let tries = u64::try_from(self.options.max_bgerror_resume_count).unwrap_or(0);
        if error.kind() == ErrorKind::NoSpace || recovery.failed < tries {
            return None;
        }
        self.state.lock().recovery.automatic = Automatic::Never;
        Some(Some(Error::new(
            ErrorKind::Aborted,
            "Exceeded resume retry count",
        )))
    }

    /// True if the file system has room for what a recovery writes: the memtables, and the outputs of compactions that had none.
    fn has_room(&self) -> bool {
        let needed = {
            let state = self.state.lock();
            let memory = state.families.values().flat_map(|own| {
                let immutable = own.immutable.iter().map(|immutable| &immutable.memory);
                let written = std::iter::once(&own.mem).chain(immutable);
                written.filter(|memory| !memory.table.is_empty())
            });
            let bytes: u64 = memory.map(|memory| memory.table.memory_usage() as u64).sum();
            bytes.saturating_add(state.recovery.room).max(1)
        };
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

    /// Ends an automatic recovery, if one has begun.
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
