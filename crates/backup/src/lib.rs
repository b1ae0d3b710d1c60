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
//! A backup is a meta file that names its files and their checksums. Tables and blob files lie in one place for all backups, so
//! that a new one copies what is new; the rest is its own. How files are named stands in `names.rs`, what a meta file holds in
//! `meta.rs`. RocksDB reads what is written here, and the other way round; both may take turns.
//!
//! # What a crash leaves
//!
//! The meta file comes last, by one rename, when all it names is on the disk; it goes first, and its going is on the disk before
//! anything else goes. So with [`sync`](BackupEngineOptions::sync) a backup is there as a whole or not at all, whenever the
//! power fails, and those from before are not touched. Restoring removes CURRENT first and puts it in place last.
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

/// Bytes a user may keep with a backup.
pub const MAX_APP_METADATA: usize = 1 << 20;

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFileInfo {
    /// From the backup directory on.
    pub relative_filename: String,
    /// Bytes.
    pub size: u64,
    /// CRC-32C of the whole file, where the meta file says.
    pub crc32c: Option<u32>,
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// Its number.
    pub backup_id: BackupId,
    /// When it was made, in seconds since 1970.
    pub timestamp: u64,
    /// The sequence number of its last row.
    pub sequence_number: u64,
    /// What the user gave to be kept with it.
    pub app_metadata: Vec<u8>,
    /// Its files, those it shares with other backups among them.
    pub files: Vec<BackupFileInfo>,
    /// Files it needs that lie in no backup directory we know. Only RocksDB makes such backups.
    pub excluded_files: Vec<String>,
}

impl BackupInfo {
    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// A backup directory.
///
/// One at a time may have it open for writing; the file `LOCK` in it keeps others of us away, but not RocksDB.
#[derive(Debug)]
pub struct BackupEngine {
    options: BackupEngineOptions,
    catalog: Catalog,
    /// Held while it is open for writing.
    lock: Option<Box<dyn FileLock>>,
}

impl BackupEngine {
    /// Opens a backup directory for writing, and makes it if there is none. Reads every meta file, and the size of every file
    /// they name; what is not as they say makes a backup [corrupt](Self::corrupted_backups) and is no error here.
    ///
    /// # Errors
    /// `LockHeld` if somebody has it open for writing; `InvalidArgument` for options that contradict each other; those of the
    /// file system.
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
        let lock = fs.lock(&dir.join("LOCK"))?;
        Ok(BackupEngine {
            catalog: Catalog::load(&options)?,
            options,
            lock: Some(lock),
        })
    }

    /// Opens a backup directory to look at it, to verify and to restore. Takes no lock and writes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is none.
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

    /// One of them. `NotFound` if there is none of that number, `Corruption` if it is a corrupt one.
    pub fn backup(&self, id: BackupId) -> Result<BackupInfo> {
        self.catalog.info(id)
    }

    /// The number of the newest that is good.
    pub fn latest_backup(&self) -> Option<BackupId> {
        self.catalog.backups.keys().next_back().copied()
    }

    /// Backups that cannot be restored, and why: the meta file is damaged or from a later release, or a file is missing or has
    /// another size. [`delete_backup`](Self::delete_backup) removes them.
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
