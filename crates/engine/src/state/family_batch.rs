//! The operations of a write batch on a column family.

use base::{Error, Result, RowLimit};

use crate::batch::entities::encoded;
use crate::batch::operation::tag;
use crate::batch::write_batch::WriteBatch;
use crate::state::column_family::ColumnFamily;

/// The columns of an entity that are in one family: RocksDB's attribute group.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{AttributeGroup, Columns, WriteBatch};
///
/// let family = db.default_column_family();
/// let columns: &[(&[u8], &[u8])] = &[(b"born", b"1815"), (b"name", b"Ada")];
/// let mut batch = WriteBatch::new();
/// batch.put_attribute_groups(b"ada", &[AttributeGroup { family: &family, columns }])?;
/// db.write(batch)?;
/// let read: Columns = db.get_entity_cf_opt(&family, b"ada", &Default::default())?.unwrap();
/// assert_eq!(read[0], (b"born".to_vec(), b"1815".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AttributeGroup<'a> {
    /// The family of the columns.
    pub family: &'a ColumnFamily,
    /// The name and value of each column, in any order.
    pub columns: &'a [(&'a [u8], &'a [u8])],
}

impl WriteBatch {
    /// Sets `key` of `family`.
    pub fn put_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.counted(tag::PUT, family.id(), &[key.as_ref()], Some(value.as_ref()));
    }

    /// Sets `key` at `timestamp`, in a family with timestamps.
    pub fn put_at(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) {
        self.counted(
            tag::PUT,
            family.id(),
            &[key.as_ref(), timestamp.as_ref()],
            Some(value.as_ref()),
        );
    }

    /// Deletes `key` of `family`.
    pub fn delete_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) {
        self.counted(tag::DELETE, family.id(), &[key.as_ref()], None);
    }

    /// Deletes `key` as of `timestamp`.
    pub fn delete_at(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>, timestamp: impl AsRef<[u8]>) {
        self.counted(
            tag::DELETE,
            family.id(),
            &[key.as_ref(), timestamp.as_ref()],
            None,
        );
    }

    /// Same as [`single_delete`](WriteBatch::single_delete), in `family`.
    pub fn single_delete_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>) {
        self.counted(tag::SINGLE_DELETE, family.id(), &[key.as_ref()], None);
    }

    /// Adds a merge operand to `key` of `family`.
    pub fn merge_cf(&mut self, family: &ColumnFamily, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        self.counted(tag::MERGE, family.id(), &[key.as_ref()], Some(operand.as_ref()));
    }

    /// Adds a merge operand to `key` at `timestamp`. A reader as of a later timestamp sees the operand merged
    /// into the operands and the value that the key had before.
    pub fn merge_at(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) {
        self.counted(
            tag::MERGE,
            family.id(),
            &[key.as_ref(), timestamp.as_ref()],
            Some(operand.as_ref()),
        );
    }

    /// Deletes the keys of `family` from `begin` (inclusive) to `end` (exclusive).
    pub fn delete_range_cf(&mut self, family: &ColumnFamily, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) {
        self.counted(
            tag::DELETE_RANGE,
            family.id(),
            &[begin.as_ref()],
            Some(end.as_ref()),
        );
    }

    /// Deletes the keys from `begin` (inclusive) to `end` (exclusive), as of `timestamp`.
    pub fn delete_range_at(
        &mut self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
    ) {
        let (begin, end, timestamp) = (begin.as_ref(), end.as_ref(), timestamp.as_ref());
        let end_len = end.len().saturating_add(timestamp.len());
        if !RowLimit::MAX.allows(end_len, 0) {
            return self.refuse(RowLimit::MAX.error(end_len, 0));
        }
        self.counted(
            tag::DELETE_RANGE,
            family.id(),
            &[begin, timestamp],
            Some(&[end, timestamp].concat()),
        );
    }

    /// Same as [`put_entity`](WriteBatch::put_entity), in `family`; `InvalidArgument` for a family with
    /// timestamps.
    pub fn put_entity_cf(
        &mut self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        columns: &[(&[u8], &[u8])],
    ) -> Result<()> {
        let key = key.as_ref();
        check_no_timestamps(family)?;
        let entity = encoded(key, columns)?;
        self.counted(tag::ENTITY, family.id(), &[key], Some(&entity));
        Ok(())
    }

    /// Makes `key` an entity in each family of `groups`. After an error the batch is unchanged.
    ///
    /// # Errors
    /// `InvalidArgument` without a group; the errors of [`put_entity_cf`](WriteBatch::put_entity_cf).
    pub fn put_attribute_groups(
        &mut self,
        key: impl AsRef<[u8]>,
        groups: &[AttributeGroup<'_>],
    ) -> Result<()> {
        let key = key.as_ref();
        if groups.is_empty() {
            return Err(Error::invalid_argument(
                "Cannot call this method with empty attribute groups",
            ));
        }
        let entity = |group: &AttributeGroup<'_>| {
            check_no_timestamps(group.family)?;
            encoded(key, group.columns)
        };
        let entities = groups.iter().map(entity).collect::<Result<Vec<_>>>()?;
        for (group, entity) in groups.iter().zip(entities) {
            self.counted(tag::ENTITY, group.family.id(), &[key], Some(&entity));
        }
        Ok(())
    }
}

fn check_no_timestamps(family: &ColumnFamily) -> Result<()> {
    match family.comparator().timestamp_size() {
        0 => Ok(()),
        _ => Err(Error::invalid_argument(
            "Cannot call this method on column family enabling timestamp",
        )),
    }
}
