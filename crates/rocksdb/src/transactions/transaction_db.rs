//! A database with transactions that lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::db::{DefaultThreadMode, open, properties};
use crate::read_methods::read_methods;
use crate::{
    AsColumnFamilyRef, BoundColumnFamily, CStrLike, ColumnFamily, ColumnFamilyDescriptor, DBAccess,
    DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode, Direction, Error, FlushOptions,
    IteratorMode, MultiThreaded, Options, ReadOptions, SingleThreaded, SnapshotWithThreadMode, ThreadMode,
    Transaction, TransactionDBOptions, TransactionOptions, WriteBatchWithTransaction, WriteOptions,
};

/// A database with transactions that lock the keys they write. The database is closed when this value is
/// dropped.
pub struct TransactionDB<T: ThreadMode = DefaultThreadMode> {
    inner: txn::TransactionDB,
    families: T,
    path: PathBuf,
}

impl<T: ThreadMode> Drop for TransactionDB<T> {
    fn drop(&mut self) {
        self.families.forget_families();
        // The error is in the info log.
        let _ = self.inner.db().close();
    }
}

impl<T: ThreadMode> DBAccess for TransactionDB<T> {
    crate::access::reads_of_its_engine!();
}

impl<T: ThreadMode> TransactionDB<T> {
    read_methods!();

    pub(crate) fn engine(&self) -> &esker::Db {
        self.inner.db()
    }

    fn default_family(&self) -> esker::ColumnFamily {
        self.engine().default_column_family()
    }

    /// Opens a database, and creates it if there is none.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, &TransactionDBOptions::default(), path)
    }

    /// Opens a database that only has the default family.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open<P: AsRef<Path>>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
    ) -> Result<Self, Error> {
        Self::open_cf_descriptors(opts, txn_db_opts, path, Vec::new())
    }

    /// Opens a database with these families, with default options.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open_cf<P, I, N>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = cfs
            .into_iter()
            .map(|name| ColumnFamilyDescriptor::new(name.as_ref(), Options::default()));
        Self::open_cf_descriptors(opts, txn_db_opts, path, cfs)
    }

    /// Opens a database with these families and their options.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open_cf_descriptors<P, I>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        let (db, families) = open::open(opts, path, cfs.into_iter().collect(), &open::Access::Transactions)?;
        Ok(TransactionDB {
            inner: txn::TransactionDB::wrap(db, &txn_db_opts.engine())?,
            families: T::of_families(families),
            path: path.to_path_buf(),
        })
    }

    /// The names of the families of the database in `path`.
    ///
    /// # Errors
    /// There is no database, or its MANIFEST is damaged.
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        open::list_cf(opts, path.as_ref())
    }

    /// Deletes the database in `path`.
    ///
    /// # Errors
    /// `IO error` if it is open.
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        open::destroy(opts, path.as_ref())
    }

    /// Rebuilds a database from the files in `path`.
    ///
    /// # Errors
    /// `IO error` if it is open.
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        open::repair(opts, path.as_ref())
    }

    /// The directory of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the WAL to the kernel, or with `sync` to the disk.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
        Ok(self.engine().flush_wal(sync)?)
    }

    /// Writes the memtable of the default family to a table.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn flush(&self) -> Result<(), Error> {
        self.flush_opt(&FlushOptions::default())
    }

    /// Flushes the memtable of the default family to a table, with options.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
        Ok(self.engine().flush_opt(&flushopts.inner)?)
    }

    /// Writes the memtable of a family to a table.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn flush_cf(&self, cf: &impl AsColumnFamilyRef) -> Result<(), Error> {
        self.flush_cf_opt(cf, &FlushOptions::default())
    }

    /// Writes the memtable of a family to a table, with options.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn flush_cf_opt(&self, cf: &impl AsColumnFamilyRef, flushopts: &FlushOptions) -> Result<(), Error> {
        let families = [cf.family().clone()];
        Ok(self.engine().flush_cf_opt(&families, &flushopts.inner)?)
    }

    /// Writes the memtables of several families to tables.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn flush_cfs_opt(&self, cfs: &[&impl AsColumnFamilyRef], opts: &FlushOptions) -> Result<(), Error> {
        let families: Vec<_> = cfs.iter().map(|cf| cf.family().clone()).collect();
        Ok(self.engine().flush_cf_opt(&families, &opts.inner)?)
    }

    /// Begins a transaction.
    pub fn transaction(&self) -> Transaction<'_, Self> {
        self.transaction_opt(&WriteOptions::default(), &TransactionOptions::default())
    }

    /// Begins a transaction, with options.
    pub fn transaction_opt<'a>(
        &'a self,
        write_opts: &WriteOptions,
        txn_opts: &TransactionOptions,
    ) -> Transaction<'a, Self> {
        let inner = self
            .inner
            .begin_transaction(&write_opts.inner, &txn_opts.engine());
        Transaction::new(self.engine(), inner)
    }

    /// The transactions that were prepared and neither committed nor rolled back, of this session and earlier
    /// ones.
    pub fn prepared_transactions(&self) -> Vec<Transaction<'_, Self>> {
        let prepared = self.inner.get_all_prepared_transactions();
        let transaction = |inner| Transaction::new(self.engine(), inner);
        prepared.into_iter().map(transaction).collect()
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        Ok(self.inner.put_cf_opt(
            &self.default_family(),
            key.as_ref(),
            value.as_ref(),
            &WriteOptions::default().inner,
        )?)
    }

    /// Adds a merge operand to a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        Ok(self.inner.merge_cf_opt(
            &self.default_family(),
            key.as_ref(),
            value.as_ref(),
            &WriteOptions::default().inner,
        )?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        Ok(self.inner.delete_cf_opt(
            &self.default_family(),
            key.as_ref(),
            &WriteOptions::default().inner,
        )?)
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn put_opt<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self.inner.put_cf_opt(
            &self.default_family(),
            key.as_ref(),
            value.as_ref(),
            &writeopts.inner,
        )?)
    }

    /// Adds a merge operand to a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn merge_opt<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self.inner.merge_cf_opt(
            &self.default_family(),
            key.as_ref(),
            value.as_ref(),
            &writeopts.inner,
        )?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn delete_opt<K: AsRef<[u8]>>(&self, key: K, writeopts: &WriteOptions) -> Result<(), Error> {
        Ok(self
            .inner
            .delete_cf_opt(&self.default_family(), key.as_ref(), &writeopts.inner)?)
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
        Ok(self.inner.put_cf_opt(
            cf.family(),
            key.as_ref(),
            value.as_ref(),
            &WriteOptions::default().inner,
        )?)
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
        Ok(self.inner.merge_cf_opt(
            cf.family(),
            key.as_ref(),
            value.as_ref(),
            &WriteOptions::default().inner,
        )?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
        Ok(self
            .inner
            .delete_cf_opt(cf.family(), key.as_ref(), &WriteOptions::default().inner)?)
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn put_cf_opt<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self
            .inner
            .put_cf_opt(cf.family(), key.as_ref(), value.as_ref(), &writeopts.inner)?)
    }

    /// Adds a merge operand to a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn merge_cf_opt<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self
            .inner
            .merge_cf_opt(cf.family(), key.as_ref(), value.as_ref(), &writeopts.inner)?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn delete_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self
            .inner
            .delete_cf_opt(cf.family(), key.as_ref(), &writeopts.inner)?)
    }

    /// Applies a batch.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn write(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Applies a batch, with options.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn write_opt(
        &self,
        batch: WriteBatchWithTransaction<true>,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self.inner.write_opt(batch.engine()?, &writeopts.inner)?)
    }
}

