//! Objects that several modules take from handles.

use std::sync::Arc;

use esker::{ColumnFamily, Db, ReadOptions, WriteBatch, WriteOptions};
use jni_sys::jlong;
use txn::{OptimisticTransactionDB, TransactionDB};

use crate::fail::Result;
use crate::handles::{self, Held};
use crate::settings::Settings;

/// `org.rocksdb.RocksDB`.
pub struct Database {
    /// The engine's.
    pub db: Db,
    /// The family of methods that name none.
    pub default: ColumnFamily,
    /// The transactions that it has.
    pub transactions: Transactions,
}

/// The transactions of a database.
pub enum Transactions {
    /// None.
    None,
    /// With locks: writes without a transaction lock their keys, too.
    Locks(TransactionDB),
    /// With validation at commit.
    Validation(OptimisticTransactionDB),
}

/// A write, as the database has it or, with locks, its transactions.
macro_rules! writes {
    ($($(#[$meta:meta])+ $name:ident, $plain:ident($($arg:ident),*));+ $(;)?) => { $(
        $(#[$meta])+
        pub fn $name(&self, options: &WriteOptions, family: &ColumnFamily, $($arg: &[u8]),*) -> esker::Result<()> {
            match &self.transactions {
                Transactions::Locks(db) => db.$name(options, family, $($arg),*),
                Transactions::None | Transactions::Validation(_) => self.db.$plain(options, family, $($arg),*),
            }
        }
    )+ };
}

impl Database {
    /// Over an open database.
    pub fn new(db: Db) -> Database {
        Database::with(db, Transactions::None)
    }

    /// Over one that has transactions.
    pub fn with(db: Db, transactions: Transactions) -> Database {
        Database {
            default: db.default_column_family(),
            db,
            transactions,
        }
    }

    writes! {
        /// Sets a key.
        put, put_opt(key, value);
        /// Merges an operand.
        merge, merge(key, value);
        /// Deletes a key.
        delete, delete_opt(key);
        /// Deletes a key that was put once.
        single_delete, single_delete(key);
        /// Deletes a range of keys.
        delete_range, delete_range(key, value);
    }

    /// Writes a batch.
    pub fn write(&self, options: &WriteOptions, batch: WriteBatch) -> esker::Result<()> {
        match &self.transactions {
            Transactions::Locks(db) => db.write(options, batch),
            Transactions::None | Transactions::Validation(_) => self.db.write(options, batch),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Handles of families, snapshots and iterators may outlive it; files and threads do not. Errors were for `closeDatabase` to tell.
        let _ = self.db.close();
    }
}

/// `org.rocksdb.ColumnFamilyHandle`.
pub struct FamilyObject(pub ColumnFamily);

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
