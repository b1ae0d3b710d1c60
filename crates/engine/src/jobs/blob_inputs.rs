//! The blob files that a compaction reads values from: through its own file descriptors, with readahead.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::statistics::Ticker;
use base::sync::Mutex;
use base::{Result, filename};
use blob::{BlobFile, BlobIndex};
use vfs::{FileSystem, OpenOptions, RandomAccessFile};

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::stats::Stats;

/// The blob files that one thread of a compaction has read values from.
pub(crate) struct BlobInputs {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    family: u32,
    open: OpenOptions,
    readahead_size: usize,
    files: HashMap<u64, BlobFile>,
    /// The numbers of the open files in the order in which they were opened, and the maximum number of open
    /// files.
    opened: VecDeque<u64>,
    most: usize,
    stats: Arc<Stats>,
}

impl BlobInputs {
    /// The inputs of a compaction of `family`; no file is open yet.
    pub fn new(db: &DbInner, family: &Family) -> BlobInputs {
        BlobInputs {
            fs: db.options.fs.clone(),
            dir: family.dir.clone(),
            family: family.id,
            open: db.options.compaction_reads(),
            readahead_size: family.current().blob_compaction_readahead_size,
            files: HashMap::new(),
            opened: VecDeque::new(),
            // The open files of compactions count in addition to the files that are open for readers.
            most: db.open_limit.most().map_or(usize::MAX, |most| (most / 4).max(1)),
            stats: db.stats.clone(),
        }
    }

    /// Returns the value that `index` points to, with its checksum verified. `user_key` is the user key of
    /// the entry that holds the index.
    pub fn get(&mut self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Vec<u8>> {
        let location = match index {
            BlobIndex::InlinedTtl { value, .. } => return Ok(value.to_vec()),
            BlobIndex::Blob { location, .. } => location,
        };
        let number = location.file_number;
        if !self.files.contains_key(&number) {
            let path = filename::blob(&self.dir, number);
            let file = Ahead {
                file: self.fs.open_random(&path, &self.open)?,
                size: self.readahead_size,
                window: Mutex::default(),
            };
            let file = BlobFile::open(Arc::new(file))?;
            file.check_of_family(self.family)?;
            if self.opened.len() >= self.most
                && let Some(first) = self.opened.pop_front()
            {
                self.files.remove(&first);
            }
            self.files.insert(number, file);
            self.opened.push_back(number);
        }
        self.files[&number].get(location, user_key, true)
    }

    /// Counts the read of a value that `index` points to.
    pub fn count_read(&self, index: &BlobIndex<'_>) {
        if let BlobIndex::Blob { location, .. } = index {
            self.stats.count(Ticker::BlobDbBlobFileBytesRead, location.size);
        }
    }

    /// Counts a value of `bytes` bytes that was moved to another file.
    pub fn count_relocated(&self, bytes: usize) {
        self.stats.count(Ticker::BlobDbGcNumKeysRelocated, 1);
        self.stats.count(Ticker::BlobDbGcBytesRelocated, bytes as u64);
    }
}

/// A file with readahead.
struct Ahead {
    file: Arc<dyn RandomAccessFile>,
    /// The number of bytes to read ahead.
    size: usize,
    /// The offset and the contents of the last read.
    window: Mutex<(u64, Vec<u8>)>,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead")
            .field("file", &self.file)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl RandomAccessFile for Ahead {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        if self.size == 0 || buf.len() >= self.size {
            return self.file.read_at(offset, buf);
        }
        let mut window = self.window.lock();
        let (start, bytes) = &mut *window;
        let within = |start: u64, bytes: &[u8]| {
            let at = usize::try_from(offset.checked_sub(start)?).ok()?;
            (bytes.len() >= at.checked_add(buf.len())?).then_some(at)
        };
        let at = match within(*start, bytes) {
            Some(at) => at,
            None => {
                let rest = self.file.len().saturating_sub(offset);
                let len = (buf.len() + self.size).min(usize::try_from(rest).unwrap_or(usize::MAX));
                bytes.resize(len, 0);
                let read = self.file.read_at(offset, bytes);
                // Bytes that could not be read must not be found by a later read.
                bytes.truncate(*read.as_ref().unwrap_or(&0));
                read?;
                *start = offset;
                0
            }
        };
        let found = bytes.len().saturating_sub(at).min(buf.len());
        buf[..found].copy_from_slice(&bytes[at..at + found]);
        Ok(found)
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.file.prefetch(offset, len);
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}
