//! The contents of a backup directory: the backups, and the files they share.

use std::collections::BTreeMap;
use std::path::Path;

use base::{Error, ErrorKind, Result};
use vfs::FileSystem;

use crate::meta::Meta;
use crate::names;
use crate::{BackupEngineOptions, BackupFileInfo, BackupId, BackupInfo};

/// The backups and files of a directory.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// The good backups.
    pub backups: BTreeMap<BackupId, Meta>,
    /// The corrupt backups.
    pub corrupt: BTreeMap<BackupId, Corrupt>,
    /// Every file that a good backup names, by its path in the directory.
    pub files: BTreeMap<String, FileInfo>,
    /// The highest known number that a backup of this directory has had.
    pub latest: BackupId,
}

/// A backup that cannot be restored.
#[derive(Debug)]
pub(crate) struct Corrupt {
    pub error: Error,
    /// The contents of the backup's meta file, if it can be read. The files that it names are not garbage,
    /// even if the backup is corrupt.
    pub meta: Option<Meta>,
}

/// A file of backups.
#[derive(Clone, Debug)]
pub(crate) struct FileInfo {
    pub size: u64,
    pub crc32c: Option<u32>,
    /// The number of backups that name the file.
    pub refs: usize,
}

impl Catalog {
    /// Reads the backups of the directory, the newest first, until `limit` good ones are read.
    pub fn load(options: &BackupEngineOptions, limit: usize) -> Result<Catalog> {
        let fs = &*options.fs;
        let dir = &options.backup_dir;
        let mut sizes = BTreeMap::new();
        for shared in [names::SHARED, names::SHARED_CHECKSUM] {
            sizes_in(fs, dir, shared, &mut sizes)?;
        }
        let mut catalog = Catalog::default();
        let mut ids: Vec<BackupId> = fs
            .list(&dir.join(names::META))?
            .iter()
            .filter_map(|name| names::backup_id(name))
            .collect();
        ids.sort_unstable();
        catalog.latest = ids.last().copied().unwrap_or_default();
        for id in ids.into_iter().rev() {
            if catalog.backups.len() == limit {
                break;
            }
            let path = names::meta(dir, id);
            let bytes = fs.read_file(&path)?;
            let meta = match Meta::decode(&bytes, id) {
                Ok(meta) => meta,
                Err(error) => {
                    let corrupt = Corrupt {
                        error: error.in_file(&path),
                        meta: None,
                    };
                    catalog.corrupt.insert(id, corrupt);
                    continue;
                }
            };
            sizes_in(fs, dir, &format!("{}/{id}", names::PRIVATE), &mut sizes)?;
            if let Err(error) = catalog.add(id, meta.clone(), &sizes) {
                let corrupt = Corrupt {
                    error: error.in_file(&path),
                    meta: Some(meta),
                };
                catalog.corrupt.insert(id, corrupt);
            }
        }
        Ok(catalog)
    }

    /// Adds a backup, given the sizes of files in the directory. `Corruption` if a file is missing, or
    /// differs from the meta file or from another backup; in these cases the backup is not added.
    pub fn add(&mut self, id: BackupId, meta: Meta, sizes: &BTreeMap<String, u64>) -> Result<()> {
        let mut infos = Vec::with_capacity(meta.files.len());
        for file in &meta.files {
            let name = &file.relative;
            let size = *sizes
                .get(name)
                .ok_or_else(|| Error::corruption(format!("file {name} is missing")))?;
            let known = self.files.get(name);
            for (what, expected) in [
                ("it", file.size),
                ("another backup", known.map(|known| known.size)),
            ] {
                if expected.is_some_and(|expected| expected != size) {
                    return Err(Error::corruption(format!(
                        "file {name} has {size} bytes, but {what} has {}",
                        expected.unwrap_or(0)
                    )));
                }
            }
            let before = known.and_then(|known| known.crc32c);
            if before.is_some() && file.crc32c.is_some() && before != file.crc32c {
                return Err(Error::corruption(format!(
                    "file {name} has a different checksum in another backup"
                )));
            }
            infos.push((name.clone(), size, file.crc32c));
        }
        for (name, size, crc32c) in infos {
            let file = self.files.entry(name).or_insert(FileInfo {
                size,
                crc32c,
                refs: 0,
            });
            file.crc32c = file.crc32c.or(crc32c);
            file.refs += 1;
        }
        self.latest = self.latest.max(id);
        self.backups.insert(id, meta);
        Ok(())
    }

