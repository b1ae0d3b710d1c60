//! Ranges of keys that a transaction locks or deletes.

use base::{Error, ErrorKind, Result, SeqNo, UserComparator};
use esker::{ColumnFamily, UnchangedRange};

use crate::key_range::{KeyRange, compare_begins};
use crate::lock::held_ranges::RangeLockId;
use crate::lock::range::WantedRange;
use crate::tracked_range::TrackedRange;
use crate::tracking::Tracking;
use crate::transaction::{Control, Transaction};

impl Transaction {
    /// Locks the keys of `family` from `begin` to `end`, exclusive; `None`: no bound. The lock covers keys
    /// that do not exist, so that none appears. Unless it is `exclusive`, other transactions may read the
    /// keys for update and lock ranges over them; only this transaction writes any.
    ///
    /// With a snapshot set, it checks whether a key of the range was written since. The commit of an
    /// optimistic transaction validates the range, whether or not it is `exclusive`. A range that the
    /// transaction has already locked, as part of a larger range or alone, costs nothing more.
    ///
    /// A range lock costs a look at each locked key of the family: use few of them.
    /// [`iter_cf`](Self::iter_cf) reads the locked range.
    ///
    /// # Errors
    ///
    /// Those of [`put`](Self::put); `InvalidArgument` if the end comes before the beginning.
    pub fn lock_range(
        &mut self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        exclusive: bool,
    ) -> Result<()> {
        let range = KeyRange::half_open(begin, end);
        self.track_range(family, range, exclusive, Tracking::Validate)
    }

    /// Deletes the keys of `family` from `begin` to `end`, exclusive, after locking the range exclusively,
    /// including keys that do not exist. The transaction's own reads and iterators no longer see these keys.
    /// RocksDB's transactions have no range deletions.
    ///
    /// # Errors
    ///
    /// Those of [`lock_range`](Self::lock_range).
    pub fn delete_range_cf(
        &mut self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.delete_range_cf_opt(family, begin, end, Tracking::Validate)
    }

    /// Deletes a range as [`delete_range`](Self::delete_range_cf) does, with another way to protect the keys.
    pub fn delete_range_cf_opt(
        &mut self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
        tracking: Tracking,
    ) -> Result<()> {
        let (begin, end) = (begin.as_ref(), end.as_ref());
        self.check_batch_size(begin.len() + end.len())?;
        let range = KeyRange::half_open(Some(begin), Some(end));
        self.track_range(family, range, true, tracking)?;
        self.batch.delete_range_cf(family, begin, end);
        self.counts.deletes += 1;
        Ok(())
    }

    /// The number of ranges that the transaction tracks: those it has locked, or its commit will validate.
    pub fn num_ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Locks a range, or has it validated, and records it.
    pub(crate) fn track_range(
        &mut self,
        family: &ColumnFamily,
        range: KeyRange,
        exclusive: bool,
        tracking: Tracking,
    ) -> Result<()> {
        self.check_family(family)?;
        let user = family.comparator();
        if is_reversed(user, &range) {
            return Err(Error::invalid_argument("end key comes before start key"));
        }
        let (seqno, lock) = match &self.control {
            Control::Validation { .. } => match self.record_optimistic(tracking != Tracking::Untracked) {
                Some(seqno) => (seqno, 0),
                None => return Ok(()),
            },
            Control::Locks(locking) if locking.skip_concurrency_control => return Ok(()),
            Control::Locks(_) => match self.lock_tracked_range(family, &range, exclusive, tracking)? {
                Some(locked) => locked,
                None => return Ok(()),
            },
        };
        self.ranges.push(TrackedRange {
            family: family.id(),
            range,
            seqno,
            exclusive,
            lock,
        });
        Ok(())
    }

    /// Locks a range and checks whether it was written since the snapshot. Returns `None` if the range was
    /// checked before; otherwise the sequence number that validates it, and the lock.
    fn lock_tracked_range(
        &mut self,
        family: &ColumnFamily,
        range: &KeyRange,
        exclusive: bool,
        tracking: Tracking,
    ) -> Result<Option<(SeqNo, RangeLockId)>> {
        let user = family.comparator();
        let known = self
            .ranges
            .iter()
            .filter(|known| known.family == family.id() && (known.exclusive || !exclusive))
            .filter(|known| known.range.covers(user, range))
            .map(|known| known.seqno)
            .min();
        if tracking == Tracking::AssumeTracked && known.is_none() {
            return Err(Error::invalid_argument(
                "assume_tracked is set but it is not tracked yet",
            ));
        }
        let lock = match known {
            Some(_) => None,
            None => Some(self.acquire_range(family, range, exclusive)?),
        };
        self.take_snapshot_if_needed();
        let snapshot = self.snapshot.as_ref().map(esker::Snapshot::sequence_number);
        let since = match snapshot.filter(|_| tracking != Tracking::Untracked) {
            Some(snapshot) if known.is_none_or(|known| known > snapshot) => {
                let unchanged = UnchangedRange {
                    family: family.id(),
                    begin: range.begin.as_deref(),
                    end: range.end(),
                    since: snapshot,
                };
                let failed = match self.db.is_range_written(family, &unchanged) {
                    Ok(false) => None,
                    Ok(true) => Some(Error::new(ErrorKind::Busy, "")),
                    Err(error) => Some(error),
                };
                if let Some(error) = failed {
                    self.release_range(family.id(), lock);
                    return Err(error);
                }
                snapshot
            }
            // The sequence number is read after the lock was taken: only its holder writes a key of the range
            // from then on.
            _ => self.db.latest_sequence_number(),
        };
        Ok(lock.map(|lock| (since, lock)))
    }

    fn acquire_range(&self, family: &ColumnFamily, range: &KeyRange, exclusive: bool) -> Result<RangeLockId> {
        let Control::Locks(locking) = &self.control else {
            unreachable!("only transactions with locks take them");
        };
        let shared = &locking.shared;
        shared.know_family(family.id());
        let wanted = WantedRange {
            family: family.id(),
            comparator: family.comparator(),
            range,
            exclusive,
        };
        shared.locks.try_lock_range(&locking.request, &wanted)
    }

    fn release_range(&self, family: u32, lock: Option<RangeLockId>) {
        if let (Control::Locks(locking), Some(lock)) = (&self.control, lock) {
            locking.shared.locks.unlock_ranges(family, &[lock]);
        }
    }
}

/// True if the range ends before it begins.
fn is_reversed(user: &UserComparator, range: &KeyRange) -> bool {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    match &range.end {
        Unbounded => false,
        Excluded(end) | Included(end) => {
            let at_end = KeyRange {
                begin: Some(end.clone()),
                end: Unbounded,
            };
            compare_begins(user, range, &at_end).is_gt()
        }
    }
}
