//! The open blob files of a column family, and the cache of their values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use base::statistics::{Histogram, Ticker};
use base::sync::RwLock;
use base::{Error, ErrorKind, Result, filename};
use blob::{BlobFile, BlobIndex, BlobLocation};
use cache::{CacheKey, EntryRole, Handle, Priority};
use manifest::BlobFileMetadata;
use sst::{Block, BlockCache, BlockReadOptions};
use vfs::{Access, FileSystem, OpenOptions};

use crate::files::blob_cache_charge::BlobCacheCharge;
use crate::files::charged_reads;
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::{Closable, OpenLimit};
use crate::files::pinned_value::PinnedValue;
use crate::files::table_cache::access;
use crate::stats::Stats;

/// An open blob file.
struct OpenedBlob {
    file: Arc<BlobFile>,
    /// Set by each read, cleared when the limit of open files looks for a file to close. Not maintained
    /// without a limit.
    touched: AtomicBool,
}

/// Opens blob files at their first read. A file stays open until the family drops it, or too many files are
/// open.
pub(crate) struct BlobFileCache {
    itself: Weak<BlobFileCache>,
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    family: u32,
    access: Access,
    open: RwLock<HashMap<u64, OpenedBlob>>,
    limit: Arc<OpenLimit>,
    /// The block cache that holds values; `None` if values are not cached.
    values: Option<BlobCache>,
    stats: Arc<Stats>,
}

/// The family's blob values in a block cache. Each file has an identity in the cache's keys.
pub(crate) struct BlobCache {
    cache: Arc<BlockCache>,
    /// The charge of the cache to the family's block cache, if it is charged.
    charge: Option<Arc<BlobCacheCharge>>,
    ids: RwLock<HashMap<u64, u64>>,
}

impl BlobCache {
    /// The values of a family in `cache`, whose usage is charged to `charged_to`, if that is given.
    pub fn new(cache: Arc<BlockCache>, charged_to: Option<&Arc<BlockCache>>) -> BlobCache {
        BlobCache {
            charge: charged_to.map(|blocks| BlobCacheCharge::of(&cache, blocks)),
            cache,
            ids: RwLock::default(),
        }
    }

    /// The cache key of the value at `offset` of blob file `number`.
    fn key(&self, number: u64, offset: u64) -> CacheKey {
        let known = self.ids.read().get(&number).copied();
        let id = known.unwrap_or_else(|| {
            let mut ids = self.ids.write();
            *ids.entry(number).or_insert_with(|| self.cache.new_id())
        });
        CacheKey { id, offset }
    }

    /// Inserts a value into the cache. The value is returned as `Err` if the cache has no room.
    fn insert(&self, key: CacheKey, value: Vec<u8>) -> std::result::Result<Handle<Block>, Block> {
        let block = Block::of_blob(value);
        let charge = block.charge();
        let inserted = self
            .cache
            .insert_as(key, block, charge, Priority::Bottom, EntryRole::BlobValue);
        if let Some(charge) = &self.charge {
            charge.update();
        }
        inserted
    }
}

/// The settings with which a read gets values from blob files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlobRead {
    /// True if values that are read from a file are inserted into the cache.
    pub fill_cache: bool,
    /// True if no file may be read: a value that is not in the cache is `Incomplete`.
    pub cache_only: bool,
}

impl From<&BlockReadOptions> for BlobRead {
    fn from(options: &BlockReadOptions) -> BlobRead {
        BlobRead {
            fill_cache: options.fill_cache,
            cache_only: options.cache_only,
        }
    }
}

