//! Backups of the database under stress, made while all threads write: a backup holds the state at the moment
//! it was made.
//!
//! As in RocksDB's db_stress, some keys are locked while a backup is made; it is then restored, or opened in
//! place, and these keys are compared. All backups go into one directory next to the database's, so that each
//! shares files with those before it; after a crash, the next run finds what the crashed one left there.

use backup::{
    BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions, ShareFilesNaming,
};
use esker::{ColumnFamily, Db, Options};
use fastrand::Rng;

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::faults::is_injected;
use crate::stress::Stress;
use crate::worker::{SCAN_WIDTH, Worker};

/// The most backups that are kept.
const KEPT: usize = 3;

impl Stress {
    /// Opens the directory of backups, which must all be good.
    fn backup_engine(&self, rng: &mut Rng) -> Outcome<BackupEngine> {
        let namings = [
            ShareFilesNaming::UseDbSessionIdAndFileSize,
            ShareFilesNaming::UseDbSessionIdAndFileSize,
            ShareFilesNaming::UseDbSessionId,
            ShareFilesNaming::LegacyCrc32cAndFileSize,
        ];
        let engine = BackupEngine::open(BackupEngineOptions {
            fs: self.options.fs.clone(),
            share_table_files: rng.u32(..8) > 0,
            share_files_with_checksum_naming: namings[rng.usize(..namings.len())],
            schema_version: rng.u32(1..3),
            max_background_operations: rng.usize(1..4),
            ..BackupEngineOptions::new(self.beside("backup"))
        })?;
        match engine.corrupted_backups().first() {
            None => Ok(engine),
            Some((_, error)) if is_injected(&error.to_string()) => Err(error.clone().into()),
            Some((id, error)) => Err(Failure::Mismatch(format!("backup {id} is corrupt: {error}"))),
        }
    }

    /// The options to open a backup with.
    fn options_of_backup(&self) -> Options {
        Options {
            create_if_missing: false,
            ..self.options_of_copy()
        }
    }
}

impl Worker<'_> {
    /// Makes a backup while some keys are locked, verifies it, restores or opens it, and checks that it shows
    /// these keys. Does nothing while another thread makes one.
    pub(super) fn backup(&mut self) -> Outcome {
        let Some(_alone) = self.stress.backups.try_lock() else {
            return Ok(());
        };
        let stress = self.stress;
        let size: u64 = self.open.db.live_files().iter().map(|file| file.size).sum();
        if stress.flags.backup_max_size > 0 && size > stress.flags.backup_max_size {
            return Ok(());
        }
        let mut engine = stress.backup_engine(&mut self.rng)?;
        let options = CreateBackupOptions {
            flush_before_backup: self.rng.bool(),
            ..CreateBackupOptions::default()
        };
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(stress.expected.keys());
        let db = &self.open.db;
        let make = |handle: &ColumnFamily| {
            let made = engine.create_new_backup(db, &options);
            (made, handle.name().to_owned())
        };
        let ((made, family), seen) = self.see(family, keys, make)?;
        let id = made?;
        engine.verify_backup(id, true, None)?;
        let how = ["an opened backup", "a restored backup"][self.rng.usize(..2)];
        let copy = match how {
            "an opened backup" => engine.open_backup(id, &stress.options_of_backup())?,
            _ => self.restore(&engine, id)?,
        };
        let Some(handle) = copy.column_family(&family) else {
            return Err(Failure::Mismatch(format!("{how} has no family {family}")));
        };
        let bounds = self.bounded(&seen.keys);
        self.compare(copy.iter_cf_opt(&handle, &bounds), &seen, how)?;
        drop(handle);
        copy.close()?;
        engine.purge_old_backups(self.rng.usize(..KEPT))?;
        self.done.count(What::Backup);
        Ok(())
    }

    /// Restores a backup over the files of the previous restoration.
    fn restore(&mut self, engine: &BackupEngine, id: u32) -> Outcome<Db> {
        let modes = [
            RestoreMode::PurgeAllFiles,
            RestoreMode::VerifyChecksum,
            RestoreMode::KeepLatestDbSessionIdFiles,
        ];
        let restoring = RestoreOptions {
            mode: modes[self.rng.usize(..modes.len())],
            fs: self.stress.options.fs.clone(),
            ..RestoreOptions::default()
        };
        let dir = self.stress.beside("restored");
        engine.restore_db_from_backup(id, &dir, &dir, &restoring)?;
        Ok(Db::open(&self.stress.options_of_backup(), &dir)?)
    }
}
