//! A transaction.

use std::marker::PhantomData;

use base::sync::Mutex;

use crate::read_methods::read_methods;
use crate::{
    AsColumnFamilyRef, DBAccess, DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode,
    Direction, Error, IteratorMode, ReadOptions, SnapshotWithThreadMode, WriteBatchWithTransaction,
};

/// A transaction: it sees its own writes, and others see them once it is committed. If it is dropped before,
/// it has no effect, except that a prepared one stays, for
/// [`prepared_transactions`](crate::TransactionDB::prepared_transactions).
pub struct Transaction<'db, DB> {
    inner: Mutex<txn::Transaction>,
    default_family: esker::ColumnFamily,
    _db: PhantomData<&'db DB>,
}

impl<DB> Transaction<'_, DB> {
    pub(super) fn new<'db>(db: &esker::Db, inner: txn::Transaction) -> Transaction<'db, DB> {
        Transaction {
            inner: Mutex::new(inner),
            default_family: db.default_column_family(),
            _db: PhantomData,
        }
    }

    fn lock_and_read(
        &self,
        family: &esker::ColumnFamily,
        key: &[u8],
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<esker::PinnedValue>, Error> {
        let options = opts.engine()?;
        let mut inner = self.inner.lock();
        Ok(inner.get_for_update_cf_opt(family, key, exclusive, true, options)?)
    }
}

impl<DB> DBAccess for Transaction<'_, DB> {
    fn engine_snapshot(&self) -> Option<esker::Snapshot> {
        self.inner.lock().snapshot().cloned()
    }

    fn engine_get(
        &self,
        family: Option<&esker::ColumnFamily>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<esker::PinnedValue>, Error> {
        let options = options.engine()?;
        let family = family.unwrap_or(&self.default_family);
        Ok(self.inner.lock().get_cf_opt(family, key, options)?)
    }

    fn engine_iter(
        &self,
        family: Option<&esker::ColumnFamily>,
        options: &ReadOptions,
    ) -> Result<esker::DbIterator, Error> {
        let options = options.engine()?;
        let family = family.unwrap_or(&self.default_family);
        Ok(self.inner.lock().iter_cf_opt(family, options)?)
    }
}

impl<DB> Transaction<'_, DB> {
    read_methods!();

    /// Commits the transaction.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn commit(self) -> Result<(), Error> {
        Ok(self.inner.into_inner().commit()?)
    }

    /// Names the transaction, which a prepare requires.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn set_name(&self, name: &[u8]) -> Result<(), Error> {
        Ok(self.inner.lock().set_name(name)?)
    }

    /// The name of the transaction.
    pub fn get_name(&self) -> Option<Vec<u8>> {
        let inner = self.inner.lock();
        (!inner.name().is_empty()).then(|| inner.name().to_vec())
    }

    /// Writes the transaction to the WAL, so that it survives a crash, and is committed or rolled back later.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn prepare(&self) -> Result<(), Error> {
        Ok(self.inner.lock().prepare()?)
    }

    /// Rolls everything back.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn rollback(&self) -> Result<(), Error> {
        Ok(self.inner.lock().rollback()?)
    }

    /// Sets a save point.
    pub fn set_savepoint(&self) {
        self.inner.lock().set_save_point();
    }

    /// Rolls back to the last save point.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn rollback_to_savepoint(&self) -> Result<(), Error> {
        Ok(self.inner.lock().rollback_to_save_point()?)
    }

    /// The rows that the transaction has written.
    pub fn get_writebatch(&self) -> WriteBatchWithTransaction<true> {
        WriteBatchWithTransaction::of(self.inner.lock().write_batch().clone())
    }

    /// Adds the operations of a batch.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn rebuild_from_writebatch(&self, writebatch: &WriteBatchWithTransaction<true>) -> Result<(), Error> {
        Ok(self
            .inner
            .lock()
            .rebuild_from_write_batch(writebatch.checked()?)?)
    }

    /// The value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_for_update<K: AsRef<[u8]>>(&self, key: K, exclusive: bool) -> Result<Option<Vec<u8>>, Error> {
        let value = self.lock_and_read(
            &self.default_family,
            key.as_ref(),
            exclusive,
            &ReadOptions::default(),
        )?;
        Ok(value.map(esker::PinnedValue::into_vec))
    }

    /// The pinned value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_pinned_for_update<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let value = self.lock_and_read(
            &self.default_family,
            key.as_ref(),
            exclusive,
            &ReadOptions::default(),
        )?;
        Ok(value.map(DBPinnableSlice::new))
    }

    /// The value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        let value = self.lock_and_read(&self.default_family, key.as_ref(), exclusive, opts)?;
        Ok(value.map(esker::PinnedValue::into_vec))
    }

    /// The pinned value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_pinned_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let value = self.lock_and_read(&self.default_family, key.as_ref(), exclusive, opts)?;
        Ok(value.map(DBPinnableSlice::new))
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        Ok(self
            .inner
            .lock()
            .put_cf(&self.default_family, key.as_ref(), value.as_ref())?)
    }

    /// Adds a merge operand to a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        Ok(self
            .inner
            .lock()
            .merge_cf(&self.default_family, key.as_ref(), value.as_ref())?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        Ok(self.inner.lock().delete_cf(&self.default_family, key.as_ref())?)
    }

    /// The value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        let value = self.lock_and_read(cf.family(), key.as_ref(), exclusive, &ReadOptions::default())?;
        Ok(value.map(esker::PinnedValue::into_vec))
    }

    /// The pinned value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_pinned_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let value = self.lock_and_read(cf.family(), key.as_ref(), exclusive, &ReadOptions::default())?;
        Ok(value.map(DBPinnableSlice::new))
    }

    /// The value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        let value = self.lock_and_read(cf.family(), key.as_ref(), exclusive, opts)?;
        Ok(value.map(esker::PinnedValue::into_vec))
    }

    /// The pinned value of a key, which is locked.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn get_pinned_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let value = self.lock_and_read(cf.family(), key.as_ref(), exclusive, opts)?;
        Ok(value.map(DBPinnableSlice::new))
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn put_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        Ok(self
            .inner
            .lock()
            .put_cf(cf.family(), key.as_ref(), value.as_ref())?)
    }

    /// Adds a merge operand to a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn merge_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        Ok(self
            .inner
            .lock()
            .merge_cf(cf.family(), key.as_ref(), value.as_ref())?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
        Ok(self.inner.lock().delete_cf(cf.family(), key.as_ref())?)
    }
}
