//! Reads.

use super::{DBCommon, DBInner, ThreadMode};
use crate::pinnable_slice::CSlice;
use crate::read_methods::read_methods;
use crate::{
    AsColumnFamilyRef, DBAccess, DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode,
    Direction, Error, IteratorMode, ReadOptions, SnapshotWithThreadMode,
};

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    read_methods!();

    /// The pinned values of keys of one family, in the order of the keys. It makes no difference whether the
    /// keys are sorted.
    pub fn batched_multi_get_cf<'a, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        keys: I,
        sorted_input: bool,
    ) -> Vec<Result<Option<DBPinnableSlice<'_>>, Error>>
    where
        K: AsRef<[u8]> + 'a + ?Sized,
        I: IntoIterator<Item = &'a K>,
    {
        self.batched_multi_get_cf_opt(cf, keys, sorted_input, &self.read_options)
    }

    /// The pinned values of keys of one family, in the order of the keys, with options.
    pub fn batched_multi_get_cf_opt<'a, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        keys: I,
        _sorted_input: bool,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<DBPinnableSlice<'_>>, Error>>
    where
        K: AsRef<[u8]> + 'a + ?Sized,
        I: IntoIterator<Item = &'a K>,
    {
        let keys: Vec<&[u8]> = keys.into_iter().map(AsRef::as_ref).collect();
        let values = self.engine_multi_get(Some(cf.family()), &keys, readopts);
        values
            .into_iter()
            .map(|value| Ok(value?.map(DBPinnableSlice::new)))
            .collect()
    }

    /// False if memory shows that a key of the default family has no value.
    pub fn key_may_exist<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.key_may_exist_opt(key, &self.read_options)
    }

    /// False if memory shows that a key of the default family has no value, with options.
    pub fn key_may_exist_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> bool {
        self.may_exist(&self.engine().default_column_family(), key.as_ref(), readopts)
            .0
    }

    /// False if memory shows that a key has no value.
    pub fn key_may_exist_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> bool {
        self.key_may_exist_cf_opt(cf, key, &self.read_options)
    }

    /// False if memory shows that a key has no value, with options.
    pub fn key_may_exist_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> bool {
        self.may_exist(cf.family(), key.as_ref(), readopts).0
    }

    /// False if memory shows that a key has no value; with the value if it is in memory.
    pub fn key_may_exist_cf_opt_value<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> (bool, Option<CSlice>) {
        self.may_exist(cf.family(), key.as_ref(), readopts)
    }

    /// If the read fails, the key may exist.
    fn may_exist(
        &self,
        family: &esker::ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
    ) -> (bool, Option<CSlice>) {
        let Ok(options) = options.engine() else {
            return (true, None);
        };
        match self.engine().key_may_exist_cf_opt(family, key, options) {
            Ok(esker::KeyMayExist::No) => (false, None),
            Ok(esker::KeyMayExist::Yes(value)) => {
                let mut value = value.into_vec();
                value.truncate(value.len().saturating_sub(self.value_suffix()));
                (true, Some(CSlice(value)))
            }
            Ok(esker::KeyMayExist::Maybe) | Err(_) => (true, None),
        }
    }
}
