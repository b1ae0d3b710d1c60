//! Objects that several modules take from handles.

use std::ops::Deref;
use std::sync::Arc;

use esker::{ColumnFamily, Db, DbWithTtl, PinnedValue, ReadOptions, WriteBatch, WriteOptions};
use jni_sys::jlong;
use txn::{OptimisticTransactionDB, TransactionDB};

use crate::environment::Environment;
use crate::fail::Result;
use crate::handles::{self, Held};
use crate::listener::Listeners;
use crate::settings::Settings;

/// `org.rocksdb.RocksDB`.
pub struct Database {
    /// The engine's.
    pub db: Db,
    /// The family of methods that name none.
    pub default: ColumnFamily,
    /// The layer over it.
    pub layer: Layer,
    /// The listeners that hear of it.
    pub listeners: Option<Arc<Listeners>>,
    /// The environment that it was opened with, if one was given.
    pub environment: Option<Environment>,
}

/// A layer over a database, through which its rows go.
pub enum Layer {
    /// None.
    None,
    /// A time to live: each value ends with the time of its writing.
    Ttl(DbWithTtl),
    /// With locks: writes without a transaction lock their keys, too.
    Locks(TransactionDB),
    /// With validation at commit.
    Validation(OptimisticTransactionDB),
}

/// A write, as the database has it or, with locks, its transactions.
macro_rules! writes {
    ($($(#[$meta:meta])+ $name:ident, $plain:ident, [$($ttl:tt)+], ($($arg:ident),*));+ $(;)?) => { $(
        $(#[$meta])+
        pub fn $name(&self, options: &WriteOptions, family: &ColumnFamily, $($arg: &[u8]),*) -> esker::Result<()> {
            match &self.layer {
                Layer::Locks(db) => db.$name(options, family, $($arg),*),
                Layer::Ttl(db) => db.$($ttl)+(options, family, $($arg),*),
                Layer::None | Layer::Validation(_) => self.db.$plain(options, family, $($arg),*),
            }
        }
    )+ };
}

/// Bytes at the end of a value that a time to live takes.
const TTL_SUFFIX: usize = 4;

impl Database {
    /// Over an open database.
    pub fn new(db: Db) -> Database {
        Database::with(db, Layer::None)
    }

    /// Over one that has a layer over it.
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
        put, put_opt, [put], (key, value);
        /// Merges an operand.
        merge, merge, [merge], (key, value);
        /// Deletes a key.
        delete, delete_opt, [delete], (key);
        /// Deletes a key that was put once.
        single_delete, single_delete, [db().single_delete], (key);
        /// Deletes a range of keys.
        delete_range, delete_range, [db().delete_range], (key, value);
    }

    /// Writes a batch.
    pub fn write(&self, options: &WriteOptions, batch: WriteBatch) -> esker::Result<()> {
        match &self.layer {
            Layer::Locks(db) => db.write(options, batch),
            Layer::Ttl(db) => db.write(options, &batch),
            Layer::None | Layer::Validation(_) => self.db.write(options, batch),
        }
    }

    /// Bytes at the end of each value that are not the caller's.
    #[inline]
    pub fn suffix(&self) -> usize {
        match self.layer {
            Layer::Ttl(_) => TTL_SUFFIX,
            _ => 0,
        }
    }

    /// The value of a key.
    #[inline]
    pub fn get(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
    ) -> esker::Result<Option<Shown>> {
        let found = self.db.get_pinned(options, family, key)?;
        Ok(found.map(|value| Shown::new(value, self.suffix())))
    }
}

/// A value without the bytes at its end that are not the caller's.
pub struct Shown {
    value: PinnedValue,
    length: usize,
}

impl Shown {
    /// Over a value.
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
        // Handles of families, snapshots and iterators may outlive it; files and threads do not. Errors were for `closeDatabase` to tell.
        let _ = self.db.close();
    }
}

/// `org.rocksdb.ColumnFamilyHandle`, with the listeners that hear of its end.
pub struct FamilyObject(pub ColumnFamily, pub Option<Arc<Listeners>>);

impl FamilyObject {
    /// A handle of a family of a database.
    pub fn insert(db: &Database, family: ColumnFamily) -> jlong {
        handles::insert(FamilyObject(family, db.listeners.clone()))
    }
}

/// The database of a handle.
#[inline]
pub fn database(handle: jlong) -> Result<Held<Database>> {
    handles::get(handle)
}

/// A family, or the default one where none is given.
pub struct Family {
    given: Option<Held<FamilyObject>>,
}

impl Family {
    /// The family of a handle, or of none.
    #[inline]
    pub fn of(handle: jlong) -> Result<Family> {
        Ok(Family {
            given: handles::optional(handle)?,
        })
    }

    /// The family itself.
    #[inline]
    pub fn in_db<'f>(&'f self, db: &'f Database) -> &'f ColumnFamily {
        match &self.given {
            Some(given) => &given.0,
            None => &db.default,
        }
    }
}

/// Options of a read: those of a handle, or the defaults.
#[inline]
pub fn read_options(handle: jlong) -> Result<Arc<ReadOptions>> {
    match handle {
        0 => Ok(Arc::new(ReadOptions::default())),
        _ => handles::get::<Settings>(handle)?.read_options(),
    }
}

/// Options of a write: those of a handle, or the defaults.
#[inline]
pub fn write_options(handle: jlong) -> Result<Arc<WriteOptions>> {
    match handle {
        0 => Ok(Arc::new(WriteOptions::default())),
        _ => Ok(handles::get::<Settings>(handle)?.write_options()),
    }
}
