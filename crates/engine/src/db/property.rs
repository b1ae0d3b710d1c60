//! What can be asked of an open database: properties under RocksDB's names, sizes of ranges, live files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::internal_key::{KIND_FOR_SEEK, MAX_SEQNO, pack_trailer};
use base::{Result, SeqNo, Temperature, filename};
use manifest::{BlobFileMetadata, FileMetadata, Version};
use sst::BlockCache;

use super::Db;
use super::column_family::{ColumnFamily, Family};
use super::table_properties;
use crate::log::dump_stats::cache_stats;

/// A table file in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// Column family.
    pub column_family: String,
    /// Its level.
    pub level: usize,
    /// File number.
    pub number: u64,
    /// Where it lies.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Smallest user key.
    pub smallest_key: Vec<u8>,
    /// Largest user key; the end of a range deletion is not itself in the file.
    pub largest_key: Vec<u8>,
    /// Lowest sequence number.
    pub smallest_seqno: SeqNo,
    /// Highest sequence number.
    pub largest_seqno: SeqNo,
    /// Entries, deletions included; 0 if the file was not opened yet.
    pub num_entries: u64,
    /// Deletions; 0 if the file was not opened yet.
    pub num_deletions: u64,
    /// True while a compaction reads it.
    pub being_compacted: bool,
    /// The temperature it was written with.
    pub temperature: Temperature,
    /// Name of the function of the checksum over the whole file; empty if the MANIFEST has none.
    pub file_checksum_func_name: String,
    /// That checksum; empty if the MANIFEST has none.
    pub file_checksum: Vec<u8>,
}

/// A blob file in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobMetaData {
    /// File number.
    pub number: u64,
    /// Where it lies.
    pub path: PathBuf,
    /// Bytes of the file.
    pub size: u64,
    /// Values in it.
    pub total_blob_count: u64,
    /// Bytes of their records.
    pub total_blob_bytes: u64,
    /// Values that nothing refers to any more.
    pub garbage_blob_count: u64,
    /// Bytes of their records.
    pub garbage_blob_bytes: u64,
    /// Numbers of the tables whose oldest blob file it is.
    pub linked_ssts: Vec<u64>,
    /// Name of the function of the checksum over the whole file; empty if the MANIFEST has none.
    pub checksum_method: String,
    /// That checksum; empty if the MANIFEST has none.
    pub checksum_value: Vec<u8>,
}

/// A level of a column family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelMetadata {
    /// From 0.
    pub level: usize,
    /// Table files in it.
    pub files: usize,
    /// Bytes of them.
    pub size: u64,
}

impl Db {
    /// The cache that blocks of `family` are kept in; `None` without one. Its capacity may be changed at any time: what no longer
    /// fits and nobody reads goes at once.
    pub fn block_cache(&self, family: &ColumnFamily) -> Option<Arc<BlockCache>> {
        family.0.tables.block_cache().cloned()
    }

    /// Files and bytes of every level of `family`, empty levels among them. Takes no lock.
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

    /// The blob files of `family`, by number: the oldest first. Takes no lock.
    pub fn blob_files(&self, family: &ColumnFamily) -> Vec<BlobMetaData> {
        let version = family.0.super_version.load().version.clone();
        let blob_file = |blob: &Arc<BlobFileMetadata>| {
            let addition = &blob.shared.addition;
            BlobMetaData {
                number: blob.number(),
                path: filename::blob(&family.0.dir, blob.number()),
                size: blob.file_size(),
                total_blob_count: blob.total_blob_count(),
                total_blob_bytes: blob.total_blob_bytes(),
                garbage_blob_count: blob.garbage_blob_count,
                garbage_blob_bytes: blob.garbage_blob_bytes,
                linked_ssts: blob.linked_ssts.iter().copied().collect(),
                checksum_method: addition.checksum_method.clone(),
                checksum_value: addition.checksum_value.to_vec(),
            }
        };
        version.blob_files().values().map(blob_file).collect()
    }

