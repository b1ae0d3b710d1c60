"""The options as types of keywords. Written by `cargo xtask gen` from the option rows of the engine."""

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
    """How tables are written and read."""

    # Bytes of a data block before compression. Default: 4096.
    block_size: int | str

    # Keys from one restart point of a data block to the next. Default: 16.
    block_restart_interval: int | str

    # The same for index blocks. Default: 1.
    index_block_restart_interval: int | str

    # Format version of new tables, 2 to 7. RocksDB 7.8 reads up to 5, 8.6 reads 6, 10.4 reads 7. Default: 5.
    format_version: int | str

    # Checksum of blocks. Default: kXXH3.
    checksum: str

    # How the index of new tables is built: kBinarySearch, one block; kHashSearch, the same with hints for RocksDB in which
    # blocks a prefix is, which needs a prefix extractor, and without `total_order_seek` has RocksDB see one prefix only;
    # kTwoLevelIndexSearch, partitions under an index of their
    # own; kBinarySearchWithFirstKey, one block that holds the first key of each data block too. All are read whatever is set
    # here. A table that owns its index keeps it whole and in one form, partitions or not; with `cache_index_and_filter_blocks`
    # partitions are loaded into the block cache, and evicted, one by one. Default: kBinarySearch.
    index_type: str

    # Which separators of the index are made shorter than the keys they come from: kNoShortening, none;
    # kShortenSeparators, those between two blocks; kShortenSeparatorsAndSuccessor, the one behind the last block too, at
    # which a seek behind the last key reads that block for nothing. Default: kShortenSeparators.
    index_shortening: str

    # How data blocks of new tables are searched: kDataBlockBinarySearch, or kDataBlockBinaryAndHash, by a hash index too, which
    # makes them about 5% larger and RocksDB's Gets faster. Nothing here needs it: blocks in memory have an index of their own.
    # Tables in an order of the user's own, or with timestamps, get none. Default: kDataBlockBinarySearch.
    data_block_index_type: str

    # Keys a bucket of that hash index, which takes a byte each; 0 or less is taken for 0.75. Default: 0.75.
    data_block_hash_table_util_ratio: float

    # Keys of data blocks leave out what they share with the key before. Default: true.
    use_delta_encoding: bool

    # Values of data blocks lie behind all keys of their block, which RocksDB searches faster where values are large, and which
    # compresses better; RocksDB before 11.0 refuses such tables. Here a block is put together again when it is read, which
    # costs a copy of it. Default: false.
    separate_key_value_in_data_block: bool

    # Compresses the index as data blocks are. Default: true.
    enable_index_compression: bool

    # Bytes of a partition of the index and of the filter, where they are in partitions. Default: 4096.
    metadata_block_size: int | str

    # Writes the filter in partitions, if the index is; else it does nothing. Default: false.
    partition_filters: bool

    # Ends the partitions of a filter where they are full, and not where partitions of the index end, which RocksDB before
    # 9.6 did. Default: true.
    decouple_partitioned_filters: bool

    # Percent of `block_size`, and of `metadata_block_size`, by which a block is closed early where the next entry would not fit.
    # Default: 10.
    block_size_deviation: int | str

    # Filter of new tables. Ribbon filters are 30% smaller than Bloom filters that are as accurate, and take longer to make
    # and to ask; tables of the levels before BLOOM_BEFORE_LEVEL get Bloom filters nevertheless, and a flush counts as level -1.
    # Default: none.
    filter_policy: str

    # Bloom filters make as many probes as are best for the bits that keys have in them: filters are whole lines of 64 bytes,
    # so that those of few keys have more than was asked for. Default: true.
    optimize_filters_for_memory: bool

    # Puts whole keys into the filter. Default: true.
    whole_key_filtering: bool

    # Pads data blocks to whole pages; only without compression. A Get that finds its block in the page cache then waits for the memory
    # of one page instead of two, and takes a tenth less time; files are larger by some half a row a block. Default: false.
    block_align: bool

    # Bytes that an iterator which is not told how much to read ahead reads beyond a block at first, once it reads blocks one
    # after the other, in either direction; twice as many each time. 0: it never reads ahead. Default: 8 KiB.
    initial_auto_readahead_size: int | str

    # The most that it comes to. 0: it never reads ahead. Default: 256 KiB.
    max_auto_readahead_size: int | str

    # Blocks of a table that it reads one after the other before it reads ahead. Default: 2.
    num_file_reads_for_auto_readahead: int | str

    # Reads without a block cache. Default: false.
    no_block_cache: bool

    # Index and filter of each table, and the partitions of both, lie in the block cache, are charged there with their decoded
    # size, and are read again once they were evicted: the cache bounds what open tables take. Every lookup asks the cache for
    # them first, and in a cache too small for them each read costs several. Refused without a block cache. Default: false,
    # tables keep them for themselves, outside of the cache.
    cache_index_and_filter_blocks: bool

    # With cache_index_and_filter_blocks: they have high priority in the cache. Default: true.
    cache_index_and_filter_blocks_with_high_priority: bool

    # With cache_index_and_filter_blocks: index and filter, or their partitions, of tables that flushes wrote stay in the cache
    # once they were read, as if metadata_cache_options said kFlushedAndSimilar. Default: false.
    pin_l0_filter_and_index_blocks_in_cache: bool

    # With cache_index_and_filter_blocks: the top level of a partitioned index or filter stays in the cache once it was read.
    # Default: true.
    pin_top_level_index_and_filter: bool

    # With cache_index_and_filter_blocks: which parts of tables stay in the cache once they were read, for as long as the table
    # is open, as `{top_level_index_pinning=TIER;partition_pinning=TIER;unpartitioned_pinning=TIER;}`. A TIER is kNone, kAll,
    # kFlushedAndSimilar (tables in level 0 of at most one and a half times write_buffer_size) or kFallback (as the two options
    # before say). What stays takes room in the cache beyond its capacity, if need be. Default: kFallback, all three.
    metadata_cache_options: str | Mapping[str, Any]

    # Which new tables' blocks are put into the block cache before anybody asks for them: kDisable none; kFlushOnly those that
    # flushes write; kFlushAndCompaction also what compactions of level 0 write, and of what others write the blocks whose
    # predecessors are in the cache. The tables are read once more for it, with checksums verified: with
    # use_direct_io_for_flush_and_compaction from the disk. Default: kDisable.
    prepopulate_block_cache: str

    # Data blocks go into a full block cache when they are read for the first time, as RocksDB's do. If not, when they are asked for
    # again before about as many others as the cache holds: a read of more than fits then costs no insertions, and leaves what is
    # asked for often where it is. Blocks read through the system's page cache are cheap to read the second time; with
    # use_direct_reads, or a secondary cache, all go in at once. Default: false.
    caches_first_reads: bool

    # Cache of blocks, or the bytes of one of its own. Default: 32 MiB for all families of the database.
    block_cache: Cache | int | None


