//! Options of a column family and of its tables.

use std::sync::Arc;

use base::merge::MergeOperator;
use base::prefix::PrefixExtractor;
use base::{Temperature, UserComparator};
use codec::checksum::ChecksumType;
use codec::compression::{CompressionOptions, CompressionType};
use compact::{
    BlobGarbageCollection, BlobGarbageRequest, CompactionOptionsFifo, CompactionOptionsUniversal,
    CompactionPri,
};
pub use sst::filter::FilterPolicy;
use sst::format::{IndexShortening, IndexType};
use sst::{AutoReadahead, BlockCache, BlockPropertyCollectorFactory};

use super::compaction::{AGE_OF_CHOICE, CompactionStyle};
use super::metadata_cache::MetadataCacheOptions;

use crate::options::DbPath;
use crate::options::memtable_factory::MemtableFactory;
use crate::options::table::{OptionValue, enum_option, option_table};
use crate::table_properties_collector::TablePropertiesCollectorFactory;

option_table! {
    /// Options of a column family. Names, units and defaults are RocksDB's where a field does not say otherwise.
    pub struct ColumnFamilyOptions {
        /// Bytes of a memtable beyond which it is switched and flushed. Default: 64 MiB.
        write_buffer_size: u64 = 64 << 20, mutable = true, range(4096, u64::MAX), domain["16384", "65536", "1048576"];
        /// What memtables are, by RocksDB's names. `skip_list` (or `SkipListFactory`; a lookahead as in `skip_list:16` is kept, and means
        /// nothing): Esker's tree, which keeps rows sorted as they come. `vector` (or `VectorRepFactory`, with room for so many rows as
        /// in `vector:100000`), for bulk loads: rows are appended, and sorted when the memtable is flushed or somebody reads,
        /// who waits for it; it needs `allow_concurrent_memtable_write=false`. `prefix_hash`, `hash_linkedlist` and `cuckoo` are
        /// refused. Default: SkipListFactory.
        memtable_factory: MemtableFactory = MemtableFactory::SkipList { lookahead: 0 };
        /// Memtables in memory at most, the one written included; writes stop above. Default: 2.
        max_write_buffer_number: i32 = 2, mutable = true, range(2, i32::MAX), domain["2", "4"];
        /// Full memtables that a flush waits for and merges into one table; no more than may be full, `max_write_buffer_number` less
        /// one. Default: 1.
        min_write_buffer_number_to_merge: i32 = 1, range(1, i32::MAX), domain["1", "2"];
        /// Levels, L0 included; with leveled compaction 2 at least. Default: 7.
        num_levels: i32 = 7, range(1, 64), domain["2", "4", "7"];
        /// L0 files that start a compaction. Default: 4.
        level0_file_num_compaction_trigger: i32 = 4, mutable = true, range(1, i32::MAX), domain["2", "4", "8"];
        /// L0 files that slow writes down; below 0: never. As with RocksDB it counts as no less than
        /// level0_file_num_compaction_trigger. Default: 20.
        level0_slowdown_writes_trigger: i32 = 20, mutable = true, domain["8", "20"];
        /// L0 files that stop writes. As with RocksDB it counts as no less than level0_slowdown_writes_trigger: a stop before the
        /// compaction it waits for would last for ever. Default: 36.
        level0_stop_writes_trigger: i32 = 36, mutable = true, domain["12", "36"];
        /// Bytes of a table at L1. Default: 64 MiB.
        target_file_size_base: u64 = 64 << 20, mutable = true, range(1, u64::MAX), domain["4096", "65536", "1048576"];
        /// Growth of a table's size from level to level. Default: 1.
        target_file_size_multiplier: i32 = 1, mutable = true, range(1, 1000), domain["1", "2"];
        /// Bytes of L1, or of the base level. Default: 256 MiB.
        max_bytes_for_level_base: u64 = 256 << 20, mutable = true, range(1, u64::MAX), domain["32768", "262144", "4194304"];
        /// Growth of a level's size from level to level. Default: 10.
        max_bytes_for_level_multiplier: f64 = 10.0, mutable = true, range(1.0, 1e6), domain["4", "10"];
        /// A further factor for each level, from L0 on; levels it does not name have 1. Unused with level_compaction_dynamic_level_bytes.
        /// Default: 1:1:1:1:1:1:1.
        max_bytes_for_level_multiplier_additional: Vec<u32> = vec![1; 7], mutable = true, domain["1:1:1:1:1:1:1", "1:2:1"];
        /// Which file of a level that is too large goes first, with leveled compaction: kByCompensatedSize, the largest, deletions counted;
        /// kOldestLargestSeqFirst, whose newest entry is oldest; kOldestSmallestSeqFirst, whose oldest entry is oldest;
        /// kMinOverlappingRatio, which costs the next level least for its size; kRoundRobin, each in its turn by key.
        /// Default: kMinOverlappingRatio.
        compaction_pri: CompactionPri = CompactionPri::MinOverlappingRatio, mutable = true,
            domain["kByCompensatedSize", "kOldestLargestSeqFirst", "kOldestSmallestSeqFirst", "kMinOverlappingRatio", "kRoundRobin"];
        /// Sizes levels from the last one upwards, so that about a tenth of the data lies above it. Default: true.
        level_compaction_dynamic_level_bytes: bool = true, domain["true", "false"];
        /// Bytes a compaction takes in at most; 0 chooses 25 times the target file size, or two and a half times
        /// max_bytes_for_level_multiplier as often where that is more. RocksDB stays at 25, so that with a larger multiplier files are
        /// rewritten that could have been moved. Default: 0.
        max_compaction_bytes: u64 = 0, mutable = true, domain["0", "1048576"];
        /// Bytes waiting for compaction that slow writes down; 0, or more than hard_pending_compaction_bytes_limit: never. Default: 64 GiB.
        soft_pending_compaction_bytes_limit: u64 = 64 << 30, mutable = true, domain["100000", "68719476736"];
        /// Bytes waiting for compaction that stop writes; 0: never. Default: 256 GiB.
        hard_pending_compaction_bytes_limit: u64 = 256 << 30, mutable = true, domain["400000", "274877906944"];
        /// Compacts only when asked to. Default: false.
        disable_auto_compactions: bool = false, mutable = true;
        /// Moves files down as they are though the level they come to is compressed in another way: they are compressed so when they
        /// are next merged. For loads in order, where the upper levels are not compressed. Without it a file is moved where its own
        /// compression, whatever is configured, is that of the level. The trap: what is never merged stays as large as it came.
        /// Default: false.
        move_files_of_any_compression: bool = false, mutable = true, domain["false", "false", "true"];
        /// Compactions copy a data block of an input as it is stored where nothing else of the inputs lies between its keys, all its
        /// entries are values that stay as they are, and it is compressed and laid out as the output's blocks are to be: its entries are
        /// looked at, for the filter and the index, but not merged, encoded and compressed again, and its checksum is verified and goes
        /// with it. Where range tombstones, a compaction filter, a partitioner, blob files, timestamps, a compression dictionary,
        /// block_align or a hash index in data blocks play a part, none is. Set it to false for a compaction that is to encode everything
        /// anew. Default: true.
        copy_untouched_blocks: bool = true, mutable = true, domain["true", "true", "false"];
        /// Notices, when memtables are flushed, keys that were written in ascending or descending order, in one stream or in
        /// several that take turns. Each stream gets a table of its own, in the lowest level where nothing overlaps it, compressed as
        /// that level is: it is never rewritten, as it would be if one table held keys of several streams. Costs a flush a look at
        /// its first 4096 keys, and where there are streams a walk over all keys. Streams of less than a 256th of
        /// target_file_size_base, or of two blocks, go to L0 with all else; so does everything while range deletions are flushed, with
        /// timestamps, and with disable_auto_compactions. The trap: of many streams each flush makes as many tables, and they stay
        /// that small; a larger write_buffer_size makes them larger. Default: true.
        streams_bypass_level0: bool = true, mutable = true, domain["true", "true", "false"];
        /// How files are merged. kCompactionStyleLevel: each level is a sorted run ten times as large as the one above.
        /// kCompactionStyleUniversal: sorted runs are merged when several are of similar size, which writes less and takes up to
        /// `max_size_amplification_percent` more space, and twice all of it while everything is merged. kCompactionStyleFIFO: the oldest
        /// files are dropped, with all that is in them, once there is too much or it is older than `ttl`: for what one may lose.
        /// kCompactionStyleNone: nothing is merged unless asked for. Default: kCompactionStyleLevel.
        compaction_style: CompactionStyle = CompactionStyle::Level,
            domain["kCompactionStyleLevel", "kCompactionStyleLevel", "kCompactionStyleUniversal", "kCompactionStyleUniversal"];
        /// Leaves the last level to files that are ingested behind all others
        /// (`IngestExternalFileOptions::ingest_behind`): compactions write no lower than to the level above it,
        /// and keep deletions, which may have to hide what comes there. To be set before the first row is written; set back to false
        /// when all is in, so that compactions become whole again. Takes universal compaction and at least three levels. Default: false.
        cf_allow_ingest_behind: bool = false;
        /// What universal compaction is steered by. A sorted run is a file of L0, or a level; from `level0_file_num_compaction_trigger` runs on
        /// there may be something to do. Runs are merged, the newest first, while the next is not more than `size_ratio` percent larger than all
        /// before (`stop_style=kCompactionStopStyleTotalSize`) or of the size of the one before (`kCompactionStopStyleSimilarSize`), at
        /// least `min_merge_width` and at most `max_merge_width` of them; all, once what is beside the oldest is more than
        /// `max_size_amplification_percent` of that; and as many as need be where there are more than `max_read_amp` (0: as the size of the data
        /// lets expect; -1: than the trigger). `compression_size_percent`: so much of the data, the oldest, is compressed at least, the
        /// rest is not; -1: all is. `allow_trivial_move`: files that overlap nothing are moved. `incremental` is refused, and
        /// `reduce_file_locking` has nothing to do.
        /// Default: {allow_trivial_move=false;stop_style=kCompactionStopStyleTotalSize;min_merge_width=2;compression_size_percent=-1;max_size_amplification_percent=200;incremental=false;max_merge_width=4294967295;size_ratio=1;max_read_amp=-1;}
        compaction_options_universal: CompactionOptionsUniversal = CompactionOptionsUniversal::default(), mutable = true,
            domain["{}", "{size_ratio=30;max_merge_width=4;}", "{max_size_amplification_percent=30;allow_trivial_move=true;}",
                "{stop_style=kCompactionStopStyleSimilarSize;compression_size_percent=50;size_ratio=100;}", "{max_read_amp=0;min_merge_width=3;}"];
        /// What FIFO compaction is steered by, beside `ttl`. Once all tables have more than `max_table_files_size` bytes, or tables and
        /// blob files together more than `max_data_files_size` where that is not 0, the oldest tables are dropped.
        /// `allow_compaction`: small files of L0 are merged. `file_temperature_age_thresholds`: files are rewritten, one at a time, once all
        /// that is in them is so many seconds old, for storage of a temperature. `use_kv_ratio_compaction` and
        /// `allow_trivial_copy_when_change_temperature` are refused. The trap: the `ttl` that is chosen drops what is older than 30 days.
        /// Default: {max_table_files_size=1073741824;allow_compaction=false;}
        compaction_options_fifo: CompactionOptionsFifo = CompactionOptionsFifo::default(), mutable = true,
            domain["{}", "{allow_compaction=true;}", "{file_temperature_age_thresholds={{temperature=kCold;age=1;}};}"];
        /// Seconds after which data is compacted down, level by level, though no size asks for it; with FIFO compaction after which a file is
        /// dropped, counted from when it was written; with universal compaction the same as `periodic_compaction_seconds`. 0: never;
        /// 18446744073709551614: chosen, which is 30 days. Looked at when files change, and now and then. Default: chosen.
        ttl: u64 = AGE_OF_CHOICE, mutable = true, domain["0", "1000"];
        /// Seconds after which a file is rewritten, so that a compaction filter sees all data again and what is deleted goes: leveled compaction
        /// rewrites the file, universal compaction everything. FIFO compaction does not look at it. 0: never; 18446744073709551614:
        /// chosen, which is 30 days with universal compaction or a compaction filter, else never. Default: chosen.
        periodic_compaction_seconds: u64 = AGE_OF_CHOICE, mutable = true, domain["0", "2", "1000"];
        /// The temperature that tables in the last of all levels (`num_levels`) are written with: kHot, kWarm, kCool, kCold, kIce, or
        /// kUnknown to leave it to `default_write_temperature`. It is recorded in the MANIFEST and told to the file system, which may put the
        /// file on storage of that kind; the file system of the operating system passes over it. Default: kUnknown.
        last_level_temperature: Temperature = Temperature::UNKNOWN, mutable = true, domain["kUnknown", "kCold"];
        /// The temperature of all other tables. Default: kUnknown.
        default_write_temperature: Temperature = Temperature::UNKNOWN, mutable = true, domain["kUnknown", "kHot"];
        /// Compression of tables. Default: kLZ4Compression.
        compression: CompressionType = CompressionType::Lz4, mutable = true,
            domain["kNoCompression", "kSnappyCompression", "kZlibCompression", "kLZ4Compression", "kZSTD"];
        /// Compression of the last level that holds data; kDisableCompressionOption leaves it to `compression`.
        /// Default: kDisableCompressionOption.
        bottommost_compression: Option<CompressionType> = None, mutable = true, domain["kDisableCompressionOption", "kZSTD"];
        /// Compression by level from L0 on (with dynamic level bytes: L0, then the base level on); the last entry stands
        /// for the levels below. Empty: `compression` everywhere. Default: empty.
        compression_per_level: Vec<CompressionType> = Vec::new(), mutable = true,
            domain["", "", "kNoCompression:kLZ4Compression", "kNoCompression:kSnappyCompression:kZSTD"];
        /// How hard to compress: level, window_bits and strategy are the libraries' own. With max_dict_bytes above 0 the data blocks of
        /// each table are compressed with a dictionary of so many bytes, of ZSTD trained from zstd_max_train_bytes of samples if that is
        /// not 0: blocks are held in memory, at most max_dict_buffer_bytes of them, until there are enough to make it of.
        /// LZ4, zlib and ZSTD know dictionaries. parallel_threads above 1: so many threads, at most 64, compress the data blocks of each table beside
        /// the one that makes and writes them; the table is the same, byte for byte. It helps where compression is slow and cores are idle: with
        /// Snappy, LZ4 and negative levels of ZSTD, and for tables with a partitioned index, it is passed over.
        /// Default: the libraries' level, no dictionary, one thread.
        compression_opts: CompressionOptions = CompressionOptions::default(), mutable = true,
            domain["{}", "{}", "{max_dict_bytes=400;}", "{max_dict_bytes=4096;zstd_max_train_bytes=40000;}",
                "{level=1;max_dict_bytes=4096;max_dict_buffer_bytes=5000;checksum=true;}", "{parallel_threads=3;}"];
        /// The same for the last level that holds data, where enabled=true is among them; else `compression_opts` holds there too.
        bottommost_compression_opts: CompressionOptions = CompressionOptions::default(), mutable = true,
            domain["{}", "{enabled=true;max_dict_bytes=4096;}"];
        /// Entries of one key that an iterator steps over one by one before it seeks past the rest: versions older than the
        /// one it shows, or newer than what it reads. Default: 8.
        max_sequential_skip_in_iterations: u64 = 8, mutable = true, domain["0", "2", "8"];
        /// Writes no filters for tables with nothing older of their keys below: for who nearly always asks for keys that are there.
        /// Nine tenths of the data have no filters then, and a key that is not there costs a read. Tables that have filters keep
        /// them until they are compacted. Default: false.
        optimize_filters_for_hits: bool = false, mutable = true, domain["false", "false", "true"];
        /// Keeps track of when rows were written, for so many seconds: the last sequence number is noted a hundred times in that time, and
        /// tables keep what is known of their rows in the property `rocksdb.seqno.time.map`. Compactions leave rows of that age their
        /// sequence numbers, by which it is known; that costs a few bits a key where they would be zeroed. 0: no. Default: 0.
        preserve_internal_time_seconds: u64 = 0, domain["0", "0", "0", "1", "1000"];
        /// Writes large values to blob files, and in their place, into the tables, where they lie: compactions then merge keys and
        /// leave values alone, which spares writes where values are large; a read costs one more access, and what is overwritten
        /// or deleted takes room until its blob file is emptied (`enable_blob_garbage_collection`) or all of it is garbage. Values
        /// are taken out when they are flushed or compacted; what is there already stays readable when this is switched off.
        /// Columns of wide-column entities stay in tables. Default: false.
        enable_blob_files: bool = false, mutable = true, domain["false", "false", "true"];
        /// With enable_blob_files: bytes of a value, not compressed, from which on it goes into a blob file. The trap: at the default
        /// every value does, though of small ones the record in the blob file (32 bytes and the key again) and the reference to
        /// it cost more than they spare. Default: 0.
        min_blob_size: u64 = 0, mutable = true, domain["0", "8", "64", "1024"];
        /// With enable_blob_files: bytes of a value, not compressed, from which on it goes into a blob file if a newer version of its key stands
        /// before it in what is flushed or compacted: then it is likely to be garbage soon, and compactions need not rewrite it until
        /// it is. A newer version is one of a later timestamp, an entry that a snapshot does not see, or what the comparator says
        /// (`Comparator::is_older_version`). What went out for it stays in blob files when these are emptied. The trap: reads of
        /// the past cost an access more. 0, or more than `min_blob_size`: as that says. Default: 0.
        min_older_version_blob_size: u64 = 0, mutable = true, domain["0", "0", "1", "20", "100"];
        /// Bytes of a blob file, from which on it is closed and another one begun. One is begun for each flush, and for each thread
        /// of a compaction, that writes a blob. Garbage is collected by whole files: larger ones are emptied later.
        /// Default: 256 MiB.
        blob_file_size: u64 = 256 << 20, mutable = true, range(1, u64::MAX), domain["1", "512", "65536", "268435456"];
        /// Compression of blob files, each value for itself, without dictionaries. Default: kNoCompression.
        blob_compression_type: CompressionType = CompressionType::None, mutable = true,
            domain["kNoCompression", "kNoCompression", "kSnappyCompression", "kLZ4Compression", "kZSTD"];
        /// Compactions take the values they meet out of the oldest blob files, and write them to new ones, or into tables where
        /// enable_blob_files and min_blob_size say so now. Without it a blob file goes only when nothing of it is needed any
        /// more. Costs reading and writing what is left in those files. Default: false.
        enable_blob_garbage_collection: bool = false, mutable = true, domain["false", "true"];
        /// With enable_blob_garbage_collection: the part of the blob files that is old, 0 to 1, of the number of files and rounded
        /// down. Default: 0.25.
        blob_garbage_collection_age_cutoff: f64 = 0.25, mutable = true, range(0, 1), domain["0", "0.25", "0.5", "1"];
        /// With enable_blob_garbage_collection: the part of the bytes of the old blob files, 0 to 1, from which on, if that much is
        /// garbage, the tables with values in the oldest of them are compacted for that alone. 1: never. Default: 1.
        blob_garbage_collection_force_threshold: f64 = 1.0, mutable = true, range(0, 1), domain["1", "0.5", "0.1"];
        /// With enable_blob_files: the level from which on tables have their values in blob files; those of levels above keep them,
        /// so that what soon dies is not moved. A flush writes level 0. Default: 0.
        blob_file_starting_level: i32 = 0, mutable = true, range(0, 63), domain["0", "0", "1", "3"];
        /// Puts the values that flushes write to blob files into `blob_cache`: kDisable, or kFlushOnly. Default: kDisable.
        prepopulate_blob_cache: PrepopulateBlobCache = PrepopulateBlobCache::Disable, mutable = true, domain["kDisable", "kFlushOnly"];
        /// Bytes that a compaction reads beyond each value that it must read of a blob file: to merge with it, to show it to a
        /// compaction filter, or to move it. Costs that much memory for each blob file it reads. Default: 0.
        blob_compaction_readahead_size: usize = 0, mutable = true, domain["0", "4096", "262144"];
        /// Reads each table back as soon as it is written, before any version holds it, and compares a hash of its keys and
        /// values, and its range tombstones, with what went in. Without it the table is opened and its index checked.
        /// Default: false.
        paranoid_file_checks: bool = false, mutable = true, domain["true", "false"];
        /// Bytes of a checksum that each row of a memtable is given, over what it does, key, value and sequence number, and that
        /// is verified whenever the row is read or flushed: 0, 1, 2, 4 or 8. Damaged, it is an error that names the row, and no
        /// table is written from it. Of range tombstones what is flushed is verified. Rows take 4 bytes more beside. Default: 0,
        /// none.
        memtable_protection_bytes_per_key: u32 = 0, mutable = true, range(0, 8), domain["0", "0", "1", "2", "4", "8"];
        /// Bytes of a checksum that each entry of a data block is given when the block comes into memory, over its key and value,
        /// and that is compared whenever the entry is read: 0, 1, 2, 4 or 8. Damaged, it is an error that names file, block and
        /// key. Takes four bytes an entry more, and makes reads of cached blocks slower. Default: 0, none.
        block_protection_bytes_per_key: u32 = 0, range(0, 8), domain["0", "0", "1", "2", "4", "8"];
        /// With `memtable_protection_bytes_per_key`: searches and insertions verify the rows they compare with, too, so that a
        /// row whose key has changed is not missed without a word. Default: false.
        memtable_verify_per_key_checksum_on_seek: bool = false, mutable = true, domain["true", "false"];
        /// How large a Bloom filter each memtable gets, as a part of `write_buffer_size`, which it counts towards: 0 to 0.25. It holds
        /// whole keys with `memtable_whole_key_filtering`, and prefixes with a `prefix_extractor`; without either there is none. Gets
        /// and MultiGets, and seeks that ask the filters of tables, do not search a memtable that has nothing of what they look
        /// for. Costs each write of a row a hash and a cache line, twice with both; in vain where most Gets find their rows in
        /// memtables. At ten bits a key, which rows of 100 bytes have at 0.01, one search in a hundred is for nothing. Default: 0, none.
        memtable_prefix_bloom_size_ratio: f64 = 0.0, mutable = true, range(0, 0.25), domain["0", "0", "0.001", "0.1", "0.25"];
        /// Puts whole keys into the filters of memtables, and has Gets ask for them rather than for prefixes. Needs
        /// `memtable_prefix_bloom_size_ratio`. Default: false.
        memtable_whole_key_filtering: bool = false, mutable = true, domain["true", "false"];
        /// Compares the rows of a memtable around the place where a search ends with each other, and each row of a scan with the
        /// one before: rows out of order are an error. Needs no checksums. Default: false.
        paranoid_memory_checks: bool = false, mutable = true, domain["false", "false", "true"];
        /// Takes the blocks of files that compactions have replaced out of the block cache, where they would wait to be evicted: how
        /// hard. 0: not at all; 1: until the first block that is not there; 11, 69, 230: while nine tenths, half, a tenth of them are
        /// expected to be there; 10000: every block is looked for. Costs the background thread that deletes the file a lock for
        /// each block. The trap: a checkpoint in the same cache has blocks of its own, so nothing of others is lost, but with most of
        /// the data not cached large values look for what is not there. Nothing is done with allow_mmap_reads. Default: 0.
        uncache_aggressiveness: u32 = 0, domain["0", "0", "1", "300", "10000"];
    }
    components {
        /// The directories of the family's tables, as [`db_paths`](crate::Options::db_paths) says. Default: none, those of `db_paths`.
        cf_paths: Vec<DbPath> = Vec::new();
        /// The order of keys. A family that was created with another order is refused. Default: bytewise.
        comparator: UserComparator = UserComparator::Bytewise;
        /// Resolves merges. Default: the built-in operator the OPTIONS file names, if it names one.
        merge_operator: Option<Arc<dyn MergeOperator>> = None;
        /// Prefixes that filters index. Default: the built-in extractor the OPTIONS file names, if it names one.
        prefix_extractor: Option<Arc<dyn PrefixExtractor>> = None;
        /// Makes what may drop or change entries while they are compacted. Default: none.
        compaction_filter_factory: Option<Arc<dyn compact::CompactionFilterFactory>> = None;
        /// Where files of levels end besides: keys that it keeps apart are never in one file. Default: what the OPTIONS file names, if that is
        /// `SstPartitionerFixedPrefixFactory`; else none.
        sst_partitioner_factory: Option<Arc<dyn compact::SstPartitionerFactory>> = None;
        /// See each table as it is written, give it properties, and mark it for compaction. Each costs a call an entry. Default: none.
        table_properties_collector_factories: Vec<Arc<dyn TablePropertiesCollectorFactory>> = Vec::new();
        /// Say of each run of data blocks, about 64 KiB, and of each table what iterators with a
        /// [`block_property_filter`](crate::ReadOptions::block_property_filter) go by. It stands among the table's properties, where RocksDB
        /// passes over it. Each costs a call an entry. Default: none.
        block_property_collector_factories: Vec<Arc<dyn BlockPropertyCollectorFactory>> = Vec::new();
        /// Cache of values of blob files, decompressed: one of its own, or a block cache, which then holds both; what is there goes
        /// before blocks do. Databases that are given the same one never see each other's values. Default: none, every read of a
        /// blob reads its file.
        blob_cache: Option<Arc<BlockCache>> = None;
        /// How tables are written and read.
        table: BlockBasedOptions = BlockBasedOptions::default();
    }
}