    /// A property of `family` or of the database by RocksDB's name, as text; `None` if there is none of that name.
    ///
    /// `rocksdb.num-files-at-level<N>`, `rocksdb.live-sst-files-size-at-temperature<N>`, `rocksdb.stats`, `rocksdb.cfstats`,
    /// `rocksdb.cf-file-histogram`, `esker.write-cost` (what flushes and compactions have cost), `rocksdb.cf-write-stall-stats`, `rocksdb.db-write-stall-stats`,
    /// `rocksdb.aggregated-table-properties`, the same `-at-level<N>`, `rocksdb.compression-ratio-at-level<N>` (these open tables that are not
    /// open; `None` if that fails), `esker.pins` (see [`Db::pins`]), `esker.memory` (see [`Db::memory`]), `esker.verify` (how far looking for rot has come), `rocksdb.sstables`, `rocksdb.levelstats`, `rocksdb.blob-stats`, `rocksdb.options-statistics`,
    /// `rocksdb.block-cache-entry-stats` (and `fast-`, the same: counting is cheap), as number `esker.block-cache-usage-of-family` (bytes of the block cache that `family` takes, where
    /// several share it), and the numbers that
    /// [`property_int`](Db::property_int) gives. Of a secondary or follower also `esker.secondary`, how far it has come, and as numbers
    /// `esker.secondary-sequence-number` and `esker.secondary-age-micros`, the time since what it reads was up to date.
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

    /// A property that is a number.
    pub fn property_int(&self, family: &ColumnFamily, name: &str) -> Option<u64> {
        let inner = self.inner();
        match inner.is_closed() {
            true => None,
            false => inner.property_int(&family.0, name),
        }
    }

    /// Sets what `rocksdb.stats` tells of jobs, writes and stalls to 0. Not [`Options::statistics`](crate::Options::statistics), which
    /// several databases may share and which is reset by itself.
    pub fn reset_stats(&self) {
        let inner = self.inner();
        inner.stats.reset();
        for family in inner.state.lock().families.values_mut() {
            family.stats = Default::default();
        }
        inner.begin_samples();
    }

    /// Bytes of tables that hold each of the key ranges `[begin, end)`, estimated from the tables' indexes.
    /// Memtables are not counted.
    pub fn approximate_sizes(&self, family: &ColumnFamily, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
        self.inner().check_open()?;
        let version = family.0.super_version.load().version.clone();
        ranges
            .iter()
            .map(|(begin, end)| approximate_size(&family.0, &version, 0, begin, end))
            .collect()
    }

    /// The table files in use, of all families.
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

/// `rocksdb.cf-file-histogram`.
pub(crate) fn file_histogram(family: &Family) -> String {
    format!(
        "\n** File Read Latency Histogram By Level [{}] **\n{}",
        family.name,
        family.tables.read_latency()
    )
}

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
        being_compacted: file.being_compacted.load(Ordering::Relaxed),
        temperature: file.temperature,
        file_checksum_func_name: checksum.map_or_else(String::new, |checksum| checksum.func_name.clone()),
        file_checksum: checksum.map_or_else(Vec::new, |checksum| checksum.value.to_vec()),
    }
}

/// The blob files of a version together.
pub(crate) struct BlobStats {
    files: usize,
    /// Bytes of the files.
    pub file_size: u64,
    /// Bytes of records that nothing refers to.
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
    /// As RocksDB says it.
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

/// Bytes of the tables from `first_level` down that hold user keys from `begin` to before `end`, as far as their indexes tell. Opens tables that
/// are not open.
pub(crate) fn approximate_size(
    family: &Family,
    version: &Version,
    first_level: usize,
    begin: &[u8],
    end: &[u8],
) -> Result<u64> {
    let user = family.cmp.user();
    let (first, behind) = (user.stamped(begin), user.stamped(end));
    if user.compare_without_timestamp(&first, &behind).is_ge() {
        return Ok(0);
    }
    let target = |key: &[u8]| {
        let mut target = key.to_vec();
        target.resize(key.len() + user.timestamp_size(), 0xff);
        target.extend_from_slice(&pack_trailer(MAX_SEQNO, KIND_FOR_SEEK).to_le_bytes());
        target
    };
    let (from, to) = (target(begin), target(end));
    let mut total = 0;
    for level in first_level..version.num_levels() {
        for file in version.overlapping(level, Some(&first), Some(&behind)) {
            let inside = family.cmp.compare(&file.smallest, &from).is_ge()
                && family.cmp.compare(&file.largest, &to).is_lt();
            total += if inside {
                file.size
            } else {
                family.tables.with_table(&file, |table| {
                    Ok(table
                        .approximate_offset_of(&to)?
                        .saturating_sub(table.approximate_offset_of(&from)?))
                })?
            };
        }
    }
    Ok(total)
}
