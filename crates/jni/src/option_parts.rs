//! The objects that options hold, the constructors and copies of option classes, and presets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use base::UserComparator;
use esker::{
    BlockBasedOptions, Cache, CacheOptions, ColumnFamilyOptions, DataBlockIndexType, FilterPolicy,
    SstPartitionerFixedPrefixFactory,
};
use jni_sys::{jlong, jvalue};

use crate::cache::{CacheObject, RateLimiterObject, WriteBufferManagerObject};
use crate::env::{Env, JByteArray, JIntArray, JLongArray, JObject, JObjects, JString, JStrings};
use crate::environment::Environment;
use crate::fail::{Fail, Result};
use crate::frame::{native, natives};
use crate::handles;
use crate::listener::ListenerObject;
use crate::logger::LoggerObject;
use crate::merge::MergeObject;
use crate::settings::{BLOCK_BASED, Inner, Memtable, Settings, Table, Value};
use crate::slice::SliceObject;
use crate::snapshot::SnapshotObject;
use crate::sst_file_manager::SstFileManagerObject;
use crate::statistics::StatisticsObject;

fn new() -> Result<jlong> {
    Ok(handles::insert(Settings::default()))
}

fn copy(handle: jlong) -> Result<jlong> {
    Ok(handles::insert(Settings::of(
        handles::get::<Settings>(handle)?.copy(),
    )))
}

fn change<R>(handle: jlong, change: impl FnOnce(&mut Inner) -> R) -> Result<R> {
    Ok(handles::get::<Settings>(handle)?.change(change))
}

fn look<R>(handle: jlong, look: impl FnOnce(&Inner) -> R) -> Result<R> {
    Ok(handles::get::<Settings>(handle)?.look(look))
}

natives!("Options_newOptions" "DBOptions_newDBOptions" "ColumnFamilyOptions_newColumnFamilyOptions"
    "ReadOptions_newReadOptions" "WriteOptions_newWriteOptions" "FlushOptions_newFlushOptions"
    "CompactRangeOptions_newCompactRangeOptions" "CompactionOptions_newCompactionOptions"
    "CompactionOptionsUniversal_newCompactionOptionsUniversal" "CompactionOptionsFIFO_newCompactionOptionsFIFO"
    "CompressionOptions_newCompressionOptions" "IngestExternalFileOptions_newIngestExternalFileOptions"
    "ImportColumnFamilyOptions_newImportColumnFamilyOptions" "EnvOptions_newEnvOptions"
    "TransactionOptions_newTransactionOptions" "TransactionDBOptions_newTransactionDBOptions"
    "OptimisticTransactionOptions_newOptimisticTransactionOptions" "ComparatorOptions_newComparatorOptions"
    "ConfigOptions_newConfigOptions"; { "" fn(env) -> i64 {
    crate::release::probe(&env);
    new()
}});

natives!("Options_copyOptions" "DBOptions_copyDBOptions" "ColumnFamilyOptions_copyColumnFamilyOptions"
    "ReadOptions_copyReadOptions" "WriteOptions_copyWriteOptions"; { "J" fn(env, options: i64) -> i64 { copy(options) }});

native!("Options_newOptions" "JJ" fn(env, db: i64, family: i64) -> i64 {
    let mut inner = handles::get::<Settings>(db)?.copy();
    inner.join(handles::get::<Settings>(family)?.copy());
    Ok(handles::insert(Settings::of(inner)))
});

// The handle of an `Options` has the settings of databases and of families, so that either can be copied.
natives!("DBOptions_newDBOptionsFromOptions" "ColumnFamilyOptions_newColumnFamilyOptionsFromOptions"; {
    "J" fn(env, options: i64) -> i64 { copy(options) }
});

native!("ReadOptions_newReadOptions" "ZZ" fn(env, verify: bool, fill: bool) -> i64 {
    let handle = new()?;
    change(handle, |inner| {
        inner.set("verify_checksums", Value::Int(i64::from(verify)));
        inner.set("fill_cache", Value::Int(i64::from(fill)));
    })?;
    Ok(handle)
});

