//! A column family for reads.

use esker::ColumnFamily;
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::shared::{Detached, Handle};

/// A column family for reads, as a mapping of bytes to bytes in the order of its keys.
#[pyclass(frozen, subclass, module = "esker")]
pub struct Reader {
    pub shared: Handle,
    pub family: ColumnFamily,
    /// The snapshot of the reads, until it is closed. `None` for reads of the current rows.
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

    /// Returns the snapshot of the reads, if there is one. `ValueError` if it is closed.
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
