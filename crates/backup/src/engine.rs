//! A backup directory that is open.

use base::{Error, Result};
use vfs::FileLock;

use crate::catalog::Catalog;
use crate::options::BackupEngineOptions;
use crate::{BackupId, BackupInfo, copy, names};

/// A backup directory.
///
/// Only one engine at a time may have it open for writing; the file `BACKUP_LOCK` in it excludes other Esker
/// processes, but not RocksDB. It may be the directory of a database, whose own `LOCK` is another file.
#[derive(Debug)]
pub struct BackupEngine {
    pub(crate) options: BackupEngineOptions,
    pub(crate) catalog: Catalog,
    /// The lock of the directory, held while the engine is open for writing.
    pub(crate) lock: Option<Box<dyn FileLock>>,
}

impl BackupEngine {
    /// Opens a backup directory for writing, and creates it if it does not exist. Reads every meta file, and
    /// the size of every file they name. A mismatch makes a backup [corrupt](Self::corrupted_backups) and is
    /// not an error here.
    ///
    /// # Errors
    /// `LockHeld` if the directory is open for writing elsewhere; `InvalidArgument` for contradictory
    /// options; errors of the file system.
    pub fn open(options: BackupEngineOptions) -> Result<BackupEngine> {
        check(&options)?;
        let fs = &*options.fs;
        let dir = &options.backup_dir;
        for dir in [dir.clone(), dir.join(names::META), dir.join(names::PRIVATE)] {
            copy::create_dir(fs, &dir, options.sync)?;
        }
        if options.share_table_files {
            copy::create_dir(fs, &dir.join(shared_dir(&options)), options.sync)?;
        }
        let lock = fs.lock(&dir.join("BACKUP_LOCK"))?;
        Ok(BackupEngine {
            catalog: Catalog::load(&options, usize::MAX)?,
            options,
            lock: Some(lock),
        })
    }

    /// Opens a backup directory to inspect, verify and restore. Takes no lock and writes nothing. Reads no
    /// more backups than [`max_valid_backups_to_open`](BackupEngineOptions::max_valid_backups_to_open).
    ///
    /// # Errors
    /// `NotFound` if the directory does not exist.
    pub fn open_read_only(options: BackupEngineOptions) -> Result<BackupEngine> {
        Ok(BackupEngine {
            catalog: Catalog::load(&options, options.max_valid_backups_to_open)?,
            options,
            lock: None,
        })
    }

    /// The backups, oldest first.
    pub fn backups(&self) -> Vec<BackupInfo> {
        let ids = self.catalog.backups.keys();
        ids.filter_map(|&id| self.catalog.info(id).ok()).collect()
    }

    /// The backup `id`. `NotFound` if there is none of that number, `Corruption` if it is corrupt.
    pub fn backup(&self, id: BackupId) -> Result<BackupInfo> {
        self.catalog.info(id)
    }

    /// The number of the newest good backup.
    pub fn latest_backup(&self) -> Option<BackupId> {
        self.catalog.backups.keys().next_back().copied()
    }

    /// Backups that cannot be restored, with the reason: the meta file is corrupt or of a later release, or a
    /// file is missing or has another size. [`delete_backup`](Self::delete_backup) removes them.
    pub fn corrupted_backups(&self) -> Vec<(BackupId, Error)> {
        let corrupt = self.catalog.corrupt.iter();
        corrupt
            .map(|(&id, corrupt)| (id, corrupt.error.clone()))
            .collect()
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(
                Error::not_supported("the backup directory is open for reading only")
                    .in_file(&self.options.backup_dir),
            ),
        }
    }
}

/// `InvalidArgument` for contradictory options.
fn check(options: &BackupEngineOptions) -> Result<()> {
    if !(1..=2).contains(&options.schema_version) {
        return Err(Error::not_supported(format!(
            "schema_version {} is neither 1 nor 2",
            options.schema_version
        )));
    }
    if options.backup_dir.as_os_str().is_empty() {
        return Err(Error::invalid_argument("no backup directory is named"));
    }
    Ok(())
}

/// The directory of shared files.
pub(crate) fn shared_dir(options: &BackupEngineOptions) -> &'static str {
    match options.share_files_with_checksum {
        true => names::SHARED_CHECKSUM,
        false => names::SHARED,
    }
}