/// Bytes of a value from which on it belongs into a blob file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlobSizes {
    /// Of most values.
    pub newest: u64,
    /// Of a value behind a newer version of its key; not above the other.
    pub older: u64,
}

enum_option!(IndexType, "index type",
    "kBinarySearch" => IndexType::BinarySearch,
    "kHashSearch" => IndexType::HashSearch,
    "kTwoLevelIndexSearch" => IndexType::TwoLevel,
    "kBinarySearchWithFirstKey" => IndexType::BinarySearchWithFirstKey,
);

/// How data blocks are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataBlockIndexType {
    /// By halving.
    BinarySearch,
    /// By a hash index, and by halving where that does not tell.
    BinaryAndHash,
}

enum_option!(DataBlockIndexType, "index type of data blocks",
    "kDataBlockBinarySearch" => DataBlockIndexType::BinarySearch,
    "kDataBlockBinaryAndHash" => DataBlockIndexType::BinaryAndHash,
);

enum_option!(IndexShortening, "index shortening mode",
    "kNoShortening" => IndexShortening::None,
    "kShortenSeparators" => IndexShortening::Separators,
    "kShortenSeparatorsAndSuccessor" => IndexShortening::SeparatorsAndSuccessor,
);

/// Which new tables' blocks are put into the block cache before anybody asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrepopulateBlockCache {
    /// None.
    #[default]
    Disable,
    /// Those that flushes write.
    FlushOnly,
    /// Those, what compactions of level 0 write, and what other compactions make of blocks in the cache.
    FlushAndCompaction,
}

