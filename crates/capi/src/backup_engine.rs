//! Backup engines and backups.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backup::{
    BackupEngine, BackupEngineOptions, BackupInfo, CreateBackupOptions, ExcludeFiles, RestoreMode,
    RestoreOptions, ShareFilesNaming,
};
use base::sync::Mutex;
use esker::{Error, ErrorKind, Progress, RateLimiter, Result};

use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::ffi::*;
use crate::generated::fields::{BackupEngineOptionsFields, CreateBackupOptionsFields};
use crate::generated::structs::rocksdb_restore_options_t;
use crate::options::rocksdb_options_t;
use crate::rate_limiter::rocksdb_ratelimiter_t;

/// The C object `rocksdb_backup_engine_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_backup_engine_options_t {
    pub fields: BackupEngineOptionsFields,
    dir: std::path::PathBuf,
    env: rocksdb_env_t,
    backup_rate_limiter: Option<Arc<RateLimiter>>,
    restore_rate_limiter: Option<Arc<RateLimiter>>,
}

impl rocksdb_backup_engine_options_t {
    fn options(&self) -> BackupEngineOptions {
        let fields = &self.fields;
        BackupEngineOptions {
            fs: self.env.fs.clone(),
            share_table_files: fields.share_table_files != 0,
            share_files_with_checksum: fields.share_files_with_checksum != 0,
            share_files_with_checksum_naming: match fields.share_files_with_checksum_naming {
                1 => ShareFilesNaming::LegacyCrc32cAndFileSize,
                2 => ShareFilesNaming::UseDbSessionId,
                _ => ShareFilesNaming::UseDbSessionIdAndFileSize,
            },
            sync: fields.sync != 0,
            backup_log_files: fields.backup_log_files != 0,
            backup_rate_limit: fields.backup_rate_limit,
            backup_rate_limiter: self.backup_rate_limiter.clone(),
            restore_rate_limit: fields.restore_rate_limit,
            restore_rate_limiter: self.restore_rate_limiter.clone(),
            max_background_operations: fields.max_background_operations.max(1) as usize,
            ..BackupEngineOptions::new(&self.dir)
        }
    }
}

type ProgressFn = unsafe extern "C" fn(*mut c_void);
type ExcludeFn = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> u8;

/// The C object `rocksdb_create_backup_options_t`.
#[derive(Default)]
pub struct rocksdb_create_backup_options_t {
    pub fields: CreateBackupOptionsFields,
    progress: Option<(Arc<CallbackState>, ProgressFn)>,
    exclude: Option<(Arc<CallbackState>, ExcludeFn)>,
}

impl rocksdb_create_backup_options_t {
    /// The callback as the engine calls it: by one thread at a time, because RocksDB calls it from the thread
    /// that creates the backup.
    fn exclude_files(&self) -> Option<Arc<ExcludeFiles>> {
        let (state, call) = self.exclude.clone()?;
        let turn = Mutex::new(());
        Some(Arc::new(move |relative: &str| {
            let _turn = turn.lock();
            // SAFETY: the caller passed the function for this state, which lives until the backup is created.
            unsafe { call(state.pointer, relative.as_ptr().cast(), relative.len()) != 0 }
        }))
    }
}

/// The C object `rocksdb_backup_engine_t`.
pub struct rocksdb_backup_engine_t {
    engine: Mutex<BackupEngine>,
    /// The number of bytes between calls of a progress function.
    interval: u64,
    stopped: AtomicBool,
    /// The progress of the running backup, which another thread may stop.
    under_way: Mutex<Option<Arc<Progress>>>,
}

fn open(options: &rocksdb_backup_engine_options_t) -> Result<*mut rocksdb_backup_engine_t> {
    Ok(boxed(rocksdb_backup_engine_t {
        engine: Mutex::new(BackupEngine::open(options.options())?),
        interval: options.fields.callback_trigger_interval_size.max(1),
        stopped: AtomicBool::new(false),
        under_way: Mutex::new(None),
    }))
}

impl rocksdb_backup_engine_t {
    fn create(
        &self,
        db: &rocksdb_t,
        options: &rocksdb_create_backup_options_t,
        metadata: &[u8],
    ) -> Result<u32> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Incomplete, "Backup stopped"));
        }
        let progress = Arc::new(match &options.progress {
            Some((state, call)) => {
                let (state, call, interval) = (state.clone(), *call, self.interval);
                let told = std::sync::atomic::AtomicU64::new(0);
                Progress::with_hook(move |progress| {
                    let due = progress.done() / interval;
                    if told.fetch_max(due, Ordering::AcqRel) < due {
                        // SAFETY: the caller passed the function for this state.
                        unsafe { call(state.pointer) }
                    }
                })
            }
            None => Progress::new(),
        });
        *self.under_way.lock() = Some(progress.clone());
        let made = self.engine.lock().create_new_backup(
            &db.db,
            &CreateBackupOptions {
                flush_before_backup: options.fields.flush_before_backup != 0,
                app_metadata: metadata.to_vec(),
                progress: Some(progress),
                exclude_files_callback: options.exclude_files(),
            },
        );
        *self.under_way.lock() = None;
        made
    }
}

