//! Databases with transactions, which lock their keys or validate them at commit, and their transactions.

use std::path::PathBuf;

use esker::{Db, DbIterator, Error, PinnedValue, Result, WriteOptions};
use parking_lot::Mutex;
use pyo3::PyClassInitializer;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use txn::{OptimisticTransactionOptions, TransactionDBOptions, TransactionOptions};

use crate::bytes::Bytes;
use crate::call::{call, call_with, quietly};
use crate::column_family::ColumnFamily;
use crate::cursor::Cursor;
use crate::db::{DB, options_of};
use crate::operation::{Keywords, read_options, unknown, write_options};
use crate::range::Range;
use crate::scan::{Scan, Yields};
use crate::shared::{Detached, Engine, Handle, Shared};

/// A database whose transactions lock the keys that they write or read for update. Writes outside of
/// transactions take locks, too.
#[pyclass(frozen, subclass, extends = DB, module = "esker")]
pub struct TransactionDB;

#[pymethods]
impl TransactionDB {
    /// Opens the database in `path`. The options are those of `DB`; `transaction_db_options` has RocksDB's
    /// `TransactionDBOptions` by name.
    #[new]
    #[pyo3(signature = (path, *, transaction_db_options = None, load_options = false, **options))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        transaction_db_options: Option<&Bound<'_, PyDict>>,
        load_options: bool,
        options: Option<Keywords<'_, '_>>,
    ) -> PyResult<PyClassInitializer<TransactionDB>> {
        let given = PyDict::new(py);
        let options = options_of(&path, load_options, Some(options.unwrap_or(&given)))?;
        let own = database_options(transaction_db_options)?;
        let db = call(py, || txn::TransactionDB::open(&options, &own, &path))?;
        quietly(py, || drop(options));
        Ok(DB::of(Shared::open(Engine::Pessimistic(db))).add_subclass(TransactionDB))
    }

    /// Begins a transaction. As a context manager the transaction is committed at the end of the block, and
    /// rolled back if the block raises.
    #[pyo3(signature = (**options))]
    fn transaction(this: &Bound<'_, Self>, options: Option<Keywords<'_, '_>>) -> PyResult<Transaction> {
        let (options, write) = transaction_options(this.py(), options)?;
        Transaction::begin(this.as_super(), move |shared| match shared.engine() {
            Engine::Pessimistic(db) => Ok(db.begin_transaction(&write, &options)),
            _ => Err(no_transactions()),
        })
    }

    /// Returns the prepared transaction of that name, or `None`.
    fn transaction_by_name(this: &Bound<'_, Self>, name: Bytes<'_>) -> PyResult<Option<Transaction>> {
        let db = this.as_super();
        let shared = DB::shared(db);
        let found = call(this.py(), || match shared.engine() {
            Engine::Pessimistic(db) => Ok(db.get_transaction_by_name(&name)),
            _ => Err(no_transactions()),
        })?;
        Ok(found.map(|found| Transaction::around(shared.clone(), found)))
    }

    /// Returns the transactions that are prepared and not ended, including those recovered when the database
    /// was opened.
    fn prepared_transactions(this: &Bound<'_, Self>) -> PyResult<Vec<Transaction>> {
        let db = this.as_super();
        let shared = DB::shared(db);
        let found = call(this.py(), || match shared.engine() {
            Engine::Pessimistic(db) => Ok(db.get_all_prepared_transactions()),
            _ => Err(no_transactions()),
        })?;
        let transactions = found.into_iter();
        Ok(transactions
            .map(|found| Transaction::around(shared.clone(), found))
            .collect())
    }
}

/// A database whose transactions take no locks. Their commit fails if another write has changed a key that
/// they have read or written.
#[pyclass(frozen, subclass, extends = DB, module = "esker")]
pub struct OptimisticTransactionDB;

