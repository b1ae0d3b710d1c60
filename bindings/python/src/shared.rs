//! The database that several objects share, and its end.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use esker::{ColumnFamily, Db, Error, ErrorKind, Result, WriteBatch, WriteOptions};
use parking_lot::Mutex;
use pyo3::prelude::*;
use txn::{OptimisticTransactionDB, TransactionDB};

use crate::call::call;

/// A value that is dropped without the GIL: the drop may close a database, whose background threads may be
/// waiting for the GIL. The value is boxed: Python's objects are aligned to at most 16 bytes, and some
/// objects of the engine need more.
pub struct Detached<T: Send>(Option<Box<T>>);

impl<T: Send> Detached<T> {
    pub fn new(value: T) -> Detached<T> {
        Detached(Some(Box::new(value)))
    }
}

impl<T: Send> Deref for Detached<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("only drop takes it"),
        }
    }
}

impl<T: Send> DerefMut for Detached<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(value) => value,
            None => unreachable!("only drop takes it"),
        }
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = &mut self.0;
        // When the interpreter is ending there is no GIL to release, and nothing is dropped.
        Python::try_attach(|py| py.detach(|| drop(value.take())));
    }
}

/// A database, with its transactions if its writes must take the locks of transactions.
pub enum Engine {
    Plain(Db),
    Pessimistic(TransactionDB),
    Optimistic(OptimisticTransactionDB),
}

/// An open database.
pub struct Shared {
    engine: Engine,
    closed: AtomicBool,
}

/// All open databases, to be closed at the end of the interpreter.
static OPEN: Mutex<Vec<Weak<Detached<Shared>>>> = Mutex::new(Vec::new());

/// A handle of a database that is dropped without the GIL.
pub type Handle = Arc<Detached<Shared>>;

impl Shared {
    pub fn open(engine: Engine) -> Handle {
        let shared = Arc::new(Detached::new(Shared {
            engine,
            closed: AtomicBool::new(false),
        }));
        let mut open = OPEN.lock();
        open.retain(|known| known.strong_count() > 0);
        open.push(Arc::downgrade(&shared));
        shared
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the database for reads.
    #[inline]
    pub fn db(&self) -> &Db {
        match &self.engine {
            Engine::Plain(db) => db,
            Engine::Pessimistic(db) => db.db(),
            Engine::Optimistic(db) => db.db(),
        }
    }

    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns `ShutdownInProgress` if the database is closed.
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(Error::new(
                ErrorKind::ShutdownInProgress,
                "the database is closed",
            )),
            false => Ok(()),
        }
    }

    pub fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Relaxed);
        self.db().close()
    }

    pub fn put_cf_opt(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.engine {
            Engine::Pessimistic(db) => db.put_cf_opt(family, key, value, options),
            _ => self.db().put_cf_opt(family, key, value, options),
        }
    }

    pub fn delete_cf_opt(&self, family: &ColumnFamily, key: &[u8], options: &WriteOptions) -> Result<()> {
        match &self.engine {
            Engine::Pessimistic(db) => db.delete_cf_opt(family, key, options),
            _ => self.db().delete_cf_opt(family, key, options),
        }
    }

    pub fn single_delete_cf_opt(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.engine {
            Engine::Pessimistic(db) => db.single_delete_cf_opt(family, key, options),
            _ => self.db().single_delete_cf_opt(family, key, options),
        }
    }

    pub fn merge_cf_opt(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        operand: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.engine {
            Engine::Pessimistic(db) => db.merge_cf_opt(family, key, operand, options),
            _ => self.db().merge_cf_opt(family, key, operand, options),
        }
    }

    pub fn delete_range_cf_opt(
        &self,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.engine {
            Engine::Pessimistic(db) => db.delete_range_cf_opt(family, begin, end, options),
            _ => self.db().delete_range_cf_opt(family, begin, end, options),
        }
    }

    pub fn write_opt(&self, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        match &self.engine {
            Engine::Pessimistic(db) => db.write_opt(batch, options),
            _ => self.db().write_opt(batch, options),
        }
    }

    /// Returns the family of that name. `InvalidArgument` if it does not exist.
    pub fn family(&self, name: &str) -> Result<ColumnFamily> {
        self.check_open()?;
        self.db()
            .column_family(name)
            .ok_or_else(|| Error::invalid_argument(format!("Column family not found: {name}")))
    }
}

/// Closes all open databases. The package calls it when the interpreter ends: afterwards no thread may call
/// Python code.
#[pyfunction(name = "_close_all")]
pub fn close_all(py: Python<'_>) {
    let open: Vec<Handle> = OPEN.lock().iter().filter_map(Weak::upgrade).collect();
    for shared in open {
        // The error of a close is ignored: at the end of the interpreter no caller can get it.
        let _ = call(py, || shared.close());
    }
}
