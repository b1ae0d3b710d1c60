//! The failures of a database: what stops it, and what is refused meanwhile.

use base::{Error, ErrorKind, Result};

use crate::state::db_state::{
    APPEND_TO_WAL, BEGIN_MANIFEST, COMPACTION, Close, DbState, FLUSH, HOUSEKEEPING, INGESTION, LISTENER,
    SWITCH_WAL, WRITE_MANIFEST,
};
use crate::state::error_state::{Automatic, closing, refusal, too_large};

impl DbState {
    /// Records a failure after which nothing may be written. The first one stays the reason.
    pub fn latch(&mut self, action: &str, error: &Error) {
        self.resumable = (self.background_error.is_none() || self.resumable) && can_be_resumed(action, error);
        if self.background_error.is_none() {
            self.recovery.forget_soft_outcome();
        }
        self.recovery.record(action, error, self.resumable);
        self.background_error.get_or_insert_with(|| match error.kind() {
            // The text is that of RocksDB, because programs parse it.
            ErrorKind::SpaceLimit => error.clone(),
            _ => error.clone().context(action),
        });
    }

    /// `ReadOnly` with the reason if a failure has latched the database; `SpaceLimit` if that is the reason.
    pub fn check_no_error(&self) -> Result<()> {
        match &self.background_error {
            Some(error) => Err(refusal(error)),
            None => Ok(()),
        }
    }

    /// Same as [`check_no_error`](Self::check_no_error), and `ShutdownInProgress` if the database is closing.
    pub fn check_writable(&self) -> Result<()> {
        if let Close::Done(_) = self.close {
            return Err(closing());
        }
        self.check_no_error()?;
        match self.shutting_down {
            true => Err(closing()),
            false => Ok(()),
        }
    }

    /// Records that a compaction had no space and needs `room` bytes. Returns false if the database has
    /// stopped writes already: then the failure is not a soft error.
    pub fn record_soft_error(&mut self, action: &str, error: &Error, room: u64) -> bool {
        // Without this much free space the compaction would fail again.
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

    /// `NoSpace` if a compaction had no space, so that no other begins automatically.
    pub fn check_no_soft_error(&self) -> Result<()> {
        self.recovery.soft_error.clone().map_or(Ok(()), Err)
    }

    /// `Incomplete` if compactions had no space and there is no automatic recovery: waiting for compactions
    /// would not end.
    pub fn check_compactions_go_on(&self) -> Result<()> {
        match &self.recovery.soft_error {
            Some(error) if self.recovery.automatic == Automatic::Never && self.running_compactions == 0 => {
                Err(error.clone().with_kind(ErrorKind::Incomplete))
            }
            _ => Ok(()),
        }
    }

    /// `SpaceLimit` if the database has stopped because its files have reached the space allowed.
    pub fn check_space(&self) -> Result<()> {
        match &self.background_error {
            Some(error) if error.kind() == ErrorKind::SpaceLimit => Err(refusal(error)),
            _ => Ok(()),
        }
    }

    /// `CompactionTooLarge` if a compaction waits for room and none runs: waiting for compactions would not
    /// end.
    pub fn check_room(&self) -> Result<()> {
        match self.awaits_room() && self.running_compactions == 0 {
            true => Err(too_large()),
            false => Ok(()),
        }
    }

    /// True if a compaction of any family waits for room.
    pub fn awaits_room(&self) -> bool {
        self.families.values().any(|own| own.awaits_room)
    }

    /// The failure that a recovery must end.
    pub fn error_to_recover(&self) -> Option<&Error> {
        let soft = self.recovery.soft_error.as_ref();
        self.background_error.as_ref().or(soft)
    }

    /// Clears the failure: nothing is left to recover from.
    pub fn end_recovery(&mut self) {
        self.background_error = None;
        self.recovery.soft_error = None;
        self.recovery.automatic = Automatic::Idle;
        self.recovery.room = 0;
        self.recovery.resumed += 1;
        self.families.values_mut().for_each(|own| own.update_stall());
    }

    /// Same as [`check_no_error`](Self::check_no_error), for flushes and MANIFEST changes, which continue
    /// during a recovery.
    pub fn check_job(&self) -> Result<()> {
        match &self.recovery.error {
            _ if !self.recovery.busy || self.manifest_in_doubt => self.check_no_error(),
            Some(error) => Err(refusal(error)),
            None => Ok(()),
        }
    }

    /// An error if the recovery must stop.
    pub fn check_recovery(&self, automatic: bool) -> Result<()> {
        if self.shutting_down {
            return Err(closing());
        }
        if automatic && self.background_paused > 0 {
            return Err(Error::new(ErrorKind::Busy, "background work is paused"));
        }
        self.check_job()
    }
}

/// True if `action`, which has failed with `error`, can be repeated. The output of a job is discarded with
/// it; a WAL that did not fit on the disk keeps its previous length; a WAL that could not be begun is
/// removed; a MANIFEST with unknown contents is replaced. After a failed sync of a WAL the contents of the
/// disk are unknown.
///
/// After a panic the database does not resume automatically, because only a user knows whether the panic will
/// recur. A user may resume it if the failed job has released everything.
fn can_be_resumed(action: &str, error: &Error) -> bool {
    if error.kind() == ErrorKind::Panicked {
        return matches!(action, FLUSH | COMPACTION | INGESTION | LISTENER | HOUSEKEEPING);
    }
    match action {
        FLUSH | COMPACTION | SWITCH_WAL | WRITE_MANIFEST | BEGIN_MANIFEST => {
            matches!(
                error.kind(),
                ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::SpaceLimit
            )
        }
        APPEND_TO_WAL => error.kind() == ErrorKind::NoSpace,
        _ => false,
    }
}
