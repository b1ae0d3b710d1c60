//! A database: its default family, and the methods for the whole database.

use std::path::PathBuf;

use esker::{CheckpointOptions, Db, Error, FlushOptions, Options, OptionsFile};
use pyo3::PyClassInitializer;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::call::{call, quietly};
use crate::column_family::ColumnFamily;
use crate::operation::{Keywords, write_options};
use crate::options::{self, db_options_dict, family_options, family_options_dict, set_all};
use crate::shared::{Engine, Handle, Shared};
use crate::statistics::Statistics;
use crate::write_batch::WriteBatch;
use crate::writes::changes;

/// The properties of every family, by RocksDB's names.
const PROPERTIES: &[&str] = &[
    "rocksdb.num-immutable-mem-table",
    "rocksdb.num-immutable-mem-table-flushed",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.num-running-flushes",
    "rocksdb.compaction-pending",
    "rocksdb.num-running-compactions",
    "rocksdb.background-errors",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.size-all-mem-tables",
    "rocksdb.num-entries-active-mem-table",
    "rocksdb.num-entries-imm-mem-tables",
    "rocksdb.num-deletes-active-mem-table",
    "rocksdb.num-deletes-imm-mem-tables",
    "rocksdb.estimate-num-keys",
    "rocksdb.estimate-table-readers-mem",
    "rocksdb.is-file-deletions-enabled",
    "rocksdb.num-snapshots",
    "rocksdb.oldest-snapshot-time",
    "rocksdb.oldest-snapshot-sequence",
    "rocksdb.num-live-versions",
    "rocksdb.current-super-version-number",
    "rocksdb.estimate-live-data-size",
    "rocksdb.min-log-number-to-keep",
    "rocksdb.total-sst-files-size",
    "rocksdb.live-sst-files-size",
    "rocksdb.base-level",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.actual-delayed-write-rate",
    "rocksdb.is-write-stopped",
    "rocksdb.block-cache-capacity",
    "rocksdb.block-cache-usage",
    "rocksdb.block-cache-pinned-usage",
    "rocksdb.num-blob-files",
    "rocksdb.total-blob-file-size",
    "rocksdb.live-blob-file-size",
    "rocksdb.levelstats",
    "rocksdb.aggregated-table-properties",
    "rocksdb.stats",
    "esker.memory",
    "esker.pins",
    "esker.write-cost",
];

/// An open database, which is also its default column family. `column_family(name)` returns the other
/// families.
///
/// The database is closed by `close`, at the end of a `with` block, or with the last of its objects.
#[pyclass(frozen, subclass, extends = ColumnFamily, module = "esker", weakref)]
pub struct DB;

/// Returns the options for opening a database: the defaults, or those of its OPTIONS file, with the changes
/// of the keywords.
pub fn options_of(
    path: &std::path::Path,
    load: bool,
    keywords: Option<Keywords<'_, '_>>,
) -> PyResult<Options> {
    let mut options = Options::default();
    if load && let Some(keywords) = keywords {
        let stored = call(keywords.py(), || {
            OptionsFile::newest(&*Options::default().fs, path)
        })?;
        options = stored.map_or(options, |(_, file)| file.options().0);
    }
    set_all(&mut options, keywords)?;
    Ok(options)
}

impl DB {
    /// Returns the object of an open database.
    pub fn of(shared: Handle) -> PyClassInitializer<DB> {
        let family = shared.db().default_column_family();
        ColumnFamily::of(shared, family).add_subclass(DB)
    }

    pub fn shared<'a>(this: &'a Bound<'_, Self>) -> &'a Handle {
        &this.as_super().as_super().get().shared
    }
}

