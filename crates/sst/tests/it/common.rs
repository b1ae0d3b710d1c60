//! Files in memory, fixtures, and functions that read a table from end to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{InternalComparator, Result, UserComparator, prefix};
use cache::{Cache, CacheOptions};
use sst::{BlockCache, BlockReadOptions, Table, TableReadOptions};
use vfs::RandomAccessFile;

/// A file whose contents are a vector.
#[derive(Debug)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// True if the file claims to be mapped.
    pub mapped: bool,
}

impl RandomAccessFile for MemoryFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn mapped(&self) -> Option<&[u8]> {
        self.mapped.then_some(&self.bytes)
    }
    fn prefetch(&self, offset: u64, len: u64) {
        assert!(offset + len <= self.len(), "readahead beyond the end");
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

pub fn file(name: &str, bytes: Vec<u8>) -> Arc<dyn RandomAccessFile> {
    Arc::new(MemoryFile {
        path: PathBuf::from(name),
        bytes,
        mapped: false,
    })
}

pub fn mapped_file(name: &str, bytes: Vec<u8>) -> Arc<dyn RandomAccessFile> {
    Arc::new(MemoryFile {
        path: PathBuf::from(name),
        bytes,
        mapped: true,
    })
}

/// A table that RocksDB wrote.
pub struct Fixture {
    /// The table's name: `database/file`.
    pub name: String,
    pub bytes: Vec<u8>,
    pub order: UserComparator,
    pub prefix_extractor: Option<Arc<dyn prefix::PrefixExtractor>>,
}

impl Fixture {
    pub fn cmp(&self) -> InternalComparator {
        InternalComparator::new(self.order.clone())
    }

    pub fn options(&self, cache: Option<Arc<BlockCache>>) -> TableReadOptions {
        TableReadOptions {
            cache,
            prefix_extractor: self.prefix_extractor.clone(),
            ..TableReadOptions::new(self.cmp())
        }
    }

    pub fn open(&self, cache: Option<Arc<BlockCache>>) -> Arc<Table> {
        Table::open(file(&self.name, self.bytes.clone()), self.options(cache))
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// All tables of the databases in `testdata`.
pub fn fixtures() -> Vec<Fixture> {
    let root = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/rocksdb-11.9"
    ));
    let mut found = Vec::new();
    for database in std::fs::read_dir(root).unwrap() {
        let database = database.unwrap().path();
        if !database.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&database).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "sst") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let probe = Table::open(
                file(&name, bytes.clone()),
                TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise)),
            )
            .unwrap_or_else(|error| panic!("{name}: {error}"));
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let properties = probe.properties();
            found.push(Fixture {
                order: UserComparator::builtin(&text(&properties.comparator)).unwrap(),
                prefix_extractor: properties
                    .prefix_extractor()
                    .map(|name| prefix::builtin(&text(name)).unwrap()),
                name,
                bytes,
            });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() > 150, "only {} fixtures", found.len());
    found
}

pub fn new_cache(capacity: usize) -> Arc<BlockCache> {
    Cache::lru(CacheOptions {
        capacity,
        num_shard_bits: 2,
        ..CacheOptions::default()
    })
}

pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// All entries, in order.
pub fn forwards(table: &Arc<Table>, options: BlockReadOptions) -> Result<Entries> {
    let mut cursor = table.cursor(options);
    let mut entries = Vec::new();
    cursor.seek_to_first();
    while cursor.valid() {
        entries.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    cursor.status()?;
    Ok(entries)
}

/// All entries, in reverse order.
pub fn backwards(table: &Arc<Table>, options: BlockReadOptions) -> Result<Entries> {
    let mut cursor = table.cursor(options);
    let mut entries = Vec::new();
    cursor.seek_to_last();
    while cursor.valid() {
        entries.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev();
    }
    cursor.status()?;
    Ok(entries)
}
