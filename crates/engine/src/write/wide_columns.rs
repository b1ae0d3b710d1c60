//! Writes of wide-column entities.

use base::Result;

use crate::batch::write_batch::WriteBatch;
use crate::options::WriteOptions;
use crate::state::column_family::ColumnFamily;
use crate::state::family_batch::AttributeGroup;
use crate::state::handle::Db;

impl Db {
    /// Sets `key` of the default family to an entity with these columns, given in any order. A former value
    /// or entity is replaced.
    ///
    /// # Errors
    /// Those of [`put`](Db::put), for the size of the whole entity. As in RocksDB, `Corruption` if two
    /// columns have one name, and `InvalidArgument` in a family with timestamps.
    pub fn put_entity(&self, key: impl AsRef<[u8]>, columns: &[(&[u8], &[u8])]) -> Result<()> {
        self.put_entity_cf(&self.default_column_family(), key, columns)
    }

    /// Sets `key` of `family` to an entity; see [`put_entity`](Db::put_entity).
    pub fn put_entity_cf(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        columns: &[(&[u8], &[u8])],
    ) -> Result<()> {
        self.put_entity_cf_opt(family, key, columns, &WriteOptions::default())
    }

    /// Sets `key` of `family` to an entity as `options` ask; see [`put_entity`](Db::put_entity).
    pub fn put_entity_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        columns: &[(&[u8], &[u8])],
        options: &WriteOptions,
    ) -> Result<()> {
        self.inner().check_owns(&family.0)?;
        let mut batch = WriteBatch::new();
        batch.put_entity_cf(family, key, columns)?;
        self.write_or_record(options, &mut batch).map(drop)
    }

    /// Sets `key` to an entity in each family of `groups`, in one atomic write.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no group; those of [`put_entity`](Db::put_entity).
    pub fn put_attribute_groups(
        &self,
        key: impl AsRef<[u8]>,
        groups: &[AttributeGroup<'_>],
        options: &WriteOptions,
    ) -> Result<()> {
        let key = key.as_ref();
        for group in groups {
            self.inner().check_owns(&group.family.0)?;
        }
        let mut batch = WriteBatch::new();
        batch.put_attribute_groups(key, groups)?;
        self.write_or_record(options, &mut batch).map(drop)
    }
}
