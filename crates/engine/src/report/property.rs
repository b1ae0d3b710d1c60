//! Queries about an open database: properties under RocksDB's names, sizes of key ranges, live files.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Result, SeqNo, Temperature};
use manifest::{FileMetadata, Version};
use sst::BlockCache;

use crate::read::approximate_size::approximate_size;
use crate::report::properties::{Aggregation, Property, Query};
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::handle::Db;

/// A live table file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// db.put(b"a", b"1")?;
/// db.flush()?;
/// for file in db.live_files() {
///     println!("{}: L{}, {} entries", file.path.display(), file.level, file.num_entries);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The name of the file's column family.
    pub column_family: String,
    /// The level of the file, counted from 0.
    pub level: usize,
    /// The file number.
    pub number: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub size: u64,
    /// The smallest user key.
    pub smallest_key: Vec<u8>,
    /// The largest user key, or the end of a range deletion, which is exclusive.
    pub largest_key: Vec<u8>,
    /// The lowest sequence number.
    pub smallest_seqno: SeqNo,
    /// The highest sequence number.
    pub largest_seqno: SeqNo,
    /// The number of entries, deletions included; 0 if the file has not been opened yet.
    pub num_entries: u64,
    /// The number of deletions; 0 if the file has not been opened yet.
    pub num_deletions: u64,
    /// The estimated number of reads of the file by Get, MultiGet and iterators since the database was
    /// opened: one read in 1,024 is counted. A read that the file's filter answers is a read too.
    pub num_reads_sampled: u64,
    /// True while a compaction reads the file.
    pub being_compacted: bool,
    /// The temperature that the file was written with.
    pub temperature: Temperature,
    /// The name of the checksum function of the whole file; empty if the MANIFEST has none.
    pub file_checksum_func_name: String,
    /// The checksum of the whole file; empty if the MANIFEST has none.
    pub file_checksum: Vec<u8>,
}

/// A level of a column family.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// db.put(b"a", b"1")?;
/// db.flush()?;
/// for level in db.levels(&db.default_column_family()) {
///     println!("L{}: {} files, {} bytes", level.level, level.files, level.size);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelMetadata {
    /// The number of the level, from 0.
    pub level: usize,
    /// The number of the level's table files.
    pub files: usize,
    /// The bytes of the level's table files.
    pub size: u64,
}

impl Db {
    /// The block cache of `family`; `None` if it has none. Its capacity may be changed at any time: blocks
    /// that no longer fit, and are not being read, are evicted at once.
    pub fn block_cache(&self, family: &ColumnFamily) -> Option<Arc<BlockCache>> {
        family.0.tables.block_cache().cloned()
    }

    /// Returns the number of files and the bytes of every level of `family`, including empty levels. Takes no
    /// lock.
    pub fn levels(&self, family: &ColumnFamily) -> Vec<LevelMetadata> {
        if self.inner().is_closed() {
            return Vec::new();
        }
        let version = family.0.super_version.load().version.clone();
        (0..version.num_levels())
            .map(|level| LevelMetadata {
                level,
                files: version.files(level).len(),
                size: version.level_bytes(level),
            })
            .collect()
    }

    /// Returns a property of `family` or of the database as text, by its name: RocksDB's `GetProperty`.
    /// `None` if no property has that name, or if it has no value: a cache that does not exist, a level that
    /// the family does not have, tables that cannot be opened. [`Property::ALL`] has the names.
    pub fn property(&self, family: &ColumnFamily, name: &str) -> Option<String> {
        let (property, query) = self.query(family, name)?;
        property.text(&query)
    }

    /// Returns a property whose value is a number ([`PropertyKind::Int`](crate::PropertyKind)): RocksDB's
    /// `GetIntProperty`. `None` in the cases of [`property`](Db::property).
    pub fn property_int(&self, family: &ColumnFamily, name: &str) -> Option<u64> {
        let (property, query) = self.query(family, name)?;
        property.int(&query)
    }

