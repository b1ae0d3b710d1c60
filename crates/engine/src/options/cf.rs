//! Options of a column family and of its tables.

use sst::MetadataCaching;
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
use crate::options::cache_usage::CacheUsageOptions;
use crate::options::memtable_factory::MemtableFactory;
use crate::options::metadata_cache::PinningTier;
use crate::options::table::{OptionValue, enum_option, option_table};
use crate::table_properties_collector::TablePropertiesCollectorFactory;

option_table! {
    /// Options of a column family. Names, units and defaults are RocksDB's unless a field says otherwise.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let options = esker::Options { create_if_missing: true, ..Default::default() };
    /// # let db = esker::Db::open(&options, dir.path())?;
    /// use esker::{ColumnFamilyOptions, CompactionStyle};
    ///
    /// let events = ColumnFamilyOptions {
    ///     compaction_style: CompactionStyle::Universal,
    ///     write_buffer_size: 16 << 20,
    ///     ..Default::default()
    /// };
    /// let events = db.create_column_family("events", &events)?;
    /// db.put_cf(&events, b"1", b"opened")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct ColumnFamilyOptions {
        /// The size of a memtable at which it is switched and flushed, in bytes. Default: 64 MiB.
        write_buffer_size: u64 = 64 << 20, mutable = true, range(4096, u64::MAX), domain["16384", "65536", "1048576"];
        /// The type of memtables, by RocksDB's names. `skip_list` (or `SkipListFactory`; a lookahead as in
        /// `skip_list:16` is kept and has no effect): Esker's tree, which keeps rows sorted on insertion.
        /// `vector` (or `VectorRepFactory`, with an initial capacity in rows as in `vector:100000`), for bulk
        /// loads: rows are appended, and sorted when the memtable is flushed or first read, and that reader
        /// waits for the sort; it needs `allow_concurrent_memtable_write=false`. `prefix_hash`,
        /// `hash_linkedlist` and `cuckoo` are refused. Default: SkipListFactory.
        memtable_factory: MemtableFactory = MemtableFactory::SkipList { lookahead: 0 };
        /// The maximum number of memtables in memory, including the mutable one; beyond it writes stop.
        /// Default: 2.
        max_write_buffer_number: i32 = 2, mutable = true, range(2, i32::MAX), domain["2", "4"];
        /// The number of immutable memtables that a flush waits for and merges into one table; at most
        /// `max_write_buffer_number` less one. Default: 1.
        min_write_buffer_number_to_merge: i32 = 1, range(1, i32::MAX), domain["1", "2"];
        /// The number of levels, L0 included; at least 2 with leveled compaction. Default: 7.
        num_levels: i32 = 7, range(1, 64), domain["2", "4", "7"];
        /// The number of L0 files that starts a compaction. Default: 4.
        level0_file_num_compaction_trigger: i32 = 4, mutable = true, range(1, i32::MAX), domain["2", "4", "8"];
        /// The number of L0 files that slows writes; below 0: never. As in RocksDB, a value below
        /// level0_file_num_compaction_trigger counts as that. Default: 20.
        level0_slowdown_writes_trigger: i32 = 20, mutable = true, domain["8", "20"];
        /// The number of L0 files that stops writes. As in RocksDB, a value below
        /// level0_slowdown_writes_trigger counts as that: writes that stop before the compaction they wait
        /// for can start would never continue. Default: 36.
        level0_stop_writes_trigger: i32 = 36, mutable = true, domain["12", "36"];
        /// The size of a table at L1, in bytes. Default: 64 MiB.
        target_file_size_base: u64 = 64 << 20, mutable = true, range(1, u64::MAX), domain["4096", "65536", "1048576"];
        /// The factor by which the size of tables grows from level to level. Default: 1.
        target_file_size_multiplier: i32 = 1, mutable = true, range(1, 1000), domain["1", "2"];
        /// The size of L1, or of the base level, in bytes. Default: 256 MiB.
        max_bytes_for_level_base: u64 = 256 << 20, mutable = true, range(1, u64::MAX), domain["32768", "262144", "4194304"];
        /// The factor by which the size of levels grows from level to level. Default: 10.
        max_bytes_for_level_multiplier: f64 = 10.0, mutable = true, range(1.0, 1e6), domain["4", "10"];
        /// An additional factor for each level, from L0 on; further levels have 1. Not used with
        /// level_compaction_dynamic_level_bytes. Default: 1:1:1:1:1:1:1.
        max_bytes_for_level_multiplier_additional: Vec<u32> = vec![1; 7], mutable = true, domain["1:1:1:1:1:1:1", "1:2:1"];
        /// The file of a too large level that leveled compaction picks first: kByCompensatedSize, the
        /// largest, with deletions weighted; kOldestLargestSeqFirst, the one with the oldest newest entry;
        /// kOldestSmallestSeqFirst, the one with the oldest entry; kMinOverlappingRatio, the one with the
        /// least overlap in the next level for its size; kRoundRobin, each in turn by key. Default:
        /// kMinOverlappingRatio.
        compaction_pri: CompactionPri = CompactionPri::MinOverlappingRatio, mutable = true,
            domain["kByCompensatedSize", "kOldestLargestSeqFirst", "kOldestSmallestSeqFirst", "kMinOverlappingRatio", "kRoundRobin"];
        /// Sizes levels from the last one upwards, so that about a tenth of the data is above it. Default:
        /// true.
        level_compaction_dynamic_level_bytes: bool = true, domain["true", "false"];
        /// The maximum input of a compaction in bytes. 0 means 25 times the target file size, or two and a
        /// half times max_bytes_for_level_multiplier as often if that is more. RocksDB always uses 25, so
        /// that with a larger multiplier files are rewritten that could have been moved. Default: 0.
        max_compaction_bytes: u64 = 0, mutable = true, domain["0", "1048576"];
        /// The bytes of pending compaction that slow writes; 0, or more than
        /// hard_pending_compaction_bytes_limit: never. Default: 64 GiB.
        soft_pending_compaction_bytes_limit: u64 = 64 << 30, mutable = true, domain["100000", "68719476736"];
        /// The bytes of pending compaction that stop writes; 0: never. Default: 256 GiB.
        hard_pending_compaction_bytes_limit: u64 = 256 << 30, mutable = true, domain["400000", "274877906944"];
        /// Disables automatic compactions. Default: false.
        disable_auto_compactions: bool = false, mutable = true;
        /// Moves files down unchanged even if their new level is compressed in another way; they are
        /// compressed accordingly when they are next merged. For loads in key order, when the upper levels
        /// are not compressed. Otherwise a file is moved only if its own compression, whatever is configured,
        /// is that of the level. Drawback: files that are never merged keep their size. Default: false.
        move_files_of_any_compression: bool = false, mutable = true, domain["false", "false", "true"], esker = true;
        /// Compactions copy a data block of an input in its stored form if no other input has entries between
        /// its keys, all its entries are values that stay unchanged, and its compression and layout are those
        /// of the output: its entries are read for the filter and the index, but not merged, encoded and
        /// compressed again, and its checksum is verified and copied. No block is copied with range
        /// tombstones, a compaction filter, a partitioner, blob files, timestamps, a compression dictionary,
        /// block_align or a hash index in data blocks. Set it to false to have a compaction encode everything
        /// again. Default: true.
        copy_untouched_blocks: bool = true, mutable = true, domain["true", "true", "false"], esker = true;
        /// Detects, when memtables are flushed, keys that were written in ascending or descending order, in
        /// one stream or in several interleaved ones. Each stream gets a table of its own in the lowest level
        /// where no file overlaps it, with the compression of that level: it is never rewritten, as it would
        /// be if one table had keys of several streams. A flush pays with a look at its first 4096 keys and,
        /// if there are streams, with a pass over all keys. Streams smaller than a 256th of
        /// target_file_size_base, or than two blocks, go to L0 with all other rows. All rows go to L0 if
        /// range deletions are flushed, with timestamps, and with disable_auto_compactions. Drawback: with
        /// many streams each flush writes as many tables, which stay small; a larger write_buffer_size makes
        /// them larger. Tables of one flush are synced together. Where a flush of more than four to a disk
        /// comes to less than 64 MiB a second all the same, streams of up to twice their size, below 256 KiB,
        /// go to L0, until they are tried again some 180 flushes later. Default: true.
        streams_bypass_level0: bool = true, mutable = true, domain["true", "true", "false"], esker = true;
        /// The compaction style. kCompactionStyleLevel: each level is a sorted run ten times as large as the
        /// one above. kCompactionStyleUniversal: sorted runs of similar size are merged, which writes less
        /// and takes up to `max_size_amplification_percent` more space, and twice the space while everything
        /// is merged. kCompactionStyleFIFO: the oldest files are dropped, with their contents, once there is
        /// too much data or it is older than `ttl`: for data that may be lost. kCompactionStyleNone: only
        /// manual compactions. Default: kCompactionStyleLevel.
        compaction_style: CompactionStyle = CompactionStyle::Level,
            domain["kCompactionStyleLevel", "kCompactionStyleLevel", "kCompactionStyleUniversal", "kCompactionStyleUniversal"];
        /// Reserves the last level for files that are ingested behind all others
        /// (`IngestExternalFileOptions::ingest_behind`): compactions write only to the levels above it, and
        /// keep deletions, which may have to hide ingested rows. Set it before the first row is written, and
        /// back to false when all files are ingested, so that compactions use every level again. Requires
        /// universal compaction and at least three levels. Default: false.
        cf_allow_ingest_behind: bool = false, since("10.6.0");
        /// The options of universal compaction. A sorted run is a file of L0, or a level; with
        /// `level0_file_num_compaction_trigger` runs or more a compaction may start. Runs are merged, the
        /// newest first, while the next run is at most `size_ratio` percent larger than all before it
        /// together (`stop_style=kCompactionStopStyleTotalSize`) or than the previous one
        /// (`kCompactionStopStyleSimilarSize`), at least `min_merge_width` and at most `max_merge_width` of
        /// them. All runs are merged once the others exceed `max_size_amplification_percent` of the oldest
        /// one; and as many as necessary if there are more than `max_read_amp` runs (0: a limit derived from
        /// the size of the data; -1: the trigger). `compression_size_percent`: at least this part of the
        /// data, the oldest, is compressed, and the rest is not; -1: all is. `allow_trivial_move`: files that
        /// overlap no others are moved. `incremental` is refused, and `reduce_file_locking` has no effect.
        /// Default: {allow_trivial_move=false; stop_style=kCompactionStopStyleTotalSize; min_merge_width=2;
        /// compression_size_percent=-1; max_size_amplification_percent=200; incremental=false;
        /// max_merge_width=4294967295; size_ratio=1; max_read_amp=-1;}
        compaction_options_universal: CompactionOptionsUniversal = CompactionOptionsUniversal::default(), mutable = true,
            domain["{}", "{size_ratio=30;max_merge_width=4;}", "{max_size_amplification_percent=30;allow_trivial_move=true;}",
                "{stop_style=kCompactionStopStyleSimilarSize;compression_size_percent=50;size_ratio=100;}", "{max_read_amp=0;min_merge_width=3;}"];
        /// The options of FIFO compaction, besides `ttl`. The oldest tables are dropped once all tables have
        /// more than `max_table_files_size` bytes or, if `max_data_files_size` is not 0, once tables and blob
        /// files together have more than that. `allow_compaction`: small files of L0 are merged.
        /// `file_temperature_age_thresholds`: files are rewritten with a temperature, one at a time, once all
        /// their data has this age in seconds. `use_kv_ratio_compaction` and
        /// `allow_trivial_copy_when_change_temperature` are refused. Drawback: the default `ttl` drops data
        /// older than 30 days. Default: {max_table_files_size=1073741824;allow_compaction=false;}
        compaction_options_fifo: CompactionOptionsFifo = CompactionOptionsFifo::default(), mutable = true,
            domain["{}", "{allow_compaction=true;}", "{file_temperature_age_thresholds={{temperature=kCold;age=1;}};}"];
        /// The age in seconds after which data is compacted down, level by level, even if no size requires
        /// it. With FIFO compaction, the age of a file, since it was written, at which it is dropped; with
        /// universal compaction the same as `periodic_compaction_seconds`. 0: never; 18446744073709551614:
        /// automatic, which is 30 days. Checked when files change, and periodically. It expires no row: a
        /// read returns rows of any age that are still there, and only FIFO compaction drops any. For rows
        /// with a time to live see `DbWithTtl`. Default: automatic.
        ttl: u64 = AGE_OF_CHOICE, mutable = true, domain["0", "1000"];
        /// The age in seconds at which a file is rewritten, so that a compaction filter sees all data again
        /// and deleted data is dropped: leveled compaction rewrites the file, universal compaction
        /// everything. FIFO compaction ignores it. 0: never; 18446744073709551614: automatic, which is 30
        /// days with universal compaction or a compaction filter, else never. Default: automatic.
        periodic_compaction_seconds: u64 = AGE_OF_CHOICE, mutable = true, domain["0", "2", "1000"];
        /// The temperature of tables written to the last possible level (`num_levels`): kHot, kWarm, kCool,
        /// kCold, kIce, or kUnknown to use `default_write_temperature`. It is recorded in the MANIFEST and
        /// passed to the file system, which may place the file accordingly; the operating system's file
        /// system ignores it. Default: kUnknown.
        last_level_temperature: Temperature = Temperature::UNKNOWN, mutable = true, domain["kUnknown", "kCold"];
        /// The temperature of all other tables. Default: kUnknown.
        default_write_temperature: Temperature = Temperature::UNKNOWN, mutable = true, domain["kUnknown", "kHot"], since("9.1.0");
        /// The compression of tables. Default: kLZ4Compression.
        compression: CompressionType = CompressionType::cheapest(), mutable = true,
            domain["kNoCompression", "kSnappyCompression", "kZlibCompression", "kLZ4Compression", "kZSTD"];
        /// The compression of the last level with data; kDisableCompressionOption uses `compression`.
        /// Default: kDisableCompressionOption.
        bottommost_compression: Option<CompressionType> = None, mutable = true, domain["kDisableCompressionOption", "kZSTD"];
        /// The compression of each level from L0 on (with dynamic level bytes: L0, then from the base level
        /// on); the last entry applies to all further levels. Empty: `compression` for every level. Default:
        /// empty.
        compression_per_level: Vec<CompressionType> = Vec::new(), mutable = true,
            domain["", "", "kNoCompression:kLZ4Compression", "kNoCompression:kSnappyCompression:kZSTD"];
        /// The settings of compression: level and window_bits are the libraries' own. strategy is kept
        /// for OPTIONS files and has no effect; a value other than 0 is named in LOG. With max_dict_bytes
        /// above 0 the data blocks of each table are compressed with a dictionary of that size, which
        /// ZSTD trains from zstd_max_train_bytes of samples if that is not 0: blocks are held in memory,
        /// at most max_dict_buffer_bytes of them, until there is enough data for the dictionary. LZ4,
        /// zlib and ZSTD support dictionaries. parallel_threads above 1: that many threads, at most 64,
        /// compress the data blocks of each table besides the thread that builds and writes them; the
        /// table is the same, byte for byte. This helps if compression is slow and CPUs are idle; it is
        /// ignored for Snappy, LZ4 and negative levels of ZSTD, and for tables with a partitioned index.
        /// Default: the libraries' level, no dictionary, one thread.
        compression_opts: CompressionOptions = CompressionOptions::default(), mutable = true,
            domain["{}", "{}", "{max_dict_bytes=400;}", "{max_dict_bytes=4096;zstd_max_train_bytes=40000;}",
                "{level=1;max_dict_bytes=4096;max_dict_buffer_bytes=5000;checksum=true;}", "{parallel_threads=3;}"];
        /// The settings of compression for the last level with data, if they include enabled=true; otherwise
        /// `compression_opts` applies there too. Default: none.
        bottommost_compression_opts: CompressionOptions = CompressionOptions::default(), mutable = true,
            domain["{}", "{enabled=true;max_dict_bytes=4096;}"];
        /// The number of entries of one key that an iterator steps over before it seeks past the rest:
        /// versions older than the returned one, or newer than its view. Default: 8.
        max_sequential_skip_in_iterations: u64 = 8, mutable = true, domain["0", "2", "8"];
        /// Writes no filters for tables with no older data of their keys below: for workloads that nearly
        /// always read existing keys. Nine tenths of the data then have no filters, and a read of an absent
        /// key costs a block read. Existing filters stay until their tables are compacted. Default: false.
        optimize_filters_for_hits: bool = false, mutable = true, domain["false", "false", "true"];
        /// Records when rows were written, for this many seconds: the last sequence number is recorded a
        /// hundred times in that time, and tables keep the times of their rows in the property
        /// `rocksdb.seqno.time.map`. Compactions keep the sequence numbers of rows of that age, because they
        /// give the time; that costs a few bits per key where they would be zeroed. 0: not recorded. Default:
        /// 0.
        preserve_internal_time_seconds: u64 = 0, mutable = true, domain["0", "0", "0", "1", "1000"], since("7.9.0");
        /// Rows of this age in seconds or less stay out of the last level: a compaction to it writes them to
        /// the level above, and older rows go down. With `last_level_temperature` the last level, and with
        /// `cf_paths` its directory, then has data that is rarely read. The times of rows are recorded as for
        /// `preserve_internal_time_seconds`. Leveled compactions leave rows that are in the last level there;
        /// universal ones may move them up. Automatic leveled compactions of a file wait until rows have a
        /// tenth more than this age, so the level above may be larger than its target. Streams are flushed
        /// through L0. No effect in FIFO compaction and with fewer than 3 levels. 0: rows of any age may be
        /// in the last level. Default: 0.
        preclude_last_level_data_seconds: u64 = 0, mutable = true, domain["0", "0", "0", "1", "1000"], since("7.5.0");
        /// Tables store user-defined timestamps. If false, memtables and WALs have them and a flush cuts them
        /// off: rows of tables have the minimum timestamp, older versions are dropped, and
        /// `full_history_ts_low` rises above the timestamps of the flushed rows, so that reads at older
        /// timestamps fail. The timestamps of a key must rise with its writes. A flush copies its memtables,
        /// which takes their memory once more. Needs timestamps of 8 bytes, a comparator whose name ends with
        /// `.u64ts`, `allow_concurrent_memtable_write=false`, and no `atomic_flush`. A family with timestamps
        /// that was created with another value is refused; it has no effect on other families. Default: true.
        persist_user_defined_timestamps: bool = true, domain["true", "false"], since("8.3.0");
        /// Writes large values to blob files, and references to them into the tables: compactions then merge
        /// keys and leave values alone, which saves writes if values are large. A read costs one more access,
        /// and overwritten or deleted values take space until their blob file is emptied
        /// (`enable_blob_garbage_collection`) or consists of garbage only. Values are moved to blob files by
        /// flushes and compactions; existing ones stay readable when this is switched off. Columns of
        /// wide-column entities stay in tables. Default: false.
        enable_blob_files: bool = false, mutable = true, domain["false", "false", "true"];
        /// With enable_blob_files: the minimum size in bytes, uncompressed, of a value that goes to a blob
        /// file. Drawback: by default every value does, though for small ones the record in the blob file (32
        /// bytes and the key again) and the reference to it cost more than they save. Default: 0.
        min_blob_size: u64 = 0, mutable = true, domain["0", "8", "64", "1024"];
        /// With enable_blob_files: the minimum size in bytes, uncompressed, of a value that goes to a blob
        /// file if a newer version of its key precedes it in the input of a flush or compaction: it is then
        /// likely to become garbage soon, and compactions need not rewrite it until then. A newer version has
        /// a later timestamp, is invisible to some snapshot, or is newer by the comparator
        /// (`Comparator::is_older_version`). Such values stay in blob files when these are emptied. Drawback:
        /// reads of old versions cost one more access. 0, or more than `min_blob_size`: `min_blob_size`
        /// applies. Default: 0.
        min_older_version_blob_size: u64 = 0, mutable = true, domain["0", "0", "1", "20", "100"], esker = true;
        /// The size in bytes at which a blob file is closed and another begun. Each flush, and each thread of
        /// a compaction, that writes a blob begins a file. Garbage is collected in whole files: larger files
        /// are emptied later. Default: 256 MiB.
        blob_file_size: u64 = 256 << 20, mutable = true, range(1, u64::MAX), domain["1", "512", "65536", "268435456"];
        /// The compression of blob files, each value on its own, without dictionaries. Default:
        /// kNoCompression.
        blob_compression_type: CompressionType = CompressionType::None, mutable = true,
            domain["kNoCompression", "kNoCompression", "kSnappyCompression", "kLZ4Compression", "kZSTD"];
        /// Compactions move the values they meet out of the oldest blob files, to new ones or, depending on
        /// the current enable_blob_files and min_blob_size, into tables. Otherwise a blob file is deleted
        /// only when no value of it is needed. Costs reading and writing the remaining values of those files.
        /// Default: false.
        enable_blob_garbage_collection: bool = false, mutable = true, domain["false", "true"];
        /// With enable_blob_garbage_collection: the fraction of blob files that counts as old, 0 to 1, of the
        /// number of files, rounded down. Default: 0.25.
        blob_garbage_collection_age_cutoff: f64 = 0.25, mutable = true, range(0.0, 1.0), domain["0", "0.25", "0.5", "1"];
        /// With enable_blob_garbage_collection: the fraction of garbage, 0 to 1, in the bytes of the old blob
        /// files at which the tables with values in the oldest of them are compacted for that reason alone.
        /// 1: never. Default: 1.
        blob_garbage_collection_force_threshold: f64 = 1.0, mutable = true, range(0.0, 1.0), domain["1", "0.5", "0.1"];
        /// With enable_blob_files: the first level whose tables have their values in blob files; tables of
        /// levels above keep their values, so that short-lived values are not moved. A flush writes level 0.
        /// Default: 0.
        blob_file_starting_level: i32 = 0, mutable = true, range(0, 63), domain["0", "0", "1", "3"];
        /// Inserts the values that flushes write to blob files into `blob_cache`: kDisable, or kFlushOnly.
        /// Default: kDisable.
        prepopulate_blob_cache: PrepopulateBlobCache = PrepopulateBlobCache::Disable, mutable = true, domain["kDisable", "kFlushOnly"];
        /// The readahead in bytes of a compaction for each value that it reads from a blob file: to merge it,
        /// to pass it to a compaction filter, or to move it. Costs that much memory per blob file. Default:
        /// 0.
        blob_compaction_readahead_size: usize = 0, mutable = true, domain["0", "4096", "262144"];
        /// Reads each table back as soon as it is written, before any version refers to it, and compares a
        /// hash of its keys and values, and its range tombstones, with the written ones. Otherwise the table
        /// is opened and its index checked. Default: false.
        paranoid_file_checks: bool = false, mutable = true, domain["true", "false"];
        /// The size in bytes of a checksum for each row of a memtable, over its kind, key, value and sequence
        /// number, which is verified whenever the row is read or flushed: 0, 1, 2, 4 or 8. A corrupt row is
        /// an error that names the row, and no table is written from it. Range tombstones are verified by
        /// flushes. Rows take 4 bytes more in addition. 0: no checksums. Default: 0.
        memtable_protection_bytes_per_key: u32 = 0, mutable = true, range(0, 8), domain["0", "0", "1", "2", "4", "8"];
        /// The size in bytes of a checksum for each entry of a data block in memory, over its key and value,
        /// which is verified whenever the entry is read: 0, 1, 2, 4 or 8. A corrupt entry is an error that
        /// names file, block and key. Costs four more bytes per entry, and makes reads of cached blocks
        /// slower. 0: no checksums. Default: 0.
        block_protection_bytes_per_key: u32 = 0, range(0, 8), domain["0", "0", "1", "2", "4", "8"], since("8.3.0");
        /// With `memtable_protection_bytes_per_key`: searches and insertions also verify the rows they
        /// compare with, so that a row with a corrupt key is not missed silently. Default: false.
        memtable_verify_per_key_checksum_on_seek: bool = false, mutable = true, domain["true", "false"], since("10.8.0");
        /// The size of the Bloom filter of each memtable, as a fraction of `write_buffer_size`, which
        /// includes it: 0 to 0.25. It contains whole keys with `memtable_whole_key_filtering`, and prefixes
        /// with a `prefix_extractor`; without either there is no filter. Gets and MultiGets, and seeks that
        /// use the filters of tables, skip a memtable without matching rows. Each written row costs a hash
        /// and a cache line, twice with both kinds; this is wasted if most Gets find their rows in memtables.
        /// At ten bits per key, which rows of 100 bytes have at 0.01, one search in a hundred is a false
        /// positive. 0: no filter. Default: 0.
        memtable_prefix_bloom_size_ratio: f64 = 0.0, mutable = true, range(0.0, 0.25), domain["0", "0", "0.001", "0.1", "0.25"];
        /// Adds whole keys to the filters of memtables, and makes Gets use them instead of prefixes. Requires
        /// `memtable_prefix_bloom_size_ratio`. Default: false.
        memtable_whole_key_filtering: bool = false, mutable = true, domain["true", "false"];
        /// Verifies the order of the rows around the result of each search in a memtable, and of each row of
        /// a scan and the previous one: rows out of order are an error. Requires no checksums. Default:
        /// false.
        paranoid_memory_checks: bool = false, mutable = true, domain["false", "false", "true"], since("9.7.0");
        /// The effort to erase the blocks of replaced files from the block cache, where they would wait for
        /// eviction. 0: none; 1: until the first block that is absent; 11, 69, 230: while nine tenths, half,
        /// a tenth of the blocks are expected to be present; 10000: every block is looked up. Costs the
        /// background thread that deletes the file one lock per block. A checkpoint in the same cache has
        /// blocks of its own, so no other database loses blocks. Drawback: if most data is not cached, large
        /// values look up absent blocks. No effect with allow_mmap_reads. Default: 0.
        uncache_aggressiveness: u32 = 0, domain["0", "0", "1", "300", "10000"], since("9.4.0");
    }
    components {
        /// The directories of the family's tables; see [`db_paths`](crate::Options::db_paths). Empty: those
        /// of `db_paths`. Default: none.
        cf_paths: Vec<DbPath> = Vec::new();
        /// The order of keys. A family that was created with another order is refused. Default: bytewise.
        comparator: UserComparator = UserComparator::Bytewise;
        /// Resolves merges. Default: the built-in operator that the OPTIONS file names, if it names one.
        merge_operator: Option<Arc<dyn MergeOperator>> = None;
        /// The prefixes of keys that filters contain. Default: the built-in extractor that the OPTIONS file
        /// names, if it names one.
        prefix_extractor: Option<Arc<dyn PrefixExtractor>> = None;
        /// Makes filters that may drop or change entries during compactions. Default: none.
        compaction_filter_factory: Option<Arc<dyn compact::CompactionFilterFactory>> = None;
        /// Additional boundaries of files in levels: keys that the partitioner separates are never in one
        /// file. Default: the `SstPartitionerFixedPrefixFactory` that the OPTIONS file names, else none.
        sst_partitioner_factory: Option<Arc<dyn compact::SstPartitionerFactory>> = None;
        /// Collectors that see each entry of a table as it is written, add properties to the table, and may
        /// mark it for compaction. Each costs one call per entry. Default: none.
        table_properties_collector_factories: Vec<Arc<dyn TablePropertiesCollectorFactory>> = Vec::new();
        /// Collectors of data for each run of data blocks, about 64 KiB, and for each table, which iterators
        /// with a [`block_property_filter`](crate::ReadOptions::block_property_filter) use. The data is among
        /// the table's properties, where RocksDB ignores it. Each costs one call per entry. Default: none.
        block_property_collector_factories: Vec<Arc<dyn BlockPropertyCollectorFactory>> = Vec::new();
        /// The cache of decompressed values of blob files: one of its own, or a block cache, which then holds
        /// blocks and values; values are evicted before blocks. Databases that share a cache never see each
        /// other's values. Without it every read of a blob reads its file. Default: none.
        blob_cache: Option<Arc<BlockCache>> = None;
        /// The options of the family's tables.
        table: BlockBasedOptions = BlockBasedOptions::default();
    }
}

