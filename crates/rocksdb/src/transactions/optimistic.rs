//! A database with transactions that are validated at their commit.

use std::path::Path;

use crate::db::{DBInner, DefaultThreadMode, open};
use crate::{
    AsColumnFamilyRef, ColumnFamilyDescriptor, DBCommon, Error, OptimisticTransactionOptions, Options,
    ThreadMode, Transaction, WriteBatchWithTransaction, WriteOptions,
};

/// A database with transactions whose commit fails if other writes have changed the keys that they read for
/// update or wrote. Because tables are searched too, a commit never fails with `TryAgain`.
pub type OptimisticTransactionDB<T = DefaultThreadMode> = DBCommon<T, OptimisticTransactionDBInner>;

/// The database inside of an [`OptimisticTransactionDB`].
pub struct OptimisticTransactionDBInner {
    inner: txn::OptimisticTransactionDB,
}

impl DBInner for OptimisticTransactionDBInner {
    fn engine(&self) -> &esker::Db {
        self.inner.db()
    }
}

impl<T: ThreadMode> OptimisticTransactionDB<T> {
    /// Opens a database, and creates it if there is none.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, path)
    }

    /// Opens a database that only has the default family.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Self, Error> {
        Self::open_cf_descriptors(opts, path, Vec::new())
    }

    /// Opens a database with these families, with default options.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open_cf<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = cfs
            .into_iter()
            .map(|name| ColumnFamilyDescriptor::new(name.as_ref(), Options::default()));
        Self::open_cf_descriptors(opts, path, cfs)
    }

    /// Opens a database with these families and their options.
    ///
    /// # Errors
    /// The errors of [`DB::open_cf`](crate::DB::open_cf).
    pub fn open_cf_descriptors<P, I>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        let (db, families) = open::open(opts, path, cfs.into_iter().collect(), &open::Access::ReadWrite)?;
        let inner = OptimisticTransactionDBInner {
            inner: txn::OptimisticTransactionDB::wrap(db),
        };
        Ok(DBCommon::new(inner, families, path.to_path_buf()))
    }

    /// Begins a transaction.
    pub fn transaction(&self) -> Transaction<'_, Self> {
        self.transaction_opt(&WriteOptions::default(), &OptimisticTransactionOptions::default())
    }

    /// Begins a transaction, with options.
    pub fn transaction_opt(
        &self,
        writeopts: &WriteOptions,
        otxn_opts: &OptimisticTransactionOptions,
    ) -> Transaction<'_, Self> {
        let options = txn::OptimisticTransactionOptions {
            set_snapshot: otxn_opts.snapshot,
            ..txn::OptimisticTransactionOptions::default()
        };
        let inner = self.inner().inner.begin_transaction(&writeopts.inner, &options);
        Transaction::new(self.engine(), inner)
    }

    /// Applies a batch.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn write(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Applies a batch, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn write_opt(
        &self,
        batch: WriteBatchWithTransaction<true>,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        self.write_batch(batch.engine()?, writeopts)
    }

    /// Applies a batch without the WAL.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn write_without_wal(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        let mut writeopts = WriteOptions::new();
        writeopts.disable_wal(true);
        self.write_opt(batch, &writeopts)
    }

    /// Deletes the keys from `from` to before `to`.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        self.delete_range_cf_opt(cf, from, to, &WriteOptions::default())
    }

    /// Deletes the keys from `from` to before `to`, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_range_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        self.delete_range_in(cf.family(), from.as_ref(), to.as_ref(), writeopts)
    }
}
