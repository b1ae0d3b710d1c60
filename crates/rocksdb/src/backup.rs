//! Backups.

use std::path::Path;

use crate::db::{DBInner, ThreadMode};
use crate::option_types::narrow;
use crate::{DBCommon, Env, Error};

/// A backup.
pub struct BackupEngineInfo {
    /// The time at which the backup was created, in seconds since 1970.
    pub timestamp: i64,
    /// The number of the backup.
    pub backup_id: u32,
    /// The size of the backup in bytes.
    pub size: u64,
    /// The number of the backup's files.
    pub num_files: u32,
}

/// The options of a backup directory.
pub struct BackupEngineOptions {
    inner: ::backup::BackupEngineOptions,
}

impl BackupEngineOptions {
    /// The default options of backups in this directory.
    ///
    /// # Errors
    /// Never fails.
    pub fn new<P: AsRef<Path>>(backup_dir: P) -> Result<BackupEngineOptions, Error> {
        Ok(BackupEngineOptions {
            inner: ::backup::BackupEngineOptions::new(backup_dir.as_ref()),
        })
    }

    /// Sets the number of threads that copy files; at least 1. Default: 1.
    pub fn set_max_background_operations(&mut self, max_background_operations: i32) {
        self.inner.max_background_operations = narrow(max_background_operations.max(1));
    }

    /// Syncs everything before a call returns. Default: true.
    pub fn set_sync(&mut self, sync: bool) {
        self.inner.sync = sync;
    }

    /// True if calls sync.
    pub fn get_sync(&mut self) -> bool {
        self.inner.sync
    }
}

/// The options of a restoration.
#[derive(Default)]
pub struct RestoreOptions {
    inner: ::backup::RestoreOptions,
}

impl RestoreOptions {
    /// Keeps existing WALs. Default: false.
    pub fn set_keep_log_files(&mut self, keep_log_files: bool) {
        self.inner.keep_log_files = keep_log_files;
    }
}

/// A directory of backups.
///
/// ```
/// use esker_rocksdb::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
/// use esker_rocksdb::{DB, Env};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let (path, copy, backups) = (dir.path().join("db"), dir.path().join("copy"), dir.path().join("backups"));
/// let db = DB::open_default(&path).unwrap();
/// db.put(b"key", b"value").unwrap();
/// let options = BackupEngineOptions::new(&backups).unwrap();
/// let mut engine = BackupEngine::open(&options, &Env::new().unwrap()).unwrap();
/// engine.create_new_backup(&db).unwrap();
/// engine.restore_from_latest_backup(&copy, &copy, &RestoreOptions::default()).unwrap();
/// let restored = DB::open_default(&copy).unwrap();
/// assert_eq!(restored.get(b"key").unwrap().unwrap(), b"value");
/// ```
pub struct BackupEngine {
    inner: ::backup::BackupEngine,
    env: Env,
}

impl BackupEngine {
    /// Opens a directory of backups, and creates it if there is none.
    ///
    /// # Errors
    /// The errors of the file system; the directory is open elsewhere.
    pub fn open(opts: &BackupEngineOptions, env: &Env) -> Result<BackupEngine, Error> {
        let mut options = opts.inner.clone();
        options.fs = env.fs();
        Ok(BackupEngine {
            inner: ::backup::BackupEngine::open(options)?,
            env: env.clone(),
        })
    }

    /// Creates a backup of the present state of the database, with copies of its WALs.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn create_new_backup<T: ThreadMode, D: DBInner>(&mut self, db: &DBCommon<T, D>) -> Result<(), Error> {
        self.create_new_backup_flush(db, false)
    }

    /// Creates a backup of the present state of the database, after a flush of memtables if requested.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn create_new_backup_flush<T: ThreadMode, D: DBInner>(
        &mut self,
        db: &DBCommon<T, D>,
        flush_before_backup: bool,
    ) -> Result<(), Error> {
        let options = ::backup::CreateBackupOptions {
            flush_before_backup,
            ..::backup::CreateBackupOptions::default()
        };
        self.inner.create_new_backup(db.engine(), &options)?;
        Ok(())
    }

    /// Deletes all but the newest backups.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn purge_old_backups(&mut self, num_backups_to_keep: usize) -> Result<(), Error> {
        Ok(self.inner.purge_old_backups(num_backups_to_keep)?)
    }

    /// Creates a database from the newest backup.
    ///
    /// # Errors
    /// There is no backup; a file of it is damaged; the target database is open.
    pub fn restore_from_latest_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
    ) -> Result<(), Error> {
        let options = self.restore_options(opts);
        Ok(self
            .inner
            .restore_db_from_latest_backup(db_dir, wal_dir, &options)?)
    }

    /// Creates a database from a backup.
    ///
    /// # Errors
    /// The errors of [`restore_from_latest_backup`](Self::restore_from_latest_backup).
    pub fn restore_from_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
        backup_id: u32,
    ) -> Result<(), Error> {
        let options = self.restore_options(opts);
        Ok(self
            .inner
            .restore_db_from_backup(backup_id, db_dir, wal_dir, &options)?)
    }

    fn restore_options(&self, opts: &RestoreOptions) -> ::backup::RestoreOptions {
        ::backup::RestoreOptions {
            fs: self.env.fs(),
            ..opts.inner.clone()
        }
    }

    /// Compares the sizes of a backup's files with the recorded sizes.
    ///
    /// # Errors
    /// `Corruption` with the file; `NotFound` if there is no such backup.
    pub fn verify_backup(&self, backup_id: u32) -> Result<(), Error> {
        Ok(self.inner.verify_backup(backup_id, false, None)?)
    }

    /// The good backups, oldest first.
    pub fn get_backup_info(&self) -> Vec<BackupEngineInfo> {
        let info = |backup: ::backup::BackupInfo| BackupEngineInfo {
            timestamp: narrow(backup.timestamp),
            backup_id: backup.backup_id,
            size: backup.size(),
            num_files: narrow(backup.files.len()),
        };
        self.inner.backups().into_iter().map(info).collect()
    }
}
