//! Writes to a column family, and operations on its files.

use arrow_array::RecordBatch;
use esker::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, Error, FlushOptions,
    IngestExternalFileArg, IngestExternalFileOptions, RangeOpt,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arrow::{Values, batches_of};
use crate::bytes::Bytes;
use crate::call::call;
use crate::column_family::ColumnFamily;
use crate::operation::{Keywords, unknown, write_options};
use crate::options::{family_options_dict, text_of};
use crate::reader::Reader;
use crate::snapshot::Snapshot;
use crate::write_batch::WriteBatch;

#[pymethods]
impl ColumnFamily {
    /// Sets `key` to `value`.
    #[pyo3(signature = (key, value, **write_options))]
    fn put(
        this: &Bound<'_, Self>,
        key: Bytes<'_>,
        value: Bytes<'_>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        call(this.py(), || {
            reader.shared.check_open()?;
            reader.shared.put_cf_opt(&reader.family, &key, &value, &options)
        })
    }

    fn __setitem__(this: &Bound<'_, Self>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        ColumnFamily::put(this, key, value, None)
    }

    /// Deletes `key`, whether or not it exists.
    #[pyo3(signature = (key, **write_options))]
    fn delete(
        this: &Bound<'_, Self>,
        key: Bytes<'_>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        call(this.py(), || {
            reader.shared.check_open()?;
            reader.shared.delete_cf_opt(&reader.family, &key, &options)
        })
    }

    /// Deletes `key`, whether or not it exists. A `dict` would raise `KeyError`, which would cost a read
    /// here.
    fn __delitem__(this: &Bound<'_, Self>, key: Bytes<'_>) -> PyResult<()> {
        ColumnFamily::delete(this, key, None)
    }

    /// Deletes `key`, which must have been put exactly once since it was last absent.
    #[pyo3(signature = (key, **write_options))]
    fn single_delete(
        this: &Bound<'_, Self>,
        key: Bytes<'_>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        call(this.py(), || {
            reader.shared.check_open()?;
            reader.shared.single_delete_cf_opt(&reader.family, &key, &options)
        })
    }

    /// Adds `operand` to the value of `key`, by the family's merge operator.
    #[pyo3(signature = (key, operand, **write_options))]
    fn merge(
        this: &Bound<'_, Self>,
        key: Bytes<'_>,
        operand: Bytes<'_>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        call(this.py(), || {
            reader.shared.check_open()?;
            reader
                .shared
                .merge_cf_opt(&reader.family, &key, &operand, &options)
        })
    }

    /// Deletes every key from `start` to `stop`, exclusive. Costs one write, for any number of keys.
    #[pyo3(signature = (start, stop, **write_options))]
    fn delete_range(
        this: &Bound<'_, Self>,
        start: Bytes<'_>,
        stop: Bytes<'_>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        call(this.py(), || {
            reader.shared.check_open()?;
            reader
                .shared
                .delete_range_cf_opt(&reader.family, &start, &stop, &options)
        })
    }

    /// Returns a batch for this family. As a context manager the batch is written at the end of the block,
    /// all of it or nothing, and discarded if the block raises.
    #[pyo3(signature = (**write_options))]
    fn write_batch(this: &Bound<'_, Self>, write_options: Option<Keywords<'_, '_>>) -> PyResult<WriteBatch> {
        let reader = this.as_super().get();
        reader.check_open(this.py())?;
        let options = self::write_options(write_options)?;
        Ok(WriteBatch::bound(
            reader.shared.clone(),
            reader.family.clone(),
            options,
        ))
    }

    /// Sets all keys of a mapping, or of pairs, in one batch.
    #[pyo3(signature = (items, **write_options))]
    fn update(
        this: &Bound<'_, Self>,
        items: &Bound<'_, PyAny>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let py = this.py();
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        let pairs = match items.hasattr("items")? {
            true => items.call_method0("items")?,
            false => items.clone(),
        };
        let mut batch = esker::WriteBatch::new();
        for pair in pairs.try_iter()? {
            let pair = pair?;
            let (key, value) = (pair.get_item(0)?, pair.get_item(1)?);
            let (key, value): (Bytes<'_>, Bytes<'_>) = (key.extract()?, value.extract()?);
            batch.put_cf(&reader.family, &key, &value);
        }
        call(py, || {
            reader.shared.check_open()?;
            reader.shared.write_opt(batch, &options)
        })
    }

    /// Sets every row of a table, a record batch or a stream of Arrow, from the columns `key` and `value` of
    /// bytes or text. A null value deletes its key; a null key is an error. Each record batch is written as
    /// one batch. Returns the number of rows.
    #[pyo3(signature = (data, *, key = "key", value = "value", **write_options))]
    fn write_arrow(
        this: &Bound<'_, Self>,
        data: &Bound<'_, PyAny>,
        key: &str,
        value: &str,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<usize> {
        let options = self::write_options(write_options)?;
        let reader = this.as_super().get();
        let batches = batches_of(data)?;
        call(this.py(), || {
            let mut rows = 0;
            for batch in batches {
                let batch = batch.map_err(|error| Error::invalid_argument(error.to_string()))?;
                reader.shared.check_open()?;
                reader
                    .shared
                    .write_opt(batch_of(&batch, key, value, &reader.family)?, &options)?;
                rows += batch.num_rows();
            }
            Ok(rows)
        })
    }

    /// Returns a snapshot of this family, which is valid until it is closed or dropped.
    fn snapshot(this: &Bound<'_, Self>) -> PyResult<Py<Snapshot>> {
        let py = this.py();
        let reader = this.as_super().get();
        let snapshot = call(py, || {
            reader.shared.check_open()?;
            Ok(reader.shared.db().snapshot())
        })?;
        let of = Reader::of(reader.shared.clone(), reader.family.clone(), Some(snapshot));
        Py::new(py, Snapshot::of(of))
    }

    /// Flushes the family's memtable.
    #[pyo3(signature = (*, wait = true, allow_write_stall = false))]
    fn flush(this: &Bound<'_, Self>, wait: bool, allow_write_stall: bool) -> PyResult<()> {
        let reader = this.as_super().get();
        let options = FlushOptions {
            wait,
            allow_write_stall,
            ..FlushOptions::default()
        };
        call(this.py(), || {
            reader.shared.check_open()?;
            let families = std::slice::from_ref(&reader.family);
            reader.shared.db().flush_cf_opt(families, &options)
        })
    }

    /// Compacts the keys from `start` to `stop`, both inclusive; `None` is the first or the last key.
    #[pyo3(signature = (start = None, stop = None, **compact_range_options))]
    fn compact_range(
        this: &Bound<'_, Self>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        compact_range_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let reader = this.as_super().get();
        let options = compact_options(compact_range_options)?;
        call(this.py(), || {
            reader.shared.check_open()?;
            let db = reader.shared.db();
            db.compact_range_cf_opt(&reader.family, start.as_deref(), stop.as_deref(), &options)
        })
    }

    /// Ingests files of `SstFileWriter`, in one step. Only writers of keys in the ranges of the files wait.
    /// `atomic_replace_range` is a pair of a first key and an exclusive end, each of which may be `None`: the
    /// files replace all rows of that range, with `snapshot_consistency=False`.
    #[pyo3(signature = (paths, *, atomic_replace_range = None, **ingest_options))]
    fn ingest(
        this: &Bound<'_, Self>,
        paths: Vec<std::path::PathBuf>,
        atomic_replace_range: Option<(Option<Bytes<'_>>, Option<Bytes<'_>>)>,
        ingest_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let reader = this.as_super().get();
        let options = self::ingest_options(ingest_options)?;
        let bound = |key: Option<Bytes<'_>>| key.map(|key| key.to_vec());
        let arg = IngestExternalFileArg {
            atomic_replace_range: atomic_replace_range.map(|(start, limit)| RangeOpt {
                start: bound(start),
                limit: bound(limit),
            }),
            ..IngestExternalFileArg::new(&reader.family, paths, options)
        };
        call(this.py(), || {
            reader.shared.check_open()?;
            reader.shared.db().ingest_external_files(&[arg]).map(drop)
        })
    }

    /// Changes options of the family while the database is open, and waits until the OPTIONS file contains
    /// them.
    #[pyo3(signature = (**options))]
    fn set_options(this: &Bound<'_, Self>, options: Option<Keywords<'_, '_>>) -> PyResult<()> {
        let reader = this.as_super().get();
        let changes = changes(options)?;
        call(this.py(), || {
            reader.shared.check_open()?;
            let changes: Vec<(&str, &str)> =
                changes.iter().map(|(name, value)| (&**name, &**value)).collect();
            reader.shared.db().set_options(&reader.family, &changes)
        })
    }

    /// Returns the current options of the family, as the texts of an OPTIONS file by name.
    #[getter]
    fn options<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let options = this.as_super().get().family.current_options();
        family_options_dict(this.py(), &options)
    }
}

