//! Writes of a transaction, and the steps before each of them: the lock, and the check for earlier writes of
//! others.

use base::entity::{ColumnValue, Entity};
use base::{Error, ErrorKind, Result, SeqNo};
use esker::{ColumnFamily, Operation, WriteBatch};

use crate::lock::tracker::{Request, Untracked};
use crate::tracking::Tracking;
use crate::transaction::{Control, Transaction};

/// A write of a transaction.
#[derive(Clone, Copy)]
enum Write<'a> {
    Put(&'a [u8]),
    Delete,
    SingleDelete,
    Merge(&'a [u8]),
}

impl Transaction {
    /// Sets `key` of the default family. Errors: those of [`put_cf`](Self::put_cf).
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_cf(&self.db.default_column_family(), key, value)
    }

    /// Deletes `key` of the default family. Errors: those of [`put_cf`](Self::put_cf).
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf(&self.db.default_column_family(), key)
    }

    /// Deletes `key` of the default family, which was put once; see
    /// [`single_delete_cf_opt`](Self::single_delete_cf_opt).
    pub fn single_delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.single_delete_cf(&self.db.default_column_family(), key)
    }

    /// Adds a merge operand to `key` of the default family. Errors: those of [`put_cf`](Self::put_cf).
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_cf(&self.db.default_column_family(), key, operand)
    }

    /// Sets `key` of `family`.
    ///
    /// # Errors
    ///
    /// With locks: `TimedOut` if another transaction holds the key, `Busy` for a deadlock and if the key was
    /// written since the snapshot, `Aborted` if the limit of locks or of the batch's size is reached.
    /// `InvalidArgument` for a family of another database, or one that was dropped; `NotSupported` for one
    /// with timestamps.
    pub fn put_cf(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.put_cf_opt(family, key, value, Tracking::Validate)
    }

    /// Writes a value as [`put`](Self::put_cf) does, with another way to protect the key.
    pub fn put_cf_opt(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        tracking: Tracking,
    ) -> Result<()> {
        self.write(family, key.as_ref(), Write::Put(value.as_ref()), tracking)
    }

    /// Makes `key` of the default family an entity of `columns`. Errors: those of
    /// [`put_entity_cf`](Self::put_entity_cf).
    pub fn put_entity(&mut self, key: impl AsRef<[u8]>, columns: &[(&[u8], &[u8])]) -> Result<()> {
        self.put_entity_cf(&self.db.default_column_family(), key, columns)
    }

    /// Makes `key` of `family` an entity of `columns`, names and values in any order.
    ///
    /// # Errors
    ///
    /// Those of [`put`](Self::put_cf) and of [`WriteBatch::put_entity`](esker::WriteBatch::put_entity). After
    /// one of the latter the key stays locked.
    pub fn put_entity_cf(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        columns: &[(&[u8], &[u8])],
    ) -> Result<()> {
        self.put_entity_cf_opt(family, key, columns, Tracking::Validate)
    }

    /// Writes an entity as [`put_entity`](Self::put_entity_cf) does, with another way to protect the key.
    pub fn put_entity_cf_opt(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        columns: &[(&[u8], &[u8])],
        tracking: Tracking,
    ) -> Result<()> {
        let key = key.as_ref();
        let bytes: usize = columns.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.lock_to_write(family, key, bytes, tracking)?;
        self.batch.put_entity_cf(family, key, columns)?;
        self.counts.puts += 1;
        Ok(())
    }

    /// Repeats the write of an encoded entity.
    fn repeat_entity(&mut self, family: &ColumnFamily, key: &[u8], entity: &[u8]) -> Result<()> {
        let decoded = Entity::decode(entity)?;
        let column = |(name, value): (_, &ColumnValue)| match value {
            ColumnValue::Inline(range) => Ok((name, &entity[range.clone()])),
            ColumnValue::Blob(_) => Err(Error::not_supported("a column in a blob file in a batch")),
        };
        let columns = decoded.columns(entity).map(column).collect::<Result<Vec<_>>>()?;
        self.put_entity_cf(family, key, &columns)
    }

    /// Deletes `key` of `family`. Errors: those of [`put`](Self::put_cf).
    pub fn delete_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf_opt(family, key, Tracking::Validate)
    }

    /// Deletes a key as [`delete`](Self::delete_cf) does, with another way to protect the key.
    pub fn delete_cf_opt(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        tracking: Tracking,
    ) -> Result<()> {
        self.write(family, key.as_ref(), Write::Delete, tracking)
    }

    /// Deletes `key` of `family`, which must have been put exactly once since it last did not exist. Errors:
    /// those of [`put`](Self::put_cf).
    pub fn single_delete_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.single_delete_cf_opt(family, key, Tracking::Validate)
    }

    /// Deletes a key as [`single_delete`](Self::single_delete_cf) does, with another way to protect the key.
    pub fn single_delete_cf_opt(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        tracking: Tracking,
    ) -> Result<()> {
        self.write(family, key.as_ref(), Write::SingleDelete, tracking)
    }

    /// Adds a merge operand to `key` of `family`. Errors: those of [`put`](Self::put_cf).
    pub fn merge_cf(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.merge_cf_opt(family, key, operand, Tracking::Validate)
    }

    /// Merges an operand as [`merge`](Self::merge_cf) does, with another way to protect the key.
    pub fn merge_cf_opt(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        tracking: Tracking,
    ) -> Result<()> {
        self.write(family, key.as_ref(), Write::Merge(operand.as_ref()), tracking)
    }

    /// Adds bytes that go into the WAL alone.
    pub fn put_log_data(&mut self, blob: &[u8]) {
        self.batch.put_log_data(blob);
    }

    /// Repeats the operations of `batch`, including their locks.
    ///
    /// # Errors
    ///
    /// Those of [`put`](Self::put_cf); `NotSupported` for operations that a transaction does not write, such
    /// as markers. Earlier operations of the batch stay.
    pub fn rebuild_from_write_batch(&mut self, batch: &WriteBatch) -> Result<()> {
        for operation in batch.operations() {
            let operation = operation?;
            let Some(id) = operation.family() else {
                match operation {
                    Operation::LogData(blob) => self.put_log_data(blob),
                    Operation::Noop => {}
                    _ => {
                        return Err(Error::invalid_argument("the batch has a marker of a transaction"));
                    }
                }
                continue;
            };
            let family = self.family_by_id(id)?;
            match operation {
                Operation::Put { key, value, .. } => self.put_cf(&family, key, value)?,
                Operation::Delete { key, .. } => self.delete_cf(&family, key)?,
                Operation::SingleDelete { key, .. } => self.single_delete_cf(&family, key)?,
                Operation::Merge { key, operand, .. } => self.merge_cf(&family, key, operand)?,
                Operation::DeleteRange { begin, end, .. } => self.delete_range_cf(&family, begin, end)?,
                Operation::Entity { key, entity, .. } => self.repeat_entity(&family, key, entity)?,
                _ => {
                    return Err(Error::not_supported(
                        "a transaction supports puts, merges, entities and deletions only",
                    ));
                }
            }
        }
        Ok(())
    }

    fn write(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        write: Write<'_>,
        tracking: Tracking,
    ) -> Result<()> {
        let value = match write {
            Write::Put(value) | Write::Merge(value) => value.len(),
            Write::Delete | Write::SingleDelete => 0,
        };
        self.lock_to_write(family, key, value, tracking)?;
        let counts = &mut self.counts;
        match write {
            Write::Put(value) => {
                self.batch.put_cf(family, key, value);
                counts.puts += 1;
            }
            Write::Delete => {
                self.batch.delete_cf(family, key);
                counts.deletes += 1;
            }
            Write::SingleDelete => {
                self.batch.single_delete_cf(family, key);
                counts.deletes += 1;
            }
            Write::Merge(operand) => {
                self.batch.merge_cf(family, key, operand);
                counts.merges += 1;
            }
        }
        Ok(())
    }

    /// Locks and tracks `key` for a write of `bytes` bytes besides the key.
    pub(crate) fn lock_to_write(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        bytes: usize,
        tracking: Tracking,
    ) -> Result<()> {
        self.check_batch_size(key.len() + bytes)?;
        let seqno = self.try_lock(family, key, true, tracking != Tracking::Untracked, tracking)?;
        if let Some(seqno) = seqno {
            self.track(family.id(), key, seqno, false, true);
        }
        Ok(())
    }

    /// Locks `key`, or has it validated. Returns the sequence number since which it was not written; `None`
    /// if the key is not to be tracked.
    pub(crate) fn try_lock(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        exclusive: bool,
        validate: bool,
        tracking: Tracking,
    ) -> Result<Option<SeqNo>> {
        self.check_family(family)?;
        match &self.control {
            Control::Validation { .. } => Ok(self.record_optimistic(validate)),
            Control::Locks(locking) if locking.skip_concurrency_control => Ok(None),
            Control::Locks(_) => self
                .lock_key(family, key, exclusive, validate, tracking)
                .map(Some),
        }
    }

    fn lock_key(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        exclusive: bool,
        validate: bool,
        tracking: Tracking,
    ) -> Result<SeqNo> {
        let id = family.id();
        let known = self.tracked.get(id, key).copied();
        let upgrades = known.is_some_and(|known| exclusive && !known.exclusive);
        if tracking == Tracking::AssumeTracked && known.is_none() {
            return Err(Error::invalid_argument(
                "assume_tracked is set but it is not tracked yet",
            ));
        }
        if known.is_none() || upgrades {
            let Control::Locks(locking) = &self.control else {
                unreachable!("only transactions with locks take them");
            };
            let shared = &locking.shared;
            shared.know_family(id);
            shared.locks.try_lock(&locking.request, id, key, exclusive)?;
        }
        self.take_snapshot_if_needed();
        let since = known.map(|known| known.seqno);
        let snapshot = self.snapshot.as_ref().map(esker::Snapshot::sequence_number);
        let Some(snapshot) = snapshot.filter(|_| validate) else {
            // The sequence number is read after the lock was taken: only its holder writes the key from then
            // on.
            return Ok(since.unwrap_or_else(|| self.db.latest_sequence_number()));
        };
        if let Some(since) = since.filter(|&since| since <= snapshot) {
            return Ok(since);
        }
        let newer = self.db.newest_sequence_number(family, key, snapshot);
        let failed = match newer {
            Ok(None) => return Ok(snapshot),
            Ok(Some(_)) => Error::new(ErrorKind::Busy, ""),
            Err(error) => error,
        };
        self.give_back(id, key, known.is_some(), upgrades);
        Err(failed)
    }

    /// Releases the lock, or the upgrade of a lock, of a key that others have written.
    fn give_back(&self, family: u32, key: &[u8], was_locked: bool, upgrades: bool) {
        let Control::Locks(locking) = &self.control else {
            return;
        };
        if upgrades {
            // The transaction is the sole holder, so the lock is downgraded at once; if that fails, others
            // have taken the lock.
            let _ = locking
                .shared
                .locks
                .try_lock(&locking.request, family, key, false);
        } else if !was_locked {
            locking.unlock(family, key);
        }
    }

    /// Records a key that is protected from other transactions.
    pub(crate) fn track(&mut self, family: u32, key: &[u8], seqno: SeqNo, read_only: bool, exclusive: bool) {
        let request = Request {
            family,
            key,
            seqno,
            read_only,
            exclusive,
        };
        self.tracked.track(&request);
        if let Some(save_point) = self.save_points.last_mut() {
            save_point.new_locks.track(&request);
        }
    }

    /// Undoes one read for update of a key: it is unlocked, or not validated, unless it was read once more or
    /// written, or was read before the newest save point.
    pub fn undo_get_for_update(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        let id = family.id();
        if let Some(save_point) = self.save_points.last_mut()
            && save_point.new_locks.untrack_read(id, key) == Untracked::Not
        {
            return;
        }
        if self.tracked.untrack_read(id, key) == Untracked::Removed
            && let Control::Locks(locking) = &self.control
        {
            locking.unlock(id, key);
        }
    }
}
