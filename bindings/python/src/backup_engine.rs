//! Backups of an open database, and their restoration.

use std::path::PathBuf;

use backup::{BackupEngineOptions, BackupInfo, CreateBackupOptions, RestoreOptions};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bytes::Bytes;
use crate::call::call_with;
use crate::db::DB;
use crate::operation::{Keywords, unknown};
use crate::shared::Detached;

/// A directory of backups in RocksDB's format. Each backup adds the new files, and shares the others.
#[pyclass(frozen, module = "esker")]
pub struct BackupEngine {
    engine: Mutex<Option<Detached<backup::BackupEngine>>>,
}

impl BackupEngine {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut backup::BackupEngine) -> esker::Result<T> + Send,
    ) -> PyResult<T> {
        call_with(py, &self.engine, |engine| match engine {
            Some(engine) => body(engine),
            None => Err(esker::Error::invalid_argument("the backup engine is closed")),
        })
    }
}

#[pymethods]
impl BackupEngine {
    /// Opens the backup directory, and creates it if it does not exist. The options are those of RocksDB's
    /// `BackupEngineOptions`, by name.
    #[new]
    #[pyo3(signature = (path, *, read_only = false, **options))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        read_only: bool,
        options: Option<Keywords<'_, '_>>,
    ) -> PyResult<BackupEngine> {
        let mut chosen = BackupEngineOptions::new(path);
        for (name, value) in options.into_iter().flatten() {
            let name: String = name.extract()?;
            match &*name {
                "share_table_files" => chosen.share_table_files = value.extract()?,
                "share_files_with_checksum" => chosen.share_files_with_checksum = value.extract()?,
                "sync" => chosen.sync = value.extract()?,
                "backup_log_files" => chosen.backup_log_files = value.extract()?,
                "backup_rate_limit" => chosen.backup_rate_limit = value.extract()?,
                "restore_rate_limit" => chosen.restore_rate_limit = value.extract()?,
                "max_background_operations" => chosen.max_background_operations = value.extract()?,
                "schema_version" => chosen.schema_version = value.extract()?,
                _ => return Err(unknown("backup engine", &name)),
            }
        }
        let opened = crate::call::call(py, || match read_only {
            true => backup::BackupEngine::open_read_only(chosen),
            false => backup::BackupEngine::open(chosen),
        })?;
        Ok(BackupEngine {
            engine: Mutex::new(Some(Detached::new(opened))),
        })
    }

    /// Creates a backup of the current state of `db`, and returns its number.
    #[pyo3(signature = (db, *, flush_before_backup = false, app_metadata = None))]
    fn create_backup(
        &self,
        py: Python<'_>,
        db: &Bound<'_, DB>,
        flush_before_backup: bool,
        app_metadata: Option<Bytes<'_>>,
    ) -> PyResult<u32> {
        let shared = DB::shared(db);
        let options = CreateBackupOptions {
            flush_before_backup,
            app_metadata: app_metadata.map(|bytes| bytes.to_vec()).unwrap_or_default(),
            ..CreateBackupOptions::default()
        };
        self.with(py, |engine| {
            shared.check_open()?;
            engine.create_new_backup(shared.db(), &options)
        })
    }

    /// Returns all intact backups, each as a dict.
    fn backups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let backups = self.with(py, |engine| Ok(engine.backups()))?;
        let list = PyList::empty(py);
        for backup in &backups {
            list.append(dict(py, backup)?)?;
        }
        Ok(list)
    }

    /// Restores the database of a backup to `path`. Without a number, the newest backup is restored.
    #[pyo3(signature = (path, backup_id = None, *, wal_dir = None, keep_log_files = false))]
    fn restore(
        &self,
        py: Python<'_>,
        path: PathBuf,
        backup_id: Option<u32>,
        wal_dir: Option<PathBuf>,
        keep_log_files: bool,
    ) -> PyResult<()> {
        let options = RestoreOptions {
            keep_log_files,
            ..RestoreOptions::default()
        };
        let wal_dir = wal_dir.unwrap_or_else(|| path.clone());
        self.with(py, |engine| match backup_id {
            Some(id) => engine.restore_db_from_backup(id, &path, &wal_dir, &options),
            None => engine.restore_db_from_latest_backup(&path, &wal_dir, &options),
        })
    }

    /// Compares the sizes of a backup's files, and with `verify_with_checksum` their checksums too.
    #[pyo3(signature = (backup_id, *, verify_with_checksum = false))]
    fn verify(&self, py: Python<'_>, backup_id: u32, verify_with_checksum: bool) -> PyResult<()> {
        self.with(py, |engine| {
            engine.verify_backup(backup_id, verify_with_checksum, None)
        })
    }

    /// Deletes a backup.
    fn delete_backup(&self, py: Python<'_>, backup_id: u32) -> PyResult<()> {
        self.with(py, |engine| engine.delete_backup(backup_id))
    }

    /// Deletes all but the newest backups.
    fn purge_old_backups(&self, py: Python<'_>, num_backups_to_keep: usize) -> PyResult<()> {
        self.with(py, |engine| engine.purge_old_backups(num_backups_to_keep))
    }

    /// Closes the directory. A second close has no effect.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        call_with(py, &self.engine, |engine| {
            *engine = None;
            Ok(())
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (_type, _value, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}

fn dict<'py>(py: Python<'py>, backup: &BackupInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("backup_id", backup.backup_id)?;
    dict.set_item("timestamp", backup.timestamp)?;
    dict.set_item("sequence_number", backup.sequence_number)?;
    dict.set_item("size", backup.size())?;
    dict.set_item("number_files", backup.files.len())?;
    dict.set_item("app_metadata", PyBytes::new(py, &backup.app_metadata))?;
    Ok(dict)
}