impl BlobFileCache {
    /// A cache of the blob files in `dir` that tables of family `family` refer to.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        dir: PathBuf,
        family: u32,
        advise_random: bool,
        values: Option<BlobCache>,
        limit: Arc<OpenLimit>,
        stats: Arc<Stats>,
    ) -> Arc<BlobFileCache> {
        Arc::new_cyclic(|itself| BlobFileCache {
            itself: itself.clone(),
            fs,
            dir,
            family,
            access: access(advise_random),
            open: RwLock::default(),
            limit,
            values,
            stats,
        })
    }

    /// The cache that holds the family's blob values, if one does.
    pub fn cache(&self) -> Option<&Arc<BlockCache>> {
        self.values.as_ref().map(|values| &values.cache)
    }

    /// Returns the value that `index` points to. A value that is read from the file has its checksum
    /// verified. `user_key` is the key of the entry that holds the index.
    pub fn get(&self, user_key: &[u8], index: &BlobIndex<'_>, read: BlobRead) -> Result<PinnedValue> {
        let location = match index {
            BlobIndex::InlinedTtl { value, .. } => return Ok(PinnedValue::owned(value.to_vec())),
            BlobIndex::Blob { location, .. } => location,
        };
        let cached = self.values.as_ref().map(|values| {
            let key = values.key(location.file_number, location.offset);
            (values, key, values.cache.lookup(key))
        });
        if let Some((_, _, found)) = &cached {
            self.stats
                .count_blob_lookup(found.as_ref().map(|found| found.data().len()));
        }
        if let Some((_, _, Some(found))) = cached {
            return Ok(PinnedValue::cached(found));
        }
        if read.cache_only {
            return Err(Error::new(
                ErrorKind::Incomplete,
                "Cannot read blob(s): no disk I/O allowed",
            ));
        }
        let file = self.file(location.file_number)?;
        // The size that the index claims, limited by the size of the file: the index may be damaged.
        let bytes = location.size.min(file.file().len()) as usize;
        charged_reads::await_permission(bytes, &self.stats);
        let started = self.stats.start();
        let value = file.get(location, user_key, true)?;
        self.stats.stop(started, Histogram::BlobDbBlobFileReadMicros);
        self.stats.count(Ticker::BlobDbBlobFileBytesRead, location.size);
        Ok(match cached.filter(|_| read.fill_cache) {
            None => PinnedValue::owned(value),
            Some((values, key, _)) => match self.insert(values, key, value) {
                Ok(handle) => PinnedValue::cached(handle),
                Err(block) => PinnedValue::owned(block.data().to_vec()),
            },
        })
    }

    /// Inserts a value into the cache and counts the insertion.
    fn insert(
        &self,
        values: &BlobCache,
        key: CacheKey,
        value: Vec<u8>,
    ) -> std::result::Result<Handle<Block>, Block> {
        let bytes = value.len() as u64;
        let inserted = values.insert(key, value);
        match inserted {
            Ok(_) => {
                self.stats.count(Ticker::BlobDbCacheAdd, 1);
                self.stats.count(Ticker::BlobDbCacheBytesWrite, bytes);
            }
            Err(_) => self.stats.count(Ticker::BlobDbCacheAddFailures, 1),
        }
        inserted
    }

    /// Inserts a value that was just written into the cache.
    pub fn warm(&self, location: &BlobLocation, value: &[u8]) {
        if let Some(values) = &self.values {
            // If the cache has no room, the value is read from the file later.
            let key = values.key(location.file_number, location.offset);
            drop(self.insert(values, key, value.to_vec()));
        }
    }

    /// Returns blob file `number`, opened if it is not open.
    pub fn file(&self, number: u64) -> Result<Arc<BlobFile>> {
        if let Some(opened) = self.open.read().get(&number) {
            if self.limit.most().is_some() && !opened.touched.load(Ordering::Relaxed) {
                opened.touched.store(true, Ordering::Relaxed);
            }
            return Ok(opened.file.clone());
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
        match self.open.write().entry(number) {
            Entry::Occupied(other) => return Ok(other.get().file.clone()),
            Entry::Vacant(place) => place.insert(OpenedBlob {
                file: file.clone(),
                touched: AtomicBool::new(false),
            }),
        };
        // The caller does not hold the lock of `open`, because closing a file takes that lock.
        self.limit.opened(OpenBlobFile {
            cache: self.itself.clone(),
            number,
        });
        Ok(file)
    }

    /// Closes a file that was deleted.
    pub fn forget(&self, number: u64) {
        self.open.write().remove(&number);
        self.limit.forget(number);
        if let Some(values) = &self.values {
            values.ids.write().remove(&number);
        }
    }
}

/// A blob file in the list of the limit of open files.
struct OpenBlobFile {
    cache: Weak<BlobFileCache>,
    number: u64,
}

impl Closable for OpenBlobFile {
    fn number(&self) -> u64 {
        self.number
    }

    fn take_touched(&self) -> bool {
        let cache = self.cache.upgrade();
        cache.is_some_and(|cache| {
            let open = cache.open.read();
            let opened = open.get(&self.number);
            opened.is_some_and(|opened| opened.touched.swap(false, Ordering::Relaxed))
        })
    }

    fn is_kept(&self) -> bool {
        let cache = self.cache.upgrade();
        cache.is_some_and(|cache| {
            let open = cache.open.read();
            let opened = open.get(&self.number);
            opened.is_some_and(|opened| Arc::strong_count(&opened.file) > 1)
        })
    }

    fn close(&self) {
        if let Some(cache) = self.cache.upgrade() {
            cache.open.write().remove(&self.number);
        }
    }
}

/// Attached to the metadata of an obsolete blob file, which no later version refers to. The file is deleted
/// when the last version that refers to it is dropped.
struct ObsoleteBlob {
    path: PathBuf,
    cache: Arc<BlobFileCache>,
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

impl BlobFileCache {
    /// Marks `file` as obsolete: no later version refers to it, and it is deleted when the last version that
    /// does is dropped.
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

/// Attached to the metadata of a blob file that this process only reads. The file is closed when the last
/// version that refers to it is dropped.
struct OpenBlob {
    cache: Arc<BlobFileCache>,
    number: u64,
}

impl Drop for OpenBlob {
    fn drop(&mut self) {
        self.cache.forget(self.number);
    }
}

impl BlobFileCache {
    /// Opens `file` and keeps it open until the last version that refers to it is dropped, even if its name
    /// is removed meanwhile.
    pub fn hold(self: &Arc<Self>, file: &BlobFileMetadata) -> Result<()> {
        let number = file.number();
        self.file(number)?;
        self.limit.forget(number);
        let cache = self.clone();
        file.shared
            .handle
            .get_or_init(|| Box::new(OpenBlob { cache, number }));
        Ok(())
    }
}
