//! Reads of a transaction: its own writes over the database.

use base::{Error, Result};
use esker::{ColumnFamily, DbIterator, PinnedValue, ReadOptions, Snapshot};

use crate::iterator::{Recorder, TransactionIterator};
use crate::key_range::KeyRange;
use crate::tracking::Tracking;
use crate::transaction::Transaction;

impl Transaction {
    /// The value of `key` in the default family; see [`get_cf_opt`](Self::get_cf_opt).
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue>> {
        self.get_cf(&self.db.default_column_family(), key)
    }

    /// The value of `key` in `family`; see [`get_cf_opt`](Self::get_cf_opt).
    pub fn get_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue>> {
        self.get_cf_opt(family, key, &ReadOptions::default())
    }

    /// Locks `key` of the default family for this transaction alone, checks that it was not written since the
    /// transaction's snapshot, and reads it; see [`get_for_update_cf_opt`](Self::get_for_update_cf_opt).
    pub fn get_for_update(&mut self, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue>> {
        self.get_for_update_cf(&self.db.default_column_family(), key)
    }

    /// Locks `key` of `family` for this transaction alone, checks that it was not written since the
    /// transaction's snapshot, and reads it; see [`get_for_update_cf_opt`](Self::get_for_update_cf_opt).
    pub fn get_for_update_cf(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<PinnedValue>> {
        self.get_for_update_cf_opt(family, key, true, true, &ReadOptions::default())
    }

    /// An iterator over the default family; see [`iter_cf_opt`](Self::iter_cf_opt).
    pub fn iter(&self) -> Result<DbIterator> {
        self.iter_cf(&self.db.default_column_family())
    }

    /// An iterator over `family`; see [`iter_cf_opt`](Self::iter_cf_opt).
    pub fn iter_cf(&self, family: &ColumnFamily) -> Result<DbIterator> {
        self.iter_cf_opt(family, &ReadOptions::default())
    }

    /// The value of `key` in `family` as if the transaction were committed over the state that `options`
    /// read. The read is not visible to other transactions, not tracked, and does not use the transaction's
    /// snapshot unless `options` name it. A serializable transaction reads from its snapshot, and its commit
    /// validates the read.
    pub fn get_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<PinnedValue>> {
        let key = key.as_ref();
        let own = self.options_of_read(family, key, options)?;
        let options = own.as_ref().unwrap_or(options);
        self.batch.get_from_batch_and_db(&self.db, family, key, options)
    }

    /// Records that a serializable transaction reads `key`, and returns the options of that read. `None` for
    /// another transaction.
    pub(crate) fn options_of_read(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<ReadOptions>> {
        let Some(reads) = &self.reads else {
            return Ok(None);
        };
        self.check_family(family)?;
        let (options, snapshot) = self.at_its_snapshot(options);
        reads.lock().add_key(family, key, &snapshot);
        Ok(Some(options))
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

    /// The options of reads that are all as of one moment.
    pub(crate) fn at_one_moment(&self, options: &ReadOptions) -> ReadOptions {
        match self.reads {
            Some(_) => self.at_its_snapshot(options).0,
            None => ReadOptions {
                snapshot: Some(options.snapshot.clone().unwrap_or_else(|| self.db.snapshot())),
                ..options.clone()
            },
        }
    }

    /// Reads many keys as [`get`](Self::get_cf_opt) does, all as of one moment. The values are in the order
    /// of the keys.
    pub fn multi_get_cf_opt<K: AsRef<[u8]>>(
        &self,
        keys: &[(&ColumnFamily, K)],
        options: &ReadOptions,
    ) -> Vec<Result<Option<PinnedValue>>> {
        let options = self.at_one_moment(options);
        let keys = keys.iter();
        keys.map(|(family, key)| self.get_cf_opt(family, key.as_ref(), &options))
            .collect()
    }

    /// Locks `key` of `family`, for this transaction alone (`exclusive`) or shared with other readers, and
    /// reads it as [`get`](Self::get_cf_opt) does: the value cannot change until the transaction ends. The
    /// commit of an optimistic transaction fails if it did.
    ///
    /// With `do_validate` it checks whether the key was written since the transaction's snapshot, if one is
    /// set.
    ///
    /// # Errors
    ///
    /// Those of [`put`](Self::put_cf) and [`get`](Self::get_cf_opt); `InvalidArgument` without
    /// `do_validate` if `options` name a snapshot. If only the read fails, the key stays locked.
    pub fn get_for_update_cf_opt(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        exclusive: bool,
        do_validate: bool,
        options: &ReadOptions,
    ) -> Result<Option<PinnedValue>> {
        let key = key.as_ref();
        self.lock_to_read(family, key, exclusive, do_validate, options)?;
        self.get_cf_opt(family, key, options)
    }

    /// Locks a key for a read with `options`.
    pub(crate) fn lock_to_read(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        exclusive: bool,
        do_validate: bool,
        options: &ReadOptions,
    ) -> Result<()> {
        if !do_validate && options.snapshot.is_some() {
            return Err(Error::invalid_argument(
                "If do_validate is false then GetForUpdate with snapshot is not defined.",
            ));
        }
        self.lock_for_update(family, key, exclusive, do_validate)
    }

    /// Locks a key as [`get_for_update`](Self::get_for_update_cf_opt) does, without the read.
    pub fn lock_for_update(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        exclusive: bool,
        do_validate: bool,
    ) -> Result<()> {
        let key = key.as_ref();
        let seqno = self.try_lock(family, key, exclusive, do_validate, Tracking::Validate)?;
        if let Some(seqno) = seqno {
            self.track(family.id(), key, seqno, true, exclusive);
        }
        Ok(())
    }

    /// Reads many keys as [`get_for_update`](Self::get_for_update_cf_opt) does, each locked exclusively. If
    /// one cannot be locked, all fail with its error; the keys before it stay locked.
    pub fn multi_get_for_update_cf_opt<K: AsRef<[u8]>>(
        &mut self,
        keys: &[(&ColumnFamily, K)],
        options: &ReadOptions,
    ) -> Vec<Result<Option<PinnedValue>>> {
        for (family, key) in keys {
            if let Err(error) = self.lock_for_update(family, key.as_ref(), true, true) {
                return keys.iter().map(|_| Err(error.clone())).collect();
            }
        }
        self.multi_get_cf_opt(keys, options)
    }

    /// An iterator over `family` as if the transaction were committed over the state that `options` read. It
    /// moves in both directions, and does not see later writes of the transaction. In a serializable
    /// transaction all keys between its bounds count as read: set bounds, or use [`scan`](Self::scan).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` with [`tailing`](ReadOptions::tailing), and for operations that the family could not
    /// take.
    pub fn iter_cf_opt(&self, family: &ColumnFamily, options: &ReadOptions) -> Result<DbIterator> {
        let Some(reads) = &self.reads else {
            return self.batch.iter_with_base(&self.db, family, options);
        };
        self.check_family(family)?;
        let (options, snapshot) = self.at_its_snapshot(options);
        let range = KeyRange::half_open(
            options.iterate_lower_bound.as_deref(),
            options.iterate_upper_bound.as_deref(),
        );
        reads.lock().add_range(family, range, &snapshot);
        self.batch.iter_with_base(&self.db, family, &options)
    }

    /// Returns an iterator as [`iter`](Self::iter_cf_opt) does, but in a serializable transaction only the
    /// keys that it passes count as read, including the gaps between them.
    pub fn scan(&self, family: &ColumnFamily, options: &ReadOptions) -> Result<TransactionIterator> {
        let Some(reads) = &self.reads else {
            let iter = self.batch.iter_with_base(&self.db, family, options)?;
            return Ok(TransactionIterator::new(iter, None));
        };
        self.check_family(family)?;
        let (options, snapshot) = self.at_its_snapshot(options);
        let iter = self.batch.iter_with_base(&self.db, family, &options)?;
        let number = reads.lock().new_iterator(&snapshot);
        let (lower, upper) = (options.iterate_lower_bound, options.iterate_upper_bound);
        let at = (number, snapshot.sequence_number());
        let recorder = Recorder::new(reads, family, at, lower, upper);
        Ok(TransactionIterator::new(iter, Some(recorder)))
    }
}
