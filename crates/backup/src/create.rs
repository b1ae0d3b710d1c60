//! Creates backups.

use std::collections::BTreeMap;
use std::path::Path;

use base::filename::{self, FileKind};
use base::user_code::{call, catch};
use base::{Error, ErrorKind, Progress, Result};
use codec::file_checksum::CRC32C_NAME;
use esker::{Db, LiveFileStorageInfo, LiveFilesStorageInfoOptions};
use sst::Table;
use vfs::{FileSystem, OpenOptions};

use crate::copy::{Copier, for_all};
use crate::engine::shared_dir;
use crate::meta::{Meta, MetaFile};
use crate::names;
use crate::{BackupEngine, BackupId, CreateBackupOptions, ExcludeFiles, MAX_APP_METADATA, ShareFilesNaming};

impl BackupEngine {
    /// Creates a backup of the current state of `db`, consistent over all column families, and returns its
    /// number. Writers continue; no file of the database is deleted meanwhile.
    ///
    /// Tables and blob files that an earlier backup has are not copied again. Each file is read once, and its
    /// checksum is recorded; if the MANIFEST has one too (`FileChecksumCrc32c`), the two must be equal.
    ///
    /// # Errors
    /// `Aborted` if [`progress`](CreateBackupOptions::progress) was asked to stop, or the callback that
    /// excludes files panicked: shared files copied so far stay, and the next backup reuses them after
    /// comparing their bytes. `InvalidArgument` for such a callback with schema 1. `Corruption` if a file of
    /// the database differs from its MANIFEST. Errors of the file systems. In all these cases there is no new
    /// backup, and the others are unchanged.
    pub fn create_new_backup(&mut self, db: &Db, options: &CreateBackupOptions) -> Result<BackupId> {
        self.check_writable()?;
        if options.app_metadata.len() > MAX_APP_METADATA {
            return Err(Error::invalid_argument("App metadata too large"));
        }
        if options.exclude_files_callback.is_some() && self.options.schema_version < 2 {
            return Err(Error::invalid_argument(
                "exclude_files_callback requires schema_version >= 2",
            ));
        }
        let unwatched = Progress::new();
        let progress = options.progress.as_deref().unwrap_or(&unwatched);
        progress.check()?;
        let id = self.catalog.latest.checked_add(1).ok_or_else(|| {
            Error::new(ErrorKind::NoSpace, "no number is left").in_file(&self.options.backup_dir)
        })?;
        let made = self.create(id, db, options, progress);
        match made {
            Ok(()) => {
                // An error is ignored: the backup is complete, even if some garbage cannot be deleted now.
                let _ = self.garbage_collect();
                Ok(id)
            }
            Err(error) if error.kind() == ErrorKind::Aborted => {
                // The user should get the original error.
                let _ = self.remove_private_of(id);
                let _ = self.remove_temporary();
                Err(error)
            }
            Err(error) => {
                // Without a meta file the failed backup does not exist. The rename of the meta file may have
                // failed after it took effect; as long as the meta file stays, its files stay.
                if self.remove_meta_of(id).is_ok() {
                    let _ = self.garbage_collect();
                }
                Err(error)
            }
        }
    }

    fn create(
        &mut self,
        id: BackupId,
        db: &Db,
        options: &CreateBackupOptions,
        progress: &Progress,
    ) -> Result<()> {
        let fs = &*self.options.fs;
        let dir = &*self.options.backup_dir;
        // An interrupted or failed backup of this number may have left files. Its shared files may be reused.
        if fs.exists(&names::meta(dir, id))? {
            self.remove_meta_of(id)?;
        }
        self.remove_private_of(id)?;
        self.remove_temporary()?;
        let private = names::private_dir(dir, id);
        fs.create_dir_all(&private)?;

        let _held = db.hold_file_deletions(&format!("backup {id}"));
        let live = db.live_files_storage_info(&LiveFilesStorageInfoOptions {
            wal_size_for_flush: if options.flush_before_backup { 0 } else { u64::MAX },
        })?;
        let is_wal = |file: &LiveFileStorageInfo| {
            matches!(filename::parse(&file.relative_filename), Some(FileKind::Wal(_)))
        };
        let mut files = live.files;
        files.retain(|file| self.options.backup_log_files || !is_wal(file));
        // The largest files come first, so that several threads end together.
        files.sort_by_key(|file| std::cmp::Reverse(file.size));
        progress.expect(files.iter().map(|file| file.size).sum());
        let copier = Copier {
            limiter: self.options.backup_limiter()?,
            sync: self.options.sync,
            progress,
        };
        let job = Job {
            engine: self,
            id,
            db_fs: &*db.options().fs,
            excludes: options.exclude_files_callback.as_deref(),
            copier,
        };
        let stored = for_all(self.options.max_background_operations, &files, |file| {
            job.file(file)
        })?;
        let (mut copied, mut excluded) = (Vec::new(), Vec::new());
        for file in stored {
            match file {
                Stored::Here(file) => copied.push(file),
                Stored::Elsewhere(relative) => excluded.push(relative),
            }
        }
        let meta = Meta {
            timestamp: self.options.clock.unix_seconds(),
            sequence_number: live.sequence_number,
            app_metadata: options.app_metadata.clone(),
            files: copied,
            excluded,
        };
        self.finish(id, &meta)?;
        let sizes: BTreeMap<String, u64> = meta
            .files
            .iter()
            .map(|file| (file.relative.clone(), file.size.unwrap_or(0)))
            .collect();
        self.catalog.add(id, meta, &sizes)
    }