    /// Returns the sum of a number over all column families: RocksDB's `GetAggregatedIntProperty`. A block
    /// cache that several families share counts once. `None` if a family has no such number.
    pub fn aggregated_property_int(&self, name: &str) -> Option<u64> {
        let mut counted: Vec<Arc<BlockCache>> = Vec::new();
        let mut sum = 0_u64;
        for family in self.column_families() {
            let (property, query) = self.query(&family, name)?;
            let number = property.int(&query)?;
            if property.aggregation == Aggregation::BlockCaches {
                let cache = self.block_cache(&family)?;
                if counted.iter().any(|known| Arc::ptr_eq(known, &cache)) {
                    continue;
                }
                counted.push(cache);
            }
            sum = sum.wrapping_add(number);
        }
        Some(sum)
    }

    /// The property of that name, and the query for its value; `None` if the database is closed.
    fn query<'a>(&'a self, family: &'a ColumnFamily, name: &str) -> Option<(&'static Property, Query<'a>)> {
        let inner = self.inner();
        let property = Property::of_name(name).filter(|_| !inner.is_closed())?;
        let number = property.number_in(name)?;
        Some((property, Query::new(inner, &family.0, number)))
    }

    /// Resets the counters of jobs, writes and stalls in `rocksdb.stats` to 0. The
    /// [`Options::statistics`](crate::Options::statistics), which several databases may share, are not reset:
    /// they have a reset of their own.
    pub fn reset_stats(&self) {
        let inner = self.inner();
        inner.stats.reset();
        for family in inner.state.lock().families.values_mut() {
            family.stats = Default::default();
        }
        inner.begin_samples();
    }

    /// Returns the bytes of tables that contain each of the key ranges `[begin, end)`, estimated from the
    /// indexes of the tables. Memtables are not counted.
    pub fn approximate_sizes(&self, family: &ColumnFamily, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
        self.inner().check_open()?;
        let version = family.0.super_version.load().version.clone();
        ranges
            .iter()
            .map(|(begin, end)| approximate_size(&family.0, &version, 0, begin, end))
            .collect()
    }

    /// Returns the live table files of all families.
    pub fn live_files(&self) -> Vec<LiveFile> {
        let inner = self.inner();
        let state = inner.state.lock();
        let families = state.families.values();
        let families: Vec<(Arc<Family>, Arc<Version>)> = families
            .filter(|_| !inner.is_closed())
            .map(|family| (family.family.clone(), family.version.clone()))
            .collect();
        drop(state);
        let of_family = |(family, version): &(Arc<Family>, Arc<Version>)| {
            let files = version.all_files();
            files
                .map(|(level, file)| live_file(family, level, file))
                .collect::<Vec<_>>()
        };
        families.iter().flat_map(of_family).collect()
    }
}

/// The description of a table file of `level`.
fn live_file(family: &Family, level: usize, file: &FileMetadata) -> LiveFile {
    let stats = file.stats.get().copied().unwrap_or_default();
    let checksum = file.file_checksum.as_ref();
    LiveFile {
        column_family: family.name.clone(),
        level,
        number: file.number,
        path: family.paths.table(file),
        size: file.size,
        smallest_key: file.smallest_user_key().to_vec(),
        largest_key: file.largest_user_key().to_vec(),
        smallest_seqno: file.smallest_seqno,
        largest_seqno: file.largest_seqno,
        num_entries: stats.num_entries,
        num_deletions: stats.num_deletions,
        num_reads_sampled: file.num_reads_sampled.load(Ordering::Relaxed),
        being_compacted: file.being_compacted.load(Ordering::Relaxed),
        temperature: file.temperature,
        file_checksum_func_name: checksum.map_or_else(String::new, |checksum| checksum.func_name.clone()),
        file_checksum: checksum.map_or_else(Vec::new, |checksum| checksum.value.to_vec()),
    }
}
