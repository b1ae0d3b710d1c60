//! Objects that several modules take from handles.

use std::ops::Deref;
use std::sync::Arc;

use esker::{ColumnFamily, Db, DbWithTtl, PinnedValue, ReadOptions, WriteBatch, WriteOptions};
use jni_sys::jlong;
use txn::{OptimisticTransactionDB, TransactionDB};

use crate::environment::Environment;
use crate::fail::Result;
use crate::handles::{self, InUse};
use crate::listener::Listeners;
use crate::options::read_defaults;
use crate::settings::Settings;

/// `org.rocksdb.RocksDB`.
pub struct Database {
    /// The engine's database.
    pub db: Db,
    /// The default column family, which methods without a family argument use.
    pub default: ColumnFamily,
    /// The layer over the database: transactions or times to live.
    pub layer: Layer,
    /// The listeners of the database.
    pub listeners: Option<Arc<Listeners>>,
    /// The environment that the database was opened with, if the options have one.
    pub environment: Option<Environment>,
}

/// A layer over a database, through which its rows go.
pub enum Layer {
    /// The database has no layer.
    None,
    /// A time to live: each value ends with the time of its writing.
    Ttl(DbWithTtl),
    /// Transactions with locks: writes without a transaction lock their keys, too.
    Locks(TransactionDB),
    /// The layer is a database with optimistic transactions, which are validated at their commits.
    Validation(OptimisticTransactionDB),
}

/// Defines writes through the database, or with locks, through its transactions.
macro_rules! writes {
    ($($(#[$meta:meta])+ $name:ident, [$($ttl:tt)*], ($($arg:ident),*));+ $(;)?) => { $(
        $(#[$meta])+
        pub fn $name(&self, family: &ColumnFamily, $($arg: &[u8],)* options: &WriteOptions) -> esker::Result<()> {
            match &self.layer {
                Layer::Locks(db) => db.$name(family, $($arg,)* options),
                Layer::Ttl(db) => db$($ttl)*.$name(family, $($arg,)* options),
                Layer::None | Layer::Validation(_) => self.db.$name(family, $($arg,)* options),
            }
        }
    )+ };
}

/// The number of bytes that a time to live adds to the end of a value.
const TTL_SUFFIX: usize = 4;

impl Database {
    /// Returns the object of an open database.
    pub fn new(db: Db) -> Database {
        Database::with(db, Layer::None)
    }

    /// Returns the object of a database with a layer.
    pub fn with(db: Db, layer: Layer) -> Database {
        Database {
            default: db.default_column_family(),
            db,
            layer,
            listeners: None,
            environment: None,
        }
    }

    writes! {
        /// Sets a key.
        put_cf_opt, [], (key, value);
        /// Merges an operand.
        merge_cf_opt, [], (key, value);
        /// Deletes a key.
        delete_cf_opt, [], (key);
        /// Deletes a key that was put once.
        single_delete_cf_opt, [.db()], (key);
        /// Deletes a range of keys.
        delete_range_cf_opt, [.db()], (key, value);
    }

    /// Writes a batch.
    pub fn write_opt(&self, batch: WriteBatch, options: &WriteOptions) -> esker::Result<()> {
        match &self.layer {
            Layer::Locks(db) => db.write_opt(batch, options),
            Layer::Ttl(db) => db.write_opt(&batch, options),
            Layer::None | Layer::Validation(_) => self.db.write_opt(batch, options),
        }
    }

    /// Returns the number of bytes at the end of each value that hold the time of its write, which the caller
    /// does not see.
    #[inline]
    pub fn suffix(&self) -> usize {
        match self.layer {
            Layer::Ttl(_) => TTL_SUFFIX,
            _ => 0,
        }
    }

    /// Returns the value of a key.
    #[inline]
    pub fn get_cf_opt(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
    ) -> esker::Result<Option<Shown>> {
        let found = self.db.get_pinned_cf_opt(family, key, options)?;
        Ok(found.map(|value| Shown::new(value, self.suffix())))
    }
}

/// Returns a value without the time of its write at its end, which the caller does not see.
pub struct Shown {
    value: PinnedValue,
    length: usize,
}

impl Shown {
    /// Returns the caller's part of a value.
    #[inline]
    pub fn new(value: PinnedValue, suffix: usize) -> Shown {
        let length = value.len().saturating_sub(suffix);
        Shown { value, length }
    }
}

impl Deref for Shown {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.value[..self.length]
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Handles of families, snapshots and iterators may outlive the database; files and threads do not.
        // `closeDatabase` has reported errors.
        let _ = self.db.close();
    }
}

/// `org.rocksdb.ColumnFamilyHandle`, with the listeners that are notified of its end.
pub struct FamilyObject(pub ColumnFamily, pub Option<Arc<Listeners>>);

impl FamilyObject {
    /// Creates a handle of a family of a database.
    pub fn insert(db: &Database, family: ColumnFamily) -> jlong {
        handles::insert(FamilyObject(family, db.listeners.clone()))
    }
}

/// Returns the database of a handle.
#[inline]
pub fn database(handle: jlong) -> Result<InUse<Database>> {
    handles::get(handle)
}

/// A family, or the default family if the method does not name one.
pub struct Family {
    given: Option<InUse<FamilyObject>>,
}

impl Family {
    /// Returns the family of a handle, or the default family for the handle 0.
    #[inline]
    pub fn of(handle: jlong) -> Result<Family> {
        Ok(Family {
            given: handles::optional(handle)?,
        })
    }

    /// Returns the family itself.
    #[inline]
    pub fn in_db<'f>(&'f self, db: &'f Database) -> &'f ColumnFamily {
        match &self.given {
            Some(given) => &given.0,
            None => &db.default,
        }
    }
}

/// Returns the read options of a handle, or the defaults.
#[inline]
pub fn read_options(handle: jlong) -> Result<Arc<ReadOptions>> {
    match handle {
        0 => Ok(Arc::new(read_defaults())),
        _ => handles::get::<Settings>(handle)?.read_options(),
    }
}

/// Returns the write options of a handle, or the defaults.
#[inline]
pub fn write_options(handle: jlong) -> Result<Arc<WriteOptions>> {
    match handle {
        0 => Ok(Arc::new(WriteOptions::default())),
        _ => Ok(handles::get::<Settings>(handle)?.write_options()),
    }
}
