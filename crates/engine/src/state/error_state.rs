//! The background error of a database, and how far the recovery from it has come.

use base::{Error, ErrorKind, Result};

use crate::state::db_state::{DbState, closing};

/// The state of the recovery from a background error. Guarded by the database mutex.
#[derive(Default)]
pub(crate) struct Recovery {
    /// True while a thread repeats the failed work.
    pub busy: bool,
    /// The first failure during the current recovery.
    pub error: Option<Error>,
    /// The state of the automatic recovery.
    pub automatic: Automatic,
    /// Set if a compaction had no disk space. Other compactions that need space do not begin while it is set;
    /// writes continue.
    pub soft_error: Option<Error>,
    /// The disk space in bytes needed by the largest of the compactions that had none.
    pub room: u64,
    /// Complete WALs that could not be truncated at their end: number and length.
    pub uncut_wals: Vec<(u64, u64)>,
    /// True if the last OPTIONS file could not be written.
    pub options_unwritten: bool,
    /// The number of successful recoveries.
    pub resumed: u64,
}

/// The state of the automatic recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Automatic {
    /// No recovery is needed, because nothing has failed.
    #[default]
    Idle,
    /// A recovery begins automatically, because all failures so far permit it.
    Due,
    /// No recovery begins automatically: a failure or a listener forbids it, or the attempts are used up.
    /// `Db::resume` may still succeed.
    Never,
}

impl Recovery {
    /// Called before the first failure that latches the database: the end of the attempts for a soft error
    /// does not forbid the recovery from that failure.
    pub fn forget_soft_outcome(&mut self) {
        if self.automatic == Automatic::Never {
            self.automatic = Automatic::Idle;
        }
    }

    /// Records a failure of `action` that latches the database.
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

impl DbState {
    /// Records that a compaction had no space and needs `room` bytes. Returns false if the database has
    /// stopped writes already: then the failure is not a soft error.
    pub fn note_soft_error(&mut self, action: &str, error: &Error, room: u64) -> bool {
        // The compaction would fail again with less free space than this.
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
            Some(error) => Err(error.clone().with_kind(ErrorKind::ReadOnly)),
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
