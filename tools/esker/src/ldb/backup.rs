//! `backup` and `restore`.

use std::io::Write;
use std::path::PathBuf;

use ::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::stderr_logger;
use crate::output::Out;

/// The options of the directory of backups.
fn options(line: &Line) -> Result<BackupEngineOptions, Failed> {
    let dir: PathBuf = line
        .path("backup_dir")
        .ok_or_else(|| Failed::said("--backup_dir: missing backup directory"))?;
    let environment = ["backup_env_uri", "backup_fs_uri"]
        .into_iter()
        .find(|name| line.value(name).is_some());
    if let Some(name) = environment {
        return Err(Failed::said(format!(
            "Not implemented: --{name}: there is one file system, the disk"
        )));
    }
    if let Some(level) = line.int("stderr_log_level")?
        && stderr_logger::level(level).is_none()
    {
        return Err(Failed::said("stderr_log_level must be >= 0 and < 6."));
    }
    let threads = line.int("num_threads")?.unwrap_or(1);
    Ok(BackupEngineOptions {
        max_background_operations: usize::try_from(threads).unwrap_or(1).max(1),
        ..BackupEngineOptions::new(dir)
    })
}

pub fn backup(line: &Line, out: &mut Out) -> Outcome {
    let options = options(line)?;
    let session = open::writable(line, false)?;
    writeln!(out, "open db OK")?;
    let mut engine = BackupEngine::open(options)?;
    writeln!(out, "open backup engine OK")?;
    engine.create_new_backup(&session.db, &CreateBackupOptions::default())?;
    writeln!(out, "create new backup OK")?;
    session.close()?;
    Ok(String::new())
}

pub fn restore(line: &Line, out: &mut Out) -> Outcome {
    let engine = BackupEngine::open_read_only(options(line)?)?;
    writeln!(out, "open restore engine OK")?;
    let dir = line.db();
    engine.restore_db_from_latest_backup(&dir, &dir, &RestoreOptions::default())?;
    writeln!(out, "restore from backup OK")?;
    Ok(String::new())
}
