//! An iterator as in RocksDB: it has a position, and each method moves it.

use esker::{DbIterator, Error, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::bytes::Bytes;
use crate::call::{call_with, exception};
use crate::shared::{Detached, Handle};
use crate::snapshot::{Snapshot, snapshot_of};

/// A position in a range of rows, which moves in either direction. It sees the database as of its creation,
/// and keeps the database open. Each move returns true if the cursor is on a row afterwards.
#[pyclass(frozen, module = "esker")]
pub struct Cursor {
    shared: Handle,
    iter: Mutex<Option<Detached<DbIterator>>>,
}

impl Cursor {
    pub fn over(shared: Handle, iter: DbIterator) -> Cursor {
        Cursor {
            shared,
            iter: Mutex::new(Some(Detached::new(iter))),
        }
    }

    fn moved(&self, py: Python<'_>, step: impl FnOnce(&mut DbIterator) + Send) -> PyResult<bool> {
        call_with(py, &self.iter, |iter| {
            self.shared.check_open()?;
            let iter = open(iter)?;
            step(iter);
            iter.status().map(|()| iter.valid())
        })
    }

    /// Returns a part of the current row.
    fn row<'py, T>(&self, py: Python<'py>, part: impl FnOnce(&DbIterator) -> T) -> PyResult<T> {
        let mut iter = self.iter.try_lock().ok_or_else(|| {
            let busy = Error::new(esker::ErrorKind::Busy, "another thread is using this object");
            exception(py, &busy)
        })?;
        match open(&mut iter).and_then(standing) {
            Ok(iter) => Ok(part(iter)),
            Err(error) => Err(exception(py, &error)),
        }
    }
}

fn open(iter: &mut Option<Detached<DbIterator>>) -> Result<&mut DbIterator> {
    match iter {
        Some(iter) => Ok(iter),
        None => Err(Error::invalid_argument("the cursor is closed")),
    }
}

fn standing(iter: &mut DbIterator) -> Result<&mut DbIterator> {
    match iter.valid() {
        true => Ok(iter),
        false => Err(Error::invalid_argument("the cursor is on no row")),
    }
}

#[pymethods]
impl Cursor {
    /// Moves to the first row.
    fn seek_to_first(&self, py: Python<'_>) -> PyResult<bool> {
        self.moved(py, |iter| iter.seek_to_first())
    }

    /// Moves to the last row.
    fn seek_to_last(&self, py: Python<'_>) -> PyResult<bool> {
        self.moved(py, |iter| iter.seek_to_last())
    }

    /// Moves to the first row whose key is `key` or comes after it.
    fn seek(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        self.moved(py, |iter| iter.seek(&key))
    }

    /// Moves to the last row whose key is `key` or comes before it.
    fn seek_for_prev(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        self.moved(py, |iter| iter.seek_for_prev(&key))
    }

    /// Moves to the next row. `InvalidArgument` if the cursor is not on a row.
    fn next(&self, py: Python<'_>) -> PyResult<bool> {
        call_with(py, &self.iter, |iter| {
            self.shared.check_open()?;
            let iter = standing(open(iter)?)?;
            iter.next();
            iter.status().map(|()| iter.valid())
        })
    }

    /// Moves to the previous row. `InvalidArgument` if the cursor is not on a row.
    fn prev(&self, py: Python<'_>) -> PyResult<bool> {
        call_with(py, &self.iter, |iter| {
            self.shared.check_open()?;
            let iter = standing(open(iter)?)?;
            iter.prev();
            iter.status().map(|()| iter.valid())
        })
    }

    /// True if the cursor is on a row.
    #[getter]
    fn valid(&self) -> bool {
        let iter = self.iter.try_lock();
        iter.is_some_and(|iter| iter.as_ref().is_some_and(|iter| iter.valid()))
    }

    /// The key of the current row. `InvalidArgument` if the cursor is not on a row.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.row(py, |iter| PyBytes::new(py, iter.key()))
    }

    /// The value of the current row. `InvalidArgument` if the cursor is not on a row.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.row(py, |iter| PyBytes::new(py, iter.value()))
    }

    /// The key and value of the current row. `InvalidArgument` if the cursor is not on a row.
    #[getter]
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.row(py, |iter| {
            PyTuple::new(py, [PyBytes::new(py, iter.key()), PyBytes::new(py, iter.value())])
        })?
    }

    /// The timestamp of the current row; empty in families without timestamps.
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.row(py, |iter| PyBytes::new(py, iter.timestamp()))
    }

    /// Refreshes the cursor: from now on it sees the current database, or `snapshot`. It is not on a row
    /// afterwards.
    #[pyo3(signature = (snapshot = None))]
    fn refresh(&self, py: Python<'_>, snapshot: Option<&Bound<'_, Snapshot>>) -> PyResult<()> {
        let snapshot = snapshot.map(snapshot_of).transpose()?.flatten();
        call_with(py, &self.iter, |iter| {
            self.shared.check_open()?;
            open(iter)?.refresh(snapshot.as_ref())
        })
    }

    /// Releases the rows that the cursor sees. A second close has no effect.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        call_with(py, &self.iter, |iter| {
            *iter = None;
            Ok(())
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (_type, _value, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}
