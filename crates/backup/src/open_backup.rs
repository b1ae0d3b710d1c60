//! Opens a backup for reading without restoring it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use esker::{Db, Options};
use vfs::{CreateOptions, FileLock, FileSystem, OpenOptions, RandomAccessFile, WritableFile};

use crate::names;
use crate::{BackupEngine, BackupId};

impl BackupEngine {
    /// Opens a backup for reading only, in the backup directory. `options` provide settings that are not in
    /// the files: comparators, merge operators. The backup must not be deleted meanwhile.
    pub fn open_backup(&self, id: BackupId, options: &Options) -> Result<Db> {
        let meta = self.catalog.good(id)?;
        let dir = names::private_dir(&self.options.backup_dir, id);
        let elsewhere = meta.files.iter().filter_map(|file| {
            let name = names::db_file_name(&file.relative, id)?;
            Some((name, self.options.backup_dir.join(&file.relative)))
        });
        let fs = BackupFs {
            inner: self.options.fs.clone(),
            dir: dir.clone(),
            files: elsewhere.collect(),
        };
        let options = Options {
            fs: Arc::new(fs),
            wal_dir: String::new(),
            // The backup is opened without two-phase commit: reads see committed sections of its WALs, and no
            // prepared ones.
            allow_2pc: true,
            ..options.clone()
        };
        Db::open_read_only(&options, &dir)
    }
}

/// Presents all files of a backup in its private directory. They cannot be changed.
#[derive(Debug)]
struct BackupFs {
    inner: Arc<dyn FileSystem>,
    dir: PathBuf,
    /// The path of each file in the backup directory, by the file's name in the database.
    files: BTreeMap<String, PathBuf>,
}

impl BackupFs {
    fn real(&self, path: &Path) -> PathBuf {
        let name = path.strip_prefix(&self.dir).ok().and_then(Path::to_str);
        let elsewhere = name.and_then(|name| self.files.get(name));
        elsewhere.map_or_else(|| path.to_path_buf(), PathBuf::clone)
    }
}

fn read_only<T>(path: &Path) -> Result<T> {
    Err(Error::not_supported("a backup is open for reading only").in_file(path))
}

impl FileSystem for BackupFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        self.inner.open_random(&self.real(path), options)
    }

    fn create(&self, path: &Path, _: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        read_only(path)
    }

    fn reuse(&self, _: &Path, new: &Path, _: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        read_only(new)
    }

    fn rename(&self, _: &Path, to: &Path) -> Result<()> {
        read_only(to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        read_only(path)
    }

    fn link(&self, _: &Path, to: &Path) -> Result<()> {
        read_only(to)
    }

    fn truncate(&self, path: &Path, _: u64) -> Result<()> {
        read_only(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        let mut names = self.inner.list(dir)?;
        if dir == self.dir {
            names.extend(self.files.keys().cloned());
            names.sort();
            names.dedup();
        }
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        read_only(dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        read_only(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        read_only(dir)
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        read_only(path)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.inner.exists(&self.real(path))
    }

    fn size(&self, path: &Path) -> Result<u64> {
        self.inner.size(&self.real(path))
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        self.inner.modified_seconds(&self.real(path))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        read_only(path)
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.inner.free_space(dir)
    }
}
