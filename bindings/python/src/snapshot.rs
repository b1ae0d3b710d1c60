//! Snapshots of a database.

use pyo3::PyClassInitializer;
use pyo3::prelude::*;

use crate::call::{call, quietly};
use crate::reader::Reader;

/// A view of a family as of the time of the snapshot. It keeps the database and the files of the view until
/// it is closed or dropped.
#[pyclass(frozen, extends = Reader, module = "esker")]
pub struct Snapshot;

impl Snapshot {
    pub fn of(reader: Reader) -> PyClassInitializer<Snapshot> {
        PyClassInitializer::from(reader).add_subclass(Snapshot)
    }
}

/// Returns the engine's snapshot. `ValueError` if it is closed.
pub fn snapshot_of(snapshot: &Bound<'_, Snapshot>) -> PyResult<Option<esker::Snapshot>> {
    snapshot.as_super().get().snapshot()
}

#[pymethods]
impl Snapshot {
    /// The sequence number of the snapshot.
    #[getter]
    fn sequence_number(this: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(snapshot_of(this)?.map_or(0, |snapshot| snapshot.sequence_number()))
    }

    /// Returns the snapshot of another family as of the same moment.
    fn column_family(this: &Bound<'_, Self>, name: &str) -> PyResult<Py<Snapshot>> {
        let py = this.py();
        let reader = this.as_super().get();
        let snapshot = reader.snapshot()?;
        let family = call(py, || reader.shared.family(name))?;
        Py::new(
            py,
            Snapshot::of(Reader::of(reader.shared.clone(), family, snapshot)),
        )
    }

    /// Releases the snapshot; reads raise `ValueError` from then on. A second close has no effect.
    fn close(this: &Bound<'_, Self>) {
        if let Some(at) = &this.as_super().get().at {
            let held = at.lock().take();
            quietly(this.py(), || drop(held));
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (_type, _value, _traceback, /))]
    fn __exit__(
        this: &Bound<'_, Self>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        Snapshot::close(this);
    }
}
