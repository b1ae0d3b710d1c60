//! The end of a transaction: commit or rollback.

use std::sync::Arc;

use base::{Error, ErrorKind, Result};
use esker::{UnchangedKey, UnchangedRange, WriteBatch, WriteBatchWithIndex};

use crate::key_range::KeyRange;
use crate::lock::tracker::LockTracker;
use crate::read_set::ReadSet;
use crate::state::TransactionState;
use crate::tracked_range::TrackedRange;
use crate::tracking::Tracking;
use crate::transaction::{Control, Transaction};

impl Transaction {
    /// Commits the transaction: makes its writes visible, all of them at once, and ends it.
    ///
    /// If the write of a transaction with locks fails, its writes are discarded and its locks released. A
    /// prepared transaction stays prepared then, and can be committed again or rolled back. An optimistic
    /// transaction that fails keeps its state, and so does a serializable one whose reads are no longer
    /// valid.
    ///
    /// # Errors
    ///
    /// `Expired` if its time is over. `InvalidArgument` if it has already ended, if it had to be prepared
    /// first ([`skip_prepare`](crate::TransactionOptions::skip_prepare)), or if it has rows in its
    /// commit-time batch and was not prepared. `Busy` for an optimistic transaction if another has written a
    /// key that it tracks, and for a serializable one if another has written something that it has read.
    /// `TimedOut` for a prepared serializable one if another has locked what it has read since it was
    /// prepared. Those of [`Db::write`](esker::Db::write).
    pub fn commit(&mut self) -> Result<()> {
        match &self.control {
            Control::Validation { .. } => self.commit_optimistic(),
            Control::Locks(_) => self.commit_locked(),
        }
    }

    fn commit_locked(&mut self) -> Result<()> {
        let Control::Locks(locking) = &self.control else {
            unreachable!("it has locks");
        };
        if locking.is_expired() && self.state() != TransactionState::Prepared {
            return Err(expired());
        }
        match self.state() {
            TransactionState::Prepared => return self.commit_prepared(),
            TransactionState::Started if !locking.skip_prepare => {
                return Err(Error::invalid_argument("Txn not prepared"));
            }
            TransactionState::Started if !self.commit_time_batch.is_empty() => {
                return Err(Error::invalid_argument(
                    "Commit-time batch contains values that will not be committed.",
                ));
            }
            _ => {}
        }
        // After this change of the state no other transaction can take the expired locks of this one.
        if !self.state.leave_started(TransactionState::AwaitingCommit) {
            return Err(not_in_state(self.state()));
        }
        if let Some(reads) = self.reads_to_validate() {
            return self.commit_if_unread(&reads);
        }
        let batch = std::mem::take(&mut self.batch).into_write_batch();
        let written = self.db.write_sequenced(batch, &self.write_options);
        self.forget_name();
        self.clear();
        written?;
        self.state.set(TransactionState::Committed);
        Ok(())
    }

    /// The reads of a serializable transaction that must be validated. There are none if it writes nothing
    /// and has read as of one moment: that moment is its place in the serial order.
    fn reads_to_validate(&self) -> Option<Arc<ReadSet>> {
        let reads = self.reads.as_ref()?;
        let has_its_place = self.batch.is_empty() && reads.lock().is_one_moment();
        (!has_its_place).then(|| reads.clone())
    }

