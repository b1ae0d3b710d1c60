//! The orders of keys: RocksDB's by name, and orders written in Python.

use std::cmp::Ordering;
use std::sync::Arc;

use esker::UserComparator;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::call::{invalid, unwind};

/// Returns the order of an option's value: the name of a built-in order, or an object with `name` and
/// `compare`.
pub fn of(value: &Bound<'_, PyAny>) -> PyResult<UserComparator> {
    if let Ok(name) = value.cast::<PyString>() {
        return builtin_comparator(value.py(), &name.to_cow()?);
    }
    let name = value.getattr_opt("name")?;
    let name = name.and_then(|name| name.extract::<String>().ok());
    match (name, value.getattr_opt("compare")?) {
        (Some(name), Some(compare)) => Ok(UserComparator::Custom(Arc::new(InPython {
            name,
            compare: compare.unbind(),
        }))),
        _ => Err(PyTypeError::new_err(
            "a comparator is a name, or an object with a str name and a method compare",
        )),
    }
}

struct InPython {
    name: String,
    compare: Py<PyAny>,
}

impl esker::Comparator for InPython {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_told_to_rocksdb(&self) -> bool {
        false
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let compared = Python::try_attach(|py| {
            let compare = self.compare.bind(py);
            let order = compare
                .call1((PyBytes::new(py, a), PyBytes::new(py, b)))
                .and_then(|order| order.extract::<i64>());
            match order {
                Ok(order) => order.cmp(&0),
                Err(error) => unwind(py, error, compare),
            }
        });
        // Unreachable: the interpreter has ended, and databases and their threads end before it.
        compared
            .unwrap_or_else(|| std::panic::resume_unwind(Box::new("the interpreter has ended".to_owned())))
    }
}

/// Returns the built-in order with the given name, as OPTIONS files spell it.
pub fn builtin_comparator(py: Python<'_>, name: &str) -> PyResult<UserComparator> {
    UserComparator::builtin(name).ok_or_else(|| invalid(py, format!("no built-in comparator {name}")))
}
