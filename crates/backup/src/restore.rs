//! Restores a database from a backup.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Progress, Result};
use esker::WalDir;
use vfs::FileSystem;

use crate::copy::{Copier, create_dir, for_all};
use crate::create::session_of;
use crate::meta::Meta;
use crate::names;
use crate::{BackupEngine, BackupEngineOptions, BackupFileInfo, BackupId, RestoreMode, RestoreOptions};

/// A file to restore.
struct Item {
    file: BackupFileInfo,
    /// The file in a backup directory; `None`: it is in none, and must exist at the destination.
    from: Option<PathBuf>,
    name: String,
    kind: FileKind,
    to: PathBuf,
}

impl Item {
    fn source(&self) -> Result<&Path> {
        self.from
            .as_deref()
            .ok_or_else(|| not_found(&self.file.relative_filename))
    }
}

impl BackupEngine {
    /// Restores the newest good backup. See [`restore_db_from_backup`](Self::restore_db_from_backup).
    pub fn restore_db_from_latest_backup(
        &self,
        db_dir: impl AsRef<Path>,
        wal_dir: impl AsRef<Path>,
        options: &RestoreOptions,
    ) -> Result<()> {
        let latest = self.latest_backup().ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "no good backup").in_file(&self.options.backup_dir)
        })?;
        self.restore_db_from_backup(latest, db_dir, wal_dir, options)
    }

    /// Restores backup `id` to `db_dir`, with its WALs in `wal_dir`. Database files that exist there are
    /// removed according to [`mode`](RestoreOptions::mode); other files stay.
    ///
    /// Every byte copied is verified. CURRENT is removed first and written last: a restoration that fails, is
    /// stopped or interrupted leaves no database, and may be run again. In the modes that keep files it then
    /// continues where it was.
    ///
    /// # Errors
    /// `LockHeld` if the database there is open, or one that has its WALs in `wal_dir`; `InvalidArgument` if
    /// `wal_dir` belongs to another database, or a file that the backup excludes is in none of the
    /// [`alternate_dirs`](RestoreOptions::alternate_dirs); `Corruption` for a corrupt backup or file;
    /// `Aborted` if a stop was requested.
    pub fn restore_db_from_backup(
        &self,
        id: BackupId,
        db_dir: impl AsRef<Path>,
        wal_dir: impl AsRef<Path>,
        options: &RestoreOptions,
    ) -> Result<()> {
        let (db_dir, wal_dir) = (db_dir.as_ref(), wal_dir.as_ref());
        let meta = self.catalog.good(id)?;
        let mut sources = self.excluded_files(meta, options)?;
        for file in self.catalog.files_of(meta) {
            let from = self.options.backup_dir.join(&file.relative_filename);
            sources.push((file, Some(from)));
        }
        let mut items = Vec::new();
        for (file, from) in sources {
            let name = names::db_file_name(&file.relative_filename, id);
            let parsed = name.and_then(|name| filename::parse(&name).map(|kind| (name, kind)));
            let (name, kind) = parsed
                .ok_or_else(|| Error::corruption(format!("{} is not a file", file.relative_filename)))?;
            let to = match kind {
                FileKind::Wal(_) => wal_dir.join(&name),
                _ => db_dir.join(&name),
            };
            items.push(Item {
                file,
                from,
                name,
                kind,
                to,
            });
        }
        if !items.iter().any(|item| item.kind == FileKind::Current) {
            return Err(Error::corruption(format!("backup {id} has no CURRENT")));
        }
        let unwatched = Progress::new();
        let progress = options.progress.as_deref().unwrap_or(&unwatched);
        progress.expect(items.iter().map(|item| item.file.size).sum());
        let copier = Copier {
            limiter: self.options.restore_limiter()?,
            sync: self.options.sync,
            progress,
        };
        let restoration = Restoration {
            engine: self,
            fs: &*options.fs,
            database: esker::Options {
                fs: options.fs.clone(),
                wal_dir: wal_dir.to_string_lossy().into_owned(),
                ..esker::Options::default()
            },
            mode: options.mode,
            db_dir,
            wal_dir,
            copier,
        };
        restoration.run(items, options.keep_log_files)
    }

    /// The files that the backup excludes, each with its place in this directory or an alternate one.
    fn excluded_files(
        &self,
        meta: &Meta,
        options: &RestoreOptions,
    ) -> Result<Vec<(BackupFileInfo, Option<PathBuf>)>> {
        if meta.excluded.is_empty() {
            return Ok(Vec::new());
        }
        let alternates = options.alternate_dirs.iter().map(|dir| {
            BackupEngine::open_read_only(BackupEngineOptions {
                fs: self.options.fs.clone(),
                ..BackupEngineOptions::new(dir)
            })
        });
        let alternates = alternates.collect::<Result<Vec<BackupEngine>>>()?;
        let place = |relative: &String| {
            let found = std::iter::once(self).chain(&alternates).find_map(|engine| {
                let file = engine.catalog.file(relative)?;
                Some((file, Some(engine.options.backup_dir.join(relative))))
            });
            let by_name = || match names::session_and_size(relative) {
                Some((_, size)) if options.mode == RestoreMode::KeepLatestDbSessionIdFiles => {
                    let file = BackupFileInfo {
                        relative_filename: relative.clone(),
                        size,
                        crc32c: None,
                    };
                    Ok((file, None))
                }
                _ => Err(not_found(relative)),
            };
            found.map_or_else(by_name, Ok)
        };
        meta.excluded.iter().map(place).collect()
    }
}

