//! Reads of updates from the WALs.

use std::ffi::{CString, c_char, c_int};

use esker::{TransactionLogIterator, WalFile};

use crate::batch::rocksdb_writebatch_t;
use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::generated::fields::WalFileFields;
use crate::generated::structs::rocksdb_wal_readoptions_t;

/// The C object `rocksdb_wal_iterator_t`.
pub struct rocksdb_wal_iterator_t(TransactionLogIterator);

/// The C object `rocksdb_wal_file_t`.
pub struct rocksdb_wal_file_t {
    pub fields: WalFileFields,
    path: CString,
}

/// The C object `rocksdb_wal_files_t`.
pub struct rocksdb_wal_files_t(Vec<rocksdb_wal_file_t>);

/// RocksDB's numbers of archived WALs and of others.
const ARCHIVED: c_int = 0;
const ALIVE: c_int = 1;

fn file(from: WalFile) -> rocksdb_wal_file_t {
    let name = from.path.file_name().unwrap_or_default().to_string_lossy();
    rocksdb_wal_file_t {
        path: CString::new(format!("{}/{name}", if from.archived { "/archive" } else { "" }))
            .unwrap_or_default(),
        fields: WalFileFields {
            log_number: from.number,
            kind: if from.archived { ARCHIVED } else { ALIVE },
            start_sequence: from.start_sequence,
            size_file_bytes: from.size,
        },
    }
}

api!(
    fn rocksdb_get_updates_since(
        db: *mut rocksdb_t,
        sequence: u64,
        _options: *const rocksdb_wal_readoptions_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_wal_iterator_t {
        fallible(errptr, || {
            Ok(boxed(rocksdb_wal_iterator_t(
                (*db).db.get_updates_since(sequence)?,
            )))
        })
    }
);

api!(
    fn rocksdb_wal_iter_valid(iter: *const rocksdb_wal_iterator_t) -> u8 {
        u8::from((*iter).0.valid())
    }
);

api!(
    fn rocksdb_wal_iter_next(iter: *mut rocksdb_wal_iterator_t) {
        (*iter).0.next();
    }
);

api!(
    fn rocksdb_wal_iter_status(iter: *const rocksdb_wal_iterator_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*iter).0.status())
    }
);

api!(
    fn rocksdb_wal_iter_get_batch(
        iter: *const rocksdb_wal_iterator_t,
        sequence: *mut u64,
    ) -> *mut rocksdb_writebatch_t {
        match (&(*iter).0).batch() {
            Some((number, batch)) => {
                put_out(sequence, number);
                boxed(rocksdb_writebatch_t::new(batch.clone()))
            }
            None => std::ptr::null_mut(),
        }
    }
);

api!(
    fn rocksdb_wal_iter_destroy(iter: *const rocksdb_wal_iterator_t) {
        free_box(iter.cast_mut())
    }
);

api!(
    fn rocksdb_get_sorted_wal_files(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_wal_files_t {
        fallible(errptr, || {
            let files = (*db).db.get_sorted_wal_files()?;
            Ok(boxed(rocksdb_wal_files_t(files.into_iter().map(file).collect())))
        })
    }
);

api!(
    fn rocksdb_get_current_wal_file(db: *mut rocksdb_t, errptr: *mut *mut c_char) -> *mut rocksdb_wal_file_t {
        fallible(errptr, || Ok(boxed(file((*db).db.get_current_wal_file()?))))
    }
);

api!(
    fn rocksdb_wal_files_count(files: *const rocksdb_wal_files_t) -> usize {
        (&(*files).0).len()
    }
);

api!(
    fn rocksdb_wal_files_get_wal_file(
        files: *const rocksdb_wal_files_t,
        at: usize,
    ) -> *const rocksdb_wal_file_t {
        (&(*files).0).get(at).map_or(std::ptr::null(), std::ptr::from_ref)
    }
);

api!(
    fn rocksdb_wal_file_path_name(file: *const rocksdb_wal_file_t) -> *const c_char {
        (&(*file).path).as_ptr()
    }
);