    /// Commits a transaction with locks if nothing that it has read was written since. Otherwise the
    /// transaction keeps its state.
    fn commit_if_unread(&mut self, reads: &ReadSet) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch).into_write_batch();
        let locked = reads.lock();
        let keys: Vec<UnchangedKey<'_>> = locked.keys().collect();
        let ranges: Vec<UnchangedRange<'_>> = locked.ranges().collect();
        let written = self
            .db
            .write_if_unchanged(&mut batch, &keys, &ranges, &self.write_options);
        drop((keys, ranges));
        drop(locked);
        if let Err(error) = &written
            && error.kind() == ErrorKind::Busy
        {
            self.batch = WriteBatchWithIndex::from(batch);
            self.state.set(TransactionState::Started);
            return written.map(drop);
        }
        self.forget_name();
        self.clear();
        written?;
        self.state.set(TransactionState::Committed);
        Ok(())
    }

    fn commit_prepared(&mut self) -> Result<()> {
        if let Some(reads) = self.reads.clone() {
            // The reads since the prepare.
            self.lock_reads(&reads)?;
        }
        self.state.set(TransactionState::AwaitingCommit);
        let committed = self.db.commit_prepared(
            &self.name,
            &self.commit_time_batch,
            self.batch.write_batch(),
            &self.write_options,
        );
        if let Err(error) = committed {
            self.state.set(TransactionState::Prepared);
            return Err(error);
        }
        self.forget_name();
        self.clear();
        self.state.set(TransactionState::Committed);
        Ok(())
    }

    fn commit_optimistic(&mut self) -> Result<()> {
        if self.state() != TransactionState::Started {
            return Err(not_in_state(self.state()));
        }
        let reads = self.reads_to_validate();
        let mut batch = std::mem::take(&mut self.batch).into_write_batch();
        let reads = reads.as_ref().map(|reads| reads.lock());
        let mut keys = unchanged(&self.tracked);
        keys.extend(reads.iter().flat_map(|reads| reads.keys()));
        let mut ranges: Vec<UnchangedRange<'_>> = self.ranges.iter().map(TrackedRange::unchanged).collect();
        ranges.extend(reads.iter().flat_map(|reads| reads.ranges()));
        let written = self
            .db
            .write_if_unchanged(&mut batch, &keys, &ranges, &self.write_options);
        drop((keys, ranges));
        drop(reads);
        if let Err(error) = written {
            self.batch = WriteBatchWithIndex::from(batch);
            return Err(error);
        }
        self.clear();
        self.state.set(TransactionState::Committed);
        Ok(())
    }

    /// Discards the writes of the transaction and releases its locks. The transaction can then be used again
    /// from the beginning, unless it was prepared. A serializable transaction takes a new snapshot.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if it has already ended. For a prepared transaction, those of
    /// [`Db::write`](esker::Db::write): it then stays prepared.
    pub fn rollback(&mut self) -> Result<()> {
        match self.state() {
            TransactionState::Started => {
                self.clear();
                if self.reads.is_some() {
                    self.set_snapshot();
                }
                Ok(())
            }
            TransactionState::Prepared => self.rollback_prepared(),
            TransactionState::Committed => Err(Error::invalid_argument(
                "This transaction has already been committed.",
            )),
            _ => Err(Error::invalid_argument(
                "Two phase transaction is not in state for rollback.",
            )),
        }
    }

    fn rollback_prepared(&mut self) -> Result<()> {
        self.state.set(TransactionState::AwaitingRollback);
        if let Err(error) = self.db.rollback_prepared(&self.name, &self.write_options) {
            self.state.set(TransactionState::Prepared);
            return Err(error);
        }
        self.forget_name();
        self.clear();
        self.state.set(TransactionState::RolledBack);
        Ok(())
    }

    /// Locks the keys of `batch` in their order, writes it, and ends the transaction.
    pub(crate) fn commit_batch(&mut self, batch: WriteBatch) -> Result<()> {
        self.lock_batch(&batch)?;
        let Control::Locks(locking) = &self.control else {
            unreachable!("only transactions with locks write batches of others");
        };
        if locking.is_expired() {
            return Err(expired());
        }
        if !self.state.leave_started(TransactionState::AwaitingCommit) {
            return Err(not_in_state(self.state()));
        }
        let written = self.db.write_sequenced(batch, &self.write_options);
        self.clear();
        written?;
        self.state.set(TransactionState::Committed);
        Ok(())
    }

    /// Locks the keys and ranges of `batch` in the order of families and keys, so that two batches never wait
    /// for each other.
    fn lock_batch(&mut self, batch: &WriteBatch) -> Result<()> {
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        for operation in batch.operations() {
            let operation = operation?;
            let Some(family) = operation.family() else {
                continue;
            };
            match operation {
                esker::Operation::DeleteRange { begin, end, .. } => wanted.push((family, begin, Some(end))),
                _ => wanted.extend(key_of(&operation).map(|key| (family, key, None))),
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut last: Option<esker::ColumnFamily> = None;
        for (id, key, end) in wanted {
            let family = match last.take().filter(|family| family.id() == id) {
                Some(family) => family,
                None => self.family_by_id(id)?,
            };
            match end {
                None => self.lock_for_update(&family, key, true, false)?,
                Some(end) => {
                    let range = KeyRange::half_open(Some(key), Some(end));
                    self.track_range(&family, range, true, Tracking::Untracked)?;
                }
            }
            last = Some(family);
        }
        Ok(())
    }

    /// Releases the name of the transaction.
    fn forget_name(&self) {
        if let Control::Locks(locking) = &self.control
            && !self.name.is_empty()
        {
            locking.shared.unregister(&self.name);
        }
    }
}

/// The family of a key, and the key; for a range, its first key and its end.
type Wanted<'a> = (u32, &'a [u8], Option<&'a [u8]>);

/// The key of an operation on a single key.
fn key_of<'a>(operation: &esker::Operation<'a>) -> Option<&'a [u8]> {
    use esker::Operation::{BlobIndex, Delete, Entity, Merge, Put, SingleDelete, TimedPut};
    match *operation {
        Put { key, .. }
        | Delete { key, .. }
        | SingleDelete { key, .. }
        | Merge { key, .. }
        | BlobIndex { key, .. }
        | Entity { key, .. }
        | TimedPut { key, .. } => Some(key),
        _ => None,
    }
}

fn unchanged(tracked: &LockTracker) -> Vec<UnchangedKey<'_>> {
    tracked
        .iter()
        .map(|(family, key, tracked)| UnchangedKey {
            family,
            key,
            since: tracked.seqno,
        })
        .collect()
}

pub(crate) fn expired() -> Error {
    Error::new(ErrorKind::Expired, "")
}

/// The error of a transaction that cannot be prepared or committed any more.
pub(crate) fn not_in_state(state: TransactionState) -> Error {
    match state {
        TransactionState::LocksStolen => expired(),
        TransactionState::Prepared => Error::invalid_argument("Transaction has already been prepared."),
        TransactionState::Committed => Error::invalid_argument("Transaction has already been committed."),
        TransactionState::RolledBack => Error::invalid_argument("Transaction has already been rolledback."),
        _ => Error::invalid_argument("Transaction is not in state for commit."),
    }
}
