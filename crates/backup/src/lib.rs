//! RocksDB's backup directories: incremental, checksummed backups of a live database, and their restoration.
//!
//! ```
//! use esker_backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
//! use esker::{Db, Options};
//!
//! # let place = tempfile::tempdir().unwrap();
//! # let (path, backups, elsewhere) = (place.path().join("db"), place.path().join("backups"), place.path().join("new"));
//! let options = Options { create_if_missing: true, ..Default::default() };
//! let db = Db::open(&options, &path).unwrap();
//! db.put(b"key", b"value").unwrap();
//!
//! let mut engine = BackupEngine::open(BackupEngineOptions::new(&backups)).unwrap();
//! let id = engine.create_new_backup(&db, &CreateBackupOptions::default()).unwrap();
//! engine.verify_backup(id, true, None).unwrap();
//!
//! engine.restore_db_from_latest_backup(&RestoreOptions::default(), &elsewhere, &elsewhere).unwrap();
//! let restored = Db::open(&Options::default(), &elsewhere).unwrap();
//! assert_eq!(restored.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
//! ```
//!
//! A backup is a meta file that names its files and their checksums. All backups share one directory of
//! tables and blob files, so that a new backup only copies new ones; its other files are private. `names.rs`
//! defines the names of files, `meta.rs` the contents of a meta file. RocksDB and Esker read each other's
//! backup directories, and may use one alternately.
//!
//! # The state after a crash
//!
//! The meta file is written last, by one rename, when all files it names are durable. It is deleted first,
//! and its deletion is durable before any other file is deleted. So with [`sync`](BackupEngineOptions::sync)
//! a backup exists entirely or not at all, whenever the power fails, and earlier backups are not affected. A
//! restoration removes CURRENT first and writes it last.
#![forbid(unsafe_code)]

mod catalog;
mod collect;
mod copy;
mod create;
mod meta;
mod names;
mod open_backup;
mod options;
mod restore;
mod verify;

use base::Result;
use vfs::FileLock;

use crate::catalog::Catalog;

pub use options::{BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions, ShareFilesNaming};

/// The number of a backup, from 1.
pub type BackupId = u32;

/// The maximum number of bytes of metadata that a user may store with a backup.
pub const MAX_APP_METADATA: usize = 1 << 20;

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFileInfo {
    /// The path relative to the backup directory.
    pub relative_filename: String,
    /// The size in bytes.
    pub size: u64,
    /// The CRC-32C of the whole file, if the meta file has it.
    pub crc32c: Option<u32>,
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// The backup's number.
    pub backup_id: BackupId,
    /// The time of its creation, in Unix seconds.
    pub timestamp: u64,
    /// The sequence number of the backup's last row.
    pub sequence_number: u64,
    /// The user's metadata.
    pub app_metadata: Vec<u8>,
    /// The files of the backup, including those it shares with other backups.
    pub files: Vec<BackupFileInfo>,
    /// Files it needs that are in no known backup directory. Only RocksDB creates such backups.
    pub excluded_files: Vec<String>,
}

impl BackupInfo {
    /// The sum of the sizes of all files, in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// A backup directory.
///
/// Only one engine at a time may have it open for writing; the file `BACKUP_LOCK` in it excludes other Esker
/// processes, but not RocksDB. It may be the directory of a database, whose own `LOCK` is another file.
#[derive(Debug)]
pub struct BackupEngine {
    options: BackupEngineOptions,
    catalog: Catalog,
    /// Held while it is open for writing.
    lock: Option<Box<dyn FileLock>>,
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
        create::check(&options)?;
        let fs = &*options.fs;
        let dir = &options.backup_dir;
        for dir in [dir.clone(), dir.join(names::META), dir.join(names::PRIVATE)] {
            copy::create_dir(fs, &dir, options.sync)?;
        }
        if options.share_table_files {
            copy::create_dir(fs, &dir.join(create::shared_dir(&options)), options.sync)?;
        }
        let lock = fs.lock(&dir.join("BACKUP_LOCK"))?;
        Ok(BackupEngine {
            catalog: Catalog::load(&options)?,
            options,
            lock: Some(lock),
        })
    }

    /// Opens a backup directory to inspect, verify and restore. Takes no lock and writes nothing.
    ///
    /// # Errors
    /// `NotFound` if the directory does not exist.
    pub fn open_read_only(options: BackupEngineOptions) -> Result<BackupEngine> {
        Ok(BackupEngine {
            catalog: Catalog::load(&options)?,
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
    pub fn corrupted_backups(&self) -> Vec<(BackupId, base::Error)> {
        let corrupt = self.catalog.corrupt.iter();
        corrupt
            .map(|(&id, corrupt)| (id, corrupt.error.clone()))
            .collect()
    }

    fn check_writable(&self) -> Result<()> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(
                base::Error::not_supported("the backup directory is open for reading only")
                    .in_file(&self.options.backup_dir),
            ),
        }
    }
}
