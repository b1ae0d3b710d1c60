//! Reads and writes with default options.

use std::time::Duration;

use base::Result;

use super::{DbWithTtl, TtlIterator};
use crate::batch::write_batch::WriteBatch;
use crate::options::WriteOptions;
use crate::state::column_family::ColumnFamily;
use crate::state::read_options::ReadOptions;

impl DbWithTtl {
    /// Sets `key` of the default family to `value`; see [`put_cf_opt`](Self::put_cf_opt).
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_cf(&self.db().default_column_family(), key, value)
    }

    /// Sets `key` of `family` to `value`; see [`put_cf_opt`](Self::put_cf_opt).
    pub fn put_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.put_cf_opt(family, key, value, &WriteOptions::default())
    }

    /// Sets `key` of the default family to `value` with a time to live of its own; see
    /// [`put_with_ttl_cf_opt`](Self::put_with_ttl_cf_opt).
    pub fn put_with_ttl(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, ttl: Duration) -> Result<()> {
        self.put_with_ttl_cf(&self.db().default_column_family(), key, value, ttl)
    }

    /// Sets `key` of `family` to `value` with a time to live of its own; see
    /// [`put_with_ttl_cf_opt`](Self::put_with_ttl_cf_opt).
    pub fn put_with_ttl_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<()> {
        self.put_with_ttl_cf_opt(family, key, value, ttl, &WriteOptions::default())
    }

    /// Adds a merge operand to `key` of the default family; see [`merge_cf_opt`](Self::merge_cf_opt).
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_cf(&self.db().default_column_family(), key, operand)
    }

    /// Adds a merge operand to `key` of `family`; see [`merge_cf_opt`](Self::merge_cf_opt).
    pub fn merge_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.merge_cf_opt(family, key, operand, &WriteOptions::default())
    }

    /// Deletes `key` of the default family.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf(&self.db().default_column_family(), key)
    }

    /// Deletes `key` of `family`.
    pub fn delete_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_cf_opt(family, key, &WriteOptions::default())
    }

    /// Applies a batch whose values and operands have no suffix yet; see [`write_opt`](Self::write_opt).
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// The value of `key` in the default family; see [`get_cf_opt`](Self::get_cf_opt).
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.get_cf(&self.db().default_column_family(), key)
    }

    /// The value of `key` in `family`; see [`get_cf_opt`](Self::get_cf_opt).
    pub fn get_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.get_cf_opt(family, key, &ReadOptions::default())
    }

    /// An iterator over the default family; see [`iter_cf_opt`](Self::iter_cf_opt).
    pub fn iter(&self) -> Result<TtlIterator> {
        self.iter_cf(&self.db().default_column_family())
    }

    /// An iterator over `family`; see [`iter_cf_opt`](Self::iter_cf_opt).
    pub fn iter_cf(&self, family: &ColumnFamily) -> Result<TtlIterator> {
        self.iter_cf_opt(family, &ReadOptions::default())
    }
}
