//! Objects that serve reads: a database, a transaction database, a transaction.

use crate::{AsColumnFamilyRef, DBPinnableSlice, Error, ReadOptions};

/// Implements the reads of a [`DBAccess`] for a type whose method `engine()` returns the engine's database.
macro_rules! reads_of_its_engine {
    () => {
        fn engine_snapshot(&self) -> Option<esker::Snapshot> {
            Some(self.engine().snapshot())
        }

        fn engine_get(
            &self,
            family: Option<&esker::ColumnFamily>,
            key: &[u8],
            options: &$crate::ReadOptions,
        ) -> Result<Option<esker::PinnedValue>, $crate::Error> {
            $crate::engine_reads::get(self.engine(), self.ttl(), family, key, options)
        }

        fn engine_iter(
            &self,
            family: Option<&esker::ColumnFamily>,
            options: &$crate::ReadOptions,
        ) -> Result<esker::DbIterator, $crate::Error> {
            $crate::engine_reads::iter(self.engine(), family, options)
        }

        fn engine_multi_get(
            &self,
            family: Option<&esker::ColumnFamily>,
            keys: &[&[u8]],
            options: &$crate::ReadOptions,
        ) -> Vec<Result<Option<esker::PinnedValue>, $crate::Error>> {
            $crate::engine_reads::multi_get(self.engine(), self.ttl(), family, keys, options)
        }
    };
}
pub(crate) use reads_of_its_engine;

/// A database, a transaction database or a transaction: the source of reads, snapshots and iterators.
pub trait DBAccess {
    /// The snapshot of reads with a snapshot; `None` if they see the newest state.
    #[doc(hidden)]
    fn engine_snapshot(&self) -> Option<esker::Snapshot>;

    /// The times to live of the rows, if they have any.
    #[doc(hidden)]
    fn ttl(&self) -> Option<&esker::DbWithTtl> {
        None
    }

    /// The number of bytes at the end of each value of an iterator that hold the time of its write, which the
    /// caller does not see.
    #[doc(hidden)]
    fn value_suffix(&self) -> usize {
        match self.ttl() {
            None => 0,
            Some(_) => 4,
        }
    }

    /// The value of a key, in the default family if no family is given.
    #[doc(hidden)]
    fn engine_get(
        &self,
        family: Option<&esker::ColumnFamily>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<esker::PinnedValue>, Error>;

    /// An iterator, over the default family if no family is given.
    #[doc(hidden)]
    fn engine_iter(
        &self,
        family: Option<&esker::ColumnFamily>,
        options: &ReadOptions,
    ) -> Result<esker::DbIterator, Error>;

    /// The values of keys of one family, in the order of the keys.
    #[doc(hidden)]
    fn engine_multi_get(
        &self,
        family: Option<&esker::ColumnFamily>,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<esker::PinnedValue>, Error>> {
        keys.iter()
            .map(|key| self.engine_get(family, key, options))
            .collect()
    }

    /// The value of a key of the default family.
    ///
    /// # Errors
    /// The errors of the read.
    fn get_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> Result<Option<Vec<u8>>, Error> {
        let value = self.engine_get(None, key.as_ref(), readopts)?;
        Ok(value.map(esker::PinnedValue::into_vec))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The errors of the read.
    fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        let value = self.engine_get(Some(cf.family()), key.as_ref(), readopts)?;
        Ok(value.map(esker::PinnedValue::into_vec))
    }

    /// The pinned value of a key of the default family.
    ///
    /// # Errors
    /// The errors of the read.
    fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let value = self.engine_get(None, key.as_ref(), readopts)?;
        Ok(value.map(DBPinnableSlice::new))
    }

    /// The pinned value of a key.
    ///
    /// # Errors
    /// The errors of the read.
    fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let value = self.engine_get(Some(cf.family()), key.as_ref(), readopts)?;
        Ok(value.map(DBPinnableSlice::new))
    }

    /// The values of keys of the default family, in their order.
    fn multi_get_opt<K, I>(&self, keys: I, readopts: &ReadOptions) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        let keys: Vec<K> = keys.into_iter().collect();
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let values = self.engine_multi_get(None, &keys, readopts);
        values.into_iter().map(copied).collect()
    }

    /// The values of keys of any families, in their order.
    fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        let keys: Vec<(&W, K)> = keys_cf.into_iter().collect();
        let mut values = Vec::with_capacity(keys.len());
        // Consecutive keys of one family are read together.
        for run in keys.chunk_by(|a, b| a.0.family().id() == b.0.family().id()) {
            let of_run: Vec<&[u8]> = run.iter().map(|(_, key)| key.as_ref()).collect();
            let found = self.engine_multi_get(Some(run[0].0.family()), &of_run, readopts);
            values.extend(found.into_iter().map(copied));
        }
        values
    }
}

fn copied(value: Result<Option<esker::PinnedValue>, Error>) -> Result<Option<Vec<u8>>, Error> {
    Ok(value?.map(esker::PinnedValue::into_vec))
}
