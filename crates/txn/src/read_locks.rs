//! Locks on what a serializable transaction in two phases has read.

use base::{Error, ErrorKind, Result};

use crate::key_range::KeyRange;
use crate::read_set::ReadSet;
use crate::tracking::Tracking;
use crate::transaction::Transaction;

impl Transaction {
    /// Takes shared locks on everything that a serializable transaction has read, and then validates it: from
    /// then on it cannot change until the transaction ends. Does nothing if it has read
    /// nothing since the last call.
    pub(crate) fn lock_reads(&mut self, reads: &ReadSet) -> Result<()> {
        if self
            .locking()
            .is_some_and(|locking| locking.skip_concurrency_control)
        {
            return Err(Error::not_supported(
                "a serializable transaction without locks cannot be prepared",
            ));
        }
        let reads = reads.lock();
        if self
            .locking()
            .is_some_and(|locking| locking.reads_locked == reads.recorded())
        {
            return Ok(());
        }
        for key in reads.keys() {
            let family = self.family_by_id(key.family)?;
            // A key that the transaction has locked exclusively stays locked exclusively.
            if self.tracked.get(key.family, key.key).is_none() {
                self.lock_for_update(&family, key.key, false, false)?;
            }
            if self
                .db
                .newest_sequence_number(&family, key.key, key.since)?
                .is_some()
            {
                return Err(Error::new(ErrorKind::Busy, ""));
            }
        }
        for range in reads.ranges() {
            let family = self.family_by_id(range.family)?;
            let locked = KeyRange {
                begin: range.begin.map(<[u8]>::to_vec),
                end: range.end.map(<[u8]>::to_vec),
            };
            self.track_range(&family, locked, false, Tracking::Untracked)?;
            if self.db.is_range_written(&family, &range)? {
                return Err(Error::new(ErrorKind::Busy, ""));
            }
        }
        let recorded = reads.recorded();
        if let Some(locking) = self.locking() {
            locking.reads_locked = recorded;
        }
        Ok(())
    }
}
