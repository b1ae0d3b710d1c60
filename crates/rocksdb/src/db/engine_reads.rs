//! Reads of the engine's database; of the default family if none is given.

use esker::{ColumnFamily, Db, DbIterator, PinnedValue};

use crate::{Error, ReadOptions};

/// The value of a key.
pub(crate) fn get(
    db: &Db,
    family: Option<&ColumnFamily>,
    key: &[u8],
    options: &ReadOptions,
) -> Result<Option<PinnedValue>, Error> {
    let options = options.engine()?;
    Ok(match family {
        Some(family) => db.get_pinned(options, family, key)?,
        None => db.get_pinned(options, &db.default_column_family(), key)?,
    })
}

/// An iterator.
pub(crate) fn iter(
    db: &Db,
    family: Option<&ColumnFamily>,
    options: &ReadOptions,
) -> Result<DbIterator, Error> {
    let options = options.engine()?;
    Ok(match family {
        Some(family) => db.iter_cf(options, family),
        None => db.iter(options),
    })
}

/// The values of keys, in the order of the keys.
pub(crate) fn multi_get(
    db: &Db,
    family: Option<&ColumnFamily>,
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Vec<Result<Option<PinnedValue>, Error>> {
    let options = match options.engine() {
        Ok(options) => options,
        Err(error) => return keys.iter().map(|_| Err(error.clone())).collect(),
    };
    let found = match family {
        Some(family) => db.multi_get_pinned(options, family, keys),
        None => db.multi_get_pinned(options, &db.default_column_family(), keys),
    };
    found
        .into_iter()
        .map(|value| value.map_err(Error::from))
        .collect()
}
