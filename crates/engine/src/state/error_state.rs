//! The background error of a database, and how far the recovery from it has come.

use base::{Error, ErrorKind};

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
    /// The disk space in bytes that the largest of the compactions needs which failed for lack of space.
    pub room: u64,
    /// The complete WALs that could not be truncated at the end of their records: number and length.
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

/// The error of a compaction for which there is no room.
pub(crate) fn too_large() -> Error {
    Error::new(
        ErrorKind::CompactionTooLarge,
        "the SST file manager allows too little space for its output",
    )
}

/// The error of an operation that is refused because `error` has latched the database.
pub(crate) fn refusal(error: &Error) -> Error {
    match error.kind() {
        ErrorKind::SpaceLimit => error.clone(),
        _ => error.latched(),
    }
}

/// The error `ShutdownInProgress`.
pub(crate) fn closing() -> Error {
    Error::new(ErrorKind::ShutdownInProgress, "the database is closing")
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
    pub fn record(&mut self, action: &str, error: &Error, resumable: bool) {
        if self.busy {
            self.error.get_or_insert_with(|| error.clone().context(action));
        }
        let is_of_the_disk = matches!(
            error.kind(),
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::SpaceLimit
        );
        self.automatic = match self.automatic {
            Automatic::Idle if resumable && is_of_the_disk => Automatic::Due,
            Automatic::Due if resumable && is_of_the_disk => Automatic::Due,
            _ => Automatic::Never,
        };
    }
}