native!("EnvOptions_newEnvOptions" "J" fn(env, options: i64) -> i64 { copy(options) });

native!("IngestExternalFileOptions_newIngestExternalFileOptions" "ZZZZ" fn(
    env, move_files: bool, snapshot_consistency: bool, allow_global_seqno: bool, allow_blocking_flush: bool
) -> i64 {
    let handle = new()?;
    change(handle, |inner| {
        for (name, value) in [
            ("move_files", move_files),
            ("snapshot_consistency", snapshot_consistency),
            ("allow_global_seq_no", allow_global_seqno),
            ("allow_blocking_flush", allow_blocking_flush),
        ] {
            inner.set(name, Value::Int(i64::from(value)));
        }
    })?;
    Ok(handle)
});

// ---- Objects of databases.

natives!("Options_setEnv" "DBOptions_setEnv"; { "JJ" fn(env, options: i64, environment: i64) {
    let environment = handles::get::<Environment>(environment)?.clone();
    change(options, |inner| inner.parts.env = Some(environment))
}});

natives!("Options_setStatistics" "DBOptions_setStatistics"; { "JJ" fn(env, options: i64, statistics: i64) {
    let given = Arc::clone(&handles::get::<StatisticsObject>(statistics)?.0);
    change(options, |inner| inner.parts.statistics = Some((given, statistics)))
}});

// The Java object that is created over the returned handle owns the handle.
natives!("Options_statistics" "DBOptions_statistics"; { "J" fn(env, options: i64) -> i64 {
    let statistics = look(options, |inner| inner.parts.statistics.clone())?;
    Ok(match statistics {
        None => 0,
        Some((_, handle)) if handles::get::<StatisticsObject>(handle).is_ok() => handle,
        // The Java object was closed before.
        Some((statistics, _)) => handles::insert(StatisticsObject(statistics)),
    })
}});

natives!("Options_setRateLimiter" "DBOptions_setRateLimiter"; { "JJ" fn(env, options: i64, limiter: i64) {
    let limiter = Arc::clone(&handles::get::<RateLimiterObject>(limiter)?.0);
    change(options, |inner| inner.parts.rate_limiter = Some(limiter))
}});

natives!("Options_setWriteBufferManager" "DBOptions_setWriteBufferManager"; { "JJ" fn(env, options: i64, manager: i64) {
    let manager = Arc::clone(&handles::get::<WriteBufferManagerObject>(manager)?.0);
    change(options, |inner| inner.parts.write_buffer_manager = Some(manager))
}});

fn set_logger(options: jlong, logger: jlong) -> Result<()> {
    let logger = Arc::clone(&handles::get::<LoggerObject>(logger)?.0);
    change(options, |inner| inner.parts.info_log = Some(logger))
}

// The two signatures are those of releases before 8.11 and of later ones.
natives!("Options_setLogger" "DBOptions_setLogger"; { "JJ" fn(env, options: i64, logger: i64) {
    set_logger(options, logger)
}});

natives!("Options_setLogger" "DBOptions_setLogger"; { "JJB" fn(env, options: i64, logger: i64, kind: i8) {
    set_logger(options, logger)
}});

natives!("Options_setIncreaseParallelism" "DBOptions_setIncreaseParallelism"; { "JI" fn(env, options: i64, threads: i32) {
    change(options, |inner| inner.set("max_background_jobs", Value::Int(i64::from(threads))))
}});

natives!("Options_setRowCache" "DBOptions_setRowCache"; { "JJ" fn(env, options: i64, cache: i64) {
    let cache = handles::optional::<CacheObject>(cache)?.map(|cache| Arc::clone(&cache.0));
    change(options, |inner| inner.parts.row_cache = cache)
}});

natives!("Options_setSstFileManager" "DBOptions_setSstFileManager"; { "JJ" fn(env, options: i64, manager: i64) {
    let manager = handles::optional::<SstFileManagerObject>(manager)?.map(|manager| Arc::clone(&manager.0));
    change(options, |inner| inner.parts.sst_file_manager = manager)
}});

type Paths = fn(&mut Inner) -> &mut Vec<(String, jlong)>;