api!(
    fn rocksdb_backup_engine_open(
        options: *const rocksdb_options_t,
        dir: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_backup_engine_t {
        fallible(errptr, || {
            open(&rocksdb_backup_engine_options_t {
                dir: path(dir),
                env: (*options).env.clone(),
                ..Default::default()
            })
        })
    }
);

api!(
    fn rocksdb_backup_engine_open_opts(
        options: *const rocksdb_backup_engine_options_t,
        env: *mut rocksdb_env_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_backup_engine_t {
        fallible(errptr, || {
            let mut options = (*options).clone();
            if let Some(env) = env.as_ref() {
                options.env = env.clone();
            }
            open(&options)
        })
    }
);

api!(
    fn rocksdb_backup_engine_close(engine: *mut rocksdb_backup_engine_t) {
        free_box(engine)
    }
);

api!(
    fn rocksdb_backup_engine_stop_backup(engine: *mut rocksdb_backup_engine_t) {
        let engine = &*engine;
        engine.stopped.store(true, Ordering::Release);
        if let Some(progress) = &*engine.under_way.lock() {
            progress.stop();
        }
    }
);

api!(
    fn rocksdb_backup_engine_create_new_backup(
        engine: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*engine).create(&*db, &Default::default(), &[]).map(drop)
        })
    }
);

api!(
    fn rocksdb_backup_engine_create_new_backup_flush(
        engine: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        flush: u8,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let mut options = rocksdb_create_backup_options_t::default();
            options.fields.flush_before_backup = flush as _;
            (*engine).create(&*db, &options, &[]).map(drop)
        })
    }
);

api!(
    fn rocksdb_backup_engine_create_new_backup_with_options(
        engine: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_create_backup_options_t,
        id: *mut u32,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            put_out(id, (*engine).create(&*db, &*options, &[])?);
            Ok(())
        })
    }
);

api!(
    fn rocksdb_backup_engine_create_new_backup_with_metadata(
        engine: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_create_backup_options_t,
        metadata: *const c_char,
        length: usize,
        id: *mut u32,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            put_out(id, (*engine).create(&*db, &*options, bytes(metadata, length))?);
            Ok(())
        })
    }
);

api!(
    fn rocksdb_backup_engine_purge_old_backups(
        engine: *mut rocksdb_backup_engine_t,
        keep: u32,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*engine).engine.lock().purge_old_backups(keep as usize).map(drop)
        })
    }
);

api!(
    fn rocksdb_backup_engine_verify_backup(
        engine: *mut rocksdb_backup_engine_t,
        id: u32,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*engine).engine.lock().verify_backup(id, false, None))
    }
);

unsafe fn restore_options(options: *const rocksdb_restore_options_t) -> RestoreOptions {
    let Some(options) = options.as_ref() else {
        return RestoreOptions::default();
    };
    RestoreOptions {
        keep_log_files: options.fields.keep_log_files != 0,
        mode: match options.fields.mode {
            1 => RestoreMode::KeepLatestDbSessionIdFiles,
            2 => RestoreMode::VerifyChecksum,
            _ => RestoreMode::PurgeAllFiles,
        },
        ..RestoreOptions::default()
    }
}

api!(
    fn rocksdb_backup_engine_restore_db_from_latest_backup(
        engine: *mut rocksdb_backup_engine_t,
        db_dir: *const c_char,
        wal_dir: *const c_char,
        options: *const rocksdb_restore_options_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let engine = (*engine).engine.lock();
            engine.restore_db_from_latest_backup(path(db_dir), path(wal_dir), &restore_options(options))
        })
    }
);

api!(
    fn rocksdb_backup_engine_restore_db_from_backup(
        engine: *mut rocksdb_backup_engine_t,
        db_dir: *const c_char,
        wal_dir: *const c_char,
        options: *const rocksdb_restore_options_t,
        id: u32,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let engine = (*engine).engine.lock();
            engine.restore_db_from_backup(id, path(db_dir), path(wal_dir), &restore_options(options))
        })
    }
);

/// The C object `rocksdb_backup_engine_info_t`.
pub struct rocksdb_backup_engine_info_t(Vec<BackupInfo>);

