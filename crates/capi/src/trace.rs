//! Traces of queries, of I/O and of the block cache, their files, and the replay of queries.

use std::ffi::c_char;
use std::sync::Arc;

use esker::{
    BlockCacheTraceOptions, ColumnFamily, Error, FileTraceReader, FileTraceWriter, ReplayOptions, Replayer,
    Result, TraceOptions,
};
use vfs::FileSystem;

use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::ffi::*;
use crate::generated::fields::{ReplayOptionsFields, TraceOptionsFields};
use crate::generated::structs::{
    rocksdb_block_cache_trace_options_t, rocksdb_block_cache_trace_writer_options_t,
    rocksdb_replay_options_t, rocksdb_trace_options_t,
};
use crate::sst_file_writer::rocksdb_envoptions_t;

/// The C object `rocksdb_trace_reader_t`.
pub struct rocksdb_trace_reader_t(FileTraceReader);

/// The C object `rocksdb_replayer_t`.
pub struct rocksdb_replayer_t(Replayer);

/// Returns the file system of `env`, or that of the database.
unsafe fn file_system(db: *mut rocksdb_t, env: *mut rocksdb_env_t) -> Arc<dyn FileSystem> {
    match env.as_ref() {
        Some(env) => env.fs.clone(),
        None => (*db).db.options().fs.clone(),
    }
}

/// Creates the file of a trace.
unsafe fn trace_writer(
    db: *mut rocksdb_t,
    env: *mut rocksdb_env_t,
    trace_path: *const c_char,
) -> Result<Box<FileTraceWriter>> {
    FileTraceWriter::create(&*file_system(db, env), &path(trace_path)).map(Box::new)
}

fn trace_options(fields: &TraceOptionsFields) -> TraceOptions {
    TraceOptions {
        max_trace_file_size: fields.max_trace_file_size,
        sampling_frequency: fields.sampling_frequency,
        filter: fields.filter,
        preserve_write_order: fields.preserve_write_order != 0,
    }
}

fn replay_options(fields: &ReplayOptionsFields) -> ReplayOptions {
    ReplayOptions {
        num_threads: fields.num_threads,
        fast_forward: fields.fast_forward,
    }
}

/// Functions that start a trace with [`TraceOptions`], by the database's method.
macro_rules! start_functions {
    ($(fn $name:ident => $method:ident;)+) => { $(
        api!(
            fn $name(
                db: *mut rocksdb_t,
                env: *mut rocksdb_env_t,
                _env_options: *const rocksdb_envoptions_t,
                options: *const rocksdb_trace_options_t,
                trace_path: *const c_char,
                errptr: *mut *mut c_char,
            ) {
                fallible(errptr, || {
                    let options = options.as_ref().map(|options| trace_options(&options.fields));
                    let writer = trace_writer(db, env, trace_path)?;
                    (*db).db.$method(&options.unwrap_or_default(), writer)
                })
            }
        );
    )+ };
}

start_functions! {
    fn rocksdb_start_trace => start_trace;
    fn rocksdb_start_io_trace => start_io_trace;
}

api!(
    fn rocksdb_end_trace(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.end_trace())
    }
);

api!(
    fn rocksdb_end_io_trace(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.end_io_trace())
    }
);

api!(
    fn rocksdb_start_block_cache_trace(
        db: *mut rocksdb_t,
        env: *mut rocksdb_env_t,
        _env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_trace_options_t,
        trace_path: *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let given = options.as_ref().map(|options| BlockCacheTraceOptions {
                sampling_frequency: options.fields.sampling_frequency,
                max_trace_file_size: options.fields.max_trace_file_size,
            });
            let writer = trace_writer(db, env, trace_path)?;
            (*db)
                .db
                .start_block_cache_trace(&given.unwrap_or_default(), writer)
        })
    }
);

