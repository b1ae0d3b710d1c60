//! Checkpoints, and the export and import of column families.

use std::ffi::c_char;

use esker::{CheckpointOptions, Db, ExportImportFilesMetaData, ImportColumnFamilyOptions};

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family, handle, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::generated::structs::rocksdb_import_column_family_options_t;
use crate::live_files::rocksdb_livefiles_t;
use crate::options::rocksdb_options_t;

/// The C object `rocksdb_checkpoint_t`.
pub struct rocksdb_checkpoint_t(Db);

/// The C object `rocksdb_export_import_files_metadata_t`.
pub struct rocksdb_export_import_files_metadata_t(ExportImportFilesMetaData);

api!(
    fn rocksdb_checkpoint_object_create(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_checkpoint_t {
        fallible(errptr, || Ok(boxed(rocksdb_checkpoint_t((*db).db.clone()))))
    }
);

api!(
    fn rocksdb_checkpoint_object_destroy(checkpoint: *mut rocksdb_checkpoint_t) {
        free_box(checkpoint)
    }
);

api!(
    fn rocksdb_checkpoint_create(
        checkpoint: *mut rocksdb_checkpoint_t,
        dir: *const c_char,
        log_size_for_flush: u64,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let options = CheckpointOptions { log_size_for_flush };
            (*checkpoint).0.create_checkpoint(path(dir), &options).map(drop)
        })
    }
);

api!(
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: *mut rocksdb_checkpoint_t,
        cf: FamilyPtr,
        dir: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_export_import_files_metadata_t {
        fallible(errptr, || {
            let db = &(*checkpoint).0;
            let default = db.default_column_family();
            let metadata = db.export_column_family(family(cf).unwrap_or(&default), path(dir))?;
            Ok(boxed(rocksdb_export_import_files_metadata_t(metadata)))
        })
    }
);

api!(
    fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut c_char {
        copied_string((&(*metadata).0.db_comparator_name).as_bytes())
    }
);

api!(
    fn rocksdb_export_import_files_metadata_create() -> *mut rocksdb_export_import_files_metadata_t {
        boxed(rocksdb_export_import_files_metadata_t(
            ExportImportFilesMetaData::default(),
        ))
    }
);

api!(
    fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        metadata: *mut rocksdb_export_import_files_metadata_t,
        name: *const c_char,
    ) {
        (*metadata).0.db_comparator_name = string(name);
    }
);

api!(
    fn rocksdb_export_import_files_metadata_get_files(
        metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut rocksdb_livefiles_t {
        boxed(rocksdb_livefiles_t::of_exported(&(*metadata).0.files))
    }
);

api!(
    fn rocksdb_export_import_files_metadata_set_files(
        metadata: *mut rocksdb_export_import_files_metadata_t,
        files: *mut rocksdb_livefiles_t,
    ) {
        (*metadata).0.files = (*files).to_import();
    }
);

api!(
    fn rocksdb_export_import_files_metadata_destroy(metadata: *mut rocksdb_export_import_files_metadata_t) {
        free_box(metadata)
    }
);

api!(
    fn rocksdb_create_column_family_with_import(
        db: *mut rocksdb_t,
        options: *mut rocksdb_options_t,
        name: *const c_char,
        import: *mut rocksdb_import_column_family_options_t,
        metadata: *mut rocksdb_export_import_files_metadata_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t {
        fallible(errptr, || {
            let import = ImportColumnFamilyOptions {
                move_files: (*import).fields.move_files != 0,
            };
            let options = (*options).family()?;
            Ok(handle((*db).db.create_column_family_with_import(
                &string(name),
                &options,
                &[&(*metadata).0],
                &import,
            )?))
        })
    }
);