enum_option!(PrepopulateBlockCache, "what is put into the cache",
    "kDisable" => PrepopulateBlockCache::Disable,
    "kFlushOnly" => PrepopulateBlockCache::FlushOnly,
    "kFlushAndCompaction" => PrepopulateBlockCache::FlushAndCompaction,
    "0" => PrepopulateBlockCache::Disable,
    "1" => PrepopulateBlockCache::FlushOnly,
    "2" => PrepopulateBlockCache::FlushAndCompaction,
);

/// Which values of new blob files are put into the blob cache before anybody asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrepopulateBlobCache {
    /// None.
    #[default]
    Disable,
    /// Those that flushes write.
    FlushOnly,
}

enum_option!(PrepopulateBlobCache, "what is put into the blob cache",
    "kDisable" => PrepopulateBlobCache::Disable,
    "kFlushOnly" => PrepopulateBlobCache::FlushOnly,
    "0" => PrepopulateBlobCache::Disable,
    "1" => PrepopulateBlobCache::FlushOnly,
);

impl OptionValue for FilterPolicy {
    const TYPE: &'static str = "filter policy: nullptr, bloomfilter:BITS_PER_KEY:false, or ribbonfilter:BITS_PER_KEY:BLOOM_BEFORE_LEVEL";
    fn parse(text: &str) -> Option<FilterPolicy> {
        if matches!(text, "nullptr" | "") {
            return Some(FilterPolicy::None);
        }
        // `{id=ribbonfilter:10:0;bloom_before_level=2;}`: what may be changed by itself stands behind the name, too.
        let mut level = None;
        let mut id = text;
        if let Some(entries) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            for entry in entries.split(';').filter(|entry| !entry.trim().is_empty()) {
                match entry
                    .split_once('=')
                    .map(|(name, value)| (name.trim(), value.trim()))?
                {
                    ("id", value) => id = value,
                    ("bloom_before_level", value) => level = Some(value.parse().ok()?),
                    _ => return None,
                }
            }
        }
        let (name, rest) = id.split_once(':')?;
        let (bits, last) = match rest.split_once(':') {
            Some((bits, last)) => (bits, Some(last)),
            None => (rest, None),
        };
        let bits_per_key: f64 = bits.parse().ok()?;
        if !bits_per_key.is_finite() || bits_per_key < 0.0 {
            return None;
        }
        match name {
            "bloomfilter" | "rocksdb.BloomFilter" | "rocksdb.BuiltinBloomFilter" => {
                Some(FilterPolicy::Bloom(bits_per_key))
            }
            "ribbonfilter" | "rocksdb.RibbonFilter" => Some(FilterPolicy::Ribbon {
                bits_per_key,
                bloom_before_level: match (level, last) {
                    (Some(level), _) => level,
                    (None, Some(last)) => last.parse().ok()?,
                    (None, None) => 0,
                },
            }),
            _ => None,
        }
    }
    fn text(&self) -> String {
        match self {
            FilterPolicy::None => "nullptr".to_owned(),
            FilterPolicy::Bloom(bits) => format!("bloomfilter:{bits}:false"),
            FilterPolicy::Ribbon {
                bits_per_key,
                bloom_before_level,
            } => format!("ribbonfilter:{bits_per_key}:{bloom_before_level}"),
        }
    }
}