#[pymethods]
impl OptimisticTransactionDB {
    /// Opens the database in `path`. The options are those of `DB`.
    #[new]
    #[pyo3(signature = (path, *, load_options = false, **options))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        load_options: bool,
        options: Option<Keywords<'_, '_>>,
    ) -> PyResult<PyClassInitializer<OptimisticTransactionDB>> {
        let given = PyDict::new(py);
        let options = options_of(&path, load_options, Some(options.unwrap_or(&given)))?;
        let db = call(py, || Db::open(&options, &path))?;
        quietly(py, || drop(options));
        let engine = Engine::Optimistic(txn::OptimisticTransactionDB::wrap(db));
        Ok(DB::of(Shared::open(engine)).add_subclass(OptimisticTransactionDB))
    }

    /// Begins a transaction. As a context manager the transaction is committed at the end of the block, and
    /// rolled back if the block raises.
    #[pyo3(signature = (*, set_snapshot = false, **write_options))]
    fn transaction(
        this: &Bound<'_, Self>,
        set_snapshot: bool,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Transaction> {
        let write = self::write_options(write_options)?;
        let options = OptimisticTransactionOptions {
            set_snapshot,
            ..OptimisticTransactionOptions::default()
        };
        Transaction::begin(this.as_super(), move |shared| match shared.engine() {
            Engine::Optimistic(db) => Ok(db.begin_transaction(&write, &options)),
            _ => Err(no_transactions()),
        })
    }
}

fn no_transactions() -> Error {
    Error::invalid_argument("the database has no transactions of this kind")
}

fn database_options(dict: Option<&Bound<'_, PyDict>>) -> PyResult<TransactionDBOptions> {
    let mut options = TransactionDBOptions::default();
    for (name, value) in dict.into_iter().flatten() {
        let name: String = name.extract()?;
        match &*name {
            "max_num_locks" => options.max_num_locks = value.extract()?,
            "max_num_deadlocks" => options.max_num_deadlocks = value.extract()?,
            "num_stripes" => options.num_stripes = value.extract()?,
            "transaction_lock_timeout" => options.transaction_lock_timeout = value.extract()?,
            "default_lock_timeout" => options.default_lock_timeout = value.extract()?,
            "skip_concurrency_control" => options.skip_concurrency_control = value.extract()?,
            _ => return Err(unknown("transaction database", &name)),
        }
    }
    Ok(options)
}

/// Returns the options of a transaction, and the write options of its commit.
fn transaction_options(
    py: Python<'_>,
    keywords: Option<Keywords<'_, '_>>,
) -> PyResult<(TransactionOptions, WriteOptions)> {
    let mut options = TransactionOptions::default();
    let write = PyDict::new(py);
    for (name, value) in keywords.into_iter().flatten() {
        let word = name.cast::<PyString>()?.to_cow()?.into_owned();
        match &*word {
            "set_snapshot" => options.set_snapshot = value.extract()?,
            "deadlock_detect" => options.deadlock_detect = value.extract()?,
            "deadlock_detect_depth" => options.deadlock_detect_depth = value.extract()?,
            "lock_timeout" => options.lock_timeout = value.extract()?,
            "expiration" => options.expiration = value.extract()?,
            "max_write_batch_size" => options.max_write_batch_size = value.extract()?,
            "skip_prepare" => options.skip_prepare = value.extract()?,
            "skip_concurrency_control" => options.skip_concurrency_control = value.extract()?,
            _ => write.set_item(name, value)?,
        }
    }
    Ok((options, write_options(Some(&write))?))
}

/// Reads and writes that are committed together. A transaction sees its own writes. Each method takes
/// `column_family`; the default is the default family. One thread at a time uses a transaction: others get
/// `Busy`.
#[pyclass(frozen, module = "esker")]
pub struct Transaction {
    shared: Handle,
    transaction: Mutex<Option<Detached<txn::Transaction>>>,
}

type Family<'a, 'py> = Option<&'a Bound<'py, ColumnFamily>>;

impl Transaction {
    fn around(shared: Handle, transaction: txn::Transaction) -> Transaction {
        Transaction {
            shared,
            transaction: Mutex::new(Some(Detached::new(transaction))),
        }
    }

    fn begin(
        db: &Bound<'_, DB>,
        begin: impl FnOnce(&Shared) -> Result<txn::Transaction> + Send,
    ) -> PyResult<Transaction> {
        let shared = DB::shared(db);
        let begun = call(db.py(), || {
            shared.check_open()?;
            begin(shared)
        })?;
        Ok(Transaction::around(shared.clone(), begun))
    }