class ColumnFamilyOptions(BlockBasedOptions, total=False):
    """Options of a column family and of its tables."""

    # Bytes of a memtable beyond which it is switched and flushed. Default: 64 MiB.
    write_buffer_size: int | str

    # What memtables are, by RocksDB's names. `skip_list` (or `SkipListFactory`; a lookahead as in `skip_list:16` is kept, and means
    # nothing): Esker's tree, which keeps rows sorted as they come. `vector` (or `VectorRepFactory`, with room for so many rows as
    # in `vector:100000`), for bulk loads: rows are appended, and sorted when the memtable is flushed or somebody reads,
    # who waits for it; it needs `allow_concurrent_memtable_write=false`. `prefix_hash`, `hash_linkedlist` and `cuckoo` are
    # refused. Default: SkipListFactory.
    memtable_factory: str

    # Memtables in memory at most, the one written included; writes stop above. Default: 2.
    max_write_buffer_number: int | str

    # Full memtables that a flush waits for and merges into one table; no more than may be full, `max_write_buffer_number` less
    # one. Default: 1.
    min_write_buffer_number_to_merge: int | str

    # Levels, L0 included; with leveled compaction 2 at least. Default: 7.
    num_levels: int | str

    # L0 files that start a compaction. Default: 4.
    level0_file_num_compaction_trigger: int | str

    # L0 files that slow writes down; below 0: never. As with RocksDB it counts as no less than
    # level0_file_num_compaction_trigger. Default: 20.
    level0_slowdown_writes_trigger: int | str

    # L0 files that stop writes. As with RocksDB it counts as no less than level0_slowdown_writes_trigger: a stop before the
    # compaction it waits for would last for ever. Default: 36.
    level0_stop_writes_trigger: int | str

    # Bytes of a table at L1. Default: 64 MiB.
    target_file_size_base: int | str

    # Growth of a table's size from level to level. Default: 1.
    target_file_size_multiplier: int | str

    # Bytes of L1, or of the base level. Default: 256 MiB.
    max_bytes_for_level_base: int | str

    # Growth of a level's size from level to level. Default: 10.
    max_bytes_for_level_multiplier: float

    # A further factor for each level, from L0 on; levels it does not name have 1. Unused with level_compaction_dynamic_level_bytes.
    # Default: 1:1:1:1:1:1:1.
    max_bytes_for_level_multiplier_additional: str | Sequence[str]

    # Which file of a level that is too large goes first, with leveled compaction: kByCompensatedSize, the largest, deletions counted;
    # kOldestLargestSeqFirst, whose newest entry is oldest; kOldestSmallestSeqFirst, whose oldest entry is oldest;
    # kMinOverlappingRatio, which costs the next level least for its size; kRoundRobin, each in its turn by key.
    # Default: kMinOverlappingRatio.
    compaction_pri: str

    # Sizes levels from the last one upwards, so that about a tenth of the data lies above it. Default: true.
    level_compaction_dynamic_level_bytes: bool

    # Bytes a compaction takes in at most; 0 chooses 25 times the target file size, or two and a half times
    # max_bytes_for_level_multiplier as often where that is more. RocksDB stays at 25, so that with a larger multiplier files are
    # rewritten that could have been moved. Default: 0.
    max_compaction_bytes: int | str

    # Bytes waiting for compaction that slow writes down; 0, or more than hard_pending_compaction_bytes_limit: never. Default: 64 GiB.
    soft_pending_compaction_bytes_limit: int | str

    # Bytes waiting for compaction that stop writes; 0: never. Default: 256 GiB.
    hard_pending_compaction_bytes_limit: int | str

    # Compacts only when asked to. Default: false.
    disable_auto_compactions: bool

    # Moves files down as they are though the level they come to is compressed in another way: they are compressed so when they
    # are next merged. For loads in order, where the upper levels are not compressed. Without it a file is moved where its own
    # compression, whatever is configured, is that of the level. The trap: what is never merged stays as large as it came.
    # Default: false.
    move_files_of_any_compression: bool

    # Compactions copy a data block of an input as it is stored where nothing else of the inputs lies between its keys, all its
    # entries are values that stay as they are, and it is compressed and laid out as the output's blocks are to be: its entries are
    # looked at, for the filter and the index, but not merged, encoded and compressed again, and its checksum is verified and goes
    # with it. Where range tombstones, a compaction filter, a partitioner, blob files, timestamps, a compression dictionary,
    # block_align or a hash index in data blocks play a part, none is. Set it to false for a compaction that is to encode everything
    # anew. Default: true.
    copy_untouched_blocks: bool

    # Notices, when memtables are flushed, keys that were written in ascending or descending order, in one stream or in
    # several that take turns. Each stream gets a table of its own, in the lowest level where nothing overlaps it, compressed as
    # that level is: it is never rewritten, as it would be if one table held keys of several streams. Costs a flush a look at
    # its first 4096 keys, and where there are streams a walk over all keys. Streams of less than a 256th of
    # target_file_size_base, or of two blocks, go to L0 with all else; so does everything while range deletions are flushed, with
    # timestamps, and with disable_auto_compactions. The trap: of many streams each flush makes as many tables, and they stay
    # that small; a larger write_buffer_size makes them larger. Default: true.
    streams_bypass_level0: bool

    # How files are merged. kCompactionStyleLevel: each level is a sorted run ten times as large as the one above.
    # kCompactionStyleUniversal: sorted runs are merged when several are of similar size, which writes less and takes up to
    # `max_size_amplification_percent` more space, and twice all of it while everything is merged. kCompactionStyleFIFO: the oldest
    # files are dropped, with all that is in them, once there is too much or it is older than `ttl`: for what one may lose.
    # kCompactionStyleNone: nothing is merged unless asked for. Default: kCompactionStyleLevel.
    compaction_style: str

    # Leaves the last level to files that are ingested behind all others
    # (`IngestExternalFileOptions::ingest_behind`): compactions write no lower than to the level above it,
    # and keep deletions, which may have to hide what comes there. To be set before the first row is written; set back to false
    # when all is in, so that compactions become whole again. Takes universal compaction and at least three levels. Default: false.
    cf_allow_ingest_behind: bool

    # What universal compaction is steered by. A sorted run is a file of L0, or a level; from `level0_file_num_compaction_trigger` runs on
    # there may be something to do. Runs are merged, the newest first, while the next is not more than `size_ratio` percent larger than all
    # before (`stop_style=kCompactionStopStyleTotalSize`) or of the size of the one before (`kCompactionStopStyleSimilarSize`), at
    # least `min_merge_width` and at most `max_merge_width` of them; all, once what is beside the oldest is more than
    # `max_size_amplification_percent` of that; and as many as need be where there are more than `max_read_amp` (0: as the size of the data
    # lets expect; -1: than the trigger). `compression_size_percent`: so much of the data, the oldest, is compressed at least, the
    # rest is not; -1: all is. `allow_trivial_move`: files that overlap nothing are moved. `incremental` is refused, and
    # `reduce_file_locking` has nothing to do.
    # Default: {allow_trivial_move=false;stop_style=kCompactionStopStyleTotalSize;min_merge_width=2;compression_size_percent=-1;max_size_amplification_percent=200;incremental=false;max_merge_width=4294967295;size_ratio=1;max_read_amp=-1;}
    compaction_options_universal: str | Mapping[str, Any]

    # What FIFO compaction is steered by, beside `ttl`. Once all tables have more than `max_table_files_size` bytes, or tables and
    # blob files together more than `max_data_files_size` where that is not 0, the oldest tables are dropped.
    # `allow_compaction`: small files of L0 are merged. `file_temperature_age_thresholds`: files are rewritten, one at a time, once all
    # that is in them is so many seconds old, for storage of a temperature. `use_kv_ratio_compaction` and
    # `allow_trivial_copy_when_change_temperature` are refused. The trap: the `ttl` that is chosen drops what is older than 30 days.
    # Default: {max_table_files_size=1073741824;allow_compaction=false;}
    compaction_options_fifo: str | Mapping[str, Any]

    # Seconds after which data is compacted down, level by level, though no size asks for it; with FIFO compaction after which a file is
    # dropped, counted from when it was written; with universal compaction the same as `periodic_compaction_seconds`. 0: never;
    # 18446744073709551614: chosen, which is 30 days. Looked at when files change, and now and then. Default: chosen.
    ttl: int | str

    # Seconds after which a file is rewritten, so that a compaction filter sees all data again and what is deleted goes: leveled compaction
    # rewrites the file, universal compaction everything. FIFO compaction does not look at it. 0: never; 18446744073709551614:
    # chosen, which is 30 days with universal compaction or a compaction filter, else never. Default: chosen.
    periodic_compaction_seconds: int | str

    # The temperature that tables in the last of all levels (`num_levels`) are written with: kHot, kWarm, kCool, kCold, kIce, or
    # kUnknown to leave it to `default_write_temperature`. It is recorded in the MANIFEST and told to the file system, which may put the
    # file on storage of that kind; the file system of the operating system passes over it. Default: kUnknown.
    last_level_temperature: str

    # The temperature of all other tables. Default: kUnknown.
    default_write_temperature: str

    # Compression of tables. Default: kLZ4Compression.
    compression: str

    # Compression of the last level that holds data; kDisableCompressionOption leaves it to `compression`.
    # Default: kDisableCompressionOption.
    bottommost_compression: str

    # Compression by level from L0 on (with dynamic level bytes: L0, then the base level on); the last entry stands
    # for the levels below. Empty: `compression` everywhere. Default: empty.
    compression_per_level: str | Sequence[str]

    # How hard to compress: level, window_bits and strategy are the libraries' own. With max_dict_bytes above 0 the data blocks of
    # each table are compressed with a dictionary of so many bytes, of ZSTD trained from zstd_max_train_bytes of samples if that is
    # not 0: blocks are held in memory, at most max_dict_buffer_bytes of them, until there are enough to make it of.
    # LZ4, zlib and ZSTD know dictionaries. parallel_threads above 1: so many threads, at most 64, compress the data blocks of each table beside
    # the one that makes and writes them; the table is the same, byte for byte. It helps where compression is slow and cores are idle: with
    # Snappy, LZ4 and negative levels of ZSTD, and for tables with a partitioned index, it is passed over.
    # Default: the libraries' level, no dictionary, one thread.
    compression_opts: str | Mapping[str, Any]

    # The same for the last level that holds data, where enabled=true is among them; else `compression_opts` holds there too.
    bottommost_compression_opts: str | Mapping[str, Any]

    # Entries of one key that an iterator steps over one by one before it seeks past the rest: versions older than the
    # one it shows, or newer than what it reads. Default: 8.
    max_sequential_skip_in_iterations: int | str

    # Writes no filters for tables with nothing older of their keys below: for who nearly always asks for keys that are there.
    # Nine tenths of the data have no filters then, and a key that is not there costs a read. Tables that have filters keep
    # them until they are compacted. Default: false.
    optimize_filters_for_hits: bool

    # Keeps track of when rows were written, for so many seconds: the last sequence number is noted a hundred times in that time, and
    # tables keep what is known of their rows in the property `rocksdb.seqno.time.map`. Compactions leave rows of that age their
    # sequence numbers, by which it is known; that costs a few bits a key where they would be zeroed. 0: no. Default: 0.
    preserve_internal_time_seconds: int | str

    # Writes large values to blob files, and in their place, into the tables, where they lie: compactions then merge keys and
    # leave values alone, which spares writes where values are large; a read costs one more access, and what is overwritten
    # or deleted takes room until its blob file is emptied (`enable_blob_garbage_collection`) or all of it is garbage. Values
    # are taken out when they are flushed or compacted; what is there already stays readable when this is switched off.
    # Columns of wide-column entities stay in tables. Default: false.
    enable_blob_files: bool

    # With enable_blob_files: bytes of a value, not compressed, from which on it goes into a blob file. The trap: at the default
    # every value does, though of small ones the record in the blob file (32 bytes and the key again) and the reference to
    # it cost more than they spare. Default: 0.
    min_blob_size: int | str

    # With enable_blob_files: bytes of a value, not compressed, from which on it goes into a blob file if a newer version of its key stands
    # before it in what is flushed or compacted: then it is likely to be garbage soon, and compactions need not rewrite it until
    # it is. A newer version is one of a later timestamp, an entry that a snapshot does not see, or what the comparator says
    # (`Comparator::is_older_version`). What went out for it stays in blob files when these are emptied. The trap: reads of
    # the past cost an access more. 0, or more than `min_blob_size`: as that says. Default: 0.
    min_older_version_blob_size: int | str

    # Bytes of a blob file, from which on it is closed and another one begun. One is begun for each flush, and for each thread
    # of a compaction, that writes a blob. Garbage is collected by whole files: larger ones are emptied later.
    # Default: 256 MiB.
    blob_file_size: int | str

    # Compression of blob files, each value for itself, without dictionaries. Default: kNoCompression.
    blob_compression_type: str

    # Compactions take the values they meet out of the oldest blob files, and write them to new ones, or into tables where
    # enable_blob_files and min_blob_size say so now. Without it a blob file goes only when nothing of it is needed any
    # more. Costs reading and writing what is left in those files. Default: false.
    enable_blob_garbage_collection: bool

    # With enable_blob_garbage_collection: the part of the blob files that is old, 0 to 1, of the number of files and rounded
    # down. Default: 0.25.
    blob_garbage_collection_age_cutoff: float

    # With enable_blob_garbage_collection: the part of the bytes of the old blob files, 0 to 1, from which on, if that much is
    # garbage, the tables with values in the oldest of them are compacted for that alone. 1: never. Default: 1.
    blob_garbage_collection_force_threshold: float

    # With enable_blob_files: the level from which on tables have their values in blob files; those of levels above keep them,
    # so that what soon dies is not moved. A flush writes level 0. Default: 0.
    blob_file_starting_level: int | str

    # Puts the values that flushes write to blob files into `blob_cache`: kDisable, or kFlushOnly. Default: kDisable.
    prepopulate_blob_cache: str

    # Bytes that a compaction reads beyond each value that it must read of a blob file: to merge with it, to show it to a
    # compaction filter, or to move it. Costs that much memory for each blob file it reads. Default: 0.
    blob_compaction_readahead_size: int | str

    # Reads each table back as soon as it is written, before any version holds it, and compares a hash of its keys and
    # values, and its range tombstones, with what went in. Without it the table is opened and its index checked.
    # Default: false.
    paranoid_file_checks: bool

    # Bytes of a checksum that each row of a memtable is given, over what it does, key, value and sequence number, and that
    # is verified whenever the row is read or flushed: 0, 1, 2, 4 or 8. Damaged, it is an error that names the row, and no
    # table is written from it. Of range tombstones what is flushed is verified. Rows take 4 bytes more beside. Default: 0,
    # none.
    memtable_protection_bytes_per_key: int | str

    # Bytes of a checksum that each entry of a data block is given when the block comes into memory, over its key and value,
    # and that is compared whenever the entry is read: 0, 1, 2, 4 or 8. Damaged, it is an error that names file, block and
    # key. Takes four bytes an entry more, and makes reads of cached blocks slower. Default: 0, none.
    block_protection_bytes_per_key: int | str

    # With `memtable_protection_bytes_per_key`: searches and insertions verify the rows they compare with, too, so that a
    # row whose key has changed is not missed without a word. Default: false.
    memtable_verify_per_key_checksum_on_seek: bool

    # How large a Bloom filter each memtable gets, as a part of `write_buffer_size`, which it counts towards: 0 to 0.25. It holds
    # whole keys with `memtable_whole_key_filtering`, and prefixes with a `prefix_extractor`; without either there is none. Gets
    # and MultiGets, and seeks that ask the filters of tables, do not search a memtable that has nothing of what they look
    # for. Costs each write of a row a hash and a cache line, twice with both; in vain where most Gets find their rows in
    # memtables. At ten bits a key, which rows of 100 bytes have at 0.01, one search in a hundred is for nothing. Default: 0, none.
    memtable_prefix_bloom_size_ratio: float

    # Puts whole keys into the filters of memtables, and has Gets ask for them rather than for prefixes. Needs
    # `memtable_prefix_bloom_size_ratio`. Default: false.
    memtable_whole_key_filtering: bool

    # Compares the rows of a memtable around the place where a search ends with each other, and each row of a scan with the
    # one before: rows out of order are an error. Needs no checksums. Default: false.
    paranoid_memory_checks: bool

    # Takes the blocks of files that compactions have replaced out of the block cache, where they would wait to be evicted: how
    # hard. 0: not at all; 1: until the first block that is not there; 11, 69, 230: while nine tenths, half, a tenth of them are
    # expected to be there; 10000: every block is looked for. Costs the background thread that deletes the file a lock for
    # each block. The trap: a checkpoint in the same cache has blocks of its own, so nothing of others is lost, but with most of
    # the data not cached large values look for what is not there. Nothing is done with allow_mmap_reads. Default: 0.
    uncache_aggressiveness: int | str

    # The order of keys, by name or as an object. Default: bytewise.
    comparator: str | Comparator

    # Resolves merges. Default: the built-in operator the OPTIONS file names, if it names one.
    merge_operator: str | MergeOperator | FullMerge | MergeOperatorObject | None

    # Asked about each entry of every compaction. Default: none.
    compaction_filter: Filter | CompactionFilter | None

    # Makes such a filter for each compaction. Default: none.
    compaction_filter_factory: CompactionFilterFactory | None

    # Prefixes that filters index: fixed:N, capped:N or noop. Default: none.
    prefix_extractor: str | None

    # The directories of the family's tables, each with the bytes it is meant for. Default: those of db_paths.
    cf_paths: list[tuple[Path, int]]

    # Cache of values of blob files. Default: none.
    blob_cache: Cache | int | None


