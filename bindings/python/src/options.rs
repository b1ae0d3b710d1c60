//! Options as keywords by RocksDB's names: the rows of the engine's option tables, and the options that are
//! objects.

use std::path::PathBuf;
use std::sync::Arc;

use esker::option_table::{OptionRow, OptionTable};
use esker::{BlockBasedOptions, ColumnFamilyOptions, DbPath, Options};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::cache::{Cache, RateLimiter, WriteBufferManager};
use crate::call::{exception, invalid};
use crate::statistics::Statistics;
use crate::{compaction_filter, comparator, merge_operator};

/// Returns the text of `value` in an OPTIONS file. `TypeError` if it has none.
pub fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(value.str()?.to_string());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_string());
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| Ok(format!("{}={};", name.extract::<String>()?, text_of(&value)?)))
            .collect::<PyResult<_>>()?;
        return Ok(format!("{{{}}}", fields.concat()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let parts: Vec<String> = value
            .try_iter()?
            .map(|part| text_of(&part?))
            .collect::<PyResult<_>>()?;
        return Ok(parts.join(":"));
    }
    if let Ok(path) = value.call_method0("__fspath__") {
        return Ok(path.str()?.to_string());
    }
    Err(PyTypeError::new_err(format!(
        "an option is a bool, a number, a str, a list or a dict, not {}",
        value.get_type().name()?
    )))
}

/// Sets the option row `name` from a Python value. Returns false if `options` has no such row.
fn set_row<S: OptionTable>(options: &mut S, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(row) = S::row(name) else {
        return Ok(false);
    };
    check_type(row, value)?;
    let text = text_of(value)?;
    options
        .set(name, &text)
        .map_err(|error| exception(value.py(), &error))?;
    Ok(true)
}

/// `TypeError` if the value's type is not the option's, even if the option could parse its text.
fn check_type<S>(row: &OptionRow<S>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let fits = match row.type_name {
        "boolean" => value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>(),
        "integer" => {
            let number = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
            number || value.is_instance_of::<PyString>()
        }
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "{} is of type {}, not {}",
        row.name,
        row.type_name,
        value.get_type().name()?
    )))
}

/// Sets one option of a family. Returns false if there is no option of that name.
fn set_family(options: &mut ColumnFamilyOptions, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match name {
        "comparator" => options.comparator = comparator::of(value)?,
        "merge_operator" => options.merge_operator = merge_operator::of(value)?,
        "prefix_extractor" => options.prefix_extractor = prefix_extractor(value)?,
        "compaction_filter" => options.compaction_filter_factory = compaction_filter::of(value)?,
        "compaction_filter_factory" => {
            options.compaction_filter_factory = compaction_filter::factory_of(value)?;
        }
        "cf_paths" => options.cf_paths = db_paths(value)?,
        "block_cache" => options.table.block_cache = cache(value)?,
        "blob_cache" => options.blob_cache = cache(value)?,
        _ => return Ok(set_row(options, name, value)? || set_row(&mut options.table, name, value)?),
    }
    Ok(true)
}

/// Returns directories, each with the number of bytes of tables for it.
fn db_paths(value: &Bound<'_, PyAny>) -> PyResult<Vec<DbPath>> {
    let paths: Vec<(PathBuf, u64)> = value.extract()?;
    let paths = paths
        .into_iter()
        .map(|(path, target_size)| DbPath::new(path, target_size));
    Ok(paths.collect())
}