api!(
    fn rocksdb_start_block_cache_trace_with_options(
        db: *mut rocksdb_t,
        env: *mut rocksdb_env_t,
        _env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_block_cache_trace_options_t,
        writer_options: *const rocksdb_block_cache_trace_writer_options_t,
        trace_path: *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let mut given = BlockCacheTraceOptions::default();
            if let Some(options) = options.as_ref() {
                given.sampling_frequency = options.fields.sampling_frequency;
            }
            if let Some(options) = writer_options.as_ref() {
                given.max_trace_file_size = options.fields.max_trace_file_size;
            }
            let writer = trace_writer(db, env, trace_path)?;
            (*db).db.start_block_cache_trace(&given, writer)
        })
    }
);

api!(
    fn rocksdb_end_block_cache_trace(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.end_block_cache_trace())
    }
);

api!(
    fn rocksdb_trace_reader_create(
        env: *mut rocksdb_env_t,
        _env_options: *const rocksdb_envoptions_t,
        trace_path: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_trace_reader_t {
        fallible(errptr, || {
            let env = env.as_ref();
            let env = env.ok_or_else(|| Error::invalid_argument("env must not be null"))?;
            let reader = FileTraceReader::open(&*env.fs, &path(trace_path))?;
            Ok(boxed(rocksdb_trace_reader_t(reader)))
        })
    }
);

// At the end of the trace the function returns NULL without an error.
api!(
    fn rocksdb_trace_reader_read(
        reader: *mut rocksdb_trace_reader_t,
        size: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        fallible(errptr, || {
            nothing(size);
            let record = (*reader).0.read()?;
            Ok(record.map_or(std::ptr::null_mut(), |record| copied(&record, size)))
        })
    }
);

api!(
    fn rocksdb_trace_reader_reset(reader: *mut rocksdb_trace_reader_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*reader).0.reset())
    }
);

api!(
    fn rocksdb_trace_reader_close(reader: *mut rocksdb_trace_reader_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*reader).0.close())
    }
);

api!(
    fn rocksdb_trace_reader_destroy(reader: *mut rocksdb_trace_reader_t) {
        free_box(reader)
    }
);

/// Returns the families for a replayer: the default one if none are passed.
unsafe fn replayed_families(
    db: *mut rocksdb_t,
    families: *mut *mut rocksdb_column_family_handle_t,
    count: usize,
) -> Result<Vec<ColumnFamily>> {
    if count == 0 {
        return Ok(vec![(*db).db.default_column_family()]);
    }
    if families.is_null() {
        return Err(Error::invalid_argument(
            "column_families must not be null when count > 0",
        ));
    }
    let handles = array(families, count).iter();
    Ok(handles
        .filter_map(|&handle| crate::family_handle::family(handle).cloned())
        .collect())
}

api!(
    fn rocksdb_new_default_replayer(
        db: *mut rocksdb_t,
        column_families: *mut *mut rocksdb_column_family_handle_t,
        num_column_families: usize,
        env: *mut rocksdb_env_t,
        _env_options: *const rocksdb_envoptions_t,
        trace_path: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_replayer_t {
        fallible(errptr, || {
            let families = replayed_families(db, column_families, num_column_families)?;
            let reader = FileTraceReader::open(&*file_system(db, env), &path(trace_path))?;
            Ok(boxed(rocksdb_replayer_t(Replayer::new(
                &(*db).db,
                &families,
                reader,
            ))))
        })
    }
);

api!(
    fn rocksdb_replayer_prepare(replayer: *mut rocksdb_replayer_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*replayer).0.prepare())
    }
);

api!(
    fn rocksdb_replayer_get_header_timestamp(replayer: *const rocksdb_replayer_t) -> u64 {
        (*replayer).0.header_timestamp()
    }
);

api!(
    fn rocksdb_replayer_replay(
        replayer: *mut rocksdb_replayer_t,
        options: *const rocksdb_replay_options_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let options = options.as_ref().map(|options| replay_options(&options.fields));
            (*replayer).0.replay(&options.unwrap_or_default(), None)
        })
    }
);

api!(
    fn rocksdb_replayer_destroy(replayer: *mut rocksdb_replayer_t) {
        free_box(replayer)
    }
);