impl rocksdb_backup_engine_info_t {
    fn at(&self, index: c_int) -> Option<&BackupInfo> {
        usize::try_from(index).ok().and_then(|index| self.0.get(index))
    }
}

api!(
    fn rocksdb_backup_engine_get_backup_info(
        engine: *mut rocksdb_backup_engine_t,
    ) -> *const rocksdb_backup_engine_info_t {
        boxed(rocksdb_backup_engine_info_t((*engine).engine.lock().backups())).cast_const()
    }
);

api!(
    fn rocksdb_backup_engine_info_count(info: *const rocksdb_backup_engine_info_t) -> c_int {
        (&(*info).0).len() as c_int
    }
);

api!(
    fn rocksdb_backup_engine_info_timestamp(info: *const rocksdb_backup_engine_info_t, index: c_int) -> i64 {
        (*info).at(index).map_or(0, |info| info.timestamp as i64)
    }
);

api!(
    fn rocksdb_backup_engine_info_backup_id(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u32 {
        (*info).at(index).map_or(0, |info| info.backup_id)
    }
);

api!(
    fn rocksdb_backup_engine_info_size(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u64 {
        (*info).at(index).map_or(0, BackupInfo::size)
    }
);

api!(
    fn rocksdb_backup_engine_info_number_files(
        info: *const rocksdb_backup_engine_info_t,
        index: c_int,
    ) -> u32 {
        (*info).at(index).map_or(0, |info| info.files.len() as u32)
    }
);

api!(
    fn rocksdb_backup_engine_info_app_metadata(
        info: *const rocksdb_backup_engine_info_t,
        index: c_int,
        length: *mut usize,
    ) -> *const c_char {
        match (*info).at(index) {
            Some(info) => borrowed(&info.app_metadata, length),
            None => nothing(length).cast_const(),
        }
    }
);

api!(
    fn rocksdb_backup_engine_info_destroy(info: *const rocksdb_backup_engine_info_t) {
        free_box(info.cast_mut())
    }
);

api!(
    fn rocksdb_backup_engine_options_create(dir: *const c_char) -> *mut rocksdb_backup_engine_options_t {
        boxed(rocksdb_backup_engine_options_t {
            dir: path(dir),
            ..Default::default()
        })
    }
);

api!(
    fn rocksdb_backup_engine_options_set_env(
        options: *mut rocksdb_backup_engine_options_t,
        env: *mut rocksdb_env_t,
    ) {
        (*options).env = env.as_ref().cloned().unwrap_or_default();
    }
);

api!(
    fn rocksdb_backup_engine_options_set_backup_rate_limiter(
        options: *mut rocksdb_backup_engine_options_t,
        limiter: *mut rocksdb_ratelimiter_t,
    ) {
        (*options).backup_rate_limiter = limiter.as_ref().map(|limiter| limiter.0.clone());
    }
);

api!(
    fn rocksdb_backup_engine_options_set_restore_rate_limiter(
        options: *mut rocksdb_backup_engine_options_t,
        limiter: *mut rocksdb_ratelimiter_t,
    ) {
        (*options).restore_rate_limiter = limiter.as_ref().map(|limiter| limiter.0.clone());
    }
);

api!(
    fn rocksdb_create_backup_options_create() -> *mut rocksdb_create_backup_options_t {
        boxed(rocksdb_create_backup_options_t::default())
    }
);

api!(
    fn rocksdb_create_backup_options_set_progress_callback(
        options: *mut rocksdb_create_backup_options_t,
        state: *mut c_void,
        callback: Option<ProgressFn>,
    ) {
        (*options).progress = callback.map(|callback| (Arc::new(CallbackState::new(state, None)), callback));
    }
);

// The C interface has no alternate directories: a backup without some of its files is restored by RocksDB's
// C++ interface, or by `RestoreOptions::alternate_dirs` of the crate `esker-backup`.
api!(
    fn rocksdb_create_backup_options_set_exclude_files_callback(
        options: *mut rocksdb_create_backup_options_t,
        state: *mut c_void,
        callback: Option<ExcludeFn>,
    ) {
        (*options).exclude = callback.map(|callback| (Arc::new(CallbackState::new(state, None)), callback));
    }
);

api!(
    fn rocksdb_backup_engine_options_set_backup_dir(
        options: *mut rocksdb_backup_engine_options_t,
        dir: *const c_char,
    ) {
        (*options).dir = path(dir);
    }
);

api!(
    fn rocksdb_backup_engine_options_get_backup_dir(
        options: *mut rocksdb_backup_engine_options_t,
        size: *mut usize,
    ) -> *const c_char {
        use std::os::unix::ffi::OsStrExt;
        borrowed((&(*options).dir).as_os_str().as_bytes(), size)
    }
);
