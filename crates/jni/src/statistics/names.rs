//! The names of tickers and histograms in RocksJava and in RocksDB.

/// Returns RocksDB's name of a ticker or histogram from RocksJava's constant.
pub fn rocksdb_name(constant: &str) -> String {
    match OTHERWISE.iter().find(|(java, _)| *java == constant) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("rocksdb.{}", constant.to_ascii_lowercase().replace('_', ".")),
    }
}

/// The constants whose names do not follow the rule.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "BLOB_DB_BLOB_FILE_READ_MICROS",
        "rocksdb.blobdb.blob.file.read.micros",
    ),
    (
        "BLOB_DB_BLOB_FILE_SYNC_MICROS",
        "rocksdb.blobdb.blob.file.sync.micros",
    ),
    (
        "BLOB_DB_BLOB_FILE_WRITE_MICROS",
        "rocksdb.blobdb.blob.file.write.micros",
    ),
    ("BLOB_DB_COMPRESSION_MICROS", "rocksdb.blobdb.compression.micros"),
    (
        "BLOB_DB_DECOMPRESSION_MICROS",
        "rocksdb.blobdb.decompression.micros",
    ),
    ("BLOB_DB_GET_MICROS", "rocksdb.blobdb.get.micros"),
    ("BLOB_DB_KEY_SIZE", "rocksdb.blobdb.key.size"),
    ("BLOB_DB_MULTIGET_MICROS", "rocksdb.blobdb.multiget.micros"),
    ("BLOB_DB_NEXT_MICROS", "rocksdb.blobdb.next.micros"),
    ("BLOB_DB_PREV_MICROS", "rocksdb.blobdb.prev.micros"),
    ("BLOB_DB_SEEK_MICROS", "rocksdb.blobdb.seek.micros"),
    ("BLOB_DB_VALUE_SIZE", "rocksdb.blobdb.value.size"),
    ("BLOB_DB_WRITE_MICROS", "rocksdb.blobdb.write.micros"),
    ("COMPACTION_CPU_TIME", "rocksdb.compaction.times.cpu_micros"),
    ("COMPACTION_TIME", "rocksdb.compaction.times.micros"),
    ("DB_GET", "rocksdb.db.get.micros"),
    ("DB_MULTIGET", "rocksdb.db.multiget.micros"),
    ("DB_SEEK", "rocksdb.db.seek.micros"),
    ("DB_WRITE", "rocksdb.db.write.micros"),
    (
        "FLUSH_MEMTABLE_TOTAL_DATA_SIZE",
        "rocksdb.flush.memtable.total.data.size.bytes",
    ),
    ("FLUSH_TIME", "rocksdb.db.flush.micros"),
    (
        "FLUSH_WRITE_BUFFER_FULL_MEMTABLE_MEMORY_BYTES",
        "rocksdb.flush.write_buffer_full.memtable.memory.bytes",
    ),
    (
        "FLUSH_WRITE_BUFFER_MANAGER_MEMTABLE_MEMORY_BYTES",
        "rocksdb.flush.write_buffer_manager.memtable.memory.bytes",
    ),
    (
        "INGEST_EXTERNAL_FILE_PREPARE_TIME",
        "rocksdb.ingest.external.file.prepare.micros",
    ),
    (
        "INGEST_EXTERNAL_FILE_RUN_TIME",
        "rocksdb.ingest.external.file.run.micros",
    ),
    (
        "IO_DISPATCHER_ASYNC_READ_OBSERVED_COMPLETION_MICROS",
        "rocksdb.iodispatcher.async.read.observed.completion.micros",
    ),
    (
        "IO_DISPATCHER_ASYNC_READ_POLL_WAIT_MICROS",
        "rocksdb.iodispatcher.async.read.poll.wait.micros",
    ),
    (
        "IO_DISPATCHER_ASYNC_READ_PREFETCH_LEAD_MICROS",
        "rocksdb.iodispatcher.async.read.prefetch.lead.micros",
    ),
    (
        "NUM_FILES_IN_SINGLE_COMPACTION",
        "rocksdb.numfiles.in.singlecompaction",
    ),
    ("READ_NUM_MERGE_OPERANDS", "rocksdb.read.num.merge_operands"),
    (
        "SUBCOMPACTION_SETUP_TIME",
        "rocksdb.subcompaction.setup.times.micros",
    ),
    ("WRITE_STALL", "rocksdb.db.write.stall"),
    (
        "ATOMIC_FLUSH_REQUEST_REASON_MEMTABLE_MAX_RANGE_DELETIONS",
        "rocksdb.atomic_flush.request.reason.memtable_max_range_deletions",
    ),
    (
        "ATOMIC_FLUSH_REQUEST_REASON_OTHER",
        "rocksdb.atomic_flush.request.reason.other",
    ),
    (
        "ATOMIC_FLUSH_REQUEST_REASON_WRITE_BUFFER_FULL",
        "rocksdb.atomic_flush.request.reason.write_buffer_full",
    ),
    (
        "ATOMIC_FLUSH_REQUEST_REASON_WRITE_BUFFER_MANAGER",
        "rocksdb.atomic_flush.request.reason.write_buffer_manager",
    ),
    (
        "BLOB_DB_BLOB_FILE_BYTES_READ",
        "rocksdb.blobdb.blob.file.bytes.read",
    ),
    (
        "BLOB_DB_BLOB_FILE_BYTES_WRITTEN",
        "rocksdb.blobdb.blob.file.bytes.written",
    ),
    ("BLOB_DB_BLOB_FILE_SYNCED", "rocksdb.blobdb.blob.file.synced"),
    (
        "BLOB_DB_BLOB_INDEX_EVICTED_COUNT",
        "rocksdb.blobdb.blob.index.evicted.count",
    ),
    (
        "BLOB_DB_BLOB_INDEX_EVICTED_SIZE",
        "rocksdb.blobdb.blob.index.evicted.size",
    ),
    (
        "BLOB_DB_BLOB_INDEX_EXPIRED_COUNT",
        "rocksdb.blobdb.blob.index.expired.count",
    ),
    (
        "BLOB_DB_BLOB_INDEX_EXPIRED_SIZE",
        "rocksdb.blobdb.blob.index.expired.size",
    ),
    ("BLOB_DB_BYTES_READ", "rocksdb.blobdb.bytes.read"),
    ("BLOB_DB_BYTES_WRITTEN", "rocksdb.blobdb.bytes.written"),
    ("BLOB_DB_CACHE_ADD", "rocksdb.blobdb.cache.add"),
    ("BLOB_DB_CACHE_ADD_FAILURES", "rocksdb.blobdb.cache.add.failures"),
    ("BLOB_DB_CACHE_BYTES_READ", "rocksdb.blobdb.cache.bytes.read"),
    ("BLOB_DB_CACHE_BYTES_WRITE", "rocksdb.blobdb.cache.bytes.write"),
    ("BLOB_DB_CACHE_HIT", "rocksdb.blobdb.cache.hit"),
    ("BLOB_DB_CACHE_MISS", "rocksdb.blobdb.cache.miss"),
    ("BLOB_DB_FIFO_BYTES_EVICTED", "rocksdb.blobdb.fifo.bytes.evicted"),
    (
        "BLOB_DB_FIFO_NUM_FILES_EVICTED",
        "rocksdb.blobdb.fifo.num.files.evicted",
    ),
    (
        "BLOB_DB_FIFO_NUM_KEYS_EVICTED",
        "rocksdb.blobdb.fifo.num.keys.evicted",
    ),
    ("BLOB_DB_GC_BYTES_RELOCATED", "rocksdb.blobdb.gc.bytes.relocated"),
    ("BLOB_DB_GC_FAILURES", "rocksdb.blobdb.gc.failures"),
    ("BLOB_DB_GC_NUM_FILES", "rocksdb.blobdb.gc.num.files"),
    (
        "BLOB_DB_GC_NUM_KEYS_RELOCATED",
        "rocksdb.blobdb.gc.num.keys.relocated",
    ),
    ("BLOB_DB_GC_NUM_NEW_FILES", "rocksdb.blobdb.gc.num.new.files"),
    ("BLOB_DB_NUM_GET", "rocksdb.blobdb.num.get"),
    ("BLOB_DB_NUM_KEYS_READ", "rocksdb.blobdb.num.keys.read"),
    ("BLOB_DB_NUM_KEYS_WRITTEN", "rocksdb.blobdb.num.keys.written"),
    ("BLOB_DB_NUM_MULTIGET", "rocksdb.blobdb.num.multiget"),
    ("BLOB_DB_NUM_NEXT", "rocksdb.blobdb.num.next"),
    ("BLOB_DB_NUM_PREV", "rocksdb.blobdb.num.prev"),
    ("BLOB_DB_NUM_PUT", "rocksdb.blobdb.num.put"),
    ("BLOB_DB_NUM_SEEK", "rocksdb.blobdb.num.seek"),
    ("BLOB_DB_NUM_WRITE", "rocksdb.blobdb.num.write"),
    ("BLOB_DB_WRITE_BLOB", "rocksdb.blobdb.write.blob"),
    ("BLOB_DB_WRITE_BLOB_TTL", "rocksdb.blobdb.write.blob.ttl"),
    ("BLOB_DB_WRITE_INLINED", "rocksdb.blobdb.write.inlined"),
    ("BLOB_DB_WRITE_INLINED_TTL", "rocksdb.blobdb.write.inlined.ttl"),
    ("BYTES_COMPRESSION_BYPASSED", "rocksdb.bytes.compression_bypassed"),
    (
        "COMPACTION_CPU_TOTAL_TIME",
        "rocksdb.compaction.total.time.cpu_micros",
    ),
    (
        "COMPACTION_KEY_DROP_NEWER_ENTRY",
        "rocksdb.compaction.key.drop.new",
    ),
    (
        "COMPACTION_KEY_DROP_RANGE_DEL",
        "rocksdb.compaction.key.drop.range_del",
    ),
    (
        "COMPACTION_RANGE_DEL_DROP_OBSOLETE",
        "rocksdb.compaction.range_del.drop.obsolete",
    ),
    ("COMPACT_READ_BYTES_MARKED", "rocksdb.compact.read.marked.bytes"),
    (
        "COMPACT_READ_BYTES_PERIODIC",
        "rocksdb.compact.read.periodic.bytes",
    ),
    ("COMPACT_READ_BYTES_TTL", "rocksdb.compact.read.ttl.bytes"),
    ("COMPACT_WRITE_BYTES_MARKED", "rocksdb.compact.write.marked.bytes"),
    (
        "COMPACT_WRITE_BYTES_PERIODIC",
        "rocksdb.compact.write.periodic.bytes",
    ),
    ("COMPACT_WRITE_BYTES_TTL", "rocksdb.compact.write.ttl.bytes"),
    (
        "FIFO_CHANGE_TEMPERATURE_COMPACTIONS",
        "rocksdb.fifo.change_temperature.compactions",
    ),
    (
        "FILES_DELETED_FROM_TRASH_QUEUE",
        "rocksdb.files.marked.trash.deleted",
    ),
    (
        "FILTER_OPERATION_TOTAL_TIME",
        "rocksdb.filter.operation.time.nanos",
    ),
    (
        "FLUSH_REASON_MEMTABLE_MAX_RANGE_DELETIONS",
        "rocksdb.flush.reason.memtable_max_range_deletions",
    ),
    (
        "FLUSH_REASON_WRITE_BUFFER_FULL",
        "rocksdb.flush.reason.write_buffer_full",
    ),
    (
        "FLUSH_REASON_WRITE_BUFFER_MANAGER",
        "rocksdb.flush.reason.write_buffer_manager",
    ),
    ("GET_HIT_L0", "rocksdb.l0.hit"),
    ("GET_HIT_L1", "rocksdb.l1.hit"),
    ("GET_HIT_L2_AND_UP", "rocksdb.l2andup.hit"),
    ("GET_UPDATES_SINCE_CALLS", "rocksdb.getupdatessince.calls"),
    ("ITER_BYTES_READ", "rocksdb.db.iter.bytes.read"),
    ("MERGE_OPERATION_TOTAL_TIME", "rocksdb.merge.operation.time.nanos"),
    ("NO_ITERATOR_CREATED", "rocksdb.num.iterator.created"),
    ("NO_ITERATOR_DELETED", "rocksdb.num.iterator.deleted"),
    (
        "NUMBER_BLOCK_COMPRESSION_BYPASSED",
        "rocksdb.number.block_compression_bypassed",
    ),
    (
        "NUMBER_BLOCK_COMPRESSION_REJECTED",
        "rocksdb.number.block_compression_rejected",
    ),
    ("NUMBER_MULTIGET_CALLS", "rocksdb.number.multiget.get"),
    (
        "NUMBER_OF_RESEEKS_IN_ITERATION",
        "rocksdb.number.reseeks.iteration",
    ),
    ("NUMBER_RATE_LIMITER_DRAINS", "rocksdb.number.rate_limiter.drains"),
    (
        "NUMBER_SUPERVERSION_ACQUIRES",
        "rocksdb.number.superversion_acquires",
    ),
    (
        "NUMBER_SUPERVERSION_CLEANUPS",
        "rocksdb.number.superversion_cleanups",
    ),
    (
        "NUMBER_SUPERVERSION_RELEASES",
        "rocksdb.number.superversion_releases",
    ),
    ("SST_FOOTER_CORRUPTION_COUNT", "rocksdb.footer.corruption.count"),
    ("TXN_DUPLICATE_KEY_OVERHEAD", "rocksdb.txn.overhead.duplicate.key"),
    ("TXN_GET_TRY_AGAIN", "rocksdb.txn.get.tryagain"),
    (
        "TXN_OLD_COMMIT_MAP_MUTEX_OVERHEAD",
        "rocksdb.txn.overhead.mutex.old.commit.map",
    ),
    ("TXN_PREPARE_MUTEX_OVERHEAD", "rocksdb.txn.overhead.mutex.prepare"),
    (
        "TXN_SNAPSHOT_MUTEX_OVERHEAD",
        "rocksdb.txn.overhead.mutex.snapshot",
    ),
    ("VERIFY_CHECKSUM_READ_BYTES", "rocksdb.verify_checksum.read.bytes"),
    ("WAL_FILE_BYTES", "rocksdb.wal.bytes"),
    ("WAL_FILE_SYNCED", "rocksdb.wal.synced"),
    ("WRITE_DONE_BY_OTHER", "rocksdb.write.other"),
    ("WRITE_DONE_BY_SELF", "rocksdb.write.self"),
    ("WRITE_WITH_WAL", "rocksdb.write.wal"),
];
