//! Checkpoints and backups that the steps of a crash test make, and the check that they survive crashes.

use std::sync::Arc;

use backup::{BackupEngine, BackupEngineOptions, BackupId, CreateBackupOptions};
use esker::{Db, Options, Result};
use vfs::{FileSystem, MemFs};

use super::flavour::Flavour;
use super::ledger::{Found, Marks, difference};
use super::session::dump;
use super::{Verdict, quietly};

/// The directory of backups.
const BACKUPS: &str = "/backups";

/// A completed copy of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// The copy is a checkpoint, in the directory with this number.
    Checkpoint(u64),
    /// A backup, with its id.
    Backup(BackupId),
}

/// The directory of a checkpoint.
pub(super) fn checkpoint_dir(number: u64) -> String {
    format!("/checkpoint-{number}")
}

fn engine(fs: Arc<dyn FileSystem>) -> Result<BackupEngine> {
    BackupEngine::open(BackupEngineOptions {
        fs,
        ..BackupEngineOptions::new(BACKUPS)
    })
}

/// Creates a backup of `db`.
pub(super) fn back_up(db: &Db) -> Result<BackupId> {
    engine(db.options().fs.clone())?.create_new_backup(db, &CreateBackupOptions::default())
}

/// Opens, in the file system `fs` after a crash, each copy that was complete before the crash, and checks
/// that it has the rows of its creation.
pub(super) fn check(flavour: &Flavour, fs: &MemFs, before: &Marks) -> Verdict {
    for (copy, expected) in before.copies() {
        let found = quietly(|| rows(flavour, fs, *copy))?;
        let found = found.map_err(|error| format!("{copy:?} cannot be read: {error}"))?;
        if found != **expected {
            return Err(format!(
                "{copy:?} has other rows:\n{}",
                difference(expected, &found)
            ));
        }
    }
    Ok(())
}

fn rows(flavour: &Flavour, fs: &MemFs, copy: Copy) -> Result<Found> {
    let options = Options {
        create_if_missing: false,
        wal_dir: String::new(),
        ..flavour.options(Arc::new(fs.clone()))
    };
    match copy {
        Copy::Checkpoint(number) => dump(&Db::open(&options, checkpoint_dir(number))?),
        Copy::Backup(id) => dump(&engine(Arc::new(fs.clone()))?.open_backup(id, &options)?),
    }
}
