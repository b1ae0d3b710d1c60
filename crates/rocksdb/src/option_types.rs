//! Small types of options: enums under the names of the `rocksdb` crate, and their counterparts in the
//! engine.

use std::path::Path;

use crate::Error;

/// The importance of a line of the info log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum LogLevel {
    /// Lines for debugging the engine.
    Debug = 0,
    /// Lines about normal events.
    Info,
    /// Lines about events that slow the database down.
    Warn,
    /// Lines about failures.
    Error,
    /// Lines about failures that end all work.
    Fatal,
    /// Lines of the header: the release, and the options.
    Header,
}

/// The sources that a read may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ReadTier {
    /// Reads use memtables, the block cache and files.
    All = 0,
    /// Reads use memtables and the block cache, but no files.
    BlockCache,
    /// Reads see only rows that survive a crash. Not implemented: a read with it fails.
    Persisted,
    /// Reads use memtables, but no files.
    Memtable,
}

/// The rule that selects the file of a level that is compacted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CompactionPri {
    /// The largest file, with deletions counted more.
    ByCompensatedSize = 0,
    /// The file whose newest row is the oldest.
    OldestLargestSeqFirst = 1,
    /// The file with the oldest row.
    OldestSmallestSeqFirst = 2,
    /// The file that overlaps least with the next level.
    MinOverlappingRatio = 3,
    /// The files are compacted in turn.
    RoundRobin = 4,
}

/// The search for the block of a key in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBasedIndexType {
    /// Binary search.
    BinarySearch,
    /// A hash index of prefixes.
    HashSearch,
    /// A two-level index with partitions.
    TwoLevelIndexSearch,
}

/// The search for a key in a data block of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum DataBlockIndexType {
    /// Binary search.
    BinarySearch = 0,
    /// A hash, and binary search if the hash is not sufficient.
    BinaryAndHash = 1,
}

/// The tables of which a part stays in the block cache once it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBasedTablePinningTier {
    /// The older options for pinning decide.
    Fallback = 0,
    /// The metadata of no table is pinned.
    None = 1,
    /// The metadata of tables that flushes wrote, and of tables of similar size in L0, is pinned.
    FlushAndSimilar = 2,
    /// The metadata of all tables is pinned.
    All = 3,
}

/// The type of memtables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemtableFactory {
    /// Rows in the order of their insertion.
    Vector,
    /// Not implemented: an open with this value fails.
    HashSkipList {
        /// The number of buckets.
        bucket_count: usize,
        /// The height of each list.
        height: i32,
        /// The branching factor.
        branching_factor: i32,
    },
    /// Not implemented: an open with this value fails.
    HashLinkList {
        /// The number of buckets.
        bucket_count: usize,
    },
}

/// The checksum of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumType {
    /// No checksum. Not implemented: an open with it fails.
    NoChecksum = 0,
    /// CRC-32C.
    CRC32c = 1,
    /// xxHash, 32 bits.
    XXHash = 2,
    /// xxHash, 64 bits.
    XXHash64 = 3,
    /// XXH3.
    XXH3 = 4,
}

/// The encoding of keys in plain tables, which Esker does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KeyEncodingType {
    /// Keys are stored whole.
    #[default]
    Plain = 0,
    /// Keys are stored without their common prefix.
    Prefix = 1,
}

/// The options of plain tables. Not implemented: an open with them fails.
pub struct PlainTableFactoryOptions {
    /// The length of keys.
    pub user_key_length: u32,
    /// The bits per key of the filter.
    pub bloom_bits_per_key: i32,
    /// The used part of the hash table.
    pub hash_table_ratio: f64,
    /// The number of keys between entries of the index.
    pub index_sparseness: usize,
    /// The size of huge pages.
    pub huge_page_tlb_size: usize,
    /// The encoding of keys.
    pub encoding_type: KeyEncodingType,
    /// Reads the whole file.
    pub full_scan_mode: bool,
    /// Keeps the index in the file.
    pub store_index_in_file: bool,
}

/// A codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DBCompressionType {
    /// No compression.
    None = 0,
    /// Snappy.
    Snappy = 1,
    /// zlib.
    Zlib = 2,
    /// bzip2.
    Bz2 = 3,
    /// LZ4.
    Lz4 = 4,
    /// LZ4HC.
    Lz4hc = 5,
    /// Zstandard.
    Zstd = 7,
}

impl DBCompressionType {
    pub(crate) fn engine(self) -> esker::CompressionType {
        match self {
            DBCompressionType::None => esker::CompressionType::None,
            DBCompressionType::Snappy => esker::CompressionType::Snappy,
            DBCompressionType::Zlib => esker::CompressionType::Zlib,
            DBCompressionType::Bz2 => esker::CompressionType::Bzip2,
            DBCompressionType::Lz4 => esker::CompressionType::Lz4,
            DBCompressionType::Lz4hc => esker::CompressionType::Lz4Hc,
            DBCompressionType::Zstd => esker::CompressionType::Zstd,
        }
    }
}