/// The minimum sizes in bytes of values that go to blob files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlobSizes {
    /// The minimum size of a newest version.
    pub newest: u64,
    /// The minimum size of a value that follows a newer version of its key; at most `newest`.
    pub older: u64,
}

enum_option!(IndexType, "index type",
    "kBinarySearch" => IndexType::BinarySearch,
    "kHashSearch" => IndexType::HashSearch,
    "kTwoLevelIndexSearch" => IndexType::TwoLevel,
    "kBinarySearchWithFirstKey" => IndexType::BinarySearchWithFirstKey,
);

/// The search method within data blocks.
///
/// See the example of [`BlockBasedOptions`](crate::BlockBasedOptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataBlockIndexType {
    /// Data blocks are searched by binary search alone.
    BinarySearch,
    /// A hash index, and binary search if that is inconclusive.
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

/// The blocks of new tables that are inserted into the block cache when the table is written.
///
/// See the example of [`BlockBasedOptions`](crate::BlockBasedOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrepopulateBlockCache {
    /// No blocks are inserted into the block cache.
    #[default]
    Disable,
    /// Blocks that flushes write are inserted into the block cache.
    FlushOnly,
    /// Blocks written by flushes and by compactions of level 0, and, from other compactions, blocks whose
    /// inputs are in the cache.
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

