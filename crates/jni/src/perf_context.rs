//! `org.rocksdb.PerfContext`: the counters of the calling thread.

use std::cell::Cell;
use std::fmt::Write;

use esker::{PerfLevel, perf};

use crate::env::JString;
use crate::fail::Result;
use crate::frame::{native, natives};
use crate::handles;

/// `org.rocksdb.PerfContext`. Each thread has its own counters; the object shows those of the thread that
/// uses it.
struct ContextObject;

fn context(handle: i64) -> Result<esker::PerfContext> {
    handles::get::<ContextObject>(handle)?;
    Ok(perf::context())
}

/// Declares a method that returns a counter of the engine.
macro_rules! count {
    ($method:literal, $field:ident) => {
        native!($method "J" fn(env, handle: i64) -> i64 { Ok(context(handle)?.$field as i64) });
    };
}

count!(
    "PerfContext_getBlockCacheFilterHitCount",
    block_cache_filter_hit_count
);
count!("PerfContext_getBlockCacheHitCount", block_cache_hit_count);
count!(
    "PerfContext_getBlockCacheIndexHitCount",
    block_cache_index_hit_count
);
count!("PerfContext_getBlockChecksumTime", block_checksum_time);
count!("PerfContext_getBlockDecompressTime", block_decompress_time);
count!("PerfContext_getBlockReadByte", block_read_byte);
count!("PerfContext_getBlockReadCount", block_read_count);
count!("PerfContext_getBlockReadTime", block_read_time);
count!("PerfContext_getBloomMemtableHitCount", bloom_memtable_hit_count);
count!("PerfContext_getBloomMemtableMissCount", bloom_memtable_miss_count);
count!("PerfContext_getBloomSstHitCount", bloom_sst_hit_count);
count!("PerfContext_getBloomSstMissCount", bloom_sst_miss_count);
count!("PerfContext_getFilterBlockReadCount", filter_block_read_count);
count!("PerfContext_getFindNextUserEntryTime", find_next_user_entry_time);
count!("PerfContext_getFromMemtableTime", get_from_memtable_time);
count!("PerfContext_getFromOutputFilesTime", get_from_output_files_time);
count!("PerfContext_getGetCpuNanos", get_cpu_nanos);
count!("PerfContext_getIndexBlockReadCount", index_block_read_count);
count!(
    "PerfContext_getInternalKeySkippedCount",
    internal_key_skipped_count
);
count!(
    "PerfContext_getInternalMergePointLookupCount",
    internal_merge_point_lookup_count
);
count!(
    "PerfContext_getInternalRangeDelReseekCount",
    internal_range_del_reseek_count
);
count!("PerfContext_getIterNextCpuNanos", iter_next_cpu_nanos);
count!("PerfContext_getIterPrevCpuNanos", iter_prev_cpu_nanos);
count!("PerfContext_getIterReadBytes", iter_read_bytes);
count!("PerfContext_getIterSeekCpuNanos", iter_seek_cpu_nanos);
count!("PerfContext_getMergeOperatorTimeNanos", merge_operator_time_nanos);
count!("PerfContext_getMultigetReadBytes", multiget_read_bytes);
count!("PerfContext_getReadBytes", get_read_bytes);
count!("PerfContext_getReadFilterBlockNanos", read_filter_block_nanos);
count!("PerfContext_getReadIndexBlockNanos", read_index_block_nanos);
count!("PerfContext_getSeekInternalSeekTime", seek_internal_seek_time);
count!("PerfContext_getWriteDelayTime", write_delay_time);
count!("PerfContext_getWriteMemtableTime", write_memtable_time);
count!("PerfContext_getWriteWalTime", write_wal_time);