/// The compaction style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DBCompactionStyle {
    /// Leveled compaction.
    Level = 0,
    /// Universal compaction.
    Universal = 1,
    /// FIFO: the oldest files are dropped.
    Fifo = 2,
}

/// The treatment of damaged WAL records at recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DBRecoveryMode {
    /// Recovery accepts an incomplete last record, and fails at other damage.
    TolerateCorruptedTailRecords = 0,
    /// Recovery fails if any WAL is damaged.
    AbsoluteConsistency = 1,
    /// Recovery ends before the first damaged record of the WALs.
    PointInTime = 2,
    /// Recovery skips damaged records of the WALs.
    SkipAnyCorruptedRecord = 3,
}

/// The condition under which universal compaction has enough files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniversalCompactionStopStyle {
    /// Compares the size of the next file with that of the last one.
    Similar = 0,
    /// Compares the size of the next file with the sum of all earlier ones.
    Total = 1,
}

/// The treatment of bottommost files in a manual compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BottommostLevelCompaction {
    /// Files of the bottommost level are not rewritten.
    Skip = 0,
    /// Files of the bottommost level are rewritten if there is a compaction filter.
    IfHaveCompactionFilter,
    /// Files of the bottommost level are rewritten.
    Force,
    /// Files of the bottommost level are rewritten, except those that the same manual compaction has written.
    ForceOptimized,
}

/// A directory of tables, and its target size.
#[derive(Clone, Debug)]
pub struct DBPath(pub(crate) esker::DbPath);

impl DBPath {
    /// A directory with this target size in bytes.
    ///
    /// # Errors
    /// A NUL byte in the path.
    pub fn new<P: AsRef<Path>>(path: P, target_size: u64) -> Result<DBPath, Error> {
        match path.as_ref().as_os_str().as_encoded_bytes().contains(&0) {
            true => Err(Error::invalid_argument("a path must not contain NUL")),
            false => Ok(DBPath(esker::DbPath::new(path.as_ref(), target_size))),
        }
    }
}

/// Options of universal compaction.
#[derive(Clone, Debug, Default)]
pub struct UniversalCompactOptions {
    pub(crate) inner: esker::CompactionOptionsUniversal,
}

impl UniversalCompactOptions {
    /// Sets the percentage by which the next file may be larger and still be included. Default: 1.
    pub fn set_size_ratio(&mut self, ratio: i32) {
        self.inner.size_ratio = narrow(ratio);
    }

    /// Sets the minimum number of files that are merged. Default: 2.
    pub fn set_min_merge_width(&mut self, number: i32) {
        self.inner.min_merge_width = narrow(number);
    }

    /// Sets the maximum number of files that are merged. Default: all.
    pub fn set_max_merge_width(&mut self, number: i32) {
        self.inner.max_merge_width = narrow(number);
    }

    /// Sets the percentage of the oldest file that the newer ones may reach before all are merged. Default:
    /// 200.
    pub fn set_max_size_amplification_percent(&mut self, percent: i32) {
        self.inner.max_size_amplification_percent = narrow(percent);
    }

    /// Sets the percentage of the data that is compressed; -1: all. Default: -1.
    pub fn set_compression_size_percent(&mut self, percent: i32) {
        self.inner.compression_size_percent = narrow(percent);
    }

    /// Sets the condition of enough files. Default: [`UniversalCompactionStopStyle::Total`].
    pub fn set_stop_style(&mut self, style: UniversalCompactionStopStyle) {
        self.inner.stop_style = match style {
            UniversalCompactionStopStyle::Similar => esker::CompactionStopStyle::SimilarSize,
            UniversalCompactionStopStyle::Total => esker::CompactionStopStyle::TotalSize,
        };
    }
}

/// Options of FIFO compaction.
#[derive(Clone, Debug, Default)]
pub struct FifoCompactOptions {
    pub(crate) inner: esker::CompactionOptionsFifo,
}

impl FifoCompactOptions {
    /// Sets the bytes of tables beyond which the oldest are dropped. Default: 1 GiB.
    pub fn set_max_table_files_size(&mut self, bytes: u64) {
        self.inner.max_table_files_size = bytes;
    }
}

/// A number in another type, clamped to its range.
pub(crate) fn narrow<T, U>(value: T) -> U
where
    T: Copy + Default + PartialOrd,
    U: TryFrom<T> + Bounds,
{
    U::try_from(value).unwrap_or(if value < T::default() { U::LEAST } else { U::MOST })
}

/// The minimum and the maximum of a type.
pub(crate) trait Bounds {
    const LEAST: Self;
    const MOST: Self;
}

macro_rules! bounds {
    ($($type:ty),+) => { $(
        impl Bounds for $type {
            const LEAST: $type = <$type>::MIN;
            const MOST: $type = <$type>::MAX;
        }
    )+ };
}
bounds!(i32, u32, i64, u64, usize);
