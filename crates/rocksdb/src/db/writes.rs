//! Writes.

use super::{DBCommon, DBInner, DBWithThreadMode, ThreadMode};
use crate::{AsColumnFamilyRef, Error, WriteBatch, WriteOptions};

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    fn put_in(
        &self,
        family: &esker::ColumnFamily,
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<(), Error> {
        let written = match self.inner().ttl() {
            None => self.engine().put_cf_opt(family, key, value, &options.inner),
            Some(ttl) => ttl.put_cf_opt(family, key, value, &options.inner),
        };
        Ok(written?)
    }

    fn merge_in(
        &self,
        family: &esker::ColumnFamily,
        key: &[u8],
        operand: &[u8],
        options: &WriteOptions,
    ) -> Result<(), Error> {
        let written = match self.inner().ttl() {
            None => self.engine().merge_cf_opt(family, key, operand, &options.inner),
            Some(ttl) => ttl.merge_cf_opt(family, key, operand, &options.inner),
        };
        Ok(written?)
    }

    fn default_family(&self) -> esker::ColumnFamily {
        self.engine().default_column_family()
    }

    /// Applies a batch of one operation, which `add` adds.
    fn write_one(
        &self,
        options: &WriteOptions,
        add: impl FnOnce(&mut esker::WriteBatch),
    ) -> Result<(), Error> {
        let mut batch = esker::WriteBatch::new();
        add(&mut batch);
        self.write_batch(batch, options)
    }

    /// Sets a key of the default family.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// Sets a key of the default family, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_in(&self.default_family(), key.as_ref(), value.as_ref(), writeopts)
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Sets a key, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_in(cf.family(), key.as_ref(), value.as_ref(), writeopts)
    }

    /// Sets a key of the default family as of a timestamp.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_with_ts<K, V, S>(&self, key: K, ts: S, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.put_with_ts_opt(key, ts, value, &WriteOptions::default())
    }

    /// Sets a key of the default family as of a timestamp, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_with_ts_opt<K, V, S>(
        &self,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let family = self.default_family();
        self.write_one(writeopts, |batch| {
            batch.put_at(&family, key.as_ref(), ts.as_ref(), value.as_ref());
        })
    }

    /// Sets a key as of a timestamp.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_cf_with_ts<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.put_cf_with_ts_opt(cf, key, ts, value, &WriteOptions::default())
    }

    /// Sets a key as of a timestamp, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn put_cf_with_ts_opt<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.write_one(writeopts, |batch| {
            batch.put_at(cf.family(), key.as_ref(), ts.as_ref(), value.as_ref());
        })
    }

    /// Adds a merge operand to a key of the default family.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        self.merge_opt(key, value, &WriteOptions::default())
    }

    /// Adds a merge operand to a key of the default family, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn merge_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_in(&self.default_family(), key.as_ref(), value.as_ref(), writeopts)
    }

    /// Adds a merge operand to a key.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn merge_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Adds a merge operand to a key, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn merge_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_in(cf.family(), key.as_ref(), value.as_ref(), writeopts)
    }

    /// Deletes a key of the default family.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// Deletes a key of the default family, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_opt<K: AsRef<[u8]>>(&self, key: K, writeopts: &WriteOptions) -> Result<(), Error> {
        let family = self.default_family();
        Ok(self
            .engine()
            .delete_cf_opt(&family, key.as_ref(), &writeopts.inner)?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
        self.delete_cf_opt(cf, key, &WriteOptions::default())
    }

    /// Deletes a key, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let options = &writeopts.inner;
        Ok(self.engine().delete_cf_opt(cf.family(), key.as_ref(), options)?)
    }

    /// Deletes a key of the default family as of a timestamp.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(&self, key: K, ts: S) -> Result<(), Error> {
        self.delete_with_ts_opt(key, ts, &WriteOptions::default())
    }

    /// Deletes a key of the default family as of a timestamp, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_with_ts_opt<K, S>(&self, key: K, ts: S, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let family = self.default_family();
        self.write_one(writeopts, |batch| {
            batch.delete_at(&family, key.as_ref(), ts.as_ref());
        })
    }

    /// Deletes a key as of a timestamp.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) -> Result<(), Error> {
        self.delete_cf_with_ts_opt(cf, key, ts, &WriteOptions::default())
    }

    /// Deletes a key as of a timestamp, with options.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn delete_cf_with_ts_opt<K, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.write_one(writeopts, |batch| {
            batch.delete_at(cf.family(), key.as_ref(), ts.as_ref());
        })
    }

    pub(crate) fn delete_range_in(
        &self,
        family: &esker::ColumnFamily,
        from: &[u8],
        to: &[u8],
        options: &WriteOptions,
    ) -> Result<(), Error> {
        Ok(self
            .engine()
            .delete_range_cf_opt(family, from, to, &options.inner)?)
    }

    pub(crate) fn write_batch(&self, batch: esker::WriteBatch, options: &WriteOptions) -> Result<(), Error> {
        let written = match self.inner().ttl() {
            None => self.engine().write_opt(batch, &options.inner),
            Some(ttl) => ttl.write_opt(&batch, &options.inner),
        };
        Ok(written?)
    }
}

impl<T: ThreadMode> DBWithThreadMode<T> {
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

    /// Applies a batch.
    ///
    /// # Errors
    /// The errors of the write; `Corruption` for a batch made from invalid bytes.
    pub fn write(&self, batch: WriteBatch) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Applies a batch, with options.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_opt(&self, batch: WriteBatch, writeopts: &WriteOptions) -> Result<(), Error> {
        self.write_batch(batch.engine()?, writeopts)
    }

    /// Applies a batch without the WAL.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_without_wal(&self, batch: WriteBatch) -> Result<(), Error> {
        let mut writeopts = WriteOptions::new();
        writeopts.disable_wal(true);
        self.write_opt(batch, &writeopts)
    }

    /// Keeps obsolete files from now on.
    ///
    /// # Errors
    /// Never fails.
    pub fn disable_file_deletions(&self) -> Result<(), Error> {
        self.engine().disable_file_deletions();
        Ok(())
    }

    /// Enables the deletion of obsolete files again, and deletes the present ones before it returns.
    ///
    /// # Errors
    /// `Invalid argument` if they were not disabled.
    pub fn enable_file_deletions(&self) -> Result<(), Error> {
        self.engine().enable_file_deletions()?;
        Ok(self.engine().wait_for_purge()?)
    }
}