/// Returns the rows of a record batch as writes.
fn batch_of(
    rows: &RecordBatch,
    key: &str,
    value: &str,
    family: &esker::ColumnFamily,
) -> esker::Result<esker::WriteBatch> {
    let (keys, values) = (Values::of(rows, key)?, Values::of(rows, value)?);
    let mut batch = esker::WriteBatch::new();
    for row in 0..rows.num_rows() {
        let key = keys
            .get(row)
            .ok_or_else(|| Error::invalid_argument(format!("the key of row {row} is null")))?;
        match values.get(row) {
            Some(value) => batch.put_cf(family, key, value),
            None => batch.delete_cf(family, key),
        }
    }
    Ok(batch)
}

/// Returns options by name, each as the text of an OPTIONS file.
pub fn changes(options: Option<Keywords<'_, '_>>) -> PyResult<Vec<(String, String)>> {
    let named = options.into_iter().flatten();
    named
        .map(|(name, value)| Ok((name.extract::<String>()?, text_of(&value)?)))
        .collect()
}

fn compact_options(keywords: Option<Keywords<'_, '_>>) -> PyResult<CompactRangeOptions> {
    let mut options = CompactRangeOptions::default();
    for (name, value) in keywords.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_cow()?.into_owned();
        match &*name {
            "exclusive_manual_compaction" => options.exclusive_manual_compaction = value.extract()?,
            "allow_write_stall" => options.allow_write_stall = value.extract()?,
            "change_level" => options.change_level = value.extract()?,
            "target_level" => options.target_level = value.extract()?,
            "max_subcompactions" => options.max_subcompactions = value.extract()?,
            "bottommost_level_compaction" => {
                options.bottommost_level_compaction = bottommost(&value.extract::<String>()?)?;
            }
            "blob_garbage_collection_policy" => {
                options.blob_garbage_collection_policy = blob_policy(&value.extract::<String>()?)?;
            }
            "blob_garbage_collection_age_cutoff" => {
                options.blob_garbage_collection_age_cutoff = value.extract()?;
            }
            _ => return Err(unknown("compact range", &name)),
        }
    }
    Ok(options)
}