fn cache(value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<esker::BlockCache>>> {
    if value.is_none() {
        return Ok(None);
    }
    match value.cast::<Cache>() {
        Ok(cache) => Ok(Some(cache.get().cache.clone())),
        Err(_) => Ok(Some(Cache::of_capacity(value.extract()?).cache)),
    }
}

fn prefix_extractor(value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<dyn esker::PrefixExtractor>>> {
    if value.is_none() {
        return Ok(None);
    }
    let name = value.cast::<PyString>()?.to_string();
    match base::prefix::builtin(&name) {
        Some(extractor) => Ok(Some(extractor)),
        None => Err(invalid(
            value.py(),
            format!("prefix_extractor={name}: expected fixed:N, capped:N or noop"),
        )),
    }
}

/// Sets one option of a database. Returns false if there is no option of that name.
fn set_db(options: &mut Options, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match name {
        "db_paths" => options.db_paths = db_paths(value)?,
        "statistics" => options.statistics = Statistics::of(value)?,
        "rate_limiter" => options.rate_limiter = RateLimiter::of(value)?,
        "write_buffer_manager" => options.write_buffer_manager = WriteBufferManager::of(value)?,
        "column_families" => {
            for (name, family) in families_of(value)? {
                let chosen = family_options(&options.column_family, family.as_ref())?;
                options.column_families.insert(name, chosen);
            }
        }
        _ => return set_row(options, name, value),
    }
    Ok(true)
}

/// Returns the names of families, with their own options if they have any.
fn families_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Option<Bound<'py, PyDict>>)>> {
    let Ok(named) = value.cast::<PyDict>() else {
        let names = value.try_iter()?;
        return names.map(|name| Ok((name?.extract()?, None))).collect();
    };
    let families = named.iter().map(|(name, options)| {
        let options = match options.is_none() {
            true => None,
            false => Some(options.cast_into::<PyDict>()?),
        };
        Ok((name.extract()?, options))
    });
    families.collect()
}

/// Returns the options of a family: those of `base` with the changes of `keywords`. `InvalidArgument` for an
/// unknown name.
pub fn family_options(
    base: &ColumnFamilyOptions,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<ColumnFamilyOptions> {
    let mut options = base.clone();
    for (name, value) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        if !set_family(&mut options, &name, &value)? {
            return Err(invalid(value.py(), format!("unknown option {name}")));
        }
    }
    Ok(options)
}

/// Sets the options of a database, and of its families, from `keywords`. `column_families` is applied last,
/// because those families start from the options of all families.
pub fn set_all(options: &mut Options, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let mut families = None;
    for (name, value) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        if name == "column_families" {
            families = Some(value);
            continue;
        }
        if !set_db(options, &name, &value)? && !set_family(&mut options.column_family, &name, &value)? {
            return Err(invalid(value.py(), format!("unknown option {name}")));
        }
    }
    match families {
        Some(families) => set_db(options, "column_families", &families).map(drop),
        None => Ok(()),
    }
}

/// Adds every row of `options` to `dict` as text, by name.
fn rows_dict<S: OptionTable>(dict: &Bound<'_, PyDict>, options: &S) -> PyResult<()> {
    S::rows()
        .iter()
        .try_for_each(|row| dict.set_item(row.name, (row.get)(options)))
}

/// Returns the options of a family and of its tables, as the texts of an OPTIONS file, by name.
pub fn family_options_dict<'py>(
    py: Python<'py>,
    options: &ColumnFamilyOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    rows_dict(&dict, options)?;
    rows_dict(&dict, &options.table)?;
    dict.set_item("comparator", options.comparator.name())?;
    let operator = options.merge_operator.as_ref();
    dict.set_item(
        "merge_operator",
        operator.map_or("nullptr", |operator| operator.name()),
    )?;
    let extractor = options.prefix_extractor.as_ref();
    dict.set_item(
        "prefix_extractor",
        extractor.map_or("nullptr", |extractor| extractor.name()),
    )?;
    Ok(dict)
}

/// Returns the options of a database, as texts by name.
pub fn db_options_dict<'py>(py: Python<'py>, options: &Options) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    rows_dict(&dict, options)?;
    Ok(dict)
}

/// Returns the name and type of every option row, grouped by part. A test compares the stubs with them.
pub fn names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("Options", types(Options::rows()))?;
    dict.set_item("ColumnFamilyOptions", types(ColumnFamilyOptions::rows()))?;
    dict.set_item("BlockBasedOptions", types(BlockBasedOptions::rows()))?;
    Ok(dict)
}

fn types<S>(rows: &[OptionRow<S>]) -> Vec<(&'static str, &'static str)> {
    rows.iter().map(|row| (row.name, row.type_name)).collect()
}