fn not_found(relative: &str) -> Error {
    Error::invalid_argument(format!(
        "Excluded file {relative} not found in any of the backup directories"
    ))
}

struct Restoration<'a> {
    engine: &'a BackupEngine,
    fs: &'a dyn FileSystem,
    /// The options that determine the directory of the WALs.
    database: esker::Options,
    mode: RestoreMode,
    db_dir: &'a Path,
    wal_dir: &'a Path,
    copier: Copier<'a>,
}

impl Restoration<'_> {
    fn run(&self, items: Vec<Item>, keep_log_files: bool) -> Result<()> {
        let fs = self.fs;
        create_dir(fs, self.db_dir, self.copier.sync)?;
        create_dir(fs, self.wal_dir, self.copier.sync)?;
        let _lock = fs.lock(&filename::lock(self.db_dir))?;
        let mut wals = WalDir::claim(&self.database, self.db_dir, None)?;
        // The directory of WALs loses its mark as the old database's: its WALs are removed, and the restored
        // database may have another id.
        wals.unmark(fs)?;
        let threads = self.engine.options.max_background_operations;
        let stays = for_all(threads, &items, |item| self.stays(item))?;
        let missing = items
            .iter()
            .zip(&stays)
            .find(|(item, stays)| item.from.is_none() && !**stays);
        if let Some((item, _)) = missing {
            return Err(not_found(&item.file.relative_filename));
        }
        let kept: BTreeSet<&str> = items
            .iter()
            .zip(&stays)
            .filter_map(|(item, &stays)| stays.then_some(&*item.name))
            .collect();
        self.remove_what_is_there(&kept, keep_log_files)?;

        let (current, others): (Vec<_>, Vec<_>) = items
            .iter()
            .zip(stays.iter().copied())
            .partition(|(item, _)| item.kind == FileKind::Current);
        for_all(threads, &others, |(item, stays)| match stays {
            true => self.copier.progress.advance(item.file.size),
            false => self.copy(item, &item.to),
        })?;
        self.sync_dirs()?;
        for (item, _) in current {
            let temporary = self.current_temporary();
            self.copy(item, &temporary)?;
            fs.rename(&temporary, &item.to)?;
        }
        self.sync_dirs()?;
        wals.mark_by_files(&self.database, self.db_dir)
    }

    /// True if the existing file at the destination has the contents of the backup's file.
    fn stays(&self, item: &Item) -> Result<bool> {
        let fs = self.fs;
        let may_stay = match self.mode {
            RestoreMode::PurgeAllFiles => false,
            RestoreMode::VerifyChecksum => matches!(item.kind, FileKind::Table(_) | FileKind::Blob(_)),
            RestoreMode::KeepLatestDbSessionIdFiles => matches!(item.kind, FileKind::Table(_)),
        };
        if !may_stay || !fs.exists(&item.to)? || fs.size(&item.to)? != item.file.size {
            return Ok(false);
        }
        let same = match self.mode {
            RestoreMode::KeepLatestDbSessionIdFiles => {
                match names::session_and_size(&item.file.relative_filename) {
                    Some((session, size)) if size == item.file.size => {
                        // A file that cannot be read is not the backup's file.
                        session_of(fs, &item.to).is_ok_and(|found| found.as_deref() == Some(session))
                    }
                    _ => false,
                }
            }
            _ => {
                let expected = match item.file.crc32c {
                    Some(crc) => crc,
                    None => self.checksum_of_source(item)?,
                };
                self.copier.checksum(fs, &item.to, item.file.size)? == expected
            }
        };
        if same && self.copier.sync {
            // The process that restored the existing file may have been interrupted before the sync.
            fs.sync_file(&item.to)?;
        }
        Ok(same)
    }

    fn checksum_of_source(&self, item: &Item) -> Result<u32> {
        self.copier
            .checksum(&*self.engine.options.fs, item.source()?, item.file.size)
    }

    /// Removes the existing database: CURRENT first, so that there is no database from then on.
    fn remove_what_is_there(&self, kept: &BTreeSet<&str>, keep_log_files: bool) -> Result<()> {
        let fs = self.fs;
        for path in [filename::current(self.db_dir), self.current_temporary()] {
            if fs.exists(&path)? {
                fs.remove(&path)?;
                fs.sync_dir(self.db_dir)?;
            }
        }
        let archive = self.wal_dir.join("archive");
        let dirs: BTreeMap<&Path, ()> = [self.db_dir, self.wal_dir, &*archive]
            .into_iter()
            .map(|dir| (dir, ()))
            .collect();
        for dir in dirs.keys() {
            if !fs.exists(dir)? {
                continue;
            }
            for name in fs.list(dir)? {
                let path = dir.join(&name);
                match filename::parse(&name) {
                    Some(FileKind::Wal(_)) if keep_log_files => {
                        if *dir == archive {
                            fs.rename(&path, &self.wal_dir.join(&name))?;
                        }
                    }
                    // In a directory of WALs, files of other kinds do not belong to the database.
                    Some(FileKind::Wal(_)) => fs.remove(&path)?,
                    None | Some(FileKind::Lock | FileKind::InfoLog) => {}
                    Some(_) if *dir == self.db_dir && !kept.contains(&*name) => fs.remove(&path)?,
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// RocksDB's name of a CURRENT that is not complete yet.
    fn current_temporary(&self) -> PathBuf {
        self.db_dir.join("CURRENT.tmp")
    }

    fn copy(&self, item: &Item, to: &Path) -> Result<()> {
        let (from, size) = (item.source()?, item.file.size);
        let crc = self
            .copier
            .copy((&*self.engine.options.fs, from), (self.fs, to), size)?;
        match item.file.crc32c {
            Some(expected) if expected != crc => Err(Error::corruption(format!(
                "Checksum mismatch: expected {expected:08x}, computed {crc:08x}"
            ))
            .in_file(from)),
            _ => Ok(()),
        }
    }

    fn sync_dirs(&self) -> Result<()> {
        if !self.copier.sync {
            return Ok(());
        }
        self.fs.sync_dir(self.wal_dir)?;
        self.fs.sync_dir(self.db_dir)
    }
}
