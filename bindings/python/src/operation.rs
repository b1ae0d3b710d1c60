//! The options of a read or a write, as keywords.

use esker::{ReadOptions, ReadTier, WriteOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::bytes::owned;
use crate::snapshot::{Snapshot, snapshot_of};

/// The keywords of a call.
pub type Keywords<'a, 'py> = &'a Bound<'py, PyDict>;

/// Returns the read options of `keywords`, at `snapshot` if the object is a snapshot. `TypeError` for an
/// unknown name.
pub fn read_options(
    snapshot: Option<esker::Snapshot>,
    keywords: Option<Keywords<'_, '_>>,
) -> PyResult<ReadOptions> {
    let mut options = ReadOptions {
        snapshot,
        auto_refresh_iterator_with_snapshot: false,
        ..ReadOptions::default()
    };
    for (name, value) in keywords.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_cow()?.into_owned();
        match &*name {
            "snapshot" if value.is_none() => {}
            "snapshot" => options.snapshot = snapshot_of(value.cast::<Snapshot>()?)?,
            "verify_checksums" => options.verify_checksums = value.extract()?,
            "fill_cache" => options.fill_cache = value.extract()?,
            "prefix_same_as_start" => options.prefix_same_as_start = value.extract()?,
            "auto_prefix_mode" => options.auto_prefix_mode = value.extract()?,
            "read_tier" => options.read_tier = read_tier(&value)?,
            "tailing" => options.tailing = value.extract()?,
            "max_skippable_internal_keys" => options.max_skippable_internal_keys = value.extract()?,
            "readahead_size" => options.readahead_size = value.extract()?,
            "adaptive_readahead" => options.adaptive_readahead = value.extract()?,
            "auto_readahead_size" => options.auto_readahead_size = value.extract()?,
            "async_io" => options.async_io = value.extract()?,
            "auto_refresh_iterator_with_snapshot" => {
                options.auto_refresh_iterator_with_snapshot = value.extract()?;
            }
            "timestamp" if value.is_none() => {}
            "timestamp" => options.timestamp = Some(owned(&value)?),
            _ => return Err(unknown("read", &name)),
        }
    }
    Ok(options)
}

fn read_tier(value: &Bound<'_, PyAny>) -> PyResult<ReadTier> {
    let name = value.cast::<PyString>()?.to_cow()?.into_owned();
    match &*name {
        "kReadAllTier" => Ok(ReadTier::All),
        "kBlockCacheTier" => Ok(ReadTier::BlockCache),
        "kMemtableTier" => Ok(ReadTier::Memtable),
        _ => Err(PyTypeError::new_err(format!("unknown read tier {name:?}"))),
    }
}

/// Returns the write options of `keywords`. `TypeError` for an unknown name.
pub fn write_options(keywords: Option<Keywords<'_, '_>>) -> PyResult<WriteOptions> {
    let mut options = WriteOptions::default();
    for (name, value) in keywords.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_cow()?.into_owned();
        match &*name {
            "sync" => options.sync = value.extract()?,
            "disable_wal" => options.disable_wal = value.extract()?,
            "no_slowdown" => options.no_slowdown = value.extract()?,
            "low_pri" => options.low_pri = value.extract()?,
            "ignore_missing_column_families" => options.ignore_missing_column_families = value.extract()?,
            "protection_bytes_per_key" => options.protection_bytes_per_key = value.extract()?,
            _ => return Err(unknown("write", &name)),
        }
    }
    Ok(options)
}

/// Returns the error for an unknown option of an operation.
pub fn unknown(operation: &str, name: &str) -> PyErr {
    PyTypeError::new_err(format!("no {operation} option {name:?}"))
}
