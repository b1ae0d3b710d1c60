//! Save points: states of a transaction to return to.

use base::{Error, ErrorKind, Result};

use crate::lock::tracker::LockTracker;
use crate::state::TransactionState;
use crate::transaction::{Control, SavePoint, Transaction};

impl Transaction {
    /// Records the current state of the transaction, so that it can be rolled back to this state. Save points
    /// nest.
    pub fn set_save_point(&mut self) {
        self.save_points.push(SavePoint {
            snapshot: self.snapshot.clone(),
            snapshot_needed: self.snapshot_needed.clone(),
            counts: self.counts,
            new_locks: LockTracker::default(),
            ranges: self.ranges.len(),
        });
        self.batch.set_save_point();
    }

    /// Undoes the writes since the newest save point, releases keys that were first locked since, and removes
    /// the save point. `NotFound` if there is none; `InvalidArgument` for a transaction with locks that was
    /// prepared or has ended.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        if matches!(self.control, Control::Locks(_)) && self.state() != TransactionState::Started {
            return Err(Error::invalid_argument(
                "Transaction is beyond state for rollback.",
            ));
        }
        let point = self.save_points.pop().ok_or_else(no_save_point)?;
        self.snapshot = point.snapshot;
        self.snapshot_needed = point.snapshot_needed;
        self.counts = point.counts;
        self.batch.rollback_to_save_point()?;
        self.release_ranges_from(point.ranges);
        let gone = self.tracked.subtract(&point.new_locks);
        if let Control::Locks(locking) = &self.control {
            gone.iter().for_each(|(family, key)| locking.unlock(*family, key));
        }
        Ok(())
    }

    /// Removes the newest save point, and keeps the writes and locks since. `NotFound` if there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        let point = self.save_points.pop().ok_or_else(no_save_point)?;
        if let Some(below) = self.save_points.last_mut() {
            below.new_locks.merge(point.new_locks);
        }
        self.batch.pop_save_point()
    }
}

fn no_save_point() -> Error {
    Error::new(ErrorKind::NotFound, "")
}