fn set_paths(env: &Env<'_>, options: jlong, list: Paths, paths: JStrings, sizes: JLongArray) -> Result<()> {
    let paths = env.strings(paths)?.into_iter().zip(env.longs(sizes)?).collect();
    change(options, |inner| *list(inner) = paths)
}

fn paths(env: &Env<'_>, options: jlong, list: Paths, paths: JStrings, sizes: JLongArray) -> Result<()> {
    let given = change(options, |inner| list(inner).clone())?;
    for (at, (path, _)) in given.iter().enumerate() {
        let text = env.new_string(path)?;
        env.set_element(paths.0, at, text.0)?;
        env.forget(text.0);
    }
    let given: Vec<jlong> = given.into_iter().map(|(_, size)| size).collect();
    env.set_longs(sizes, &given)
}

natives!("Options_setDbPaths" "DBOptions_setDbPaths"; { "J_3Ljava_lang_String_2_3J" fn(
    env, options: i64, list: JStrings, sizes: JLongArray
) {
    set_paths(&env, options, |inner| &mut inner.parts.db_paths, list, sizes)
}});

natives!("Options_dbPathsLen" "DBOptions_dbPathsLen"; { "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.db_paths.len() as i64)
}});

natives!("Options_dbPaths" "DBOptions_dbPaths"; { "J_3Ljava_lang_String_2_3J" fn(
    env, options: i64, list: JStrings, sizes: JLongArray
) {
    paths(&env, options, |inner| &mut inner.parts.db_paths, list, sizes)
}});

natives!("Options_setCfPaths" "ColumnFamilyOptions_setCfPaths"; { "J_3Ljava_lang_String_2_3J" fn(
    env, options: i64, list: JStrings, sizes: JLongArray
) {
    set_paths(&env, options, |inner| &mut inner.parts.cf_paths, list, sizes)
}});

natives!("Options_cfPathsLen" "ColumnFamilyOptions_cfPathsLen"; { "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.cf_paths.len() as i64)
}});

natives!("Options_cfPaths" "ColumnFamilyOptions_cfPaths"; { "J_3Ljava_lang_String_2_3J" fn(
    env, options: i64, list: JStrings, sizes: JLongArray
) {
    paths(&env, options, |inner| &mut inner.parts.cf_paths, list, sizes)
}});

natives!("Options_setEventListeners" "DBOptions_setEventListeners"; { "J_3J" fn(
    env, options: i64, listeners: JLongArray
) {
    let given = env
        .longs(listeners)?
        .into_iter()
        .map(|listener| Ok(Arc::clone(&handles::get::<ListenerObject>(listener)?.0)))
        .collect::<Result<Vec<_>>>()?;
    change(options, |inner| inner.parts.listeners = given)
}});

natives!("Options_eventListeners" "DBOptions_eventListeners"; { "J" fn(env, options: i64) -> JObjects {
    let listeners = look(options, |inner| inner.parts.listeners.clone())?;
    let array = env.object_array("org/rocksdb/AbstractEventListener", listeners.len())?;
    for (at, listener) in listeners.iter().enumerate() {
        env.set_element(array, at, listener.object.reference())?;
    }
    Ok(JObjects(array))
}});

natives!("Options_setWalFilter" "DBOptions_setWalFilter"; { "JJ" fn(env, options: i64, filter: i64) {
    let filter = crate::filters::wal_filter(filter)?;
    change(options, |inner| inner.parts.wal_filter = Some(filter))
}});

// ---- Objects of families.

natives!("Options_setComparatorHandle" "ColumnFamilyOptions_setComparatorHandle"; { "JI" fn(
    env, options: i64, builtin: i32
) {
    change(options, |inner| {
        inner.parts.comparator = Some(match builtin {
            1 => UserComparator::ReverseBytewise,
            _ => UserComparator::Bytewise,
        });
    })
}});

natives!("Options_setComparatorHandle" "ColumnFamilyOptions_setComparatorHandle"; { "JJB" fn(
    env, options: i64, comparator: i64, kind: i8
) {
    let comparator = crate::comparator::user(comparator)?;
    change(options, |inner| inner.parts.comparator = Some(comparator))
}});

