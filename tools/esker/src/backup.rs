//! Backups of a database in a backup directory that RocksDB or Esker wrote.

use std::io::Write;
use std::sync::Arc;

use backup::{
    BackupEngine, BackupEngineOptions, BackupId, BackupInfo, CreateBackupOptions, RestoreMode, RestoreOptions,
};
use base::{Error, Progress, filename};
use vfs::FileSystem;

use crate::args::{BackupArgs, Mode, RestoreArgs};
use crate::directory;
use crate::open;
use crate::output::{Failure, Out};
use crate::text::{Form, count, show_size};

/// The requested action.
enum Action {
    Create,
    List,
    Verify,
    Delete(BackupId),
    Purge(usize),
}

impl BackupArgs {
    fn action(&self) -> Result<Action, Failure> {
        let action = match (self.list, self.verify, self.delete, self.purge) {
            (true, ..) => Action::List,
            (_, true, ..) => Action::Verify,
            (_, _, Some(id), _) => Action::Delete(id),
            (.., Some(keep)) => Action::Purge(keep),
            _ => Action::Create,
        };
        let creates = matches!(action, Action::Create);
        match creates == self.db.is_some() {
            true => Ok(action),
            false if creates => Err(Failure::Usage(
                "--db DIR is missing: the database to back up".to_owned(),
            )),
            false => Err(Failure::Usage(
                "--db cannot be combined with --list, --verify, --delete or --purge".to_owned(),
            )),
        }
    }

    fn options(&self) -> BackupEngineOptions {
        BackupEngineOptions {
            backup_rate_limit: self.backup_rate_limit,
            max_background_operations: self.num_threads,
            ..BackupEngineOptions::new(&self.backup_dir)
        }
    }
}

/// Creates a backup, or does the requested action.
pub fn backup(args: &BackupArgs, out: &mut Out, progress: &Arc<Progress>) -> Result<(), Failure> {
    let action = args.action()?;
    if !matches!(action, Action::Create) {
        check_is_backup_dir(&args.backup_dir)?;
    }
    match action {
        Action::Create => create(args, out, progress),
        Action::List => list(&BackupEngine::open_read_only(args.options())?, args.hex, out),
        Action::Verify => verify(args, out, progress),
        Action::Delete(id) => Ok(BackupEngine::open(args.options())?.delete_backup(id)?),
        Action::Purge(keep) => Ok(BackupEngine::open(args.options())?.purge_old_backups(keep)?),
    }
}

/// `InvalidArgument` unless `dir` is a backup directory: listing must not create one.
fn check_is_backup_dir(dir: &std::path::Path) -> Result<(), Error> {
    match directory::fs().exists(&dir.join("meta"))? {
        true => Ok(()),
        false => {
            Err(Error::invalid_argument("not a backup directory: it has no subdirectory meta").in_file(dir))
        }
    }
}

fn create(args: &BackupArgs, out: &mut Out, progress: &Arc<Progress>) -> Result<(), Failure> {
    let Some(database) = args.database() else {
        return Ok(());
    };
    let db = open::writable(&database, false)?;
    // The database is opened before the backup directory: if that fails, no backup directory is created.
    let mut engine = BackupEngine::open(args.options())?;
    let options = CreateBackupOptions {
        flush_before_backup: args.flush_before_backup,
        app_metadata: args.metadata.clone().unwrap_or_default().into_bytes(),
        progress: Some(progress.clone()),
        ..CreateBackupOptions::default()
    };
    let made = engine.create_new_backup(&db, &options);
    db.close()?;
    let info = engine.backup(made?)?;
    writeln!(
        out,
        "backup {} in {}: {}, {}",
        info.backup_id,
        args.backup_dir.display(),
        count(info.files.len() as u64, "file"),
        show_size(info.size())
    )?;
    Ok(())
}

