//! The part of a secondary or follower that readers see.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use base::sync::Mutex;
use base::{Error, SeqNo};

use crate::state::snapshot::View;

/// The state of a secondary.
pub(crate) struct Secondary {
    /// The secondary's own directory. Nothing is written anywhere else.
    pub own_dir: PathBuf,
    /// The view that was installed last, for snapshots.
    pub view: ArcSwap<View>,
    pub status: Mutex<CatchUpStatus>,
}

/// The progress of a secondary or follower.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{Db, Options};
///
/// db.put(b"a", b"1")?;
/// let secondary = Db::open_as_secondary(&Options::default(), dir.path(), dir.path().join("secondary"))?;
/// secondary.try_catch_up_with_primary()?;
/// let status = secondary.catch_up_status().unwrap();
/// assert_eq!((status.sequence_number, status.failures), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CatchUpStatus {
    /// The sequence number of the last visible row, as in
    /// [`Db::latest_sequence_number`](crate::Db::latest_sequence_number).
    pub sequence_number: SeqNo,
    /// The time at which the last successful catch-up began, by the clock of the options: everything the
    /// primary had written by then is visible.
    pub caught_up_at: Duration,
    /// The number of successful catch-ups, including the one at the open.
    pub catch_ups: u64,
    /// The number of failed catch-ups.
    pub failures: u64,
    /// The error of the last catch-up if it failed.
    pub last_error: Option<Error>,
}

impl CatchUpStatus {
    /// The maximum age of the visible data at `now`, by the clock of the options: the time since the last
    /// successful catch-up began.
    pub fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.caught_up_at)
    }
}

impl fmt::Display for CatchUpStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sequence number {}, caught up at {:.6} s, {} catch-ups, {} failed",
            self.sequence_number,
            self.caught_up_at.as_secs_f64(),
            self.catch_ups,
            self.failures
        )?;
        match &self.last_error {
            Some(error) => write!(f, "; the last one: {error}"),
            None => Ok(()),
        }
    }
}

impl Secondary {
    /// The view that was installed last.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// The progress of the secondary.
    pub fn status(&self) -> CatchUpStatus {
        self.status.lock().clone()
    }
}