    /// Runs a function with the transaction and the named family, or the default family.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        family: Family<'_, '_>,
        body: impl FnOnce(&mut txn::Transaction, &esker::ColumnFamily) -> Result<T> + Send,
    ) -> PyResult<T> {
        let family = family.map(|family| family.as_super().get().family.clone());
        call_with(py, &self.transaction, |transaction| {
            self.shared.check_open()?;
            let family = family.unwrap_or_else(|| self.shared.db().default_column_family());
            match transaction {
                Some(transaction) => body(transaction, &family),
                None => Err(Error::invalid_argument("the transaction has ended")),
            }
        })
    }

    /// Ends the transaction by `end`, a commit or a rollback.
    fn end(&self, py: Python<'_>, end: fn(&mut txn::Transaction) -> Result<()>) -> PyResult<()> {
        self.with(py, None, |transaction, _| end(transaction))
    }

    fn value(
        &self,
        py: Python<'_>,
        key: &[u8],
        family: Family<'_, '_>,
        keywords: Option<Keywords<'_, '_>>,
    ) -> PyResult<Option<PinnedValue>> {
        let options = read_options(None, keywords)?;
        self.with(py, family, |transaction, family| {
            transaction.get_cf_opt(family, key, &options)
        })
    }

    fn iterator(
        &self,
        py: Python<'_>,
        range: Range<'_>,
        family: Family<'_, '_>,
        keywords: Option<Keywords<'_, '_>>,
    ) -> PyResult<DbIterator> {
        let mut options = read_options(None, keywords)?;
        let bytewise = match family {
            Some(family) => family.as_super().get().family.comparator().is_bytewise(),
            None => self.with(py, None, |_, family| Ok(family.comparator().is_bytewise()))?,
        };
        range.bound(py, bytewise, &mut options)?;
        self.with(py, family, |transaction, family| {
            transaction.iter_cf_opt(family, &options)
        })
    }
}

