//! Column families of an open database.

use std::marker::PhantomData;
use std::sync::Arc;

use super::{DBCommon, DBInner, MultiThreaded, SingleThreaded};
use crate::{BoundColumnFamily, ColumnFamily, Error, Options};

/// Creates a family of that name.
pub(crate) trait Create:
    FnOnce(&str, &esker::ColumnFamilyOptions) -> esker::Result<esker::ColumnFamily>
{
}

impl<F> Create for F where F: FnOnce(&str, &esker::ColumnFamilyOptions) -> esker::Result<esker::ColumnFamily> {}

/// Drops a family.
pub(crate) trait Drop: FnOnce(&esker::ColumnFamily) -> esker::Result<()> {}

impl<F> Drop for F where F: FnOnce(&esker::ColumnFamily) -> esker::Result<()> {}

/// Creates a family, whose rows do not expire if the database has times to live.
fn created(
    db: &impl DBInner,
    name: &str,
    options: &esker::ColumnFamilyOptions,
) -> esker::Result<esker::ColumnFamily> {
    match db.ttl() {
        None => db.engine().create_column_family(name, options),
        Some(ttl) => ttl.create_column_family(name, options, esker::FamilyTtl::RocksDb(0)),
    }
}

fn no_such(name: &str) -> Error {
    Error::new(format!("Invalid column family: {name}"))
}

impl SingleThreaded {
    /// Adds a family that `create` creates with its options.
    pub(crate) fn create(&mut self, name: &str, opts: &Options, create: impl Create) -> Result<(), Error> {
        opts.check()?;
        let inner = create(name, &opts.inner.column_family)?;
        self.families.insert(name.to_owned(), ColumnFamily { inner });
        Ok(())
    }

    /// Removes a family that `drop` drops.
    pub(crate) fn drop(&mut self, name: &str, drop: impl Drop) -> Result<(), Error> {
        let family = self.families.get(name).ok_or_else(|| no_such(name))?;
        drop(&family.inner)?;
        self.families.remove(name);
        Ok(())
    }

    /// The handle of a family.
    pub(crate) fn handle(&self, name: &str) -> Option<&ColumnFamily> {
        self.families.get(name)
    }
}

impl MultiThreaded {
    /// Adds a family that `create` creates with its options.
    pub(crate) fn create(&self, name: &str, opts: &Options, create: impl Create) -> Result<(), Error> {
        opts.check()?;
        // The check is made under the lock, so that the second of two concurrent creations finds the family.
        let mut families = self.families.write();
        families.insert(name.to_owned(), create(name, &opts.inner.column_family)?);
        Ok(())
    }

    /// Removes a family that `drop` drops.
    pub(crate) fn drop(&self, name: &str, drop: impl Drop) -> Result<(), Error> {
        let mut families = self.families.write();
        let family = families.get(name).ok_or_else(|| no_such(name))?;
        drop(family)?;
        families.remove(name);
        Ok(())
    }

    /// A handle of a family.
    pub(crate) fn handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        let inner = self.families.read().get(name)?.clone();
        Some(Arc::new(BoundColumnFamily {
            inner,
            _db: PhantomData,
        }))
    }
}

impl<D: DBInner> DBCommon<SingleThreaded, D> {
    /// Creates a column family.
    ///
    /// # Errors
    /// A family of that name exists; `Not implemented` with the name of an option that Esker does not have.
    pub fn create_cf<N: AsRef<str>>(&mut self, name: N, opts: &Options) -> Result<(), Error> {
        let db = &self.inner;
        self.families
            .create(name.as_ref(), opts, |name, options| created(db, name, options))
    }

    /// Drops a column family and all its rows.
    ///
    /// # Errors
    /// There is no family of that name, or it is the default one.
    pub fn drop_cf(&mut self, name: &str) -> Result<(), Error> {
        let db = self.inner.engine();
        self.families.drop(name, |family| db.drop_column_family(family))
    }

    /// The handle of a column family.
    pub fn cf_handle(&self, name: &str) -> Option<&ColumnFamily> {
        self.families.handle(name)
    }
}

impl<D: DBInner> DBCommon<MultiThreaded, D> {
    /// Creates a column family.
    ///
    /// # Errors
    /// A family of that name exists; `Not implemented` with the name of an option that Esker does not have.
    pub fn create_cf<N: AsRef<str>>(&self, name: N, opts: &Options) -> Result<(), Error> {
        let db = &self.inner;
        self.families
            .create(name.as_ref(), opts, |name, options| created(db, name, options))
    }

    /// Drops a column family. Its rows stay readable through its handles.
    ///
    /// # Errors
    /// There is no family of that name, or it is the default one.
    pub fn drop_cf(&self, name: &str) -> Result<(), Error> {
        let db = self.inner.engine();
        self.families.drop(name, |family| db.drop_column_family(family))
    }

    /// A handle of a column family.
    pub fn cf_handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.families.handle(name)
    }
}