    /// True if there is a backup of that number, good or corrupt.
    pub fn has(&self, id: BackupId) -> bool {
        self.backups.contains_key(&id) || self.corrupt.contains_key(&id)
    }

    /// Removes a backup and returns the files that no backup names any more. Those of a corrupt one are left
    /// to the garbage collection.
    pub fn remove(&mut self, id: BackupId) -> Vec<String> {
        self.corrupt.remove(&id);
        let Some(meta) = self.backups.remove(&id) else {
            return Vec::new();
        };
        let mut unnamed = Vec::new();
        for file in meta.files {
            let Some(info) = self.files.get_mut(&file.relative) else {
                continue;
            };
            info.refs -= 1;
            if info.refs == 0 {
                self.files.remove(&file.relative);
                unnamed.push(file.relative);
            }
        }
        // Files of a corrupt backup stay: the backup may become good again when its missing files are
        // restored.
        unnamed.retain(|name| !self.is_named(name));
        unnamed
    }

    /// True if a backup names the file, or may name it because its meta file cannot be read.
    pub fn is_named(&self, relative: &str) -> bool {
        let names_it = |corrupt: &Corrupt| {
            corrupt.meta.as_ref().is_none_or(|meta| {
                let files = meta.files.iter().map(|file| &*file.relative);
                files
                    .chain(meta.excluded.iter().map(String::as_str))
                    .any(|name| name == relative)
            })
        };
        self.files.contains_key(relative) || self.corrupt.values().any(names_it)
    }

    pub fn good(&self, id: BackupId) -> Result<&Meta> {
        if let Some(corrupt) = self.corrupt.get(&id) {
            return Err(corrupt.error.clone());
        }
        self.backups.get(&id).ok_or_else(|| not_found(id))
    }

    pub fn info(&self, id: BackupId) -> Result<BackupInfo> {
        let meta = self.good(id)?;
        Ok(BackupInfo {
            backup_id: id,
            timestamp: meta.timestamp,
            sequence_number: meta.sequence_number,
            app_metadata: meta.app_metadata.clone(),
            files: self.files_of(meta),
            excluded_files: meta.excluded.clone(),
        })
    }

    /// The files of a backup, with their known sizes and checksums.
    pub fn files_of(&self, meta: &Meta) -> Vec<BackupFileInfo> {
        meta.files
            .iter()
            .filter_map(|file| self.file(&file.relative))
            .collect()
    }

    /// The file of this name, if a good backup has it.
    pub fn file(&self, relative: &str) -> Option<BackupFileInfo> {
        let file = self.files.get(relative)?;
        Some(BackupFileInfo {
            relative_filename: relative.to_owned(),
            size: file.size,
            crc32c: file.crc32c,
        })
    }
}

pub(crate) fn not_found(id: BackupId) -> Error {
    Error::new(ErrorKind::NotFound, format!("Backup not found: {id}"))
}

/// Adds the sizes of the files in a subdirectory, which need not exist.
pub(crate) fn sizes_in(
    fs: &dyn FileSystem,
    dir: &Path,
    part: &str,
    sizes: &mut BTreeMap<String, u64>,
) -> Result<()> {
    let place = dir.join(part);
    if !fs.exists(&place)? {
        return Ok(());
    }
    for name in fs.list(&place)? {
        if !names::is_temporary(&name) {
            sizes.insert(format!("{part}/{name}"), fs.size(&place.join(&name))?);
        }
    }
    Ok(())
}
