//! Reads of the engine's database; of the default family if no family is given.

use esker::{ColumnFamily, Db, DbIterator, DbWithTtl, PinnedValue};

use crate::{Error, ReadOptions};

/// The value of a key.
pub(crate) fn get(
    db: &Db,
    ttl: Option<&DbWithTtl>,
    family: Option<&ColumnFamily>,
    key: &[u8],
    options: &ReadOptions,
) -> Result<Option<PinnedValue>, Error> {
    let options = options.engine()?;
    if let Some(ttl) = ttl {
        let default = db.default_column_family();
        return Ok(ttl.get_pinned_cf_opt(family.unwrap_or(&default), key, options)?);
    }
    Ok(match family {
        Some(family) => db.get_pinned_cf_opt(family, key, options)?,
        None => db.get_pinned_cf_opt(&db.default_column_family(), key, options)?,
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
        Some(family) => db.iter_cf_opt(family, options),
        None => db.iter_opt(options),
    })
}

/// The values of keys, in the order of the keys.
pub(crate) fn multi_get(
    db: &Db,
    ttl: Option<&DbWithTtl>,
    family: Option<&ColumnFamily>,
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Vec<Result<Option<PinnedValue>, Error>> {
    let options = match options.engine() {
        Ok(options) => options,
        Err(error) => return keys.iter().map(|_| Err(error.clone())).collect(),
    };
    let found = match family {
        _ if ttl.is_some() => {
            let default = db.default_column_family();
            let family = family.unwrap_or(&default);
            ttl.map_or_else(Vec::new, |ttl| ttl.multi_get_pinned_cf_opt(family, keys, options))
        }
        Some(family) => db.multi_get_pinned_cf_opt(family, keys, options),
        None => db.multi_get_pinned_cf_opt(&db.default_column_family(), keys, options),
    };
    found
        .into_iter()
        .map(|value| value.map_err(Error::from))
        .collect()
}
