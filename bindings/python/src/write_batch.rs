//! Write batches: all of their writes are applied, or none.

use esker::{Error, WriteOptions};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Bytes;
use crate::call::{call, exception};
use crate::column_family::ColumnFamily;
use crate::operation::{Keywords, write_options};
use crate::shared::Handle;

/// Writes to any families of one database that are applied together.
#[pyclass(frozen, module = "esker")]
pub struct WriteBatch {
    /// The database that the batch is written to at the end of its `with` block, the default family of its
    /// operations, and the write options.
    target: Option<(Handle, esker::ColumnFamily, WriteOptions)>,
    batch: Mutex<esker::WriteBatch>,
}

type Family<'a, 'py> = Option<&'a Bound<'py, ColumnFamily>>;

impl WriteBatch {
    pub fn bound(shared: Handle, family: esker::ColumnFamily, options: WriteOptions) -> WriteBatch {
        WriteBatch {
            target: Some((shared, family, options)),
            batch: Mutex::new(esker::WriteBatch::new()),
        }
    }

    /// Returns a copy of the batch.
    pub fn contents(&self) -> esker::WriteBatch {
        self.batch.lock().clone()
    }

    /// Adds an operation by calling `to` with the named family or the batch's default one, or `default`
    /// without either.
    #[inline]
    fn add(
        &self,
        family: Family<'_, '_>,
        to: impl FnOnce(&mut esker::WriteBatch, &esker::ColumnFamily),
        default: impl FnOnce(&mut esker::WriteBatch),
    ) {
        let mut batch = self.batch.lock();
        match (family, &self.target) {
            (Some(family), _) => to(&mut batch, &family.as_super().get().family),
            (None, Some((_, family, _))) => to(&mut batch, family),
            (None, None) => default(&mut batch),
        }
    }
}

#[pymethods]
impl WriteBatch {
    /// Creates an empty batch, which belongs to no database yet: `DB.write` applies it.
    #[new]
    fn new() -> WriteBatch {
        WriteBatch {
            target: None,
            batch: Mutex::new(esker::WriteBatch::new()),
        }
    }

    /// Creates a batch from the bytes of another one, in RocksDB's wire format.
    #[staticmethod]
    fn from_data(py: Python<'_>, data: Bytes<'_>) -> PyResult<WriteBatch> {
        let batch = esker::WriteBatch::from_data(&data).map_err(|error| exception(py, &error))?;
        Ok(WriteBatch {
            target: None,
            batch: Mutex::new(batch),
        })
    }

    /// Sets `key` to `value`.
    #[pyo3(signature = (key, value, *, column_family = None))]
    fn put(&self, key: Bytes<'_>, value: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.put_cf(family, &key, &value),
            |batch| batch.put(&key, &value),
        );
    }

    fn __setitem__(&self, key: Bytes<'_>, value: Bytes<'_>) {
        self.put(key, value, None);
    }

    /// Deletes `key`, whether or not it exists.
    #[pyo3(signature = (key, *, column_family = None))]
    fn delete(&self, key: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.delete_cf(family, &key),
            |batch| batch.delete(&key),
        );
    }

    fn __delitem__(&self, key: Bytes<'_>) {
        self.delete(key, None);
    }

    /// Deletes `key`, which must have been put exactly once since it was last absent.
    #[pyo3(signature = (key, *, column_family = None))]
    fn single_delete(&self, key: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.single_delete_cf(family, &key),
            |batch| batch.single_delete(&key),
        );
    }

    /// Adds `operand` to the value of `key`, by the family's merge operator.
    #[pyo3(signature = (key, operand, *, column_family = None))]
    fn merge(&self, key: Bytes<'_>, operand: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.merge_cf(family, &key, &operand),
            |batch| batch.merge(&key, &operand),
        );
    }

    /// Deletes every key from `start` to `stop`, exclusive.
    #[pyo3(signature = (start, stop, *, column_family = None))]
    fn delete_range(&self, start: Bytes<'_>, stop: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.delete_range_cf(family, &start, &stop),
            |batch| batch.delete_range(&start, &stop),
        );
    }

    /// Adds bytes to the WAL that belong to no key.
    fn put_log_data(&self, blob: Bytes<'_>) {
        self.batch.lock().put_log_data(&blob);
    }

    /// Appends all operations of `other`.
    fn append(&self, other: &Bound<'_, WriteBatch>) {
        let other = other.get().contents();
        self.batch.lock().append(&other);
    }

    /// Removes all operations.
    fn clear(&self) {
        self.batch.lock().clear();
    }

    /// Sets a savepoint for `rollback_to_save_point`.
    fn set_save_point(&self) {
        self.batch.lock().set_save_point();
    }

    /// Discards the operations since the last savepoint, and the savepoint. `NotFound` without one.
    fn rollback_to_save_point(&self, py: Python<'_>) -> PyResult<()> {
        let rolled_back = self.batch.lock().rollback_to_save_point();
        rolled_back.map_err(|error| exception(py, &error))
    }

    /// Removes the last savepoint, and keeps the operations. `NotFound` without one.
    fn pop_save_point(&self, py: Python<'_>) -> PyResult<()> {
        let popped = self.batch.lock().pop_save_point();
        popped.map_err(|error| exception(py, &error))
    }

    /// The bytes of the batch, in RocksDB's wire format.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.batch.lock().data())
    }

    /// The size of the batch in bytes.
    #[getter]
    fn data_size(&self) -> usize {
        self.batch.lock().data_size()
    }

    fn __len__(&self) -> usize {
        self.batch.lock().count() as usize
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// Applies the batch to its database, and empties it. `InvalidArgument` if it belongs to none.
    #[pyo3(signature = (**write_options))]
    fn write(&self, py: Python<'_>, write_options: Option<Keywords<'_, '_>>) -> PyResult<()> {
        let Some((shared, _, options)) = &self.target else {
            let error = Error::invalid_argument("the batch belongs to no database: DB.write applies it");
            return Err(exception(py, &error));
        };
        let options = match write_options {
            Some(_) => self::write_options(write_options)?,
            None => options.clone(),
        };
        // The write does not hold the lock of the batch: a thread that waits for the lock may hold the GIL,
        // and a comparator in the write waits for the GIL.
        let batch = std::mem::take(&mut *self.batch.lock());
        call(py, || {
            let written = shared
                .check_open()
                .and_then(|()| shared.write_opt(batch.clone(), &options));
            written.inspect_err(|_| *self.batch.lock() = batch)
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
            return self.write(py, None);
        }
        self.clear();
        Ok(())
    }
}
