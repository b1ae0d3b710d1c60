//! Merge operators: RocksDB's by name, and operators written in Python.

use std::sync::Arc;

use base::merge;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::bytes::{Bytes, owned};
use crate::call::{invalid, note};

/// A built-in merge operator of the engine, which runs no Python code.
#[pyclass(frozen, module = "esker")]
pub struct MergeOperator {
    operator: Arc<dyn esker::MergeOperator>,
}

#[pymethods]
impl MergeOperator {
    /// The name of the operator in OPTIONS files and tables.
    #[getter]
    fn name(&self) -> &str {
        self.operator.name()
    }
}

/// Joins the value and the operands with a delimiter: RocksDB's `StringAppendOperator`.
#[pyfunction]
pub fn string_append(delimiter: Bytes<'_>) -> MergeOperator {
    MergeOperator {
        operator: Arc::new(merge::StringAppend::new(delimiter.to_vec())),
    }
}

/// Returns the operator of an option's value: the name of a built-in operator, an operator of `esker.merge`,
/// an object with `full_merge`, or a function with the parameters of `full_merge`.
pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<dyn esker::MergeOperator>>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(name) = value.cast::<PyString>() {
        let name = name.to_string();
        let found = merge::builtin(&name);
        return found
            .map(Some)
            .ok_or_else(|| invalid(value.py(), format!("no built-in merge operator {name}")));
    }
    if let Ok(own) = value.cast::<MergeOperator>() {
        return Ok(Some(own.get().operator.clone()));
    }
    let full = match value.getattr_opt("full_merge")? {
        Some(method) => method,
        None if value.is_callable() => value.clone(),
        None => {
            return Err(PyTypeError::new_err(
                "a merge operator is a name, a function, or an object with full_merge",
            ));
        }
    };
    Ok(Some(Arc::new(InPython {
        name: name_of(value)?,
        full: full.unbind(),
        partial: value.getattr_opt("partial_merge")?.map(Bound::unbind),
    })))
}

/// Returns the name of user code: its attribute `name`, or `__name__`, or that of its class.
pub fn name_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    for attribute in ["name", "__name__"] {
        if let Some(name) = value.getattr_opt(attribute)?
            && let Ok(name) = name.cast::<PyString>()
        {
            return Ok(name.to_string());
        }
    }
    Ok(value.get_type().name()?.to_string())
}

struct InPython {
    name: String,
    full: Py<PyAny>,
    partial: Option<Py<PyAny>>,
}

impl esker::MergeOperator for InPython {
    fn name(&self) -> &str {
        &self.name
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        Python::try_attach(|py| {
            let merged = (|| {
                let operands = PyList::new(py, operands.iter().map(|operand| PyBytes::new(py, operand)))?;
                let existing = existing.map(|existing| PyBytes::new(py, existing));
                let merged = self
                    .full
                    .bind(py)
                    .call1((PyBytes::new(py, key), existing, operands))?;
                optional(&merged)
            })();
            merged.unwrap_or_else(|error| {
                note(py, error, self.full.bind(py));
                None
            })
        })?
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let partial = self.partial.as_ref()?;
        Python::try_attach(|py| {
            let merged = (|| {
                let arguments = (
                    PyBytes::new(py, key),
                    PyBytes::new(py, older),
                    PyBytes::new(py, newer),
                );
                optional(&partial.bind(py).call1(arguments)?)
            })();
            merged.unwrap_or_else(|error| {
                note(py, error, partial.bind(py));
                None
            })
        })?
    }
}

/// Returns the bytes, or `None` for `None`.
fn optional(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    match value.is_none() {
        true => Ok(None),
        false => owned(value).map(Some),
    }
}