/// The values of new blob files that are inserted into the blob cache when they are written.
///
/// ```
/// use esker::{ColumnFamilyOptions, PrepopulateBlobCache};
///
/// let options = ColumnFamilyOptions {
///     enable_blob_files: true,
///     prepopulate_blob_cache: PrepopulateBlobCache::FlushOnly,
///     ..Default::default()
/// };
/// # assert!(options.blob_cache.is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrepopulateBlobCache {
    /// No values are inserted into the blob cache.
    #[default]
    Disable,
    /// Values that flushes write are inserted into the blob cache.
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
        // `{id=ribbonfilter:10:0;bloom_before_level=2;}`: the mutable part follows the name as a field of its
        // own.
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
    /// The options of block-based tables.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use esker::{BlockBasedOptions, Cache, CacheOptions, Db, FilterPolicy, Options};
    /// use esker::{DataBlockIndexType, PrepopulateBlockCache};
    ///
    /// let mut options = Options { create_if_missing: true, ..Default::default() };
    /// let cache = Cache::lru(CacheOptions { capacity: 64 << 20, ..Default::default() });
    /// options.column_family.table = BlockBasedOptions {
    ///     block_cache: Some(cache),
    ///     filter_policy: FilterPolicy::Bloom(10.0),
    ///     data_block_index_type: DataBlockIndexType::BinaryAndHash,
    ///     prepopulate_block_cache: PrepopulateBlockCache::FlushOnly,
    ///     ..Default::default()
    /// };
    /// let db = Db::open(&options, dir.path())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct BlockBasedOptions {
        /// The size of a data block before compression, in bytes. Default: 4096.
        block_size: u64 = 4096, mutable = true, range(32, 1 << 30), domain["256", "4096", "16384"];
        /// The number of keys between two restart points of a data block. Default: 16.
        block_restart_interval: i32 = 16, mutable = true, range(1, 4096), domain["1", "4", "16"];
        /// The number of keys between two restart points of an index block. Default: 1.
        index_block_restart_interval: i32 = 1, mutable = true, range(1, 4096), domain["1", "4"];
        /// The format version of new tables, 2 to 7. RocksDB 7.8 reads up to 5, 8.6 reads 6, 10.4 reads 7.
        /// Default: 5.
        format_version: u32 = 5, mutable = true, range(2, 7), domain["2", "3", "4", "5", "6", "7"];
        /// The checksum type of blocks. Default: kXXH3.
        checksum: ChecksumType = ChecksumType::Xxh3, mutable = true, domain["kCRC32c", "kxxHash", "kxxHash64", "kXXH3"];
        /// The index type of new tables: kBinarySearch, one block; kHashSearch, the same with hints for
        /// RocksDB about the blocks of each prefix, which requires a prefix extractor, and with which RocksDB
        /// returns only one prefix without `total_order_seek`; kTwoLevelIndexSearch, partitions under an
        /// index of their own; kBinarySearchWithFirstKey, one block that also has the first key of each data
        /// block. Tables of every type can be read. A table that owns its index keeps the whole index in one
        /// form, partitioned or not; with `cache_index_and_filter_blocks` partitions are loaded into the
        /// block cache, and evicted, one by one. Default: kBinarySearch.
        index_type: IndexType = IndexType::BinarySearch, mutable = true,
            domain["kBinarySearch", "kTwoLevelIndexSearch", "kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"];
        /// The index separators that are shorter than the keys they come from: kNoShortening, none;
        /// kShortenSeparators, those between two blocks; kShortenSeparatorsAndSuccessor, also the one after
        /// the last block, which makes a seek past the last key read that block unnecessarily. Default:
        /// kShortenSeparators.
        index_shortening: IndexShortening = IndexShortening::Separators, mutable = true,
            domain["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"];
        /// The search method within data blocks of new tables: kDataBlockBinarySearch, or
        /// kDataBlockBinaryAndHash, which adds a hash index that makes blocks about 5% larger and RocksDB's
        /// Gets faster. Esker does not need it: blocks in memory have an index of their own. Tables with a
        /// custom comparator or with timestamps get none. Default: kDataBlockBinarySearch.
        data_block_index_type: DataBlockIndexType = DataBlockIndexType::BinarySearch, mutable = true,
            domain["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"];
        /// The number of keys per bucket of that hash index, at one byte per bucket; 0 or less counts as
        /// 0.75. Default: 0.75.
        data_block_hash_table_util_ratio: f64 = 0.75, mutable = true, domain["0.75", "0.3", "2"];
        /// Keys of data blocks omit the prefix they share with the previous key. Default: true.
        use_delta_encoding: bool = true, mutable = true, domain["true", "true", "false"], since("9.0.0");
        /// Stores the values of a data block after all its keys, which RocksDB searches faster if values are
        /// large, and which compresses better; RocksDB before 11.0 refuses such tables. Esker restores the
        /// usual layout when it reads a block, which costs a copy of the block. Default: false.
        separate_key_value_in_data_block: bool = false, mutable = true, domain["false", "false", "true"], since("11.0.0");
        /// Compresses the index like data blocks. Default: true.
        enable_index_compression: bool = true, mutable = true, domain["true", "false"];
        /// The size in bytes of a partition of the index and of the filter, if they are partitioned. Default:
        /// 4096.
        metadata_block_size: u64 = 4096, mutable = true, range(1, 1 << 30), domain["64", "512", "4096"];
        /// Writes the filter in partitions, if the index is partitioned; otherwise it has no effect. Default:
        /// false.
        partition_filters: bool = false, mutable = true, domain["true", "false"];
        /// Ends the partitions of a filter where they are full, and not at the partitions of the index, as
        /// RocksDB before 9.6 did. Default: true.
        decouple_partitioned_filters: bool = true, mutable = true, domain["true", "false"], since("9.6.0");
        /// The percentage of `block_size`, and of `metadata_block_size`, by which a block may end early if
        /// the next entry does not fit. Default: 10.
        block_size_deviation: i32 = 10, mutable = true, range(0, 100), domain["0", "10", "100"];
        /// The filter of new tables. Ribbon filters are 30% smaller than Bloom filters of the same accuracy,
        /// and take longer to build and to query. Tables of the levels before BLOOM_BEFORE_LEVEL get Bloom
        /// filters nevertheless, and a flush counts as level -1. Default: none.
        filter_policy: FilterPolicy = FilterPolicy::None, mutable = true,
            domain["nullptr", "bloomfilter:10:false", "ribbonfilter:10:0", "ribbonfilter:15:-1", "ribbonfilter:8:2"];
        /// Bloom filters use the number of probes that is best for their actual bits per key: filters are
        /// whole lines of 64 bytes, so that those of few keys have more bits than requested. Default: true.
        optimize_filters_for_memory: bool = true, mutable = true, domain["true", "false"];
        /// Adds whole keys to the filter. Default: true.
        whole_key_filtering: bool = true, mutable = true, domain["true", "true", "false"];
        /// Pads data blocks to whole pages; only without compression. A Get that finds its block in the page
        /// cache then waits for the memory of one page instead of two, and takes a tenth less time; files
        /// grow by about half a row per block. Default: false.
        block_align: bool = false, mutable = true;
        /// The first readahead, in bytes, of an iterator without `readahead_size`, once it reads blocks
        /// sequentially, in either direction; each further readahead is twice as large. 0: no readahead.
        /// Default: 8 KiB.
        initial_auto_readahead_size: u64 = 8 << 10, domain["0", "4096", "8192"];
        /// The largest such readahead in bytes. 0: no readahead. Default: 256 KiB.
        max_auto_readahead_size: u64 = 256 << 10, domain["0", "16384", "262144"];
        /// The number of blocks of a table that an iterator reads sequentially before it reads ahead.
        /// Default: 2.
        num_file_reads_for_auto_readahead: u64 = 2, domain["0", "2"];
        /// Reads without a block cache. Default: false.
        no_block_cache: bool = false;
        /// Index and filter of each table, and their partitions, are in the block cache, charged with their
        /// decoded size, and read again after an eviction: the cache bounds the memory of open tables. Every
        /// lookup asks the cache for them first, and with a cache too small for them each read costs several.
        /// Refused without a block cache. If false, tables hold them outside of the cache. Default: false.
        cache_index_and_filter_blocks: bool = false, domain["true", "false"];
        /// With cache_index_and_filter_blocks: they have high priority in the cache. Default: true.
        cache_index_and_filter_blocks_with_high_priority: bool = true, domain["true", "false"];
        /// With cache_index_and_filter_blocks: index and filter, or their partitions, of flushed tables stay
        /// in the cache once read, as with kFlushedAndSimilar in metadata_cache_options. Default: false.
        pin_l0_filter_and_index_blocks_in_cache: bool = false, domain["true", "false"];
        /// With cache_index_and_filter_blocks: the top level of a partitioned index or filter stays in the
        /// cache once read. Default: true.
        pin_top_level_index_and_filter: bool = true, domain["true", "false"];
        /// With cache_index_and_filter_blocks: the parts of tables that stay in the cache once read, for as
        /// long as the table is open, as
        /// `{top_level_index_pinning=TIER;partition_pinning=TIER;unpartitioned_pinning=TIER;}`. A TIER is
        /// kNone, kAll, kFlushedAndSimilar (tables in level 0 of at most one and a half times
        /// write_buffer_size) or kFallback (according to the two previous options). Pinned parts may exceed
        /// the cache's capacity. Default: kFallback, all three.
        metadata_cache_options: MetadataCacheOptions = MetadataCacheOptions::default(),
            domain["{}", "{unpartitioned_pinning=kAll;}", "{top_level_index_pinning=kAll;partition_pinning=kFlushedAndSimilar;unpartitioned_pinning=kFlushedAndSimilar;}", "{top_level_index_pinning=kNone;partition_pinning=kAll;unpartitioned_pinning=kNone;}"];
        /// The blocks of new tables that are inserted into the block cache when the table is written:
        /// kDisable none; kFlushOnly those of flushes; kFlushAndCompaction also those of compactions of level
        /// 0 and, from other compactions, the blocks whose inputs are in the cache. The tables are read once
        /// more for it, with checksums verified: with use_direct_io_for_flush_and_compaction from the disk.
        /// Default: kDisable.
        prepopulate_block_cache: PrepopulateBlockCache = PrepopulateBlockCache::Disable, mutable = true,
            domain["kDisable", "kFlushOnly", "kFlushAndCompaction"];
        /// Inserts data blocks into a full block cache at their first read, as RocksDB does. Otherwise they
        /// are inserted when they are read again before about as many other blocks as the cache holds: a scan
        /// of more data than fits then costs no insertions, and leaves frequently read blocks in place. A
        /// second read through the page cache is cheap; with use_direct_reads, or with a secondary cache, all
        /// blocks are inserted at once. Default: false.
        caches_first_reads: bool = false, domain["true", "false"], esker = true;
    }
    components {
        /// The cache of blocks. Databases that share a cache share its capacity, and never see each other's
        /// blocks. Default: one of 32 MiB for all families of the database.
        block_cache: Option<Arc<BlockCache>> = None;
        /// The memory, besides blocks, that takes part of the block cache's capacity, by
        /// [role](crate::CacheEntryRole). If open tables are charged, their index and filter are loaded when
        /// a table is opened. Default: blocks that wait for a compression dictionary.
        cache_usage_options: CacheUsageOptions = CacheUsageOptions::default();
    }
}

