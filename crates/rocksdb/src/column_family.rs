//! Column families: descriptors for opening, and handles.

use std::marker::PhantomData;
#[cfg(feature = "multi-threaded-cf")]
use std::sync::Arc;
use std::time::Duration;

use crate::{MultiThreaded, Options};

/// The family that every database has.
pub const DEFAULT_COLUMN_FAMILY_NAME: &str = "default";

/// How long rows of a family live, of a database that is opened with a time to live.
#[derive(Clone, Copy, Debug, Default)]
pub enum ColumnFamilyTtl {
    /// They live until they are deleted.
    #[default]
    Disabled,
    /// So long.
    Duration(Duration),
    /// As long as the database says.
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

    /// A family whose rows live so long, where the database is opened with a time to live.
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

    /// Changes how long rows live.
    pub fn set_ttl(&mut self, ttl: ColumnFamilyTtl) {
        self.ttl = ttl;
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long rows live.
    pub fn ttl(&self) -> ColumnFamilyTtl {
        self.ttl
    }
}

/// A family of a database whose families one thread at a time creates and drops.
pub struct ColumnFamily {
    pub(crate) inner: esker::ColumnFamily,
}

/// A family of a database whose families any thread creates and drops. It keeps its rows readable when the family is dropped.
pub struct BoundColumnFamily<'a> {
    pub(crate) inner: esker::ColumnFamily,
    pub(crate) _db: PhantomData<&'a MultiThreaded>,
}

/// The handle that [`DB`](crate::DB) gives.
#[cfg(not(feature = "multi-threaded-cf"))]
pub type ColumnFamilyRef<'a> = &'a ColumnFamily;

/// The handle that [`DB`](crate::DB) gives.
#[cfg(feature = "multi-threaded-cf")]
pub type ColumnFamilyRef<'a> = Arc<BoundColumnFamily<'a>>;

/// A handle that names a column family in a call.
pub trait AsColumnFamilyRef {
    /// The engine's handle.
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