impl TransactionDB<SingleThreaded> {
    /// Creates a column family.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn create_cf<N: AsRef<str>>(&mut self, name: N, opts: &Options) -> Result<(), Error> {
        let inner = &self.inner;
        self.families.create(name.as_ref(), opts, |name, options| {
            inner.create_column_family(name, options)
        })
    }

    /// Drops a column family.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn drop_cf(&mut self, name: &str) -> Result<(), Error> {
        let inner = &self.inner;
        self.families
            .drop(name, |family| inner.drop_column_family(family))
    }

    /// The handle of a column family.
    pub fn cf_handle(&self, name: &str) -> Option<&ColumnFamily> {
        self.families.handle(name)
    }
}

impl TransactionDB<MultiThreaded> {
    /// Creates a column family.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn create_cf<N: AsRef<str>>(&self, name: N, opts: &Options) -> Result<(), Error> {
        let inner = &self.inner;
        self.families.create(name.as_ref(), opts, |name, options| {
            inner.create_column_family(name, options)
        })
    }

    /// Drops a column family.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn drop_cf(&self, name: &str) -> Result<(), Error> {
        let inner = &self.inner;
        self.families
            .drop(name, |family| inner.drop_column_family(family))
    }

    /// The handle of a column family.
    pub fn cf_handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.families.handle(name)
    }

    /// A property of the default family or the database.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        properties::value(self.engine(), &self.default_family(), name)
    }

    /// A numeric property.
    ///
    /// # Errors
    /// The errors of the lock, the read or the write.
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        properties::number(self.engine(), &self.default_family(), name)
    }
}