// The engine does not have the following counters: they stay 0.
natives!(
    "PerfContext_getBlobCacheHitCount" "PerfContext_getBlobCacheReadByte" "PerfContext_getBlobChecksumTime"
    "PerfContext_getBlobDecompressTime" "PerfContext_getBlobReadByte" "PerfContext_getBlobReadCount"
    "PerfContext_getBlobReadTime" "PerfContext_getBlockCacheRealHandleCount"
    "PerfContext_getBlockCacheStandaloneHandleCount" "PerfContext_getBlockReadCpuTime"
    "PerfContext_getBlockSeekNanos" "PerfContext_getCompressedSecCacheCompressedBytes"
    "PerfContext_getCompressedSecCacheInsertDummyCount" "PerfContext_getCompressedSecCacheInsertRealCount"
    "PerfContext_getCompressedSecCacheUncompressedBytes" "PerfContext_getCompressionDictBlockReadCount"
    "PerfContext_getDbConditionWaitNanos" "PerfContext_getDbMutexLockNanos"
    "PerfContext_getDecryptDataNanos" "PerfContext_getEncryptDataNanos"
    "PerfContext_getEnvCreateDirIfMissingNanos" "PerfContext_getEnvCreateDirNanos"
    "PerfContext_getEnvDeleteDirNanos" "PerfContext_getEnvDeleteFileNanos"
    "PerfContext_getEnvFileExistsNanos" "PerfContext_getEnvGetChildrenFileAttributesNanos"
    "PerfContext_getEnvGetChildrenNanos" "PerfContext_getEnvGetFileModificationTimeNanos"
    "PerfContext_getEnvGetFileSizeNanos" "PerfContext_getEnvLinkFileNanos" "PerfContext_getEnvLockFileNanos"
    "PerfContext_getEnvNewDirectoryNanos" "PerfContext_getEnvNewLoggerNanos"
    "PerfContext_getEnvNewRandomAccessFileNanos" "PerfContext_getEnvNewRandomRwFileNanos"
    "PerfContext_getEnvNewSequentialFileNanos" "PerfContext_getEnvNewWritableFileNanos"
    "PerfContext_getEnvRenameFileNanos" "PerfContext_getEnvReuseWritableFileNanos"
    "PerfContext_getEnvUnlockFileNanos" "PerfContext_getFindTableNanos" "PerfContext_getFromMemtableCount"
    "PerfContext_getInternalDeleteSkippedCount" "PerfContext_getInternalMergeCount"
    "PerfContext_getInternalRecentSkippedCount" "PerfContext_getKeyLockWaitCount"
    "PerfContext_getKeyLockWaitTime" "PerfContext_getNewTableBlockIterNanos"
    "PerfContext_getNewTableIteratorNanos" "PerfContext_getNextOnMemtableCount"
    "PerfContext_getNumberAsyncSeek" "PerfContext_getPostProcessTime" "PerfContext_getPrevOnMemtableCount"
    "PerfContext_getSecondaryCacheHitCount" "PerfContext_getSeekChildSeekCount"
    "PerfContext_getSeekChildSeekTime" "PerfContext_getSeekMaxHeapTime" "PerfContext_getSeekMinHeapTime"
    "PerfContext_getSeekOnMemtableCount" "PerfContext_getSeekOnMemtableTime" "PerfContext_getSnapshotTime"
    "PerfContext_getUserKeyComparisonCount" "PerfContext_getWritePreAndPostProcessTime"
    "PerfContext_getWriteSchedulingFlushesCompactionsTime" "PerfContext_getWriteThreadWaitNanos";
    { "J" fn(env, handle: i64) -> i64 { context(handle).map(|_| 0) } }
);

native!("PerfContext_reset" "J" fn(env, handle: i64) {
    context(handle)?;
    perf::reset();
    Ok(())
});

native!("PerfContext_toString" "JZ" fn(env, handle: i64, exclude_zero: bool) -> JString {
    let mut text = String::new();
    for (name, value) in context(handle)?.fields().filter(|(_, value)| !exclude_zero || *value > 0) {
        let _ = write!(text, "{name} = {value}, ");
    }
    env.new_string(text.trim_end_matches(", "))
});

thread_local! {
    static WAS_LEVEL_SET: Cell<bool> = const { Cell::new(false) };
}

// RocksDB's threads count from their start. Threads of the engine count from the first request for their
// context, unless they have set a level.
native!("RocksDB_getPerfContextNative" "" fn(env) -> i64 {
    if !WAS_LEVEL_SET.get() {
        perf::set_level(PerfLevel::EnableCount);
    }
    Ok(handles::insert(ContextObject))
});

/// Returns the level of a number of RocksJava, which has no level for waits alone.
fn level(number: i8) -> Option<PerfLevel> {
    Some(match number {
        1 => PerfLevel::Disable,
        2 => PerfLevel::EnableCount,
        3 => PerfLevel::EnableTimeExceptForMutex,
        4 => PerfLevel::EnableTimeAndCpuTimeExceptForMutex,
        5 => PerfLevel::EnableTime,
        _ => return None,
    })
}

// Java refuses numbers without a level.
native!("RocksDB_setPerfLevel" "B" fn(env, number: i8) {
    if let Some(level) = level(number) {
        WAS_LEVEL_SET.set(true);
        perf::set_level(level);
    }
    Ok(())
});

native!("RocksDB_getPerfLevelNative" "" fn(env) -> i8 {
    if !WAS_LEVEL_SET.get() {
        return Ok(2);
    }
    Ok(match perf::level() {
        PerfLevel::Disable => 1,
        PerfLevel::EnableCount | PerfLevel::EnableWait => 2,
        PerfLevel::EnableTimeExceptForMutex => 3,
        PerfLevel::EnableTimeAndCpuTimeExceptForMutex => 4,
        PerfLevel::EnableTime => 5,
    })
});
