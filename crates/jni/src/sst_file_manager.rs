//! `org.rocksdb.SstFileManager`: the files of several databases, the rate of their deletion, and their space.

use std::sync::Arc;

use esker::{SstFileManager, SstFileManagerOptions};
use jni_sys::{jlong, jvalue};

use crate::env::JObject;
use crate::environment::Environment;
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::logger::LoggerObject;

/// `org.rocksdb.SstFileManager`. Databases that were opened with it share it, and keep it.
pub struct SstFileManagerObject(pub Arc<SstFileManager>);

fn manager(handle: jlong) -> Result<Arc<SstFileManager>> {
    Ok(Arc::clone(&handles::get::<SstFileManagerObject>(handle)?.0))
}

// A database deletes its files by its own file system: that of the environment is not needed.
native!("SstFileManager_newSstFileManager" "JJJDJ" fn(
    env, environment: i64, logger: i64, rate: i64, max_trash_db_ratio: f64, max_delete_chunk: i64
) -> i64 {
    handles::get::<Environment>(environment)?;
    let logger = handles::optional::<LoggerObject>(logger)?;
    let manager = SstFileManager::new(SstFileManagerOptions {
        rate_bytes_per_sec: rate,
        max_trash_db_ratio,
        bytes_max_delete_chunk: max_delete_chunk.max(0) as u64,
        info_log: logger.map(|logger| Arc::clone(&logger.0) as Arc<dyn esker::Logger>),
        ..SstFileManagerOptions::default()
    })?;
    Ok(handles::insert(SstFileManagerObject(manager)))
});

native!("SstFileManager_setMaxAllowedSpaceUsage" "JJ" fn(env, handle: i64, bytes: i64) {
    manager(handle)?.set_max_allowed_space_usage(bytes.max(0) as u64);
    Ok(())
});

native!("SstFileManager_setCompactionBufferSize" "JJ" fn(env, handle: i64, bytes: i64) {
    manager(handle)?.set_compaction_buffer_size(bytes.max(0) as u64);
    Ok(())
});

native!("SstFileManager_isMaxAllowedSpaceReached" "J" fn(env, handle: i64) -> bool {
    Ok(manager(handle)?.is_max_allowed_space_reached())
});

native!("SstFileManager_isMaxAllowedSpaceReachedIncludingCompactions" "J" fn(env, handle: i64) -> bool {
    Ok(manager(handle)?.is_max_allowed_space_reached_including_compactions())
});

native!("SstFileManager_getTotalSize" "J" fn(env, handle: i64) -> i64 { Ok(manager(handle)?.total_size() as i64) });

native!("SstFileManager_getTrackedFiles" "J" fn(env, handle: i64) -> JObject {
    let map = env.object("java/util/HashMap", "()V", &[])?;
    for (path, bytes) in manager(handle)?.tracked_files() {
        let path = env.new_string(&path.display().to_string())?;
        let bytes = env.object("java/lang/Long", "(J)V", &[jvalue { j: bytes as i64 }])?;
        env.map_put(map, path.0, bytes)?;
        env.forget(path.0);
        env.forget(bytes);
    }
    Ok(JObject(map))
});

native!("SstFileManager_getDeleteRateBytesPerSecond" "J" fn(env, handle: i64) -> i64 {
    Ok(manager(handle)?.delete_rate_bytes_per_second())
});

native!("SstFileManager_setDeleteRateBytesPerSecond" "JJ" fn(env, handle: i64, rate: i64) {
    manager(handle)?.set_delete_rate_bytes_per_second(rate);
    Ok(())
});

native!("SstFileManager_getMaxTrashDBRatio" "J" fn(env, handle: i64) -> f64 {
    Ok(manager(handle)?.max_trash_db_ratio())
});

native!("SstFileManager_setMaxTrashDBRatio" "JD" fn(env, handle: i64, ratio: f64) {
    Ok(manager(handle)?.set_max_trash_db_ratio(ratio)?)
});