#[pymethods]
impl Transaction {
    /// Returns the value that `key` would have after a commit, or `default`.
    #[pyo3(signature = (key, default = None, *, column_family = None, **read_options))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'_>,
        default: Option<Bound<'py, PyAny>>,
        column_family: Family<'_, '_>,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.value(py, &key, column_family, read_options)?;
        Ok(value.map_or(default, |value| Some(PyBytes::new(py, &value).into_any())))
    }

    /// Locks the key, and then reads it like `get`. The lock is exclusive; with `exclusive=False` readers
    /// share it.
    #[pyo3(signature = (key, default = None, *, exclusive = true, do_validate = true, column_family = None, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn get_for_update<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'_>,
        default: Option<Bound<'py, PyAny>>,
        exclusive: bool,
        do_validate: bool,
        column_family: Family<'_, '_>,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let options = self::read_options(None, read_options)?;
        let value = self.with(py, column_family, |transaction, family| {
            transaction.get_for_update_cf_opt(family, &key, exclusive, do_validate, &options)
        })?;
        Ok(value.map_or(default, |value| Some(PyBytes::new(py, &value).into_any())))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes: Bytes<'_> = key.extract()?;
        match self.value(py, &bytes, None, None)? {
            Some(value) => Ok(PyBytes::new(py, &value)),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        Ok(self.value(py, &key, None, None)?.is_some())
    }

    /// Sets `key` to `value`.
    #[pyo3(signature = (key, value, *, column_family = None))]
    fn put(
        &self,
        py: Python<'_>,
        key: Bytes<'_>,
        value: Bytes<'_>,
        column_family: Family<'_, '_>,
    ) -> PyResult<()> {
        self.with(py, column_family, |transaction, family| {
            transaction.put_cf(family, &key, &value)
        })
    }

    fn __setitem__(&self, py: Python<'_>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        self.put(py, key, value, None)
    }

    /// Deletes `key`, whether or not it exists.
    #[pyo3(signature = (key, *, column_family = None))]
    fn delete(&self, py: Python<'_>, key: Bytes<'_>, column_family: Family<'_, '_>) -> PyResult<()> {
        self.with(py, column_family, |transaction, family| {
            transaction.delete_cf(family, &key)
        })
    }

    fn __delitem__(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<()> {
        self.delete(py, key, None)
    }

    /// Deletes `key`, which must have been put exactly once since it was last absent.
    #[pyo3(signature = (key, *, column_family = None))]
    fn single_delete(&self, py: Python<'_>, key: Bytes<'_>, column_family: Family<'_, '_>) -> PyResult<()> {
        self.with(py, column_family, |transaction, family| {
            transaction.single_delete_cf(family, &key)
        })
    }

    /// Adds `operand` to the value of `key`, by the family's merge operator.
    #[pyo3(signature = (key, operand, *, column_family = None))]
    fn merge(
        &self,
        py: Python<'_>,
        key: Bytes<'_>,
        operand: Bytes<'_>,
        column_family: Family<'_, '_>,
    ) -> PyResult<()> {
        self.with(py, column_family, |transaction, family| {
            transaction.merge_cf(family, &key, &operand)
        })
    }

    /// Iterates over the keys and values that a range would have after a commit.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, reverse = false, column_family = None, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn items(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        reverse: bool,
        column_family: Family<'_, '_>,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Scan> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        let iter = self.iterator(py, range, column_family, read_options)?;
        Ok(Scan::over(self.shared.clone(), iter, Yields::Items, reverse))
    }

    /// Returns a cursor over the rows that a range would have after a commit. It is not on a row yet.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, column_family = None, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn cursor(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        column_family: Family<'_, '_>,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Cursor> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        let iter = self.iterator(py, range, column_family, read_options)?;
        Ok(Cursor::over(self.shared.clone(), iter))
    }

    /// Commits the transaction. An optimistic transaction raises `Busy` or `TryAgain` if another write has
    /// changed a key that it has read or written.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py, txn::Transaction::commit)
    }

    /// Discards all writes of the transaction, and releases its locks.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py, txn::Transaction::rollback)
    }

    /// Writes the transaction to the WAL, so that it can be committed or rolled back later, even after a
    /// crash. It must have a name.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py, txn::Transaction::prepare)
    }

    /// Sets the name of the transaction, which `prepare` requires.
    fn set_name(&self, py: Python<'_>, name: Bytes<'_>) -> PyResult<()> {
        self.with(py, None, |transaction, _| transaction.set_name(&name))
    }

    /// Sets a savepoint for `rollback_to_save_point`.
    fn set_save_point(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, None, |transaction, _| {
            transaction.set_save_point();
            Ok(())
        })
    }

    /// Discards the writes since the last savepoint, and the savepoint. `NotFound` without one.
    fn rollback_to_save_point(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, None, |transaction, _| transaction.rollback_to_save_point())
    }

    /// Removes the last savepoint, and keeps the writes. `NotFound` without one.
    fn pop_save_point(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, None, |transaction, _| transaction.pop_save_point())
    }

    /// Sets a snapshot: from now on writes of the transaction fail if their key was changed after this
    /// moment.
    fn set_snapshot(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, None, |transaction, _| {
            transaction.set_snapshot();
            Ok(())
        })
    }

    /// The name of the transaction; empty if it has none.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let name = self.with(py, None, |transaction, _| Ok(transaction.name().to_vec()))?;
        Ok(PyBytes::new(py, &name))
    }

    /// The state of the transaction, by RocksDB's name.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, None, |transaction, _| {
            Ok(format!("{:?}", transaction.state()))
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (_type, value, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _type: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if value.is_none() {
            let committed = self.end(py, |transaction| match transaction.state() {
                txn::TransactionState::Started | txn::TransactionState::Prepared => transaction.commit(),
                _ => Ok(()),
            });
            if committed.is_err() {
                // The caller gets the commit's error. An error of the rollback, which releases the locks, is
                // ignored.
                let _ = self.rollback(py);
            }
            return committed;
        }
        // The caller gets the exception of the `with` block; an error of the rollback is ignored.
        let _ = self.rollback(py);
        Ok(())
    }
}
