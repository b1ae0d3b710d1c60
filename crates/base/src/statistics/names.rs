//! The tickers and histograms, and their names.

/// Declares an enum of counters with RocksDB's names.
macro_rules! named {
    ($(#[$meta:meta])+ $enum:ident { $( $(#[$doc:meta])+ $variant:ident = $name:literal; )+ }) => {
        $(#[$meta])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $( $(#[$doc])+ $variant, )+
        }

        impl $enum {
            /// All members of the enumeration, in the order in which they are printed.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),+];

            /// RocksDB's name; names of counters that RocksDB does not have begin with `esker.`.
            pub fn name(self) -> &'static str {
                match self {
                    $( $enum::$variant => $name, )+
                }
            }

            /// The counter of that name.
            pub fn of_name(name: &str) -> Option<$enum> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// A counter of events, bytes or time.
    ///
    /// See the example of [`Statistics`](super::Statistics).
    Ticker {
        /// Blocks, of whatever kind, that a reader looked for in the block cache and did not find there.
        BlockCacheMiss = "rocksdb.block.cache.miss";
        /// Blocks, of whatever kind, that a reader found in the block cache.
        BlockCacheHit = "rocksdb.block.cache.hit";
        /// Blocks put into the block cache.
        BlockCacheAdd = "rocksdb.block.cache.add";
        /// Blocks that the block cache refused.
        BlockCacheAddFailures = "rocksdb.block.cache.add.failures";
        /// Indexes and their partitions looked for in the block cache and not found.
        BlockCacheIndexMiss = "rocksdb.block.cache.index.miss";
        /// Indexes and their partitions found in the block cache.
        BlockCacheIndexHit = "rocksdb.block.cache.index.hit";
        /// Indexes and their partitions put into the block cache.
        BlockCacheIndexAdd = "rocksdb.block.cache.index.add";
        /// Bytes of indexes and their partitions put into the block cache.
        BlockCacheIndexBytesInsert = "rocksdb.block.cache.index.bytes.insert";
        /// Filters and their partitions looked for in the block cache and not found.
        BlockCacheFilterMiss = "rocksdb.block.cache.filter.miss";
        /// Filters and their partitions found in the block cache.
        BlockCacheFilterHit = "rocksdb.block.cache.filter.hit";
        /// Filters and their partitions put into the block cache.
        BlockCacheFilterAdd = "rocksdb.block.cache.filter.add";
        /// Bytes of filters and their partitions put into the block cache.
        BlockCacheFilterBytesInsert = "rocksdb.block.cache.filter.bytes.insert";
        /// Data blocks looked for in the block cache and not found.
        BlockCacheDataMiss = "rocksdb.block.cache.data.miss";
        /// Data blocks found in the block cache.
        BlockCacheDataHit = "rocksdb.block.cache.data.hit";
        /// Data blocks put into the block cache.
        BlockCacheDataAdd = "rocksdb.block.cache.data.add";
        /// Bytes of data blocks put into the block cache.
        BlockCacheDataBytesInsert = "rocksdb.block.cache.data.bytes.insert";
        /// Bytes of blocks found in the block cache.
        BlockCacheBytesRead = "rocksdb.block.cache.bytes.read";
        /// Bytes of blocks put into the block cache.
        BlockCacheBytesWrite = "rocksdb.block.cache.bytes.write";
        /// Blocks that came back from a block cache's secondary cache.
        SecondaryCacheHits = "rocksdb.secondary.cache.hits";
        /// Filters that came back from a secondary cache.
        SecondaryCacheFilterHits = "rocksdb.secondary.cache.filter.hits";
        /// Indexes that came back from a secondary cache.
        SecondaryCacheIndexHits = "rocksdb.secondary.cache.index.hits";
        /// Data blocks that came back from a secondary cache.
        SecondaryCacheDataHits = "rocksdb.secondary.cache.data.hits";
        /// Lookups in a secondary cache that found only the mark that the block was evicted before.
        CompressedSecondaryCacheDummyHits = "rocksdb.compressed.secondary.cache.dummy.hits";
        /// Lookups in a secondary cache that found the block.
        CompressedSecondaryCacheHits = "rocksdb.compressed.secondary.cache.hits";
        /// Bytes read from tables in the last possible level.
        LastLevelReadBytes = "rocksdb.last.level.read.bytes";
        /// Reads of tables in the last possible level.
        LastLevelReadCount = "rocksdb.last.level.read.count";
        /// Bytes read from tables above the last possible level.
        NonLastLevelReadBytes = "rocksdb.non.last.level.read.bytes";
        /// Reads of tables above the last possible level.
        NonLastLevelReadCount = "rocksdb.non.last.level.read.count";
        /// Bytes read from tables of the temperature hot.
        HotFileReadBytes = "rocksdb.hot.file.read.bytes";
        /// Reads of hot tables.
        HotFileReadCount = "rocksdb.hot.file.read.count";
        /// Bytes read from warm tables.
        WarmFileReadBytes = "rocksdb.warm.file.read.bytes";
        /// Reads of warm tables.
        WarmFileReadCount = "rocksdb.warm.file.read.count";
        /// Bytes read from cool tables.
        CoolFileReadBytes = "rocksdb.cool.file.read.bytes";
        /// Reads of cool tables.
        CoolFileReadCount = "rocksdb.cool.file.read.count";
        /// Bytes read from cold tables.
        ColdFileReadBytes = "rocksdb.cold.file.read.bytes";
        /// Reads of cold tables.
        ColdFileReadCount = "rocksdb.cold.file.read.count";
        /// Bytes read from tables of the temperature ice.
        IceFileReadBytes = "rocksdb.ice.file.read.bytes";
        /// Reads of tables of the temperature ice.
        IceFileReadCount = "rocksdb.ice.file.read.count";
        /// Values of blob files that were looked for in the cache of values and not found.
        BlobDbCacheMiss = "rocksdb.blobdb.cache.miss";
        /// Values of blob files found in the cache of values.
        BlobDbCacheHit = "rocksdb.blobdb.cache.hit";
        /// Values of blob files put into the cache of values.
        BlobDbCacheAdd = "rocksdb.blobdb.cache.add";
        /// Values of blob files that the cache of values refused.
        BlobDbCacheAddFailures = "rocksdb.blobdb.cache.add.failures";
        /// Bytes of values found in the cache of values.
        BlobDbCacheBytesRead = "rocksdb.blobdb.cache.bytes.read";
        /// Bytes of values put into the cache of values.
        BlobDbCacheBytesWrite = "rocksdb.blobdb.cache.bytes.write";
        /// Bytes written to blob files.
        BlobDbBlobFileBytesWritten = "rocksdb.blobdb.blob.file.bytes.written";
        /// Bytes of values read from blob files, as stored.
        BlobDbBlobFileBytesRead = "rocksdb.blobdb.blob.file.bytes.read";
        /// Blob files that were finished and synced.
        BlobDbBlobFileSynced = "rocksdb.blobdb.blob.file.synced";
        /// Values that compactions moved out of old blob files.
        BlobDbGcNumKeysRelocated = "rocksdb.blobdb.gc.num.keys.relocated";
        /// Bytes of the values that compactions moved out of old blob files.
        BlobDbGcBytesRelocated = "rocksdb.blobdb.gc.bytes.relocated";
        /// Lookups that a filter over whole keys ended.
        BloomFilterUseful = "rocksdb.bloom.filter.useful";
        /// Lookups that a filter over whole keys did not rule out.
        BloomFilterFullPositive = "rocksdb.bloom.filter.full.positive";
        /// Lookups that a filter over whole keys did not rule out and that found the key.
        BloomFilterFullTruePositive = "rocksdb.bloom.filter.full.true.positive";
        /// Lookups and seeks that asked a filter for a prefix.
        BloomFilterPrefixChecked = "rocksdb.bloom.filter.prefix.checked";
        /// Lookups and seeks that a filter's answer for a prefix ended.
        BloomFilterPrefixUseful = "rocksdb.bloom.filter.prefix.useful";
        /// Searches of a memtable by Gets that the memtable's filter did not avoid: RocksDB's
        /// `bloom_memtable_hit_count`.
        MemtableFilterHit = "esker.bloom.memtable.hit";
        /// Searches of a memtable by Gets that the memtable's filter avoided: `bloom_memtable_miss_count`.
        MemtableFilterMiss = "esker.bloom.memtable.miss";
        /// Gets answered by a memtable.
        MemtableHit = "rocksdb.memtable.hit";
        /// Gets that no memtable answered.
        MemtableMiss = "rocksdb.memtable.miss";
        /// Gets answered by L0.
        GetHitL0 = "rocksdb.l0.hit";
        /// Gets answered by L1.
        GetHitL1 = "rocksdb.l1.hit";
        /// Gets answered below L1.
        GetHitL2AndUp = "rocksdb.l2andup.hit";
        /// Entries that compactions dropped because newer entries or range deletions hide them.
        CompactionKeyDropNewerEntry = "rocksdb.compaction.key.drop.new";
        /// Deletions that compactions dropped because nothing older was left to delete.
        CompactionKeyDropObsolete = "rocksdb.compaction.key.drop.obsolete";
        /// Entries that compactions dropped because of a range deletion.
        CompactionKeyDropRangeDel = "rocksdb.compaction.key.drop.range_del";
        /// Entries that a compaction filter removed.
        CompactionKeyDropUser = "rocksdb.compaction.key.drop.user";
        /// Range deletions that compactions dropped.
        CompactionRangeDelDropObsolete = "rocksdb.compaction.range_del.drop.obsolete";
        /// Deletions that were dropped above the bottom level because no level below has their key.
        CompactionOptimizedDelDropObsolete = "rocksdb.compaction.optimized.del.drop.obsolete";
        /// Merges that failed in compactions.
        MergeFailures = "rocksdb.number.merge.failures";
        /// Compactions cancelled because the database closed or their family was dropped.
        CompactionCancelled = "rocksdb.compaction.cancelled";
        /// Rows written.
        KeysWritten = "rocksdb.number.keys.written";
        /// Calls of Get.
        KeysRead = "rocksdb.number.keys.read";
        /// Bytes of write batches: keys, values and the encoding around them.
        BytesWritten = "rocksdb.bytes.written";
        /// Bytes of values that Gets returned.
        BytesRead = "rocksdb.bytes.read";
        /// Seeks of iterators.
        Seeks = "rocksdb.number.db.seek";
        /// Forward steps of iterators.
        Nexts = "rocksdb.number.db.next";
        /// Backward steps of iterators.
        Prevs = "rocksdb.number.db.prev";
        /// Seeks that ended on a key.
        SeeksFound = "rocksdb.number.db.seek.found";
        /// Steps forwards that ended on a key.
        NextsFound = "rocksdb.number.db.next.found";
        /// Steps backwards that ended on a key.
        PrevsFound = "rocksdb.number.db.prev.found";
        /// Bytes of the keys and values that seeks and steps ended on.
        IterBytesRead = "rocksdb.db.iter.bytes.read";
        /// Iterators that were created.
        IteratorsCreated = "rocksdb.num.iterator.created";
        /// Iterators that were dropped.
        IteratorsDeleted = "rocksdb.num.iterator.deleted";
        /// Tables that were opened.
        FileOpens = "rocksdb.no.file.opens";
        /// Tables that could not be opened.
        FileErrors = "rocksdb.no.file.errors";
        /// Microseconds that writers were stalled or delayed.
        StallMicros = "rocksdb.stall.micros";
        /// Calls of MultiGet.
        MultiGetCalls = "rocksdb.number.multiget.get";
        /// Keys that MultiGets asked for.
        MultiGetKeysRead = "rocksdb.number.multiget.keys.read";
        /// Bytes of values that MultiGets returned.
        MultiGetBytesRead = "rocksdb.number.multiget.bytes.read";
        /// Keys of MultiGets that have a value.
        MultiGetKeysFound = "rocksdb.number.multiget.keys.found";
        /// Syncs of the WAL. One sync serves all writes that waited for it.
        WalSynced = "rocksdb.wal.synced";
        /// Bytes appended to WALs, including the headers of records.
        WalBytes = "rocksdb.wal.bytes";
        /// Calls that write a batch.
        WriteDone = "rocksdb.write.self";
        /// Writes that went into the WAL.
        WriteWithWal = "rocksdb.write.wal";
        /// Bytes that compactions read.
        CompactReadBytes = "rocksdb.compact.read.bytes";
        /// Bytes that compactions wrote.
        CompactWriteBytes = "rocksdb.compact.write.bytes";
        /// Bytes written by flushes, including those of a recovery (which RocksDB counts as compaction
        /// bytes).
        FlushWriteBytes = "rocksdb.flush.write.bytes";
        /// Bytes read by compactions of files that were marked for compaction.
        CompactReadBytesMarked = "rocksdb.compact.read.marked.bytes";
        /// Bytes read by compactions of files that were to be rewritten for their age.
        CompactReadBytesPeriodic = "rocksdb.compact.read.periodic.bytes";
        /// Bytes read by compactions of files whose time to live was over.
        CompactReadBytesTtl = "rocksdb.compact.read.ttl.bytes";
        /// Bytes written by compactions of files that were marked for compaction.
        CompactWriteBytesMarked = "rocksdb.compact.write.marked.bytes";
        /// Bytes written by compactions of files that were to be rewritten for their age.
        CompactWriteBytesPeriodic = "rocksdb.compact.write.periodic.bytes";
        /// Bytes written by compactions of files whose time to live was over.
        CompactWriteBytesTtl = "rocksdb.compact.write.ttl.bytes";
        /// Files moved down a level as they are.
        TrivialMoves = "esker.compaction.trivial.moves";
        /// Bytes of files moved down a level as they are.
        TrivialMoveBytes = "esker.compaction.trivial.move.bytes";
        /// Data blocks that compactions copied as they were stored.
        CompactionBlocksCopied = "esker.compaction.blocks.copied";
        /// Bytes of data blocks that compactions copied as they were stored, with their trailers.
        CompactionBytesCopied = "esker.compaction.bytes.copied";
        /// FIFO compactions that dropped files because the total size was too large.
        FifoMaxSizeCompactions = "rocksdb.fifo.max.size.compactions";
        /// FIFO compactions that dropped files because of their age.
        FifoTtlCompactions = "rocksdb.fifo.ttl.compactions";
        /// FIFO compactions that changed a file's temperature.
        FifoChangeTemperatureCompactions = "rocksdb.fifo.change_temperature.compactions";
        /// Blocks of tables that were written compressed.
        BlocksCompressed = "rocksdb.number.block.compressed";
        /// Bytes, before compression, of blocks that were written compressed.
        BytesCompressedFrom = "rocksdb.bytes.compressed.from";
        /// Bytes, as stored, of blocks that were written compressed.
        BytesCompressedTo = "rocksdb.bytes.compressed.to";
        /// Blocks of data and index that were stored as they are because their compression saved too little.
        BlocksCompressionRejected = "rocksdb.number.block_compression_rejected";
        /// Bytes of blocks that were stored as they are because their compression saved too little.
        BytesCompressionRejected = "rocksdb.bytes.compression.rejected";
        /// Data and index blocks that were stored without an attempt at compression.
        BlocksCompressionBypassed = "rocksdb.number.block_compression_bypassed";
        /// Bytes of blocks that were stored without an attempt at compression.
        BytesCompressionBypassed = "rocksdb.bytes.compression_bypassed";
        /// Blocks read that had to be uncompressed.
        BlocksDecompressed = "rocksdb.number.block.decompressed";
        /// Bytes, as stored, of blocks that had to be uncompressed.
        BytesDecompressedFrom = "rocksdb.bytes.decompressed.from";
        /// Bytes, after decompression, of blocks that had to be uncompressed.
        BytesDecompressedTo = "rocksdb.bytes.decompressed.to";
        /// Nanoseconds that merge operators took.
        MergeOperationTotalTime = "rocksdb.merge.operation.time.nanos";
        /// Searches of a table that the row cache answered.
        RowCacheHit = "rocksdb.row.cache.hit";
        /// Searches of a table whose entries for the key were not in the row cache.
        RowCacheMiss = "rocksdb.row.cache.miss";
        /// Nanoseconds that compaction filters took.
        FilterOperationTotalTime = "rocksdb.filter.operation.time.nanos";
        /// Microseconds of CPU time that compactions took.
        CompactionCpuTotalTime = "rocksdb.compaction.total.time.cpu_micros";
        /// Files deleted at once: not paced by an SST file manager.
        FilesDeletedImmediately = "rocksdb.files.deleted.immediately";
        /// Files that an SST file manager has renamed to be deleted later.
        FilesMarkedTrash = "rocksdb.files.marked.trash";
        /// Files that were deleted later, at the rate of an SST file manager.
        FilesDeletedFromTrashQueue = "rocksdb.files.marked.trash.deleted";
        /// Failures of background jobs and of the WAL that stopped the database.
        BgErrorCount = "rocksdb.error.handler.bg.error.count";
        /// Failures that stopped the database and that the file system reported.
        BgIoErrorCount = "rocksdb.error.handler.bg.io.error.count";
        /// I/O errors after which the database began to try to resume by itself.
        BgRetryableIoErrorCount = "rocksdb.error.handler.bg.retryable.io.error.count";
        /// Automatic recoveries that began, those from lack of space included.
        AutoresumeCount = "rocksdb.error.handler.autoresume.count";
        /// Attempts of automatic recoveries.
        AutoresumeRetryTotalCount = "rocksdb.error.handler.autoresume.retry.total.count";
        /// Attempts of automatic recoveries that succeeded.
        AutoresumeSuccessCount = "rocksdb.error.handler.autoresume.success.count";
        /// Block checksums computed for a comparison.
        BlockChecksumComputeCount = "rocksdb.block.checksum.compute.count";
        /// Block checksums that differed from the stored ones.
        BlockChecksumMismatchCount = "rocksdb.block.checksum.mismatch.count";
    }
}

named! {
    /// A distribution of values.
    ///
    /// See the example of [`Statistics`](super::Statistics).
    Histogram {
        /// Microseconds of a Get.
        DbGet = "rocksdb.db.get.micros";
        /// Microseconds of a write, stalls and syncs included.
        DbWrite = "rocksdb.db.write.micros";
        /// Microseconds of a compaction.
        CompactionTime = "rocksdb.compaction.times.micros";
        /// Microseconds of CPU time of a compaction.
        CompactionCpuTime = "rocksdb.compaction.times.cpu_micros";
        /// Microseconds of the sync of a table that a flush wrote.
        TableSyncMicros = "rocksdb.table.sync.micros";
        /// Microseconds of the sync of a table that a compaction wrote.
        CompactionOutfileSyncMicros = "rocksdb.compaction.outfile.sync.micros";
        /// Microseconds of a sync of the WAL.
        WalFileSyncMicros = "rocksdb.wal.file.sync.micros";
        /// Microseconds of opening a table.
        TableOpenIoMicros = "rocksdb.table.open.io.micros";
        /// Microseconds of a MultiGet.
        DbMultiGet = "rocksdb.db.multiget.micros";
        /// Microseconds of getting a data block that was not in the block cache.
        ReadBlockGetMicros = "rocksdb.read.block.get.micros";
        /// Files in a compaction.
        NumFilesInSingleCompaction = "rocksdb.numfiles.in.singlecompaction";
        /// Microseconds of a seek.
        DbSeek = "rocksdb.db.seek.micros";
        /// Microseconds of one stall or delay of a writer.
        WriteStall = "rocksdb.db.write.stall";
        /// Microseconds of reading, checking and uncompressing a value of a blob file.
        BlobDbBlobFileReadMicros = "rocksdb.blobdb.blob.file.read.micros";
        /// Microseconds of a read from a table.
        SstReadMicros = "rocksdb.sst.read.micros";
        /// Microseconds of a compaction's read from a table.
        FileReadCompactionMicros = "rocksdb.file.read.compaction.micros";
        /// Microseconds of an append to a table.
        SstWriteMicros = "rocksdb.sst.write.micros";
        /// Microseconds of a flush's append to a table.
        FileWriteFlushMicros = "rocksdb.file.write.flush.micros";
        /// Microseconds of a compaction's append to a table.
        FileWriteCompactionMicros = "rocksdb.file.write.compaction.micros";
        /// Threads that a compaction was divided over.
        NumSubcompactionsScheduled = "rocksdb.num.subcompactions.scheduled";
        /// Bytes of a value that a Get returned.
        BytesPerRead = "rocksdb.bytes.per.read";
        /// Bytes of a write.
        BytesPerWrite = "rocksdb.bytes.per.write";
        /// Bytes of the values that a MultiGet returned.
        BytesPerMultiGet = "rocksdb.bytes.per.multiget";
        /// Nanoseconds of compressing a block.
        CompressionTimesNanos = "rocksdb.compression.times.nanos";
        /// Nanoseconds of uncompressing a block.
        DecompressionTimesNanos = "rocksdb.decompression.times.nanos";
        /// Merge operands that a Get combined.
        ReadNumMergeOperands = "rocksdb.read.num.merge_operands";
        /// Microseconds of a flush.
        FlushTime = "rocksdb.db.flush.micros";
        /// Microseconds that a read waited for a rate limiter.
        RateLimiterWaitMicrosRead = "rocksdb.rate.limiter.wait.micros.read";
        /// Microseconds that a write of a job waited for a rate limiter.
        RateLimiterWaitMicrosWrite = "rocksdb.rate.limiter.wait.micros.write";
        /// Memory in bytes of the memtables that a flush wrote.
        FlushMemtableMemoryBytes = "rocksdb.flush.memtable.memory.bytes";
        /// Attempts of an automatic recovery.
        AutoresumeRetryCount = "rocksdb.error.handler.autoresume.retry.count";
        /// Bytes that a Get read from files by system calls; 0 if everything was in memory or in a mapping.
        BytesFromFilesPerGet = "esker.bytes.from.files.per.get";
        /// System calls by which a Get read files.
        ReadsOfFilesPerGet = "esker.reads.of.files.per.get";
    }
}