natives!("Options_setMergeOperatorName" "ColumnFamilyOptions_setMergeOperatorName"; { "JLjava_lang_String_2" fn(
    env, options: i64, name: JString
) {
    let operator = base::merge::builtin(&env.string(name)?);
    change(options, |inner| inner.parts.merge_operator = operator)
}});

natives!("Options_setMergeOperator" "ColumnFamilyOptions_setMergeOperator"; { "JJ" fn(env, options: i64, operator: i64) {
    let operator = Arc::clone(&handles::get::<MergeObject>(operator)?.operator);
    change(options, |inner| inner.parts.merge_operator = Some(operator))
}});

natives!("Options_setCompactionFilterHandle" "ColumnFamilyOptions_setCompactionFilterHandle"; { "JJ" fn(
    env, options: i64, filter: i64
) {
    let filter = crate::compaction_filter::factory_of_filter(filter)?;
    change(options, |inner| inner.parts.compaction_filter = Some(filter))
}});

natives!("Options_setCompactionFilterFactoryHandle" "ColumnFamilyOptions_setCompactionFilterFactoryHandle"; { "JJ" fn(
    env, options: i64, factory: i64
) {
    let factory = crate::compaction_filter::factory(factory)?;
    change(options, |inner| inner.parts.compaction_filter_factory = Some(factory))
}});

natives!("Options_useFixedLengthPrefixExtractor" "ColumnFamilyOptions_useFixedLengthPrefixExtractor"; { "JI" fn(
    env, options: i64, length: i32
) {
    let extractor = base::prefix::builtin(&format!("rocksdb.FixedPrefix.{}", length.max(0)));
    change(options, |inner| inner.parts.prefix_extractor = extractor)
}});

natives!("Options_useCappedPrefixExtractor" "ColumnFamilyOptions_useCappedPrefixExtractor"; { "JI" fn(
    env, options: i64, length: i32
) {
    let extractor = base::prefix::builtin(&format!("rocksdb.CappedPrefix.{}", length.max(0)));
    change(options, |inner| inner.parts.prefix_extractor = extractor)
}});

natives!("Options_setTableFactory" "ColumnFamilyOptions_setTableFactory"; { "JJ" fn(env, options: i64, table: i64) {
    let table = handles::get::<Table>(table)?.clone();
    change(options, |inner| {
        match table.persistent_cache {
            true => inner.parts.kept.insert("persistent_cache", "given".to_owned()),
            false => inner.parts.kept.remove("persistent_cache"),
        };
        // Other formats are kept by name: block-based tables are written.
        match table.name {
            BLOCK_BASED => inner.parts.kept.remove("table_factory"),
            name => inner.parts.kept.insert("table_factory", name.to_owned()),
        };
        inner.parts.table = Some(table);
    })
}});

natives!("Options_tableFactoryName" "ColumnFamilyOptions_tableFactoryName"; { "J" fn(env, options: i64) -> JString {
    let name = look(options, |inner| inner.parts.table.as_ref().map_or(BLOCK_BASED, |table| table.name))?;
    env.new_string(name)
}});

natives!("Options_setMemTableFactory" "ColumnFamilyOptions_setMemTableFactory"; { "JJ" fn(env, options: i64, memtable: i64) {
    let memtable = *handles::get::<Memtable>(memtable)?;
    change(options, |inner| {
        inner.parts.memtable = Some(memtable);
        // Memtables that the engine does not implement are kept by name.
        match memtable.factory {
            None => inner.parts.kept.insert("memtable_factory", memtable.name.to_owned()),
            Some(_) => inner.parts.kept.remove("memtable_factory"),
        };
    })
}});

natives!("Options_memTableFactoryName" "ColumnFamilyOptions_memTableFactoryName"; { "J" fn(env, options: i64) -> JString {
    let name = look(options, |inner| inner.parts.memtable.map_or("SkipListFactory", |memtable| memtable.name))?;
    env.new_string(name)
}});

