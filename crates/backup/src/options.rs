//! Options with RocksDB's names.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use base::env::{Clock, SystemClock};
use base::{Progress, Result};
use vfs::{FileSystem, PosixFs, RateLimiter};

/// The naming of shared files. Any setting reads all kinds of names, and one directory may have names of
/// every kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareFilesNaming {
    /// The name of a shared file contains its CRC-32C and size. A table must be read entirely to find out
    /// whether the directory has it already.
    LegacyCrc32cAndFileSize,
    /// The name of a shared table contains the id of the session that wrote it.
    UseDbSessionId,
    /// The name of a shared table contains the id of the session that wrote it, and the size of the table.
    #[default]
    UseDbSessionIdAndFileSize,
}

/// The options of a backup directory. The fields are those of RocksDB's `BackupEngineOptions`.
#[derive(Clone)]
pub struct BackupEngineOptions {
    /// The backup directory. Required; it must not be a database's directory.
    pub backup_dir: PathBuf,
    /// The file system of the backup directory (RocksDB's `backup_env`). Default: the operating system's file
    /// system.
    pub fs: Arc<dyn FileSystem>,
    /// Whether backups share tables and blob files, so that a new one only copies new files. Default: true.
    pub share_table_files: bool,
    /// Whether shared files are named by their contents, so that backups of diverged databases may share one
    /// directory. Without it, a table of the same number and size is assumed to be the same. Default: true.
    pub share_files_with_checksum: bool,
    /// The naming of shared files. Default: by session and size.
    pub share_files_with_checksum_naming: ShareFilesNaming,
    /// Whether everything is durable when a call returns, so that a power failure at any moment damages no
    /// backup. Without it only backups that were synced before are safe. Default: true.
    pub sync: bool,
    /// Whether WALs are part of a backup. Without them a backup lacks unflushed rows. Default: true.
    pub backup_log_files: bool,
    /// The maximum rate at which creating a backup writes, in bytes a second; 0: no limit. Default: 0.
    pub backup_rate_limit: u64,
    /// A limiter that replaces [`backup_rate_limit`](Self::backup_rate_limit). Others may share it, and it
    /// may count reads too. Default: none.
    pub backup_rate_limiter: Option<Arc<RateLimiter>>,
    /// The maximum rate at which a restoration writes, in bytes a second; 0: no limit. Default: 0.
    pub restore_rate_limit: u64,
    /// A limiter that replaces [`restore_rate_limit`](Self::restore_rate_limit). Default: none.
    pub restore_rate_limiter: Option<Arc<RateLimiter>>,
    /// The number of threads that copy files or compute checksums. Default: 1.
    pub max_background_operations: usize,
    /// The schema of the meta files written: 1, or 2, which includes the files' sizes and which RocksDB reads
    /// from 6.19 on. Default: 1.
    pub schema_version: u32,
    /// The number of the newest good backups that a read-only engine opens. Older backups are neither read
    /// nor listed. Engines that write open all backups. Default: no limit.
    pub max_valid_backups_to_open: usize,
    /// The clock of the backups' creation times. Default: the machine's clock.
    pub clock: Arc<dyn Clock>,
}

impl BackupEngineOptions {
    /// The default options for this directory.
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
            max_valid_backups_to_open: usize::MAX,
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

/// Decides by the name of a shared file, relative to the backup directory, whether a backup leaves it out.
pub type ExcludeFiles = dyn Fn(&str) -> bool + Send + Sync;

/// The options of one backup.
#[derive(Clone, Default)]
pub struct CreateBackupOptions {
    /// Whether memtables are flushed first. Otherwise WALs are copied; rows that no WAL holds are flushed in
    /// any case. Default: false.
    pub flush_before_backup: bool,
    /// Text, or any bytes, stored with the backup: at most 1 MiB. Default: none.
    pub app_metadata: Vec<u8>,
    /// Gets the progress, and may request a stop. Default: none.
    pub progress: Option<Arc<Progress>>,
    /// Shared tables and blob files for which it returns true are not copied, because they are known to exist
    /// elsewhere; a restoration finds them by [`alternate_dirs`](RestoreOptions::alternate_dirs). Several
    /// threads may call it at once. Requires [`schema_version`](BackupEngineOptions::schema_version) 2.
    /// Default: none.
    pub exclude_files_callback: Option<Arc<ExcludeFiles>>,
}

impl fmt::Debug for CreateBackupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateBackupOptions")
            .field("flush_before_backup", &self.flush_before_backup)
            .field("app_metadata", &self.app_metadata)
            .field("exclude_files_callback", &self.exclude_files_callback.is_some())
            .finish_non_exhaustive()
    }
}

/// The treatment of existing files at the destination of a restoration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMode {
    /// All existing files are removed, and all files of the backup are copied.
    #[default]
    PurgeAllFiles,
    /// Tables and blob files that are in the backup too are kept if they have its checksums.
    VerifyChecksum,
    /// Tables are kept that have the session in their name in the backup, and the size. Their contents are
    /// not verified. Tables that the backup excludes need not be in an alternate directory then.
    KeepLatestDbSessionIdFiles,
}

/// The options of a restoration.
#[derive(Clone)]
pub struct RestoreOptions {
    /// Whether existing WALs are kept, and those in `archive` moved back. For backups created without
    /// `backup_log_files`. Default: false.
    pub keep_log_files: bool,
    /// The existing files, besides WALs, that are kept. Default: none.
    pub mode: RestoreMode,
    /// Other backup directories, on the file system of the engine's, that have the files which the backup
    /// [excludes](CreateBackupOptions::exclude_files_callback). Default: none.
    pub alternate_dirs: Vec<PathBuf>,
    /// The file system of the restored database. Default: the operating system's file system.
    pub fs: Arc<dyn FileSystem>,
    /// Gets the progress, and may request a stop. Default: none.
    pub progress: Option<Arc<Progress>>,
}

impl Default for RestoreOptions {
    fn default() -> RestoreOptions {
        RestoreOptions {
            keep_log_files: false,
            mode: RestoreMode::default(),
            alternate_dirs: Vec::new(),
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