fn bottommost(name: &str) -> PyResult<BottommostLevelCompaction> {
    Ok(match name {
        "kSkip" => BottommostLevelCompaction::Skip,
        "kIfHaveCompactionFilter" => BottommostLevelCompaction::IfHaveCompactionFilter,
        "kForce" => BottommostLevelCompaction::Force,
        "kForceOptimized" => BottommostLevelCompaction::ForceOptimized,
        _ => {
            return Err(PyTypeError::new_err(format!(
                "no bottommost level compaction {name:?}"
            )));
        }
    })
}

fn blob_policy(name: &str) -> PyResult<BlobGarbageCollectionPolicy> {
    Ok(match name {
        "kForce" => BlobGarbageCollectionPolicy::Force,
        "kDisable" => BlobGarbageCollectionPolicy::Disable,
        "kUseDefault" => BlobGarbageCollectionPolicy::UseDefault,
        _ => {
            return Err(PyTypeError::new_err(format!(
                "no blob garbage collection policy {name:?}"
            )));
        }
    })
}

fn ingest_options(keywords: Option<Keywords<'_, '_>>) -> PyResult<IngestExternalFileOptions> {
    let mut options = IngestExternalFileOptions::default();
    for (name, value) in keywords.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_cow()?.into_owned();
        let field = match &*name {
            "move_files" => &mut options.move_files,
            "link_files" => &mut options.link_files,
            "failed_move_fall_back_to_copy" => &mut options.failed_move_fall_back_to_copy,
            "snapshot_consistency" => &mut options.snapshot_consistency,
            "allow_global_seqno" => &mut options.allow_global_seqno,
            "allow_blocking_flush" => &mut options.allow_blocking_flush,
            "ingest_behind" => &mut options.ingest_behind,
            "write_global_seqno" => &mut options.write_global_seqno,
            "verify_checksums_before_ingest" => &mut options.verify_checksums_before_ingest,
            "verify_file_checksum" => &mut options.verify_file_checksum,
            "fail_if_not_bottommost_level" => &mut options.fail_if_not_bottommost_level,
            "allow_db_generated_files" => &mut options.allow_db_generated_files,
            "fill_cache" => &mut options.fill_cache,
            _ => return Err(unknown("ingest", &name)),
        };
        *field = value.extract()?;
    }
    Ok(options)
}
