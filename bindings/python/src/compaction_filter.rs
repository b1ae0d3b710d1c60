//! Compaction filters written in Python.

use std::panic::resume_unwind;
use std::sync::Arc;

use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString, PyTuple};

use crate::bytes::owned;
use crate::call::unwind;
use crate::merge_operator::name_of;

type Factory = Option<Arc<dyn CompactionFilterFactory>>;

/// Returns a factory that uses one filter for every compaction: a function, or an object with the method
/// `filter`.
pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Factory> {
    if value.is_none() {
        return Ok(None);
    }
    let name = name_of(value)?;
    Ok(Some(Arc::new(One {
        name,
        filter: InPython::of(value)?,
    })))
}

/// Returns a factory that calls `value` for each compaction: a function that returns a filter, or `None`.
pub fn factory_of(value: &Bound<'_, PyAny>) -> PyResult<Factory> {
    if value.is_none() {
        return Ok(None);
    }
    if !value.is_callable() {
        return Err(PyTypeError::new_err("the filter factory must be a function"));
    }
    Ok(Some(Arc::new(Made {
        name: name_of(value)?,
        create: value.clone().unbind(),
    })))
}

/// A factory that uses the same filter for all compactions.
struct One {
    name: String,
    filter: InPython,
}

impl CompactionFilterFactory for One {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let filter = Python::try_attach(|py| self.filter.clone_ref(py));
        Some(Box::new(filter.unwrap_or_else(ended)))
    }
}

/// A factory that creates a filter for each compaction.
struct Made {
    name: String,
    create: Py<PyAny>,
}

impl CompactionFilterFactory for Made {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let made = Python::try_attach(|py| {
            let create = self.create.bind(py);
            let made = dict(py, context)
                .and_then(|context| create.call1((context,)))
                .and_then(|made| match made.is_none() {
                    true => Ok(None),
                    false => InPython::of(&made).map(Some),
                });
            made.unwrap_or_else(|error| unwind(py, error, create))
        });
        let filter = made.unwrap_or_else(ended)?;
        Some(Box::new(filter))
    }
}

fn dict<'py>(py: Python<'py>, context: &FilterContext) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("is_full_compaction", context.is_full_compaction)?;
    dict.set_item("is_manual_compaction", context.is_manual_compaction)?;
    dict.set_item("column_family_id", context.column_family_id)?;
    dict.set_item("input_start_level", context.input_start_level)?;
    dict.set_item("oldest_snapshot", context.oldest_snapshot)?;
    Ok(dict)
}

struct InPython {
    /// The form of a Python filter: called with key and value, or with level, key, kind and value.
    code: Py<PyAny>,
    is_method: bool,
    /// The method `filter_entity`, if the filter has one.
    entities: Option<Py<PyAny>>,
}

impl InPython {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<InPython> {
        let entities = value.getattr_opt("filter_entity")?.map(Bound::unbind);
        match value.getattr_opt("filter")? {
            Some(method) => Ok(InPython {
                code: method.unbind(),
                is_method: true,
                entities,
            }),
            None if value.is_callable() => Ok(InPython {
                code: value.clone().unbind(),
                is_method: false,
                entities,
            }),
            None => Err(PyTypeError::new_err(
                "a compaction filter is a function, or an object with filter",
            )),
        }
    }

    fn clone_ref(&self, py: Python<'_>) -> InPython {
        InPython {
            code: self.code.clone_ref(py),
            is_method: self.is_method,
            entities: self.entities.as_ref().map(|code| code.clone_ref(py)),
        }
    }
}

impl CompactionFilter for InPython {
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        let kind = match value_type {
            ValueType::Value => "value",
            ValueType::MergeOperand => "merge_operand",
        };
        if !self.is_method && value_type != ValueType::Value {
            return Decision::Keep;
        }
        let decided = Python::try_attach(|py| {
            let code = self.code.bind(py);
            let (key, value) = (PyBytes::new(py, key), PyBytes::new(py, value));
            let answer = match self.is_method {
                true => code.call1((level, key, kind, value)),
                false => code.call1((key, value)),
            };
            answer
                .and_then(|answer| decision(&answer))
                .unwrap_or_else(|error| unwind(py, error, code))
        });
        decided.unwrap_or_else(ended)
    }

    fn filter_entity(&mut self, level: usize, key: &[u8], columns: &[(&[u8], &[u8])]) -> Decision {
        let Some(code) = &self.entities else {
            return Decision::Keep;
        };
        let decided = Python::try_attach(|py| {
            let code = code.bind(py);
            let answer =
                by_name(py, columns).and_then(|columns| code.call1((level, PyBytes::new(py, key), columns)));
            answer
                .and_then(|answer| decision(&answer))
                .unwrap_or_else(|error| unwind(py, error, code))
        });
        decided.unwrap_or_else(ended)
    }
}

/// The columns of an entity as a dict from names to values.
fn by_name<'py>(py: Python<'py>, columns: &[(&[u8], &[u8])]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in columns {
        dict.set_item(PyBytes::new(py, name), PyBytes::new(py, value))?;
    }
    Ok(dict)
}

/// Translates the result of a Python compaction filter to a decision. `None` and `False` keep an entry,
/// `True` removes it, bytes replace its value, a dict makes it an entity of these columns, and
/// `("skip_until", key)` drops all entries up to `key`.
fn decision(answer: &Bound<'_, PyAny>) -> PyResult<Decision> {
    if answer.is_none() {
        return Ok(Decision::Keep);
    }
    if let Ok(remove) = answer.cast::<PyBool>() {
        return Ok(match remove.is_true() {
            true => Decision::Remove,
            false => Decision::Keep,
        });
    }
    if let Ok(word) = answer.cast::<PyString>() {
        return match &*word.to_cow()? {
            "keep" => Ok(Decision::Keep),
            "remove" => Ok(Decision::Remove),
            "purge" => Ok(Decision::Purge),
            word => Err(PyValueError::new_err(format!("unknown decision {word:?}"))),
        };
    }
    if let Ok(pair) = answer.cast::<PyTuple>() {
        let (word, key): (String, Bound<'_, PyAny>) = pair.extract()?;
        return match &*word {
            "skip_until" => Ok(Decision::RemoveAndSkipUntil(owned(&key)?)),
            word => Err(PyValueError::new_err(format!("unknown decision {word:?}"))),
        };
    }
    if let Ok(columns) = answer.cast::<PyDict>() {
        let columns = columns
            .iter()
            .map(|(name, value)| Ok((owned(&name)?, owned(&value)?)));
        return columns
            .collect::<PyResult<_>>()
            .map(Decision::ChangeWideColumnEntity);
    }
    owned(answer).map(Decision::ChangeValue)
}

/// Panics, because the interpreter has ended. No caller gets here: databases and their threads end before the
/// interpreter does.
fn ended<T>() -> T {
    resume_unwind(Box::new("the interpreter has ended".to_owned()))
}