    /// Makes the names of all files of a backup durable, then writes its meta file.
    fn finish(&self, id: BackupId, meta: &Meta) -> Result<()> {
        let fs = &*self.options.fs;
        let dir = &*self.options.backup_dir;
        let (meta_dir, path) = (dir.join(names::META), names::meta(dir, id));
        if self.options.sync {
            fs.sync_dir(&names::private_dir(dir, id))?;
            fs.sync_dir(&dir.join(names::PRIVATE))?;
            if self.options.share_table_files {
                fs.sync_dir(&dir.join(shared_dir(&self.options)))?;
            }
        }
        let temporary = names::temporary(&path);
        let unwatched = Progress::new();
        let writer = Copier {
            limiter: None,
            sync: self.options.sync,
            progress: &unwatched,
        };
        writer.write(fs, &temporary, &meta.encode(self.options.schema_version))?;
        fs.rename(&temporary, &path)?;
        if self.options.sync {
            fs.sync_dir(&meta_dir)?;
        }
        Ok(())
    }
}

/// The creation of one backup.
struct Job<'a> {
    engine: &'a BackupEngine,
    id: BackupId,
    db_fs: &'a dyn FileSystem,
    excludes: Option<&'a ExcludeFiles>,
    copier: Copier<'a>,
}

/// The place of a database's file in a backup.
enum Stored {
    Here(MetaFile),
    /// The file has this relative name in another backup directory.
    Elsewhere(String),
}

