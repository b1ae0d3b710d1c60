//! A column family for reads and writes.

use pyo3::PyClassInitializer;
use pyo3::prelude::*;

use crate::reader::Reader;
use crate::shared::Handle;

/// A column family: a mutable mapping of bytes to bytes in the order of its keys.
#[pyclass(frozen, subclass, extends = Reader, module = "esker")]
pub struct ColumnFamily;

impl ColumnFamily {
    pub fn of(shared: Handle, family: esker::ColumnFamily) -> PyClassInitializer<ColumnFamily> {
        PyClassInitializer::from(Reader::of(shared, family, None)).add_subclass(ColumnFamily)
    }
}