impl BlockBasedOptions {
    /// The automatic readahead of iterators.
    pub(crate) fn auto_readahead(&self) -> AutoReadahead {
        AutoReadahead {
            initial: self.initial_auto_readahead_size,
            max: self.max_auto_readahead_size,
            after: self.num_file_reads_for_auto_readahead,
        }
    }
}

impl BlockBasedOptions {
    /// The caching of index and filter of a table in the block cache, if they are kept there. `flushed`: a
    /// flush wrote the table, or it is similar to a flushed one.
    pub(crate) fn metadata_caching(&self, flushed: bool) -> Option<MetadataCaching> {
        let fallback = |pins: bool, tier| if pins { tier } else { PinningTier::None };
        let of_flushed = fallback(
            self.pin_l0_filter_and_index_blocks_in_cache,
            PinningTier::FlushedAndSimilar,
        );
        let of_top_level = fallback(self.pin_top_level_index_and_filter, PinningTier::All);
        let tiers = &self.metadata_cache_options;
        self.cache_index_and_filter_blocks.then(|| MetadataCaching {
            high_priority: self.cache_index_and_filter_blocks_with_high_priority,
            pin_top_level: tiers.top_level_index_pinning.pins(flushed, of_top_level),
            pin_partitions: tiers.partition_pinning.pins(flushed, of_flushed),
            pin_unpartitioned: tiers.unpartitioned_pinning.pins(flushed, of_flushed),
        })
    }
}

