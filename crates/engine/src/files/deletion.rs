//! The deletion of files that a database no longer needs: at once, or paced by its SST file manager.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::statistics::{Statistics, Ticker};
use base::{ErrorKind, Result};
use manifest::{Version, VersionEdit};
use vfs::FileSystem;

use crate::files::archived_wals::directory;
use crate::options::sst_file_manager::{SstFileManager, Unneeded, is_trash};
use crate::options::{Options, TablePaths};

/// Deletes the files of a database.
pub(crate) struct Deletion {
    fs: Arc<dyn FileSystem>,
    statistics: Option<Arc<Statistics>>,
    manager: Option<Arc<SstFileManager>>,
    /// The directory of the database. WALs elsewhere are deleted at once, as by RocksDB.
    dir: PathBuf,
}

impl Deletion {
    /// The deletion of the files of the database in `dir`.
    pub fn new(options: &Options, dir: &Path) -> Deletion {
        Deletion {
            fs: options.fs.clone(),
            statistics: options.statistics.clone(),
            manager: options.sst_file_manager.clone(),
            dir: dir.to_path_buf(),
        }
    }

    /// The manager of the files, if there is one.
    pub fn manager(&self) -> Option<&Arc<SstFileManager>> {
        self.manager.as_ref()
    }

    /// Tracks the files in `paths` that `edit` has added to `version`: those of ingestions and imports are
    /// not tracked yet.
    pub fn track(&self, paths: &TablePaths, edit: &VersionEdit, version: &Version) {
        let Some(manager) = &self.manager else {
            return;
        };
        for (_, file) in &edit.new_files {
            manager.on_add_file(paths.table(file), file.size);
        }
        for blob in &edit.blob_file_additions {
            if let Some(file) = version.blob_files().get(&blob.number) {
                manager.on_add_file(filename::blob(paths.dir(0), blob.number), file.file_size());
            }
        }
    }

    /// Deletes a file of the open database.
    pub fn delete(&self, path: &Path) -> Result<()> {
        let Some(manager) = self.manager_of(path) else {
            return self.remove(path);
        };
        manager.delete_file(&self.unneeded(path))
    }

    /// Deletes a file of a database that is not open, which the SST file manager counts in its deletion
    /// bucket `bucket`.
    pub fn delete_unaccounted(&self, path: &Path, bucket: Option<u64>) -> Result<()> {
        match (self.manager_of(path), bucket) {
            (Some(manager), Some(bucket)) => manager.delete_unaccounted_file(&self.unneeded(path), bucket),
            _ => self.remove(path),
        }
    }

    fn unneeded<'a>(&'a self, path: &'a Path) -> Unneeded<'a> {
        Unneeded {
            fs: &self.fs,
            path,
            statistics: self.statistics.as_ref(),
        }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.fs.remove(path)?;
        if let Some(statistics) = &self.statistics {
            statistics.record_tick(Ticker::FilesDeletedImmediately, 1);
        }
        Ok(())
    }

    /// The manager that paces the deletion of this file.
    fn manager_of(&self, path: &Path) -> Option<&SstFileManager> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".trash").unwrap_or(name);
        let is_paced = match filename::parse(name.trim_end_matches(|last: char| last.is_ascii_digit())) {
            Some(FileKind::Table(_) | FileKind::Blob(_)) => true,
            Some(FileKind::Wal(_)) => {
                let dir = path.parent();
                dir == Some(&*self.dir) || dir == Some(&*directory(&self.dir))
            }
            _ => false,
        };
        self.manager.as_deref().filter(|_| is_paced)
    }

    /// Deletes the trash in the directories of tables `dirs`, and that of WALs: an earlier process ended
    /// before it had deleted them. After an error the next open deletes the rest.
    pub fn empty_trash(&self, dirs: &BTreeSet<PathBuf>, wal_dir: &Path) -> Result<()> {
        let archive = directory(wal_dir);
        for dir in dirs.iter().map(PathBuf::as_path).chain([wal_dir, &archive]) {
            let names = match self.fs.list(dir) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                names => names?,
            };
            // If two directories are the same, the first pass has already deleted or queued the file.
            for name in names.iter().filter(|name| is_trash(name)) {
                let path = dir.join(name);
                if let Some(manager) = self.manager_of(&path) {
                    manager.on_add_file(path.clone(), self.fs.size_or_zero(&path)?);
                }
                self.delete(&path)?;
            }
        }
        Ok(())
    }
}
