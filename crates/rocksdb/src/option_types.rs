//! Small types of options: enums under the names of the `rocksdb` crate, and how the engine calls the same.

use std::path::Path;

use crate::Error;

/// How much a line of the info log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum LogLevel {
    /// For the search of a fault in the engine.
    Debug = 0,
    /// All the time.
    Info,
    /// Slows the database down.
    Warn,
    /// Went wrong.
    Error,
    /// Nothing goes on after it.
    Fatal,
    /// Lines of the header: the release, and the options.
    Header,
}

/// How far down a read may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ReadTier {
    /// Everywhere.
    All = 0,
    /// Memtables and the block cache.
    BlockCache,
    /// Rows that survive a crash: not implemented, a read with it fails.
    Persisted,
    /// Memtables.
    Memtable,
}

/// Which file of a level is compacted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CompactionPri {
    /// The largest, deletions counted more.
    ByCompensatedSize = 0,
    /// The one that was last written to longest ago.
    OldestLargestSeqFirst = 1,
    /// The one with the oldest row.
    OldestSmallestSeqFirst = 2,
    /// The one that overlaps least with the next level.
    MinOverlappingRatio = 3,
    /// The next one in turn.
    RoundRobin = 4,
}

/// How a table finds the block of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBasedIndexType {
    /// By halving.
    BinarySearch,
    /// By a hash of the prefix.
    HashSearch,
    /// By an index over partitions of the index.
    TwoLevelIndexSearch,
}

/// How a data block finds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum DataBlockIndexType {
    /// By halving.
    BinarySearch = 0,
    /// By a hash, and by halving where that does not tell.
    BinaryAndHash = 1,
}

/// The tables of which a part stays in the block cache once it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBasedTablePinningTier {
    /// As the older options say.
    Fallback = 0,
    /// No tables.
    None = 1,
    /// Tables that flushes wrote, and similar ones.
    FlushAndSimilar = 2,
    /// All tables.
    All = 3,
}

/// The kind of memtables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemtableFactory {
    /// Rows in the order they came in.
    Vector,
    /// Not implemented: an open with it fails.
    HashSkipList {
        /// Buckets.
        bucket_count: usize,
        /// Height of each list.
        height: i32,
        /// Branches.
        branching_factor: i32,
    },
    /// Not implemented: an open with it fails.
    HashLinkList {
        /// Buckets.
        bucket_count: usize,
    },
}

/// The checksum of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumType {
    /// None: not implemented, an open with it fails.
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

/// How keys lie in plain tables, which there are none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KeyEncodingType {
    /// In full.
    #[default]
    Plain = 0,
    /// Without the prefix they share.
    Prefix = 1,
}

/// Plain tables: not implemented, an open with them fails.
pub struct PlainTableFactoryOptions {
    /// Length of keys.
    pub user_key_length: u32,
    /// Bits a key of the filter.
    pub bloom_bits_per_key: i32,
    /// Part of the hash table in use.
    pub hash_table_ratio: f64,
    /// Keys between entries of the index.
    pub index_sparseness: usize,
    /// Size of huge pages.
    pub huge_page_tlb_size: usize,
    /// How keys are written.
    pub encoding_type: KeyEncodingType,
    /// Reads the whole file.
    pub full_scan_mode: bool,
    /// Keeps the index in the file.
    pub store_index_in_file: bool,
}

/// A codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DBCompressionType {
    /// None.
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

/// How files are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DBCompactionStyle {
    /// By levels.
    Level = 0,
    /// By time.
    Universal = 1,
    /// Not at all: the oldest go.
    Fifo = 2,
}

/// The treatment of damaged WAL records at recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DBRecoveryMode {
    /// Takes a torn end, and fails at other damage.
    TolerateCorruptedTailRecords = 0,
    /// Fails at any damage.
    AbsoluteConsistency = 1,
    /// Ends before the damage.
    PointInTime = 2,
    /// Leaves damaged records out.
    SkipAnyCorruptedRecord = 3,
}

/// When universal compaction has enough files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniversalCompactionStopStyle {
    /// When the next is of another size than the last.
    Similar = 0,
    /// When the next is of another size than all together.
    Total = 1,
}

/// Whether a manual compaction rewrites what is at the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BottommostLevelCompaction {
    /// No.
    Skip = 0,
    /// With a compaction filter.
    IfHaveCompactionFilter,
    /// Yes.
    Force,
    /// Yes, but not what this compaction has written itself.
    ForceOptimized,
}

/// A directory of tables, and how much it should hold.
#[derive(Clone, Debug)]
pub struct DBPath(pub(crate) esker::DbPath);

impl DBPath {
    /// A directory that should hold so many bytes.
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
    /// Percent by which the next file may be larger and still go along. Default: 1.
    pub fn set_size_ratio(&mut self, ratio: i32) {
        self.inner.size_ratio = narrow(ratio);
    }

    /// Files that are merged at least. Default: 2.
    pub fn set_min_merge_width(&mut self, number: i32) {
        self.inner.min_merge_width = narrow(number);
    }

    /// Files that are merged at most. Default: all.
    pub fn set_max_merge_width(&mut self, number: i32) {
        self.inner.max_merge_width = narrow(number);
    }

    /// Percent of the oldest file that the newer ones may take before all are merged. Default: 200.
    pub fn set_max_size_amplification_percent(&mut self, percent: i32) {
        self.inner.max_size_amplification_percent = narrow(percent);
    }

    /// Percent of the data that is compressed; -1: all. Default: -1.
    pub fn set_compression_size_percent(&mut self, percent: i32) {
        self.inner.compression_size_percent = narrow(percent);
    }

    /// When there are files enough. Default: [`UniversalCompactionStopStyle::Total`].
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
    /// Bytes of tables from which on the oldest go. Default: 1 GiB.
    pub fn set_max_table_files_size(&mut self, bytes: u64) {
        self.inner.max_table_files_size = bytes;
    }
}

/// A number in another type; what does not fit becomes the nearest that does.
pub(crate) fn narrow<T, U>(value: T) -> U
where
    T: Copy + Default + PartialOrd,
    U: TryFrom<T> + Bounds,
{
    U::try_from(value).unwrap_or(if value < T::default() { U::LEAST } else { U::MOST })
}

/// The least and the greatest number of a type.
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
