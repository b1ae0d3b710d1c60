//! Tables that are written outside of a database, for ingestion.

use std::path::PathBuf;

use esker::{Error, ExternalSstFileInfo, Options};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::{Values, batches_of};
use crate::bytes::Bytes;
use crate::call::call_with;
use crate::operation::Keywords;
use crate::options::set_all;
use crate::shared::Detached;

/// Writes a table file for `ingest`, of Esker or RocksDB. Keys must come in the order of the family, one
/// entry each.
///
/// The end of a `with` block finishes the file, or removes it if the block raises.
#[pyclass(frozen, module = "esker")]
pub struct SstFileWriter {
    path: PathBuf,
    writer: Mutex<Option<Detached<esker::SstFileWriter>>>,
}

impl SstFileWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut esker::SstFileWriter) -> esker::Result<T> + Send,
    ) -> PyResult<T> {
        call_with(py, &self.writer, |writer| match writer {
            Some(writer) => body(writer),
            None => Err(esker::Error::invalid_argument("the file is finished")),
        })
    }
}

#[pymethods]
impl SstFileWriter {
    /// Creates the file `path`. The options are those of `DB`; the options of the table's family apply.
    #[new]
    #[pyo3(signature = (path, **options))]
    fn new(py: Python<'_>, path: PathBuf, options: Option<Keywords<'_, '_>>) -> PyResult<SstFileWriter> {
        let mut chosen = Options::default();
        set_all(&mut chosen, options)?;
        let writer = SstFileWriter {
            writer: Mutex::new(Some(Detached::new(esker::SstFileWriter::new(&chosen)))),
            path,
        };
        writer.with(py, |file| file.open(&writer.path))?;
        Ok(writer)
    }

    /// Adds a key, which must come after all previous keys.
    fn put(&self, py: Python<'_>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        self.with(py, |writer| writer.put(&key, &value))
    }

    fn __setitem__(&self, py: Python<'_>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        self.put(py, key, value)
    }

    /// Adds every row of a table, a record batch or a stream of Arrow, from the columns `key` and `value` of
    /// bytes or text. The keys must ascend, and come after all previous keys. A null value adds a deletion; a
    /// null key is an error. Returns the number of rows.
    #[pyo3(signature = (data, *, key = "key", value = "value"))]
    fn write_arrow(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        key: &str,
        value: &str,
    ) -> PyResult<usize> {
        let batches = batches_of(data)?;
        self.with(py, |writer| {
            let mut rows = 0;
            for batch in batches {
                let batch = batch.map_err(|error| Error::invalid_argument(error.to_string()))?;
                let (keys, values) = (Values::of(&batch, key)?, Values::of(&batch, value)?);
                for row in 0..batch.num_rows() {
                    let key = keys
                        .get(row)
                        .ok_or_else(|| Error::invalid_argument("a key is null"))?;
                    match values.get(row) {
                        Some(value) => writer.put(key, value)?,
                        None => writer.delete(key)?,
                    }
                }
                rows += batch.num_rows();
            }
            Ok(rows)
        })
    }

    /// Adds a merge operand.
    fn merge(&self, py: Python<'_>, key: Bytes<'_>, operand: Bytes<'_>) -> PyResult<()> {
        self.with(py, |writer| writer.merge(&key, &operand))
    }

    /// Adds a deletion.
    fn delete(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<()> {
        self.with(py, |writer| writer.delete(&key))
    }

    /// Adds a deletion of every key from `start` to `stop`, exclusive. Range deletions may come in any order.
    fn delete_range(&self, py: Python<'_>, start: Bytes<'_>, stop: Bytes<'_>) -> PyResult<()> {
        self.with(py, |writer| writer.delete_range(&start, &stop))
    }

    /// The size in bytes of the file so far.
    #[getter]
    fn file_size(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |writer| Ok(writer.file_size()))
    }

    /// Completes the file and syncs it. Returns its properties as a dict.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = call_with(py, &self.writer, |writer| {
            let finished = match writer {
                Some(writer) => writer.finish()?,
                None => return Err(esker::Error::invalid_argument("the file is finished")),
            };
            *writer = None;
            Ok(finished)
        })?;
        dict(py, &info)
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
        let is_whole = value.is_none();
        call_with(py, &self.writer, |writer| {
            let Some(open) = writer else {
                return Ok(());
            };
            let finished = match is_whole {
                true => open.finish().map(drop),
                false => Ok(()),
            };
            *writer = None;
            finished
        })
    }
}

fn dict<'py>(py: Python<'py>, info: &ExternalSstFileInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file_path", &info.file_path)?;
    dict.set_item("smallest_key", PyBytes::new(py, &info.smallest_key))?;
    dict.set_item("largest_key", PyBytes::new(py, &info.largest_key))?;
    dict.set_item("file_size", info.file_size)?;
    dict.set_item("num_entries", info.num_entries)?;
    dict.set_item("num_range_del_entries", info.num_range_del_entries)?;
    Ok(dict)
}
