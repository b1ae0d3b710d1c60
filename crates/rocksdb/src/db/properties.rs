//! Properties of an open database.

use super::{DBCommon, DBInner, ThreadMode};
use crate::{AsColumnFamilyRef, CStrLike, Error};

/// The property `name` of one family.
pub(crate) fn value(
    db: &esker::Db,
    family: &esker::ColumnFamily,
    name: impl CStrLike,
) -> Result<Option<String>, Error> {
    let name = name
        .bake()
        .map_err(|error| Error::new(format!("Failed to convert property name to C string: {error}")))?;
    let name = name
        .to_str()
        .map_err(|error| Error::new(format!("Property name is no UTF-8: {error}")))?;
    Ok(db.property(family, name))
}

/// The property as a number.
pub(crate) fn number(
    db: &esker::Db,
    family: &esker::ColumnFamily,
    name: impl CStrLike,
) -> Result<Option<u64>, Error> {
    let Some(text) = value(db, family, name)? else {
        return Ok(None);
    };
    let parsed = text.parse();
    let number =
        parsed.map_err(|error| Error::new(format!("Failed to convert property value {text}: {error}")))?;
    Ok(Some(number))
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// A property of the default family or the database; `None` if there is no property with the name.
    ///
    /// # Errors
    /// A name that is no C string.
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        value(self.engine(), &self.engine().default_column_family(), name)
    }

    /// A property of a family.
    ///
    /// # Errors
    /// A name that is no C string.
    pub fn property_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<String>, Error> {
        value(self.engine(), cf.family(), name)
    }

    /// A numeric property of the default family or the database.
    ///
    /// # Errors
    /// A name that is no C string; a property that is no number.
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        number(self.engine(), &self.engine().default_column_family(), name)
    }

    /// A numeric property of a family.
    ///
    /// # Errors
    /// The errors of [`property_int_value`](Self::property_int_value).
    pub fn property_int_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<u64>, Error> {
        number(self.engine(), cf.family(), name)
    }
}
