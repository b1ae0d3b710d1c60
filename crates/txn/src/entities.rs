//! Reads of wide-column entities, which are locked by key, as plain values are.

use base::Result;
use esker::{ColumnFamily, Columns, ReadOptions};

use crate::transaction::Transaction;

impl Transaction {
    /// The columns of `key` in the default family; see [`get_entity_cf_opt`](Self::get_entity_cf_opt).
    pub fn get_entity(&self, key: impl AsRef<[u8]>) -> Result<Option<Columns>> {
        self.get_entity_cf(&self.db.default_column_family(), key)
    }

    /// The columns of `key` in `family`; see [`get_entity_cf_opt`](Self::get_entity_cf_opt).
    pub fn get_entity_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<Option<Columns>> {
        self.get_entity_cf_opt(family, key, &ReadOptions::default())
    }

    /// The columns of `key` in `family`, read as [`get`](Self::get_cf_opt) reads a value. A plain value is
    /// the column without a name.
    pub fn get_entity_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<Columns>> {
        let key = key.as_ref();
        let own = self.options_of_read(family, key, options)?;
        let options = own.as_ref().unwrap_or(options);
        self.batch
            .get_entity_from_batch_and_db(&self.db, family, key, options)
    }

    /// The columns of many keys, all as of one moment, in the order of the keys.
    pub fn multi_get_entity<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Columns>>> {
        let options = self.at_one_moment(options);
        let keys = keys.iter();
        keys.map(|key| self.get_entity_cf_opt(family, key, &options))
            .collect()
    }

    /// Locks `key` of `family` and reads its columns, as [`get_for_update`](Self::get_for_update_cf_opt) does
    /// with a value. Errors are the same.
    pub fn get_entity_for_update(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        exclusive: bool,
        do_validate: bool,
        options: &ReadOptions,
    ) -> Result<Option<Columns>> {
        let key = key.as_ref();
        self.lock_to_read(family, key, exclusive, do_validate, options)?;
        self.get_entity_cf_opt(family, key, options)
    }
}