#[pymethods]
impl DB {
    /// Opens the database in `path`. Options have RocksDB's names, those of the database, its families and
    /// their tables together; `column_families` names the families with options of their own. With
    /// `load_options` the options start from the OPTIONS file in `path`. With `read_only` nothing is written.
    /// With `secondary_path` the database is a secondary of a primary in another process.
    #[new]
    #[pyo3(signature = (path, *, read_only = false, secondary_path = None, load_options = false, **options))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        read_only: bool,
        secondary_path: Option<PathBuf>,
        load_options: bool,
        options: Option<Keywords<'_, '_>>,
    ) -> PyResult<PyClassInitializer<DB>> {
        let given = PyDict::new(py);
        let options = options_of(&path, load_options, Some(options.unwrap_or(&given)))?;
        let db = call(py, || match (read_only, &secondary_path) {
            (true, Some(_)) => Err(Error::invalid_argument(
                "read_only and secondary_path exclude each other",
            )),
            (true, None) => Db::open_read_only(&options, &path),
            (false, Some(own)) => Db::open_as_secondary(&options, &path, own),
            (false, None) => Db::open(&options, &path),
        })?;
        quietly(py, || drop(options));
        Ok(DB::of(Shared::open(Engine::Plain(db))))
    }

    /// The directory of the database.
    #[getter]
    fn path(this: &Bound<'_, Self>) -> PathBuf {
        DB::shared(this).db().path().to_path_buf()
    }

    /// The id of the database, 36 characters.
    #[getter]
    fn identity(this: &Bound<'_, Self>) -> String {
        DB::shared(this).db().identity().to_owned()
    }

    /// True once `close` was called.
    #[getter]
    fn closed(this: &Bound<'_, Self>) -> bool {
        DB::shared(this).is_closed()
    }

    /// Closes the database: the next use of each of its objects raises `ShutdownInProgress`. Waits for
    /// background work. A second close has the outcome of the first.
    fn close(this: &Bound<'_, Self>) -> PyResult<()> {
        let shared = DB::shared(this);
        call(this.py(), || shared.close())
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
    ) -> PyResult<()> {
        DB::close(this)
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        let shared = DB::shared(this);
        let state = if shared.is_closed() { "closed" } else { "open" };
        format!("<esker.DB {:?}, {state}>", shared.db().path())
    }

    /// Returns the column family of that name. `InvalidArgument` if it does not exist.
    fn column_family(this: &Bound<'_, Self>, name: &str) -> PyResult<Py<ColumnFamily>> {
        let py = this.py();
        let shared = DB::shared(this);
        let family = call(py, || shared.family(name))?;
        Py::new(py, ColumnFamily::of(shared.clone(), family))
    }

    /// Returns the names of all column families.
    fn column_families(this: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let shared = DB::shared(this);
        call(this.py(), || {
            shared.check_open()?;
            let families = shared.db().column_families();
            Ok(families.iter().map(|family| family.name().to_owned()).collect())
        })
    }

    /// Creates a column family with these options.
    #[pyo3(signature = (name, **options))]
    fn create_column_family(
        this: &Bound<'_, Self>,
        name: &str,
        options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Py<ColumnFamily>> {
        let py = this.py();
        let shared = DB::shared(this);
        let options = family_options(&shared.db().options().column_family, options)?;
        let family = call(py, || {
            shared.check_open()?;
            match shared.engine() {
                Engine::Pessimistic(db) => db.create_column_family(name, &options),
                _ => shared.db().create_column_family(name, &options),
            }
        })?;
        Py::new(py, ColumnFamily::of(shared.clone(), family))
    }

    /// Drops a column family, given by its object or its name. Its objects continue to read its rows.
    fn drop_column_family(this: &Bound<'_, Self>, column_family: &Bound<'_, PyAny>) -> PyResult<()> {
        let shared = DB::shared(this);
        let py = this.py();
        let family = match column_family.cast::<ColumnFamily>() {
            Ok(family) => family.as_super().get().family.clone(),
            Err(_) => {
                let name: String = column_family.extract()?;
                call(py, || shared.family(&name))?
            }
        };
        call(py, || {
            shared.check_open()?;
            match shared.engine() {
                Engine::Pessimistic(db) => db.drop_column_family(&family),
                _ => shared.db().drop_column_family(&family),
            }
        })
    }

    /// Applies all writes of a batch, or none.
    #[pyo3(signature = (batch, **write_options))]
    fn write(
        this: &Bound<'_, Self>,
        batch: &Bound<'_, WriteBatch>,
        write_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<()> {
        let options = self::write_options(write_options)?;
        let shared = DB::shared(this);
        let batch = batch.get().contents();
        call(this.py(), || {
            shared.check_open()?;
            shared.write_opt(batch, &options)
        })
    }

    /// Flushes the memtables of all families.
    #[pyo3(signature = (*, wait = true, allow_write_stall = false))]
    fn flush_all(this: &Bound<'_, Self>, wait: bool, allow_write_stall: bool) -> PyResult<()> {
        let shared = DB::shared(this);
        let options = FlushOptions {
            wait,
            allow_write_stall,
            ..FlushOptions::default()
        };
        call(this.py(), || {
            shared.check_open()?;
            let families = shared.db().column_families();
            shared.db().flush_cf_opt(&families, &options)
        })
    }

    /// Flushes the WAL to the operating system, and with `sync` to the disk.
    #[pyo3(signature = (sync = false))]
    fn flush_wal(this: &Bound<'_, Self>, sync: bool) -> PyResult<()> {
        let shared = DB::shared(this);
        call(this.py(), || shared.db().flush_wal(sync))
    }

    /// Waits until no flush and no compaction is running or pending.
    fn wait_for_compact(this: &Bound<'_, Self>) -> PyResult<()> {
        let shared = DB::shared(this);
        call(this.py(), || shared.db().wait_for_compact())
    }

    /// Creates a checkpoint, an independent database with the current rows, in `path`, which must not exist.
    /// Returns the sequence number of its last row.
    #[pyo3(signature = (path, *, log_size_for_flush = 0))]
    fn checkpoint(this: &Bound<'_, Self>, path: PathBuf, log_size_for_flush: u64) -> PyResult<u64> {
        let shared = DB::shared(this);
        let options = CheckpointOptions { log_size_for_flush };
        call(this.py(), || {
            shared.check_open()?;
            shared.db().create_checkpoint(&path, &options)
        })
    }

    /// Verifies the checksum of every block. `Corruption` at the first damaged block.
    fn verify_checksum(this: &Bound<'_, Self>) -> PyResult<()> {
        let shared = DB::shared(this);
        call(this.py(), || shared.db().verify_checksum())
    }

    /// Updates a secondary to the current state of the primary.
    fn try_catch_up_with_primary(this: &Bound<'_, Self>) -> PyResult<()> {
        let shared = DB::shared(this);
        call(this.py(), || shared.db().try_catch_up_with_primary())
    }

    /// Resumes after an error that stopped writes.
    fn resume(this: &Bound<'_, Self>) -> PyResult<()> {
        let shared = DB::shared(this);
        call(this.py(), || shared.db().resume())
    }

    /// Changes options of the open database.
    #[pyo3(signature = (**options))]
    fn set_db_options(this: &Bound<'_, Self>, options: Option<Keywords<'_, '_>>) -> PyResult<()> {
        let shared = DB::shared(this);
        let changes = changes(options)?;
        call(this.py(), || {
            let changes: Vec<(&str, &str)> =
                changes.iter().map(|(name, value)| (&**name, &**value)).collect();
            shared.db().set_db_options(&changes)
        })
    }

    /// Returns the current options of the database, as texts by name.
    #[getter]
    fn db_options<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let options = DB::shared(this).db().current_options();
        db_options_dict(this.py(), &options)
    }

    /// Returns the properties of the default family and of the database by RocksDB's names: numbers as `int`,
    /// others as text.
    fn properties<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(this.py());
        for name in PROPERTIES {
            let value = this.call_method1("property", (*name,))?;
            if !value.is_none() {
                dict.set_item(*name, value)?;
            }
        }
        Ok(dict)
    }

    /// The statistics, if the database was opened with `statistics`.
    #[getter]
    fn statistics(this: &Bound<'_, Self>) -> Option<Statistics> {
        let options = DB::shared(this).db().options();
        options.statistics.clone().map(Statistics::around)
    }

    /// The sequence number of the last write.
    #[getter]
    fn latest_sequence_number(this: &Bound<'_, Self>) -> u64 {
        let shared = DB::shared(this);
        quietly(this.py(), || shared.db().latest_sequence_number())
    }

    /// Returns the tables and blob files in use, each as a dict.
    fn live_files<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let py = this.py();
        let shared = DB::shared(this);
        let files = call(py, || {
            shared.check_open()?;
            Ok(shared.db().live_files())
        })?;
        let list = PyList::empty(py);
        for file in files {
            let entry = PyDict::new(py);
            entry.set_item("column_family", file.column_family)?;
            entry.set_item("level", file.level)?;
            entry.set_item("number", file.number)?;
            entry.set_item("path", file.path)?;
            entry.set_item("size", file.size)?;
            entry.set_item("smallest_key", pyo3::types::PyBytes::new(py, &file.smallest_key))?;
            entry.set_item("largest_key", pyo3::types::PyBytes::new(py, &file.largest_key))?;
            entry.set_item("num_entries", file.num_entries)?;
            entry.set_item("num_deletions", file.num_deletions)?;
            entry.set_item("num_reads_sampled", file.num_reads_sampled)?;
            list.append(entry)?;
        }
        Ok(list)
    }
}

