//! Writes of single rows, and of batches.

use std::ffi::c_char;

use esker::{Result, WriteBatch};

use crate::batch::{FamilyPtr, family, rocksdb_writebatch_t};
use crate::batch_index::rocksdb_writebatch_wi_t;
use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::generated::objects::rocksdb_writeoptions_t;
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
                db.db.$method(&write_options(options), &db.default, bytes(k, klen), bytes(v, vlen))
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
                db.db.$method(&write_options(options), family, bytes(k, klen), bytes(v, vlen))
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
                db.db.$method(&write_options(options), &db.default, bytes(k, klen))
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
                db.db.$method(&write_options(options), family(cf).unwrap_or(&db.default), bytes(k, klen))
            })
        });
    };
}

write_functions! {
    fn rocksdb_put => pair put_opt;
    fn rocksdb_put_cf => pair_cf put_opt;
    fn rocksdb_merge => pair merge;
    fn rocksdb_merge_cf => pair_cf merge;
    fn rocksdb_delete_range_cf => pair_cf delete_range;
    fn rocksdb_delete => key delete_opt;
    fn rocksdb_delete_cf => key_cf delete_opt;
    fn rocksdb_singledelete => key single_delete;
    fn rocksdb_singledelete_cf => key_cf single_delete;
}

/// Writes one row with a timestamp.
unsafe fn stamped(
    db: *mut rocksdb_t,
    options: WriteOptionsPtr,
    cf: FamilyPtr,
    add: impl FnOnce(&mut WriteBatch, &esker::ColumnFamily),
) -> Result<()> {
    let db = &*db;
    let mut batch = WriteBatch::new();
    add(&mut batch, family(cf).unwrap_or(&db.default));
    db.db.write(&write_options(options), batch)
}

api!(
    fn rocksdb_put_with_ts(
        db: *mut rocksdb_t,
        options: WriteOptionsPtr,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
        v: *const c_char,
        vlen: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            stamped(db, options, std::ptr::null_mut(), |batch, family| {
                batch.put_at(family, bytes(k, klen), bytes(ts, tslen), bytes(v, vlen));
            })
        })
    }
);

api!(
    fn rocksdb_put_cf_with_ts(
        db: *mut rocksdb_t,
        options: WriteOptionsPtr,
        cf: FamilyPtr,
        k: *const c_char,
        klen: usize,
        ts: *const c_char,
        tslen: usize,
        v: *const c_char,
        vlen: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            stamped(db, options, cf, |batch, family| {
                batch.put_at(family, bytes(k, klen), bytes(ts, tslen), bytes(v, vlen));
            })
        })
    }
);

/// Functions that delete a key with a timestamp: in the default family, and in a given one.
macro_rules! deletes_with_timestamp {
    (fn $name:ident; fn $name_cf:ident;) => {
        api!(
            fn $name(
                db: *mut rocksdb_t,
                options: WriteOptionsPtr,
                k: *const c_char,
                klen: usize,
                ts: *const c_char,
                tslen: usize,
                errptr: *mut *mut c_char,
            ) {
                fallible(errptr, || {
                    stamped(db, options, std::ptr::null_mut(), |batch, family| {
                        batch.delete_at(family, bytes(k, klen), bytes(ts, tslen));
                    })
                })
            }
        );
        api!(
            fn $name_cf(
                db: *mut rocksdb_t,
                options: WriteOptionsPtr,
                cf: FamilyPtr,
                k: *const c_char,
                klen: usize,
                ts: *const c_char,
                tslen: usize,
                errptr: *mut *mut c_char,
            ) {
                fallible(errptr, || {
                    stamped(db, options, cf, |batch, family| {
                        batch.delete_at(family, bytes(k, klen), bytes(ts, tslen));
                    })
                })
            }
        );
    };
}

deletes_with_timestamp! {
    fn rocksdb_delete_with_ts;
    fn rocksdb_delete_cf_with_ts;
}

// A single deletion with a timestamp is written as a deletion: a deletion is allowed wherever a single
// deletion is, and compactions keep the history of both in the same way.
deletes_with_timestamp! {
    fn rocksdb_singledelete_with_ts;
    fn rocksdb_singledelete_cf_with_ts;
}

api!(
    fn rocksdb_write(
        db: *mut rocksdb_t,
        options: WriteOptionsPtr,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &(*db).db;
            db.write_in_place(&write_options(options), (*batch).in_place()?)
                .map(drop)
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
            let batch = (*batch).index_mut();
            batch.write_to(&(*db).db, &write_options(options)).map(drop)
        })
    }
);
