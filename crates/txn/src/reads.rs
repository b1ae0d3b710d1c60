//! Reads of a transaction: its own writes over the database.

use base::{Error, Result};
use esker::{ColumnFamily, DbIterator, PinnedValue, ReadOptions, Snapshot};

use crate::iterator::{Recorder, TransactionIterator};
use crate::key_range::KeyRange;
use crate::transaction::Transaction;
use crate::writes::Tracking;

impl Transaction {
    /// The value of `key` in `family` as it would be if the transaction were committed over what `options` read. Not seen by others, not tracked, and not
    /// from the transaction's snapshot unless `options` name it. A serializable transaction reads from its snapshot, and what it reads is looked at when it
    /// is committed.
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

    /// The snapshot that a serializable transaction reads by: its own snapshot, where the options name none.
    fn at_its_snapshot(&self, options: &ReadOptions) -> (ReadOptions, Snapshot) {
        let named = options.snapshot.as_ref().or(self.snapshot.as_ref());
        let snapshot = named.cloned().unwrap_or_else(|| self.db.snapshot());
        let options = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..options.clone()
        };
        (options, snapshot)
    }

    /// As [`get`](Self::get) of many keys, all as of one moment, in their order.
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

    /// Reads `key` of `family` as [`get`](Self::get), having locked it, for itself alone (`exclusive`) or together with others that read it: what
    /// was read stays so until the transaction ends. An optimistic transaction fails at its commit if it did not.
    ///
    /// With `do_validate` it looks whether the key was written since the transaction's snapshot, if one is set.
    ///
    /// # Errors
    /// Those of [`put`](Self::put) and [`get`](Self::get); `InvalidArgument` without `do_validate` where `options` name a snapshot. The key stays locked
    /// where the read alone has failed.
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

    /// As [`get_for_update`](Self::get_for_update) of many keys, each for this transaction alone. Where one cannot be locked, all fail as that one does;
    /// those before it stay locked.
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

    /// An iterator over `family` as it would be if the transaction were committed over what `options` read. Goes both ways; does not see what the
    /// transaction writes later. In a serializable transaction all keys between its bounds count as read: give it bounds, or use [`scan`](Self::scan).
    ///
    /// # Errors
    /// `InvalidArgument` with [`tailing`](ReadOptions::tailing), and for operations that the family could not take.
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

    /// As [`iter`](Self::iter); in a serializable transaction only what it passes counts as read, gaps between keys included.
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
