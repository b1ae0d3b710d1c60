//! Rows written as wide-column entities. Plain reads return their values: the value is in the default column,
//! and another column repeats it backwards.

use base::Result;
use esker::{ColumnFamily, Columns, ReadOptions, WriteBatch};

use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::worker::Worker;

/// The column that repeats the value.
const BACKWARDS: &[u8] = b"backwards";

fn backwards(value: &[u8]) -> Vec<u8> {
    value.iter().rev().copied().collect()
}

/// Puts `value` of `key` as an entity.
pub(super) fn put(batch: &mut WriteBatch, family: &ColumnFamily, key: &[u8], value: &[u8]) -> Result<()> {
    batch.put_entity_cf(family, key, &[(BACKWARDS, &backwards(value)), (b"", value)])
}

impl Worker<'_> {
    /// True if the next write is to be that of an entity.
    pub(super) fn writes_entity(&mut self) -> bool {
        let one_in = self.stress.flags.use_put_entity_one_in;
        self.one_in(one_in)
    }

    /// Reads keys as entities and returns their values.
    pub(super) fn read_entities(
        &self,
        options: &ReadOptions,
        family: usize,
        handle: &ColumnFamily,
        keys: &[u64],
    ) -> Outcome<Vec<Option<Vec<u8>>>> {
        let db = &self.open.db;
        let found = match keys {
            [key] => vec![db.get_entity_cf_opt(handle, &keys::key(*key), options)],
            keys => {
                let names: Vec<_> = keys.iter().map(|&key| keys::key(key)).collect();
                db.multi_get_entity(handle, &names, options)
            }
        };
        let value = |(&key, found): (&u64, Result<Option<Columns>>)| {
            found?
                .map(|columns| self.value_of(family, key, columns))
                .transpose()
        };
        keys.iter().zip(found).map(value).collect()
    }

    /// The value among the columns of a key. A merge leaves the other column unchanged: it has the value of
    /// some earlier write.
    pub(super) fn value_of(&self, family: usize, key: u64, columns: Columns) -> Outcome<Vec<u8>> {
        match &columns[..] {
            [(name, value)] if name.is_empty() => Ok(value.clone()),
            [(name, value), (other, repeated)] if name.is_empty() && other == BACKWARDS => {
                self.stress.write_of(family, key, &backwards(repeated))?;
                Ok(value.clone())
            }
            _ => Err(Failure::Mismatch(format!(
                "an entity that was never written: {columns:02x?}"
            ))),
        }
    }
}
