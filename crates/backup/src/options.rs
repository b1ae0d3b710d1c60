//! Options, under RocksDB's names.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use base::env::{Clock, SystemClock};
use base::{Progress, Result};
use vfs::{FileSystem, PosixFs, RateLimiter};

/// How shared tables are named. Whatever is chosen, all names are read, and one directory may have names of every kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareFilesNaming {
    /// By CRC-32C and size. A table has to be read as a whole to know whether it is there already.
    LegacyCrc32cAndFileSize,
    /// By the session that wrote the table.
    UseDbSessionId,
    /// By session and size.
    #[default]
    UseDbSessionIdAndFileSize,
}

/// How a backup directory is kept. The fields are those of RocksDB's `BackupEngineOptions`.
#[derive(Clone)]
pub struct BackupEngineOptions {
    /// The backup directory. Required; not that of a database.
    pub backup_dir: PathBuf,
    /// Where the backup directory lies (RocksDB's `backup_env`). Default: the operating system's file system.
    pub fs: Arc<dyn FileSystem>,
    /// Backups share tables and blob files, so that a new one copies only what is new. Default: true.
    pub share_table_files: bool,
    /// Shared files are named by what is in them, so that backups of databases that went different ways may lie in one directory.
    /// Without it a table of the same number and size is taken for the same. Default: true.
    pub share_files_with_checksum: bool,
    /// How they are named. Default: by session and size.
    pub share_files_with_checksum_naming: ShareFilesNaming,
    /// Everything is on the disk when a call returns, and power may fail at any moment without a backup coming to harm.
    /// Without it only backups that were synced before are safe. Default: true.
    pub sync: bool,
    /// WALs are part of a backup. Without them what was not flushed is not in it. Default: true.
    pub backup_log_files: bool,
    /// Bytes a second that making a backup writes at most; 0: no limit. Default: 0.
    pub backup_rate_limit: u64,
    /// A limiter in place of [`backup_rate_limit`](Self::backup_rate_limit), that others may share and that may count reads too.
    /// Default: none.
    pub backup_rate_limiter: Option<Arc<RateLimiter>>,
    /// Bytes a second that restoring writes at most; 0: no limit. Default: 0.
    pub restore_rate_limit: u64,
    /// A limiter in its place. Default: none.
    pub restore_rate_limiter: Option<Arc<RateLimiter>>,
    /// Threads that copy files or compute checksums. Default: 1.
    pub max_background_operations: usize,
    /// Of the meta files written: 1, or 2, which RocksDB reads from 6.19 on and which holds the files' sizes. Default: 1.
    pub schema_version: u32,
    /// Tells when a backup was made. Default: the machine's clock.
    pub clock: Arc<dyn Clock>,
}

impl BackupEngineOptions {
    /// The defaults, for this directory.
    pub fn new(backup_dir: impl Into<PathBuf>) -> BackupEngineOptions {
        BackupEngineOptions {
            backup_dir: backup_dir.into(),
            fs: Arc::new(PosixFs::new()),
            share_table_files: true,
            share_files_with_checksum: true,
            share_files_with_checksum_naming: ShareFilesNaming::default(),
            sync: true,
            backup_log_files: true,
            backup_rate_limit: 0,
            backup_rate_limiter: None,
            restore_rate_limit: 0,
            restore_rate_limiter: None,
            max_background_operations: 1,
            schema_version: 1,
            clock: Arc::new(SystemClock::new()),
        }
    }

    pub(crate) fn backup_limiter(&self) -> Result<Option<Arc<RateLimiter>>> {
        limiter(&self.backup_rate_limiter, self.backup_rate_limit)
    }

    pub(crate) fn restore_limiter(&self) -> Result<Option<Arc<RateLimiter>>> {
        limiter(&self.restore_rate_limiter, self.restore_rate_limit)
    }
}

fn limiter(given: &Option<Arc<RateLimiter>>, rate: u64) -> Result<Option<Arc<RateLimiter>>> {
    match (given, rate) {
        (Some(given), _) => Ok(Some(given.clone())),
        (None, 0) => Ok(None),
        (None, rate) => Ok(Some(Arc::new(RateLimiter::new(rate)?))),
    }
}

impl fmt::Debug for BackupEngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackupEngineOptions({})", self.backup_dir.display())
    }
}

/// How one backup is made.
#[derive(Clone, Debug, Default)]
pub struct CreateBackupOptions {
    /// Memtables are flushed first. Without it WALs are copied; rows that no WAL holds are flushed all the same.
    /// Default: false.
    pub flush_before_backup: bool,
    /// Text, or any bytes, to be kept with the backup: 1 MiB at most. Default: none.
    pub app_metadata: Vec<u8>,
    /// Told how far it is, and asked whether to stop. Default: nobody.
    pub progress: Option<Arc<Progress>>,
}

/// What is done with the files that lie where a backup is restored to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMode {
    /// All go, and all of the backup's are copied.
    #[default]
    PurgeAllFiles,
    /// Tables and blob files that are in the backup too stay if they have its checksums.
    VerifyChecksum,
    /// Tables stay that name the session they are named by in the backup, and have the size. Their contents are not looked at.
    KeepLatestDbSessionIdFiles,
}

/// How a backup is restored.
#[derive(Clone)]
pub struct RestoreOptions {
    /// WALs that lie there stay, and those in `archive` come back. For backups made without `backup_log_files`.
    /// Default: false.
    pub keep_log_files: bool,
    /// What else stays. Default: nothing.
    pub mode: RestoreMode,
    /// Where the database is to lie. Default: the operating system's file system.
    pub fs: Arc<dyn FileSystem>,
    /// Told how far it is, and asked whether to stop. Default: nobody.
    pub progress: Option<Arc<Progress>>,
}

impl Default for RestoreOptions {
    fn default() -> RestoreOptions {
        RestoreOptions {
            keep_log_files: false,
            mode: RestoreMode::default(),
            fs: Arc::new(PosixFs::new()),
            progress: None,
        }
    }
}

impl fmt::Debug for RestoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "RestoreOptions({:?}, keep_log_files={})",
            self.mode, self.keep_log_files
        )
    }
}