fn list(engine: &BackupEngine, hex: bool, out: &mut Out) -> Result<(), Failure> {
    for info in engine.backups() {
        writeln!(out, "{}", describe(&info, hex))?;
    }
    let corrupt = engine.corrupted_backups();
    for (id, error) in &corrupt {
        writeln!(out, "{id:>6}  BAD  {error}")?;
    }
    match corrupt.into_iter().next() {
        None => Ok(()),
        Some((id, first)) => Err(first.context(&format!("backup {id}")).into()),
    }
}

fn describe(info: &BackupInfo, hex: bool) -> String {
    let mut line = format!(
        "{:>6}  {}  {:>12}  {:>10}  sequence number {}",
        info.backup_id,
        show_date(info.timestamp),
        show_size(info.size()),
        count(info.files.len() as u64, "file"),
        info.sequence_number
    );
    if !info.app_metadata.is_empty() {
        line.push_str(&format!("  {}", Form::new(hex).show(&info.app_metadata)));
    }
    line
}

/// A Unix time as a date in UTC.
fn show_date(seconds: u64) -> String {
    let utc = base::date::Utc::from_unix(seconds);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
        utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second
    )
}

fn verify(args: &BackupArgs, out: &mut Out, progress: &Arc<Progress>) -> Result<(), Failure> {
    let engine = BackupEngine::open_read_only(args.options())?;
    let ids: Vec<BackupId> = match args.backup_id {
        Some(id) => vec![id],
        None => {
            let good = engine.backups().into_iter().map(|info| info.backup_id);
            let corrupt = engine.corrupted_backups().into_iter().map(|(id, _)| id);
            let mut all: Vec<BackupId> = good.chain(corrupt).collect();
            all.sort_unstable();
            all
        }
    };
    let mut first = None;
    for id in ids {
        match engine.verify_backup(id, true, Some(progress)) {
            Ok(()) => writeln!(out, "ok   {id}")?,
            Err(error) if error.is_corruption() => {
                writeln!(out, "BAD  {id}  {error}")?;
                first.get_or_insert(error.context(&format!("backup {id}")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    first.map_or(Ok(()), |error| Err(error.into()))
}

/// Restores a database from a backup.
pub fn restore(args: &RestoreArgs, out: &mut Out, progress: &Arc<Progress>) -> Result<(), Failure> {
    check_is_backup_dir(&args.backup_dir)?;
    let dir = &*args.database.db;
    if !args.overwrite && directory::fs().exists(&filename::current(dir))? {
        return Err(Error::invalid_argument(
            "a database exists there; --overwrite replaces it by the backup",
        )
        .in_file(dir)
        .into());
    }
    let engine = BackupEngine::open_read_only(BackupEngineOptions {
        restore_rate_limit: args.restore_rate_limit,
        max_background_operations: args.num_threads,
        ..BackupEngineOptions::new(&args.backup_dir)
    })?;
    let latest = || {
        let found = engine.latest_backup();
        found.ok_or_else(|| Error::new(base::ErrorKind::NotFound, "no good backup").in_file(&args.backup_dir))
    };
    let id = args.backup_id.map_or_else(latest, Ok)?;
    let options = RestoreOptions {
        keep_log_files: args.keep_log_files,
        mode: match args.mode {
            Mode::Verify => RestoreMode::VerifyChecksum,
            Mode::Purge => RestoreMode::PurgeAllFiles,
            Mode::Session => RestoreMode::KeepLatestDbSessionIdFiles,
        },
        progress: Some(progress.clone()),
        ..RestoreOptions::default()
    };
    let wal_dir = args.database.wal_dir.as_deref().unwrap_or(dir);
    engine.restore_db_from_backup(id, dir, wal_dir, &options)?;
    let info = engine.backup(id)?;
    writeln!(
        out,
        "{} is backup {id}, of {}, as of sequence number {}",
        dir.display(),
        show_date(info.timestamp),
        info.sequence_number
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_799, "2000-02-29 23:59:59 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_700_000_000, "2023-11-14 22:13:20 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(show_date(seconds), date);
        }
    }
}
