//! `org.rocksdb.BackupEngine` and its options.

use std::sync::Arc;

use backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use base::sync::Mutex;
use esker::Db;
use jni_sys::{jlong, jvalue};

use crate::cache::RateLimiterObject;
use crate::env::{JIntArray, JObject, JString};
use crate::environment::Environment;
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::logger::LoggerObject;
use crate::objects::database;
use crate::settings::{Inner, Settings, Value};

native!("BackupEngineOptions_newBackupEngineOptions" "Ljava_lang_String_2" fn(env, dir: JString) -> i64 {
    let mut inner = Inner::default();
    inner.set("backup_dir", Value::Text(env.string(dir)?));
    Ok(handles::insert(Settings::of(inner)))
});

native!("BackupEngineOptions_setBackupEnv" "JJ" fn(env, options: i64, environment: i64) {
    let environment = handles::get::<Environment>(environment)?.clone();
    handles::get::<Settings>(options)?.change(|inner| inner.parts.env = Some(environment));
    Ok(())
});

// Backups write no lines to a log.
native!("BackupEngineOptions_setInfoLog" "JJ" fn(env, options: i64, logger: i64) {
    handles::get::<LoggerObject>(logger)?;
    handles::get::<Settings>(options).map(drop)
});

native!("BackupEngineOptions_setBackupRateLimiter" "JJ" fn(env, options: i64, limiter: i64) {
    let limiter = Arc::clone(&handles::get::<RateLimiterObject>(limiter)?.0);
    handles::get::<Settings>(options)?.change(|inner| inner.parts.rate_limiter = Some(limiter));
    Ok(())
});

native!("BackupEngineOptions_setRestoreRateLimiter" "JJ" fn(env, options: i64, limiter: i64) {
    let limiter = Arc::clone(&handles::get::<RateLimiterObject>(limiter)?.0);
    handles::get::<Settings>(options)?.change(|inner| inner.parts.restore_rate_limiter = Some(limiter));
    Ok(())
});

fn engine_options(inner: &Inner) -> BackupEngineOptions {
    let dir = match inner.value("backup_dir") {
        Some(Value::Text(dir)) => dir.clone(),
        _ => String::new(),
    };
    let mut options = BackupEngineOptions {
        share_table_files: inner.flag("share_table_files", true),
        share_files_with_checksum: inner.flag("share_files_with_checksum", true),
        sync: inner.flag("sync", true),
        backup_log_files: inner.flag("backup_log_files", true),
        backup_rate_limit: inner.int("backup_rate_limit", 0).max(0) as u64,
        backup_rate_limiter: inner.parts.rate_limiter.clone(),
        restore_rate_limit: inner.int("restore_rate_limit", 0).max(0) as u64,
        restore_rate_limiter: inner.parts.restore_rate_limiter.clone(),
        max_background_operations: inner.int("max_background_operations", 1).max(1) as usize,
        ..BackupEngineOptions::new(dir)
    };
    if let Some(fs) = inner.parts.env.as_ref().and_then(Environment::file_system) {
        options.fs = fs;
    }
    options
}

/// `org.rocksdb.BackupEngine`.
struct EngineObject(Mutex<BackupEngine>);

native!("BackupEngine_open" "JJ" fn(env, environment: i64, options: i64) -> i64 {
    let options = handles::get::<Settings>(options)?;
    let destroys = options.look(|inner| inner.flag("destroy_old_data", false));
    let mut engine = BackupEngine::open(options.look(engine_options))?;
    if destroys {
        engine.purge_old_backups(0)?;
    }
    Ok(handles::insert(EngineObject(Mutex::new(engine))))
});

fn create(engine: jlong, db: &Db, flush: bool, metadata: Vec<u8>) -> Result<()> {
    let options = CreateBackupOptions {
        flush_before_backup: flush,
        app_metadata: metadata,
        ..CreateBackupOptions::default()
    };
    handles::get::<EngineObject>(engine)?
        .0
        .lock()
        .create_new_backup(db, &options)?;
    Ok(())
}

