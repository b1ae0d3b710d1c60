//! Reads of a transaction: its own writes over the database.

use base::{Error, Result};
use esker::{ColumnFamily, DbIterator, PinnedValue, ReadOptions, Snapshot};

use crate::iterator::{Recorder, TransactionIterator};
use crate::key_range::KeyRange;
use crate::tracking::Tracking;
use crate::transaction::Transaction;

impl Transaction {
    /// The value of `key` in `family` as if the transaction were committed over the state that `options`
    /// read. The read is not visible to other transactions, not tracked, and does not use the transaction's
    /// snapshot unless `options` name it. A serializable transaction reads from its snapshot, and its commit
    /// validates the read.
    pub fn get(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        let Some(reads) = &self.reads else {
            return self.batch.get_from_batch_and_db(&self.db, options, family, key);
        };
        self.check_family(family)?;
        let (options, snapshot) = self.at_its_snapshot(options);
        reads.lock().add_key(family, key, &snapshot);
        self.batch.get_from_batch_and_db(&self.db, &options, family, key)
    }

    /// The options and the snapshot of a serializable transaction's read: its own snapshot, unless the
    /// options name one.
    fn at_its_snapshot(&self, options: &ReadOptions) -> (ReadOptions, Snapshot) {
        let named = options.snapshot.as_ref().or(self.snapshot.as_ref());
        let snapshot = named.cloned().unwrap_or_else(|| self.db.snapshot());
        let options = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..options.clone()
        };
        (options, snapshot)
    }

    /// As [`get`](Self::get), for many keys, all as of one moment. The values are in the order of the keys.
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        keys: &[(&ColumnFamily, K)],
    ) -> Vec<Result<Option<PinnedValue>>> {
        let options = match self.reads {
            Some(_) => self.at_its_snapshot(options).0,
            None => ReadOptions {
                snapshot: Some(options.snapshot.clone().unwrap_or_else(|| self.db.snapshot())),
                ..options.clone()
            },
        };
        let keys = keys.iter();
        keys.map(|(family, key)| self.get(&options, family, key.as_ref()))
            .collect()
    }

    /// Locks `key` of `family`, for this transaction alone (`exclusive`) or shared with other readers, and
    /// reads it as [`get`](Self::get) does: the value cannot change until the transaction ends. The commit of
    /// an optimistic transaction fails if it did.
    ///
    /// With `do_validate` it checks whether the key was written since the transaction's snapshot, if one is
    /// set.
    ///
    /// # Errors
    ///
    /// Those of [`put`](Self::put) and [`get`](Self::get); `InvalidArgument` without `do_validate` if
    /// `options` name a snapshot. If only the read fails, the key stays locked.
    pub fn get_for_update(
        &mut self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
        exclusive: bool,
        do_validate: bool,
    ) -> Result<Option<PinnedValue>> {
        if !do_validate && options.snapshot.is_some() {
            return Err(Error::invalid_argument(
                "If do_validate is false then GetForUpdate with snapshot is not defined.",
            ));
        }
        self.lock_for_update(family, key, exclusive, do_validate)?;
        self.get(options, family, key)
    }

    /// As [`get_for_update`](Self::get_for_update), without the read.
    pub fn lock_for_update(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        exclusive: bool,
        do_validate: bool,
    ) -> Result<()> {
        let seqno = self.try_lock(family, key, exclusive, do_validate, Tracking::Validate)?;
        if let Some(seqno) = seqno {
            self.track(family.id(), key, seqno, true, exclusive);
        }
        Ok(())
    }

    /// As [`get_for_update`](Self::get_for_update), for many keys, each locked exclusively. If one cannot be
    /// locked, all fail with its error; the keys before it stay locked.
    pub fn multi_get_for_update<K: AsRef<[u8]>>(
        &mut self,
        options: &ReadOptions,
        keys: &[(&ColumnFamily, K)],
    ) -> Vec<Result<Option<PinnedValue>>> {
        for (family, key) in keys {
            if let Err(error) = self.lock_for_update(family, key.as_ref(), true, true) {
                return keys.iter().map(|_| Err(error.clone())).collect();
            }
        }
        self.multi_get(options, keys)
    }

    /// An iterator over `family` as if the transaction were committed over the state that `options` read. It
    /// moves in both directions, and does not see later writes of the transaction. In a serializable
    /// transaction all keys between its bounds count as read: set bounds, or use [`scan`](Self::scan).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` with [`tailing`](ReadOptions::tailing), and for operations that the family could not
    /// take.
    pub fn iter(&self, options: &ReadOptions, family: &ColumnFamily) -> Result<DbIterator> {
        let Some(reads) = &self.reads else {
            return self.batch.iter_with_base(&self.db, options, family);
        };
        self.check_family(family)?;
        let (options, snapshot) = self.at_its_snapshot(options);
        let range = KeyRange::half_open(
            options.iterate_lower_bound.as_deref(),
            options.iterate_upper_bound.as_deref(),
        );
        reads.lock().add_range(family, range, &snapshot);
        self.batch.iter_with_base(&self.db, &options, family)
    }

    /// As [`iter`](Self::iter), but in a serializable transaction only the keys that it passes count as read,
    /// including the gaps between them.
    pub fn scan(&self, options: &ReadOptions, family: &ColumnFamily) -> Result<TransactionIterator> {
        let Some(reads) = &self.reads else {
            let iter = self.batch.iter_with_base(&self.db, options, family)?;
            return Ok(TransactionIterator::new(iter, None));
        };
        self.check_family(family)?;
        let (options, snapshot) = self.at_its_snapshot(options);
        let iter = self.batch.iter_with_base(&self.db, &options, family)?;
        let number = reads.lock().new_iterator(&snapshot);
        let (lower, upper) = (options.iterate_lower_bound, options.iterate_upper_bound);
        let at = (number, snapshot.sequence_number());
        let recorder = Recorder::new(reads, family, at, lower, upper);
        Ok(TransactionIterator::new(iter, Some(recorder)))
    }
}