option_table! {
    /// How block-based tables are written and read.
    pub struct BlockBasedOptions {
        /// Bytes of a data block before compression. Default: 4096.
        block_size: u64 = 4096, mutable = true, range(32, 1 << 30), domain["256", "4096", "16384"];
        /// Keys from one restart point of a data block to the next. Default: 16.
        block_restart_interval: i32 = 16, mutable = true, range(1, 4096), domain["1", "4", "16"];
        /// The same for index blocks. Default: 1.
        index_block_restart_interval: i32 = 1, mutable = true, range(1, 4096), domain["1", "4"];
        /// Format version of new tables, 2 to 7. RocksDB 7.8 reads up to 5, 8.6 reads 6, 10.4 reads 7. Default: 5.
        format_version: u32 = 5, mutable = true, range(2, 7), domain["2", "3", "4", "5", "6", "7"];
        /// Checksum of blocks. Default: kXXH3.
        checksum: ChecksumType = ChecksumType::Xxh3, mutable = true, domain["kCRC32c", "kxxHash", "kxxHash64", "kXXH3"];
        /// How the index of new tables is built: kBinarySearch, one block; kHashSearch, the same with hints for RocksDB in which
        /// blocks a prefix is, which needs a prefix extractor, and without `total_order_seek` has RocksDB see one prefix only;
        /// kTwoLevelIndexSearch, partitions under an index of their
        /// own; kBinarySearchWithFirstKey, one block that holds the first key of each data block too. All are read whatever is set
        /// here. A table that owns its index keeps it whole and in one form, partitions or not; with `cache_index_and_filter_blocks`
        /// partitions are loaded into the block cache, and evicted, one by one. Default: kBinarySearch.
        index_type: IndexType = IndexType::BinarySearch, mutable = true,
            domain["kBinarySearch", "kTwoLevelIndexSearch", "kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"];
        /// Which separators of the index are made shorter than the keys they come from: kNoShortening, none;
        /// kShortenSeparators, those between two blocks; kShortenSeparatorsAndSuccessor, the one behind the last block too, at
        /// which a seek behind the last key reads that block for nothing. Default: kShortenSeparators.
        index_shortening: IndexShortening = IndexShortening::Separators, mutable = true,
            domain["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"];
        /// How data blocks of new tables are searched: kDataBlockBinarySearch, or kDataBlockBinaryAndHash, by a hash index too, which
        /// makes them about 5% larger and RocksDB's Gets faster. Nothing here needs it: blocks in memory have an index of their own.
        /// Tables in an order of the user's own, or with timestamps, get none. Default: kDataBlockBinarySearch.
        data_block_index_type: DataBlockIndexType = DataBlockIndexType::BinarySearch, mutable = true,
            domain["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"];
        /// Keys a bucket of that hash index, which takes a byte each; 0 or less is taken for 0.75. Default: 0.75.
        data_block_hash_table_util_ratio: f64 = 0.75, mutable = true, domain["0.75", "0.3", "2"];
        /// Keys of data blocks leave out what they share with the key before. Default: true.
        use_delta_encoding: bool = true, mutable = true, domain["true", "true", "false"];
        /// Values of data blocks lie behind all keys of their block, which RocksDB searches faster where values are large, and which
        /// compresses better; RocksDB before 11.0 refuses such tables. Here a block is put together again when it is read, which
        /// costs a copy of it. Default: false.
        separate_key_value_in_data_block: bool = false, mutable = true, domain["false", "false", "true"];
        /// Compresses the index as data blocks are. Default: true.
        enable_index_compression: bool = true, mutable = true, domain["true", "false"];
        /// Bytes of a partition of the index and of the filter, where they are in partitions. Default: 4096.
        metadata_block_size: u64 = 4096, mutable = true, range(1, 1 << 30), domain["64", "512", "4096"];
        /// Writes the filter in partitions, if the index is; else it does nothing. Default: false.
        partition_filters: bool = false, mutable = true, domain["true", "false"];
        /// Ends the partitions of a filter where they are full, and not where partitions of the index end, which RocksDB before
        /// 9.6 did. Default: true.
        decouple_partitioned_filters: bool = true, mutable = true, domain["true", "false"];
        /// Percent of `block_size`, and of `metadata_block_size`, by which a block is closed early where the next entry would not fit.
        /// Default: 10.
        block_size_deviation: i32 = 10, mutable = true, range(0, 100), domain["0", "10", "100"];
        /// Filter of new tables. Ribbon filters are 30% smaller than Bloom filters that are as accurate, and take longer to make
        /// and to ask; tables of the levels before BLOOM_BEFORE_LEVEL get Bloom filters nevertheless, and a flush counts as level -1.
        /// Default: none.
        filter_policy: FilterPolicy = FilterPolicy::None, mutable = true,
            domain["nullptr", "bloomfilter:10:false", "ribbonfilter:10:0", "ribbonfilter:15:-1", "ribbonfilter:8:2"];
        /// Bloom filters make as many probes as are best for the bits that keys have in them: filters are whole lines of 64 bytes,
        /// so that those of few keys have more than was asked for. Default: true.
        optimize_filters_for_memory: bool = true, mutable = true, domain["true", "false"];
        /// Puts whole keys into the filter. Default: true.
        whole_key_filtering: bool = true, mutable = true, domain["true", "true", "false"];
        /// Pads data blocks to whole pages; only without compression. A Get that finds its block in the page cache then waits for the memory
        /// of one page instead of two, and takes a tenth less time; files are larger by some half a row a block. Default: false.
        block_align: bool = false, mutable = true;
        /// Bytes that an iterator which is not told how much to read ahead reads beyond a block at first, once it reads blocks one
        /// after the other, in either direction; twice as many each time. 0: it never reads ahead. Default: 8 KiB.
        initial_auto_readahead_size: u64 = 8 << 10, domain["0", "4096", "8192"];
        /// The most that it comes to. 0: it never reads ahead. Default: 256 KiB.
        max_auto_readahead_size: u64 = 256 << 10, domain["0", "16384", "262144"];
        /// Blocks of a table that it reads one after the other before it reads ahead. Default: 2.
        num_file_reads_for_auto_readahead: u64 = 2, domain["0", "2"];
        /// Reads without a block cache. Default: false.
        no_block_cache: bool = false;
        /// Index and filter of each table, and the partitions of both, lie in the block cache, are charged there with their decoded
        /// size, and are read again once they were evicted: the cache bounds what open tables take. Every lookup asks the cache for
        /// them first, and in a cache too small for them each read costs several. Refused without a block cache. Default: false,
        /// tables keep them for themselves, outside of the cache.
        cache_index_and_filter_blocks: bool = false, domain["true", "false"];
        /// With cache_index_and_filter_blocks: they have high priority in the cache. Default: true.
        cache_index_and_filter_blocks_with_high_priority: bool = true, domain["true", "false"];
        /// With cache_index_and_filter_blocks: index and filter, or their partitions, of tables that flushes wrote stay in the cache
        /// once they were read, as if metadata_cache_options said kFlushedAndSimilar. Default: false.
        pin_l0_filter_and_index_blocks_in_cache: bool = false, domain["true", "false"];
        /// With cache_index_and_filter_blocks: the top level of a partitioned index or filter stays in the cache once it was read.
        /// Default: true.
        pin_top_level_index_and_filter: bool = true, domain["true", "false"];
        /// With cache_index_and_filter_blocks: which parts of tables stay in the cache once they were read, for as long as the table
        /// is open, as `{top_level_index_pinning=TIER;partition_pinning=TIER;unpartitioned_pinning=TIER;}`. A TIER is kNone, kAll,
        /// kFlushedAndSimilar (tables in level 0 of at most one and a half times write_buffer_size) or kFallback (as the two options
        /// before say). What stays takes room in the cache beyond its capacity, if need be. Default: kFallback, all three.
        metadata_cache_options: MetadataCacheOptions = MetadataCacheOptions::default(),
            domain["{}", "{unpartitioned_pinning=kAll;}", "{top_level_index_pinning=kAll;partition_pinning=kFlushedAndSimilar;unpartitioned_pinning=kFlushedAndSimilar;}", "{top_level_index_pinning=kNone;partition_pinning=kAll;unpartitioned_pinning=kNone;}"];
        /// Which new tables' blocks are put into the block cache before anybody asks for them: kDisable none; kFlushOnly those that
        /// flushes write; kFlushAndCompaction also what compactions of level 0 write, and of what others write the blocks whose
        /// predecessors are in the cache. The tables are read once more for it, with checksums verified: with
        /// use_direct_io_for_flush_and_compaction from the disk. Default: kDisable.
        prepopulate_block_cache: PrepopulateBlockCache = PrepopulateBlockCache::Disable, mutable = true,
            domain["kDisable", "kFlushOnly", "kFlushAndCompaction"];
        /// Data blocks go into a full block cache when they are read for the first time, as RocksDB's do. If not, when they are asked for
        /// again before about as many others as the cache holds: a read of more than fits then costs no insertions, and leaves what is
        /// asked for often where it is. Blocks read through the system's page cache are cheap to read the second time; with
        /// use_direct_reads, or a secondary cache, all go in at once. Default: false.
        caches_first_reads: bool = false, domain["true", "false"];
    }
    components {
        /// Cache of blocks, shared by whoever is given it: databases that are given the same one share its room, and never see each
        /// other's blocks. Default: one of 32 MiB for all families of the database.
        block_cache: Option<Arc<BlockCache>> = None;
    }
}