natives!("Options_setCompressionPerLevel" "ColumnFamilyOptions_setCompressionPerLevel"; { "J_3B" fn(
    env, options: i64, levels: JByteArray
) {
    let levels = env.whole(levels)?.iter().map(|byte| *byte as i8).collect();
    change(options, |inner| inner.parts.compression_per_level = levels)
}});

natives!("Options_compressionPerLevel" "ColumnFamilyOptions_compressionPerLevel"; { "J" fn(env, options: i64) -> JByteArray {
    let levels: Vec<u8> = look(options, |inner| inner.parts.compression_per_level.iter().map(|byte| *byte as u8).collect())?;
    env.byte_array(&levels)
}});

natives!("Options_setMaxBytesForLevelMultiplierAdditional"
    "ColumnFamilyOptions_setMaxBytesForLevelMultiplierAdditional"; { "J_3I" fn(env, options: i64, list: JIntArray) {
    let list = env.ints(list)?;
    change(options, |inner| inner.parts.level_multipliers = list)
}});

natives!("Options_maxBytesForLevelMultiplierAdditional" "ColumnFamilyOptions_maxBytesForLevelMultiplierAdditional"; {
    "J" fn(env, options: i64) -> JIntArray {
    let list = look(options, |inner| inner.parts.level_multipliers.clone())?;
    env.int_array(if list.is_empty() { &[1; 7] } else { &list })
}});

natives!("Options_setCompressionOptions" "ColumnFamilyOptions_setCompressionOptions"; { "JJ" fn(env, options: i64, given: i64) {
    let given = handles::get::<Settings>(given)?.copy();
    change(options, |inner| inner.parts.compression = Some(Box::new(given)))
}});

natives!("Options_setBottommostCompressionOptions" "ColumnFamilyOptions_setBottommostCompressionOptions"; { "JJ" fn(
    env, options: i64, given: i64
) {
    let given = handles::get::<Settings>(given)?.copy();
    change(options, |inner| inner.parts.bottommost_compression = Some(Box::new(given)))
}});

natives!("Options_setCompactionOptionsUniversal" "ColumnFamilyOptions_setCompactionOptionsUniversal"; { "JJ" fn(
    env, options: i64, given: i64
) {
    let given = handles::get::<Settings>(given)?.copy();
    change(options, |inner| inner.parts.universal = Some(Box::new(given)))
}});

natives!("Options_setCompactionOptionsFIFO" "ColumnFamilyOptions_setCompactionOptionsFIFO"; { "JJ" fn(
    env, options: i64, given: i64
) {
    let given = handles::get::<Settings>(given)?.copy();
    change(options, |inner| inner.parts.fifo = Some(Box::new(given)))
}});

natives!("Options_setMaxTableFilesSizeFIFO" "ColumnFamilyOptions_setMaxTableFilesSizeFIFO"; { "JJ" fn(
    env, options: i64, bytes: i64
) {
    change(options, |inner| {
        inner.parts.fifo.get_or_insert_default().set("max_table_files_size", Value::Int(bytes));
    })
}});

natives!("Options_maxTableFilesSizeFIFO" "ColumnFamilyOptions_maxTableFilesSizeFIFO"; { "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.fifo.as_ref().map_or(1 << 30, |fifo| fifo.int("max_table_files_size", 1 << 30)))
}});

natives!("Options_setCompactionThreadLimiter" "ColumnFamilyOptions_setCompactionThreadLimiter"; { "JJ" fn(
    env, options: i64, limiter: i64
) {
    change(options, |inner| inner.parts.kept.insert("compaction_thread_limiter", "given".to_owned())).map(drop)
}});

/// `org.rocksdb.ConcurrentTaskLimiter`. Only `max_background_jobs` limits compactions: the limiter is kept,
/// and its count of tasks is always 0.
struct LimiterObject {
    name: String,
    limit: AtomicI32,
}

native!("ConcurrentTaskLimiterImpl_newConcurrentTaskLimiterImpl0" "Ljava_lang_String_2I" fn(
    env, name: JString, limit: i32
) -> i64 {
    Ok(handles::insert(LimiterObject { name: env.string(name)?, limit: AtomicI32::new(limit) }))
});