class Options(ColumnFamilyOptions, total=False):
    """Options of a database, of its families and of their tables."""

    # Creates the database if there is none. Default: false.
    create_if_missing: bool

    # Creates the column families named at open that do not exist. Default: false.
    create_missing_column_families: bool

    # Gives every family with universal compaction and three levels or more
    # `cf_allow_ingest_behind`. Default: false.
    allow_ingest_behind: bool

    # Fails the open if the database exists. Default: false.
    error_if_exists: bool

    # Tables and blob files kept open at most, all families' together; each thread of a compaction may have a quarter as many blob
    # files open besides. -1 keeps all of them open. Default: -1.
    max_open_files: int | str

    # Background threads: a quarter of them, at least one, flush; the others, at least one, compact. Default: 2.
    max_background_jobs: int | str

    # Threads that may write one compaction out of L0, each a range of its keys. Automatic compactions between other levels
    # run side by side as it is and are never divided, except in the universal style; what a user asks for is. Default: 1.
    max_subcompactions: int | str

    # Bytes of WAL beyond which the family that holds back the oldest WAL is flushed. 0 chooses four times
    # the sum of all families' `write_buffer_size * max_write_buffer_number`. Default: 0.
    # Unlike RocksDB the limit counts with one family too, so a forgotten option never fills a disk.
    max_total_wal_size: int | str

    # Bytes that all families' memtables may take: from seven eighths of it in memtables that are written to, or from all of it with those
    # that wait for their flush, the largest is flushed. 0 sets no limit. Of no effect beside a
    # `write_buffer_manager`, which limits several databases. Default: 0.
    db_write_buffer_size: int | str

    # What recovery does with damaged records of the WAL. Default: kPointInTimeRecovery.
    wal_recovery_mode: str

    # Compression of the WAL: none or zstd (RocksDB 7.4 and later read it). Default: kNoCompression.
    wal_compression: str

    # WALs that are kept when nobody needs them any more, to be written over instead of a new one being created: the disk space is
    # there, so a sync has no metadata to write. Their records carry the number of the WAL (RocksDB reads them), which tells them
    # from those of before. As with RocksDB it is 0 whatever it says where `wal_recovery_mode` is
    # kTolerateCorruptedTailRecords or kAbsoluteConsistency, which could not tell the end of a WAL from damage. Default: 0.
    recycle_log_file_num: int | str

    # Writers who get in each other's way with batches or large values insert into memtables at the same time, once they have appended to the WAL
    # one after the other. What they write becomes visible in the order of the WAL, so each waits for those before it. Single small rows go in
    # one after the other, which is faster, and a write with a range deletion goes alone. Every `memtable_factory` must allow it: vector is refused with it, as RocksDB does. Without it
    # rows go into memtables one write after the other. Default: true.
    allow_concurrent_memtable_write: bool

    # Records of the WAL stay in memory of the process until `Db::flush_wal`, a write with `sync` or `Db::sync_wal`, or until a MiB of them
    # has come together, the WAL is switched, or the database is closed. The death of the process takes what was not flushed, the
    # newest writes first, and other processes do not see it. Saves nothing where the WAL is mapped, and a system call a write
    # where it is not (see `PosixFs`). Default: false.
    manual_wal_flush: bool

    # Directory of the WALs, of this database alone; empty for the database's own. Default: empty.
    wal_dir: Path

    # Leaves the recovered WAL's rows in memtables instead of writing them to tables at open. Default: false.
    avoid_flush_during_recovery: bool

    # Transactions may be prepared, and prepared ones are found again: recovery reads every WAL that may hold one, and
    # puts those that are outstanding into the WAL it begins. Then `avoid_flush_during_recovery` has no effect. `TransactionDB` sets it. Default: false.
    allow_2pc: bool

    # Flushes all families together, and records their tables in the MANIFEST in one step: of a batch over several families that was
    # written with `disable_wal` a crash leaves all rows or none. A flush that begins by itself is of every family that holds
    # rows, and so is one that a compaction or an ingestion asks for; `Db::flush_cf` flushes the families it is given, together.
    # Families wait for no second memtable then: `min_write_buffer_number_to_merge` becomes 1. Not together with
    # `enable_pipelined_write`. Where every write has a WAL it adds nothing. Default: false.
    atomic_flush: bool

    # Closes without flushing rows that no WAL holds (written with `disable_wal`). Default: false.
    avoid_flush_during_shutdown: bool

    # Records the database's id in the MANIFEST, so that copies of the database, checkpoints and restored backups, have the same. Without it
    # the id is in the file IDENTITY alone, which no copy gets: each makes an id of its own when it is opened. Default: true.
    write_dbid_to_manifest: bool

    # Writes the database's id to the file IDENTITY. Without it no file is written, and one that is there stays; it must not be
    # false together with `write_dbid_to_manifest`. Default: true.
    write_identity_file: bool

    # Bytes of MANIFEST beyond which a fresh one is begun. Default: 1 GiB.
    max_manifest_file_size: int | str

    # Asks the kernel to write table files out each time this many bytes were appended, so that the final
    # sync finds little to do (`sync_file_range`). 0: never; with a `rate_limiter` 1 MiB is set in its
    # place, as RocksDB does, so that the disk sees the rate too, and not all of a file at its sync. Default: 0.
    bytes_per_sync: int | str

    # The same of WALs. The kernel is asked for what came in up to a mebibyte before the end; it is looked at each 32 KiB. A
    # change counts from the next WAL on. No promise that anything survives. 0: never. Default: 0.
    wal_bytes_per_sync: int | str

    # Each time `bytes_per_sync` or `wal_bytes_per_sync` asks the kernel to write out, waits first until it is done with what it
    # was asked for before (`SYNC_FILE_RANGE_WAIT_BEFORE`; an fdatasync where the file system knows no such call), so that no more
    # than about that many bytes are under way at a time, and no sync finds much to do. Who writes waits then. Default: false.
    strict_bytes_per_sync: bool

    # The rate, in bytes a second, to which writes are held when compaction falls behind. Default: 16 MiB/s.
    delayed_write_rate: int | str

    # How often the database tries by itself to resume after an I/O error that left every file in a known state, as
    # `Db::resume` does. 0: never. Lack of room does not count: then the free space is asked for each five seconds, as RocksDB's
    # SstFileManager does. Nor does what cannot be resumed from, like a failed sync of a WAL. Default: 2147483647.
    max_bgerror_resume_count: int | str

    # Microseconds before the first and each other of these attempts. Unlike RocksDB the first waits, too: what has just failed fails
    # again. Default: 1000000.
    bgerror_resume_retry_interval: int | str

    # Milliseconds after which a follower looks what its leader has written (`Db::open_as_follower`). Default: 10000.
    follower_refresh_catchup_period_ms: int | str

    # How often a follower's catch-up that fails is tried again before the next period. Default: 10.
    follower_catchup_retry_count: int | str

    # Milliseconds between these tries. Default: 100.
    follower_catchup_retry_wait_ms: int | str

    # Reads table files past the kernel's cache (`O_DIRECT`). Default: false.
    use_direct_reads: bool

    # Flushes and compactions write table files past the kernel's cache (`O_DIRECT`). Default: false.
    use_direct_io_for_flush_and_compaction: bool

    # Compactions read tables and blob files past the kernel's cache (`O_DIRECT`), whatever reads of users do, so that they
    # push nothing out of it. `use_direct_reads` does so too. Default: false.
    use_direct_io_for_compaction_reads: bool

    # Reads table files through a memory map. Not together with `use_direct_reads`. Default: false.
    allow_mmap_reads: bool

    # Tells the kernel that table and blob files opened for reads of users are read here and there, so that a Get fetches what
    # it needs and no more; what is read ahead is read ahead by iterators. Without it the kernel guesses, and fetches up to
    # its own readahead around each block. Compactions and verifications read through descriptors of their own, sequentially.
    # Default: true.
    advise_random_on_open: bool

    # Bytes that compactions read of each input at a time, and as many that the kernel is asked to have ready. Costs that much
    # memory for each file of L0 and each level in a compaction; 0 reads ahead as iterators do. Default: 2 MiB.
    compaction_readahead_size: int | str

    # Bytes that recovery, secondaries and followers read of a WAL at a time; 0: 256 KiB. Default: 0.
    log_readahead_size: int | str

    # Checks the checksum of blocks that compactions read. Default: true.
    verify_checksums_in_compaction: bool

    # The checksum over each whole table file that is made while it is written and recorded in the MANIFEST, for
    # `Db::verify_file_checksums`, `esker verify` and whoever copies files:
    # FileChecksumGenCrc32cFactory, or nullptr for none. Default: nullptr.
    file_checksum_gen_factory: str

    # Compares the unique id that the MANIFEST has of a table, made of the database, the session and the number it was written
    # as, with the table's properties whenever the table is opened: one put in another's place is not read. Default: true.
    verify_sst_unique_id_in_manifest: bool

    # Looks through the tables and blob files in use in the background, the one not looked at for longest first, and verifies
    # their checksums, reading so many bytes a second past the kernel's cache where it can. What is damaged is told by
    # the event `CorruptionFound`. 0: never. Changed while the database is open by `Db::set_verify_rate`. Default: 0.
    verify_rate_bytes_per_sec: int | str

    # Takes no more writes once looking through the files has found damage. Default: false.
    verify_stops_writes: bool

    # Bytes of the info log `LOG` from which on it is put away as `LOG.old.MICROS` and another one begun; 0: never. Default: 0.
    max_log_file_size: int | str

    # Seconds after which the same happens; 0: never. Default: 0.
    log_file_time_to_roll: int | str

    # Info logs kept, the one written to among them; each open begins one. Default: 1000.
    keep_log_file_num: int | str

    # Directory of the info log, which is named by the database's path there; empty for the database's own. Default: empty.
    db_log_dir: Path

    # What is left out of the info log: what matters less. Default: INFO_LEVEL.
    info_log_level: str

    # Seconds between dumps of statistics into the info log: what the property `rocksdb.stats` of each family says. 0: never.
    # Default: 600.
    stats_dump_period_sec: int | str

    # Seconds between looks at the tickers of `statistics` whose differences `Db::get_stats_history`
    # tells. 0: never. Default: 600.
    stats_persist_period_sec: int | str

    # Bytes of memory for these differences; the oldest go. Default: 1 MiB.
    stats_history_buffer_size: int | str

    # Keeps these differences on disk instead, in the column family `___rocksdb_stats_history___`, where RocksDB looks for them, too.
    # About 10 KB a look, and none goes by itself. Default: false.
    persist_stats_to_disk: bool

    # Refuses to open a database whose OPTIONS file cannot be read, or has an option that Esker does not have, is not at RocksDB's
    # default and makes a difference to results, durability or space (`OptionsFile::lost`): with `NotSupported`, which names all of
    # them. Without it they are told, each by an event and a line in the LOG, and the database opens. Default: false.
    strict_options_file: bool

    # Families with options of their own, which begin with what is said of all. Default: none.
    column_families: Sequence[str] | Mapping[str, ColumnFamilyOptions | None]

    # Counts operations, bytes, events and times. Default: none.
    statistics: Statistics | bool | None

    # Limits what flushes and compactions write. Default: none.
    rate_limiter: RateLimiter | int | None

    # Limits the memory of memtables of several databases. Default: none.
    write_buffer_manager: WriteBufferManager | None

    # The directories of tables, each with the bytes it is meant for; at most four. Default: the database's own directory.
    db_paths: list[tuple[Path, int]]
