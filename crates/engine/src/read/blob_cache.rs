//! Open blob files of a column family.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::sync::RwLock;
use base::{Result, filename};
use blob::{BlobFile, BlobIndex};
use manifest::BlobFileMetadata;
use vfs::{Access, FileSystem, OpenOptions};

use super::table_cache::access;
use crate::jobs::obsolete_files::ObsoleteFiles;

/// Opens blob files when first asked and keeps them open until they are dropped from the family.
pub(crate) struct BlobCache {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    family: u32,
    access: Access,
    open: RwLock<HashMap<u64, Arc<BlobFile>>>,
}

impl BlobCache {
    /// Of the blob files in `dir` that tables of family `family` point into.
    pub fn new(fs: Arc<dyn FileSystem>, dir: PathBuf, family: u32, advise_random: bool) -> BlobCache {
        BlobCache {
            fs,
            dir,
            family,
            access: access(advise_random),
            open: RwLock::default(),
        }
    }

    /// The value `index` points to, its checksum checked. `user_key` is that of the entry that holds the index.
    pub fn get(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Vec<u8>> {
        match index {
            BlobIndex::InlinedTtl { value, .. } => Ok(value.to_vec()),
            BlobIndex::Blob { location, .. } => {
                self.file(location.file_number)?.get(location, user_key, true)
            }
        }
    }

    /// The blob file of that number.
    pub fn file(&self, number: u64) -> Result<Arc<BlobFile>> {
        if let Some(file) = self.open.read().get(&number) {
            return Ok(file.clone());
        }
        let path = filename::blob(&self.dir, number);
        let reader = self.fs.open_random(
            &path,
            &OpenOptions {
                access: self.access,
                ..Default::default()
            },
        )?;
        let file = Arc::new(BlobFile::open(reader)?);
        file.check_of_family(self.family)?;
        Ok(self.open.write().entry(number).or_insert(file).clone())
    }

    /// Closes a file that was deleted.
    pub fn forget(&self, number: u64) {
        self.open.write().remove(&number);
    }
}

/// Hung on the metadata of a blob file that no version to come holds: with the last version that does, the file goes.
struct ObsoleteBlob {
    path: PathBuf,
    cache: Arc<BlobCache>,
    number: u64,
    size: u64,
    files: Arc<ObsoleteFiles>,
}

impl Drop for ObsoleteBlob {
    fn drop(&mut self) {
        self.cache.forget(self.number);
        self.files
            .zombie_blob_bytes
            .fetch_sub(self.size, Ordering::Relaxed);
        self.files.add(std::mem::take(&mut self.path));
    }
}

impl BlobCache {
    /// Says that no version to come holds `file`: when the last one that does is gone, the file is deleted.
    pub fn mark_obsolete(self: &Arc<Self>, file: &BlobFileMetadata, files: &Arc<ObsoleteFiles>) {
        let number = file.number();
        file.shared.handle.get_or_init(|| {
            let path = filename::blob(&self.dir, number);
            files
                .zombie_blob_bytes
                .fetch_add(file.file_size(), Ordering::Relaxed);
            Box::new(ObsoleteBlob {
                path,
                cache: self.clone(),
                number,
                size: file.file_size(),
                files: files.clone(),
            })
        });
    }
}

/// Hung on the metadata of a blob file that this process only reads: with the last version that has it, the file is closed.
struct OpenBlob {
    cache: Arc<BlobCache>,
    number: u64,
}

impl Drop for OpenBlob {
    fn drop(&mut self) {
        self.cache.forget(self.number);
    }
}

impl BlobCache {
    /// Opens `file` and keeps it open until the last version that has it is gone, whatever becomes of its name.
    pub fn hold(self: &Arc<Self>, file: &BlobFileMetadata) -> Result<()> {
        let number = file.number();
        self.file(number)?;
        let cache = self.clone();
        file.shared
            .handle
            .get_or_init(|| Box::new(OpenBlob { cache, number }));
        Ok(())
    }
}