native!("ConcurrentTaskLimiterImpl_name" "J" fn(env, limiter: i64) -> JString {
    env.new_string(&handles::get::<LimiterObject>(limiter)?.name)
});

native!("ConcurrentTaskLimiterImpl_setMaxOutstandingTask" "JI" fn(env, limiter: i64, limit: i32) {
    handles::get::<LimiterObject>(limiter)?.limit.store(limit, Ordering::Relaxed);
    Ok(())
});

native!("ConcurrentTaskLimiterImpl_resetMaxOutstandingTask" "J" fn(env, limiter: i64) {
    handles::get::<LimiterObject>(limiter)?.limit.store(-1, Ordering::Relaxed);
    Ok(())
});

native!("ConcurrentTaskLimiterImpl_outstandingTask" "J" fn(env, limiter: i64) -> i32 {
    handles::get::<LimiterObject>(limiter).map(|_| 0)
});

native!("EnvOptions_setRateLimiter" "JJ" fn(env, options: i64, limiter: i64) {
    let limiter = Arc::clone(&handles::get::<RateLimiterObject>(limiter)?.0);
    change(options, |inner| inner.parts.rate_limiter = Some(limiter))
});

native!("ConfigOptions_setEnv" "JJ" fn(env, options: i64, environment: i64) {
    let environment = handles::get::<Environment>(environment)?.clone();
    change(options, |inner| inner.parts.env = Some(environment))
});

// The comparator is checked and not used: the comparators of the families find the keys that transactions
// have in common.
native!("OptimisticTransactionOptions_setComparator" "JJ" fn(env, options: i64, comparator: i64) {
    crate::comparator::user(comparator)?;
    look(options, |_| ())
});

native!("CompactRangeOptions_setFullHistoryTSLow" "JJJ" fn(env, options: i64, start: i64, range: i64) {
    change(options, |inner| inner.parts.full_history_ts_low = Some((start as u64, range as u64)))
});

native!("CompactRangeOptions_fullHistoryTSLow" "J" fn(env, options: i64) -> JObject {
    match look(options, |inner| inner.parts.full_history_ts_low)? {
        Some((start, range)) => {
            let arguments = [jvalue { j: start as i64 }, jvalue { j: range as i64 }];
            env.object("org/rocksdb/CompactRangeOptions$Timestamp", "(JJ)V", &arguments).map(JObject)
        }
        None => Ok(JObject(std::ptr::null_mut())),
    }
});

/// `org.rocksdb.SstPartitionerFactory`.
struct PartitionerObject(Arc<SstPartitionerFixedPrefixFactory>);

native!("SstPartitionerFixedPrefixFactory_newSstPartitionerFixedPrefixFactory0" "J" fn(env, length: i64) -> i64 {
    let length = usize::try_from(length).map_err(|_| Fail::argument("the length is negative"))?;
    Ok(handles::insert(PartitionerObject(Arc::new(SstPartitionerFixedPrefixFactory::new(length)))))
});

natives!("Options_setSstPartitionerFactory" "ColumnFamilyOptions_setSstPartitionerFactory"; { "JJ" fn(
    env, options: i64, partitioner: i64
) {
    let partitioner = Arc::clone(&handles::get::<PartitionerObject>(partitioner)?.0);
    change(options, |inner| inner.parts.partitioner = Some(partitioner))
}});

// ---- Objects of reads and compactions.

native!("ReadOptions_setTableFilter" "JJ" fn(env, options: i64, filter: i64) {
    let filter = crate::filters::table_filter(filter)?;
    change(options, |inner| inner.parts.table_filter = Some(filter))
});

native!("ReadOptions_setSnapshot" "JJ" fn(env, options: i64, snapshot: i64) {
    let given = handles::optional::<SnapshotObject>(snapshot)?.map(|held| (held.0.clone(), snapshot));
    change(options, |inner| inner.parts.snapshot = given)
});

native!("ReadOptions_snapshot" "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.snapshot.as_ref().map_or(0, |(_, handle)| *handle))
});

fn bytes(slice: jlong) -> Result<Option<(Vec<u8>, jlong)>> {
    Ok(handles::optional::<SliceObject>(slice)?.map(|held| (held.copy(), slice)))
}