impl Job<'_> {
    fn file(&self, file: &LiveFileStorageInfo) -> Result<Stored> {
        self.copier.progress.check()?;
        let options = &self.engine.options;
        let kind = filename::parse(&file.relative_filename);
        let shareable = matches!(kind, Some(FileKind::Table(_) | FileKind::Blob(_)));
        if shareable {
            let size = self.db_fs.size(&file.path())?;
            if size != file.size {
                let message = format!("{size} bytes, but the MANIFEST has {}", file.size);
                return Err(Error::corruption(message).in_file(&file.path()));
            }
        }
        match shareable && options.share_table_files {
            true => self.shared(file, matches!(kind, Some(FileKind::Table(_)))),
            false => self.private(file).map(Stored::Here),
        }
    }

    /// True if the user excludes the shared file of this name.
    fn is_excluded(&self, relative: &str) -> Result<bool> {
        let Some(excludes) = self.excludes else {
            return Ok(false);
        };
        let excluded = catch(|| call("exclude_files_callback", || "", || excludes(relative)));
        excluded.map_err(|error| Error::new(ErrorKind::Aborted, error.to_string()))
    }

    fn private(&self, file: &LiveFileStorageInfo) -> Result<MetaFile> {
        let relative = names::private(self.id, &file.relative_filename);
        let to = self.engine.options.backup_dir.join(&relative);
        let fs = &*self.engine.options.fs;
        let crc = match &file.replacement_contents {
            Some(bytes) => self.copier.write(fs, &to, bytes)?,
            None => self.copy(file, &to)?,
        };
        Ok(meta_file(relative, crc, file))
    }

    /// Copies a file of the database. `Corruption` if the MANIFEST has another checksum.
    fn copy(&self, file: &LiveFileStorageInfo, to: &Path) -> Result<u32> {
        let from = file.path();
        let fs = &*self.engine.options.fs;
        let crc = self.copier.copy((self.db_fs, &from), (fs, to), file.size)?;
        check_crc(file, crc)?;
        Ok(crc)
    }

    /// The CRC-32C of a file of the database: from the MANIFEST, or else computed from its bytes.
    fn crc_of(&self, file: &LiveFileStorageInfo) -> Result<u32> {
        match manifest_crc(file) {
            Some(crc) => Ok(crc),
            None => self.copier.checksum(self.db_fs, &file.path(), file.size),
        }
    }

    fn shared(&self, file: &LiveFileStorageInfo, is_table: bool) -> Result<Stored> {
        let options = &self.engine.options;
        let (fs, dir) = (&*options.fs, &*options.backup_dir);
        let name = &*file.relative_filename;
        let (relative, crc) = if !options.share_files_with_checksum {
            (names::shared(name), None)
        } else if let Some(session) = self.session(file, is_table)? {
            let sized =
                options.share_files_with_checksum_naming == ShareFilesNaming::UseDbSessionIdAndFileSize;
            (
                names::by_session(name, &session, sized.then_some(file.size)),
                None,
            )
        } else {
            let crc = self.crc_of(file)?;
            (names::by_checksum(name, crc, file.size), Some(crc))
        };
        if self.is_excluded(&relative)? {
            self.copier.progress.advance(file.size)?;
            return Ok(Stored::Elsewhere(relative));
        }
        let path = dir.join(&relative);
        if let Some(known) = self.engine.catalog.files.get(&relative) {
            if known.size != file.size {
                return Err(Error::corruption(format!(
                    "Size mismatch for existing backup file: {relative}. Size in backup is {} while size in DB is {}. If this DB \
                     file checks as not corrupt, try deleting old backups or backing up to a different backup directory.",
                    known.size, file.size
                ))
                .in_file(&file.path()));
            }
            let crc = match known.crc32c {
                Some(crc) => crc,
                None => self.crc_of(file)?,
            };
            return self.taken_over(relative, crc, file).map(Stored::Here);
        }
        // A file that exists without a meta file belongs to an interrupted backup, or to one whose meta file
        // is corrupt. It is reused if it has the same bytes.
        if fs.exists(&path)? && fs.size(&path)? == file.size {
            let crc = match crc {
                Some(crc) => crc,
                None => self.crc_of(file)?,
            };
            if self.copier.checksum(fs, &path, file.size)? == crc {
                return self.taken_over(relative, crc, file).map(Stored::Here);
            }
        }
        let temporary = names::temporary(&path);
        let crc = self.copy(file, &temporary)?;
        fs.rename(&temporary, &path)?;
        Ok(Stored::Here(meta_file(relative, crc, file)))
    }

    /// A file that is in the backup directory already.
    fn taken_over(&self, relative: String, crc: u32, file: &LiveFileStorageInfo) -> Result<MetaFile> {
        let options = &self.engine.options;
        if options.sync {
            // The backup that copied the existing file may not have synced it.
            options.fs.sync_file(&options.backup_dir.join(&relative))?;
        }
        check_crc(file, crc)?;
        self.copier.progress.advance(file.size)?;
        Ok(meta_file(relative, crc, file))
    }

    /// The id of the session that wrote a table, if the naming of shared files uses it.
    fn session(&self, file: &LiveFileStorageInfo, is_table: bool) -> Result<Option<String>> {
        let naming = self.engine.options.share_files_with_checksum_naming;
        if !is_table || naming == ShareFilesNaming::LegacyCrc32cAndFileSize {
            return Ok(None);
        }
        session_of(self.db_fs, &file.path())
    }
}

/// The session that wrote a table, if the table names one that is valid in a file name.
pub(crate) fn session_of(fs: &dyn FileSystem, path: &Path) -> Result<Option<String>> {
    let table = fs.open_random(path, &OpenOptions::default())?;
    let session = Table::read_properties(table)?.db_session_id;
    let usable = !session.is_empty() && session.iter().all(u8::is_ascii_alphanumeric);
    Ok(usable.then(|| String::from_utf8_lossy(&session).into_owned()))
}

fn meta_file(relative: String, crc: u32, file: &LiveFileStorageInfo) -> MetaFile {
    MetaFile {
        relative,
        crc32c: Some(crc),
        size: Some(file.size),
    }
}

fn manifest_crc(file: &LiveFileStorageInfo) -> Option<u32> {
    let bytes = file.file_checksum.as_slice().try_into().ok()?;
    (file.file_checksum_func_name == CRC32C_NAME).then(|| u32::from_be_bytes(bytes))
}

fn check_crc(file: &LiveFileStorageInfo, crc: u32) -> Result<()> {
    match manifest_crc(file) {
        Some(expected) if expected != crc => Err(Error::corruption(format!(
            "checksum of the whole file mismatch: the MANIFEST has {expected:08x}, computed {crc:08x}"
        ))
        .in_file(&file.path())),
        _ => Ok(()),
    }
}
