//! Wide-column entities in a batch.

use base::{Error, Result, RowLimit, entity};

use crate::batch::write_batch::{WriteBatch, tag};
use crate::read::wide_columns::AttributeGroup;
use crate::state::column_family::ColumnFamily;

impl WriteBatch {
    /// Makes `key` of the default family an entity of `columns`, names and values in any order. After an
    /// error the batch is unchanged.
    ///
    /// # Errors
    /// `InvalidArgument` for an entity that is larger than a value may be; `Corruption`, as in RocksDB, for
    /// two columns of one name.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let entity = encoded(key, columns)?;
        self.counted(tag::ENTITY, 0, &[key], Some(&entity));
        Ok(())
    }

    /// Same as [`put_entity`](WriteBatch::put_entity), in `family`; `InvalidArgument` for a family with
    /// timestamps.
    pub fn put_entity_cf(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        columns: &[(&[u8], &[u8])],
    ) -> Result<()> {
        check_no_timestamps(family)?;
        let entity = encoded(key, columns)?;
        self.counted(tag::ENTITY, family.id(), &[key], Some(&entity));
        Ok(())
    }

    /// Makes `key` an entity in each family of `groups`. After an error the batch is unchanged.
    ///
    /// # Errors
    /// `InvalidArgument` without a group; the errors of [`put_entity_cf`](WriteBatch::put_entity_cf).
    pub fn put_attribute_groups(&mut self, key: &[u8], groups: &[AttributeGroup<'_>]) -> Result<()> {
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

/// The encoded entity, if it fits into a row.
fn encoded(key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<Vec<u8>> {
    let lens = columns.iter().flat_map(|(name, value)| [name.len(), value.len()]);
    let bytes = lens.fold(0, usize::saturating_add);
    let mut entity = Vec::new();
    if RowLimit::MAX.allows(key.len(), bytes) {
        entity::encode_unsorted(columns, &mut entity)?;
        if RowLimit::MAX.allows(key.len(), entity.len()) {
            return Ok(entity);
        }
    }
    Err(RowLimit::MAX.error(key.len(), bytes.max(entity.len())))
}