impl BlockBasedOptions {
    /// How iterators read ahead by themselves.
    pub(crate) fn auto_readahead(&self) -> AutoReadahead {
        AutoReadahead {
            initial: self.initial_auto_readahead_size,
            max: self.max_auto_readahead_size,
            after: self.num_file_reads_for_auto_readahead,
        }
    }
}

impl ColumnFamilyOptions {
    /// Sets what follows from options of the database, and of each other, as RocksDB's `SanitizeOptions` does.
    /// Gives what a user is to hear of that.
    pub(crate) fn sanitize(&mut self, atomic_flush: bool, db_paths: &[DbPath]) -> Vec<&'static str> {
        let mut said = Vec::new();
        // A memtable that waits for a second one would be left out of the flush of the others.
        if atomic_flush && self.min_write_buffer_number_to_merge > 1 {
            self.min_write_buffer_number_to_merge = 1;
            said.push("atomic_flush: min_write_buffer_number_to_merge is 1");
        }
        let paths = if self.cf_paths.is_empty() {
            db_paths
        } else {
            &self.cf_paths
        };
        // Where a level lies follows from the bytes it should hold.
        if self.level_compaction_dynamic_level_bytes && paths.len() > 1 {
            self.level_compaction_dynamic_level_bytes = false;
            said.push("several directories of tables: level_compaction_dynamic_level_bytes is off");
        }
        said
    }

    /// The compression of tables written to `level`, as RocksDB chooses it.
    pub(crate) fn compression_for(
        &self,
        level: usize,
        base_level: usize,
        bottommost: bool,
    ) -> CompressionType {
        if bottommost && let Some(compression) = self.bottommost_compression {
            return compression;
        }
        let Some(last) = self.compression_per_level.len().checked_sub(1) else {
            return self.compression;
        };
        let index = if level == 0 {
            0
        } else {
            level + 1 - base_level.clamp(1, level)
        };
        self.compression_per_level[index.min(last)]
    }

    /// How hard to compress tables, with a dictionary or without.
    pub(crate) fn compression_opts_for(&self, bottommost: bool) -> &CompressionOptions {
        match bottommost && self.bottommost_compression_opts.enabled {
            true => &self.bottommost_compression_opts,
            false => &self.compression_opts,
        }
    }

    /// How compactions that begin by themselves collect garbage in blob files; `None`: they do not.
    pub(crate) fn blob_garbage_collection(&self) -> Option<BlobGarbageCollection> {
        self.blob_garbage_collection_of(BlobGarbageRequest::default())
    }

    /// How a compaction of which `request` is said does.
    pub(crate) fn blob_garbage_collection_of(
        &self,
        request: BlobGarbageRequest,
    ) -> Option<BlobGarbageCollection> {
        let own = BlobGarbageCollection {
            age_cutoff: self.blob_garbage_collection_age_cutoff,
            force_threshold: self.blob_garbage_collection_force_threshold,
        };
        request.over(own, self.enable_blob_garbage_collection)
    }

    /// From how many bytes on values belong into blob files, where they go there.
    pub(crate) fn blob_sizes(&self) -> BlobSizes {
        let older = match self.min_older_version_blob_size {
            0 => self.min_blob_size,
            size => size.min(self.min_blob_size),
        };
        BlobSizes {
            newest: self.min_blob_size,
            older,
        }
    }

    /// True if large values of tables at `level` go into blob files.
    pub(crate) fn writes_blobs_at(&self, level: usize) -> bool {
        self.enable_blob_files && level >= self.blob_file_starting_level as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_policies_are_read_in_every_form_rocksdb_writes() {
        let ribbon = |bits_per_key, bloom_before_level| FilterPolicy::Ribbon {
            bits_per_key,
            bloom_before_level,
        };
        for (text, policy, again) in [
            ("nullptr", FilterPolicy::None, "nullptr"),
            (
                "bloomfilter:9.5:false",
                FilterPolicy::Bloom(9.5),
                "bloomfilter:9.5:false",
            ),
            (
                "rocksdb.BuiltinBloomFilter:4",
                FilterPolicy::Bloom(4.0),
                "bloomfilter:4:false",
            ),
            ("ribbonfilter:10", ribbon(10.0, 0), "ribbonfilter:10:0"),
            ("ribbonfilter:10:-1", ribbon(10.0, -1), "ribbonfilter:10:-1"),
            (
                "{id=ribbonfilter:10:0;bloom_before_level=3;}",
                ribbon(10.0, 3),
                "ribbonfilter:10:3",
            ),
            (
                "{id=bloomfilter:10:false;}",
                FilterPolicy::Bloom(10.0),
                "bloomfilter:10:false",
            ),
        ] {
            let parsed = FilterPolicy::parse(text);
            assert_eq!(parsed, Some(policy), "{text}");
            assert_eq!(policy.text(), again);
            assert_eq!(FilterPolicy::parse(again), parsed);
        }
        for text in [
            "bloomfilter",
            "bloomfilter:x",
            "bloomfilter:-1",
            "ribbonfilter:10:x",
            "cuckoo:10",
            "{id=ribbonfilter:10;what=1;}",
        ] {
            assert_eq!(FilterPolicy::parse(text), None, "{text}");
        }
    }
}
