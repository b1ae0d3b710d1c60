//! Column families: descriptors for opening, and handles.

use std::marker::PhantomData;
#[cfg(feature = "multi-threaded-cf")]
use std::sync::Arc;
use std::time::Duration;

use crate::Options;

/// The family that every database has.
pub const DEFAULT_COLUMN_FAMILY_NAME: &str = "default";

/// The time to live of the rows of a family, in a database that is opened with one.
#[derive(Clone, Copy, Debug, Default)]
pub enum ColumnFamilyTtl {
    /// Rows live until they are deleted.
    #[default]
    Disabled,
    /// Rows live this long.
    Duration(Duration),
    /// Rows live as long as the database's default.
    SameAsDb,
}

/// A family to be opened: its name and its options.
pub struct ColumnFamilyDescriptor {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) ttl: ColumnFamilyTtl,
}

impl ColumnFamilyDescriptor {
    /// A family whose rows live until they are deleted.
    pub fn new<S: Into<String>>(name: S, options: Options) -> ColumnFamilyDescriptor {
        ColumnFamilyDescriptor::new_with_ttl(name, options, ColumnFamilyTtl::Disabled)
    }

    /// A family whose rows live this long, if the database is opened with a time to live.
    pub fn new_with_ttl<S: Into<String>>(
        name: S,
        options: Options,
        ttl: ColumnFamilyTtl,
    ) -> ColumnFamilyDescriptor {
        ColumnFamilyDescriptor {
            name: name.into(),
            options,
            ttl,
        }
    }

    /// Changes the time to live.
    pub fn set_ttl(&mut self, ttl: ColumnFamilyTtl) {
        self.ttl = ttl;
    }

    /// The name of the column family.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time to live.
    pub fn ttl(&self) -> ColumnFamilyTtl {
        self.ttl
    }
}

/// A handle of a database whose families only one thread at a time creates and drops.
pub struct ColumnFamily {
    pub(crate) inner: esker::ColumnFamily,
}

/// A handle of a database whose families any thread creates and drops. Rows stay readable through it after
/// the family is dropped.
pub struct BoundColumnFamily<'a> {
    pub(crate) inner: esker::ColumnFamily,
    pub(crate) _db: PhantomData<&'a ()>,
}

/// The handle that [`DB`](crate::DB) returns.
#[cfg(not(feature = "multi-threaded-cf"))]
pub type ColumnFamilyRef<'a> = &'a ColumnFamily;

/// The handle that [`DB`](crate::DB) returns.
#[cfg(feature = "multi-threaded-cf")]
pub type ColumnFamilyRef<'a> = Arc<BoundColumnFamily<'a>>;

/// A handle that identifies a column family in a call.
pub trait AsColumnFamilyRef {
    /// The family handle of the crate `esker`.
    #[doc(hidden)]
    fn family(&self) -> &esker::ColumnFamily;
}

impl AsColumnFamilyRef for ColumnFamily {
    fn family(&self) -> &esker::ColumnFamily {
        &self.inner
    }
}

impl AsColumnFamilyRef for &'_ ColumnFamily {
    fn family(&self) -> &esker::ColumnFamily {
        &self.inner
    }
}

impl AsColumnFamilyRef for std::sync::Arc<BoundColumnFamily<'_>> {
    fn family(&self) -> &esker::ColumnFamily {
        &self.inner
    }
}
