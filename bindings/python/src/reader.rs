//! A column family to read from.

use esker::ColumnFamily;
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::shared::{Detached, Handle};

/// A column family to read from, as a mapping of bytes to bytes in the order of its keys.
#[pyclass(frozen, subclass, module = "esker")]
pub struct Reader {
    pub shared: Handle,
    pub family: ColumnFamily,
    /// The moment that a snapshot reads at, until it is closed.
    pub at: Option<Mutex<Option<Detached<esker::Snapshot>>>>,
}

impl Reader {
    pub fn of(shared: Handle, family: ColumnFamily, snapshot: Option<esker::Snapshot>) -> Reader {
        Reader {
            shared,
            family,
            at: snapshot.map(|snapshot| Mutex::new(Some(Detached::new(snapshot)))),
        }
    }

    /// The snapshot it reads at, if it is one. `ValueError` once that is closed.
    pub fn snapshot(&self) -> PyResult<Option<esker::Snapshot>> {
        let Some(at) = &self.at else {
            return Ok(None);
        };
        match at.lock().as_deref() {
            Some(snapshot) => Ok(Some(snapshot.clone())),
            None => Err(PyValueError::new_err("the snapshot is closed")),
        }
    }
}