native!("BackupEngine_createNewBackup" "JJZ" fn(env, engine: i64, db: i64, flush: bool) {
    create(engine, &database(db)?.db, flush, Vec::new())
});

native!("BackupEngine_createNewBackupWithMetadata" "JJLjava_lang_String_2Z" fn(
    env, engine: i64, db: i64, metadata: JString, flush: bool
) {
    create(engine, &database(db)?.db, flush, env.string(metadata)?.into_bytes())
});

native!("BackupEngine_getBackupInfo" "J" fn(env, engine: i64) -> JObject {
    let backups = handles::get::<EngineObject>(engine)?.0.lock().backups();
    let list = env.object("java/util/ArrayList", "()V", &[])?;
    for backup in backups {
        let metadata = env.new_string(&String::from_utf8_lossy(&backup.app_metadata))?;
        let arguments = [
            jvalue { i: backup.backup_id as i32 },
            jvalue { j: backup.timestamp as i64 },
            jvalue { j: backup.size() as i64 },
            jvalue { i: backup.files.len() as i32 },
            jvalue { l: metadata.0 },
        ];
        let info = env.object("org/rocksdb/BackupInfo", "(IJJILjava/lang/String;)V", &arguments)?;
        env.list_add(list, info)?;
        [metadata.0, info].into_iter().for_each(|object| env.forget(object));
    }
    Ok(JObject(list))
});

native!("BackupEngine_getCorruptedBackups" "J" fn(env, engine: i64) -> JIntArray {
    let corrupted = handles::get::<EngineObject>(engine)?.0.lock().corrupted_backups();
    let ids: Vec<i32> = corrupted.iter().map(|(id, _)| *id as i32).collect();
    env.int_array(&ids)
});

native!("BackupEngine_garbageCollect" "J" fn(env, engine: i64) {
    Ok(handles::get::<EngineObject>(engine)?.0.lock().garbage_collect()?)
});

native!("BackupEngine_purgeOldBackups" "JI" fn(env, engine: i64, keep: i32) {
    Ok(handles::get::<EngineObject>(engine)?.0.lock().purge_old_backups(keep.max(0) as usize)?)
});

native!("BackupEngine_deleteBackup" "JI" fn(env, engine: i64, id: i32) {
    let id = u32::try_from(id).map_err(|_| Fail::argument("the backup's number is below 0"))?;
    Ok(handles::get::<EngineObject>(engine)?.0.lock().delete_backup(id)?)
});

/// `org.rocksdb.RestoreOptions`: true if existing WALs stay.
struct RestoreObject(bool);

native!("RestoreOptions_newRestoreOptions" "Z" fn(env, keep_log_files: bool) -> i64 {
    Ok(handles::insert(RestoreObject(keep_log_files)))
});

fn restore_options(handle: jlong) -> Result<RestoreOptions> {
    Ok(RestoreOptions {
        keep_log_files: handles::get::<RestoreObject>(handle)?.0,
        ..RestoreOptions::default()
    })
}

native!("BackupEngine_restoreDbFromBackup" "JILjava_lang_String_2Ljava_lang_String_2J" fn(
    env, engine: i64, id: i32, dir: JString, wal_dir: JString, options: i64
) {
    let id = u32::try_from(id).map_err(|_| Fail::argument("the backup's number is below 0"))?;
    let (dir, wal_dir) = (env.string(dir)?, env.string(wal_dir)?);
    let options = restore_options(options)?;
    let engine = handles::get::<EngineObject>(engine)?;
    let engine = engine.0.lock();
    Ok(engine.restore_db_from_backup(id, dir, wal_dir, &options)?)
});

native!("BackupEngine_restoreDbFromLatestBackup" "JLjava_lang_String_2Ljava_lang_String_2J" fn(
    env, engine: i64, dir: JString, wal_dir: JString, options: i64
) {
    let (dir, wal_dir) = (env.string(dir)?, env.string(wal_dir)?);
    let options = restore_options(options)?;
    let engine = handles::get::<EngineObject>(engine)?;
    let engine = engine.0.lock();
    Ok(engine.restore_db_from_latest_backup(dir, wal_dir, &options)?)
});
