"""The types of the options as keywords. Written by `cargo xtask gen` from the option rows of the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from esker._esker import Cache, MergeOperator, RateLimiter, Statistics, WriteBufferManager
    from esker.types import (
        Comparator,
        CompactionFilter,
        CompactionFilterFactory,
        Filter,
        FullMerge,
        MergeOperatorObject,
    )

Path = str | os.PathLike[str]


class BlockBasedOptions(TypedDict, total=False):
    """Options of the table format."""

    # The size of a data block before compression, in bytes. Default: 4096.
    block_size: int | str

    # The number of keys between two restart points of a data block. Default: 16.
    block_restart_interval: int | str

    # The number of keys between two restart points of an index block. Default: 1.
    index_block_restart_interval: int | str

    # The format version of new tables, 2 to 7. RocksDB 7.8 reads up to 5, 8.6 reads 6, 10.4 reads 7.
    # Default: 5.
    format_version: int | str

    # The checksum type of blocks. Default: kXXH3.
    checksum: str

    # The index type of new tables: kBinarySearch, one block; kHashSearch, the same with hints for
    # RocksDB about the blocks of each prefix, which requires a prefix extractor, and with which RocksDB
    # returns only one prefix without `total_order_seek`; kTwoLevelIndexSearch, partitions under an
    # index of their own; kBinarySearchWithFirstKey, one block that also has the first key of each data
    # block. Tables of every type can be read. A table that owns its index keeps the whole index in one
    # form, partitioned or not; with `cache_index_and_filter_blocks` partitions are loaded into the
    # block cache, and evicted, one by one. Default: kBinarySearch.
    index_type: str

    # The index separators that are shorter than the keys they come from: kNoShortening, none;
    # kShortenSeparators, those between two blocks; kShortenSeparatorsAndSuccessor, also the one after
    # the last block, which makes a seek past the last key read that block unnecessarily. Default:
    # kShortenSeparators.
    index_shortening: str

    # The search method within data blocks of new tables: kDataBlockBinarySearch, or
    # kDataBlockBinaryAndHash, which adds a hash index that makes blocks about 5% larger and RocksDB's
    # Gets faster. Esker does not need it: blocks in memory have an index of their own. Tables with a
    # custom comparator or with timestamps get none. Default: kDataBlockBinarySearch.
    data_block_index_type: str

    # The number of keys per bucket of that hash index, at one byte per bucket; 0 or less counts as
    # 0.75. Default: 0.75.
    data_block_hash_table_util_ratio: float

    # Keys of data blocks omit the prefix they share with the previous key. Default: true.
    use_delta_encoding: bool

    # Stores the values of a data block after all its keys, which RocksDB searches faster if values are
    # large, and which compresses better; RocksDB before 11.0 refuses such tables. Esker restores the
    # usual layout when it reads a block, which costs a copy of the block. Default: false.
    separate_key_value_in_data_block: bool

    # Compresses the index like data blocks. Default: true.
    enable_index_compression: bool

    # The size in bytes of a partition of the index and of the filter, if they are partitioned. Default:
    # 4096.
    metadata_block_size: int | str

    # Writes the filter in partitions, if the index is partitioned; otherwise it has no effect. Default:
    # false.
    partition_filters: bool

    # Ends the partitions of a filter where they are full, and not at the partitions of the index, as
    # RocksDB before 9.6 did. Default: true.
    decouple_partitioned_filters: bool

    # The percentage of `block_size`, and of `metadata_block_size`, by which a block may end early if
    # the next entry does not fit. Default: 10.
    block_size_deviation: int | str

    # The filter of new tables. Ribbon filters are 30% smaller than Bloom filters of the same accuracy,
    # and take longer to build and to query. Tables of the levels before BLOOM_BEFORE_LEVEL get Bloom
    # filters nevertheless, and a flush counts as level -1. Default: none.
    filter_policy: str

    # Bloom filters use the number of probes that is best for their actual bits per key: filters are
    # whole lines of 64 bytes, so that those of few keys have more bits than requested. Default: true.
    optimize_filters_for_memory: bool

    # Adds whole keys to the filter. Default: true.
    whole_key_filtering: bool

    # Pads data blocks to whole pages; only without compression. A Get that finds its block in the page
    # cache then waits for the memory of one page instead of two, and takes a tenth less time; files
    # grow by about half a row per block. Default: false.
    block_align: bool

    # The first readahead, in bytes, of an iterator without `readahead_size`, once it reads blocks
    # sequentially, in either direction; each further readahead is twice as large. 0: no readahead.
    # Default: 8 KiB.
    initial_auto_readahead_size: int | str

    # The largest such readahead in bytes. 0: no readahead. Default: 256 KiB.
    max_auto_readahead_size: int | str

    # The number of blocks of a table that an iterator reads sequentially before it reads ahead.
    # Default: 2.
    num_file_reads_for_auto_readahead: int | str

    # Reads without a block cache. Default: false.
    no_block_cache: bool

    # Index and filter of each table, and their partitions, are in the block cache, charged with their
    # decoded size, and read again after an eviction: the cache bounds the memory of open tables. Every
    # lookup asks the cache for them first, and with a cache too small for them each read costs several.
    # Refused without a block cache. If false, tables hold them outside of the cache. Default: false.
    cache_index_and_filter_blocks: bool

    # With cache_index_and_filter_blocks: they have high priority in the cache. Default: true.
    cache_index_and_filter_blocks_with_high_priority: bool

    # With cache_index_and_filter_blocks: index and filter, or their partitions, of flushed tables stay
    # in the cache once read, as with kFlushedAndSimilar in metadata_cache_options. Default: false.
    pin_l0_filter_and_index_blocks_in_cache: bool

    # With cache_index_and_filter_blocks: the top level of a partitioned index or filter stays in the
    # cache once read. Default: true.
    pin_top_level_index_and_filter: bool

    # With cache_index_and_filter_blocks: the parts of tables that stay in the cache once read, for as
    # long as the table is open, as
    # `{top_level_index_pinning=TIER;partition_pinning=TIER;unpartitioned_pinning=TIER;}`. A TIER is
    # kNone, kAll, kFlushedAndSimilar (tables in level 0 of at most one and a half times
    # write_buffer_size) or kFallback (according to the two previous options). Pinned parts may exceed
    # the cache's capacity. Default: kFallback, all three.
    metadata_cache_options: str | Mapping[str, Any]

    # The blocks of new tables that are inserted into the block cache when the table is written:
    # kDisable none; kFlushOnly those of flushes; kFlushAndCompaction also those of compactions of level
    # 0 and, from other compactions, the blocks whose inputs are in the cache. The tables are read once
    # more for it, with checksums verified: with use_direct_io_for_flush_and_compaction from the disk.
    # Default: kDisable.
    prepopulate_block_cache: str

    # Inserts data blocks into a full block cache at their first read, as RocksDB does. Otherwise they
    # are inserted when they are read again before about as many other blocks as the cache holds: a scan
    # of more data than fits then costs no insertions, and leaves frequently read blocks in place. A
    # second read through the page cache is cheap; with use_direct_reads, or with a secondary cache, all
    # blocks are inserted at once. Default: false.
    caches_first_reads: bool

    # A block cache, or the capacity of a new one in bytes. Default: 32 MiB, shared by all families.
    block_cache: Cache | int | None


class ColumnFamilyOptions(BlockBasedOptions, total=False):
    """Options of a column family and of its tables."""

    # The size of a memtable at which it is switched and flushed, in bytes. Default: 64 MiB.
    write_buffer_size: int | str

    # The type of memtables, by RocksDB's names. `skip_list` (or `SkipListFactory`; a lookahead as in
    # `skip_list:16` is kept and has no effect): Esker's tree, which keeps rows sorted on insertion.
    # `vector` (or `VectorRepFactory`, with an initial capacity in rows as in `vector:100000`), for bulk
    # loads: rows are appended, and sorted when the memtable is flushed or first read, and that reader
    # waits for the sort; it needs `allow_concurrent_memtable_write=false`. `prefix_hash`,
    # `hash_linkedlist` and `cuckoo` are refused. Default: SkipListFactory.
    memtable_factory: str

    # The maximum number of memtables in memory, including the mutable one; beyond it writes stop.
    # Default: 2.
    max_write_buffer_number: int | str

    # The number of immutable memtables that a flush waits for and merges into one table; at most
    # `max_write_buffer_number` less one. Default: 1.
    min_write_buffer_number_to_merge: int | str

    # The number of levels, L0 included; at least 2 with leveled compaction. Default: 7.
    num_levels: int | str

    # The number of L0 files that starts a compaction. Default: 4.
    level0_file_num_compaction_trigger: int | str

    # The number of L0 files that slows writes; below 0: never. As in RocksDB, a value below
    # level0_file_num_compaction_trigger counts as that. Default: 20.
    level0_slowdown_writes_trigger: int | str

    # The number of L0 files that stops writes. As in RocksDB, a value below
    # level0_slowdown_writes_trigger counts as that: writes that stop before the compaction they wait
    # for can start would never continue. Default: 36.
    level0_stop_writes_trigger: int | str

    # The size of a table at L1, in bytes. Default: 64 MiB.
    target_file_size_base: int | str

    # The factor by which the size of tables grows from level to level. Default: 1.
    target_file_size_multiplier: int | str

    # The size of L1, or of the base level, in bytes. Default: 256 MiB.
    max_bytes_for_level_base: int | str

    # The factor by which the size of levels grows from level to level. Default: 10.
    max_bytes_for_level_multiplier: float

    # An additional factor for each level, from L0 on; further levels have 1. Not used with
    # level_compaction_dynamic_level_bytes. Default: 1:1:1:1:1:1:1.
    max_bytes_for_level_multiplier_additional: str | Sequence[str]

    # The file of a too large level that leveled compaction picks first: kByCompensatedSize, the
    # largest, with deletions weighted; kOldestLargestSeqFirst, the one with the oldest newest entry;
    # kOldestSmallestSeqFirst, the one with the oldest entry; kMinOverlappingRatio, the one with the
    # least overlap in the next level for its size; kRoundRobin, each in turn by key. Default:
    # kMinOverlappingRatio.
    compaction_pri: str

    # Sizes levels from the last one upwards, so that about a tenth of the data is above it. Default:
    # true.
    level_compaction_dynamic_level_bytes: bool

    # The maximum input of a compaction in bytes. 0 means 25 times the target file size, or two and a
    # half times max_bytes_for_level_multiplier as often if that is more. RocksDB always uses 25, so
    # that with a larger multiplier files are rewritten that could have been moved. Default: 0.
    max_compaction_bytes: int | str

    # The bytes of pending compaction that slow writes; 0, or more than
    # hard_pending_compaction_bytes_limit: never. Default: 64 GiB.
    soft_pending_compaction_bytes_limit: int | str

    # The bytes of pending compaction that stop writes; 0: never. Default: 256 GiB.
    hard_pending_compaction_bytes_limit: int | str

    # Disables automatic compactions. Default: false.
    disable_auto_compactions: bool

    # Moves files down unchanged even if their new level is compressed in another way; they are
    # compressed accordingly when they are next merged. For loads in key order, when the upper levels
    # are not compressed. Otherwise a file is moved only if its own compression, whatever is configured,
    # is that of the level. Drawback: files that are never merged keep their size. Default: false.
    move_files_of_any_compression: bool

    # Compactions copy a data block of an input in its stored form if no other input has entries between
    # its keys, all its entries are values that stay unchanged, and its compression and layout are those
    # of the output: its entries are read for the filter and the index, but not merged, encoded and
    # compressed again, and its checksum is verified and copied. No block is copied with range
    # tombstones, a compaction filter, a partitioner, blob files, timestamps, a compression dictionary,
    # block_align or a hash index in data blocks. Set it to false to have a compaction encode everything
    # again. Default: true.
    copy_untouched_blocks: bool

    # Detects, when memtables are flushed, keys that were written in ascending or descending order, in
    # one stream or in several interleaved ones. Each stream gets a table of its own in the lowest level
    # where no file overlaps it, with the compression of that level: it is never rewritten, as it would
    # be if one table had keys of several streams. A flush pays with a look at its first 4096 keys and,
    # if there are streams, with a pass over all keys. Streams smaller than a 256th of
    # target_file_size_base, or than two blocks, go to L0 with all other rows. All rows go to L0 if
    # range deletions are flushed, with timestamps, and with disable_auto_compactions. Drawback: with
    # many streams each flush writes as many tables, which stay small; a larger write_buffer_size makes
    # them larger. Tables of one flush are synced together. Where a flush of more than four to a disk
    # comes to less than 64 MiB a second all the same, streams of up to twice their size, below 256 KiB,
    # go to L0, until they are tried again some 180 flushes later. Default: true.
    streams_bypass_level0: bool

    # The compaction style. kCompactionStyleLevel: each level is a sorted run ten times as large as the
    # one above. kCompactionStyleUniversal: sorted runs of similar size are merged, which writes less
    # and takes up to `max_size_amplification_percent` more space, and twice the space while everything
    # is merged. kCompactionStyleFIFO: the oldest files are dropped, with their contents, once there is
    # too much data or it is older than `ttl`: for data that may be lost. kCompactionStyleNone: only
    # manual compactions. Default: kCompactionStyleLevel.
    compaction_style: str

    # Reserves the last level for files that are ingested behind all others
    # (`IngestExternalFileOptions::ingest_behind`): compactions write only to the levels above it, and
    # keep deletions, which may have to hide ingested rows. Set it before the first row is written, and
    # back to false when all files are ingested, so that compactions use every level again. Requires
    # universal compaction and at least three levels. Default: false.
    cf_allow_ingest_behind: bool

    # The options of universal compaction. A sorted run is a file of L0, or a level; with
    # `level0_file_num_compaction_trigger` runs or more a compaction may start. Runs are merged, the
    # newest first, while the next run is at most `size_ratio` percent larger than all before it
    # together (`stop_style=kCompactionStopStyleTotalSize`) or than the previous one
    # (`kCompactionStopStyleSimilarSize`), at least `min_merge_width` and at most `max_merge_width` of
    # them. All runs are merged once the others exceed `max_size_amplification_percent` of the oldest
    # one; and as many as necessary if there are more than `max_read_amp` runs (0: a limit derived from
    # the size of the data; -1: the trigger). `compression_size_percent`: at least this part of the
    # data, the oldest, is compressed, and the rest is not; -1: all is. `allow_trivial_move`: files that
    # overlap no others are moved. `incremental` is refused, and `reduce_file_locking` has no effect.
    # Default: {allow_trivial_move=false; stop_style=kCompactionStopStyleTotalSize; min_merge_width=2;
    # compression_size_percent=-1; max_size_amplification_percent=200; incremental=false;
    # max_merge_width=4294967295; size_ratio=1; max_read_amp=-1;}
    compaction_options_universal: str | Mapping[str, Any]

    # The options of FIFO compaction, besides `ttl`. The oldest tables are dropped once all tables have
    # more than `max_table_files_size` bytes or, if `max_data_files_size` is not 0, once tables and blob
    # files together have more than that. `allow_compaction`: small files of L0 are merged.
    # `file_temperature_age_thresholds`: files are rewritten with a temperature, one at a time, once all
    # their data has this age in seconds. `use_kv_ratio_compaction` and
    # `allow_trivial_copy_when_change_temperature` are refused. Drawback: the default `ttl` drops data
    # older than 30 days. Default: {max_table_files_size=1073741824;allow_compaction=false;}
    compaction_options_fifo: str | Mapping[str, Any]

    # The age in seconds after which data is compacted down, level by level, even if no size requires
    # it. With FIFO compaction, the age of a file, since it was written, at which it is dropped; with
    # universal compaction the same as `periodic_compaction_seconds`. 0: never; 18446744073709551614:
    # automatic, which is 30 days. Checked when files change, and periodically. It expires no row: a
    # read returns rows of any age that are still there, and only FIFO compaction drops any. For rows
    # with a time to live see `DbWithTtl`. Default: automatic.
    ttl: int | str

    # The age in seconds at which a file is rewritten, so that a compaction filter sees all data again
    # and deleted data is dropped: leveled compaction rewrites the file, universal compaction
    # everything. FIFO compaction ignores it. 0: never; 18446744073709551614: automatic, which is 30
    # days with universal compaction or a compaction filter, else never. Default: automatic.
    periodic_compaction_seconds: int | str

    # The temperature of tables written to the last possible level (`num_levels`): kHot, kWarm, kCool,
    # kCold, kIce, or kUnknown to use `default_write_temperature`. It is recorded in the MANIFEST and
    # passed to the file system, which may place the file accordingly; the operating system's file
    # system ignores it. Default: kUnknown.
    last_level_temperature: str

    # The temperature of all other tables. Default: kUnknown.
    default_write_temperature: str

    # The compression of tables. Default: kLZ4Compression.
    compression: str

    # The compression of the last level with data; kDisableCompressionOption uses `compression`.
    # Default: kDisableCompressionOption.
    bottommost_compression: str

    # The compression of each level from L0 on (with dynamic level bytes: L0, then from the base level
    # on); the last entry applies to all further levels. Empty: `compression` for every level. Default:
    # empty.
    compression_per_level: str | Sequence[str]

    # The settings of compression: level and window_bits are the libraries' own. strategy is kept
    # for OPTIONS files and has no effect; a value other than 0 is named in LOG. With max_dict_bytes
    # above 0 the data blocks of each table are compressed with a dictionary of that size, which
    # ZSTD trains from zstd_max_train_bytes of samples if that is not 0: blocks are held in memory,
    # at most max_dict_buffer_bytes of them, until there is enough data for the dictionary. LZ4,
    # zlib and ZSTD support dictionaries. parallel_threads above 1: that many threads, at most 64,
    # compress the data blocks of each table besides the thread that builds and writes them; the
    # table is the same, byte for byte. This helps if compression is slow and CPUs are idle; it is
    # ignored for Snappy, LZ4 and negative levels of ZSTD, and for tables with a partitioned index.
    # Default: the libraries' level, no dictionary, one thread.
    compression_opts: str | Mapping[str, Any]

    # The settings of compression for the last level with data, if they include enabled=true; otherwise
    # `compression_opts` applies there too. Default: none.
    bottommost_compression_opts: str | Mapping[str, Any]

    # The number of entries of one key that an iterator steps over before it seeks past the rest:
    # versions older than the returned one, or newer than its view. Default: 8.
    max_sequential_skip_in_iterations: int | str

    # Writes no filters for tables with no older data of their keys below: for workloads that nearly
    # always read existing keys. Nine tenths of the data then have no filters, and a read of an absent
    # key costs a block read. Existing filters stay until their tables are compacted. Default: false.
    optimize_filters_for_hits: bool

    # Records when rows were written, for this many seconds: the last sequence number is recorded a
    # hundred times in that time, and tables keep the times of their rows in the property
    # `rocksdb.seqno.time.map`. Compactions keep the sequence numbers of rows of that age, because they
    # give the time; that costs a few bits per key where they would be zeroed. 0: not recorded. Default:
    # 0.
    preserve_internal_time_seconds: int | str

    # Rows of this age in seconds or less stay out of the last level: a compaction to it writes them to
    # the level above, and older rows go down. With `last_level_temperature` the last level, and with
    # `cf_paths` its directory, then has data that is rarely read. The times of rows are recorded as for
    # `preserve_internal_time_seconds`. Leveled compactions leave rows that are in the last level there;
    # universal ones may move them up. Automatic leveled compactions of a file wait until rows have a
    # tenth more than this age, so the level above may be larger than its target. Streams are flushed
    # through L0. No effect in FIFO compaction and with fewer than 3 levels. 0: rows of any age may be
    # in the last level. Default: 0.
    preclude_last_level_data_seconds: int | str

    # Tables store user-defined timestamps. If false, memtables and WALs have them and a flush cuts them
    # off: rows of tables have the minimum timestamp, older versions are dropped, and
    # `full_history_ts_low` rises above the timestamps of the flushed rows, so that reads at older
    # timestamps fail. The timestamps of a key must rise with its writes. A flush copies its memtables,
    # which takes their memory once more. Needs timestamps of 8 bytes, a comparator whose name ends with
    # `.u64ts`, `allow_concurrent_memtable_write=false`, and no `atomic_flush`. A family with timestamps
    # that was created with another value is refused; it has no effect on other families. Default: true.
    persist_user_defined_timestamps: bool

    # Writes large values to blob files, and references to them into the tables: compactions then merge
    # keys and leave values alone, which saves writes if values are large. A read costs one more access,
    # and overwritten or deleted values take space until their blob file is emptied
    # (`enable_blob_garbage_collection`) or consists of garbage only. Values are moved to blob files by
    # flushes and compactions; existing ones stay readable when this is switched off. Columns of
    # wide-column entities stay in tables. Default: false.
    enable_blob_files: bool

    # With enable_blob_files: the minimum size in bytes, uncompressed, of a value that goes to a blob
    # file. Drawback: by default every value does, though for small ones the record in the blob file (32
    # bytes and the key again) and the reference to it cost more than they save. Default: 0.
    min_blob_size: int | str

    # With enable_blob_files: the minimum size in bytes, uncompressed, of a value that goes to a blob
    # file if a newer version of its key precedes it in the input of a flush or compaction: it is then
    # likely to become garbage soon, and compactions need not rewrite it until then. A newer version has
    # a later timestamp, is invisible to some snapshot, or is newer by the comparator
    # (`Comparator::is_older_version`). Such values stay in blob files when these are emptied. Drawback:
    # reads of old versions cost one more access. 0, or more than `min_blob_size`: `min_blob_size`
    # applies. Default: 0.
    min_older_version_blob_size: int | str

    # The size in bytes at which a blob file is closed and another begun. Each flush, and each thread of
    # a compaction, that writes a blob begins a file. Garbage is collected in whole files: larger files
    # are emptied later. Default: 256 MiB.
    blob_file_size: int | str

    # The compression of blob files, each value on its own, without dictionaries. Default:
    # kNoCompression.
    blob_compression_type: str

    # Compactions move the values they meet out of the oldest blob files, to new ones or, depending on
    # the current enable_blob_files and min_blob_size, into tables. Otherwise a blob file is deleted
    # only when no value of it is needed. Costs reading and writing the remaining values of those files.
    # Default: false.
    enable_blob_garbage_collection: bool

    # With enable_blob_garbage_collection: the fraction of blob files that counts as old, 0 to 1, of the
    # number of files, rounded down. Default: 0.25.
    blob_garbage_collection_age_cutoff: float

    # With enable_blob_garbage_collection: the fraction of garbage, 0 to 1, in the bytes of the old blob
    # files at which the tables with values in the oldest of them are compacted for that reason alone.
    # 1: never. Default: 1.
    blob_garbage_collection_force_threshold: float

    # With enable_blob_files: the first level whose tables have their values in blob files; tables of
    # levels above keep their values, so that short-lived values are not moved. A flush writes level 0.
    # Default: 0.
    blob_file_starting_level: int | str

    # Inserts the values that flushes write to blob files into `blob_cache`: kDisable, or kFlushOnly.
    # Default: kDisable.
    prepopulate_blob_cache: str

    # The readahead in bytes of a compaction for each value that it reads from a blob file: to merge it,
    # to pass it to a compaction filter, or to move it. Costs that much memory per blob file. Default:
    # 0.
    blob_compaction_readahead_size: int | str

    # Reads each table back as soon as it is written, before any version refers to it, and compares a
    # hash of its keys and values, and its range tombstones, with the written ones. Otherwise the table
    # is opened and its index checked. Default: false.
    paranoid_file_checks: bool

    # The size in bytes of a checksum for each row of a memtable, over its kind, key, value and sequence
    # number, which is verified whenever the row is read or flushed: 0, 1, 2, 4 or 8. A corrupt row is
    # an error that names the row, and no table is written from it. Range tombstones are verified by
    # flushes. Rows take 4 bytes more in addition. 0: no checksums. Default: 0.
    memtable_protection_bytes_per_key: int | str

    # The size in bytes of a checksum for each entry of a data block in memory, over its key and value,
    # which is verified whenever the entry is read: 0, 1, 2, 4 or 8. A corrupt entry is an error that
    # names file, block and key. Costs four more bytes per entry, and makes reads of cached blocks
    # slower. 0: no checksums. Default: 0.
    block_protection_bytes_per_key: int | str

    # With `memtable_protection_bytes_per_key`: searches and insertions also verify the rows they
    # compare with, so that a row with a corrupt key is not missed silently. Default: false.
    memtable_verify_per_key_checksum_on_seek: bool

    # The size of the Bloom filter of each memtable, as a fraction of `write_buffer_size`, which
    # includes it: 0 to 0.25. It contains whole keys with `memtable_whole_key_filtering`, and prefixes
    # with a `prefix_extractor`; without either there is no filter. Gets and MultiGets, and seeks that
    # use the filters of tables, skip a memtable without matching rows. Each written row costs a hash
    # and a cache line, twice with both kinds; this is wasted if most Gets find their rows in memtables.
    # At ten bits per key, which rows of 100 bytes have at 0.01, one search in a hundred is a false
    # positive. 0: no filter. Default: 0.
    memtable_prefix_bloom_size_ratio: float

    # Adds whole keys to the filters of memtables, and makes Gets use them instead of prefixes. Requires
    # `memtable_prefix_bloom_size_ratio`. Default: false.
    memtable_whole_key_filtering: bool

    # Verifies the order of the rows around the result of each search in a memtable, and of each row of
    # a scan and the previous one: rows out of order are an error. Requires no checksums. Default:
    # false.
    paranoid_memory_checks: bool

    # The effort to erase the blocks of replaced files from the block cache, where they would wait for
    # eviction. 0: none; 1: until the first block that is absent; 11, 69, 230: while nine tenths, half,
    # a tenth of the blocks are expected to be present; 10000: every block is looked up. Costs the
    # background thread that deletes the file one lock per block. A checkpoint in the same cache has
    # blocks of its own, so no other database loses blocks. Drawback: if most data is not cached, large
    # values look up absent blocks. No effect with allow_mmap_reads. Default: 0.
    uncache_aggressiveness: int | str

    # The order of keys, by name or as an object. Default: bytewise.
    comparator: str | Comparator

    # The merge operator. Default: the built-in operator that the OPTIONS file names, if any.
    merge_operator: str | MergeOperator | FullMerge | MergeOperatorObject | None

    # Decides about each entry of every compaction. Default: none.
    compaction_filter: Filter | CompactionFilter | None

    # Creates a compaction filter for each compaction. Default: none.
    compaction_filter_factory: CompactionFilterFactory | None

    # The prefixes that filters contain: fixed:N, capped:N or noop. Default: none.
    prefix_extractor: str | None

    # The directories of the family's tables, each with its target size in bytes. Default: db_paths.
    cf_paths: list[tuple[Path, int]]

    # A cache of values in blob files, or the capacity of a new one in bytes. Default: none.
    blob_cache: Cache | int | None


class Options(ColumnFamilyOptions, total=False):
    """Options of a database, of its families and of their tables."""

    # Creates the database if it does not exist. Default: false.
    create_if_missing: bool

    # Creates the column families named at open that do not exist. Default: false.
    create_missing_column_families: bool

    # Gives every family with universal compaction and three levels or more
    # `cf_allow_ingest_behind`. Default: false.
    allow_ingest_behind: bool

    # Fails the open if the database exists. Default: false.
    error_if_exists: bool

    # The maximum number of open tables and blob files, of all families together; each thread of a
    # compaction may have a quarter as many blob files open in addition. -1 keeps all of them open.
    # Default: -1.
    max_open_files: int | str

    # The number of background threads: a quarter of them, at least one, flush; the others, at least
    # one, compact. Default: 2.
    max_background_jobs: int | str

    # The maximum number of threads that write one compaction of L0, each a range of its keys. Automatic
    # compactions between other levels run in parallel anyway and are never divided, except in the
    # universal style; manual compactions are. Default: 1.
    max_subcompactions: int | str

    # The maximum number of threads that write one compaction while processors are idle, beyond
    # `max_subcompactions` and at any level; 0: as many as there are idle processors; 1: none is added.
    # A processor is idle if neither the program nor background work of its `ThreadPool` uses it. Each
    # thread writes a range of at least 16 MiB and one output file. A family with a compaction filter,
    # a partitioner or collectors of table properties is left alone: they may not expect several
    # threads. Default: 0.
    max_idle_subcompactions: int | str

    # The bytes of WAL beyond which the family that keeps the oldest WAL is flushed. 0 means four times
    # the sum of all families' `write_buffer_size * max_write_buffer_number`. Unlike in RocksDB the
    # limit also applies with a single family, so that a forgotten option never fills a disk. Default:
    # 0.
    max_total_wal_size: int | str

    # The memory limit of all families' memtables in bytes: when mutable memtables take seven eighths of
    # it, or all memtables together take the limit, the largest is flushed. 0 sets no limit. No effect
    # with a `write_buffer_manager`, which limits several databases. Default: 0.
    db_write_buffer_size: int | str

    # The treatment of damaged WAL records by recovery. Default: kPointInTimeRecovery.
    wal_recovery_mode: str

    # The compression of the WAL: none or zstd (RocksDB 7.4 and later read it). Default: kNoCompression.
    wal_compression: str

    # The number of obsolete WALs that are kept and overwritten instead of creating new ones: the disk
    # space is allocated, so a sync has no metadata to write. Their records carry the number of the WAL
    # (RocksDB reads them), which distinguishes them from older records. As in RocksDB it counts as 0 if
    # `wal_recovery_mode` is kTolerateCorruptedTailRecords or kAbsoluteConsistency, which could not
    # distinguish the end of a WAL from damage. Default: 0.
    recycle_log_file_num: int | str

    # Contending writers with batches or large values insert into memtables in parallel, after they have
    # appended to the WAL one after the other. Their rows become visible in the order of the WAL, so
    # each writer waits for the earlier ones. Single small rows are inserted one after the other, which
    # is faster, and a write with a range deletion is inserted alone. Every `memtable_factory` must
    # support it: as in RocksDB, vector is refused with it. Otherwise writes insert one after the other.
    # Default: true.
    allow_concurrent_memtable_write: bool

    # Keeps records of the WAL in the memory of the process until `Db::flush_wal`, a write with `sync`,
    # or `Db::sync_wal`, or until there is 1 MiB of them, the WAL is switched, or the database is
    # closed. The death of the process loses the records that were not flushed, the newest writes first,
    # and other processes do not see them. Saves nothing if the WAL is mapped, and one system call per
    # write if it is not (see `PosixFs`). Default: false.
    manual_wal_flush: bool

    # The directory of the WALs, of this database alone; empty for the database's own. Default: empty.
    wal_dir: Path

    # Each WAL describes the one before it, in RocksDB's record, for which RocksDB 9.11 or later is
    # needed: its number, its size and its last sequence number. Recovery compares this with what it has
    # read: a WAL that is lost, cut at the end of a record or of another database is corruption, which
    # the recovery mode handles, except kSkipAnyCorruptedRecords. A database that exists and has no WAL
    # at all is refused, as after a repair, or a loss of power in the middle of an open; a copy without
    # WALs is opened once without the option. A WAL that is missing is noticed without the option too.
    # Default: false.
    track_and_verify_wals: bool

    # Records each closed WAL in the MANIFEST, with its size, when a sync has made it durable, until no
    # recovery needs it. An open for writing compares: a recorded WAL that is missing or shorter is
    # `Corruption`, whatever `wal_recovery_mode` says. RocksDB from 6.15 on reads and writes the
    # records; an open without the option removes them. The WAL that is written to is not recorded. A
    # sync of a closed WAL, by `Db::sync_wal`, a write with `sync` or a flush, costs one write and sync
    # of the MANIFEST. Default: false.
    track_and_verify_wals_in_manifest: bool

    # Opens a database some of whose files are missing or shorter than recorded, as an incomplete copy
    # of a directory is. Each family gets the newest state whose tables and blob files exist, or that
    # lacks only the newest tables of L0; it may be empty. Families that were flushed together
    # (`atomic_flush`) go back together. The newest MANIFEST that can be read is used, even if CURRENT
    # is missing; without any, the database does not exist. If the newest state of all is there, WALs
    # are replayed, which RocksDB does not; otherwise they are not, and LOG says so: WALs and tables
    # that are not used are moved to the directory `lost`. Damage other than missing ends of files is an
    # error as ever. Secondaries ignore the option. Default: false.
    best_efforts_recovery: bool

    # The seconds for which WALs that no recovery needs are kept after their last change, for
    # `Db::get_updates_since`, in the subdirectory `archive` of the directory of WALs. Their age is
    # checked every half of that, and at least every ten minutes. With this option or
    # `wal_size_limit_mb` WALs are not recycled. Its name in the OPTIONS file is `WAL_ttl_seconds`. 0:
    # no limit, and without `wal_size_limit_mb` no archive. Default: 0.
    wal_ttl_seconds: int | str

    # The maximum size of these WALs together in MiB, beyond which the oldest are deleted. Its name in
    # the OPTIONS file is `WAL_size_limit_MB`. 0: no limit, and without `wal_ttl_seconds` no archive.
    # Default: 0.
    wal_size_limit_mb: int | str

    # Leaves the recovered rows of the WAL in memtables instead of writing them to tables at open.
    # Default: false.
    avoid_flush_during_recovery: bool

    # Allows transactions to be prepared, and recovers prepared ones: recovery reads every WAL that may
    # hold one, and copies outstanding ones into the new WAL. `avoid_flush_during_recovery` then has no
    # effect. `TransactionDB` sets it. Default: false.
    allow_2pc: bool

    # Flushes all families together, and records their tables in the MANIFEST in one step: after a crash
    # a batch over several families that was written with `disable_wal` has all its rows or none.
    # Automatic flushes, and those for a compaction or an ingestion, include every family with rows;
    # `Db::flush_cf` flushes the given families together. Families then wait for no second memtable:
    # `min_write_buffer_number_to_merge` becomes 1. Not together with `enable_pipelined_write`. If every
    # write uses the WAL it has no benefit. Default: false.
    atomic_flush: bool

    # Closes without flushing rows that are in no WAL (written with `disable_wal`). Default: false.
    avoid_flush_during_shutdown: bool

    # Records the database's id in the MANIFEST, so that copies of the database, such as checkpoints and
    # restored backups, have the same id. Otherwise the id is only in the file IDENTITY, which copies do
    # not get: each makes its own id when it is opened. Default: true.
    write_dbid_to_manifest: bool

    # Writes the database's id to the file IDENTITY. If false, no file is written, and an existing one
    # stays; not false together with `write_dbid_to_manifest`. Default: true.
    write_identity_file: bool

    # The size of the MANIFEST in bytes at which a new one is begun. Default: 1 GiB.
    max_manifest_file_size: int | str

    # Asks the kernel to write table files out each time this many bytes were appended, so that the
    # final sync finds little to do (`sync_file_range`). 0: never; with a `rate_limiter` 0 becomes 1
    # MiB, as in RocksDB, so that the disk writes at that rate too, and not the whole file at its sync.
    # Default: 0.
    bytes_per_sync: int | str

    # Asks the kernel to write WALs out each time this many bytes were appended: the bytes up to a
    # mebibyte before the end, checked every 32 KiB. A change applies from the next WAL on. It does not
    # guarantee that anything survives. 0: never. Default: 0.
    wal_bytes_per_sync: int | str

    # Makes each request of `bytes_per_sync` or `wal_bytes_per_sync` wait for the previous one first
    # (`SYNC_FILE_RANGE_WAIT_BEFORE`; an fdatasync if the file system has no such call), so that at most
    # about that many bytes are in progress, and no sync finds much to do. The writing thread waits.
    # Default: false.
    strict_bytes_per_sync: bool

    # The rate in bytes per second to which writes are limited when compaction falls behind. Default: 16
    # MiB/s.
    delayed_write_rate: int | str

    # The number of automatic attempts to resume after an I/O error that left every file in a known
    # state, as `Db::resume` does. 0: none. A lack of disk space does not count: then the free space is
    # checked every five seconds, as by RocksDB's SstFileManager. Errors that cannot be resumed from,
    # like a failed sync of a WAL, do not count either. Default: 2147483647.
    max_bgerror_resume_count: int | str

    # The delay before each of these attempts in microseconds. Unlike in RocksDB it applies to the first
    # attempt too: an operation that has just failed fails again. Default: 1000000.
    bgerror_resume_retry_interval: int | str

    # The period in milliseconds at which a follower reads its leader's new files
    # (`Db::open_as_follower`). Default: 10000.
    follower_refresh_catchup_period_ms: int | str

    # The number of retries of a failed catch-up of a follower before the next period. Default: 10.
    follower_catchup_retry_count: int | str

    # The delay between the retries of a follower's failed catch-up, in milliseconds. Default: 100.
    follower_catchup_retry_wait_ms: int | str

    # Reads table files bypassing the page cache (`O_DIRECT`). Default: false.
    use_direct_reads: bool

    # Flushes and compactions write table files bypassing the page cache (`O_DIRECT`). Default: false.
    use_direct_io_for_flush_and_compaction: bool

    # Compactions read tables and blob files bypassing the page cache (`O_DIRECT`), independently of
    # users' reads, so that they evict nothing from it. `use_direct_reads` implies it. Default: false.
    use_direct_io_for_compaction_reads: bool

    # Reads table files through a memory map. Not together with `use_direct_reads`. Default: false.
    allow_mmap_reads: bool

    # Advises the kernel that table and blob files for users' reads are accessed randomly, so that a Get
    # reads only what it needs; iterators do their own readahead. Otherwise the kernel guesses, and
    # reads up to its own readahead around each block. Compactions and verifications read sequentially
    # through file descriptors of their own. Default: true.
    advise_random_on_open: bool

    # The size in bytes of the reads of compactions from each input; the kernel is asked to prefetch as
    # many. Costs that much memory for each L0 file and each level in a compaction; 0 reads ahead as
    # iterators do. Default: 2 MiB.
    compaction_readahead_size: int | str

    # The size in bytes of reads of WALs by recovery, secondaries and followers; 0: 256 KiB. Default: 0.
    log_readahead_size: int | str

    # Verifies the checksums of blocks that compactions read. Default: true.
    verify_checksums_in_compaction: bool

    # The checksum of each whole table file, which is computed while the file is written and recorded in
    # the MANIFEST, for `Db::verify_file_checksums`, `esker verify` and programs that copy files:
    # FileChecksumGenCrc32cFactory, or nullptr for none. Default: nullptr.
    file_checksum_gen_factory: str

    # Compares the unique id of a table in the MANIFEST, made of the database, the session and the
    # original file number, with the table's properties whenever the table is opened: a file swapped for
    # another is not read. Default: true.
    verify_sst_unique_id_in_manifest: bool

    # Verifies the checksums of the tables and blob files in use in the background, the file verified
    # longest ago first, reading at this rate in bytes per second, bypassing the page cache if possible.
    # Corruption is reported by the event `CorruptionFound`. 0: never. `Db::set_verify_rate` changes it
    # while the database is open. Default: 0.
    verify_rate_bytes_per_sec: int | str

    # Stops writes once that verification has found corruption. Default: false.
    verify_stops_writes: bool

    # The size in bytes of the info log `LOG` at which it is renamed to `LOG.old.MICROS` and another one
    # begun; 0: no limit. Default: 0.
    max_log_file_size: int | str

    # The age in seconds of the info log at which it is renamed and another one begun; 0: no limit.
    # Default: 0.
    log_file_time_to_roll: int | str

    # The number of info logs kept, including the current one; each open begins one. Default: 1000.
    keep_log_file_num: int | str

    # The directory of the info log, whose name there contains the database's path; empty for the
    # database's own. Default: empty.
    db_log_dir: Path

    # The lowest level of messages in the info log. Default: INFO_LEVEL.
    info_log_level: str

    # The period in seconds of dumps of statistics into the info log: the property `rocksdb.stats` of
    # each family. 0: never. Default: 600.
    stats_dump_period_sec: int | str

    # The period in seconds at which the differences of the tickers of `statistics` are recorded for
    # `Db::get_stats_history`. 0: never. Default: 600.
    stats_persist_period_sec: int | str

    # The memory in bytes for the recorded differences of tickers; the oldest are dropped. Default: 1
    # MiB.
    stats_history_buffer_size: int | str

    # Keeps the recorded differences of tickers on disk instead of in memory, in the column family
    # `___rocksdb_stats_history___`, where RocksDB looks for them too. They take about 10 KB per period,
    # and are never removed automatically. Default: false.
    persist_stats_to_disk: bool

    # Refuses to open a database whose OPTIONS file cannot be read, or has an option that Esker does not
    # have, is not at RocksDB's default and affects results, durability or space (`OptionsFile::lost`):
    # with `NotSupported`, which names all of them. Otherwise each is reported by an event and a line in
    # the LOG, and the database opens. Default: false.
    strict_options_file: bool

    # The families with options of their own, which start from the common options. Default: none.
    column_families: Sequence[str] | Mapping[str, ColumnFamilyOptions | None]

    # Counts operations, bytes, events and times; true creates statistics. Default: none.
    statistics: Statistics | bool | None

    # Limits the writes of flushes and compactions; a number is in bytes per second. Default: none.
    rate_limiter: RateLimiter | int | None

    # Limits the memory of the memtables of several databases. Default: none.
    write_buffer_manager: WriteBufferManager | None

    # At most four directories of tables, each with its target size in bytes. Default: the database's.
    db_paths: list[tuple[Path, int]]
