//! Wide-column entities in a batch.

use base::{Result, RowLimit, entity};

use crate::batch::operation::tag;
use crate::batch::write_batch::WriteBatch;

impl WriteBatch {
    /// Makes `key` of the default family an entity of `columns`, names and values in any order. After an
    /// error the batch is unchanged.
    ///
    /// # Errors
    /// `InvalidArgument` for an entity that is larger than a value may be; `Corruption`, as in RocksDB, for
    /// two columns of one name.
    pub fn put_entity(&mut self, key: impl AsRef<[u8]>, columns: &[(&[u8], &[u8])]) -> Result<()> {
        let key = key.as_ref();
        let entity = encoded(key, columns)?;
        self.counted(tag::ENTITY, 0, &[key], Some(&entity));
        Ok(())
    }
}

/// The encoded entity, if it fits into a row.
pub(crate) fn encoded(key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<Vec<u8>> {
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
