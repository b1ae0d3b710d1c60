//! What is counted, and how it is called.

/// Declares an enum of things counted, with RocksDB's names.
macro_rules! named {
    ($(#[$meta:meta])+ $enum:ident { $( $(#[$doc:meta])+ $variant:ident = $name:literal; )+ }) => {
        $(#[$meta])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $( $(#[$doc])+ $variant, )+
        }

        impl $enum {
            /// All of them, in the order they are printed in.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),+];

            /// RocksDB's name; `esker.` stands before those RocksDB does not have.
            pub fn name(self) -> &'static str {
                match self {
                    $( $enum::$variant => $name, )+
                }
            }

            /// The one of that name.
            pub fn of_name(name: &str) -> Option<$enum> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// Something counted.
    Ticker {
        /// Blocks, of whatever kind, that a reader looked for in the block cache and did not find there.
        BlockCacheMiss = "rocksdb.block.cache.miss";
        /// Those it found there.
        BlockCacheHit = "rocksdb.block.cache.hit";
        /// Blocks put into the block cache.
        BlockCacheAdd = "rocksdb.block.cache.add";
        /// Blocks that it did not take.
        BlockCacheAddFailures = "rocksdb.block.cache.add.failures";
        /// Indexes and their partitions looked for and not found.
        BlockCacheIndexMiss = "rocksdb.block.cache.index.miss";
        /// Those found.
        BlockCacheIndexHit = "rocksdb.block.cache.index.hit";
        /// Those put in.
        BlockCacheIndexAdd = "rocksdb.block.cache.index.add";
        /// Bytes of those.
        BlockCacheIndexBytesInsert = "rocksdb.block.cache.index.bytes.insert";
        /// Filters and their partitions looked for and not found.
        BlockCacheFilterMiss = "rocksdb.block.cache.filter.miss";
        /// Those found.
        BlockCacheFilterHit = "rocksdb.block.cache.filter.hit";
        /// Those put in.
        BlockCacheFilterAdd = "rocksdb.block.cache.filter.add";
        /// Bytes of those.
        BlockCacheFilterBytesInsert = "rocksdb.block.cache.filter.bytes.insert";
        /// Data blocks looked for and not found.
        BlockCacheDataMiss = "rocksdb.block.cache.data.miss";
        /// Those found.
        BlockCacheDataHit = "rocksdb.block.cache.data.hit";
        /// Those put in.
        BlockCacheDataAdd = "rocksdb.block.cache.data.add";
        /// Bytes of those.
        BlockCacheDataBytesInsert = "rocksdb.block.cache.data.bytes.insert";
        /// Bytes of blocks found in the block cache.
        BlockCacheBytesRead = "rocksdb.block.cache.bytes.read";
        /// Bytes of blocks put into it.
        BlockCacheBytesWrite = "rocksdb.block.cache.bytes.write";
        /// Blocks that came back from a block cache's secondary cache.
        SecondaryCacheHits = "rocksdb.secondary.cache.hits";
        /// Filters among them.
        SecondaryCacheFilterHits = "rocksdb.secondary.cache.filter.hits";
        /// Indexes among them.
        SecondaryCacheIndexHits = "rocksdb.secondary.cache.index.hits";
        /// Data blocks among them.
        SecondaryCacheDataHits = "rocksdb.secondary.cache.data.hits";
        /// Lookups in a secondary cache that found no more than that the block was evicted before.
        CompressedSecondaryCacheDummyHits = "rocksdb.compressed.secondary.cache.dummy.hits";
        /// Lookups in a secondary cache that found the block.
        CompressedSecondaryCacheHits = "rocksdb.compressed.secondary.cache.hits";
        /// Bytes read of tables in the last level there can be.
        LastLevelReadBytes = "rocksdb.last.level.read.bytes";
        /// Reads of them.
        LastLevelReadCount = "rocksdb.last.level.read.count";
        /// Bytes read of tables above it.
        NonLastLevelReadBytes = "rocksdb.non.last.level.read.bytes";
        /// Reads of them.
        NonLastLevelReadCount = "rocksdb.non.last.level.read.count";
        /// Bytes read of tables that were written to be hot.
        HotFileReadBytes = "rocksdb.hot.file.read.bytes";
        /// Reads of them.
        HotFileReadCount = "rocksdb.hot.file.read.count";
        /// Bytes read of warm tables.
        WarmFileReadBytes = "rocksdb.warm.file.read.bytes";
        /// Reads of them.
        WarmFileReadCount = "rocksdb.warm.file.read.count";
        /// Bytes read of cool tables.
        CoolFileReadBytes = "rocksdb.cool.file.read.bytes";
        /// Reads of them.
        CoolFileReadCount = "rocksdb.cool.file.read.count";
        /// Bytes read of cold tables.
        ColdFileReadBytes = "rocksdb.cold.file.read.bytes";
        /// Reads of them.
        ColdFileReadCount = "rocksdb.cold.file.read.count";
        /// Bytes read of tables hardly ever read.
        IceFileReadBytes = "rocksdb.ice.file.read.bytes";
        /// Reads of them.
        IceFileReadCount = "rocksdb.ice.file.read.count";
        /// Values of blob files that were looked for in the cache of values and not found.
        BlobDbCacheMiss = "rocksdb.blobdb.cache.miss";
        /// Those found.
        BlobDbCacheHit = "rocksdb.blobdb.cache.hit";
        /// Those put in.
        BlobDbCacheAdd = "rocksdb.blobdb.cache.add";
        /// Those it did not take.
        BlobDbCacheAddFailures = "rocksdb.blobdb.cache.add.failures";
        /// Bytes of values found there.
        BlobDbCacheBytesRead = "rocksdb.blobdb.cache.bytes.read";
        /// Bytes of values put in.
        BlobDbCacheBytesWrite = "rocksdb.blobdb.cache.bytes.write";
        /// Bytes written to blob files.
        BlobDbBlobFileBytesWritten = "rocksdb.blobdb.blob.file.bytes.written";
        /// Bytes of values read from blob files, as stored.
        BlobDbBlobFileBytesRead = "rocksdb.blobdb.blob.file.bytes.read";
        /// Blob files that were finished and synced.
        BlobDbBlobFileSynced = "rocksdb.blobdb.blob.file.synced";
        /// Values that compactions took out of old blob files.
        BlobDbGcNumKeysRelocated = "rocksdb.blobdb.gc.num.keys.relocated";
        /// Their bytes.
        BlobDbGcBytesRelocated = "rocksdb.blobdb.gc.bytes.relocated";
        /// Lookups that a filter over whole keys ended.
        BloomFilterUseful = "rocksdb.bloom.filter.useful";
        /// Lookups that such a filter let pass.
        BloomFilterFullPositive = "rocksdb.bloom.filter.full.positive";
        /// Those among them that found the key.
        BloomFilterFullTruePositive = "rocksdb.bloom.filter.full.true.positive";
        /// Lookups and seeks that asked a filter for a prefix.
        BloomFilterPrefixChecked = "rocksdb.bloom.filter.prefix.checked";
        /// Those it ended.
        BloomFilterPrefixUseful = "rocksdb.bloom.filter.prefix.useful";
        /// Searches of a memtable by Gets that its filter could not spare: RocksDB's `bloom_memtable_hit_count`.
        MemtableFilterHit = "esker.bloom.memtable.hit";
        /// Those it spared: `bloom_memtable_miss_count`.
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
        /// Entries that compactions left out: newer ones, or range deletions, hide them.
        CompactionKeyDropNewerEntry = "rocksdb.compaction.key.drop.new";
        /// Deletions that compactions left out: nothing older was left for them to delete.
        CompactionKeyDropObsolete = "rocksdb.compaction.key.drop.obsolete";
        /// Entries that compactions left out because of a range deletion.
        CompactionKeyDropRangeDel = "rocksdb.compaction.key.drop.range_del";
        /// Entries that a compaction filter removed.
        CompactionKeyDropUser = "rocksdb.compaction.key.drop.user";
        /// Range deletions that compactions left out.
        CompactionRangeDelDropObsolete = "rocksdb.compaction.range_del.drop.obsolete";
        /// Deletions that were left out above the bottom, because nothing below has their key.
        CompactionOptimizedDelDropObsolete = "rocksdb.compaction.optimized.del.drop.obsolete";
        /// Merges that failed in compactions.
        MergeFailures = "rocksdb.number.merge.failures";
        /// Compactions given up because the database closed, or their family was dropped.
        CompactionCancelled = "rocksdb.compaction.cancelled";
        /// Rows written.
        KeysWritten = "rocksdb.number.keys.written";
        /// Gets.
        KeysRead = "rocksdb.number.keys.read";
        /// Bytes of write batches: keys, values, and what tells them apart.
        BytesWritten = "rocksdb.bytes.written";
        /// Bytes of values that Gets returned.
        BytesRead = "rocksdb.bytes.read";
        /// Seeks.
        Seeks = "rocksdb.number.db.seek";
        /// Steps forwards.
        Nexts = "rocksdb.number.db.next";
        /// Steps backwards.
        Prevs = "rocksdb.number.db.prev";
        /// Seeks that ended on a key.
        SeeksFound = "rocksdb.number.db.seek.found";
        /// Steps forwards that ended on a key.
        NextsFound = "rocksdb.number.db.next.found";
        /// Steps backwards that ended on a key.
        PrevsFound = "rocksdb.number.db.prev.found";
        /// Bytes of the keys and values that seeks and steps ended on.
        IterBytesRead = "rocksdb.db.iter.bytes.read";
        /// Iterators made.
        IteratorsCreated = "rocksdb.num.iterator.created";
        /// Iterators dropped.
        IteratorsDeleted = "rocksdb.num.iterator.deleted";
        /// Tables opened.
        FileOpens = "rocksdb.no.file.opens";
        /// Tables that could not be opened.
        FileErrors = "rocksdb.no.file.errors";
        /// Microseconds writers were held back.
        StallMicros = "rocksdb.stall.micros";
        /// MultiGets.
        MultiGetCalls = "rocksdb.number.multiget.get";
        /// Their keys.
        MultiGetKeysRead = "rocksdb.number.multiget.keys.read";
        /// Bytes of values they returned.
        MultiGetBytesRead = "rocksdb.number.multiget.bytes.read";
        /// Their keys that have a value.
        MultiGetKeysFound = "rocksdb.number.multiget.keys.found";
        /// Syncs of the WAL, each for all writes that waited for it.
        WalSynced = "rocksdb.wal.synced";
        /// Bytes appended to WALs, headers of records among them.
        WalBytes = "rocksdb.wal.bytes";
        /// Writes.
        WriteDone = "rocksdb.write.self";
        /// Writes that went into the WAL.
        WriteWithWal = "rocksdb.write.wal";
        /// Bytes compactions read.
        CompactReadBytes = "rocksdb.compact.read.bytes";
        /// Bytes compactions wrote.
        CompactWriteBytes = "rocksdb.compact.write.bytes";
        /// Bytes flushes wrote, those of a recovery among them (which RocksDB counts as bytes of compactions).
        FlushWriteBytes = "rocksdb.flush.write.bytes";
        /// Bytes read by compactions of files that were marked.
        CompactReadBytesMarked = "rocksdb.compact.read.marked.bytes";
        /// Bytes read by compactions of files that were to be rewritten for their age.
        CompactReadBytesPeriodic = "rocksdb.compact.read.periodic.bytes";
        /// Bytes read by compactions of files whose time to live was over.
        CompactReadBytesTtl = "rocksdb.compact.read.ttl.bytes";
        /// Bytes written by compactions of files that were marked.
        CompactWriteBytesMarked = "rocksdb.compact.write.marked.bytes";
        /// Bytes written by compactions of files that were to be rewritten for their age.
        CompactWriteBytesPeriodic = "rocksdb.compact.write.periodic.bytes";
        /// Bytes written by compactions of files whose time to live was over.
        CompactWriteBytesTtl = "rocksdb.compact.write.ttl.bytes";
        /// Files moved down a level as they are.
        TrivialMoves = "esker.compaction.trivial.moves";
        /// Bytes of them.
        TrivialMoveBytes = "esker.compaction.trivial.move.bytes";
        /// Data blocks that compactions copied as they were stored.
        CompactionBlocksCopied = "esker.compaction.blocks.copied";
        /// Bytes of them, as stored, with their trailers.
        CompactionBytesCopied = "esker.compaction.bytes.copied";
        /// FIFO compactions that dropped files because there were too many bytes.
        FifoMaxSizeCompactions = "rocksdb.fifo.max.size.compactions";
        /// FIFO compactions that dropped files because of their age.
        FifoTtlCompactions = "rocksdb.fifo.ttl.compactions";
        /// FIFO compactions that gave a file another temperature.
        FifoChangeTemperatureCompactions = "rocksdb.fifo.change_temperature.compactions";
        /// Blocks of tables that were written compressed.
        BlocksCompressed = "rocksdb.number.block.compressed";
        /// Their bytes uncompressed.
        BytesCompressedFrom = "rocksdb.bytes.compressed.from";
        /// Their bytes as stored.
        BytesCompressedTo = "rocksdb.bytes.compressed.to";
        /// Blocks of data and index that were stored as they are because their compression saved too little.
        BlocksCompressionRejected = "rocksdb.number.block_compression_rejected";
        /// Their bytes.
        BytesCompressionRejected = "rocksdb.bytes.compression.rejected";
        /// Blocks of data and index that nobody tried to compress.
        BlocksCompressionBypassed = "rocksdb.number.block_compression_bypassed";
        /// Their bytes.
        BytesCompressionBypassed = "rocksdb.bytes.compression_bypassed";
        /// Blocks read that had to be uncompressed.
        BlocksDecompressed = "rocksdb.number.block.decompressed";
        /// Their bytes as stored.
        BytesDecompressedFrom = "rocksdb.bytes.decompressed.from";
        /// Their bytes uncompressed.
        BytesDecompressedTo = "rocksdb.bytes.decompressed.to";
        /// Nanoseconds that merge operators took.
        MergeOperationTotalTime = "rocksdb.merge.operation.time.nanos";
        /// Nanoseconds that compaction filters took.
        FilterOperationTotalTime = "rocksdb.filter.operation.time.nanos";
        /// Microseconds of CPU time that compactions took.
        CompactionCpuTotalTime = "rocksdb.compaction.total.time.cpu_micros";
        /// Files deleted.
        FilesDeletedImmediately = "rocksdb.files.deleted.immediately";
        /// Failures of background jobs and of the WAL that stopped the database.
        BgErrorCount = "rocksdb.error.handler.bg.error.count";
        /// Those that the file system reported.
        BgIoErrorCount = "rocksdb.error.handler.bg.io.error.count";
        /// I/O errors after which the database has begun to try to resume by itself.
        BgRetryableIoErrorCount = "rocksdb.error.handler.bg.retryable.io.error.count";
        /// Recoveries that have begun by themselves, those for lack of room included.
        AutoresumeCount = "rocksdb.error.handler.autoresume.count";
        /// Their attempts.
        AutoresumeRetryTotalCount = "rocksdb.error.handler.autoresume.retry.total.count";
        /// Those of their attempts that succeeded.
        AutoresumeSuccessCount = "rocksdb.error.handler.autoresume.success.count";
        /// Checksums of blocks computed to compare them.
        BlockChecksumComputeCount = "rocksdb.block.checksum.compute.count";
        /// Those that differed.
        BlockChecksumMismatchCount = "rocksdb.block.checksum.mismatch.count";
    }
}

named! {
    /// Something whose distribution is counted.
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
        /// Microseconds that a writer was held back at a time.
        WriteStall = "rocksdb.db.write.stall";
        /// Microseconds in which a value was read from a blob file, checked and uncompressed.
        BlobDbBlobFileReadMicros = "rocksdb.blobdb.blob.file.read.micros";
        /// Microseconds of a read from a table.
        SstReadMicros = "rocksdb.sst.read.micros";
        /// Those by compactions.
        FileReadCompactionMicros = "rocksdb.file.read.compaction.micros";
        /// Microseconds of an append to a table.
        SstWriteMicros = "rocksdb.sst.write.micros";
        /// Those by flushes.
        FileWriteFlushMicros = "rocksdb.file.write.flush.micros";
        /// Those by compactions.
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
        /// Merge operands that a Get put together.
        ReadNumMergeOperands = "rocksdb.read.num.merge_operands";
        /// Microseconds of a flush.
        FlushTime = "rocksdb.db.flush.micros";
        /// Microseconds that a read waited for a rate limiter.
        RateLimiterWaitMicrosRead = "rocksdb.rate.limiter.wait.micros.read";
        /// Microseconds that a write of a job waited for a rate limiter.
        RateLimiterWaitMicrosWrite = "rocksdb.rate.limiter.wait.micros.write";
        /// Bytes of memory of the memtables that a flush wrote.
        FlushMemtableMemoryBytes = "rocksdb.flush.memtable.memory.bytes";
        /// Attempts of a recovery that has begun by itself.
        AutoresumeRetryCount = "rocksdb.error.handler.autoresume.retry.count";
        /// Bytes that a Get had read from files by system calls; 0 where all was in memory, or in a map.
        BytesFromFilesPerGet = "esker.bytes.from.files.per.get";
        /// The calls that read them.
        ReadsOfFilesPerGet = "esker.reads.of.files.per.get";
    }
}
