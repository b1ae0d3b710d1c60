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
//! engine.restore_db_from_latest_backup(&elsewhere, &elsewhere, &RestoreOptions::default()).unwrap();
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
mod engine;
mod info;
mod meta;
mod names;
mod open_backup;
mod options;
mod restore;
mod verify;

pub use engine::BackupEngine;
pub use info::{BackupFileInfo, BackupId, BackupInfo, MAX_APP_METADATA};
pub use options::{
    BackupEngineOptions, CreateBackupOptions, ExcludeFiles, RestoreMode, RestoreOptions, ShareFilesNaming,
};
