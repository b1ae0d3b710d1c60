//! Writes of single rows, and of batches.

use std::ffi::c_char;

use esker::{Result, WriteBatch};

use crate::batch::rocksdb_writebatch_t;
use crate::batch_index::rocksdb_writebatch_wi_t;
use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::generated::structs::rocksdb_writeoptions_t;
use crate::read_options::write_options;

type WriteOptionsPtr = *const rocksdb_writeoptions_t;

/// Defines functions that write one row, by their arguments.
macro_rules! write_functions {
    ($(fn $name:ident => $shape:ident $method:ident;)+) => {
        $( write_functions!(@$shape $name, $method); )+
    };
    (@pair $name:ident, $method:ident) => {
        api!(fn $name(
            db: *mut rocksdb_t, options: WriteOptionsPtr,
            k: *const c_char, klen: usize, v: *const c_char, vlen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let db = &*db;
                db.$method(&db.default, bytes(k, klen), bytes(v, vlen), &write_options(options))
            })
        });
    };
    (@pair_cf $name:ident, $method:ident) => {
        api!(fn $name(
            db: *mut rocksdb_t, options: WriteOptionsPtr, cf: FamilyPtr,
            k: *const c_char, klen: usize, v: *const c_char, vlen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let db = &*db;
                let family = family(cf).unwrap_or(&db.default);
                db.$method(family, bytes(k, klen), bytes(v, vlen), &write_options(options))
            })
        });
    };
    (@key $name:ident, $method:ident) => {
        api!(fn $name(
            db: *mut rocksdb_t, options: WriteOptionsPtr,
            k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let db = &*db;
                db.$method(&db.default, bytes(k, klen), &write_options(options))
            })
        });
    };
    (@key_cf $name:ident, $method:ident) => {
        api!(fn $name(
            db: *mut rocksdb_t, options: WriteOptionsPtr, cf: FamilyPtr,
            k: *const c_char, klen: usize, errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                let db = &*db;
                db.$method(family(cf).unwrap_or(&db.default), bytes(k, klen), &write_options(options))
            })
        });
    };
}

write_functions! {
    fn rocksdb_put => pair put_cf_opt;
    fn rocksdb_put_cf => pair_cf put_cf_opt;
    fn rocksdb_merge => pair merge_cf_opt;
    fn rocksdb_merge_cf => pair_cf merge_cf_opt;
    fn rocksdb_delete_range_cf => pair_cf delete_range_cf_opt;
    fn rocksdb_delete => key delete_cf_opt;
    fn rocksdb_delete_cf => key_cf delete_cf_opt;
    fn rocksdb_singledelete => key single_delete_cf_opt;
    fn rocksdb_singledelete_cf => key_cf single_delete_cf_opt;
}

/// Writes one row with a timestamp.
unsafe fn stamped(
    db: *mut rocksdb_t,
    options: WriteOptionsPtr,
    cf: FamilyPtr,
    add: impl FnOnce(&mut WriteBatch, &esker::ColumnFamily),
) -> Result<()> {
    let db = &*db;
    db.check_stamped()?;
    let mut batch = WriteBatch::new();
    add(&mut batch, family(cf).unwrap_or(&db.default));
    db.db.write_opt(batch, &write_options(options))
}

/// Defines functions that write a key with a timestamp: in the default family, and in a given one.
macro_rules! writes_with_timestamp {
    ($(fn $name:ident, fn $name_cf:ident => $method:ident($($value:ident, $length:ident)?);)+) => { $(
        api!(fn $name(
            db: *mut rocksdb_t, options: WriteOptionsPtr, k: *const c_char, klen: usize,
            ts: *const c_char, tslen: usize, $($value: *const c_char, $length: usize,)? errptr: *mut *mut c_char,
        ) {
            $name_cf(
                db, options, std::ptr::null_mut(), k, klen, ts, tslen, $($value, $length,)? errptr,
            )
        });
        api!(fn $name_cf(
            db: *mut rocksdb_t, options: WriteOptionsPtr, cf: FamilyPtr, k: *const c_char, klen: usize,
            ts: *const c_char, tslen: usize, $($value: *const c_char, $length: usize,)? errptr: *mut *mut c_char,
        ) {
            fallible(errptr, || {
                stamped(db, options, cf, |batch, family| {
                    batch.$method(family, bytes(k, klen), bytes(ts, tslen) $(, bytes($value, $length))?);
                })
            })
        });
    )+ };
}

// A single deletion with a timestamp is written as a deletion: a deletion is allowed wherever a single
// deletion is, and compactions keep the history of both in the same way.
writes_with_timestamp! {
    fn rocksdb_put_with_ts, fn rocksdb_put_cf_with_ts => put_at(v, vlen);
    fn rocksdb_delete_with_ts, fn rocksdb_delete_cf_with_ts => delete_at();
    fn rocksdb_singledelete_with_ts, fn rocksdb_singledelete_cf_with_ts => delete_at();
}

api!(
    fn rocksdb_write(
        db: *mut rocksdb_t,
        options: WriteOptionsPtr,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*db).write_in_place((*batch).in_place()?, &write_options(options))
        })
    }
);

api!(
    fn rocksdb_write_writebatch_wi(
        db: *mut rocksdb_t,
        options: WriteOptionsPtr,
        batch: *mut rocksdb_writebatch_wi_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let batch = (*batch).whole()?;
            (*db).write_index(&write_options(options), batch)
        })
    }
);
