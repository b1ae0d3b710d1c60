//! A secondary or follower of the database under stress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker::{Db, ErrorKind};

use crate::failure::{Failure, Outcome};

/// A secondary or follower of the database under stress.
pub struct Secondary {
    pub db: Db,
    /// The highest sequence number that a read of the secondary has shown.
    pub(super) reached: AtomicU64,
}

/// The time for which opens are repeated: a primary of small files may change them faster than a busy machine
/// opens them.
const PATIENCE: Duration = Duration::from_secs(60);

/// Calls `what` again while it returns `TryAgain`.
pub(super) fn until_it_keeps_up<T>(mut what: impl FnMut() -> esker::Result<T>) -> Outcome<T> {
    let begun = Instant::now();
    loop {
        match what() {
            Err(error) if error.kind() == ErrorKind::TryAgain && begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return Ok(result?),
        }
    }
}

impl Secondary {
    /// Catches up with the primary. The secondary never goes back; it may be ahead of the state that the
    /// primary has published.
    pub(super) fn catch_up(&self) -> Outcome {
        let before = self.reached.load(Ordering::Acquire);
        until_it_keeps_up(|| self.db.try_catch_up_with_primary())?;
        let reached = self.db.latest_sequence_number();
        self.reached.fetch_max(reached, Ordering::AcqRel);
        if reached < before {
            return Err(Failure::Mismatch(format!(
                "a secondary reads up to {reached}, and read up to {before} before"
            )));
        }
        Ok(())
    }
}
