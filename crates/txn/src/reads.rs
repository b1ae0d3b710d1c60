//! Reads of a transaction: its own writes over the database.

use base::{Error, Result};
use esker::{ColumnFamily, DbIterator, PinnedValue, ReadOptions};

use crate::transaction::Transaction;
use crate::writes::Tracking;

impl Transaction {
    /// The value of `key` in `family` as it would be if the transaction were committed over what `options` read. Not seen by others, not tracked, and not
    /// from the transaction's snapshot unless `options` name it.
    pub fn get(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        self.batch.get_from_batch_and_db(&self.db, options, family, key)
    }

    /// As [`get`](Self::get) of many keys, all as of one moment, in their order.
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        keys: &[(&ColumnFamily, K)],
    ) -> Vec<Result<Option<PinnedValue>>> {
        let options = ReadOptions {
            snapshot: Some(options.snapshot.clone().unwrap_or_else(|| self.db.snapshot())),
            ..options.clone()
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
    /// transaction writes later.
    ///
    /// # Errors
    /// `InvalidArgument` with [`tailing`](ReadOptions::tailing), and for operations that the family could not take.
    pub fn iter(&self, options: &ReadOptions, family: &ColumnFamily) -> Result<DbIterator> {
        self.batch.iter_with_base(&self.db, options, family)
    }
}
