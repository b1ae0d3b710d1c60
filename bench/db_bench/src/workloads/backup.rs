//! A backup of the database, and a restore from it.

use std::path::PathBuf;
use std::sync::Arc;

use backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use base::Result;
use esker::{RateLimiter, RateLimiterMode, RateLimiterOptions, SystemClock};

use crate::params::Params;
use crate::runner::Thread;

fn backup_dir(params: &Params<'_>) -> PathBuf {
    match params.flags.backup_dir.as_str() {
        "" => params.db.path().join("backup"),
        dir => PathBuf::from(dir),
    }
}

fn restore_dir(params: &Params<'_>) -> PathBuf {
    match params.flags.restore_dir.as_str() {
        "" => params.db.path().join("restore"),
        dir => PathBuf::from(dir),
    }
}

/// Prints the directory of the backup.
pub fn prepare_backup(params: &mut Params<'_>) -> Result<()> {
    println!("Backup path: [{}]", backup_dir(params).display());
    Ok(())
}

/// Prints the directories of the backup and of the restored database.
pub fn prepare_restore(params: &mut Params<'_>) -> Result<()> {
    prepare_backup(params)?;
    println!("Restore path: [{}]", restore_dir(params).display());
    Ok(())
}

/// A limiter of reads and writes together, as in RocksDB's db_bench; none for a rate of 0.
fn limiter(rate_bytes_per_sec: u64) -> Result<Option<Arc<RateLimiter>>> {
    if rate_bytes_per_sec == 0 {
        return Ok(None);
    }
    let options = RateLimiterOptions {
        rate_bytes_per_sec,
        mode: RateLimiterMode::AllIo,
        ..RateLimiterOptions::default()
    };
    RateLimiter::with_options(options, Arc::new(SystemClock::new())).map(|limiter| Some(Arc::new(limiter)))
}

/// Replaces the backups in the directory by one of the database.
pub fn create(params: &Params<'_>, _: &mut Thread<'_>) -> Result<()> {
    let mut options = BackupEngineOptions::new(backup_dir(params));
    options.backup_rate_limiter = limiter(params.flags.backup_rate_limit)?;
    let mut engine = BackupEngine::open(options)?;
    engine.purge_old_backups(0)?;
    engine.garbage_collect()?;
    engine
        .create_new_backup(params.db, &CreateBackupOptions::default())
        .map(drop)
}

/// Restores a database from the newest backup.
pub fn restore(params: &Params<'_>, _: &mut Thread<'_>) -> Result<()> {
    let mut options = BackupEngineOptions::new(backup_dir(params));
    options.restore_rate_limiter = limiter(params.flags.restore_rate_limit)?;
    let engine = BackupEngine::open_read_only(options)?;
    let dir = restore_dir(params);
    engine.restore_db_from_latest_backup(&dir, &dir, &RestoreOptions::default())
}
