//! Ingestion of tables.

use std::ffi::c_char;

use esker::IngestExternalFileOptions;

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::generated::structs::rocksdb_ingestexternalfileoptions_t;

unsafe fn options(options: *const rocksdb_ingestexternalfileoptions_t) -> IngestExternalFileOptions {
    let Some(options) = options.as_ref() else {
        return IngestExternalFileOptions::default();
    };
    let fields = &options.fields;
    IngestExternalFileOptions {
        move_files: fields.move_files != 0,
        link_files: fields.link_files != 0,
        failed_move_fall_back_to_copy: fields.failed_move_fall_back_to_copy != 0,
        snapshot_consistency: fields.snapshot_consistency != 0,
        allow_global_seqno: fields.allow_global_seqno != 0,
        allow_blocking_flush: fields.allow_blocking_flush != 0,
        ingest_behind: fields.ingest_behind != 0,
        write_global_seqno: fields.write_global_seqno != 0,
        verify_checksums_before_ingest: fields.verify_checksums_before_ingest != 0,
        verify_checksums_readahead_size: fields.verify_checksums_readahead_size as usize,
        verify_file_checksum: fields.verify_file_checksum != 0,
        fail_if_not_bottommost_level: fields.fail_if_not_bottommost_level != 0,
        allow_db_generated_files: fields.allow_db_generated_files != 0,
        fill_cache: fields.fill_cache != 0,
    }
}

unsafe fn files(list: *const *const c_char, count: usize) -> Vec<std::path::PathBuf> {
    array(list, count).iter().map(|name| path(*name)).collect()
}

api!(
    fn rocksdb_ingest_external_file(
        db: *mut rocksdb_t,
        list: *const *const c_char,
        count: usize,
        opt: *const rocksdb_ingestexternalfileoptions_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*db)
                .db
                .ingest_external_file(&files(list, count), &options(opt))
                .map(drop)
        })
    }
);

api!(
    fn rocksdb_ingest_external_file_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        list: *const *const c_char,
        count: usize,
        opt: *const rocksdb_ingestexternalfileoptions_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            let family = family(cf).unwrap_or(&db.default);
            db.db
                .ingest_external_file_cf(family, &files(list, count), &options(opt))
                .map(drop)
        })
    }
);
