//! An open database.

mod families;
mod maintain;
mod metadata;
pub(crate) mod open;
pub(crate) mod properties;
mod reads;
mod writes;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use base::sync::RwLock;

pub use self::metadata::{ColumnFamilyMetaData, LiveFile};
use crate::{
    ColumnFamily, DBAccess, DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, ReadOptions,
    SnapshotWithThreadMode,
};

/// A range of keys, the last exclusive.
pub struct Range<'a> {
    start_key: &'a [u8],
    end_key: &'a [u8],
}

impl<'a> Range<'a> {
    /// The range from `start_key` to before `end_key`.
    pub fn new(start_key: &'a [u8], end_key: &'a [u8]) -> Range<'a> {
        Range { start_key, end_key }
    }
}

/// The mode of creating and dropping column families: [`SingleThreaded`] or [`MultiThreaded`].
pub trait ThreadMode {
    /// Creates the handles of these families.
    #[doc(hidden)]
    fn of_families(families: BTreeMap<String, esker::ColumnFamily>) -> Self;

    /// Releases all families.
    #[doc(hidden)]
    fn forget_families(&mut self);
}

/// Column families are created and dropped with exclusive access to the database, and handles are borrowed.
pub struct SingleThreaded {
    pub(crate) families: BTreeMap<String, ColumnFamily>,
}

/// Column families are created and dropped by any thread, and handles are counted.
pub struct MultiThreaded {
    pub(crate) families: RwLock<BTreeMap<String, esker::ColumnFamily>>,
}

impl ThreadMode for SingleThreaded {
    fn of_families(families: BTreeMap<String, esker::ColumnFamily>) -> SingleThreaded {
        let handle = |(name, inner)| (name, ColumnFamily { inner });
        SingleThreaded {
            families: families.into_iter().map(handle).collect(),
        }
    }

    fn forget_families(&mut self) {
        self.families.clear();
    }
}

impl ThreadMode for MultiThreaded {
    fn of_families(families: BTreeMap<String, esker::ColumnFamily>) -> MultiThreaded {
        MultiThreaded {
            families: RwLock::new(families),
        }
    }

    fn forget_families(&mut self) {
        self.families.get_mut().clear();
    }
}

/// The database inside of a [`DBCommon`].
pub trait DBInner {
    /// The database handle of the crate `esker`.
    #[doc(hidden)]
    fn engine(&self) -> &esker::Db;

    /// The times to live of the database's rows, if they have any.
    #[doc(hidden)]
    fn ttl(&self) -> Option<&esker::DbWithTtl> {
        None
    }
}

/// A database without transactions.
pub struct DBWithThreadModeInner {
    db: esker::Db,
    ttl: Option<esker::DbWithTtl>,
}

impl DBInner for DBWithThreadModeInner {
    fn engine(&self) -> &esker::Db {
        &self.db
    }

    fn ttl(&self) -> Option<&esker::DbWithTtl> {
        self.ttl.as_ref()
    }
}

/// An open database. The database is closed when this value is dropped.
///
/// Nothing that is borrowed from it outlives it, except a [`ReadOptions`] with a snapshot: later reads with
/// it fail.
pub struct DBCommon<T: ThreadMode, D: DBInner> {
    inner: D,
    pub(crate) families: T,
    path: PathBuf,
    read_options: ReadOptions,
}

/// A database without transactions.
pub type DBWithThreadMode<T> = DBCommon<T, DBWithThreadModeInner>;

/// A database whose column families one thread at a time creates and drops; with the feature
/// `multi-threaded-cf`, any thread.
///
/// ```
/// use esker_rocksdb::{DB, Options};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// let mut options = Options::default();
/// options.create_if_missing(true);
/// {
///     let db = DB::open(&options, &path).unwrap();
///     db.put(b"key", b"value").unwrap();
/// }
/// let db = DB::open_default(&path).unwrap();
/// assert_eq!(db.get(b"key").unwrap().unwrap(), b"value");
/// ```
#[cfg(not(feature = "multi-threaded-cf"))]
pub type DB = DBWithThreadMode<SingleThreaded>;

/// A database whose column families any thread creates and drops.
#[cfg(feature = "multi-threaded-cf")]
pub type DB = DBWithThreadMode<MultiThreaded>;

/// A snapshot of [`DB`].
pub type Snapshot<'a> = SnapshotWithThreadMode<'a, DB>;

/// A raw iterator of [`DB`].
pub type DBRawIterator<'a> = DBRawIteratorWithThreadMode<'a, DB>;

/// A Rust iterator of [`DB`].
pub type DBIterator<'a> = DBIteratorWithThreadMode<'a, DB>;

/// The default thread mode of a transaction database.
#[cfg(not(feature = "multi-threaded-cf"))]
pub(crate) type DefaultThreadMode = SingleThreaded;

/// The default thread mode of a transaction database.
#[cfg(feature = "multi-threaded-cf")]
pub(crate) type DefaultThreadMode = MultiThreaded;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    pub(crate) fn new(
        inner: D,
        families: BTreeMap<String, esker::ColumnFamily>,
        path: PathBuf,
    ) -> DBCommon<T, D> {
        DBCommon {
            inner,
            families: T::of_families(families),
            path,
            read_options: ReadOptions::default(),
        }
    }

    pub(crate) fn engine(&self) -> &esker::Db {
        self.inner.engine()
    }

    pub(crate) fn inner(&self) -> &D {
        &self.inner
    }
}

impl<T: ThreadMode, D: DBInner> DBAccess for DBCommon<T, D> {
    crate::access::reads_of_its_engine!();

    fn ttl(&self) -> Option<&esker::DbWithTtl> {
        self.inner.ttl()
    }
}

impl<T: ThreadMode, D: DBInner> Drop for DBCommon<T, D> {
    fn drop(&mut self) {
        self.families.forget_families();
        // An error of the close is only in the info log: a drop has no caller that could get it.
        let _ = self.engine().close();
    }
}

impl<T: ThreadMode, D: DBInner> fmt::Debug for DBCommon<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RocksDB {{ path: {} }}", self.path.display())
    }
}
