//! Queries about an open database: properties under RocksDB's names, sizes of key ranges, live files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Result, SeqNo, Temperature};
use manifest::{FileMetadata, Version};
use sst::BlockCache;

use crate::read::approximate_size::approximate_size;
use crate::report::dump_stats::cache_stats;
use crate::report::dump_stats::file_histogram;
use crate::report::table_properties;
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

    /// Returns a property of `family` or of the database as text, by its name; `None` if the property does
    /// not exist. The names are RocksDB's, and some of Esker's:
    ///
    /// * about files: `rocksdb.num-files-at-level<N>`, `rocksdb.live-sst-files-size-at-temperature<N>`,
    ///   `rocksdb.sstables`, `rocksdb.levelstats`, `rocksdb.blob-stats`
    /// * about work: `rocksdb.stats`, `rocksdb.cfstats`, `rocksdb.cf-file-histogram`,
    ///   `rocksdb.cf-write-stall-stats`, `rocksdb.db-write-stall-stats`, `rocksdb.options-statistics`,
    ///   `esker.write-cost` (the cost of flushes and compactions), `esker.verify` (the progress of the
    ///   background verification of files)
    /// * about tables: `rocksdb.aggregated-table-properties`, the same with `-at-level<N>`,
    ///   `rocksdb.compression-ratio-at-level<N>`. These open tables that are not open; `None` if that fails.
    /// * about memory: `rocksdb.block-cache-entry-stats` (and `rocksdb.fast-block-cache-entry-stats`, which
    ///   is the same, since counting is cheap), `esker.memory` (see [`Db::memory`]), `esker.pins` (see
    ///   [`Db::pins`]), and as a number `esker.block-cache-usage-of-family` (the bytes of the block cache
    ///   that `family` uses, if several families share it)
    /// * about WALs, as numbers: `esker.oldest-wal-number` and `esker.oldest-wal-age-micros`, the oldest WAL
    ///   with rows of `family` that are in no table, and the time since its creation or since recovery found
    ///   it; 0 without such a WAL
    /// * the progress of a secondary or follower: `esker.secondary`, and as numbers
    ///   `esker.secondary-sequence-number` and `esker.secondary-age-micros` (the time since its data was up
    ///   to date)
    /// * the numbers of [`property_int`](Db::property_int), as text
    pub fn property(&self, family: &ColumnFamily, name: &str) -> Option<String> {
        let inner = self.inner();
        if inner.is_closed() {
            return None;
        }
        if let Some(number) = inner.property_int(&family.0, name) {
            return Some(number.to_string());
        }
        let version = family.0.super_version.load().version.clone();
        if let Some(level) = name.strip_prefix("rocksdb.num-files-at-level") {
            let level: usize = level.parse().ok()?;
            return (level < version.num_levels()).then(|| version.files(level).len().to_string());
        }
        if let Some(temperature) = name.strip_prefix("rocksdb.live-sst-files-size-at-temperature") {
            let temperature: u8 = temperature.parse().ok()?;
            let files = version
                .all_files()
                .filter(|(_, file)| file.temperature.0 == temperature);
            return Some(files.map(|(_, file)| file.size).sum::<u64>().to_string());
        }
        if let Some(level) = name.strip_prefix("rocksdb.compression-ratio-at-level") {
            let level: usize = level.parse().ok().filter(|level| *level < version.num_levels())?;
            let ratio = table_properties::compression_ratio(&family.0, &version, level).ok()?;
            return Some(format!("{ratio:.6}"));
        }
        if let Some(level) = name.strip_prefix("rocksdb.aggregated-table-properties") {
            let level = match level.strip_prefix("-at-level") {
                None if level.is_empty() => None,
                None => return None,
                Some(level) => Some(level.parse().ok().filter(|level| *level < version.num_levels())?),
            };
            return table_properties::aggregated(&family.0, &version, level).ok();
        }
        match name {
            "esker.secondary" => Some(inner.secondary.as_ref()?.status().to_string()),
            "rocksdb.levelstats" => Some(level_stats(&version)),
            "rocksdb.sstables" => Some(sstables(&version)),
            "rocksdb.blob-stats" => Some(BlobStats::of(&version).to_string()),
            "rocksdb.stats" => Some(format!(
                "{}{}",
                inner.family_stats(&family.0, &version),
                inner.db_stats()
            )),
            "rocksdb.cfstats" => Some(format!(
                "{}{}",
                inner.family_stats(&family.0, &version),
                file_histogram(&family.0)
            )),
            "rocksdb.cfstats-no-file-histogram" => Some(inner.family_stats(&family.0, &version)),
            "rocksdb.cf-file-histogram" => Some(file_histogram(&family.0)),
            "esker.write-cost" => Some(inner.write_cost(&family.0, &version)),
            "rocksdb.dbstats" => Some(inner.db_stats()),
            "rocksdb.db-write-stall-stats" => {
                Some(format!("Write Stall (count): {}\n", inner.stats.stalls().text()))
            }
            "rocksdb.cf-write-stall-stats" => {
                let state = inner.state.lock();
                let own = state.families.get(&family.0.id)?;
                Some(format!("Write Stall (count): {}\n", own.stats.stalls.text()))
            }
            "esker.memory" => Some(inner.memory().to_string()),
            "esker.pins" => Some(inner.pins().to_string()),
            "esker.verify" => Some(inner.verify_progress().to_string()),
            "rocksdb.block-cache-entry-stats" | "rocksdb.fast-block-cache-entry-stats" => {
                family.0.tables.block_cache().map(cache_stats)
            }
            "rocksdb.options-statistics" => Some(inner.options.statistics.as_ref()?.to_string()),
            _ => None,
        }
    }

    /// Returns a property whose value is a number; `None` if the property does not exist.
    pub fn property_int(&self, family: &ColumnFamily, name: &str) -> Option<u64> {
        let inner = self.inner();
        match inner.is_closed() {
            true => None,
            false => inner.property_int(&family.0, name),
        }
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

/// Totals of the blob files of a version.
pub(crate) struct BlobStats {
    files: usize,
    /// The bytes of all blob files of the version.
    pub file_size: u64,
    /// The bytes of records that no table refers to.
    pub garbage_size: u64,
}

impl BlobStats {
    pub fn of(version: &Version) -> BlobStats {
        let blobs = version.blob_files().values();
        blobs.fold(
            BlobStats {
                files: version.blob_files().len(),
                file_size: 0,
                garbage_size: 0,
            },
            |stats, blob| BlobStats {
                file_size: stats.file_size.saturating_add(blob.file_size()),
                garbage_size: stats.garbage_size.saturating_add(blob.garbage_blob_bytes),
                ..stats
            },
        )
    }
}

impl fmt::Display for BlobStats {
    /// The text of RocksDB's `rocksdb.blob-stats`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.file_size.saturating_sub(self.garbage_size);
        let amplification = match used {
            0 => 0.0,
            used => self.file_size as f64 / used as f64,
        };
        write!(
            f,
            "Number of blob files: {}\nTotal size of blob files: {}\nTotal size of garbage in blob files: {}\n\
             Blob file space amplification: {amplification}\n",
            self.files, self.file_size, self.garbage_size
        )
    }
}

fn level_stats(version: &Version) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    for level in 0..version.num_levels() {
        let megabytes = version.level_bytes(level) as f64 / 1048576.0;
        out.push_str(&format!(
            "{level:3} {:8} {megabytes:8.0}\n",
            version.files(level).len()
        ));
    }
    out
}

fn sstables(version: &Version) -> String {
    let mut out = String::new();
    for level in 0..version.num_levels() {
        out.push_str(&format!("--- level {level} ---\n"));
        for file in version.files(level) {
            out.push_str(&format!(
                " {}:{}[{} .. {}][{} .. {}]\n",
                file.number,
                file.size,
                file.smallest_seqno,
                file.largest_seqno,
                file.smallest_user_key().escape_ascii(),
                file.largest_user_key().escape_ascii()
            ));
        }
    }
    out
}
