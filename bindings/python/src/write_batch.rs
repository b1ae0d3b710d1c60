//! Many writes, all of them or nothing.

use esker::{Error, WriteOptions};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Bytes;
use crate::call::{call, exception};
use crate::column_family::ColumnFamily;
use crate::operation::{Keywords, write_options};
use crate::shared::Handle;

/// Writes that are applied together, over any families of one database.
#[pyclass(frozen, module = "esker")]
pub struct WriteBatch {
    /// Where it is written at the end of its block, and which family is meant where none is named.
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

    /// A copy of what it holds.
    pub fn contents(&self) -> esker::WriteBatch {
        self.batch.lock().clone()
    }

    /// Adds to it: `to` for the family that is named or meant, `default` where neither is.
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
    /// An empty batch that belongs to no database yet: `DB.write` applies it.
    #[new]
    fn new() -> WriteBatch {
        WriteBatch {
            target: None,
            batch: Mutex::new(esker::WriteBatch::new()),
        }
    }

    /// A batch of the bytes of another: RocksDB's wire format.
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

    /// Deletes `key`, which must have been put exactly once since it last did not exist.
    #[pyo3(signature = (key, *, column_family = None))]
    fn single_delete(&self, key: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.single_delete_cf(family, &key),
            |batch| batch.single_delete(&key),
        );
    }

    /// Adds `operand` to what `key` holds, by the family's merge operator.
    #[pyo3(signature = (key, operand, *, column_family = None))]
    fn merge(&self, key: Bytes<'_>, operand: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.merge_cf(family, &key, &operand),
            |batch| batch.merge(&key, &operand),
        );
    }

    /// Deletes every key from `start` up to `stop`, exclusive.
    #[pyo3(signature = (start, stop, *, column_family = None))]
    fn delete_range(&self, start: Bytes<'_>, stop: Bytes<'_>, column_family: Family<'_, '_>) {
        self.add(
            column_family,
            |batch, family| batch.delete_range_cf(family, &start, &stop),
            |batch| batch.delete_range(&start, &stop),
        );
    }

    /// Adds bytes to the WAL that no key gets.
    fn put_log_data(&self, blob: Bytes<'_>) {
        self.batch.lock().put_log_data(&blob);
    }

    /// Adds all of `other` behind what there is.
    fn append(&self, other: &Bound<'_, WriteBatch>) {
        let other = other.get().contents();
        self.batch.lock().append(&other);
    }

    /// Empties it.
    fn clear(&self) {
        self.batch.lock().clear();
    }

    /// Remembers what it holds, for `rollback_to_save_point`.
    fn set_save_point(&self) {
        self.batch.lock().set_save_point();
    }

    /// Forgets what came since the last save point, and the save point. `NotFound` without one.
    fn rollback_to_save_point(&self, py: Python<'_>) -> PyResult<()> {
        let rolled_back = self.batch.lock().rollback_to_save_point();
        rolled_back.map_err(|error| exception(py, &error))
    }

    /// Forgets the last save point. `NotFound` without one.
    fn pop_save_point(&self, py: Python<'_>) -> PyResult<()> {
        let popped = self.batch.lock().pop_save_point();
        popped.map_err(|error| exception(py, &error))
    }

    /// Its bytes, in RocksDB's wire format.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.batch.lock().data())
    }

    /// Bytes of it.
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

    /// Applies it to the database it came from, and empties it. `InvalidArgument` if it came from none.
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
        // Not written under the lock: who waits for that may have the GIL, which a comparator waits for.
        let batch = std::mem::take(&mut *self.batch.lock());
        call(py, || {
            let written = shared
                .check_open()
                .and_then(|()| shared.write(&options, batch.clone()));
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