native!("ReadOptions_setIterateLowerBound" "JJ" fn(env, options: i64, slice: i64) {
    let bound = bytes(slice)?;
    change(options, |inner| inner.parts.lower_bound = bound)
});

native!("ReadOptions_iterateLowerBound" "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.lower_bound.as_ref().map_or(0, |(_, handle)| *handle))
});

native!("ReadOptions_setIterateUpperBound" "JJ" fn(env, options: i64, slice: i64) {
    let bound = bytes(slice)?;
    change(options, |inner| inner.parts.upper_bound = bound)
});

native!("ReadOptions_iterateUpperBound" "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.upper_bound.as_ref().map_or(0, |(_, handle)| *handle))
});

native!("ReadOptions_setTimestamp" "JJ" fn(env, options: i64, slice: i64) {
    let timestamp = bytes(slice)?;
    change(options, |inner| inner.parts.timestamp = timestamp)
});

native!("ReadOptions_timestamp" "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.timestamp.as_ref().map_or(0, |(_, handle)| *handle))
});

native!("ReadOptions_setIterStartTs" "JJ" fn(env, options: i64, slice: i64) {
    change(options, |inner| inner.parts.iter_start_ts = (slice != 0).then_some(slice))
});

native!("ReadOptions_iterStartTs" "J" fn(env, options: i64) -> i64 {
    look(options, |inner| inner.parts.iter_start_ts.unwrap_or(0))
});

native!("CompactRangeOptions_setCanceled" "JZ" fn(env, options: i64, canceled: bool) {
    look(options, |inner| inner.parts.canceled.store(canceled, Ordering::Relaxed))
});

native!("CompactRangeOptions_canceled" "J" fn(env, options: i64) -> bool {
    look(options, |inner| inner.parts.canceled.load(Ordering::Relaxed))
});

// ---- Presets.

natives!("Options_optimizeForSmallDb" "ColumnFamilyOptions_optimizeForSmallDb" "DBOptions_optimizeForSmallDb"; {
    "J" fn(env, options: i64) { change(options, small_db) }
});

natives!("Options_optimizeForSmallDb" "ColumnFamilyOptions_optimizeForSmallDb"; { "JJ" fn(env, options: i64, cache: i64) {
    change(options, small_db)
}});

fn small_db(inner: &mut Inner) {
    for (name, value) in [
        ("max_file_opening_threads", 1),
        ("max_open_files", 5000),
        ("write_buffer_size", 2 << 20),
        ("target_file_size_base", 2 << 20),
        ("max_bytes_for_level_base", 10 << 20),
        ("soft_pending_compaction_bytes_limit", 256 << 20),
        ("hard_pending_compaction_bytes_limit", 1 << 30),
    ] {
        inner.set(name, Value::Int(value));
    }
}

natives!("Options_optimizeForPointLookup" "ColumnFamilyOptions_optimizeForPointLookup"; { "JJ" fn(
    env, options: i64, cache_mib: i64
) {
    let table = BlockBasedOptions {
        data_block_index_type: DataBlockIndexType::BinaryAndHash,
        data_block_hash_table_util_ratio: 0.75,
        filter_policy: FilterPolicy::Bloom(10.0),
        block_cache: Some(Cache::new(CacheOptions { capacity: (cache_mib.max(0) as usize) << 20, ..CacheOptions::default() })),
        format_version: crate::release::format_version(),
        ..BlockBasedOptions::default()
    };
    change(options, |inner| {
        inner.parts.table = Some(Table::block_based(table));
        inner.set("memtable_prefix_bloom_size_ratio", Value::Float(0.02));
        inner.set("memtable_whole_key_filtering", Value::Int(1));
    })
}});

/// Sizes the memtables by a memory budget, for either compaction style.
fn memtables_of(inner: &mut Inner, budget: i64) {
    inner.set("write_buffer_size", Value::Int(budget / 4));
    inner.set("min_write_buffer_number_to_merge", Value::Int(2));
    inner.set("max_write_buffer_number", Value::Int(6));
}