impl ColumnFamilyOptions {
    /// Adjusts options that depend on other options, as RocksDB's `SanitizeOptions` does. Returns messages
    /// for the user about it.
    pub(crate) fn sanitize(&mut self, atomic_flush: bool, db_paths: &[DbPath]) -> Vec<&'static str> {
        let mut said = Vec::new();
        // With atomic flush, a memtable that waits for a second one would be missing from the flush of the
        // other families.
        if atomic_flush && self.min_write_buffer_number_to_merge > 1 {
            self.min_write_buffer_number_to_merge = 1;
            said.push("atomic_flush: min_write_buffer_number_to_merge is 1");
        }
        let paths = if self.cf_paths.is_empty() {
            db_paths
        } else {
            &self.cf_paths
        };
        // The directory of a level is derived from its target size.
        if self.level_compaction_dynamic_level_bytes && paths.len() > 1 {
            self.level_compaction_dynamic_level_bytes = false;
            said.push("several directories of tables: level_compaction_dynamic_level_bytes is off");
        }
        said
    }

    /// The compression of tables written to `level`, chosen as in RocksDB.
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

    /// The settings of compression of tables.
    pub(crate) fn compression_opts_for(&self, bottommost: bool) -> &CompressionOptions {
        match bottommost && self.bottommost_compression_opts.enabled {
            true => &self.bottommost_compression_opts,
            false => &self.compression_opts,
        }
    }

    /// The garbage collection of blob files in automatic compactions; `None`: there is none.
    pub(crate) fn blob_garbage_collection(&self) -> Option<BlobGarbageCollection> {
        self.blob_garbage_collection_of(BlobGarbageRequest::default())
    }

    /// The garbage collection of blob files in a compaction with `request`.
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

    /// The minimum sizes of values that go to blob files.
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

    /// True if large values of tables at `level` go to blob files.
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