/// Deletes the files of the database in `path`, and no others.
#[pyfunction]
#[pyo3(signature = (path, **options))]
pub fn destroy(py: Python<'_>, path: PathBuf, options: Option<Keywords<'_, '_>>) -> PyResult<()> {
    let options = options_of(&path, false, options)?;
    call(py, || Db::destroy(&options, &path))
}

/// Repairs the database in `path`, whose MANIFEST or CURRENT is missing or damaged. Returns the paths of the
/// files that it could not use.
#[pyfunction]
#[pyo3(signature = (path, **options))]
pub fn repair(py: Python<'_>, path: PathBuf, options: Option<Keywords<'_, '_>>) -> PyResult<Vec<PathBuf>> {
    let options = options_of(&path, false, options)?;
    let report = call(py, || Db::repair(&options, &path))?;
    Ok(report.lost.into_iter().map(|lost| lost.path).collect())
}

/// Returns the names of the column families of the database in `path`.
#[pyfunction]
pub fn list_column_families(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    call(py, || Db::list_column_families(&Options::default(), &path))
}

/// Returns the contents of the newest OPTIONS file in `path`: the options of the database, and those of each
/// family, as texts by name. `None` if the file does not exist.
#[pyfunction]
pub fn load_options(py: Python<'_>, path: PathBuf) -> PyResult<Option<Bound<'_, PyDict>>> {
    let found = call(py, || OptionsFile::newest(&*Options::default().fs, &path))?;
    let Some((_, file)) = found else {
        return Ok(None);
    };
    let (options, _) = file.options();
    let dict = db_options_dict(py, &options)?;
    let families = PyDict::new(py);
    families.set_item("default", family_options_dict(py, &options.column_family)?)?;
    for (name, family) in &options.column_families {
        families.set_item(name, family_options_dict(py, family)?)?;
    }
    dict.set_item("column_families", families)?;
    Ok(Some(dict))
}

/// Returns the names and types of all options, grouped by part.
#[pyfunction(name = "_option_names")]
pub fn option_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    options::names(py)
}