natives!("Options_optimizeLevelStyleCompaction" "ColumnFamilyOptions_optimizeLevelStyleCompaction"; { "JJ" fn(
    env, options: i64, budget: i64
) {
    const SNAPPY: i8 = 1;
    change(options, |inner| {
        memtables_of(inner, budget);
        inner.set("level0_file_num_compaction_trigger", Value::Int(2));
        inner.set("target_file_size_base", Value::Int(budget / 8));
        inner.set("max_bytes_for_level_base", Value::Int(budget));
        inner.set("compaction_style", Value::Int(0));
        let levels = inner.int("num_levels", 7).max(0);
        inner.parts.compression_per_level = (0..levels).map(|level| if level < 2 { 0 } else { SNAPPY }).collect();
    })
}});

natives!("Options_optimizeUniversalStyleCompaction" "ColumnFamilyOptions_optimizeUniversalStyleCompaction"; { "JJ" fn(
    env, options: i64, budget: i64
) {
    change(options, |inner| {
        memtables_of(inner, budget);
        inner.set("compaction_style", Value::Int(1));
        inner.parts.universal.get_or_insert_default().set("compression_size_percent", Value::Int(80));
    })
}});

native!("Options_prepareForBulkLoad" "J" fn(env, options: i64) {
    const NEVER: i64 = 1 << 30;
    change(options, |inner| {
        for (name, value) in [
            ("level0_file_num_compaction_trigger", NEVER),
            ("level0_slowdown_writes_trigger", NEVER),
            ("level0_stop_writes_trigger", NEVER),
            ("soft_pending_compaction_bytes_limit", 0),
            ("hard_pending_compaction_bytes_limit", 0),
            ("disable_auto_compactions", 1),
            ("max_compaction_bytes", 1 << 60),
            ("num_levels", 2),
            ("max_write_buffer_number", 6),
            ("min_write_buffer_number_to_merge", 1),
            ("max_background_flushes", 4),
            ("max_background_compactions", 2),
            ("target_file_size_base", 256 << 20),
        ] {
            inner.set(name, Value::Int(value));
        }
    })
});

natives!("Options_oldDefaults" "ColumnFamilyOptions_oldDefaults"; { "JII" fn(env, options: i64, major: i32, minor: i32) {
    change(options, |inner| {
        if major < 4 || (major == 4 && minor < 7) {
            inner.set("write_buffer_size", Value::Int(4 << 20));
            inner.set("target_file_size_base", Value::Int(2 << 20));
            inner.set("max_bytes_for_level_base", Value::Int(10 << 20));
            inner.set("soft_pending_compaction_bytes_limit", Value::Int(0));
            inner.set("hard_pending_compaction_bytes_limit", Value::Int(0));
        }
        if major < 5 {
            inner.set("level0_stop_writes_trigger", Value::Int(24));
            inner.set("compaction_pri", Value::Int(0));
        } else if major == 5 && minor < 2 {
            inner.set("level0_stop_writes_trigger", Value::Int(30));
        }
    })
}});

/// Returns an object with the settings of an open family.
pub fn of_family(options: &ColumnFamilyOptions) -> Inner {
    use esker::option_table::OptionTable;
    let mut inner = Inner::default();
    for field in &crate::generated::options::CF {
        let Some(row) = ColumnFamilyOptions::row(field.name) else {
            continue;
        };
        let text = (row.get)(options);
        let value = match text.as_str() {
            "true" => Value::Int(1),
            "false" => Value::Int(0),
            text => match (text.parse::<i64>(), text.parse::<u64>(), text.parse::<f64>()) {
                (Ok(number), _, _) => Value::Int(number),
                (_, Ok(number), _) => Value::Int(number as i64),
                (_, _, Ok(number)) => Value::Float(number),
                _ => continue,
            },
        };
        inner.set(field.name, value);
    }
    inner.set("compression", Value::Int(i64::from(options.compression as u8)));
    inner.parts.comparator = Some(options.comparator.clone());
    inner.parts.merge_operator = options.merge_operator.clone();
    inner.parts.prefix_extractor = options.prefix_extractor.clone();
    inner.parts.table = Some(Table::block_based(options.table.clone()));
    inner
}
